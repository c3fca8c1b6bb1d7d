"""Opcodes that make random numbers.

Says what each draws and from what state; draws nothing itself.
"""

from __future__ import annotations

from hlotool.opdefs.base import op
from hlotool.opdefs.inference import written_shape_needed
from hlotool.opdefs.kinds import Int, RandomAlgorithm, RandomDistribution
from hlotool.shapes.shape import Shape

__all__: list[str] = []


@op(infers=False)
def rng(*operands: Shape, distribution: RandomDistribution) -> Shape:
    """Random numbers: rng_uniform between two bounds, or rng_normal with a mean and a standard deviation; which ones is unspecified.

    r = f32[4] rng(lo, hi), distribution=rng_uniform
    """
    written_shape_needed("rng")


@op(infers=False)
def rng_bit_generator(state: Shape, *, algorithm: RandomAlgorithm) -> Shape:
    """Random bits computed from a state by a named algorithm; gives the next state and the bits.

    r = (u64[2], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry
    """
    written_shape_needed("rng-bit-generator")


@op(infers=False)
def rng_get_and_update_state(*, delta: Int) -> Shape:
    """The device's 128-bit random state, to which delta is added afterwards.

    r = u64[2] rng-get-and-update-state(), delta=4
    """
    written_shape_needed("rng-get-and-update-state")
