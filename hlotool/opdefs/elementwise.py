"""Elementwise opcodes: arithmetic, logic, comparison, selection and conversion."""

from __future__ import annotations

from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.algebra import NO_ALGEBRA, Algebra, Number, greatest, least, ones, value, zero
from hlotool.opdefs.base import op, require
from hlotool.opdefs.inference import (
    Bound,
    array_operand,
    bare,
    bounds,
    change_element_type,
    component_type,
    count,
    dimensions_agree,
    higher_precision,
    is_scalar,
    kind_of,
    new_array,
    require_array,
    require_arrays,
    require_kind,
    require_written_shape,
    same_type_up_to_precision,
    with_bounds,
)
from hlotool.opdefs.kinds import (
    ComparisonDirection,
    ComparisonType,
    Int32,
    ResultAccuracy,
)
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import ASSOCIATIVE, COMMUTATIVE, CONVERTS, ELEMENTWISE, IDEMPOTENT, INVOLUTION, MIXED_PRECISION, MOVES, TRANSCENDENTAL
from hlotool.record import Record, replace
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.shape import UNBOUNDED, Shape, array_shape

__all__ = ["BINARY", "UNARY", "BinaryRow", "UnaryRow", "default_comparison_type"]

_FLOAT = ("float",)
_FLOAT_OR_COMPLEX = ("float", "complex")
_INTEGRAL = ("signed", "unsigned")
_LOGICAL = ("pred", "signed", "unsigned")
_SIGNED = ("signed", "float", "complex")
_NUMERIC = ("signed", "unsigned", "float", "complex")
_ANY = ("pred", "signed", "unsigned", "float", "complex")

_CODES = {_FLOAT: "T005", _FLOAT_OR_COMPLEX: "T005", _INTEGRAL: "T006", _LOGICAL: "T007", _SIGNED: "T008", _NUMERIC: "T008", _ANY: "T002"}
"""For each tuple of kinds, the code to report for operands of any other kind."""


# One operand


class UnaryRow(Record):
    """The definition of an opcode with one operand, whose result has the operand's dimensions.

    `kinds` lists the kinds of element types that inference accepts. With `accuracy`, the opcode has
    the attribute result_accuracy. With `to_component`, the result for a complex operand is real.
    """

    name: str
    kinds: tuple[str, ...]
    doc: str
    accuracy: bool = False
    to_component: bool = False
    traits: tuple[str, ...] = ()


