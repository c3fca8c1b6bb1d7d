"""Random arguments that suit the uses of a module's parameters."""

from __future__ import annotations

from collections.abc import Mapping

from hlotool.interp.arguments.domains import domains
from hlotool.interp.arrays.random_arrays import Domain, random_array
from hlotool.interp.arrays.values import Token, Value, with_leaves
from hlotool.ir.model import Module
from hlotool.shapes.shape import Shape

__all__ = ["random_argument", "random_arguments"]


def random_argument(shape: Shape, seed: int, number: int, known: Mapping[tuple[int, int], Domain]) -> Value:
    """Returns a random value for parameter `number`.

    Each leaf of a tuple has its own random stream. `known` contains the domains of the leaves, by
    parameter and leaf number.
    """
    leaves = enumerate(shape.leaves())
    return with_leaves(
        shape, [random_array(leaf, seed, number, k, domain=known.get((number, k))) if leaf.is_array else Token() for k, leaf in leaves]
    )


def random_arguments(module: Module, seed: int = 0) -> tuple[Value, ...]:
    """Returns random values for all parameters of the entry computation.

    The values suit the uses of the parameters: for example, indices are in range.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { ROOT p = pred[3] parameter(0) }")
    >>> random_arguments(module, 1)[0].tolist()
    [False, True, True]
    """
    known = domains(module)
    return tuple(random_argument(p.shape, seed, k, known) for k, p in enumerate(module.entry.parameters))
