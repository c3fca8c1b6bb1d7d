"""The table of element types.

The floating-point rows follow the definitions in ml_dtypes and XLA. `interp/arrays/dtypes.py` maps
element types to NumPy dtypes.
"""

from __future__ import annotations

from hlotool.record import Record

__all__ = ["ELEMENT_TYPES", "ElementType", "FloatFormat"]


class FloatFormat(Record):
    """A binary floating-point format.

    `nonfinite` is the kind of special values: "ieee" (infinities, and NaNs with payloads), "fn" (no
    infinities and a single NaN, with all bits set), "fnuz" (a single NaN in place of negative
    zero), "none" (finite values only), or "e8m0" (no sign and no zero; the NaN is 0xff).
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    nonfinite: str = "ieee"
    signed: bool = True


class ElementType(Record):
    """An element type; `bits` is the size of an element.

    `kind` is "pred", "signed", "unsigned", "float", "complex", "token" or "opaque".
    """

    name: str
    kind: str
    bits: int
    float_format: FloatFormat | None = None

    @property
    def stored_bits(self) -> int:
        """The number of bits that an element takes in memory: `bits`, but 8 for 6-bit types."""
        return 1 << (self.bits - 1).bit_length()

    @property
    def is_integral(self) -> bool:
        return self.kind in ("signed", "unsigned")

    @property
    def minimum(self) -> int:
        """The smallest value of an integral type."""
        return -(1 << (self.bits - 1)) if self.kind == "signed" else 0

    @property
    def maximum(self) -> int:
        """The largest value of an integral type."""
        return (1 << (self.bits - (self.kind == "signed"))) - 1


_FLOATS = {
    "f16": (16, FloatFormat(5, 10, 15)),
    "bf16": (16, FloatFormat(8, 7, 127)),
    "f32": (32, FloatFormat(8, 23, 127)),
    "f64": (64, FloatFormat(11, 52, 1023)),
    "f8e5m2": (8, FloatFormat(5, 2, 15)),
    "f8e4m3": (8, FloatFormat(4, 3, 7)),
    "f8e4m3fn": (8, FloatFormat(4, 3, 7, "fn")),
    "f8e4m3b11fnuz": (8, FloatFormat(4, 3, 11, "fnuz")),
    "f8e3m4": (8, FloatFormat(3, 4, 3)),
    "f8e5m2fnuz": (8, FloatFormat(5, 2, 16, "fnuz")),
    "f8e4m3fnuz": (8, FloatFormat(4, 3, 8, "fnuz")),
    "f4e2m1fn": (4, FloatFormat(2, 1, 1, "none")),
    "f6e3m2fn": (6, FloatFormat(3, 2, 3, "none")),
    "f6e2m3fn": (6, FloatFormat(2, 3, 1, "none")),
    "f8e8m0fnu": (8, FloatFormat(8, 0, 127, "e8m0", signed=False)),
}

ELEMENT_TYPES: dict[str, ElementType] = {
    row.name: row
    for row in (
        ElementType("pred", "pred", 8),
        *(ElementType(f"s{bits}", "signed", bits) for bits in (1, 2, 4, 8, 16, 32, 64)),
        *(ElementType(f"u{bits}", "unsigned", bits) for bits in (1, 2, 4, 8, 16, 32, 64)),
        *(ElementType(name, "float", bits, form) for name, (bits, form) in _FLOATS.items()),
        ElementType("c64", "complex", 64),
        ElementType("c128", "complex", 128),
        ElementType("token", "token", 0),
        ElementType("opaque", "opaque", 0),
    )
}
"""All types that the text format writes as `type[...]`, by name."""
