"""Structured attribute values: windows, paddings, slices, dimension labels, aliases and others.

`opdefs.codecs` parses and prints them.
"""

from __future__ import annotations

from hlotool.record import Record

__all__ = [
    "AliasPair",
    "ConvolutionDimensions",
    "DebugEntry",
    "DomainMetadata",
    "Origin",
    "OriginLeaf",
    "PaddingDimension",
    "Raw",
    "Recovery",
    "ResultAccuracy",
    "SliceRange",
    "SparsityConfig",
    "StatisticsViz",
    "TensorSparsity",
    "WindowDimension",
]


class Raw(Record):
    """The value of an unknown attribute: its text, which is printed unchanged."""

    text: str


class WindowDimension(Record):
    """One dimension of a window.

    The text is `window={size=.. stride=.. pad=.. lhs_dilate=.. rhs_dilate=.. rhs_reversal=..}`.
    `base_dilation` is lhs_dilate, and `window_dilation` is rhs_dilate. Paddings may be negative.
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
    """The logical dimension numbers of input, kernel and output: `dim_labels=b01f_01io->b01f`.

    As in XLA, a label that is missing from the text has number 0. `text` is the canonical text,
    with `?` for dimensions without a label.
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
    """The value of `result_accuracy={mode=highest}` or `{tolerance={atol=..,rtol=..,ulps=..}}`.

    `tolerance` contains the values of atol, rtol and ulps, in this order.
    """

    mode: str = "default"
    tolerance: tuple[float, float, int] | None = None


class TensorSparsity(Record):
    """The sparsity of an operand, `{sparsity=1x4 dimension=0 stride=1}`.

    `index` is the value of `idx=`, which newer versions of XLA write.
    """

    sparsity: tuple[int, ...] = ()
    dimension: int = 0
    stride: int = 0
    index: int | None = None


class SparsityConfig(Record):
    """The value of `sparsity_config={lhs={...} rhs={...}}`; a field is None for a dense operand."""

    lhs: TensorSparsity | None = None
    rhs: TensorSparsity | None = None


class AliasPair(Record):
    """An output buffer that shares memory with the parameter or operand numbered `number`.

    Indices are paths into tuples. `kind` is "may-alias" or "must-alias" for a module's
    input_output_alias, and None for output_to_operand_aliasing.
    """

    output_index: tuple[int, ...]
    number: int
    index: tuple[int, ...]
    kind: str | None = None


class DomainMetadata(Record):
    """The shardings on both sides of a domain: `domain={kind="sharding", entry=.., exit=..}`."""

    kind: str
    entry: object
    exit: object


class StatisticsViz(Record):
    """Statistics of a value by name, and the number of the statistic to show.

    The text is `statistics={visualizing_index=1,count_nan=100}`.
    """

    visualizing_index: int = 0
    values: tuple[tuple[str, float], ...] = ()


class OriginLeaf(Record):
    """An array of the original program: `{"name" {1,0}}`.

    `name` is None for an array without an origin.
    """

    name: str | None = None
    index: tuple[int, ...] = ()


class Origin(Record):
    """The value of `origin={...}`: a tree of nested tuples with the structure of the result.

    `synthetic` is true for a synthetic call.
    """

    tree: object = ()
    synthetic: bool = False

    # Trees are compared in flat form, because they may be nested more deeply than Python's
    # recursion limit allows.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin) and self.synthetic == other.synthetic and self.flat() == other.flat()

    def __hash__(self) -> int:
        return hash((self.synthetic, tuple(self.flat())))

    def __repr__(self) -> str:
        return f"<origin of {sum(isinstance(part, OriginLeaf) for part in self.flat())} arrays>"

    def flat(self) -> list[object]:
        """Returns the tree in pre-order: leaves, and the number of children of each inner node."""
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
    """A row of origin_recovery_table: `old` can be computed from `new`.

    If `module` is not None, it is the text of the module that computes `old`.
    """

    old: OriginLeaf
    new: OriginLeaf
    module: str | None = None


class DebugEntry(Record):
    """A row of debug_attributes: an array of the original program and its records.

    A record consists of the names and values of its fields.
    """

    array: OriginLeaf
    records: tuple[tuple[tuple[str, str], ...], ...]