UNARY: tuple[UnaryRow, ...] = (
    UnaryRow(
        "abs",
        _SIGNED,
        "Absolute value; for complex numbers, the magnitude. The smallest signed integer is unchanged.",
        to_component=True,
        traits=(IDEMPOTENT,),
    ),
    UnaryRow("acos", _FLOAT_OR_COMPLEX, "Inverse cosine.", accuracy=True),
    UnaryRow("acosh", _FLOAT_OR_COMPLEX, "Inverse hyperbolic cosine.", accuracy=True),
    UnaryRow("asin", _FLOAT_OR_COMPLEX, "Inverse sine.", accuracy=True),
    UnaryRow("asinh", _FLOAT_OR_COMPLEX, "Inverse hyperbolic sine.", accuracy=True),
    UnaryRow("atanh", _FLOAT_OR_COMPLEX, "Inverse hyperbolic tangent.", accuracy=True),
    UnaryRow("cbrt", _FLOAT, "Real cube root, also for negative numbers.", accuracy=True),
    UnaryRow("ceil", _FLOAT, "Smallest integer that is not less than the operand.", traits=(IDEMPOTENT,)),
    UnaryRow("cosh", _FLOAT_OR_COMPLEX, "Hyperbolic cosine.", accuracy=True),
    UnaryRow("cosine", _FLOAT_OR_COMPLEX, "Cosine of an angle in radians.", accuracy=True),
    UnaryRow("count-leading-zeros", _INTEGRAL, "Number of zero bits above the highest set bit, within the width of the type."),
    UnaryRow("erf", _FLOAT, "Gauss error function.", accuracy=True),
    UnaryRow("exponential", _FLOAT_OR_COMPLEX, "e to the power of the operand.", accuracy=True),
    UnaryRow("exponential-minus-one", _FLOAT_OR_COMPLEX, "e to the power of the operand, minus 1, accurate for small operands.", accuracy=True),
    UnaryRow("floor", _FLOAT, "Largest integer that is not greater than the operand.", traits=(IDEMPOTENT,)),
    UnaryRow("imag", _FLOAT_OR_COMPLEX, "Imaginary part; 0 for real numbers.", to_component=True),
    UnaryRow("log", _FLOAT_OR_COMPLEX, "Natural logarithm.", accuracy=True),
    UnaryRow("log-plus-one", _FLOAT_OR_COMPLEX, "Natural logarithm of the operand plus 1, accurate for small operands.", accuracy=True),
    UnaryRow("logistic", _FLOAT_OR_COMPLEX, "Sigmoid: 1 / (1 + exp(-x)).", accuracy=True),
    UnaryRow("negate", _NUMERIC, "The operand with the opposite sign; integers wrap around.", traits=(INVOLUTION,)),
    UnaryRow("not", _LOGICAL, "Complement: logical for pred, bitwise for integers.", traits=(INVOLUTION,)),
    UnaryRow("popcnt", _INTEGRAL, "Number of set bits."),
    UnaryRow("real", _FLOAT_OR_COMPLEX, "Real part; the operand itself for real numbers.", to_component=True),
    UnaryRow("round-nearest-afz", _FLOAT, "Nearest integer, ties away from zero.", traits=(IDEMPOTENT,)),
    UnaryRow("round-nearest-even", _FLOAT, "Nearest integer, ties to even.", traits=(IDEMPOTENT,)),
    UnaryRow("rsqrt", _FLOAT_OR_COMPLEX, "1 divided by the square root.", accuracy=True),
    UnaryRow("sign", _SIGNED, "Sign: -1, 0 or 1; for complex numbers, x / |x|. NaN and signed zeros are unchanged.", traits=(IDEMPOTENT,)),
    UnaryRow("sine", _FLOAT_OR_COMPLEX, "Sine of an angle in radians.", accuracy=True),
    UnaryRow("sinh", _FLOAT_OR_COMPLEX, "Hyperbolic sine.", accuracy=True),
    UnaryRow("sqrt", _FLOAT_OR_COMPLEX, "Square root.", accuracy=True),
    UnaryRow("tan", _FLOAT_OR_COMPLEX, "Tangent of an angle in radians.", accuracy=True),
    UnaryRow("tanh", _FLOAT_OR_COMPLEX, "Hyperbolic tangent.", accuracy=True),
)
"""The opcodes with one operand that are completely defined by a row of this table."""


def _unary_shape(row: UnaryRow, operand: Shape) -> Shape:
    require_array(operand, "operand 0", row.name)
    require_kind(operand, "operands", row.name, row.kinds, _CODES[row.kinds])
    if row.to_component and kind_of(operand.element_type) == "complex":
        return change_element_type(operand, component_type(operand.element_type))
    return operand


def _example(opcode: str, operands: str, kinds: tuple[str, ...]) -> str:
    element_type = "f32" if "float" in kinds else "s32"
    return f"\n\n    r = {element_type}[4] {opcode}({operands})"


def _define_unary(row: UnaryRow) -> None:
    # Programs can choose the accuracy of functions that are not exact.
    inexact = (TRANSCENDENTAL,) if row.accuracy else ()
    doc, traits = row.doc + _example(row.name, "x", row.kinds), (ELEMENTWISE, *inexact, *row.traits)
    if not row.accuracy:

        @op(row.name, doc=doc, traits=traits)
        def infer(operand: Shape) -> Shape:
            return _unary_shape(row, operand)

        return

    @op(row.name, doc=doc, traits=traits)
    def infer_with_accuracy(operand: Shape, *, result_accuracy: ResultAccuracy | None = None) -> Shape:
        return _unary_shape(row, operand)


