"""Derives facts about values without running anything.

The facts are constants, arithmetic identities, and instructions with equal values.

Lints, fixes and rewriters share this algebra. Answers are exact: values are equal bit for bit,
including -0.0, infinities, subnormal numbers and overflow. Only the payloads of NaNs are not
compared, since no operation guarantees them. The analysis does not look through barriers,
dependencies and domains, since they exist to keep values apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import copysign, isnan, prod

from hlotool.ir.model import Computation, Instruction
from hlotool.literals.floats import decode_floats, encode_floats
from hlotool.literals.literal import splat_bytes
from hlotool.opdefs.algebra import Number
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ASSOCIATIVE, COMMUTATIVE, FREE, IDEMPOTENT, INVOLUTION, REARRANGES
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType

__all__ = [
    "CONSTANT_LIKE",
    "absorbing_of",
    "algebraic_op",
    "binary_root",
    "constant_value",
    "converted",
    "has_constant",
    "has_sign",
    "holds_all",
    "identity_of",
    "is_associative",
    "is_idempotent",
    "is_same_number",
    "is_splat",
    "same_value",
    "value_of_itself",
    "without_conversions",
]

# Bounds the search, because rules query every user of a constant. Longer chains of conversions and
# broadcasts do not occur in practice.
_MAX_STEPS = 16


# ---- numbers -----------------------------------------------------------------------------------


def is_same_number(a: Number, b: Number) -> bool:
    """Returns whether two numbers are the same value: 0.0 and -0.0 differ, and all NaNs are equal.

    >>> is_same_number(1, 1.0), is_same_number(0.0, -0.0), is_same_number(float("nan"), float("nan"))
    (True, False, True)
    """
    if a != b:
        return isnan(a) and isnan(b)
    return a != 0 or copysign(1.0, a) == copysign(1.0, b)


def holds_all(wide: ElementType, narrow: ElementType) -> bool:
    """Returns whether converting from `narrow` to `wide` is lossless.

    Every value of the type `narrow` must be a value of `wide`.

    >>> [holds_all(ELEMENT_TYPES[a], ELEMENT_TYPES[b]) for a, b in (("f32", "bf16"), ("s16", "u8"), ("f32", "s16"), ("f32", "s32"))]
    [True, True, True, False]
    """
    if wide.name == narrow.name:
        return True
    if narrow.kind == "pred":
        # Signed integers of one bit are 0 and -1.
        return all(converted(number, wide) == number for number in (0, 1))
    a, b = wide.float_format, narrow.float_format
    if a is not None and b is not None:
        return a.exponent_bits >= b.exponent_bits and a.mantissa_bits >= b.mantissa_bits and a.nonfinite == b.nonfinite == "ieee"
    if wide.is_integral and narrow.is_integral:
        return wide.minimum <= narrow.minimum and wide.maximum >= narrow.maximum
    if a is not None and narrow.is_integral:
        return narrow.bits <= a.mantissa_bits + 1 and a.nonfinite == "ieee" and narrow.bits < a.bias
    return False


def has_sign(row: ElementType) -> bool:
    """Returns whether numbers of a type can be negated, with wraparound for integers.

    >>> has_sign(ELEMENT_TYPES["u8"]), has_sign(ELEMENT_TYPES["f8e8m0fnu"])
    (True, False)
    """
    return row.float_format is None or row.float_format.signed


def converted(value: Number, row: ElementType) -> Number | None:
    """Returns the number after conversion to a type.

    Returns None if the number would be rounded or saturated, or if the type is complex.

    >>> converted(300, ELEMENT_TYPES["u8"]), converted(3.0, ELEMENT_TYPES["s32"]), converted(3.5, ELEMENT_TYPES["s32"])
    (44, 3, None)
    >>> converted(257, ELEMENT_TYPES["bf16"]), converted(256, ELEMENT_TYPES["bf16"])
    (None, 256.0)
    """
    if row.kind == "pred":
        return int(value != 0)
    if row.is_integral:
        return _as_integer(value, row)
    # Encoding a complex type raises a ValueError, since complex types have no type code.
    try:
        rounded = float(value)
        nearest = decode_floats(row.name, encode_floats(row.name, [rounded]))[0]
    except (OverflowError, ValueError):
        return None
    is_exact = (rounded == value or isnan(rounded)) and is_same_number(nearest, rounded)
    return nearest if is_exact else None


def _as_integer(value: Number, row: ElementType) -> int | None:
    if isinstance(value, int):
        return (value - row.minimum) % (1 << row.bits) + row.minimum
    # A float that is not an integer of the type is rounded or saturated.
    return int(value) if value.is_integer() and row.minimum <= value <= row.maximum else None


# ---- constants ---------------------------------------------------------------------------------


def constant_value(x: Instruction) -> Number | None:
    """Returns the number that all elements of the result equal, or None if it is not known.

    The number is an int for integers and pred, and a float for floats. The search for a constant
    follows instructions that rearrange elements, and conversions that neither round nor saturate,
    but not bitcasts to a different element type. The number is rounded to the element type, so it
    may differ from the number in the text.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { z = f32[] constant(0.1) b = f32[4] broadcast(z), dimensions={} ROOT t = f32[2,2] reshape(b) }")
    >>> constant_value(module.entry.root)
    0.10000000149011612
    >>> module = parse("ENTRY e { one = s32[] constant(1) ROOT b = f32[] bitcast(one) }")
    >>> constant_value(module.entry.root)
    >>> constant_value(parse("ENTRY e { one = s8[] constant(-1) ROOT b = f32[] convert(one) }").entry.root)
    -1.0
    """
    conversions: tuple[str, ...] = ()
    for _ in range(_MAX_STEPS):
        if not _moves(x):
            break
        if x.op is _CONVERT:
            conversions = (x.shape.element_type, *conversions)
        x = x.operands[0]
    literal = x.literal
    if literal is None:
        return None
    element = splat_bytes(literal)
    return None if element is None else _number(literal.shape.element_type, element, conversions)


_CONSTANT, _CONVERT, _BITCAST = OPS["constant"], OPS["convert"], OPS["bitcast"]
# The opcodes whose results consist of elements of operand 0, which may be converted.
_MOVING = {_CONVERT, _BITCAST, *(op for op in OPS.values() if REARRANGES in op.traits and FREE not in op.traits)}
CONSTANT_LIKE = tuple(op.name for op in (_CONSTANT, *_MOVING))
"""The opcodes of instructions for which `constant_value` may find a number."""


def has_constant(operands: Sequence[Instruction]) -> bool:
    """Returns whether `constant_value` may find a number for one of the operands.

    Takes much less time than `constant_value`, since neither shapes nor literals are read.
    """
    for x in operands:
        for _ in range(_MAX_STEPS):
            if x.op not in _MOVING:
                break
            x = x.operands[0]
        if x.op is _CONSTANT:
            return True
    return False


def _moves(x: Instruction) -> bool:
    """Returns whether the elements of the result are those of operand 0, possibly converted."""
    if x.op not in _MOVING:
        return False
    source, result = x.operands[0].shape, x.shape
    if x.op is _CONVERT:
        return source.is_array and result.is_array
    # If the sizes differ, the result of a bitcast may contain padding.
    return source.element_type == result.element_type and (x.op is not _BITCAST or prod(source.dimensions) == prod(result.dimensions))


def _number(element_type: str, data: bytes, conversions: tuple[str, ...]) -> Number | None:
    """Returns the number that an element's bytes represent, after conversions to other types.

    Returns None if a type is complex, or if a conversion would round or saturate.
    """
    row, value = ELEMENT_TYPES[element_type], None
    if row.kind == "float":
        value = decode_floats(row.name, data)[0]
    elif row.kind != "complex":
        value = int.from_bytes(data, "little", signed=row.kind == "signed")
    for name in conversions:
        value = None if value is None else converted(value, ELEMENT_TYPES[name])
    return value


# ---- algebra of opcodes ------------------------------------------------------------------------


def algebraic_op(op: OpDef, row: ElementType) -> OpDef:
    """Returns the opcode whose algebra applies to an element type.

    On pred, addition is a logical or.

    >>> [algebraic_op(OPS["add"], ELEMENT_TYPES[name]).name for name in ("s32", "pred")]
    ['add', 'or']
    """
    return OPS[op.algebra.on_pred] if row.kind == "pred" and op.algebra.on_pred is not None else op


@cache
def identity_of(op: OpDef, row: ElementType) -> Number | None:
    """Returns the number that, as second operand, leaves the first operand unchanged, or None.

    For a commutative opcode, this also holds with the operands exchanged.

    >>> [identity_of(OPS["add"], ELEMENT_TYPES[name]) for name in ("s32", "f32")], identity_of(OPS["subtract"], ELEMENT_TYPES["f32"])
    ([0, -0.0], 0.0)
    """
    return algebraic_op(op, row).algebra.identity(row)


@cache
def absorbing_of(op: OpDef, row: ElementType) -> Number | None:
    """Returns the number that, as first operand, is the result for any second operand, or None.

    For a commutative opcode, this also holds with the operands exchanged.

    >>> [absorbing_of(OPS["multiply"], ELEMENT_TYPES[name]) for name in ("s32", "f32")]
    [0, None]
    """
    return algebraic_op(op, row).algebra.absorbing(row)


def value_of_itself(op: OpDef, row: ElementType) -> Number | None:
    """Returns the result for two equal operands if it is always the same number, else None.

    An example is 0 for a difference of integers.

    >>> [value_of_itself(OPS["subtract"], ELEMENT_TYPES[name]) for name in ("s32", "f32")]
    [0, None]
    """
    return algebraic_op(op, row).algebra.of_itself(row)


def is_idempotent(op: OpDef, row: ElementType) -> bool:
    """Returns whether f(f(x)) = f(x), or g(x, x) = x, for all values of a type.

    >>> [is_idempotent(OPS[name], ELEMENT_TYPES["pred"]) for name in ("add", "maximum", "xor")], is_idempotent(OPS["add"], ELEMENT_TYPES["s8"])
    ([True, True, False], False)
    """
    return row.kind != "complex" and IDEMPOTENT in algebraic_op(op, row).traits


def is_associative(op: OpDef) -> bool:
    """Returns whether the order of repeated applications affects at most the rounding."""
    return ASSOCIATIVE in op.traits


# ---- the same value ----------------------------------------------------------------------------


def same_value(x: Instruction) -> Instruction | None:
    """Returns another instruction with the same value, shape and layout as `x`, or None.

    The result is an operand that `x` leaves unchanged, or an earlier instruction if two operations
    cancel out. Shardings and metadata are not compared: a rewriter that replaces `x` has to decide
    what happens to them.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { p = f32[] parameter(0) z = f32[] constant(%s) ROOT r = f32[] subtract(p, z) }"
    >>> same_value(parse(text % "0").entry.root), same_value(parse(text % "-0.0").entry.root)
    (<p = f32[] parameter>, None)
    >>> barriers = "ENTRY e { p = (f32[]) parameter(0) a = (f32[]) opt-barrier(p) ROOT b = (f32[]) opt-barrier(a) }"
    >>> same_value(parse(barriers).entry.root)
    """
    rule = _RULES.get(x.op.name)
    source = rule(x) if rule is not None else _by_algebra(x)
    return source if source is not None and source.shape == x.shape else None


def _by_algebra(x: Instruction) -> Instruction | None:
    row = ELEMENT_TYPES.get(x.shape.element_type)
    if row is None:
        return None
    if len(x.operands) == 1:
        return _unary_source(x, x.operands[0], row)
    return _binary_source(x, row) if len(x.operands) == 2 else None


def _unary_source(x: Instruction, before: Instruction, row: ElementType) -> Instruction | None:
    if before.op is not x.op or before.shape != x.shape:
        return None
    if INVOLUTION in x.op.traits and has_sign(row):
        return before.operands[0]
    return before if is_idempotent(x.op, row) else None


def _binary_source(x: Instruction, row: ElementType) -> Instruction | None:
    first, second = x.operands
    if first is second and is_idempotent(x.op, row):
        return first
    if not has_constant(x.operands):
        return None
    pairs = ((first, second), (second, first)) if COMMUTATIVE in x.op.traits else ((first, second),)
    identity, absorbing = identity_of(x.op, row), absorbing_of(x.op, row)
    for one, other in pairs:
        if identity is not None and is_splat(other, identity) and one.shape == x.shape:
            return one
        if absorbing is not None and is_splat(one, absorbing) and one.shape == x.shape:
            return one
    return None


def is_splat(x: Instruction, number: Number) -> bool:
    """Returns whether all elements are known to be this number; 0.0 and -0.0 differ.

    >>> from hlotool.text.parse.parser import parse
    >>> root = parse("ENTRY e { z = f32[] constant(-0.0) ROOT b = f32[4] broadcast(z), dimensions={} }").entry.root
    >>> is_splat(root, -0.0), is_splat(root, 0.0)
    (True, False)
    """
    value = constant_value(x)
    return value is not None and is_same_number(value, number)


def _operand(x: Instruction) -> Instruction | None:
    return x.operands[0]


def _ordered_source(x: Instruction) -> Instruction | None:
    return x.operands[0] if tuple(x.attributes.get("dimensions", ())) == tuple(range(x.shape.rank)) else None


def _pad_source(x: Instruction) -> Instruction | None:
    # Since the sizes are equal, nothing is added or cut off at the end either.
    return x.operands[0] if all(not (part.low or part.interior) for part in x.attributes["padding"]) else None


def _reverse_source(x: Instruction) -> Instruction | None:
    return x.operands[0] if all(x.shape.dimensions[k] == 1 for k in x.attributes["dimensions"]) else None


def _concatenate_source(x: Instruction) -> Instruction | None:
    """Returns the only operand, or the only one that is not empty."""
    whole = [operand for operand in x.operands if operand.shape == x.shape]
    return whole[0] if len(whole) == 1 else None


def _update_source(x: Instruction) -> Instruction | None:
    # An update of the same size as the array replaces all of it, because its start index is
    # clamped.
    return x.operands[1]


def _select_source(x: Instruction) -> Instruction | None:
    choice, on_true, on_false = x.operands
    if on_true is on_false:
        return on_true
    value = constant_value(choice)
    return None if value is None else on_true if value else on_false


def _element_source(x: Instruction) -> Instruction | None:
    group, index = x.operands[0], x.attributes["index"]
    return group.operands[index] if group.op.name == "tuple" and 0 <= index < len(group.operands) else None


def _tuple_source(x: Instruction) -> Instruction | None:
    """Returns the tuple whose elements are all extracted and grouped again in the same order."""
    groups = {part.operands[0] for part in x.operands if part.op.name == "get-tuple-element"}
    taken = all(part.op.name == "get-tuple-element" and part.attributes["index"] == k for k, part in enumerate(x.operands))
    return groups.pop() if taken and len(groups) == 1 else None


_RULES: dict[str, Callable[[Instruction], Instruction | None]] = {
    # Between equal shapes, these opcodes do nothing.
    "copy": _operand,
    "reshape": _operand,
    "bitcast": _operand,
    "convert": _operand,
    "bitcast-convert": _operand,
    "real": _operand,
    "slice": _operand,
    "dynamic-slice": _operand,
    "transpose": _ordered_source,
    "broadcast": _ordered_source,
    "pad": _pad_source,
    "reverse": _reverse_source,
    "concatenate": _concatenate_source,
    "dynamic-update-slice": _update_source,
    "select": _select_source,
    "get-tuple-element": _element_source,
    "tuple": _tuple_source,
}
"""Rules by opcode. A rule's result counts only if it has the shape of `x`.

