"""The alignment of two sequences has the fewest edits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from hlotool.differ.matching.alignment import align_sequences


def fewest_edits(first: str, second: str, can_replace: Callable[[str, str], bool]) -> int:
    """Returns the number of edits between two sequences, by the algorithm of Wagner and Fischer."""
    row = list(range(len(second) + 1))
    for a in first:
        last, row = row, [row[0] + 1]
        for position, b in enumerate(second):
            edits = min(last[position + 1], row[position]) + 1
            if a == b or can_replace(a, b):
                edits = min(edits, last[position] + (a != b))
            row.append(edits)
    return row[-1]


@pytest.mark.parametrize("can_replace", [lambda a, b: True, lambda a, b: False, lambda a, b: a.lower() == b.lower()])
def test_there_is_no_shorter_alignment(can_replace: Callable[[str, str], bool]) -> None:
    random = Random(0)
    for _ in range(500):
        first, second = ("".join(random.choices("aAbBc", k=random.randrange(24))) for _ in range(2))
        pairs = align_sequences(first, second, can_replace)
        assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
        assert all(first[a] == second[b] or can_replace(first[a], second[b]) for a, b in pairs)
        edits = len(first) + len(second) - 2 * len(pairs) + sum(first[a] != second[b] for a, b in pairs)
        assert edits == fewest_edits(first, second, can_replace)


@pytest.mark.parametrize(("count", "aligned"), [(31, 31), (32, 32), (33, 1)])
def test_sequences_with_many_differences_are_not_aligned(count: int, aligned: int) -> None:
    """Checks sequences in which every second item is replaced, which takes two edits."""
    pairs = align_sequences("ax" * count, "bx" * count, lambda a, b: False)
    assert pairs == [(k, k) for k in range(1, 2 * count, 2)][-aligned:]


@pytest.mark.parametrize(("more", "pairs"), [(64, [(0, 1)]), (65, [])])
def test_sequences_of_different_lengths_are_not_aligned(more: int, pairs: list[tuple[int, int]]) -> None:
    assert align_sequences("x", "cx" + "d" * (more - 1), lambda a, b: False) == pairs
