"""While loops: state elements that the body returns unchanged, and trip counts from constants."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne

from hlotool.analysis.simplify import constant_value, converted, without_conversions
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.algebra import Number
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType

__all__ = ["TRIP_COUNT", "exact_trip_count", "invariant_elements", "known_trip_count", "trip_count"]

TRIP_COUNT = "known_trip_count"
"""The configuration field for the number of iterations: `{"known_trip_count":{"n":"10"}}`."""

_DIRECTIONS: dict[str, Callable[[float, float], bool]] = {"EQ": eq, "NE": ne, "LT": lt, "LE": le, "GT": gt, "GE": ge}
# Rules only distinguish loops with zero, one, and two or more iterations.
_MAX_ITERATIONS = 2


def invariant_elements(body: Computation) -> dict[int, Instruction]:
    """Returns the elements of a loop's state that its body returns unchanged.

    The result maps the index of each element to its get-tuple-element.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "b { t = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(t), index=0 u = f32[] get-tuple-element(t), index=1 "
    >>> text += "j = s32[] negate(i) ROOT r = (s32[], f32[]) tuple(j, u) } ENTRY e { ROOT p = f32[] parameter(0) }"
    >>> invariant_elements(parse(text).computations[0])
    {1: <u = f32[] get-tuple-element>}
    """
    root = body.root
    if root.op.name != "tuple":
        return {}
    return {
        k: x
        for k, x in enumerate(root.operands)
        if x.op.name == "get-tuple-element" and x.operands[0].op.name == "parameter" and x.attributes["index"] == k
    }


def trip_count(loop: Instruction) -> int | None:
    """Returns the number of iterations of a while loop: 0, 1, or 2 for two or more.

    Returns None if constants do not determine it.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "c { x = f32[] parameter(0) ROOT f = pred[] constant(false) } b { x = f32[] parameter(0) ROOT y = f32[] negate(x) } "
    >>> trip_count(parse(text + "ENTRY e { p = f32[] parameter(0) ROOT w = f32[] while(p), condition=c, body=b }").entry.root)
    0
    """
    counting = _counting(loop)
    if counting is None or isinstance(counting, int):
        return counting
    holds, value, limit, step, row = counting
    iterations = 0
    while iterations < _MAX_ITERATIONS and holds(value, limit):
        # Integers wrap around. If a sum of floats would be rounded, the result is None.
        following = converted(value + step, row)
        if following is None:
            return None
        value = following
        iterations += 1
    return iterations


def known_trip_count(loop: Instruction) -> int | None:
    """Returns the number of iterations of a loop from its configuration, or else from constants.

    Returns None if neither determines it.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "c { x = s32[] parameter(0) ROOT f = pred[] constant(true) } b { x = s32[] parameter(0) ROOT y = s32[] negate(x) } "
    >>> text += "ENTRY e { p = s32[] parameter(0) ROOT w = s32[] while(p), condition=c, body=b%s }"
    >>> [known_trip_count(parse(text % more).entry.root) for more in ("", ', backend_config={"known_trip_count":{"n":"10"}}')]
    [None, 10]
    """
    try:
        count = int(json.loads(str(loop.backend_config))[TRIP_COUNT]["n"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return exact_trip_count(loop)
    return count if count >= 0 else None


def exact_trip_count(loop: Instruction) -> int | None:
    """Returns the number of iterations of a while loop that counts with integers.

    Returns None if constants do not determine it, or if the counter overflows.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "c { x = s32[] parameter(0) n = s32[] constant(%s) ROOT t = pred[] compare(x, n), direction=%s } "
    >>> text += "b { x = s32[] parameter(0) d = s32[] constant(3) ROOT y = s32[] add(x, d) } "
    >>> text += "ENTRY e { p = s32[] constant(0) ROOT w = s32[] while(p), condition=c, body=b }"
    >>> [exact_trip_count(parse(text % at).entry.root) for at in ((10, "LT"), (9, "LE"), (9, "NE"), (10, "NE"), (2147483647, "LE"))]
    [4, 4, 3, None, None]
    """
    counting = _counting(loop)
    if counting is None or isinstance(counting, int):
        return counting
    holds, start, limit, change, row = counting
    # A counter may be converted and compared with a limit of a different type.
    if not row.is_integral or not isinstance(limit, int) or change == 0:
        return None
    value, step = int(start), int(change)
    if holds is eq:
        iterations = 1
    elif holds is ne:
        iterations, rest = divmod(limit - value, step)
        if rest or iterations < 0:
            return None
    else:
        # The comparison is equivalent to a strict comparison with `bound`.
        bound = limit + (holds is le) - (holds is ge)
        iterations = -((value - bound) // step)
        if (step > 0) != (holds in (lt, le)):
            return None
    # All values up to the last one must fit into the type, since integers wrap around.
    return iterations if row.minimum <= value + iterations * step <= row.maximum else None


def _counting(loop: Instruction) -> tuple[Callable[[float, float], bool], Number, Number, Number, ElementType] | int | None:
    """Finds the comparison in a loop's condition, and the counter's start, limit, step and type.

    Returns the number of iterations instead if it is already known, and None if the loop does not
    count in a recognized way.
    """
    test = loop.attributes["condition"].root
    known = constant_value(test)
    if known is not None:
        return None if known else 0
    # The total order distinguishes zeros by sign, and it orders NaNs.
    if test.op.name != "compare" or test.attributes.get("type") == "TOTALORDER":
        return None
    counter, holds = without_conversions(test.operands[0]), _DIRECTIONS[test.attributes["direction"]]
    limit, index = constant_value(test.operands[1]), _element_of_parameter(counter)
    if limit is None or index is None:
        return None
    value, step = _start(loop.operands[0], index), _step(loop.attributes["body"], index)
    if value is None or not holds(value, limit):
        return None if value is None else 0
    return None if step is None else (holds, value, limit, step, ELEMENT_TYPES[counter.shape.element_type])


def _element_of_parameter(x: Instruction) -> int | None:
    """Returns the index of the parameter's element that `x` takes, or -1 for the parameter itself.

    Returns None for any other instruction. The computation must have a single parameter.
    """
    if x.op.name == "parameter":
        return -1
    return x.attributes["index"] if x.op.name == "get-tuple-element" and x.operands[0].op.name == "parameter" else None


def _element(x: Instruction, index: int) -> Instruction | None:
    if index < 0:
        return x
    return x.operands[index] if x.op.name == "tuple" else None


def _start(state: Instruction, index: int) -> Number | None:
    x = _element(state, index)
    return None if x is None else constant_value(x)


def _step(body: Computation, index: int) -> Number | None:
    """Returns the number that the body adds to an element of the state."""
    x = _element(body.root, index)
    if x is None or x.op.name not in ("add", "subtract"):
        return None
    first, second = x.operands
    if x.op.name == "add" and _element_of_parameter(first) != index:
        first, second = second, first
    step = constant_value(second)
    if _element_of_parameter(first) != index or step is None:
        return None
    return step if x.op.name == "add" else -step
