"""The difference between two modules: changed, inserted and deleted instructions."""

from __future__ import annotations

from typing import Any

from hlotool.collection import no_garbage_collection
from hlotool.differ.changes import Change, Changes
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs
from hlotool.differ.regions import regions
from hlotool.ir.model import Module

__all__ = ["SCHEMA", "ModuleDifference"]

SCHEMA = "hlotool.diff/1"
"""The name and version of the format that `Delta.to_dict` returns."""


# The kinds of changes reported for the operation that the short form of an async-start contains.
# The operation's shapes follow from the shapes in the text, and its metadata is that of the
# async-start.
_WRAPPED = frozenset({"attributes", "called", "opcode"})


class ModuleDifference:
    """The difference between two modules, without its text forms; false if there is none."""

    def __init__(self, left: Module, right: Module, graph: Graph, pairs: Pairs, ignored: frozenset[str]) -> None:
        self.left = left
        self.right = right
        self.graph = graph
        self.pairs = pairs
        self.ignored = ignored
        explained = Changes(left, right, graph, pairs)
        self.inserted: list[int] = []
        self.deleted: list[int] = []
        self.changed: dict[int, list[Change]] = {}
        rescheduled = explained.rescheduled()
        for node, other in enumerate(pairs.partner):
            if other < 0 and self._is_listed(node):
                (self.deleted if node < graph.split else self.inserted).append(node)
        for node in sorted(rescheduled.union(explained.costs.suspects(graph.contents))):
            other = pairs.partner[node]
            if self._is_listed(node) and self._is_listed(other):
                changes = explained.of_pair(node, other)
                if node in rescheduled:
                    changes.append({"kind": "schedule"})
                changes = [change for change in changes if change["kind"] not in ignored]
                if changes:
                    self.changed[node] = changes
        self.computations = sorted((a, b) for a, b in pairs.computations.items() if a < graph.computation_split)
        self._report_wrapped(explained)
        self.header = [change for change in explained.of_header() if change["kind"] not in ignored]
        self.new_roots = {a for a, b in self.computations if pairs.partner[graph.roots[a]] != graph.roots[b]} if "root" not in ignored else set()
        self._qualified_name = explained.qualified_name
        self.categories = tuple(sorted(self._categories() - ignored))

    def _report_wrapped(self, explained: Changes) -> None:
        """Records the changes in operations that the short form of async-starts wraps.

        These changes are reported at the async-start, because the text shows no other instruction.
        """
        graph, partner = self.graph, self.pairs.partner
        wrapped = [a for a, b in self.computations if graph.computations[a] in self.left.hidden and graph.computations[b] in self.right.hidden]
        for a in wrapped:
            start = min(graph.callers[a], default=-1)
            if start < 0 or partner[start] not in graph.callers[self.pairs.computations[a]]:
                continue
            for node in graph.members[a]:
                if partner[node] < 0:
                    continue
                reported = {(change["kind"], change.get("key")) for change in self.changed.get(start, ())}
                changes = explained.of_pair(node, partner[node])
                new = [c for c in changes if c["kind"] in _WRAPPED and c["kind"] not in self.ignored and (c["kind"], c.get("key")) not in reported]
                if new:
                    self.changed.setdefault(start, []).extend(new)

    def __bool__(self) -> bool:
        return bool(self.categories)

    def _is_listed(self, node: int) -> bool:
        """Returns whether the text of the module shows the computation of a node.

        The text does not show computations that are implied by the short form of an asynchronous
        operation.
        """
        graph = self.graph
        return graph.computations[graph.home[node]] not in (self.left if node < graph.split else self.right).hidden

    def _categories(self) -> set[str]:
        categories = {change["kind"] for changes in (*self.changed.values(), self.header) for change in changes}
        if self.new_roots:
            categories.add("root")
        if self.inserted:
            categories.add("inserted")
        if self.deleted:
            categories.add("deleted")
        if self._names_differ():
            categories.add("names")
        return categories

    def _names_differ(self) -> bool:
        graph, nodes = self.graph, self.graph.nodes
        if self.left.name != self.right.name:
            return True
        hidden = self.left.hidden | self.right.hidden
        pairs = [(graph.computations[a], graph.computations[b]) for a, b in self.computations]
        if any(a.name != b.name and a not in hidden and b not in hidden for a, b in pairs):
            return True
        partner = self.pairs.partner
        return any(
            partner[node] >= 0 and nodes[node].name != nodes[partner[node]].name and self._is_listed(node) and self._is_listed(partner[node])
            for node in range(graph.split)
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the difference as the document that `hlotool diff --output-format json` prints.

        The document consists of dictionaries, lists, strings, numbers and booleans.
        """
        with no_garbage_collection():
            return self._document()

    def _document(self) -> dict[str, Any]:
        graph, qualified_name = self.graph, self._qualified_name
        return {
            "schema": SCHEMA,
            "differs": bool(self),
            "ignored": sorted(self.ignored),
            "left": {"module": self.left.name, "instructions": sum(map(self._is_listed, range(graph.split)))},
            "right": {"module": self.right.name, "instructions": sum(map(self._is_listed, range(graph.split, len(graph.nodes))))},
            "categories": list(self.categories),
            "computations": self._computations(),
            "mapping": self._mapping(),
            "changed": [
                {"left": qualified_name(node), "right": qualified_name(self.pairs.partner[node]), "changes": changes}
                for node, changes in self.changed.items()
            ],
            "inserted": [qualified_name(node) for node in self.inserted],
            "deleted": [qualified_name(node) for node in self.deleted],
            "module": self.header,
            "regions": regions(graph, self.pairs),
        }

    def _computations(self) -> list[dict[str, Any]]:
        graph, hidden = self.graph, self.left.hidden | self.right.hidden
        names = graph.computations
        return [
            {"left": names[a].name, "right": names[b].name, "changes": [{"kind": "root"}] if a in self.new_roots else []}
            for a, b in self.computations
            if names[a] not in hidden and names[b] not in hidden
        ]

    def _mapping(self) -> list[dict[str, Any]]:
        graph, partner, nodes = self.graph, self.pairs.partner, self.graph.nodes
        groups: dict[tuple[int, int], list[list[str]]] = {}
        for node in range(graph.split):
            other = partner[node]
            if other >= 0 and self._is_listed(node) and self._is_listed(other):
                groups.setdefault((graph.home[node], graph.home[other]), []).append([nodes[node].name, nodes[other].name])
        return [
            {"left": graph.computations[a].name, "right": graph.computations[b].name, "instructions": instructions}
            for (a, b), instructions in groups.items()
        ]
