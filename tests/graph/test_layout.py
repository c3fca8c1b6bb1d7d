"""The layout of pictures."""

from __future__ import annotations

from hlotool.graph.layout import arrange


def test_items_without_successors_are_placed_below_others_in_their_row() -> None:
    """Divides a row of 24 items into two lines."""
    edges = [(0, k) for k in range(1, 25)] + [(k, 25) for k in range(2, 25, 2)]
    rows = arrange(26, edges).rows
    assert max(rows[k] for k in range(2, 25, 2)) < min(rows[k] for k in range(1, 25, 2))