for _unary in UNARY:
    _define_unary(_unary)


@op(result_code="T009", traits=(ELEMENTWISE,))
def is_finite(operand: Shape) -> Shape:
    """Returns whether each element is finite, that is, neither infinite nor NaN.

    r = pred[4] is-finite(x)
    """
    require_array(operand, "operand 0", "is-finite")
    require_kind(operand, "operands", "is-finite", _FLOAT, "T005")
    return change_element_type(operand, "pred")


# Two operands


class BinaryRow(Record):
    """The definition of an opcode whose two operands and result have the same shape.

    `kinds` has the same meaning as in `UnaryRow`. `strict_kinds` lists the kinds that the verifier
    accepts, or is empty if it accepts all of `kinds`.
    """

    name: str
    kinds: tuple[str, ...]
    doc: str
    strict_kinds: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    algebra: Algebra = NO_ALGEBRA


_SEMILATTICE = (COMMUTATIVE, ASSOCIATIVE, IDEMPOTENT)


def _integer_zero(row: ElementType) -> Number | None:
    return 0 if row.is_integral else None


def _greatest_integer(row: ElementType) -> Number | None:
    """Returns the absorbing element of a maximum, which is the largest integer.

    Returns None for floats, since the maximum of inf and NaN is NaN.
    """
    return greatest(row) if row.kind != "float" else None


def _least_integer(row: ElementType) -> Number | None:
    return least(row) if row.kind != "float" else None


BINARY: tuple[BinaryRow, ...] = (
    BinaryRow(
        "add",
        _ANY,
        "Sum; integers wrap around; for pred, a logical or.",
        traits=(COMMUTATIVE, ASSOCIATIVE),
        algebra=Algebra(value(0, -0.0), on_pred="or"),
    ),
    BinaryRow("and", _LOGICAL, "Conjunction: logical for pred, bitwise for integers.", traits=_SEMILATTICE, algebra=Algebra(ones, zero)),
    BinaryRow("atan2", _FLOAT_OR_COMPLEX, "Angle of the point with y coordinate lhs and x coordinate rhs.", traits=(TRANSCENDENTAL,)),
    BinaryRow(
        "divide",
        _NUMERIC,
        "Quotient, truncated toward zero for integers; an integer divided by 0 is -1 (all bits set).",
        algebra=Algebra(value(1, 1.0)),
    ),
    BinaryRow(
        "maximum",
        _ANY,
        "The larger of the two operands; NaN if either is NaN.",
        traits=(*_SEMILATTICE, MOVES),
        algebra=Algebra(least, _greatest_integer, on_pred="or"),
    ),
    BinaryRow(
        "minimum",
        _ANY,
        "The smaller of the two operands; NaN if either is NaN.",
        traits=(*_SEMILATTICE, MOVES),
        algebra=Algebra(greatest, _least_integer, on_pred="and"),
    ),
    BinaryRow("mulhi", _ANY, "The upper half of the product of two integers.", traits=(COMMUTATIVE,), algebra=Algebra(absorbing=_integer_zero)),
    BinaryRow(
        "multiply",
        _ANY,
        "Product; integers wrap around; for pred, a logical and.",
        traits=(COMMUTATIVE, ASSOCIATIVE),
        algebra=Algebra(value(1, 1.0), zero, on_pred="and"),
    ),
    BinaryRow("or", _LOGICAL, "Disjunction: logical for pred, bitwise for integers.", traits=_SEMILATTICE, algebra=Algebra(zero, ones)),
    BinaryRow(
        "power",
        _NUMERIC,
        "lhs to the power of rhs; integers wrap around.\n\n"
        "XLA:CPU uses only the lowest six bits of an integer exponent. It reads exponents as signed numbers, even in unsigned types, and negative "
        "powers are 0 unless lhs is 1 or -1. hlotool does the same. XLA's constant folding uses all bits, so it agrees with XLA:CPU only for "
        "exponents from 0 to 63.",
        traits=(TRANSCENDENTAL,),
        algebra=Algebra(value(1, 1.0)),
    ),
    BinaryRow(
        "remainder",
        _NUMERIC,
        "Remainder of truncating division, with the sign of lhs; for integers, lhs if rhs is 0.",
        algebra=Algebra(absorbing=zero),
    ),
    BinaryRow(
        "shift-left",
        _NUMERIC,
        "lhs shifted left by rhs bits; 0 if rhs is at least the width of the type.",
        strict_kinds=_INTEGRAL,
        algebra=Algebra(zero, zero),
    ),
    BinaryRow(
        "shift-right-arithmetic",
        _NUMERIC,
        "lhs shifted right by rhs bits, filled with copies of its top bit; if rhs is at least the width of the type, all bits are such copies.",
        strict_kinds=_INTEGRAL,
        algebra=Algebra(zero, zero),
    ),
    BinaryRow(
        "shift-right-logical",
        _NUMERIC,
        "lhs shifted right by rhs bits, filled with zeros; 0 if rhs is at least the width of the type.",
        strict_kinds=_INTEGRAL,
        algebra=Algebra(zero, zero),
    ),
    BinaryRow("subtract", _NUMERIC, "Difference; integers wrap around.", algebra=Algebra(value(0, 0.0), of_itself=zero)),
    BinaryRow(
        "xor",
        _LOGICAL,
        "Exclusive or: logical for pred, bitwise for integers.",
        traits=(COMMUTATIVE, ASSOCIATIVE),
        algebra=Algebra(zero, of_itself=zero),
    ),
)
"""The opcodes with two operands that are completely defined by a row of this table.

`kinds` lists the kinds that XLA's inference accepts, including floats for shifts and complex
numbers for maxima.
"""