Other opcodes use the algebra.
"""


# ---- functions of two scalars ------------------------------------------------------------------


def without_conversions(x: Instruction) -> Instruction:
    """Follows lossless conversions and rearrangements back to the source of the value of `x`.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { p = s8[] parameter(0) a = s32[] convert(p) ROOT b = s8[] convert(a) }"
    >>> without_conversions(parse(text).entry.root), without_conversions(parse(text).entry.root.operands[0])
    (<b = s8[] convert>, <p = s8[] parameter>)
    """
    while _moves(x) and (x.op is not _CONVERT or holds_all(*_types(x, x.operands[0]))):
        x = x.operands[0]
    return x


def _types(*instructions: Instruction) -> list[ElementType]:
    return [ELEMENT_TYPES[x.shape.element_type] for x in instructions]


def binary_root(computation: Computation) -> Instruction | None:
    """Returns the operation that combines the two parameters of a computation into its result.

    Conversions are ignored: floats may be converted to other float types, which only affects
    rounding, and integers to a wider type and back. Returns None if there is no such operation.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] subtract(a, b) } ENTRY e { ROOT p = f32[] parameter(0) }")
    >>> binary_root(module.computations[0]).opcode
    'subtract'
    """
    root = _before_conversions(computation.root)
    operands = [_before_conversions(operand) for operand in root.operands]
    if len(operands) != 2 or operands[0] is operands[1] or any(operand.op.name != "parameter" for operand in operands):
        return None
    if not all(x.shape.is_array for x in (computation.root, root, *root.operands, *operands)):
        return None
    return root if _keeps_meaning(computation.root, root, operands) else None


def _keeps_meaning(result: Instruction, root: Instruction, parameters: list[Instruction]) -> bool:
    """Returns whether converting the operands only affects the rounding of the operation."""
    outer, inner = _types(result, *parameters), _types(*root.operands)
    if all(row.kind in ("float", "complex") for row in (*outer, *inner)):
        return True
    if result.shape.element_type == "pred":
        # The root is a comparison, whose operands must have been converted without loss.
        return all(holds_all(wide, narrow) for wide, narrow in zip(inner, outer[1:], strict=True))
    kept = any(row.name == outer[0].name for row in outer[1:]) and all(holds_all(outer[0], row) for row in outer[1:])
    return kept and all(holds_all(wide, narrow) for wide, narrow in zip(inner, outer[1:], strict=True))


def _before_conversions(x: Instruction) -> Instruction:
    while _moves(x):
        x = x.operands[0]
    return x
