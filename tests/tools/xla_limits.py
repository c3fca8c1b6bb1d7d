"""Operations that XLA:CPU cannot compute, or for which HLO does not define one result."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from instances import Instance

from hlotool.ir.model import Instruction

__all__ = ["is_comparable"]

_NARROW = frozenset({"s2", "u2", "s4", "u4"})
_TWO_BITS = frozenset({"s2", "u2"})
_STORED = frozenset({"f8e8m0fnu", "f4e2m1fn"})
"""Types that cannot hold the results of most operations."""
_UNKNOWN = frozenset({"s1", "u1", "f6e2m3fn", "f6e3m2fn"})
_WIDE = frozenset({"f16", "bf16", "f32", "f64"})
_COMPLEX = frozenset({"c64", "c128"})
_MOVES = frozenset({
    "parameter", "constant", "broadcast", "reshape", "transpose", "reverse", "slice", "pad", "concatenate", "dynamic-slice", "dynamic-update-slice",
    "convert", "tuple", "get-tuple-element",
})  # fmt: skip
_WINDOWS = frozenset({"reduce-window", "select-and-scatter"})
# XLA computes these by composing other functions, or not at all.
_ABSENT = frozenset({"scan", "ragged-dot", "scaled-dot", "async-start", "copy-start", "bitcast", "custom-call"})


def is_comparable(x: Instance) -> bool:
    """Returns whether XLA:CPU must compute the same results as hlotool."""
    return not any(rule(y) for y in x.instructions for rule in _RULES) and not _is_unordered(x)


def _types(x: Instruction) -> set[str]:
    return {leaf.element_type for y in (x, *x.operands) for leaf in y.shape.leaves()}


def _has_unsuitable_types(x: Instruction) -> bool:
    types, opcode = _types(x), x.opcode
    source, target = (x.operands[0].shape.element_type if x.operands else "", x.shape.element_type)
    limits: dict[str, Callable[[], object]] = {
        # For negative s4, XLA counts the bits after extending the number to 8 bits.
        "popcnt": lambda: "s4" in types,
        "reduce-precision": lambda: any(name.startswith("f8") for name in types),
        "real": lambda: any(name.startswith("f8") for name in types),
        "imag": lambda: any(name.startswith("f8") for name in types),
        "power": lambda: types & _COMPLEX,
        # XLA:CPU aborts on conversions from complex numbers to pred, and considers 6, the largest
        # number of f4e2m1fn, too large for any integer type.
        "convert": lambda: (source in _COMPLEX and target == "pred") or source == "f4e2m1fn",
        "concatenate": lambda: types & _TWO_BITS,
        "sort": lambda: types & _TWO_BITS,
        "reduce": lambda: types & _TWO_BITS and x.shape.is_tuple,
        "dot": lambda: types & _NARROW,
        # The operands have one type, unless both are floats of 16 bits or more.
        "convolution": lambda: types & _NARROW or (len(operands := {y.shape.element_type for y in x.operands}) > 1 and not operands <= _WIDE),
        "topk": lambda: target.startswith("f8") or types & _TWO_BITS,
    }
    return bool(types & _UNKNOWN or (types & _STORED and opcode not in _MOVES) or (opcode in limits and limits[opcode]()))


def _has_unsuitable_sizes(x: Instruction) -> bool:
    first = x.operands[0].shape if x.operands else x.shape
    if x.opcode in ("pad", "dynamic-slice", "scatter"):
        return first.is_array and not first.dimensions
    if x.opcode == "scan" or (x.shape.is_array and any(x.shape.dynamic) and x.opcode != "set-dimension-size"):
        return True
    return x.opcode in _ABSENT


def _is_order_dependent(x: Instruction) -> bool:
    """Returns whether the order in which elements are combined matters."""
    body = [y for y in x.called[0].instructions if y.opcode != "parameter"]
    return len(body) != 1 or body[0].opcode not in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def _is_simplified(x: Instruction) -> bool:
    """Returns whether XLA:CPU computes something else.

    It multiplies by the reciprocal of a broadcast divisor. It replaces the elements beyond a dynamic
    size with the init value, which is right only if that value is neutral.
    """
    if x.opcode == "divide":
        return x.operands[1].opcode == "broadcast"
    return x.opcode == "reduce" and any(x.operands[0].shape.dynamic) and _is_order_dependent(x)


def _is_unordered_window(x: Instruction) -> bool:
    """Returns whether a window reaches into padding or holes.

    XLA:CPU then visits the elements in an order of its own, for example column by column.
    """
    if x.opcode not in _WINDOWS:
        return False
    window = x.attributes["window"]
    if x.opcode == "select-and-scatter":
        return any(w.padding_low or w.padding_high for w in window)
    is_ordered = _is_order_dependent(x)
    return is_ordered and any(w.padding_low or w.padding_high or w.base_dilation > 1 or w.window_dilation > 1 for w in window)


def _is_inexact(x: Instruction) -> bool:
    """Returns whether intermediate results of a narrow type may be rounded.

    Also returns true for small epsilons, of which XLA keeps only some digits.
    """
    if x.opcode.startswith("batch-norm"):
        return bool(x.attributes["epsilon"] < 0.1)
    opcodes = {y.opcode for called in x.called for y in called.instructions}
    is_float = any(name[0] in "bf" for name in _types(x))
    return (
        x.opcode in ("reduce", "scatter")
        and is_float
        and bool(opcodes & {"subtract", "multiply"} or len(x.called[0].instructions) > 3)
        and (prod(x.operands[0].shape.dimensions) > 9)
    )


def _is_repeated_scatter(x: Instruction) -> bool:
    """Returns whether several updates of an element are not distinguished by any index.

    XLA:CPU applies only the last of them.
    """
    if x.opcode != "scatter":
        return False
    sizes, batching = x.operands[0].shape.dimensions, x.attributes.get("input_batching_dims") or ()
    indices, vector = x.operands[len(x.operands) // 2].shape.dimensions, x.attributes["index_vector_dim"]
    batch = [size for k, size in enumerate(indices) if k != vector]
    return not x.attributes["scatter_dims_to_operand_dims"] and prod(batch) > prod(sizes[k] for k in batching)


def _is_unordered(x: Instance) -> bool:
    """Returns whether XLA may reorder or simplify the instructions of a called computation."""
    opcodes = [y.opcode for y in x.instructions]
    # XLA assumes that squares are positive, even of integers, whose squares wrap.
    return "abs" in opcodes and "multiply" in opcodes


_RULES = (_is_simplified, _has_unsuitable_types, _has_unsuitable_sizes, _is_unordered_window, _is_inexact, _is_repeated_scatter)
