"""Describes the changes in a pair of instructions in words, and groups equal changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from hlotool.differ.changes import Change
from hlotool.differ.difference import ModuleDifference
from hlotool.differ.rendering.value_differences import (
    arrow,
    configuration_differences,
    constant_difference,
    difference_lines,
    leaf_differences,
    mapping_differences,
    metadata_differences,
)
from hlotool.ir.model import Module
from hlotool.opdefs.codecs.base import WriteStyle
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS
from hlotool.shapes.metadata import decode_metadata
from hlotool.shapes.values import Raw
from hlotool.text.print.stack_frames import innermost_location

__all__ = ["ASIDES", "INVISIBLE", "SIDE_ISSUES", "Notes", "name_list"]

SIDE_ISSUES = frozenset({"metadata", "backend_config", "frontend_attributes", "layout", "schedule", "moved", "names", "sharding"})
"""The kinds of changes that do not affect which operation is applied to which operands."""

INVISIBLE = frozenset({"metadata", "backend_config", "schedule", "moved", "control"})
"""The kinds of changes that are not visible in the one-line form of an instruction."""

ASIDES = frozenset({"metadata", "backend_config", "frontend_attributes", "moved", "schedule"})
"""The kinds of changes that matter little in a pair that also has other changes."""

_MAX_PARTS = 4


class Notes:
    """Descriptions of the changes in the pairs of a graph."""

    def __init__(self, delta: ModuleDifference) -> None:
        self._delta = delta
        self._graph = delta.graph
        self._partner = delta.pairs.partner

    # ---- descriptions ---------------------------------------------------------------------------

    def of(self, left: int, changes: Iterable[Change]) -> Iterator[str]:
        """Yields lines that describe the changes in a pair, given its left node."""
        for change in changes:
            kind = change["kind"]
            describe = _DESCRIBERS.get(kind)
            if describe is not None:
                yield from describe(self, left, change)
            else:
                yield f"{kind}: {arrow(change.get('old'), change.get('new'))}"

    def _leaves(self, left: int, change: Change) -> Iterator[str]:
        graph, kind = self._graph, change["kind"]
        differences = leaf_differences(graph.nodes[left].shape, graph.nodes[self._partner[left]].shape, kind)
        word = kind.replace("_", " ")
        for text in difference_lines(differences, _MAX_PARTS):
            yield f"{word}: {text}"

    def _operands(self, left: int, change: Change) -> Iterator[str]:
        graph, partner = self._graph, self._partner
        right = partner[left]
        first, second = graph.operands[left], graph.operands[right]
        if "slots" not in change:
            yield f"operands: {len(first)} -> {len(second)}" + self._gained_and_lost(first, second)
            return
        slots = [slot["slot"] for slot in change["slots"]]
        for slot in slots[:_MAX_PARTS]:
            old, new = self._old_name(first[slot], left), self._name(second[slot], right)
            yield f"operand {slot}: {old} -> {'another ' if old.partition(' ')[0] == new else ''}{new}"
        if len(slots) > _MAX_PARTS:
            yield f"and {len(slots) - _MAX_PARTS} more"

    def _gained_and_lost(self, first: Sequence[int], second: Sequence[int]) -> str:
        nodes = self._graph.nodes
        kept = {self._partner[node] for node in first}
        lost = [nodes[node].name for node in first if self._partner[node] not in second]
        gained = [nodes[node].name for node in second if node not in kept]
        parts = [f"{word} {name_list(names)}" for word, names in (("without", lost), ("with", gained)) if names]
        return f" ({', '.join(parts)})" if parts else ""

    def _old_name(self, node: int, user: int) -> str:
        """Returns the name of an operand of the left module, and its new name if it differs."""
        name, other = self._name(node, user), self._partner[node]
        if other < 0:
            return f"{name} (deleted)"
        new_name = self._name(other, self._partner[user])
        return name if name == new_name else f"{name} (now {new_name})"

    def _name(self, node: int, user: int) -> str:
        """Returns the name of an operand, with its computation if that differs from the user's."""
        graph = self._graph
        name = graph.nodes[node].name
        return name if graph.home[node] == graph.home[user] else f"{graph.computations[graph.home[node]].name}/{name}"

    def _commuted(self, left: int, change: Change) -> Iterator[str]:
        yield "operands exchanged"

    def _attributes(self, left: int, change: Change) -> Iterator[str]:
        yield f"{change['key']}: {arrow(change['old'], change['new'])}"

    def _called(self, left: int, change: Change) -> Iterator[str]:
        name = change["key"]
        texts = [name_list([self._graph.computations[c].name for c in self._callees(node, name)]) for node in (left, self._partner[left])]
        yield f"{name}: another computation, {arrow(*texts)}"

    def _callees(self, node: int, name: str) -> Iterator[int]:
        """Yields the callees in an attribute of a node, or of the operation that an async-start wraps."""
        graph = self._graph
        calls = graph.calls.get(node, {})
        wrapped = [member for wrappers in calls.values() for wrapper in wrappers for member in graph.members[wrapper]]
        for x in (node,) if name in calls else wrapped:
            yield from graph.calls.get(x, {}).get(name, ())

    def _constants(self, left: int, change: Change) -> Iterator[str]:
        nodes = self._graph.nodes
        yield f"value: {constant_difference(nodes[left].immediate, nodes[self._partner[left]].immediate)}"

    def _metadata(self, left: int, change: Change) -> Iterator[str]:
        differences = metadata_differences(change["old"], change["new"])
        for text in difference_lines(differences, _MAX_PARTS):
            yield f"metadata: {text}"
        locations = self._location(self._delta.left, change["old"]), self._location(self._delta.right, change["new"])
        if locations[0] != locations[1]:
            yield f"source: {arrow(*locations)}"
        elif not differences:
            yield f"source: {locations[0]}, with different callers"

    @staticmethod
    def _location(module: Module, metadata: str | None) -> str | None:
        """Returns the innermost stack frame of metadata as `file:line`, or None if it has none."""
        number = decode_metadata(metadata).stack_frame_id if metadata is not None else 0
        frame = innermost_location(module.stack_tables, number) if number else None
        return None if frame is None else f"{frame[0]}:{frame[1].line}"

    def _configuration(self, left: int, change: Change) -> Iterator[str]:
        for text in difference_lines(configuration_differences(change["old"], change["new"]), _MAX_PARTS):
            yield f"backend_config: {text}"

    def _frontend(self, left: int, change: Change) -> Iterator[str]:
        nodes, name = self._graph.nodes, change["kind"]
        attributes = (nodes[node].attributes.get(name) or {} for node in (left, self._partner[left]))
        for text in difference_lines(mapping_differences(*attributes), _MAX_PARTS):
            yield f"{name}: {text}"

    def _control(self, left: int, change: Change) -> Iterator[str]:
        graph = self._graph
        texts = [name_list([graph.nodes[y].name for y in graph.control[node]]) or "none" for node in (left, self._partner[left])]
        yield f"control predecessors: {arrow(*texts)}"

    def _moved(self, left: int, change: Change) -> Iterator[str]:
        graph = self._graph
        yield f"moved: {arrow(*(graph.computations[graph.home[node]].name for node in (left, self._partner[left])))}"

    def _schedule(self, left: int, change: Change) -> Iterator[str]:
        graph = self._graph
        positions = [node - graph.members[graph.home[node]].start for node in (left, self._partner[left])]
        yield f"schedule: position {arrow(*positions)}"

    def describe_users(self, node: int) -> str:
        """Returns a description of the users of an instruction."""
        graph = self._graph
        users = list(dict.fromkeys(graph.nodes[user].name for _, user in graph.users[node]))
        if users:
            return f"used by {name_list(users)}"
        return "the root" if graph.roots[graph.home[node]] == node else "unused"

    def of_header(self, change: Change) -> Iterator[str]:
        """Yields lines that describe a change to the header."""
        name, modules = change["key"], (self._delta.left, self._delta.right)
        if change["kind"] == "layout":
            yield f"{name}: different layouts"
        elif name == "frontend_attributes":
            yield from (
                f"{name}: {text}" for text in difference_lines(mapping_differences(*(m.attributes.get(name) or {} for m in modules)), _MAX_PARTS)
            )
        else:
            yield f"{name}: {arrow(*(_header_text(module, name) for module in modules))}"

    # ---- groups ---------------------------------------------------------------------------------

    def pattern(self, left: int, changes: Sequence[Change]) -> Hashable:
        """Returns a key that is equal for pairs with the same changes, apart from names.

        If the changes affect what is computed, the opcode is a part of the key.
        """
        essence = [(change["kind"], *self._essence(left, change)) for change in changes]
        is_side_issue = SIDE_ISSUES.issuperset(change["kind"] for change in changes)
        return (None if is_side_issue else self._graph.nodes[left].op.name, *essence)

    def _essence(self, left: int, change: Change) -> tuple[Hashable, ...]:
        kind = change["kind"]
        if kind == "operands":
            return self._operand_opcodes(left, change)
        if kind == "metadata":
            return tuple(name for name, _, _ in metadata_differences(change["old"], change["new"]))
        if kind == "backend_config":
            return tuple(path for path, _, _ in configuration_differences(change["old"], change["new"]))
        if kind == "layout":
            graph = self._graph
            return tuple(leaf_differences(graph.nodes[left].shape, graph.nodes[self._partner[left]].shape, kind))
        return change.get("key"), change.get("old"), change.get("new")

    def _operand_opcodes(self, left: int, change: Change) -> tuple[Hashable, ...]:
        graph = self._graph
        first, second = graph.operands[left], graph.operands[self._partner[left]]
        slots = [slot["slot"] for slot in change.get("slots", ())]
        return tuple((slot, graph.nodes[first[slot]].op.name, graph.nodes[second[slot]].op.name) for slot in slots)

    def headline(self, left: int, changes: Sequence[Change]) -> str:
        """Returns the changes in an instruction in a few words, to be combined into a sentence."""
        opcode = self._graph.nodes[left].op.name
        parts = [self._headline(left, change) for change in changes if change["kind"] not in SIDE_ISSUES]
        parts = list(dict.fromkeys(parts or [change["kind"].replace("_", " ") for change in changes]))
        if changes[0]["kind"] == "opcode":
            return ", ".join(parts)
        return f"{opcode}: {' and '.join(parts)}"

    def _headline(self, left: int, change: Change) -> str:
        kind = change["kind"]
        if kind == "opcode":
            return f"{change['old']} -> {change['new']}"
        if kind in ("element_type", "shape"):
            graph = self._graph
            differences = leaf_differences(graph.nodes[left].shape, graph.nodes[self._partner[left]].shape, kind)
            return arrow(*differences[0][1:]) if len(differences) == 1 else kind.replace("_", " ")
        if kind in ("attributes", "called"):
            return str(change["key"])
        return _HEADLINES.get(kind) or str(kind)


