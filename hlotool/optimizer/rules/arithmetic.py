"""Sums, products, signs and conversions of elements."""

from __future__ import annotations

from math import frexp

from hlotool.analysis.simplify import constant_value, has_sign, holds_all, is_same_number, is_splat
from hlotool.ir.model import Instruction
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.patterns import both_orders, element_type, is_constant, is_float, is_integral, orders, with_constants_together
from hlotool.optimizer.registry import rule

__all__: list[str] = []


def _has_sign(x: Instruction) -> bool:
    return has_sign(element_type(x))


# ---- signs -------------------------------------------------------------------------------------


@rule("add", of=("negate",))
def add_of_negation(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(a, negate(b)) -> subtract(a, b)"""
    if not _has_sign(x):
        return None
    for a, inner in both_orders(x):
        if inner.op.name == "negate" and rewriter.has_one_user(inner):
            return rewriter.add("subtract", [a, inner.operands[0]], x.shape)
    return None


@rule("subtract", of=("negate",))
def subtract_of_negation(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """subtract(a, negate(b)) -> add(a, b)"""
    first, second = x.operands
    if second.op.name != "negate" or not _has_sign(x):
        return None
    return rewriter.add("add", [first, second.operands[0]], x.shape)


@rule("subtract", constant=True)
def subtract_from_zero(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """subtract(0, a) -> negate(a) for integers; subtract(-0.0, a) -> negate(a) for floats

    For floats, the zero must be negative, since 0 - 0 is not -0.0.
    """
    first, second = x.operands
    zero = -0.0 if is_float(x) else 0
    if not is_splat(first, zero):
        return None
    return rewriter.add("negate", [second], x.shape)


@rule("subtract", needs=("nsz",))
def subtract_from_zero_of_any_sign(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """subtract(0, a) -> negate(a) for floats"""
    first, second = x.operands
    return rewriter.add("negate", [second], x.shape) if is_splat(first, 0.0) else None


@rule("negate", of=("subtract",))
def negate_of_subtract(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """negate(subtract(a, b)) -> subtract(b, a) for integers"""
    inner = x.operands[0]
    if not is_integral(x) or not rewriter.has_one_user(inner):
        return None
    return rewriter.with_operands(inner, inner.operands[::-1], x.shape)


@rule("negate", of=("subtract",), needs=("nsz",))
def negate_of_difference_of_floats(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """negate(subtract(a, b)) -> subtract(b, a) for floats

    For equal numbers, the result is 0 instead of -0.0.
    """
    inner = x.operands[0]
    if not is_float(x) or not _has_sign(x) or not rewriter.has_one_user(inner):
        return None
    return rewriter.with_operands(inner, inner.operands[::-1], x.shape)


@rule("multiply", "divide", constant=True)
def by_minus_one(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """multiply(a, -1) -> negate(a); divide(a, -1) -> negate(a)"""
    return next((rewriter.add("negate", [a], x.shape) for a, factor in orders(x) if is_splat(factor, -1)), None)


@rule("multiply", "divide", of=("negate",))
def of_two_negations(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """multiply(negate(a), negate(b)) -> multiply(a, b)

    The same holds for divide, but only for floats.
    """
    first, second = x.operands
    if first.op.name != "negate" or second.op.name != "negate" or (x.op.name == "divide" and not is_float(x)):
        return None
    if not _has_sign(x):
        return None
    return rewriter.with_operands(x, [first.operands[0], second.operands[0]])


@rule("multiply", of=("abs",))
def product_of_absolute_values(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """multiply(abs(a), abs(a)) -> multiply(a, a)"""
    first, second = x.operands
    if first is not second or first.operands[0].shape.element_type != x.shape.element_type:
        return None
    inner = first.operands[0]
    return rewriter.with_operands(x, [inner, inner])


@rule("abs", of=("negate",))
def abs_of_negation(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """abs(negate(a)) -> abs(a)"""
    inner = x.operands[0]
    return rewriter.with_operands(x, inner.operands) if _has_sign(inner) else None


@rule("abs", of=("multiply",))
def abs_of_square(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """abs(multiply(a, a)) -> multiply(a, a) for floats, since squares are not negative"""
    inner = x.operands[0]
    return inner if inner.operands[0] is inner.operands[1] and is_float(x) else None


# ---- sums and products -------------------------------------------------------------------------


@rule("add", "subtract", of=("add", "subtract"))
def sum_minus_its_term(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """subtract(add(a, b), b) -> a for integers; add(subtract(a, b), b) -> a for integers"""
    return _without_term(x) if is_integral(x) else None


@rule("add", "subtract", of=("add", "subtract"), needs=("reassoc", "nnan", "ninf", "nsz"))
def sum_minus_its_term_of_floats(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """subtract(add(a, b), b) -> a for floats; add(subtract(a, b), b) -> a for floats"""
    return _without_term(x) if is_float(x) else None


def _without_term(x: Instruction) -> Instruction | None:
    if x.op.name == "add":
        for inner, b in both_orders(x):
            if inner.op.name == "subtract" and inner.operands[1] is b:
                return inner.operands[0]
        return None
    inner, b = x.operands
    if inner.op.name != "add":
        return None
    return next((a for a, other in both_orders(inner) if other is b), None)


@rule("subtract", needs=("nnan", "ninf"))
def difference_of_itself(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """subtract(a, a) -> 0 for floats"""
    first, second = x.operands
    return rewriter.number(x.shape, 0.0) if first is second else None


@rule("multiply", needs=("nnan", "nsz"))
def product_with_zero(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """multiply(a, 0) -> 0 for floats"""
    return next((zero for _, zero in both_orders(x) if is_splat(zero, 0.0)), None)


@rule("add", "subtract", needs=("nsz",))
def sum_with_zero(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(a, 0) -> a for floats; subtract(a, -0.0) -> a for floats"""
    return next((a for a, zero in orders(x) if constant_value(zero) == 0), None)


@rule("add", "subtract", of=("multiply",))
def common_factor(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(multiply(a, c), multiply(b, c)) -> multiply(add(a, b), c) for integers and pred"""
    return _factored(x, rewriter) if is_integral(x) else None


@rule("add", "subtract", of=("multiply",), needs=("reassoc",))
def common_factor_of_floats(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(multiply(a, c), multiply(b, c)) -> multiply(add(a, b), c) for floats"""
    return _factored(x, rewriter) if is_float(x) else None


def _factored(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    first, second = x.operands
    if first.op.name != "multiply" or second.op.name != "multiply" or not rewriter.have_one_user(x.operands):
        return None
    for a, c in both_orders(first):
        for b, other in both_orders(second):
            if c is other:
                return rewriter.add("multiply", [rewriter.add(x.op.name, [a, b], x.shape), c], x.shape)
    return None


@rule("subtract", of=("add", "subtract"))
def subtract_constants_together(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """subtract(add(a, c1), c2) -> add(a, subtract(c1, c2)) for integers

    Likewise, `subtract(subtract(a, c1), c2) -> subtract(a, add(c1, c2))`.
    """
    inner, last = x.operands
    if not is_integral(x) or not is_constant(last):
        return None
    a, first = inner.operands
    if is_constant(a) and inner.op.name == "add":
        a, first = first, a
    if not is_constant(first) or is_constant(a) or not rewriter.has_one_user(inner):
        return None
    opposite = "subtract" if inner.op.name == "add" else "add"
    return rewriter.with_operands(inner, [a, rewriter.add(opposite, [first, last], x.shape)], x.shape)


@rule("add", of=("subtract",))
def add_after_subtract(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(subtract(a, c1), c2) -> add(a, subtract(c2, c1)) for integers"""
    if not is_integral(x):
        return None
    for inner, last in both_orders(x):
        # One operand is a difference, so only the other one can be a constant.
        if not is_constant(last) or not rewriter.has_one_user(inner):
            continue
        a, first = inner.operands
        if is_constant(first) and not is_constant(a):
            return rewriter.add("add", [a, rewriter.add("subtract", [last, first], x.shape)], x.shape)
    return None


@rule("divide", constant=True)
def divide_by_power_of_two(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """divide(a, 2^k) -> multiply(a, 2^-k) for floats, if 2^-k is a normal number"""
    a, divisor = x.operands
    row = element_type(x)
    if row.float_format is None or not rewriter.has_one_user(divisor):
        return None
    value = constant_value(divisor)
    # Neither infinities nor NaN have this fraction.
    if value is None or abs(frexp(value)[0]) != 0.5:
        return None
    # Numbers near the limits of the type have reciprocals that are not normal, which some
    # processors flush to zero.
    if abs(frexp(value)[1] - 1) >= row.float_format.bias - 1:
        return None
    return rewriter.add("multiply", [a, rewriter.number(divisor.shape, 1 / value)], x.shape)


@rule("divide", needs=("arcp",))
def divide_by_constant(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """divide(a, c) -> multiply(a, 1/c) for floats"""
    a, divisor = x.operands
    value = constant_value(divisor)
    if value is None or x.shape.element_type not in ("f32", "f64") or not rewriter.has_one_user(divisor):
        return None
    if is_constant(a):
        # Constant folding computes the quotient.
        return None
    one = rewriter.number(divisor.shape, 1.0)
    return rewriter.add("multiply", [a, rewriter.add("divide", [one, divisor], divisor.shape)], x.shape)


@rule("divide", of=("divide",), needs=("reassoc", "arcp"))
def quotient_of_quotient(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """divide(divide(a, b), c) -> divide(a, multiply(b, c)) for floats

    Likewise, `divide(a, divide(b, c)) -> divide(multiply(a, c), b)`.
    """
    first, second = x.operands
    if not is_float(x):
        return None
    if first.op.name == "divide" and rewriter.has_one_user(first):
        a, b = first.operands
        return rewriter.add("divide", [a, rewriter.add("multiply", [b, second], x.shape)], x.shape)
    if second.op.name == "divide" and rewriter.has_one_user(second):
        b, c = second.operands
        return rewriter.add("divide", [rewriter.add("multiply", [first, c], x.shape), b], x.shape)
    return None


@rule("divide", of=("sqrt", "rsqrt"), needs=("afn", "arcp"))
def quotient_by_root(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """divide(a, sqrt(b)) -> multiply(a, rsqrt(b)); divide(1, sqrt(b)) -> rsqrt(b)

    Likewise, `divide(a, rsqrt(b)) -> multiply(a, sqrt(b))`.
    """
    a, root = x.operands
    if root.op.name not in ("sqrt", "rsqrt") or not is_float(x) or not rewriter.has_one_user(root):
        return None
    inverse = rewriter.add("rsqrt" if root.op.name == "sqrt" else "sqrt", root.operands, x.shape)
    return inverse if is_splat(a, 1.0) else rewriter.add("multiply", [a, inverse], x.shape)


@rule("add", "multiply", needs=("reassoc",))
def constants_of_floats_together(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(add(a, c1), c2) -> add(a, add(c1, c2)) for floats

    The same holds for multiply.
    """
    return with_constants_together(x, rewriter) if is_float(x) else None


# ---- powers and functions ----------------------------------------------------------------------


@rule("power", constant=True)
def power_of_zero(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """power(a, 0) -> 1"""
    return rewriter.number(x.shape, 1) if constant_value(x.operands[1]) == 0 else None


@rule("power", needs=("afn",))
def power_as_product(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """power(a, 2) -> multiply(a, a); power(a, 0.5) -> sqrt(a); power(a, -0.5) -> rsqrt(a)"""
    base, exponent = x.operands
    value = constant_value(exponent)
    if value is None or not is_float(x):
        return None
    if value == 2:
        return rewriter.add("multiply", [base, base], x.shape)
    return rewriter.add("sqrt" if value == 0.5 else "rsqrt", [base], x.shape) if abs(value) == 0.5 else None


@rule("multiply", of=("exponential",), needs=("reassoc", "afn"))
def product_of_exponentials(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """multiply(exponential(a), exponential(b)) -> exponential(add(a, b))"""
    first, second = x.operands
    if first.op.name != "exponential" or second.op.name != "exponential" or not rewriter.have_one_user(x.operands):
        return None
    return rewriter.add("exponential", [rewriter.add("add", [first.operands[0], second.operands[0]], x.shape)], x.shape)


@rule("log", of=("exponential",), needs=("afn", "nnan", "ninf"))
def log_of_exponential(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """log(exponential(a)) -> a"""
    inner = x.operands[0]
    return inner.operands[0] if is_float(x) else None


@rule("exponential", of=("log",), needs=("afn", "nnan", "ninf", "nsz"))
def exponential_of_log(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """exponential(log(a)) -> a"""
    inner = x.operands[0]
    return inner.operands[0] if is_float(x) else None


# ---- types -------------------------------------------------------------------------------------


@rule("convert", of=("convert",))
def convert_of_convert(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """convert(convert(a)) -> convert(a), if the first conversion preserves every number

    Conversions from floats to integers saturate, but conversions between integers wrap around. So
    if an integer is converted to a float and then to an integer, the type of the result must also
    represent every number of the type of `a`.
    """
    inner = x.operands[0]
    source = inner.operands[0]
    narrow, wide, result = element_type(source), element_type(inner), element_type(x)
    if not holds_all(wide, narrow):
        return None
    if result.is_integral and wide.kind == "float" and narrow.kind != "float" and not holds_all(result, narrow):
        return None
    return source if source.shape == x.shape else rewriter.with_operands(x, [source])


@rule("convert", of=("convert",), needs=("precision",))
def convert_there_and_back(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """convert(convert(a)) -> a, if a and the result have the same floating-point type

    The intermediate type may be narrower. XLA makes this change by default
    (`xla_allow_excess_precision`), even for 8-bit types. Conversions to integers and back are never
    removed.
    """
    inner = x.operands[0]
    if not is_float(x) or not is_float(inner):
        return None
    # If the types differ, the result is rejected.
    return inner.operands[0]


@rule("real", "imag", of=("complex",))
def part_of_complex(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """real(complex(a, b)) -> a; imag(complex(a, b)) -> b"""
    return x.operands[0].operands[x.op.name == "imag"]


@rule("complex", of=("real",))
def complex_of_its_parts(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """complex(real(a), imag(a)) -> a"""
    first, second = x.operands
    # The rule is called only if one operand is a real part.
    if second.op.name != "imag" or first.operands[0] is not second.operands[0]:
        return None
    return first.operands[0]


@rule("maximum", "minimum", needs=("nnan",))
def of_infinity(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """maximum(a, inf) -> inf; minimum(a, -inf) -> -inf"""
    limit = float("inf") if x.op.name == "maximum" else float("-inf")
    return next((known for _, known in both_orders(x) if (value := constant_value(known)) is not None and is_same_number(value, limit)), None)
