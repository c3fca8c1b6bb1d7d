"""Opcodes that generate random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hlotool.opdefs.base import op, require
from hlotool.opdefs.inference import (
    is_scalar,
    require_array,
    require_kind,
    require_written_shape,
    same_type_up_to_precision,
)
from hlotool.opdefs.kinds import Int, RandomAlgorithm, RandomDistribution
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import EFFECT, NONDETERMINISTIC, RANDOM_STATE
from hlotool.opdefs.work import Work, elements
from hlotool.shapes.shape import Shape, array_shape, compatible

__all__: list[str] = []


def _verify_rng(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    require(len(operands) == 2, "T059", "operands", f"'rng' takes two operands, got {len(operands)}")
    require_array(result, "shape", "rng")
    for k, operand in enumerate(operands):
        require(is_scalar(operand), "T059", "operands", f"operand {k} must be a scalar, got {operand.text_without_layout}")
    first, second, drawn = operands[0].element_type, operands[1].element_type, result.element_type
    agree = first == second and (first == drawn or (modes.allow_mixed_precision and same_type_up_to_precision(first, drawn)))
    require(agree, "T059", "operands", f"'rng' with operands of types {first} and {second} cannot return {drawn}")
    kinds = ("float",) if attributes["distribution"] == "rng_normal" else ("pred", "signed", "unsigned", "float")
    require_kind(operands[0], "operands", f"{attributes['distribution']}", kinds, "T059")


def _work(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    return Work(transcendentals=elements(result))


@op(infers=False, verify=_verify_rng, traits=(EFFECT, NONDETERMINISTIC), work=_work)
def rng(*operands: Shape, distribution: RandomDistribution) -> Shape:
    """Generates random numbers with an unspecified generator.

    For rng_uniform, the operands are the bounds of the numbers; for rng_normal, the operands are
    their mean and standard deviation.

        r = f32[4] rng(lo, hi), distribution=rng_uniform
    """
    require_written_shape("rng")


def _verify_rng_bit_generator(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    # XLA also accepts a result without the state.
    if not result.is_tuple:
        return
    require(len(result.elements) == 2, "T060", "shape", f"'rng-bit-generator' returns (state, bits), but {result.text_without_layout} is written")
    before, after = operands[0].text_without_layout, result.elements[0].text_without_layout
    require(compatible(operands[0], result.elements[0]), "T060", "shape[0]", f"the state in the result is {after}, but the operand is {before}")


@op(infers=False, verify=_verify_rng_bit_generator, traits=(RANDOM_STATE,), work=_work)
def rng_bit_generator(state: Shape, *, algorithm: RandomAlgorithm) -> Shape:
    """Generates random bits from a state with the given algorithm.

    Returns the next state and the bits.

        r = (u64[2], u32[4]) rng-bit-generator(s), algorithm=rng_three_fry
    """
    require_written_shape("rng-bit-generator")


def _state(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    return array_shape("u64", (2,))


@op(infers=False, verify=_state, result_code="T061", traits=(EFFECT, NONDETERMINISTIC, RANDOM_STATE))
def rng_get_and_update_state(*, delta: Int) -> Shape:
    """Returns the device's 128-bit random state, and then adds delta to it.

    r = u64[2] rng-get-and-update-state(), delta=4
    """
    require_written_shape("rng-get-and-update-state")
