"""Determines the graph nodes that a patch lists: deletions, insertions, changes and context."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hlotool.analysis.sequences import longest_increasing
from hlotool.differ.difference import ModuleDifference
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.patches.patch_lines import closing_line

__all__ = ["PatchRows", "Row"]


class Row(NamedTuple):
    """A line of a computation: its sign, and its left and right nodes (-1 if there is none).

    A line without nodes has a `text`, or is the first line of the computation in `opens`.
    """

    sign: str
    left: int
    right: int
    text: str = ""
    opens: int = -1


class PatchRows:
    """The lines of a patch.

    `computations` and `kept` map computations and instructions of the right module to their
    counterparts in the left module, if both are shown.
    """

    def __init__(self, delta: ModuleDifference, line: Callable[[int], str]) -> None:
        self.delta = delta
        self.line = line
        self.graph: Graph = delta.graph
        self.left, self.right = delta.left, delta.right
        self.computations: dict[int, int] = {}
        self.kept: dict[int, int] = {}
        self._pair()
        self.partner = {left: right for right, left in self.kept.items()}
        scheduled = self.left.is_scheduled, self.right.is_scheduled
        self.has_order = any(scheduled) and "schedule" not in delta.ignored
        # If only one module is scheduled, the patch must list all instructions to express the
        # schedule.
        self.shows_all = self.has_order and not all(scheduled)

    def is_shown(self, computation: int) -> bool:
        graph = self.graph
        return graph.computations[computation] not in (self.left if computation < graph.computation_split else self.right).hidden

    def _pair(self) -> None:
        graph, partner = self.graph, self.delta.pairs.partner
        for a, b in self.delta.computations:
            # A computation that becomes the entry is removed and added again, with another first line.
            if self.is_shown(a) and self.is_shown(b) and (a in graph.entries) == (b in graph.entries):
                self.computations[b] = a
                self.kept.update((node, partner[node]) for node in graph.members[b] if partner[node] in graph.members[a])

    # ---- computations ---------------------------------------------------------------------------

    def parts(self) -> list[tuple[int, list[Row]]]:
        """Returns the parts of the patch: runs of changed lines of a computation, with context."""
        graph = self.graph
        counterparts = {a: b for b, a in self.computations.items()}
        # The pairs of computations, with all of their lines.
        compared = {(a, b): self._compare(a, b) for a, b in counterparts.items()}
        inserted = [b for b in range(graph.computation_split, len(graph.computations)) if self.is_shown(b) and b not in self.computations]
        deleted = [a for a in range(graph.computation_split) if self.is_shown(a) and a not in counterparts]
        whole = [(b, self._whole(b, "+")) for b in inserted] + [(a, self._whole(a, "-")) for a in deleted]
        needed = self._needed([*compared.values(), *(rows for _, rows in whole)])
        parts = whole
        for (a, _), rows in compared.items():
            is_needed = a in needed[1]
            parts += [(a, part) for part in self._runs(rows, needed[0], graph.roots[a], is_needed=is_needed)]
        return parts

    def _whole(self, computation: int, sign: str) -> list[Row]:
        """Returns the lines of a computation that only one module has."""
        graph = self.graph
        x = graph.computations[computation]
        is_left = computation < graph.computation_split
        rows = [Row(sign, node if is_left else -1, -1 if is_left else node) for node in graph.members[computation]]
        return [Row(sign, -1, -1, opens=computation), *rows, Row(sign, -1, -1, closing_line(x))]

    def _compare(self, a: int, b: int) -> list[Row]:
        """Returns all lines of a pair of computations, merged into one order."""
        graph = self.graph
        if self.has_order:
            rows = self._merge_scheduled(a, b)
        else:
            rows = self._merge_unscheduled(a, b)
        first, second = closing_line(graph.computations[a]), closing_line(graph.computations[b])
        if first != second:
            rows += [Row("-", -1, -1, first), Row("+", -1, -1, second)]
        return rows

    def _merge_scheduled(self, a: int, b: int) -> list[Row]:
        """Merges the lines of a pair in the order of the right module.

        An instruction that has moved is deleted and inserted again.
        """
        graph, partner = self.graph, self.partner
        both = [node for node in graph.members[a] if node in partner]
        stays = longest_increasing([partner[node] for node in both])
        stable = {both[k] for k in stays}
        rows: list[Row] = []
        left, right = iter(graph.members[a]), iter(graph.members[b])
        for node in left:
            if node not in stable:
                rows.append(Row("-", node, -1))
                continue
            for other in right:
                if other == partner[node]:
                    break
                rows.append(Row("+", -1, other))
            rows += self._pair_rows(node, partner[node])
        rows += [Row("+", -1, other) for other in right]
        return rows

    def _merge_unscheduled(self, a: int, b: int) -> list[Row]:
        """Merges the lines of a pair in the order of the left module; insertions follow operands."""
        graph, kept, partner = self.graph, self.kept, self.partner
        before = graph.members[a].start - 1
        positions: dict[int, int] = {}
        inserted: dict[int, list[int]] = {}
        last = before
        for node in graph.members[b]:
            if node in kept:
                last = positions[node] = kept[node]
                continue
            needed = [positions[y] for y in (*graph.operands[node], *graph.control[node]) if y in positions]
            last = positions[node] = max(needed) if needed else last
            inserted.setdefault(last, []).append(node)
        rows = [Row("+", -1, node) for node in inserted.get(before, ())]
        for node in graph.members[a]:
            rows += self._pair_rows(node, partner[node]) if node in partner else [Row("-", node, -1)]
            rows += [Row("+", -1, other) for other in inserted.get(node, ())]
        return rows

    def _pair_rows(self, left: int, right: int) -> list[Row]:
        if self._has_changed(left, right):
            return [Row("-", left, -1), Row("+", -1, right)]
        return [Row(" ", left, right)]

    def _has_changed(self, left: int, right: int) -> bool:
        """Returns whether the line of an instruction has changed.

        The delta does not report all of these changes, since it follows values through calls and
        tuples.
        """
        graph, kept = self.graph, self.kept
        if any(change["kind"] != "schedule" for change in self.delta.changed.get(left, ())):
            return True
        x, y = graph.nodes[left], graph.nodes[right]
        if x.op is not y.op or (graph.roots[graph.home[left]] == left) != (graph.roots[graph.home[right]] == right):
            return True
        if [kept.get(node) for node in graph.operands[right]] != [*graph.operands[left]]:
            return True
        if {kept.get(node) for node in graph.control[right]} != {*graph.control[left]}:
            return True
        return self._calls_differ(left, right)

    def _calls_differ(self, left: int, right: int) -> bool:
        """Returns whether two instructions call different computations.

        Hidden computations, which are implied by the short form of asynchronous operations, are
        compared by content.
        """
        graph = self.graph
        first, second = graph.calls.get(left, {}), graph.calls.get(right, {})
        if first.keys() != second.keys():
            return True
        for name, callees in first.items():
            if len(callees) != len(second[name]):
                return True
            for a, b in zip(callees, second[name], strict=True):
                if self.is_shown(a) or self.is_shown(b):
                    if self.computations.get(b) != a:
                        return True
                elif self._wrapped_differ(a, b) and self.line(left) != self.line(right):
                    return True
        return False

    def _wrapped_differ(self, a: int, b: int) -> bool:
        """Returns whether two hidden computations differ."""
        graph = self.graph
        if graph.computations[a].execution_thread != graph.computations[b].execution_thread:
            return True
        first, second = graph.members[a], graph.members[b]
        if [graph.contents[node] for node in first] != [graph.contents[node] for node in second]:
            return True
        # A hidden computation calls no other hidden computation: it is a wrapper, and wrappers are
        # not wrapped.
        called = [[c for node in members for callees in graph.calls.get(node, {}).values() for c in callees] for members in (first, second)]
        return called[0] != [self.computations.get(c) for c in called[1]]

    # ---- context --------------------------------------------------------------------------------

    def _needed(self, parts: Sequence[list[Row]]) -> tuple[set[int], set[int]]:
        """Returns the left nodes and the left computations to which changed lines refer."""
        graph, kept = self.graph, self.kept
        nodes: set[int] = set()
        computations: set[int] = set()
        for rows in parts:
            for row in rows:
                node = max(row.left, row.right)
                if row.sign == " " or node < 0:
                    continue
                is_left = row.left >= 0
                used = (*graph.operands[node], *graph.control[node])
                called = self._called(node)
                nodes.update(used if is_left else [kept[y] for y in used if y in kept])
                computations.update(called if is_left else (self.computations[c] for c in called if c in self.computations))
        return nodes, computations

    def _called(self, node: int) -> Iterator[int]:
        """Yields the computations that the line of an instruction mentions.

        For the short form of an asynchronous operation, the wrapped operation's callees are yielded
        instead.
        """
        graph = self.graph
        for callees in graph.calls.get(node, {}).values():
            for callee in callees:
                if self.is_shown(callee):
                    yield callee
                else:
                    yield from (c for member in graph.members[callee] for inner in graph.calls.get(member, {}).values() for c in inner)

    def _runs(self, rows: list[Row], needed: set[int], root: int, *, is_needed: bool) -> Iterator[list[Row]]:
        """Yields the visible lines of a computation in parts, split at gaps after a change."""
        changed = [k for k, row in enumerate(rows) if row.sign != " "]
        shown = {k for k, row in enumerate(rows) if self.shows_all or row.left in needed or row.sign != " "} | {k - 1 for k in changed if k}
        sides = {row.sign for row in (rows[k] for k in shown)}
        if (shown or is_needed) and " " not in sides and sides != {"-", "+"}:
            # Show the root, so that the computation can be found on both sides.
            shown |= {k for k, row in enumerate(rows) if row.left == root}
        part: list[Row] = []
        is_gap = False
        for k, row in enumerate(rows):
            if k not in shown:
                is_gap = True
                continue
            if is_gap and part and part[-1].sign != " ":
                yield part
                part = []
            is_gap = False
            part.append(row)
        if part:
            yield part
