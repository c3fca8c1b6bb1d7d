"""Rewrites the old spellings in a source, or describes them in hints."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from hlotool.codes import CODE_NAMES, severity_of
from hlotool.errors import Diagnostic, Edit, Fix, Source
from hlotool.text.legacy.old_statements import Statement, Text
from hlotool.text.legacy.spellings import INSTRUCTIONS, PATTERNS, OpcodeSpelling
from hlotool.text.source.derived import edited_source

__all__ = ["LEGACY_CODE", "OldSpelling", "add_legacy_hints", "modernize", "old_spellings"]

LEGACY_CODE = "W060"
# Errors whose own hints contain today's spelling.
_EXPLAINED = frozenset({"M023", "S046"})
# The number of characters searched before and after an error, and the maximum distance from the
# error to the end of the last searched line.
_SEARCH_DISTANCE, _MAX_LINE_LENGTH = 1 << 17, 1 << 21
_ADVICE = "read it with --legacy (in Python, legacy=True), or rewrite it with `hlotool verify --legacy --fix`"


_ROWS: dict[str, list[OpcodeSpelling]] = {}
for _row in INSTRUCTIONS:
    _ROWS.setdefault(_row.opcode, []).append(_row)


class OldSpelling(NamedTuple):
    """An old spelling at text[start:end].

    If `edits` is empty, there is no equivalent today.
    """

    start: int
    end: int
    old: str
    today: str
    until: int
    edits: tuple[Edit, ...]

    @property
    def message(self) -> str:
        return f"old spelling, used until {self.until}: {self.old}; now: {self.today}"


def old_spellings(text: str) -> list[OldSpelling]:
    """Returns the old spellings in `text`, in order.

    >>> [found.message for found in old_spellings("r = pred[] less-than(a, b)")]
    ['old spelling, used until 2019: less-than(a, b); now: compare(a, b), direction=LT']
    """
    both = Text(text)
    spellings = _drop_covered([spelling for statement in both.statements for spelling in _find_in_instruction(both, statement)])
    taken = [edit for spelling in spellings for edit in spelling.edits]
    spellings += _find_invalid_names(both, _Spans(taken))
    taken = [edit for spelling in spellings for edit in spelling.edits]
    for pattern in PATTERNS:
        found = []
        for match in pattern.pattern.finditer(both.masked) if pattern.keyword in both.masked else ():
            replaced = pattern.replace(both, match)
            if replaced is not None:
                found.append(OldSpelling(*match.span(), pattern.old, pattern.today, pattern.until, tuple(replaced)))
        apart = _Spans(taken)
        # An edit that replaces text also translates the old spellings in that text.
        found = [spelling for spelling in found if not any(map(apart.has, spelling.edits))]
        spellings += found
        taken += [edit for spelling in found for edit in spelling.edits]
    return sorted(spellings)


def _find_in_instruction(text: Text, statement: Statement) -> Iterator[OldSpelling]:
    opcode, start = statement.opcode, statement.opcode_start
    for row in (*_ROWS.get(opcode, ()), *_ROWS.get(opcode[opcode.rfind("-") :], ())):
        edits = row.rewrite(text, statement)
        if edits is not None:
            yield OldSpelling(start, start + len(opcode), row.old, row.today, row.until, tuple(edits))


def _find_invalid_names(text: Text, taken: _Spans) -> Iterator[OldSpelling]:
    """Yields the instruction names that are no longer valid.

    Leaves out names in text that other edits replace, since those edits write the new names.
    """
    for statement in text.statements if text.new_names else ():
        for row in _ROWS[""]:
            edits = row.rewrite(text, statement)
            free = tuple(edit for edit in edits or () if not taken.has(edit))
            if free:
                yield OldSpelling(*statement.name_span, row.old, row.today, row.until, free)


def _drop_covered(spellings: list[OldSpelling]) -> list[OldSpelling]:
    """Removes each spelling that lies inside an edit of another spelling."""
    edits = sorted((edit.start, -edit.end, k) for k, spelling in enumerate(spellings) for edit in spelling.edits)
    inside, covered, owner = set(), 0, -1
    for start, negative_end, k in edits:
        if start < covered and k != owner:
            inside.add(k)
        elif -negative_end > covered:
            covered, owner = -negative_end, k
    return [spelling for k, spelling in enumerate(spellings) if k not in inside]


class _Spans:
    """The spans that edits replace, for fast lookups."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        spans = sorted((edit.start, edit.end) for edit in edits if edit.end > edit.start)
        self.starts = [start for start, _ in spans]
        self.ends = [end for _, end in spans]

    def has(self, edit: Edit) -> bool:
        k = bisect_right(self.starts, edit.start) - 1
        return (k >= 0 and edit.start < self.ends[k]) or (k + 1 < len(self.starts) and self.starts[k + 1] < edit.end)


