"""Renders the differences of each computation as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from hlotool.differ.rendering.change_notes import SIDE_ISSUES, name_list
from hlotool.differ.rendering.columns import Columns
from hlotool.differ.rendering.difference_report import Entry, Group, Report, Section, roll_up
from hlotool.differ.rendering.highlight import Interval, changed_parts, fit_line, is_similar
from hlotool.differ.rendering.rows import Layout, Row, Span
from hlotool.differ.rendering.summary import count_of, opcode_list
from hlotool.opdefs.traits import STRUCTURAL

__all__ = ["entry_rows", "section_rows"]

_MAX_NAMES = 6
_MAX_SIMILAR = 2
_MAX_ENTRIES = 40
_MAX_ASIDES = 3
# The limits for long reports, which begin with a summary of counts.
_MAX_GROUPS = 8
_MAX_ONE_SIDED_GROUPS = 3


def section_rows(report: Report, layout: Layout) -> Iterator[Iterator[Row]]:
    """Yields the rows of each section.

    Long sections are shortened unless `layout.show_all` is true.
    """
    return _Body(report, layout).blocks()


def entry_rows(report: Report, entry: Entry, width: int) -> Iterator[Row]:
    """Yields a line for each side of a difference, or one line for both."""
    available = width and max(1, width - 4)
    old, new = report.pair_lines(entry)
    parts: tuple[list[Interval], list[Interval]] = ([], [])
    if old and new:
        parts = changed_parts(old, new, report.renames(entry))
    is_strong = is_similar(old, new, parts)
    if old:
        yield _mark("-", *fit_line(old, parts[0], available), is_strong=is_strong)
    if new:
        yield _mark("+" if old or entry.left < 0 else "~", *fit_line(new, parts[1], available), is_strong=is_strong)


class _Body:
    def __init__(self, report: Report, layout: Layout) -> None:
        self.report = report
        self.layout = layout
        self.is_short = report.is_long and not layout.show_all
        self.available = _MAX_ENTRIES

    def blocks(self) -> Iterator[Iterator[Row]]:
        report, show_all = self.report, self.layout.show_all
        sections = [section for section in report.sections if show_all or not section.is_one_sided]
        side_issues = self._counted_only(sections)
        sections = [_without_groups(section, side_issues) for section in self._ordered(sections)]
        sections = [section for section in sections if section.groups or section.has_new_root]
        left_out: list[Section] = []
        for section, similar in roll_up(sections) if not show_all else [(section, []) for section in sections]:
            if self.available > 0 or show_all:
                yield self._section(section, similar)
            else:
                left_out += [section, *similar]
        if not show_all:
            one_sided = [section for section in report.sections if section.is_one_sided]
            yield self._one_sided([section for section in one_sided if section.right < 0], "-", "only on the left")
            yield self._one_sided([section for section in one_sided if section.left < 0], "+", "only on the right")
            yield self._side_issues([group for section in report.sections for group in section.groups] if self.is_short else side_issues)
        if left_out:
            more = count_of(sum(section.size for section in left_out), "more difference")
            yield iter([Row(".", f"... and {more} in {count_of(len(left_out), 'computation')} (--show-all)")])

    def _counted_only(self, sections: Sequence[Section]) -> list[Group]:
        """Returns the changes to summarize in one line per kind.

        These are the changes that do not affect the computed values. There are none if no other
        changes exist.
        """
        if self.layout.show_all or all(section.is_side_issue for section in self.report.sections):
            return []
        if self.is_short:
            return [group for section in sections for group in section.groups if group.is_side_issue]
        asides = [
            group for section in sections if not section.is_side_issue for group in section.groups if group.is_side_issue and not _is_line(group)
        ]
        return [
            *(group for section in sections if section.is_side_issue for group in section.groups),
            *(asides if len(asides) > _MAX_ASIDES else ()),
        ]

    def _ordered(self, sections: Sequence[Section]) -> Sequence[Section]:
        """Orders the sections of long reports: the entry first, then by number of differences."""
        if not self.is_short:
            return sections
        entries = self.report.delta.graph.entries
        return sorted(sections, key=lambda section: ((section.left, section.right) != tuple(entries), -section.size))

    # ---- sections -------------------------------------------------------------------------------

    def _section(self, section: Section, similar: Sequence[Section]) -> Iterator[Row]:
        report = self.report
        yield Row("@", report.title(section.left, section.right))
        if section.has_new_root:
            graph = report.delta.graph
            yield Row("~", f"  ~ root: {report.name(graph.roots[section.left])} -> {report.name(graph.roots[section.right])}")
        if self.is_short:
            yield from self._summarized(section.groups)
        elif self.layout.context:
            yield from self._in_context(section.groups)
        else:
            yield from (row for group in section.groups for row in self._group(group))
        if similar:
            names = name_list([report.title(other.left, other.right) for other in similar], _MAX_NAMES)
            yield Row(".", f"  ... and the same changes in {count_of(len(similar), 'other computation')}: {names}")

    def _summarized(self, groups: Sequence[Group]) -> Iterator[Row]:
        """Yields the rows of as many groups as fit, with summary lines for the other groups."""
        nodes = self.report.delta.graph.nodes
        # Tuples and the like come last: their changes are consequences of the other changes.
        groups = sorted(
            (group for group in groups if not group.is_side_issue),
            key=lambda group: (STRUCTURAL in nodes[max(group.entries[0][:2])].op.traits, -len(group.entries)),
        )
        for mark, word in (("-", "deleted"), ("+", "inserted")):
            one_sided = [group for group in groups if group.mark == mark]
            if len(one_sided) > _MAX_ONE_SIDED_GROUPS:
                groups = [group for group in groups if group.mark != mark]
                members = [nodes[max(entry.left, entry.right)] for group in one_sided for entry in group.entries]
                yield Row(mark, f"  {mark} {len(members):,} {word}: {opcode_list(members, _MAX_NAMES)}")
                self.available -= 1
        number = len(groups) if len(groups) <= _MAX_GROUPS + 1 else _MAX_GROUPS
        for group in groups[:number]:
            yield from self._group(group)
        if len(groups) > number:
            more = count_of(sum(len(group.entries) for group in groups[number:]), "more difference")
            yield Row(".", f"    ... and {more} (--show-all)")

    def _group(self, group: Group) -> Iterator[Row]:
        entries, report = group.entries, self.report
        if _is_line(group) and not self.layout.show_all:
            what = "moved, otherwise unchanged" if group.pattern == "moved" else "rescheduled"
            names = name_list([report.name(entry.right) for entry in entries], _MAX_NAMES)
            yield Row("~", f"  ~ {count_of(len(entries), 'instruction')} {what}: {names}")
            self.available -= 1
            return
        number = self._number_of(group)
        for entry in entries[:number]:
            yield from self._entry(entry)
        self.available -= number
        yield from self._rest(group, number)

    def _number_of(self, group: Group) -> int:
        """Returns how many entries of a group to show."""
        entries = group.entries
        most = 1 if group.is_side_issue or group.is_one_sided or self.is_short else _MAX_SIMILAR
        return len(entries) if self.layout.show_all or len(entries) <= most + 1 else most

    def _rest(self, group: Group, number: int) -> Iterator[Row]:
        entries = group.entries[number:]
        if entries:
            names = name_list([self.report.names(entry) for entry in entries[:_MAX_NAMES]], _MAX_NAMES)
            rest = ", ..." if len(entries) > _MAX_NAMES else ""
            yield Row(".", f"    ... and {len(entries):,} more like this: {names}{rest}")

    # ---- context --------------------------------------------------------------------------------

    def _in_context(self, groups: Sequence[Group]) -> Iterator[Row]:
        """Yields entries in textual order, each with the instructions around it.

        No instruction is shown twice.
        """
        lines = [group for group in groups if _is_line(group) and not self.layout.show_all]
        others = [group for group in groups if not _is_line(group) or self.layout.show_all]
        entries = sorted((entry for group in others for entry in group.entries[: self._number_of(group)]), key=lambda entry: entry.position)
        ends = {group.entries[self._number_of(group) - 1][:2]: group for group in others}
        reported = {node for entry in entries for node in entry[:2]}
        last = (-2, -2)
        for entry in entries:
            before = self._neighbors(entry, -self.layout.context, reported)
            first = before[0] if before else entry[:2]
            if last != (-2, -2) and not any(a >= 0 and a == b + 1 for a, b in zip(first, last, strict=True)):
                yield Row(".", "    ...")
            yield from map(self._neighbor, before)
            yield from self._entry(entry)
            self.available -= 1
            after = self._neighbors(entry, self.layout.context, reported)
            yield from map(self._neighbor, after)
            reported.update(node for pair in (*before, *after) for node in pair)
            last = after[-1] if after else entry[:2]
            group = ends.get(entry[:2])
            if group is not None:
                yield from self._rest(group, self._number_of(group))
        for group in lines:
            yield from self._group(group)

    def _neighbors(self, entry: Entry, number: int, reported: Collection[int]) -> list[tuple[int, int]]:
        """Returns up to `number` pairs after an entry, or before it if `number` is negative.

        The pairs are consecutive in the entry's right computation, or in its left one if the entry
        is only on the left. Stops at the first pair that is already shown, and at either end of the
        computation.
        """
        delta = self.report.delta
        graph, partner = delta.graph, delta.pairs.partner
        node = max(entry.left, entry.right)
        step = 1 if number > 0 else -1
        neighbors: list[tuple[int, int]] = []
        for other in range(node + step, node + number + step, step):
            if other not in graph.members[graph.home[node]] or other in reported:
                break
            neighbors.append((other, partner[other]) if other < graph.split else (partner[other], other))
        return neighbors if step > 0 else neighbors[::-1]

    def _neighbor(self, pair: tuple[int, int]) -> Row:
        report, layout = self.report, self.layout
        if layout.side_by_side:
            return Columns(report, layout.width).context(*pair)
        return Row(" ", f"    {report.lines.of(max(pair))}")

    # ---- entries --------------------------------------------------------------------------------

    def _entry(self, entry: Entry) -> Iterator[Row]:
        report, width = self.report, self.layout.width
        if self.layout.side_by_side:
            yield Columns(report, width).of(entry)
        else:
            yield from entry_rows(report, entry, width)
        notes = report.entry_notes(entry, is_brief=not self.layout.show_all)
        yield from (Row(" ", f"      {note}") for note in _fill(notes, width))

    # ---- summaries ------------------------------------------------------------------------------

    def _side_issues(self, groups: Sequence[Group]) -> Iterator[Row]:
        """Yields a line with counts for each kind of change that does not affect the results."""
        graph = self.report.delta.graph
        instructions: Counter[str] = Counter()
        homes: dict[str, set[int]] = {}
        for entry in (entry for group in groups if not group.is_one_sided for entry in group.entries):
            for kind in SIDE_ISSUES.intersection(entry.kinds):
                instructions[kind] += 1
                homes.setdefault(kind, set()).add(graph.home[entry.left])
        if not instructions:
            return
        yield Row("@", "other changes")
        for kind, number in sorted(instructions.items(), key=lambda item: (-item[1], item[0])):
            where = count_of(len(homes[kind]), "computation")
            yield Row("~", f"  ~ {kind} of {count_of(number, 'instruction')} in {where} (--only {kind})")

    def _one_sided(self, sections: Sequence[Section], mark: str, where: str) -> Iterator[Row]:
        """Yields a line for each computation without a counterpart."""
        if not sections:
            return
        report, graph = self.report, self.report.delta.graph
        yield Row("@", where)
        if self.is_short:
            sections = sorted(sections, key=lambda section: -section.size)
        most = _MAX_ONE_SIDED_GROUPS if self.is_short else _MAX_NAMES
        number = len(sections) if len(sections) <= most + 1 else most
        for section in sections[:number]:
            computation = max(section.left, section.right)
            callers = [f"{graph.nodes[node].name} in {graph.computations[graph.home[node]].name}" for node in graph.callers[computation]]
            called = f", called by {name_list(callers, 2)}" if callers else ""
            yield Row(mark, f"  {mark} {report.title(section.left, section.right)}: {count_of(section.size, 'instruction')}{called}")
        if len(sections) > number:
            rest = sections[number:]
            total = count_of(sum(section.size for section in rest), "instruction")
            yield Row(".", f"    ... and {count_of(len(rest), 'more computation')} with {total}")


def _is_line(group: Group) -> bool:
    """Returns whether a group is shown in one line: its instructions were moved or rescheduled."""
    return group.pattern in ("moved", "schedule")


def _without_groups(section: Section, groups: Sequence[Group]) -> Section:
    gone = {id(group) for group in groups}
    return section._replace(groups=[group for group in section.groups if id(group) not in gone])


def _mark(mark: str, text: str, parts: Sequence[Interval], *, is_strong: bool) -> Row:
    return Row(mark, f"  {mark} {text}", tuple(Span(start + 4, end + 4, mark, is_strong) for start, end in parts) if is_strong else ())


def _fill(notes: Sequence[str], width: int) -> Iterator[str]:
    """Yields lines of notes, with several notes per line if they fit."""
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
