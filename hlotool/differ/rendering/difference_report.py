"""The report of a difference: its changes by computation, with equal changes grouped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from hlotool.differ.changes import Change
from hlotool.differ.difference import ModuleDifference
from hlotool.differ.regions import regions
from hlotool.differ.rendering.change_notes import ASIDES, INVISIBLE, SIDE_ISSUES, Notes
from hlotool.differ.rendering.instruction_lines import Lines

__all__ = ["Entry", "Group", "Report", "Section", "report_of", "roll_up"]


# If there are more groups of differences than this, they do not fit on a screen, and a reader needs
# an overview before the details.
_MAX_SHORT_GROUPS = 20


class Entry(NamedTuple):
    """A difference: a pair of instructions that has changed, or an instruction without a partner.

    `left` and `right` are nodes; -1 stands for no instruction. `position` is the position of the
    difference in the left computation.
    """

    left: int
    right: int
    changes: Sequence[Change]
    position: float

    @property
    def kinds(self) -> list[str]:
        if self.left < 0:
            return ["inserted"]
        return ["deleted"] if self.right < 0 else [change["kind"] for change in self.changes]


class Group(NamedTuple):
    """Differences of the same kind in one computation."""

    pattern: Hashable
    entries: list[Entry]

    @property
    def is_one_sided(self) -> bool:
        """True if only one module has the instructions."""
        return not self.entries[0].changes

    @property
    def is_side_issue(self) -> bool:
        """True if no change affects what is computed."""
        return SIDE_ISSUES.issuperset(self.entries[0].kinds)

    @property
    def mark(self) -> str:
        """`-` or `+` for instructions that only one module has, `~` for pairs."""
        return "+" if self.entries[0].left < 0 else "-" if self.entries[0].right < 0 else "~"


class Section(NamedTuple):
    """The differences of two computations, one of which is -1 if the other has no counterpart."""

    left: int
    right: int
    has_new_root: bool
    groups: list[Group]

    @property
    def is_one_sided(self) -> bool:
        return self.left < 0 or self.right < 0

    @property
    def is_side_issue(self) -> bool:
        """True if no difference affects what is computed, or in which computation."""
        return not self.has_new_root and all(group.is_side_issue and "moved" not in group.entries[0].kinds for group in self.groups)

    @property
    def size(self) -> int:
        return sum(len(group.entries) for group in self.groups)


class Report(NamedTuple):
    """Everything that a report shows about a difference.

    `regions` lists the regions in the form that `Delta.to_dict` returns. `is_long` is true if there
    are so many differences, even with equal ones grouped, that the report begins with numbers.
    """

    delta: ModuleDifference
    lines: Lines
    notes: Notes
    header: list[Change]
    regions: list[dict[str, list[str] | str]]
    sections: list[Section]
    is_long: bool

    def title(self, left: int, right: int) -> str:
        """Returns the names of a pair of computations, as one name if they are equal."""
        graph = self.delta.graph
        names = [graph.computations[number].name for number in (left, right) if number >= 0]
        title = " -> ".join(dict.fromkeys(names))
        is_entry = left in (-1, graph.entries[0]) and right in (-1, graph.entries[1])
        return f"{title} (ENTRY)" if is_entry else title

    def is_one_line(self, entry: Entry) -> bool:
        """Returns whether the lines of a pair differ only in names."""
        return entry.left >= 0 and entry.right >= 0 and INVISIBLE.issuperset(entry.kinds)

    def name(self, node: int) -> str:
        return self.delta.graph.nodes[node].name

    def names(self, entry: Entry) -> str:
        """Returns the names of a pair, as one name if they are equal, or a single name."""
        return " -> ".join(dict.fromkeys(self.name(node) for node in (entry.left, entry.right) if node >= 0))

    def renames(self, entry: Entry) -> dict[str, str]:
        """Maps the old names in the line of a pair to their new names."""
        delta = self.delta
        graph, partner = delta.graph, delta.pairs.partner
        nodes = entry.left, *graph.operands[entry.left]
        names = {self.name(node): self.name(partner[node]) for node in nodes if partner[node] >= 0}
        called = (c for callees in graph.calls.get(entry.left, {}).values() for c in callees if c in delta.pairs.computations)
        names.update((graph.computations[c].name, graph.computations[delta.pairs.computations[c]].name) for c in called)
        return names

    def pair_lines(self, entry: Entry) -> tuple[str, str]:
        """Returns the lines of an entry on both sides, empty if there is no instruction.

        If the lines differ only in names, the old line is empty, and the new line has both names.
        """
        kinds = entry.kinds
        old, new = (self.lines.of(node, kinds) if node >= 0 else "" for node in (entry.left, entry.right))
        if not self.is_one_line(entry):
            return old, new
        first, second = self.name(entry.left), self.name(entry.right)
        return "", new if first == second else new.replace(second, f"{first} -> {second}", 1)

    def entry_notes(self, entry: Entry, *, is_brief: bool = False) -> list[str]:
        """Returns the notes on an entry: a line for each change, or a line about the users.

        With `is_brief`, changes that matter little next to other changes are mentioned without
        details.
        """
        if entry.left < 0 or entry.right < 0:
            return [self.notes.describe_users(max(entry.left, entry.right))]
        changes = entry.changes
        if not is_brief or SIDE_ISSUES.issuperset(entry.kinds):
            return list(self.notes.of(entry.left, changes))
        asides = [change["kind"].replace("_", " ") for change in changes if change["kind"] in ASIDES]
        notes = self.notes.of(entry.left, [change for change in changes if change["kind"] not in ASIDES])
        return [*notes, *([f"also {', '.join(asides)}"] if asides and not self.is_long else [])]


def report_of(delta: ModuleDifference) -> Report:
    """Returns the report of a difference, excluding ignored changes."""
    notes = Notes(delta)
    rows = regions(delta.graph, delta.pairs) if delta.categories else []
    sections = list(_sections(delta, notes))
    both_sided = [section for section in sections if not section.is_one_sided]
    number = sum(not group.is_side_issue for section, _ in roll_up(both_sided) for group in section.groups)
    return Report(delta, Lines(delta), notes, delta.header, rows, sections, number > _MAX_SHORT_GROUPS)


def _sections(delta: ModuleDifference, notes: Notes) -> Iterator[Section]:
    graph, partner = delta.graph, delta.pairs.partner
    entries: dict[tuple[int, int], list[Entry]] = {}
    for node, changes in delta.changed.items():
        key = graph.home[node], graph.home[partner[node]]
        entries.setdefault(key, []).append(Entry(node, partner[node], changes, node))
    counterpart = delta.pairs.computations
    for node in delta.deleted if "deleted" not in delta.ignored else ():
        home = graph.home[node]
        entries.setdefault((home, counterpart.get(home, -1)), []).append(Entry(node, -1, (), node))
    if "inserted" not in delta.ignored:
        for node, position in _positions(delta):
            home = graph.home[node]
            entries.setdefault((counterpart.get(home, -1), home), []).append(Entry(-1, node, (), position))
    for left in delta.new_roots:
        entries.setdefault((left, counterpart[left]), [])
    # Computations of the left module in their order, then those that only the right module has.
    for left, right in sorted(entries, key=lambda key: (key[0] if key[0] >= 0 else len(graph.computations), key)):
        ordered = sorted(entries[left, right], key=lambda entry: (entry.position, entry.right))
        is_pair = counterpart.get(left) == right
        yield Section(left, right, is_pair and left in delta.new_roots, _groups(ordered, notes, delta))


def _positions(delta: ModuleDifference) -> Iterator[tuple[int, float]]:
    """Yields the inserted instructions, each with its position among the left instructions."""
    graph, partner = delta.graph, delta.pairs.partner
    inserted = set(delta.inserted)
    for home in dict.fromkeys(graph.home[node] for node in delta.inserted):
        before: float = -1
        other = delta.pairs.computations.get(home, -1)
        for node in graph.members[home]:
            if node in inserted:
                yield node, before + 0.5
            elif graph.home[partner[node]] == other and partner[node] >= 0:
                before = partner[node]


def _groups(entries: Sequence[Entry], notes: Notes, delta: ModuleDifference) -> list[Group]:
    groups: dict[Hashable, Group] = {}
    nodes = delta.graph.nodes
    for entry in entries:
        if entry.left < 0 or entry.right < 0:
            pattern: Hashable = (entry.kinds[0], nodes[max(entry.left, entry.right)].op.name)
        elif len(entry.changes) == 1 and entry.changes[0]["kind"] in ("moved", "schedule"):
            pattern = entry.changes[0]["kind"]
        else:
            pattern = notes.pattern(entry.left, entry.changes)
        groups.setdefault(pattern, Group(pattern, [])).entries.append(entry)
    return sorted(groups.values(), key=lambda group: group.is_side_issue)


def roll_up(sections: Sequence[Section]) -> list[tuple[Section, list[Section]]]:
    """Groups each section with the later sections that have the same differences."""
    kept: dict[Hashable, tuple[Section, list[Section]]] = {}
    for section in sections:
        counts = Counter({group.pattern: len(group.entries) for group in section.groups})
        key = (section.left < 0, section.right < 0, section.has_new_root, frozenset(counts.items()))
        if key in kept:
            kept[key][1].append(section)
        else:
            kept[key] = (section, [])
    return list(kept.values())