_DESCRIBERS: dict[str, Callable[[Notes, int, Change], Iterator[str]]] = {
    "attributes": Notes._attributes,
    "backend_config": Notes._configuration,
    "called": Notes._called,
    "commuted": Notes._commuted,
    "constants": Notes._constants,
    "control": Notes._control,
    "element_type": Notes._leaves,
    "frontend_attributes": Notes._frontend,
    "layout": Notes._leaves,
    "metadata": Notes._metadata,
    "moved": Notes._moved,
    "operands": Notes._operands,
    "schedule": Notes._schedule,
    "shape": Notes._leaves,
}
"""The functions that describe kinds of changes. Other changes are shown as old and new values."""

_HEADLINES = {"commuted": "operands exchanged", "constants": "value", "control": "control predecessors"}


def name_list(names: Sequence[str], most: int = _MAX_PARTS) -> str:
    """Returns the first few names, and the number of omitted names.

    >>> name_list(["a", "b", "c"], 2)
    'a, b, ... (1 more)'
    """
    rest = f", ... ({len(names) - most} more)" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _header_text(module: Module, name: str) -> str | None:
    value = module.attributes.get(name)
    if value is None:
        return None
    return value.text if isinstance(value, Raw) else str(CODECS[MODULE_ATTRIBUTES[name].kind].write(value, WriteStyle()))
