"""Memory layouts: the order of dimensions, tiles, and other suffixes of `{1,0:T(8,128)S(1)}`."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from hlotool.record import Record

__all__ = ["COMBINE", "Layout", "default_layout", "is_implicit_layout", "is_valid_layout"]

COMBINE = -1
"""A tile dimension written `*`: it is combined with the next more minor dimension."""


class Layout(Record):
    """The layout of an array in memory, with the fields of XLA's Layout in the order of the text.

    >>> Layout((1, 0), tiles=((8, 128),), memory_space=1).text
    '{1,0:T(8,128)S(1)}'
    """

    minor_to_major: tuple[int, ...] = ()
    tiles: tuple[tuple[int, ...], ...] = ()
    tail_padding_alignment_in_elements: int = 1
    index_type: str | None = None
    pointer_type: str | None = None
    element_size_in_bits: int = 0
    memory_space: int = 0
    split_configs: tuple[tuple[int, tuple[int, ...]], ...] = ()
    dynamic_shape_metadata_prefix_bytes: int = 0
    _text: str | None = None

    @property
    def text(self) -> str:
        """The text with braces; empty for a scalar's layout without suffixes."""
        text = self._text
        if text is None:
            suffixes = self._suffixes()
            text = ",".join(map(str, self.minor_to_major)) + (":" + suffixes if suffixes else "")
            text = "{" + text + "}" if text else ""
            # Cached, because the printer needs it for each instruction.
            object.__setattr__(self, "_text", text)
        return text

    def __str__(self) -> str:
        return self.text or "{}"

    def _suffixes(self) -> str:
        parts = []
        if self.tiles:
            parts.append("T" + "".join("(" + ",".join("*" if d == COMBINE else str(d) for d in tile) + ")" for tile in self.tiles))
        if self.tail_padding_alignment_in_elements != 1:
            parts.append(f"L({self.tail_padding_alignment_in_elements})")
        if self.index_type is not None:
            parts.append(f"#({self.index_type})")
        if self.pointer_type is not None:
            parts.append(f"*({self.pointer_type})")
        if self.element_size_in_bits:
            parts.append(f"E({self.element_size_in_bits})")
        if self.memory_space:
            parts.append(f"S({self.memory_space})")
        if self.split_configs:
            parts.append("SC" + "".join(f"({dimension}:{','.join(map(str, at))})" for dimension, at in self.split_configs))
        if self.dynamic_shape_metadata_prefix_bytes:
            parts.append(f"M({self.dynamic_shape_metadata_prefix_bytes})")
        return "".join(parts)


@lru_cache(maxsize=256)
def default_layout(rank: int) -> Layout:
    """Returns the row-major layout, in which the last dimension is the most minor one.

    >>> default_layout(3).text
    '{2,1,0}'
    """
    return Layout(tuple(range(rank - 1, -1, -1)))


def is_implicit_layout(layout: Layout | None, rank: int) -> bool:
    """Returns whether the layout was left out of the text.

    Compares by identity: a layout that was left out is the object that `default_layout` returns.

    >>> is_implicit_layout(default_layout(2), 2), is_implicit_layout(Layout((1, 0)), 2)
    (True, False)
    """
    return layout is default_layout(rank)


def is_valid_layout(layout: Layout, sizes: tuple[int, ...]) -> bool:
    """Returns whether XLA accepts the layout for an array of these sizes in a tuple.

    XLA does not check the layouts of arrays outside of tuples.
    """
    order, rank = layout.minor_to_major, len(sizes)
    if sorted(order) != list(range(rank)) or layout.index_type is not None or layout.pointer_type is not None:
        return False
    if layout.element_size_in_bits < 0 or not all(tile and all(size > 0 or size == COMBINE for size in tile) for tile in layout.tiles):
        return False
    split = [dimension for dimension, _ in layout.split_configs]
    if len(set(split)) != len(split) or not all(0 <= dimension < rank for dimension in split):
        return False
    # Split configurations number dimensions from the most major one in memory.
    splits = [[0, *at, sizes[order[rank - 1 - dimension]]] for dimension, at in layout.split_configs if at]
    return all(a < b for bounds in splits for a, b in pairwise(bounds))
