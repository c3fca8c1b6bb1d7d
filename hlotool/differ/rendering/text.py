"""A difference as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hlotool.differ.rendering.lines import cut, cut_pair
from hlotool.differ.rendering.notes import listed
from hlotool.differ.rendering.report import Entry, Group, Report, Section, rolled_up
from hlotool.differ.rendering.statistics import amounts, opcode_changes, section_counts
from hlotool.differ.rendering.summary import count_of, region_sentences, summary

__all__ = ["Layout", "Row", "name_rows", "section_blocks", "statistic_rows", "text_rows"]

_MOST_NAMES = 6
_MOST_ALIKE = 2
_MOST_ENTRIES = 40
_MOST_OPCODES = 12
_LONGEST_BAR = 40
_LEAST_ROOM = 20


class Row(NamedTuple):
    """A line: `mark` is `=` for the first sentence, `@` for a title, `-`, `+` or `~` for instructions, `.` for what is left out, else a space."""

    mark: str
    text: str


class Layout(NamedTuple):
    """How much to show: the width of lines (0 for any), lines of context, and whether equal changes are shown one by one."""

    width: int = 0
    context: int = 0
    show_all: bool = False


_EMPTY = Row(" ", "")


def text_rows(report: Report, layout: Layout) -> Iterator[Row]:
    """The lines of a report: a sentence, then what there is to tell about the header, about computations, and about instructions."""
    sentence = summary(report)
    if not sentence:
        return
    yield Row("=", sentence)
    for rows in section_blocks(report, layout):
        yield _EMPTY
        yield from rows


def section_blocks(report: Report, layout: Layout) -> Iterator[list[Row]]:
    """What there is to tell about the header, about regions, and about each computation, each with a title as its first row."""
    body = _Body(report, layout)
    for blocks in ((_header(report), _regions(report, layout)), body.blocks()):
        for block in blocks:
            rows = [row._replace(text=cut(row.text, layout.width)) for row in block]
            if rows:
                yield rows


def name_rows(report: Report) -> Iterator[Row]:
    """A line with computation and instruction for each difference."""
    graph = report.delta.graph
    for section in report.sections:
        for group in section.groups:
            for entry in group.entries:
                node = entry.right if entry.right >= 0 else entry.left
                mark = "-" if entry.right < 0 else "+" if entry.left < 0 else "~"
                yield Row(mark, f"{mark} {graph.computations[graph.home[node]].name}/{report.name(node)}")


def statistic_rows(report: Report, layout: Layout) -> Iterator[Row]:
    """How much has changed, as `git diff --stat` shows it: a line for each computation, then the sentence and numbers of both modules."""
    sentence = summary(report)
    if not sentence:
        return
    counts = sorted(section_counts(report), key=lambda row: -row.total)
    number = len(counts) if layout.show_all or len(counts) <= _MOST_ENTRIES else _MOST_ENTRIES
    titles = [cut(row.title, max(_LEAST_ROOM, layout.width // 2 if layout.width else 0)) for row in counts[:number]]
    column = max(map(len, titles), default=0)
    scale = max([_LONGEST_BAR, *(row.total for row in counts)])
    for title, row in zip(titles, counts, strict=False):
        bar = "".join(mark * -(-n * _LONGEST_BAR // scale) for mark, n in (("~", row.changed), ("+", row.inserted), ("-", row.deleted)))
        yield Row(" ", f" {title:<{column}} | {row.total:>5} {bar}".rstrip())
    if len(counts) > number:
        yield Row(".", f" ... and {count_of(len(counts) - number, 'more computation')} (--show-all)")
    yield Row("=", sentence)
    opcodes = opcode_changes(report.delta)
    number = len(opcodes) if layout.show_all else _MOST_OPCODES
    changed = [amount for amount in (*amounts(report.delta), *opcodes[:number]) if amount.left != amount.right]
    names = max((len(amount.name) for amount in changed), default=0)
    for amount in changed:
        yield Row(" ", f" {amount.name:<{names}}  {amount.left:,} -> {amount.right:,} ({amount.change})")
    if len(opcodes) > number:
        yield Row(".", f" ... and {count_of(len(opcodes) - number, 'more opcode')} (--show-all)")


def _header(report: Report) -> Iterator[Row]:
    if report.header:
        yield Row("@", "HloModule")
        for change in report.header:
            yield from (Row("~", f"  ~ {line}") for line in report.notes.of_header(change))


def _regions(report: Report, layout: Layout) -> Iterator[Row]:
    sentences = region_sentences(report, None) if layout.show_all else region_sentences(report)
    if sentences:
        yield Row("@", "computations")
    for sentence in sentences:
        yield Row("." if sentence.startswith("...") else "~", f"  {sentence}")


class _Body:
    """The rows about instructions, as many as a person reads unless all are asked for."""

    def __init__(self, report: Report, layout: Layout) -> None:
        self.report = report
        self.layout = layout
        self.room = _MOST_ENTRIES

    def blocks(self) -> Iterator[Iterator[Row]]:
        """The rows of each section."""
        report, show_all = self.report, self.layout.show_all
        sections = [section for section in report.sections if show_all or not section.is_one_sided]
        side_issues = [section for section in sections if section.is_side_issue]
        # Where something else is computed, the rest is a line for each kind.
        if show_all or len(side_issues) == len(report.sections):
            side_issues = []
        elif side_issues:
            sections = [section for section in sections if not section.is_side_issue]
        left_out: list[Section] = []
        for section, alike in rolled_up(sections) if not show_all else [(section, []) for section in sections]:
            if self.room > 0 or show_all:
                yield self._section(section, alike)
            else:
                left_out += [section, *alike]
        if not show_all:
            one_sided = [section for section in report.sections if section.is_one_sided]
            yield self._one_sided([section for section in one_sided if section.right < 0], "-", "only on the left")
            yield self._one_sided([section for section in one_sided if section.left < 0], "+", "only on the right")
            yield self._side_issues(side_issues)
        if left_out:
            more = count_of(sum(section.size for section in left_out), "more difference")
            yield iter([Row(".", f"... and {more} in {count_of(len(left_out), 'computation')} (--show-all)")])

    def _section(self, section: Section, alike: Sequence[Section]) -> Iterator[Row]:
        report = self.report
        yield Row("@", report.title(section.left, section.right))
        if section.has_new_root:
            graph = report.delta.graph
            yield Row("~", f"  ~ root: {report.name(graph.roots[section.left])} -> {report.name(graph.roots[section.right])}")
        for group in section.groups:
            yield from self._group(group)
        if alike:
            names = listed([report.title(other.left, other.right) for other in alike], _MOST_NAMES)
            yield Row(".", f"  ... and the same in {count_of(len(alike), 'other computation')}: {names}")

    @staticmethod
    def _side_issues(sections: Sequence[Section]) -> Iterator[Row]:
        """How many instructions have changed in computations that otherwise compute the same, a line for each kind."""
        if not sections:
            return
        yield Row("@", "computations that compute the same")
        instructions: Counter[str] = Counter()
        homes: Counter[str] = Counter()
        for section in sections:
            kinds = Counter(kind for group in section.groups for entry in group.entries for kind in entry.kinds)
            instructions += kinds
            homes.update(kinds.keys())
        for kind, number in instructions.most_common():
            where = count_of(homes[kind], "computation")
            yield Row("~", f"  ~ {kind} of {count_of(number, 'instruction')} in {where} (--only {kind})")

    def _group(self, group: Group) -> Iterator[Row]:
        entries, report = group.entries, self.report
        if group.pattern in ("moved", "schedule") and not self.layout.show_all:
            what = "moved, otherwise the same" if group.pattern == "moved" else "scheduled elsewhere"
            names = listed([report.name(entry.right) for entry in entries], _MOST_NAMES)
            yield Row("~", f"  ~ {count_of(len(entries), 'instruction')} {what}: {names}")
            self.room -= 1
            return
        most = 1 if group.is_side_issue or group.is_one_sided else _MOST_ALIKE
        number = len(entries) if self.layout.show_all or len(entries) <= most + 1 else most
        for entry in entries[:number]:
            yield from self._entry(entry)
        self.room -= number
        if len(entries) > number:
            names = listed([report.names(entry) for entry in entries[number : number + _MOST_NAMES]], _MOST_NAMES)
            rest = ", ..." if len(entries) > number + _MOST_NAMES else ""
            yield Row(".", f"    ... and {len(entries) - number:,} more like this: {names}{rest}")

    def _entry(self, entry: Entry) -> Iterator[Row]:
        report, layout = self.report, self.layout
        old, new = report.pair_lines(entry)
        yield from self._context(entry, -layout.context)
        room = layout.width and layout.width - 4
        if old and new:
            old, new = cut_pair(old, new, room)
        if old:
            yield Row("-", f"  - {old}")
        if new:
            mark = "+" if old or entry.left < 0 else "~"
            yield Row(mark, f"  {mark} {new}")
        yield from (Row(" ", f"      {note}") for note in _lines_of(report.entry_notes(entry), layout.width))
        yield from self._context(entry, layout.context)

    def _context(self, entry: Entry, number: int) -> Iterator[Row]:
        """The instructions before an entry, for a negative number, or after it, in the module that has it."""
        graph = self.report.delta.graph
        node = entry.right if entry.right >= 0 else entry.left
        around = range(node + number, node) if number < 0 else range(node + 1, node + 1 + number)
        members = graph.members[graph.home[node]]
        yield from (Row(" ", f"    {self.report.lines.of(other)}") for other in around if other in members)

    def _one_sided(self, sections: Sequence[Section], mark: str, where: str) -> Iterator[Row]:
        """Computations without a counterpart, a line for each."""
        if not sections:
            return
        report, graph = self.report, self.report.delta.graph
        yield Row("@", where)
        number = len(sections) if len(sections) <= _MOST_NAMES + 1 else _MOST_NAMES
        for section in sections[:number]:
            computation = max(section.left, section.right)
            callers = [f"{graph.nodes[node].name} in {graph.computations[graph.home[node]].name}" for node in graph.callers[computation]]
            called = f", called by {listed(callers, 2)}" if callers else ""
            yield Row(mark, f"  {mark} {report.title(section.left, section.right)}: {count_of(section.size, 'instruction')}{called}")
        if len(sections) > number:
            rest = sections[number:]
            total = count_of(sum(section.size for section in rest), "instruction")
            yield Row(".", f"    ... and {count_of(len(rest), 'more computation')} with {total}")


def _lines_of(notes: Sequence[str], width: int) -> Iterator[str]:
    """Notes, several in a line where they fit."""
    line = ""
    for note in notes:
        if line and (not width or len(line) + len(note) + 8 <= width) and len(line) + len(note) < 120:
            line += f"; {note}"
        else:
            if line:
                yield line
            line = note
    if line:
        yield line