_NO_BROADCAST = "HLO never broadcasts implicitly; add a broadcast"


def _merge_bounds(a: Bound, b: Bound, opcode: str, texts: str) -> Bound:
    """Returns one dimension of the result; size 1 is replaced by the size of the other operand."""
    if a[0] == b[0] != 1:
        return a[0], a[1] or b[1]
    # A size of 1, dynamic or not, is replaced by any other size, and an unbounded size by any
    # bounded one except 1.
    if a[0] == 1 or (a[0] == UNBOUNDED and b[0] != 1):
        return b
    if b[0] == 1 or b[0] == UNBOUNDED:
        return a
    raise Violation("T001", "operands", f"operands of '{opcode}' have different dimensions: {texts}", _NO_BROADCAST)


def _binary_shape(opcode: str, lhs: Shape, rhs: Shape) -> Shape:
    """Returns the result shape of an elementwise opcode with two operands.

    One operand may be a scalar. Otherwise, the sizes in each dimension must be equal, or one of
    them must be 1.
    """
    texts = f"{lhs.text_without_layout} and {rhs.text_without_layout}"
    agree = same_type_up_to_precision(lhs.element_type, rhs.element_type)
    require(agree, "T002", "operands", f"operands of '{opcode}' have different element types: {texts}")
    element_type = higher_precision(lhs.element_type, rhs.element_type, opcode)
    if lhs.rank != rhs.rank:
        smaller, larger = (lhs, rhs) if lhs.rank < rhs.rank else (rhs, lhs)
        require(not smaller.dimensions, "T001", "operands", f"operands of '{opcode}' have different ranks: {texts}")
        return new_array(element_type, bounds(larger), opcode)
    if lhs.dimensions == rhs.dimensions and UNBOUNDED not in lhs.dimensions:
        # The layout of the first operand is kept only in this case.
        marks = tuple(a or b for (_, a), (_, b) in zip(bounds(lhs), bounds(rhs), strict=True))
        return with_bounds(change_element_type(lhs, element_type), list(zip(lhs.dimensions, marks, strict=True)))
    return new_array(element_type, [_merge_bounds(a, b, opcode, texts) for a, b in zip(bounds(lhs), bounds(rhs), strict=True)], opcode)


