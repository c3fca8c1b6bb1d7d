"""Decides which values may be computed ahead of time.

Such values must be the same on every device and in every run, and take a limited amount of work.
"""

from __future__ import annotations

from math import isqrt, prod

from hlotool.errors import Violation
from hlotool.interp.engine.observers import Observer, RunPosition
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import ACCUMULATED, COMMUNICATES, DEVICE_ID, EXPENSIVE, FORWARDS, MOVES, NONDETERMINISTIC, STRUCTURAL
from hlotool.shapes.shape import Shape

__all__ = ["FixedValues", "WorkLimit", "work_of"]

# The interpreter's fixed cost per instruction, as the number of elements that it could compute in
# the same time.
_OVERHEAD = 1024


class WorkLimit(Observer):
    """An observer that ends a run after a number of elements have been computed.

    Unlike a time limit, this limit is the same on every machine. For dots and convolutions,
    multiplications are counted. An instruction counts as at least 1024 elements, however small it
    is.
    """

    def __init__(self, elements: int) -> None:
        self.left = elements

    def started(self, where: RunPosition, instruction: Instruction) -> None:
        self.left -= work_of(instruction)
        if self.left < 0:
            raise Violation("R005", "opcode", "computing the value takes too long")


def work_of(x: Instruction) -> int:
    """Returns the approximate number of elements that an instruction computes.

    The computations that it calls are not counted.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { p = f32[20,30] parameter(0) q = f32[30,40] parameter(1) "
    >>> text += "ROOT d = f32[20,40] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"
    >>> work_of(parse(text).entry.root)
    25024
    """
    shapes = _shapes(x)
    sizes = [prod(shape.dimensions) for shape in shapes]
    steps: int = prod(dimension.size for dimension in x.attributes.get("window", ()))
    if ACCUMULATED in x.op.traits:
        # For matrices of m x k, k x n and m x n, this is m x k x n.
        return _OVERHEAD + isqrt(sizes[0] * sizes[1] * sizes[2] * steps)
    if EXPENSIVE in x.op.traits and not x.op.calls and MOVES not in x.op.traits:
        # For example, each element of a triangular-solve depends on a whole row or column.
        steps *= max((size for shape in shapes for size in shape.dimensions[-1:]), default=1)
    return _OVERHEAD + max(sizes, default=0) * steps


def _shapes(x: Instruction) -> list[Shape]:
    """Returns the shapes of the values that an instruction computes, and of its operands.

    Values that are only passed on are left out. Tuples and tokens count as one element.
    """
    results = x.shape.leaves() if x.op.traits.isdisjoint({STRUCTURAL, FORWARDS}) else ()
    return [*results, *(y.shape for y in x.operands)]


class FixedValues:
    """Analysis of the instructions and computations that have a fixed value.

    A fixed value is the same on every device and in every run, and does not depend on the choice of
    a backend or on another device.
    """

    def __init__(self) -> None:
        self._known: dict[Computation, bool] = {}

    def has_fixed_value(self, x: Instruction) -> bool:
        """Returns whether the value of an instruction follows from those of its operands.

        >>> from hlotool.text.parse.parser import parse
        >>> text = "f { p = u32[] parameter(0) i = partition-id() ROOT a = add(p, i) } "
        >>> text += "ENTRY e { p = u32[] parameter(0) n = negate(p) ROOT c = call(n), to_apply=f }"
        >>> [FixedValues().has_fixed_value(x) for x in parse(text).entry.instructions]
        [True, True, False]
        >>> text = "ENTRY e { a = f32[] constant(0) ROOT r = f32[] rng(a, a), distribution=rng_uniform }"
        >>> FixedValues().has_fixed_value(parse(text).entry.root)
        False
        """
        return _is_fixed(x) and all(map(self._returns_fixed_value, x.called))

    def _returns_fixed_value(self, computation: Computation) -> bool:
        stack = [computation]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
                continue
            called = list(dict.fromkeys(f for x in current.instructions for f in x.called))
            missing = [f for f in called if f not in self._known]
            if missing:
                stack += missing
            else:
                self._known[stack.pop()] = all(map(_is_fixed, current.instructions)) and all(self._known[f] for f in called)
        return self._known[computation]


def _is_fixed(x: Instruction) -> bool:
    # Each backend has its own default algorithm for random numbers, and its own custom calls.
    if x.op.name == "custom-call" or x.attributes.get("algorithm") == "rng_default":
        return False
    return x.op.traits.isdisjoint({NONDETERMINISTIC, DEVICE_ID, COMMUNICATES})
