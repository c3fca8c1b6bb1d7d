"""Makes the patch of a difference: the text that `apply.py` applies.

The lines of a patch have the names of the left module. What the right module adds gets names that are free there, so that a line of the patch means
the same whether names change or not; changes of names are a hunk of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hlotool.collection import no_garbage_collection
from hlotool.differ.changes import longest_increasing
from hlotool.differ.delta import Delta
from hlotool.differ.fingerprints import fingerprints, text_hash
from hlotool.differ.frames import frame_lines
from hlotool.differ.graph import Graph
from hlotool.differ.line_names import names_in
from hlotool.differ.patch_text import COMPUTATION, FRAMES, HEADER, NAMES, REFERENCES, Hunk, Line, write_patch
from hlotool.ir.model import Computation
from hlotool.ir.names import NameTable
from hlotool.text.print.instruction import InstructionWriter, OwnNames
from hlotool.text.print.options import PrintOptions
from hlotool.text.print.printer import header_attributes

__all__ = ["PATCH_PRINT", "closing_line", "opening_line", "patch_of"]

PATCH_PRINT = PrintOptions(print_operand_index_annotation_interval=0)
"""How the lines of a patch are printed: losslessly, without the numbers of operands."""


def patch_of(delta: Delta, left_name: str = "a", right_name: str = "b") -> str:
    """The patch that turns the left module of a difference into the right one; empty if nothing differs. `hlotool.apply` applies it.

    Names of files are those in its first lines. What the difference ignores is left out, except that a changed instruction is always given as it is
    in the right module.

    >>> import hlotool
    >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> right = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] abs(p) }")
    >>> print(patch_of(hlotool.diff(left, right)), end="")
    --- a
    +++ b
    @@ computation e @@
       %p = f32[] parameter(0)
    -  ROOT %n = f32[] negate(%p)
    +  ROOT %n = f32[] abs(%p)
    @@ references @@
    ...
    @@ end @@
    """
    if not delta:
        return ""
    with no_garbage_collection():
        return "".join(write_patch(_Maker(delta).hunks(), left_name, right_name))


def opening_line(computation: Computation, name: str, *, is_entry: bool) -> str:
    return f"{'ENTRY ' if is_entry else ''}%{name} {{"


def closing_line(computation: Computation) -> str:
    thread = computation.execution_thread
    return "}" if thread == "main" else f'}}, execution_thread="{thread}"'


class _Row(NamedTuple):
    """A line of a computation: its sign, and the nodes that it shows, left and right, -1 for none. `text` is that of a line that shows no node."""

    sign: str
    left: int
    right: int
    text: str = ""


class _Maker:
    def __init__(self, delta: Delta) -> None:
        self.delta = delta
        self.graph: Graph = delta.graph
        self.left, self.right = delta.left, delta.right
        # Computations and instructions that both modules show, right to left.
        self.computations: dict[int, int] = {}
        self.kept: dict[int, int] = {}
        self._pair()
        self.partner = {left: right for right, left in self.kept.items()}
        scheduled = self.left.is_scheduled, self.right.is_scheduled
        self.has_order = any(scheduled) and "schedule" not in delta.ignored
        # A schedule that replaces no other one can be told by the order of all instructions only.
        self.shows_all = self.has_order and not all(scheduled)
        self.instruction_names = OwnNames()
        self.computation_names = OwnNames()
        self._name()
        self.writers = (
            InstructionWriter(self.left, PATCH_PRINT, OwnNames(), OwnNames(), None, _no_body),
            InstructionWriter(self.right, PATCH_PRINT, self.instruction_names, self.computation_names, None, _no_body),
        )

    def _is_shown(self, computation: int) -> bool:
        graph = self.graph
        return graph.computations[computation] not in (self.left if computation < graph.computation_split else self.right).hidden

    def _pair(self) -> None:
        graph, partner = self.graph, self.delta.pairs.partner
        for a, b in self.delta.computations:
            if self._is_shown(a) and self._is_shown(b):
                self.computations[b] = a
                self.kept.update((node, partner[node]) for node in graph.members[b] if partner[node] in graph.members[a])

    # ---- names --------------------------------------------------------------------------------------------------------

    def _name(self) -> None:
        """Names all that the right module shows as the patch does."""
        graph = self.graph
        shown = [b for b in range(graph.computation_split, len(graph.computations)) if self._is_shown(b)]
        taken = NameTable()
        for b in shown:
            if b in self.computations:
                self.computation_names[graph.computations[b]] = graph.computations[self.computations[b]].name
                taken.add(graph.computations[self.computations[b]].name)
        for b in shown:
            if b not in self.computations:
                self.computation_names[graph.computations[b]] = taken.take(graph.computations[b].name)
            self._name_instructions(b)

    def _name_instructions(self, b: int) -> None:
        graph = self.graph
        taken = NameTable()
        for node in graph.members[b]:
            if node in self.kept:
                self.instruction_names[graph.nodes[node]] = graph.nodes[self.kept[node]].name
                taken.add(graph.nodes[self.kept[node]].name)
        for node in graph.members[b]:
            if node not in self.kept:
                self.instruction_names[graph.nodes[node]] = taken.take(graph.nodes[node].name)

    # ---- hunks --------------------------------------------------------------------------------------------------------

    def hunks(self) -> list[Hunk]:
        parts = self._parts()
        references = self._references(parts)
        hunks = [
            Hunk(HEADER, [*self._header()]),
            Hunk(FRAMES, [*self._frames(parts)]),
            *(Hunk(COMPUTATION, [Line(row.sign, self._text(row)) for row in rows], name) for name, rows in parts),
            Hunk(NAMES, [*self._names()] if "names" not in self.delta.ignored else []),
            Hunk(REFERENCES, references),
        ]
        return [hunk for hunk in hunks if hunk.lines]

    def _header(self) -> Iterator[Line]:
        first, second = dict(header_attributes(self.left, PATCH_PRINT)), dict(header_attributes(self.right, PATCH_PRINT))
        changed = {change["key"] for change in self.delta.header}
        layout = "entry_computation_layout"
        if self._signature_changes():
            changed.add(layout)
        for name in [*first, *(name for name in second if name not in first)]:
            if name not in changed or first.get(name) == second.get(name):
                continue
            if name in first:
                yield Line("-", f"{name}={first[name]}")
            if name in second:
                yield Line("+", f"{name}={second[name]}")

    def _signature_changes(self) -> bool:
        """Whether the entry has parameters or a result of other shapes, apart from layouts."""
        shapes = [module.entry.program_shape for module in (self.left, self.right)]
        first, second = [[part.text_without_layout for part in (*shape.parameters, shape.result)] for shape in shapes]
        return first != second

    def _frames(self, parts: Sequence[tuple[str, list[_Row]]]) -> Iterator[Line]:
        numbers: tuple[set[int], set[int]] = (set(), set())
        for _, rows in parts:
            for row in rows:
                if row.sign != " " and row.left + row.right > -2:
                    numbers[row.sign == "+"].update(int(name.text) for name in names_in(self._text(row)) if name.kind == "frame")
        first, second = [*frame_lines(self.left, numbers[0])], [*frame_lines(self.right, numbers[1])]
        known = set(second)
        yield from (Line(" " if text in known else "-", text) for text in first)
        known = set(first)
        yield from (Line("+", text) for text in second if text not in known)

    def _names(self) -> Iterator[Line]:
        graph = self.graph
        if self.left.name != self.right.name:
            yield Line("-", f"HloModule {self.left.name}")
            yield Line("+", f"HloModule {self.right.name}")
        for b in range(graph.computation_split, len(graph.computations)):
            if not self._is_shown(b):
                continue
            computation = graph.computations[b]
            name = self.computation_names[computation]
            if name != computation.name:
                yield Line("-", f"%{name}")
                yield Line("+", f"%{computation.name}")
            for x in computation.instructions:
                if self.instruction_names[x] != x.name:
                    yield Line("-", f"%{name} %{self.instruction_names[x]}")
                    yield Line("+", f"%{name} %{x.name}")

    def _text(self, row: _Row) -> str:
        if row.text:
            return row.text
        node = row.left if row.left >= 0 else row.right
        return self._line(node)

    def _line(self, node: int) -> str:
        graph = self.graph
        x = graph.nodes[node]
        writer = self.writers[node >= graph.split]
        return f"  {writer.write(x, is_root=graph.roots[graph.home[node]] == node, level=0)}"

    # ---- computations ---------------------------------------------------------------------------------------------------

    def _parts(self) -> list[tuple[str, list[_Row]]]:
        """The lines of the patch by parts: runs of changed lines of a computation, with context."""
        graph = self.graph
        counterparts = {a: b for b, a in self.computations.items()}
        # Computations of the left module as far as they are needed, with all of their lines.
        compared = {(a, b): self._compared(a, b) for a, b in counterparts.items()}
        inserted = [b for b in range(graph.computation_split, len(graph.computations)) if self._is_shown(b) and b not in self.computations]
        deleted = [a for a in range(graph.computation_split) if self._is_shown(a) and a not in counterparts]
        whole = [(b, self._whole(b, "+")) for b in inserted] + [(a, self._whole(a, "-")) for a in deleted]
        needed = self._needed([*compared.values(), *(rows for _, rows in whole)])
        parts = [(self._computation_name(c), rows) for c, rows in whole]
        for (a, _), rows in compared.items():
            is_needed = a in needed[1]
            parts += [(graph.computations[a].name, part) for part in self._runs(rows, needed[0], graph.roots[a], is_needed=is_needed)]
        return parts

    def _computation_name(self, computation: int) -> str:
        graph = self.graph
        x = graph.computations[computation]
        return x.name if computation < graph.computation_split else self.computation_names[x]

    def _whole(self, computation: int, sign: str) -> list[_Row]:
        """The lines of a computation that only one module has."""
        graph = self.graph
        x = graph.computations[computation]
        is_left = computation < graph.computation_split
        rows = [_Row(sign, node if is_left else -1, -1 if is_left else node) for node in graph.members[computation]]
        opening = opening_line(x, self._computation_name(computation), is_entry=x in (self.left.entry, self.right.entry))
        return [_Row(sign, -1, -1, opening), *rows, _Row(sign, -1, -1, closing_line(x))]

    def _compared(self, a: int, b: int) -> list[_Row]:
        """All lines of a pair of computations, in one order."""
        graph = self.graph
        if self.has_order:
            rows = self._scheduled(a, b)
        else:
            rows = self._unscheduled(a, b)
        first, second = closing_line(graph.computations[a]), closing_line(graph.computations[b])
        if first != second:
            rows += [_Row("-", -1, -1, first), _Row("+", -1, -1, second)]
        return rows

    def _scheduled(self, a: int, b: int) -> list[_Row]:
        """The lines in the order of the right module; instructions that have moved are deleted and inserted."""
        graph, partner = self.graph, self.partner
        both = [node for node in graph.members[a] if node in partner]
        stays = longest_increasing([partner[node] for node in both])
        stable = {both[k] for k in stays}
        rows: list[_Row] = []
        left, right = iter(graph.members[a]), iter(graph.members[b])
        for node in left:
            if node not in stable:
                rows.append(_Row("-", node, -1))
                continue
            for other in right:
                if other == partner[node]:
                    break
                rows.append(_Row("+", -1, other))
            rows += self._pair_rows(node, partner[node])
        rows += [_Row("+", -1, other) for other in right]
        return rows

    def _unscheduled(self, a: int, b: int) -> list[_Row]:
        """The lines in the order of the left module; what is inserted comes after the last of its operands."""
        graph, kept, partner = self.graph, self.kept, self.partner
        before = graph.members[a].start - 1
        places: dict[int, int] = {}
        inserted: dict[int, list[int]] = {}
        last = before
        for node in graph.members[b]:
            if node in kept:
                last = places[node] = kept[node]
                continue
            needed = [places[y] for y in (*graph.operands[node], *graph.control[node]) if y in places]
            last = places[node] = max(needed) if needed else last
            inserted.setdefault(last, []).append(node)
        rows = [_Row("+", -1, node) for node in inserted.get(before, ())]
        for node in graph.members[a]:
            rows += self._pair_rows(node, partner[node]) if node in partner else [_Row("-", node, -1)]
            rows += [_Row("+", -1, other) for other in inserted.get(node, ())]
        return rows

    def _pair_rows(self, left: int, right: int) -> list[_Row]:
        if self._has_changed(left, right):
            return [_Row("-", left, -1), _Row("+", -1, right)]
        return [_Row(" ", left, right)]

    def _has_changed(self, left: int, right: int) -> bool:
        """Whether the line of an instruction has changed; what the delta tells is not all, since it follows values through calls and tuples."""
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
        """Whether two instructions call other computations, or computations that async sugar stands for, and that differ."""
        graph = self.graph
        first, second = graph.calls.get(left, {}), graph.calls.get(right, {})
        if first.keys() != second.keys():
            return True
        for name, callees in first.items():
            if len(callees) != len(second[name]):
                return True
            for a, b in zip(callees, second[name], strict=True):
                if self._is_shown(a) or self._is_shown(b):
                    if self.computations.get(b) != a:
                        return True
                elif self._wrapped_differ(a, b) and self._line(left) != self._line(right):
                    return True
        return False

    def _wrapped_differ(self, a: int, b: int) -> bool:
        """Whether two computations that async sugar stands for differ."""
        graph = self.graph
        if graph.computations[a].execution_thread != graph.computations[b].execution_thread:
            return True
        first, second = graph.members[a], graph.members[b]
        if [graph.keys[node] for node in first] != [graph.keys[node] for node in second]:
            return True
        # It calls no other computation that sugar stands for: that is a wrapper, and nothing wraps one.
        called = [[c for node in members for callees in graph.calls.get(node, {}).values() for c in callees] for members in (first, second)]
        return called[0] != [self.computations.get(c) for c in called[1]]

    # ---- context --------------------------------------------------------------------------------------------------------

    def _needed(self, parts: Sequence[list[_Row]]) -> tuple[set[int], set[int]]:
        """The instructions and computations that changed lines refer to, as nodes and computations of the left module."""
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
        """The computations that the line of an instruction names, also those that the operation calls that sugar stands for."""
        graph = self.graph
        for callees in graph.calls.get(node, {}).values():
            for callee in callees:
                if self._is_shown(callee):
                    yield callee
                else:
                    yield from (c for member in graph.members[callee] for inner in graph.calls.get(member, {}).values() for c in inner)

    def _runs(self, rows: list[_Row], needed: set[int], root: int, *, is_needed: bool) -> Iterator[list[_Row]]:
        """The lines to show of a computation, divided where lines are left out after a change."""
        changed = [k for k, row in enumerate(rows) if row.sign != " "]
        shown = {k for k, row in enumerate(rows) if self.shows_all or row.left in needed or row.sign != " "} | {k - 1 for k in changed if k}
        sides = {row.sign for row in (rows[k] for k in shown)}
        if (shown or is_needed) and " " not in sides and sides != {"-", "+"}:
            # So that the computation can be found on both sides.
            shown |= {k for k, row in enumerate(rows) if row.left == root}
        part: list[_Row] = []
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

    # ---- references -----------------------------------------------------------------------------------------------------

    def _references(self, parts: Sequence[tuple[str, list[_Row]]]) -> list[Line]:
        """A fingerprint for each instruction that has to be found; of a computation that only one module has, the root is enough."""
        if not parts:
            return []
        graph = self.graph
        roots = set(graph.roots)
        left, right = fingerprints(self.left), fingerprints(self.right)
        lines = [Line("-", f"module {text_hash(self.left)}"), Line("+", f"module {text_hash(self.right)}")]
        for name, rows in parts:
            is_whole = rows[0].left == rows[0].right == -1
            for row in rows:
                if is_whole and max(row.left, row.right) not in roots:
                    continue
                own = f"{name} {self._own_name(row)}"
                first = left[graph.nodes[row.left]] if row.left >= 0 else None
                second = right[graph.nodes[row.right]] if row.right >= 0 else None
                if first is not None and first == second:
                    lines.append(Line(" ", f"{own} {first}"))
                    continue
                lines += [Line(sign, f"{own} {text}") for sign, text in (("-", first), ("+", second)) if text is not None]
        return lines

    def _own_name(self, row: _Row) -> str:
        nodes = self.graph.nodes
        return nodes[row.left].name if row.left >= 0 else self.instruction_names[nodes[row.right]] if row.right >= 0 else ""


def _no_body(computation: Computation, level: int) -> str:
    """Called computations are printed by their names only."""
    return computation.name
