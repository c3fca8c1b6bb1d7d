"""Builds the patch of a difference: the text that `apply.py` applies.

The lines of a patch use the names of the left module. Additions from the right module get names
that the left module does not use. So a line of the patch has the same meaning whether or not names
change; name changes form a separate hunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.collection import no_garbage_collection
from hlotool.differ.difference import ModuleDifference
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.patches.fingerprints import fingerprints, text_hash
from hlotool.differ.patches.frames import frame_lines
from hlotool.differ.patches.line_names import names_in
from hlotool.differ.patches.patch_lines import PATCH_PRINT, opening_line
from hlotool.differ.patches.patch_rows import PatchRows, Row
from hlotool.differ.patches.patch_text import COMPUTATION, FRAMES, HEADER, NAMES, REFERENCES, Hunk, Line, write_patch
from hlotool.ir.model import Computation
from hlotool.ir.names import NameTable
from hlotool.text.print.instruction import InstructionWriter, OwnNames
from hlotool.text.print.printer import header_attributes

__all__ = ["patch_of"]


def patch_of(delta: ModuleDifference, left_name: str = "a", right_name: str = "b") -> str:
    """Returns the patch that turns the left module of a difference into the right one.

    The patch is empty if nothing differs. `left_name` and `right_name` are the file names in its
    first lines. The patch leaves out ignored differences, but the new line of a changed instruction
    is always complete.

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
        return "".join(write_patch(_PatchBuilder(delta).hunks(), left_name, right_name))


class _PatchBuilder:
    def __init__(self, delta: ModuleDifference) -> None:
        self.delta = delta
        self.graph: Graph = delta.graph
        self.left, self.right = delta.left, delta.right
        self.rows = PatchRows(delta, self._line)
        self.computations, self.kept, self._is_shown = self.rows.computations, self.rows.kept, self.rows.is_shown
        self.instruction_names = OwnNames()
        self.computation_names = OwnNames()
        self._name()
        self.writers = (
            InstructionWriter(self.left, PATCH_PRINT, OwnNames(), OwnNames(), None, _no_body),
            InstructionWriter(self.right, PATCH_PRINT, self.instruction_names, self.computation_names, None, _no_body),
        )

    # ---- names ----------------------------------------------------------------------------------

    def _name(self) -> None:
        """Chooses names in the patch for the shown computations and instructions on the right."""
        graph = self.graph
        shown = [b for b in range(graph.computation_split, len(graph.computations)) if self._is_shown(b)]
        taken = NameTable()
        # The names of deleted computations are also taken: these computations have their own hunks.
        for a in range(graph.computation_split):
            if self._is_shown(a):
                taken.add(graph.computations[a].name)
        for b in shown:
            if b in self.computations:
                self.computation_names[graph.computations[b]] = graph.computations[self.computations[b]].name
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

    # ---- hunks ----------------------------------------------------------------------------------

    def hunks(self) -> list[Hunk]:
        parts = [(self._computation_name(computation), rows) for computation, rows in self.rows.parts()]
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
        """Returns whether shapes in the entry's signature change, apart from layouts."""
        shapes = [module.entry.program_shape for module in (self.left, self.right)]
        first, second = [[part.text_without_layout for part in (*shape.parameters, shape.result)] for shape in shapes]
        return first != second

    def _frames(self, parts: Sequence[tuple[str, list[Row]]]) -> Iterator[Line]:
        numbers: tuple[set[int], set[int]] = (set(), set())
        for _, rows in parts:
            for row in rows:
                if row.sign != " " and max(row.left, row.right) >= 0:
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

    def _text(self, row: Row) -> str:
        if row.text:
            return row.text
        if row.opens >= 0:
            computation = self.graph.computations[row.opens]
            return opening_line(self._computation_name(row.opens), is_entry=computation in (self.left.entry, self.right.entry))
        node = row.left if row.left >= 0 else row.right
        return self._line(node)

    def _line(self, node: int) -> str:
        graph = self.graph
        x = graph.nodes[node]
        writer = self.writers[node >= graph.split]
        return f"  {writer.write(x, is_root=graph.roots[graph.home[node]] == node, level=0)}"

    def _computation_name(self, computation: int) -> str:
        graph = self.graph
        x = graph.computations[computation]
        return x.name if computation < graph.computation_split else self.computation_names[x]

    # ---- references -----------------------------------------------------------------------------

    def _references(self, parts: Sequence[tuple[str, list[Row]]]) -> list[Line]:
        """Returns lines with a fingerprint for each instruction that has to be found.

        If only one module has a computation, the fingerprint of its root is enough.
        """
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

    def _own_name(self, row: Row) -> str:
        nodes = self.graph.nodes
        return nodes[row.left].name if row.left >= 0 else self.instruction_names[nodes[row.right]] if row.right >= 0 else ""


def _no_body(computation: Computation, level: int) -> str:
    """Returns the name of a called computation, whose body is not printed."""
    return computation.name
