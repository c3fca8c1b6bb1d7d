"""Immutable values of attributes: windows, paddings, slices, dimension labels, aliases and the rest that is not a plain tuple of ints.

Parsing and printing them is the codecs' work (`opdefs.codecs`).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "AliasPair",
    "ConvolutionDimensions",
    "DebugEntry",
    "Domain",
    "Origin",
    "OriginLeaf",
    "PaddingDimension",
    "Raw",
    "Recovery",
    "ResultAccuracy",
    "SliceRange",
    "SparsityConfig",
    "Statistics",
    "TensorSparsity",
    "WindowDimension",
]


@dataclass(frozen=True, slots=True)
class Raw:
    """Text that nobody interpreted: an unknown attribute's value, printed back as it was."""

    text: str


@dataclass(frozen=True, slots=True)
class WindowDimension:
    """One dimension of a `window={size=.. stride=.. pad=.. lhs_dilate=.. rhs_dilate=.. rhs_reversal=..}`.

    `base_dilation` is lhs_dilate, `window_dilation` rhs_dilate; paddings may be negative.
    """

    size: int
    stride: int = 1
    padding_low: int = 0
    padding_high: int = 0
    window_dilation: int = 1
    base_dilation: int = 1
    window_reversal: bool = False


@dataclass(frozen=True, slots=True)
class PaddingDimension:
    """One dimension of `padding=low_high_interior`; low and high may be negative."""

    low: int
    high: int
    interior: int = 0


@dataclass(frozen=True, slots=True)
class SliceRange:
    """One dimension of `slice={[start:limit:stride]}`."""

    start: int
    limit: int
    stride: int = 1


@dataclass(frozen=True, slots=True)
class ConvolutionDimensions:
    """What `dim_labels=b01f_01io->b01f` says: the place of each logical dimension in lhs, kernel and output.

    A label that the text leaves out stands at dimension 0, as in XLA; `text` is the spelling, with its `?` for unused dimensions.
    """

    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class ResultAccuracy:
    """`result_accuracy={mode=highest}` or `{tolerance={atol=..,rtol=..,ulps=..}}`."""

    mode: str = "default"
    tolerance: tuple[float, float, int] | None = None


@dataclass(frozen=True, slots=True)
class TensorSparsity:
    """`{sparsity=1x4 dimension=0 stride=1}`; `index` is the newer `idx=`."""

    sparsity: tuple[int, ...] = ()
    dimension: int = 0
    stride: int = 0
    index: int | None = None


@dataclass(frozen=True, slots=True)
class SparsityConfig:
    lhs: TensorSparsity | None = None
    rhs: TensorSparsity | None = None


@dataclass(frozen=True, slots=True)
class AliasPair:
    """An output buffer that shares memory with a parameter or operand; indices are paths into tuples.

    `kind` is "may-alias" or "must-alias" for a module's input_output_alias, and None for output_to_operand_aliasing.
    """

    output_index: tuple[int, ...]
    number: int
    index: tuple[int, ...]
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Domain:
    """`domain={kind="sharding", entry=.., exit=..}`."""

    kind: str
    entry: object
    exit: object


@dataclass(frozen=True, slots=True)
class Statistics:
    """`statistics={visualizing_index=1,count_nan=100}`."""

    visualizing_index: int = 0
    values: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class OriginLeaf:
    """One array of the original program: `{"name" {1,0}}`; without a name when the array has no origin."""

    name: str | None = None
    index: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """`origin={...}`: a tree of leaves shaped like the instruction's result, as nested tuples; `synthetic` for a synthetic call."""

    tree: object = ()
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class Recovery:
    """One row of the origin_recovery_table: how to get `old` back from `new`; `module` is the text of a module or None."""

    old: OriginLeaf
    new: OriginLeaf
    module: str | None = None


@dataclass(frozen=True, slots=True)
class DebugEntry:
    """One row of debug_attributes: an original array and the fields of its records."""

    array: OriginLeaf
    records: tuple[tuple[tuple[str, str], ...], ...]
