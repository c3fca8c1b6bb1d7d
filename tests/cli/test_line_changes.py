"""Line changes: they turn one text into another, and are few even if the texts are long."""

from __future__ import annotations

import time
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from hlotool.workspace.line_changes import line_changes

LINES = st.lists(
    st.sampled_from(["}", "{", "", "a = f32[] parameter(0)", "b = f32[] negate(a)", "c = f32[] abs(b)", "d = f32[] sine(c)"]), max_size=30
)


def apply_changes(before: list[str], after: list[str]) -> list[str]:
    """Returns `before` with the changes applied."""
    lines, at = [], 0
    for change in line_changes(before, after):
        assert change.first > at or not at, "adjacent changes must be merged"
        lines += before[at : change.first] + after[change.new_first : change.new_last]
        at = change.last
    return lines + before[at:]


@given(LINES, LINES)
def test_changes_turn_one_text_into_the_other(before: list[str], after: list[str]) -> None:
    assert apply_changes(before, after) == after


@given(LINES)
def test_equal_texts_have_no_changes(lines: list[str]) -> None:
    assert list(line_changes(lines, lines)) == []


def test_changes_far_apart_are_found() -> None:
    before = [f"x{k} = f32[] negate(x{k - 1})" for k in range(20_000)]
    after = [*before[:100], *before[5000:9000], "new", *before[9000:]]
    assert [tuple(change) for change in line_changes(before, after)] == [(100, 5000, 100, 100), (9000, 9000, 4100, 4101)]


def test_long_texts_without_common_lines_are_compared_quickly() -> None:
    random = Random(0)
    before, after = ([random.choice(words) for _ in range(20_000)] for words in (["}", "a", "b"], ["}", "c", "d"]))
    start = time.perf_counter()
    assert apply_changes(before, after) == after
    assert time.perf_counter() - start < 20
