"""Finds the differences between two lines, and shortens the lines around these differences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

__all__ = ["Interval", "changed_parts", "cut", "fit_line", "is_similar"]

Interval = tuple[int, int]
"""The start and the end of a part of a line."""

_CUT = "..."
_CONTEXT = 6
_TOKEN = re.compile(r"[\w.-]+|\s+|.", re.DOTALL)
_TUPLE_SHAPE = re.compile(r" = \((.*?)\) (?=[a-z][a-z0-9-]*\()")
_MIN_SHAPE, _SHORT_SHAPE = 6, 24
# Lines are not aligned if the product of their lengths is larger, because the time is proportional
# to that product.
_MAX_PRODUCT = 40_000


def cut(text: str, available: int) -> str:
    """Shortens a string to at most `available` characters; 0 means no limit.

    >>> cut("a long line of text", 10)
    'a long ...'
    """
    return text if not available or len(text) <= available else text[: max(0, available - len(_CUT))] + _CUT


# ---- differences -------------------------------------------------------------------------------


def changed_parts(old: str, new: str, renamed: Mapping[str, str] | None = None) -> tuple[list[Interval], list[Interval]]:
    """Returns the parts of two lines that differ; the renames in `renamed` do not count.

    >>> changed_parts("a = f32[8] tanh(p.1)", "b = f32[16] tanh(p.2)", {"a": "b", "p.1": "p.2"})
    ([(8, 9)], [(8, 10)])
    """
    first, second = _tokens(old), _tokens(new)
    keys = [(renamed or {}).get(token, token) if not _is_opcode(old, end) else token for token, _, end in first]
    others = [token for token, _, _ in second]
    parts: tuple[list[Interval], list[Interval]] = ([], [])
    for a, b, c, d in _replacements(keys, others):
        if b - a == d - c == 1:
            _add_words(old, new, first[a][1:], second[c][1:], parts)
            continue
        for tokens, start, end, intervals in ((first, a, b, parts[0]), (second, c, d, parts[1])):
            if end > start:
                _add(intervals, tokens[start][1], tokens[end - 1][2])
    return parts


def is_similar(old: str, new: str, parts: tuple[Sequence[Interval], Sequence[Interval]]) -> bool:
    """Returns whether at most half of each line differs, so that highlighting the parts helps."""
    return all(2 * sum(end - start for start, end in intervals) <= len(text) for text, intervals in zip((old, new), parts, strict=True))


def _tokens(text: str) -> list[tuple[str, int, int]]:
    return [(match.group(), *match.span()) for match in _TOKEN.finditer(text)]


def _is_opcode(text: str, end: int) -> bool:
    return text.startswith("(", end)


def _replacements(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yields `a, b, c, d` for each replacement of first[a:b] with second[c:d]."""
    start, tail = _equal_ends(first, second)
    a, b = first[start : len(first) - tail], second[start : len(second) - tail]
    if len(a) * len(b) > _MAX_PRODUCT:
        yield start, len(first) - tail, start, len(second) - tail
        return
    for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield start + i, start + j, start + k, start + m


def _equal_ends(first: Sequence[str], second: Sequence[str]) -> tuple[int, int]:
    """Returns the lengths of the common prefix and of the common suffix of the rest."""
    most = min(len(first), len(second))
    start = next((k for k in range(most) if first[k] != second[k]), most)
    return start, next((k for k in range(most - start) if first[-1 - k] != second[-1 - k]), most - start)


def _add_words(old: str, new: str, first: Interval, second: Interval, parts: tuple[list[Interval], list[Interval]]) -> None:
    """Adds the part between the equal ends of two words, extended to include whole numbers."""
    a, b = old[slice(*first)], new[slice(*second)]
    same, tail = _equal_ends(a, b)
    if a[same : same + 1].isdigit() or b[same : same + 1].isdigit():
        same = len(a[:same].rstrip("0123456789"))
    if a[len(a) - tail - 1 : len(a) - tail].isdigit() or b[len(b) - tail - 1 : len(b) - tail].isdigit():
        tail = len(a[len(a) - tail :].lstrip("0123456789"))
    for (start, end), intervals in ((first, parts[0]), (second, parts[1])):
        if start + same < end - tail:
            _add(intervals, start + same, end - tail)


def _add(intervals: list[Interval], start: int, end: int) -> None:
    """Adds a part; parts with at most one character between them are merged."""
    if intervals and start - intervals[-1][1] <= 1:
        intervals[-1] = intervals[-1][0], end
    else:
        intervals.append((start, end))


# ---- cutting -----------------------------------------------------------------------------------


def fit_line(text: str, parts: Sequence[Interval], available: int) -> tuple[str, list[Interval]]:
    """Shortens a line to at most `available` characters.

    Keeps the beginning and the first of `parts`. Returns the line and the new positions of the
    parts.

    >>> fit_line("r = f32[] f(a, b, c, d, e, x, g, h)", [(27, 28)], 24)
    ('r = f32[..., e, x, g, h)', [(16, 17)])
    """
    if not available or len(text) <= available:
        return text, list(parts)
    shape = _TUPLE_SHAPE.search(text)
    if shape is not None and _can_shorten(shape.span(1), parts, available):
        start, end = shape.start(1) + max(_MIN_SHAPE, min(_SHORT_SHAPE, available // 3 - shape.start(1) - len(_CUT))), shape.end(1)
        text, parts = _join(text, [(0, start), (end, len(text))], parts)
        if len(text) <= available:
            return text, list(parts)
    return _join(text, _kept_intervals(text, parts, available), parts)


def _can_shorten(shape: Interval, parts: Sequence[Interval], available: int) -> bool:
    """Returns whether a tuple shape may be shortened: it is long and contains no difference."""
    return shape[1] - shape[0] > max(_SHORT_SHAPE, available // 3) and not any(start < shape[1] and shape[0] < end for start, end in parts)


def _kept_intervals(text: str, parts: Sequence[Interval], available: int) -> list[Interval]:
    """Returns the intervals of a line to keep: its start and, if needed, the first distant part.

    Together with `...` for the rest, the intervals fill `available` characters.
    """
    far = next((start for start, end in parts if end > available - len(_CUT)), None)
    if far is None:
        return [(0, available - len(_CUT))]
    near = max((end for _, end in parts if end <= available // 2), default=0)
    head = max(available // 3, near)
    start = max(head, far - min(_CONTEXT, available // 8))
    length = max(1, available - head - 2 * len(_CUT))
    if start <= head + len(_CUT):
        return [(0, available - len(_CUT))]
    if start + length + len(_CUT) >= len(text):
        return [(0, head), (max(head, len(text) - length - len(_CUT)), len(text))]
    return [(0, head), (start, start + length)]


def _join(text: str, kept: Sequence[Interval], parts: Sequence[Interval]) -> tuple[str, list[Interval]]:
    """Joins intervals of a line with `...`; returns the result and the parts' new positions."""
    pieces: list[str] = []
    moved: list[Interval] = []
    length = last = 0
    for start, end in kept:
        if start > last:
            pieces.append(_CUT)
            length += len(_CUT)
        pieces.append(text[start:end])
        moved += [
            (max(a, start) - start + length, min(b, end) - start + length) for a, b in parts if a < end and start < b and min(b, end) > max(a, start)
        ]
        length += end - start
        last = end
    return "".join(pieces) + (_CUT if last < len(text) else ""), moved