def _require_operands(opcode: str, lhs: Shape, rhs: Shape, kinds: tuple[str, ...]) -> None:
    require_arrays((lhs, rhs), opcode)
    require_kind(lhs, "operands", opcode, kinds, _CODES[kinds])


def _same_sizes(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    """Raises Violation for operands of different sizes.

    Inference also accepts scalars and dimensions of size 1, as old HLO builders create them.
    """
    lhs, rhs = operands
    if dimensions_agree(lhs.dimensions, rhs.dimensions):
        return
    k = 0 if (lhs.rank, max(lhs.dimensions, default=0)) < (rhs.rank, max(rhs.dimensions, default=0)) else 1
    message = f"operand {k} is {operands[k].text_without_layout}, but must be {operands[1 - k].text_without_layout}, like the other operand"
    raise Violation("T004", "operands", message, _NO_BROADCAST)


def _define_binary(row: BinaryRow) -> None:
    def verify(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
        _same_sizes(result, operands, attributes, modes)
        if row.strict_kinds:
            require_kind(operands[0], "operands", row.name, row.strict_kinds, "T007")

    doc, traits = row.doc + _example(row.name, "x, y", row.kinds), (ELEMENTWISE, *row.traits)

    @op(row.name, doc=doc, verify=verify, traits=traits, algebra=row.algebra)
    def infer(lhs: Shape, rhs: Shape) -> Shape:
        _require_operands(row.name, lhs, rhs, row.kinds)
        return _binary_shape(row.name, lhs, rhs)


for _binary in BINARY:
    _define_binary(_binary)


@op(verify=_same_sizes, traits=(ELEMENTWISE,))
def complex_(lhs: Shape, rhs: Shape) -> Shape:
    """Combines real parts in lhs and imaginary parts in rhs into complex numbers.

    r = c64[4] complex(x, y)
    """
    require_arrays((lhs, rhs), "complex")
    known = lhs.element_type == rhs.element_type and lhs.element_type in ("f32", "f64")
    require(known, "T012", "operands", f"operands of 'complex' must both be f32 or both f64, got {lhs.element_type} and {rhs.element_type}")
    shape = _binary_shape("complex", lhs, rhs)
    return change_element_type(shape, "c64" if lhs.element_type == "f32" else "c128")


def default_comparison_type(operand: Shape) -> str | None:
    """Returns the default `type` of a compare with this operand; XLA does not print the default.

    Returns None for operands that cannot be compared.

    >>> from hlotool.shapes.shape import array_shape
    >>> default_comparison_type(array_shape("u8"))
    'UNSIGNED'
    """
    return {"pred": "UNSIGNED", "unsigned": "UNSIGNED", "signed": "SIGNED", "float": "FLOAT", "complex": "FLOAT"}.get(
        kind_of(bare(operand).element_type)
    )


def _check_compare(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    # XLA derives the default type from the first operand even if `type` is written, and aborts if
    # that operand is not an array.
    if operands:
        array_operand(operands[0], "operand 0", "compare")


_COMPARISON_TYPES = {"FLOAT": ("FLOAT", "TOTALORDER")}
"""The allowed values of `type` for each default that has alternatives."""


def _verify_compare(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    _same_sizes(result, operands, attributes, modes)
    element_type = operands[0].element_type
    default = default_comparison_type(operands[0])
    allowed = _COMPARISON_TYPES.get(default or "", (default,))
    written = attributes["type"] or default
    message = f"type of 'compare' must be {' or '.join(map(str, allowed))} for {element_type}, got {written}"
    require(written in allowed, "T010", "type", message, f"leave out `type` for the default, {default}")


@op(
    check_parsed=_check_compare,
    verify=_verify_compare,
    result_code="T009",
    operand_defaults={"type": lambda operands: default_comparison_type(operands[0])},
    traits=(ELEMENTWISE,),
)
def compare(lhs: Shape, rhs: Shape, *, direction: ComparisonDirection, type: ComparisonType | None = None) -> Shape:
    """Compares each pair of elements; TOTALORDER also orders NaNs and signed zeros.

    r = pred[4] compare(x, y), direction=LT
    """
    _require_operands("compare", lhs, rhs, _ANY)
    return change_element_type(_binary_shape("compare", lhs, rhs), "pred")


def _verify_stochastic_convert(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    operand, random = operands
    require_arrays(operands, "stochastic-convert")
    require_array(result, "shape", "stochastic-convert")
    at = "definition of operand 1"
    require_kind(operand, "definition of operand 0", "stochastic-convert", _FLOAT, "T089")
    require_kind(random, at, "stochastic-convert", ("unsigned",), "T089")
    bits = ELEMENT_TYPES[random.element_type].bits, ELEMENT_TYPES[operand.element_type].bits
    require(bits[0] == bits[1], "T089", at, f"elements of operand 1 have {count(bits[0], 'bit')}, but elements of operand 0 have {bits[1]}")
    agree = dimensions_agree(random.dimensions, operand.dimensions)
    message = f"operand 1 must have the dimensions of operand 0, {operand.text_without_layout}, got {random.text_without_layout}"
    require(agree, "T089", at, message)
    return array_shape(result.element_type, operand.dimensions, operand.dynamic)


@op(infers=False, verify=_verify_stochastic_convert, traits=(ELEMENTWISE,))
def stochastic_convert(operand: Shape, random: Shape) -> Shape:
    """Converts floats to a narrower type, rounding each up or down as determined by random bits.

    r = s8[4] stochastic-convert(x, bits)
    """
    require_written_shape("stochastic-convert")


# Three operands


def _select_bound(pred: Bound, on_true: Bound, on_false: Bound) -> Bound:
    if on_true[0] != on_false[0]:
        return on_false if on_true[0] == UNBOUNDED else on_true
    size = UNBOUNDED if on_true[0] == UNBOUNDED else pred[0]
    return size, pred[1] or on_true[1] or on_false[1]


@op(traits=(ELEMENTWISE, MOVES))
def select(pred: Shape, on_true: Shape, on_false: Shape) -> Shape:
    """Selects the element of on_true if pred is true, and the element of on_false otherwise.

    A scalar pred applies to all elements.

        r = f32[4] select(p, x, y)
    """
    require_arrays((pred, on_true, on_false), "select")
    same_type = same_type_up_to_precision(on_true.element_type, on_false.element_type)
    fits = same_type and dimensions_agree(on_true.dimensions, on_false.dimensions)
    require(fits, "T014", "operands", f"'select' cannot choose between {on_true.text_without_layout} and {on_false.text_without_layout}")
    require(pred.element_type == "pred", "T013", "operands", f"operand 0 of 'select' must be pred, got {pred.text_without_layout}")
    whole = on_true if not pred.dimensions else pred
    fits = whole is on_true or dimensions_agree(pred.dimensions, on_true.dimensions)
    require(
        fits,
        "T013",
        "operands",
        f"operand 0 of 'select' must be pred[] or have the dimensions of {on_true.text_without_layout}, got {pred.text_without_layout}",
    )
    element_type = higher_precision(on_true.element_type, on_false.element_type, "select")
    triples = zip(bounds(whole), bounds(on_true), bounds(on_false), strict=True)
    merged = [_select_bound(*triple) for triple in triples]
    shape = with_bounds(change_element_type(whole, element_type), merged)
    if shape.layout is None or on_true.layout is None:
        return shape
    return shape.with_layout(replace(shape.layout, element_size_in_bits=on_true.layout.element_size_in_bits))


@op(traits=(ELEMENTWISE, MOVES))
def clamp(minimum: Shape, operand: Shape, maximum: Shape) -> Shape:
    """Limits the operand to the range from minimum to maximum, which may be scalars.

    r = f32[4] clamp(lo, x, hi)
    """
    operands = (minimum, operand, maximum)
    require_arrays(operands, "clamp")
    for k in (0, 2):
        agree = same_type_up_to_precision(operands[k].element_type, operand.element_type)
        require(agree, "T015", "operands", f"'clamp' cannot limit {operand.element_type} with a bound of type {operands[k].element_type}")
        fits = is_scalar(operands[k]) or dimensions_agree(operands[k].dimensions, operand.dimensions)
        require(
            fits, "T015", "operands", f"'clamp' cannot limit {operand.text_without_layout} with a bound of shape {operands[k].text_without_layout}"
        )
    fits = is_scalar(minimum) or is_scalar(maximum) or dimensions_agree(minimum.dimensions, maximum.dimensions)
    require(
        fits, "T015", "operands", f"the bounds of 'clamp' have different dimensions: {minimum.text_without_layout} and {maximum.text_without_layout}"
    )
    return operand


# Conversions


def _verify_convert(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    operand = operands[0]
    require_array(operand, "operand 0", "convert")
    require_array(result, "shape", "convert")
    return array_shape(result.element_type, operand.dimensions, operand.dynamic)


@op(infers=False, verify=_verify_convert, result_code="T100", traits=(ELEMENTWISE, CONVERTS))
def convert(operand: Shape) -> Shape:
    """Converts each value to the element type of the result.

    r = s32[4] convert(x)
    """
    require_written_shape("convert")


def _verify_bitcast_convert(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    operand = operands[0]
    require_array(operand, "operand 0", "bitcast-convert")
    require_array(result, "shape", "bitcast-convert")
    old, new = operand.element_type, result.element_type
    both = (kind_of(old) == "complex") == (kind_of(new) == "complex")
    require(both, "T044", "shape", f"cannot reinterpret {old} as {new}", "use real, imag or complex")
    widths = ELEMENT_TYPES[old].stored_bits, ELEMENT_TYPES[new].stored_bits
    ratio = max(widths) // min(widths)
    sizes = bounds(operand)
    if widths[0] > widths[1]:
        sizes.append((ratio, False))
    elif widths[0] < widths[1]:
        fits = bool(sizes) and sizes[-1][0] in (ratio, UNBOUNDED)
        require(fits, "T043", "shape", f"the last dimension of {operand.text_without_layout} must have size {ratio} to be reinterpreted as {new}")
        sizes.pop()
    return new_array(new, sizes, "bitcast-convert")


@op(infers=False, verify=_verify_bitcast_convert, result_code="T043", traits=(ELEMENTWISE,))
def bitcast_convert(operand: Shape) -> Shape:
    """Reinterprets the bits of the operand as elements of another type.

    A wider type removes the last dimension, and a narrower type adds one.

        r = u32[4] bitcast-convert(x)
    """
    require_written_shape("bitcast-convert")


def _verify_reduce_precision(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    require_array(operands[0], "operand 0", "reduce-precision")
    require_kind(operands[0], "operands", "reduce-precision", _FLOAT, "T097")
    for name, smallest in (("exponent_bits", 1), ("mantissa_bits", 0)):
        require(attributes[name] >= smallest, "T097", name, f"{name} must be at least {smallest}, got {attributes[name]}")
    return operands[0]


@op(infers=False, verify=_verify_reduce_precision, traits=(MIXED_PRECISION, ELEMENTWISE, CONVERTS))
def reduce_precision(operand: Shape, *, exponent_bits: Int32, mantissa_bits: Int32) -> Shape:
    """Rounds floats to a format with fewer exponent and mantissa bits, without changing the type.

    r = f32[4] reduce-precision(x), exponent_bits=5, mantissa_bits=10
    """
    require_written_shape("reduce-precision")
