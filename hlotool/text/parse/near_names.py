"""Suggests opcodes and element types for misspelled names and for names from other languages."""

from __future__ import annotations

from collections.abc import Mapping

from hlotool.errors import nearest
from hlotool.opdefs.table import OPS
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__ = ["opcode_hint", "suggest_opcode", "suggest_type"]

_DIALECTS = ("stablehlo.", "mhlo.", "chlo.", "hlo.", "xla.", "lax.", "jnp.", "np.", "tf.", "torch.", "aten.", "xla_hlo.")


def _invert(words: Mapping[str, str]) -> Mapping[str, str]:
    """Returns a mapping from each of the space-separated words to its HLO name."""
    return {word: name for name, others in words.items() for word in others.split()}


_OPCODES = _invert(
    {
        "subtract": "sub",
        "multiply": "mul",
        "divide": "div",
        "remainder": "rem mod",
        "negate": "neg",
        "maximum": "max relu",
        "minimum": "min",
        "power": "pow",
        "exponential": "exp",
        "exponential-minus-one": "expm1",
        "log-plus-one": "log1p",
        "sine": "sin",
        "cosine": "cos",
        "logistic": "sigmoid",
        "dot": "matmul einsum dot-general mm",
        "convert": "cast astype",
        "concatenate": "concat",
        "select": "where",
        "conditional": "cond if case",
        "get-tuple-element": "gte",
        "broadcast": "broadcast-in-dim dynamic-broadcast-in-dim",
        "reduce": "reduce-sum sum",
        "transpose": "permute",
        "reshape": "view",
        "parameter": "param arg argument",
        "constant": "const",
        "all-reduce": "psum",
        "collective-permute": "ppermute",
        "opt-barrier": "optimization-barrier",
        "after-all": "create-token",
        "convolution": "conv",
        "rng": "rng-uniform",
        "shift-right-logical": "shift-right",
        "ceil": "ceiling",
        "cbrt": "cbroot",
        "sqrt": "square-root",
        "abs": "absolute",
        "and": "logical-and",
        "or": "logical-or",
        "not": "logical-not",
        "xor": "logical-xor",
        "tuple": "return",
        "round-nearest-afz": "round",
        "sinh": "sine-hyperbolic",
        "popcnt": "population-count",
        "count-leading-zeros": "count-leading-zeroes clz",
        "compare": "equal less greater",
    }
)
"""Opcodes by their names in MLIR, JAX, NumPy and PyTorch.

Only names that do not resemble the opcode are listed, with hyphens instead of underscores.
"""

_TYPES = _invert(
    {
        "f32": "float float32 fp32 tensor",
        "f64": "double float64 fp64",
        "f16": "half float16 fp16",
        "bf16": "bfloat16 brain_float b16",
        "f8e4m3fn": "fp8 float8",
        "s32": "int int32 i32 si32",
        "s2": "int2",
        "s4": "int4 i4",
        "s8": "int8 i8 si8 char",
        "s16": "int16 i16 short",
        "s64": "int64 i64 si64 long",
        "u2": "uint2",
        "u4": "uint4 ui4",
        "u8": "uint8 ui8 byte",
        "u16": "uint16 ui16",
        "u32": "uint32 ui32",
        "u64": "uint64 ui64 size_t",
        "pred": "i1 bool boolean bit",
        "c64": "complex complex64",
        "c128": "complex128",
    }
)
"""Element types by their names in NumPy, C, MLIR and PyTorch."""


def suggest_opcode(word: str) -> str | None:
    """Returns the opcode that was probably meant by an unknown word, or None.

    >>> suggest_opcode("stablehlo.dot_general"), suggest_opcode("paramter"), suggest_opcode("zzzz")
    ('dot', 'parameter', None)
    """
    name = word.lower()
    name = next((name.removeprefix(dialect) for dialect in _DIALECTS if name.startswith(dialect)), name).replace("_", "-")
    if name in OPS:
        return name
    return _OPCODES.get(name) or nearest(name, OPS)


def opcode_hint(word: str) -> str:
    """Returns the hint for an unknown opcode.

    >>> opcode_hint("paramter"), opcode_hint("zzzz")
    ("did you mean 'parameter'?", 'XLA has no such opcode; use a custom-call for an operation of another compiler')
    """
    meant = suggest_opcode(word)
    return f"did you mean '{meant}'?" if meant else "XLA has no such opcode; use a custom-call for an operation of another compiler"


def suggest_type(word: str) -> str | None:
    """Returns the element type that was probably meant by an unknown word, or None.

    >>> suggest_type("float32"), suggest_type("F32"), suggest_type("f23"), suggest_type("zork")
    ('f32', 'f32', 'f32', None)
    """
    name = word.lower().rpartition(".")[2]
    if name in ELEMENT_TYPES:
        return name
    return _TYPES.get(name) or nearest(name, ELEMENT_TYPES)
