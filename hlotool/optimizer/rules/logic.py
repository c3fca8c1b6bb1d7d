"""Comparisons, selects, and logical and bitwise operations."""

from __future__ import annotations

from hlotool.analysis.simplify import constant_value, holds_all, is_splat, value_of_itself
from hlotool.ir.model import Instruction
from hlotool.opdefs.algebra import Number, ones
from hlotool.opdefs.traits import IDEMPOTENT
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.patterns import both_orders, element_type, is_complex, is_constant, is_float, is_integral, with_constants_together
from hlotool.optimizer.registry import rule

__all__: list[str] = []

_INVERSE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}
_DUAL = {"and": "or", "or": "and", "maximum": "minimum", "minimum": "maximum"}
_SWAPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}


def _is_total_order(x: Instruction) -> bool:
    return x.attributes.get("type") == "TOTALORDER"


def _is_scalar_choice(x: Instruction) -> bool:
    """Returns whether the selector is a scalar that applies to all elements."""
    return x.operands[0].shape.dimensions != x.shape.dimensions


# ---- select ------------------------------------------------------------------------------------


@rule("select", constant=True)
def select_of_preds(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """select(p, true, false) -> p; select(p, false, true) -> not(p)"""
    choice, on_true, on_false = x.operands
    if x.shape.element_type != "pred" or _is_scalar_choice(x):
        return None
    if is_splat(on_true, 1) and is_splat(on_false, 0):
        return choice
    return rewriter.add("not", [choice], x.shape) if is_splat(on_true, 0) and is_splat(on_false, 1) else None


@rule("select", constant=True)
def select_as_logic(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """select(p, q, false) -> and(p, q); select(p, true, q) -> or(p, q)"""
    choice, on_true, on_false = x.operands
    if x.shape.element_type != "pred" or _is_scalar_choice(x):
        return None
    if is_splat(on_false, 0):
        return rewriter.add("and", [choice, on_true], x.shape)
    return rewriter.add("or", [choice, on_false], x.shape) if is_splat(on_true, 1) else None


@rule("select", of=("not",))
def select_by_negation(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """select(not(p), a, b) -> select(p, b, a)"""
    choice, on_true, on_false = x.operands
    if choice.op.name != "not":
        return None
    return rewriter.with_operands(x, [choice.operands[0], on_false, on_true])


@rule("select", of=("select",))
def select_twice(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """select(p, select(p, a, b), c) -> select(p, a, c)

    Likewise, `select(p, a, select(p, b, c)) -> select(p, a, c)`.
    """
    choice, on_true, on_false = x.operands
    if on_true.op is x.op and on_true.operands[0] is choice:
        return rewriter.with_operands(x, [choice, on_true.operands[1], on_false])
    if on_false.op is x.op and on_false.operands[0] is choice:
        return rewriter.with_operands(x, [choice, on_true, on_false.operands[2]])
    return None


# ---- compare -----------------------------------------------------------------------------------


@rule("compare", constant=True)
def compare_with_pred(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """compare(p, true), direction=EQ -> p; compare(p, false), direction=EQ -> not(p)

    For NE, the results are swapped.
    """
    direction = x.attributes["direction"]
    if direction not in ("EQ", "NE") or x.operands[0].shape.element_type != "pred":
        return None
    for p, known in both_orders(x):
        value = constant_value(known)
        if value is not None:
            return p if bool(value) == (direction == "EQ") else rewriter.add("not", [p], x.shape)
    return None


@rule("compare")
def compare_with_itself(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """compare(a, a), direction=LT -> false; compare(a, a), direction=EQ -> true

    For GT, the result is false, too. Unless `a` may be NaN, EQ, LE and GE are true, and NE is
    false.
    """
    first, second = x.operands
    if first is not second:
        return None
    direction = x.attributes["direction"]
    if direction in ("LT", "GT"):
        return rewriter.number(x.shape, 0)
    if not is_integral(first) and not _is_total_order(x):
        return None
    return rewriter.number(x.shape, int(direction != "NE"))


@rule("compare", constant=True)
def compare_with_limit(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """compare(a, 0), direction=GE -> true for unsigned a

    The same holds for the greatest and the least number of each integer type.
    """
    row, limit = element_type(x.operands[0]), constant_value(x.operands[1])
    if not row.is_integral:
        return None
    direction = x.attributes["direction"]
    if (limit == row.minimum and direction == "GE") or (limit == row.maximum and direction == "LE"):
        return rewriter.number(x.shape, 1)
    if (limit == row.minimum and direction == "LT") or (limit == row.maximum and direction == "GT"):
        return rewriter.number(x.shape, 0)
    return None


@rule("compare", of=("iota",))
def compare_of_iota(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """compare(iota, c) -> true or false, if all indices are on the same side of c"""
    first, limit = x.operands[0], constant_value(x.operands[1])
    row = element_type(first)
    # If the iota is the second operand, `limit` is None.
    if limit is None or not row.is_integral:
        return None
    last = first.shape.dimensions[first.attributes["iota_dimension"]] - 1
    if last > row.maximum:
        return None
    verdicts = {
        "LT": (last < limit, limit <= 0), "LE": (last <= limit, limit < 0), "GT": (limit < 0, last <= limit), "GE": (limit <= 0, last < limit),
        "EQ": (last == limit == 0, not 0 <= limit <= last), "NE": (not 0 <= limit <= last, last == limit == 0),
    }  # fmt: skip
    is_true, is_false = verdicts[x.attributes["direction"]]
    return rewriter.number(x.shape, int(is_true)) if is_true or is_false else None


@rule("compare", constant=True)
def compare_constant_first(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """compare(c, a), direction=LT -> compare(a, c), direction=GT"""
    first, second = x.operands
    if not is_constant(first) or is_constant(second):
        return None
    return rewriter.with_operands(x, [second, first], direction=_SWAPPED[x.attributes["direction"]])


@rule("not", of=("compare",))
def not_of_compare(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """not(compare(a, b)), direction=LT -> compare(a, b), direction=GE

    For floats, this only holds for EQ, NE and total orders: all other comparisons with NaN are
    false.
    """
    inner = x.operands[0]
    if not rewriter.has_one_user(inner):
        return None
    direction = inner.attributes["direction"]
    if direction not in ("EQ", "NE") and not is_integral(inner.operands[0]) and not _is_total_order(inner):
        return None
    return rewriter.with_operands(inner, inner.operands, direction=_INVERSE[direction])


@rule("compare", of=("convert",))
def compare_of_converted(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """compare(convert(a), convert(b)) -> compare(a, b), if a and b are integers of one type

    The conversion must preserve every number of this type.
    """
    first, second = x.operands
    if first.op.name != "convert" or second.op.name != "convert" or not rewriter.have_one_user({first, second}):
        return None
    a, b = first.operands[0], second.operands[0]
    row = element_type(a)
    if a.shape.element_type != b.shape.element_type or not row.is_integral or not holds_all(element_type(first), row):
        return None
    return rewriter.add("compare", [a, b], x.shape, direction=x.attributes["direction"])


# ---- pred and bits -----------------------------------------------------------------------------


@rule("subtract", "xor")
def of_itself(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """subtract(a, a) -> 0 for integers; xor(a, a) -> 0"""
    first, second = x.operands
    value = value_of_itself(x.op, element_type(x)) if first is second else None
    return None if value is None else rewriter.number(x.shape, value)


def _ones(x: Instruction) -> Number:
    """Returns the number whose bits are all ones.

    Only integers and pred have bitwise operations.
    """
    number = ones(element_type(x))
    assert number is not None
    return number


@rule("and", "or", "xor", of=("not",))
def with_complement(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """and(a, not(a)) -> 0; or(a, not(a)) -> all ones; xor(a, not(a)) -> all ones"""
    for first, second in both_orders(x):
        if second.op.name == "not" and second.operands[0] is first:
            return rewriter.number(x.shape, 0 if x.op.name == "and" else _ones(x))
    return None


@rule("xor", constant=True)
def xor_with_ones(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """xor(a, true) -> not(a); for integers, xor(a, -1) -> not(a)"""
    return next((rewriter.add("not", [first], x.shape) for first, second in both_orders(x) if is_splat(second, _ones(x))), None)


@rule("and", "or", "maximum", "minimum", of=tuple(_DUAL))
def applied_again(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """maximum(maximum(a, b), b) -> maximum(a, b)

    The same holds for minimum, `and` and `or`.
    """
    if is_complex(x):
        return None
    for inner, other in both_orders(x):
        if inner.op is x.op and other in inner.operands:
            return inner
    return None


@rule("and", "or", "maximum", "minimum", of=tuple(_DUAL))
def absorbed(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """and(a, or(a, b)) -> a; for integers, maximum(a, minimum(a, b)) -> a"""
    if not is_integral(x):
        return None
    for a, inner in both_orders(x):
        if inner.op.name == _DUAL[x.op.name] and a in inner.operands:
            return a
    return None


@rule("add", "multiply", "and", "or", "xor", "maximum", "minimum", constant=True)
def constants_together(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(add(a, c1), c2) -> add(a, add(c1, c2)) for integers

    The same holds for other associative operations, and for maxima and minima of floats.
    """
    is_exact = is_integral(x) or (is_float(x) and IDEMPOTENT in x.op.traits)
    return with_constants_together(x, rewriter) if is_exact else None


@rule("minimum", "maximum", of=tuple(_DUAL))
def clamp_from_limits(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """minimum(maximum(a, low), high) -> clamp(low, a, high), if low <= high are constants"""
    inner_name = _DUAL[x.op.name]
    if x.shape.element_type == "pred":
        return None
    for inner, outer_limit in both_orders(x):
        limit = constant_value(outer_limit)
        if inner.op.name != inner_name or limit is None or not rewriter.has_one_user(inner):
            continue
        for a, inner_limit in both_orders(inner):
            other = constant_value(inner_limit)
            if other is None:
                continue
            low, high = (inner_limit, outer_limit) if x.op.name == "minimum" else (outer_limit, inner_limit)
            least, greatest = (other, limit) if x.op.name == "minimum" else (limit, other)
            if least < greatest:
                return rewriter.add("clamp", [low, a, high], x.shape)
    return None


@rule("clamp", of=("clamp",))
def clamp_twice(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """clamp(low, clamp(low, a, high), high) -> clamp(low, a, high)"""
    low, inner, high = x.operands
    return inner if inner.op.name == "clamp" and inner.operands[0] is low and inner.operands[2] is high else None