def modernize(source: Source) -> tuple[Source, list[Diagnostic]]:
    """Returns the source in today's spelling, and a warning for each rewritten spelling.

    All positions refer to the given source.
    """
    spellings = old_spellings(source.text)
    edits = sorted(edit for spelling in spellings for edit in spelling.edits)
    if not edits:
        return source, []
    return edited_source(source, edits), [_warning(source, spelling) for spelling in spellings if spelling.edits]


def _warning(source: Source, spelling: OldSpelling) -> Diagnostic:
    line, column = source.line_column(spelling.start)
    end_line, end_column = source.line_column(spelling.end)
    edits = source.original_edits(spelling.edits)
    fix = None if edits is None else Fix(edits, "Write it as XLA does today")
    location = (source.filename, line, column, end_line, end_column)
    return Diagnostic(LEGACY_CODE, CODE_NAMES[LEGACY_CODE], severity_of(LEGACY_CODE), spelling.message, *location, fix=fix)


def add_legacy_hints(source: Source, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Adds hints about old spellings to the errors on the same lines.

    If the first error has no hint, it gets a hint about an old spelling on another line, because an
    old spelling may cause errors on other lines. In a large file, only the part around the first
    error is searched.
    """
    low, high = _surrounding_lines(source, diagnostics[0]) if diagnostics else (0, 0)
    spellings = old_spellings(source.text[low:high])
    if not spellings:
        return diagnostics
    by_line: dict[int, OldSpelling] = {}
    for spelling in spellings:
        by_line.setdefault(source.line_column(low + spelling.start)[0], spelling)
    hinted = [replace(d, hint=_hint(by_line[d.line], d)) if d.line in by_line else d for d in diagnostics]
    if hinted and hinted[0].hint is None:
        first = spellings[0]
        hinted[0] = replace(hinted[0], hint=f"line {source.line_column(low + first.start)[0]}: {_hint(first, hinted[0])}")
    return hinted


def _surrounding_lines(source: Source, error: Diagnostic) -> tuple[int, int]:
    """Returns the offsets of the whole lines around an error.

    Returns an empty range if the line of the error begins too far before the error, since strings
    can be recognized only from the beginning of a line.
    """
    text = source.text
    if len(text) <= _SEARCH_DISTANCE:
        return 0, len(text)
    offset = min(source.offset(error.line, error.column), len(text))
    low = text.find("\n", offset - _SEARCH_DISTANCE, offset) + 1 if offset > _SEARCH_DISTANCE else 0
    if not low and offset > _SEARCH_DISTANCE:
        return offset, offset
    high = text.find("\n", offset + _SEARCH_DISTANCE, offset + _MAX_LINE_LENGTH)
    return low, high if high >= 0 else min(len(text), offset + _MAX_LINE_LENGTH)


def _hint(spelling: OldSpelling, error: Diagnostic) -> str:
    what = error.hint if error.code in _EXPLAINED and error.hint else spelling.message
    return f"{what}; {_ADVICE}" if spelling.edits else what
