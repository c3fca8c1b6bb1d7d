"""Immutable values of attributes: windows, paddings, slices, dimension labels, aliases and the rest that is not a plain tuple of ints.

Parsing and printing them is the codecs' work (`opdefs.codecs`).
"""

from __future__ import annotations

from hlotool.record import Record

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


class Raw(Record):
    """Text that nobody interpreted: an unknown attribute's value, printed back as it was."""

    text: str


class WindowDimension(Record):
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


class PaddingDimension(Record):
    """One dimension of `padding=low_high_interior`; low and high may be negative."""

    low: int
    high: int
    interior: int = 0


class SliceRange(Record):
    """One dimension of `slice={[start:limit:stride]}`."""

    start: int
    limit: int
    stride: int = 1


class ConvolutionDimensions(Record):
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


class ResultAccuracy(Record):
    """`result_accuracy={mode=highest}` or `{tolerance={atol=..,rtol=..,ulps=..}}`."""

    mode: str = "default"
    tolerance: tuple[float, float, int] | None = None


class TensorSparsity(Record):
    """`{sparsity=1x4 dimension=0 stride=1}`; `index` is the newer `idx=`."""

    sparsity: tuple[int, ...] = ()
    dimension: int = 0
    stride: int = 0
    index: int | None = None


class SparsityConfig(Record):
    lhs: TensorSparsity | None = None
    rhs: TensorSparsity | None = None


class AliasPair(Record):
    """An output buffer that shares memory with a parameter or operand; indices are paths into tuples.

    `kind` is "may-alias" or "must-alias" for a module's input_output_alias, and None for output_to_operand_aliasing.
    """

    output_index: tuple[int, ...]
    number: int
    index: tuple[int, ...]
    kind: str | None = None


class Domain(Record):
    """`domain={kind="sharding", entry=.., exit=..}`."""

    kind: str
    entry: object
    exit: object


class Statistics(Record):
    """`statistics={visualizing_index=1,count_nan=100}`."""

    visualizing_index: int = 0
    values: tuple[tuple[str, float], ...] = ()


class OriginLeaf(Record):
    """One array of the original program: `{"name" {1,0}}`; without a name when the array has no origin."""

    name: str | None = None
    index: tuple[int, ...] = ()


class Origin(Record):
    """`origin={...}`: a tree of leaves shaped like the instruction's result, as nested tuples; `synthetic` for a synthetic call."""

    tree: object = ()
    synthetic: bool = False

    # Trees nest deeper than Python recurses.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin) and self.synthetic == other.synthetic and self.flat() == other.flat()

    def __hash__(self) -> int:
        return hash((self.synthetic, tuple(self.flat())))

    def __repr__(self) -> str:
        return f"<origin of {sum(isinstance(part, OriginLeaf) for part in self.flat())} arrays>"

    def flat(self) -> list[object]:
        """The tree in pre-order: leaves, and for each inner node the number of its children."""
        parts: list[object] = []
        stack = [self.tree]
        while stack:
            node = stack.pop()
            if isinstance(node, tuple):
                parts.append(len(node))
                stack.extend(reversed(node))
            else:
                parts.append(node)
        return parts


class Recovery(Record):
    """One row of the origin_recovery_table: how to get `old` back from `new`; `module` is the text of a module or None."""

    old: OriginLeaf
    new: OriginLeaf
    module: str | None = None


class DebugEntry(Record):
    """One row of debug_attributes: an original array and the fields of its records."""

    array: OriginLeaf
    records: tuple[tuple[tuple[str, str], ...], ...]
