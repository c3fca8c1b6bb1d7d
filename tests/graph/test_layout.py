"""The arrangement of pictures."""

from __future__ import annotations

from hlotool.graph.layout import arrange


def test_items_that_lead_nowhere_are_below_those_of_their_row_that_go_on() -> None:
    """A row of 24 items is divided into two lines."""
    edges = [(0, k) for k in range(1, 25)] + [(k, 25) for k in range(2, 25, 2)]
    rows = arrange(26, edges).rows
    assert max(rows[k] for k in range(2, 25, 2)) < min(rows[k] for k in range(1, 25, 2))
