"""Applies patches to modules: `hlotool.apply_patch` and `hlotool.Patch`.

Patch lines, adapted to the names in the module, replace lines of the module's text. Then the whole
text is parsed, so the result is always a module that the parser accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from hlotool.collection import no_garbage_collection
from hlotool.differ.patches.frames import FrameTables
from hlotool.differ.patches.line_names import Name, definition_of, replace_names
from hlotool.differ.patches.patch_content import ComputationPatch, PatchContent, PatchedLine, read_content
from hlotool.differ.patches.patch_lines import PATCH_PRINT, closing_line, opening_line
from hlotool.differ.patches.patch_text import PatchError, PatchSyntaxError
from hlotool.differ.patches.resolution import Reference, Resolution
from hlotool.errors import ParseError, Source
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.ir.names import NameTable
from hlotool.ir.order import sorted_by_dependencies
from hlotool.ir.walk import shown_computations
from hlotool.text.parse.parser import parse_source
from hlotool.text.print.instruction import InstructionWriter, OwnNames
from hlotool.text.print.printer import header_attributes

__all__ = ["Patch", "apply_patch"]

_MAX_SHOWN = 5
_HINT = "create the patch again from this module, or adapt the line to it"

Item = TypeVar("Item")


class Patch:
    """A patch that can be applied to modules.

    `text` is the text of the patch, `filename` is its name in messages, and `computations` holds
    the names of the computations that the patch changes.

    `Delta.to_patch` returns the text of a patch, and `hlotool diff --patch` prints it. An empty
    patch is false. Raises PatchError if the text is not a patch.

    >>> import hlotool
    >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> right = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] abs(p) }")
    >>> Patch(hlotool.diff(left, right).to_patch()).computations
    ('e',)
    """

    __slots__ = ("computations", "filename", "text")

    def __init__(self, text: str, filename: str = "<patch>") -> None:
        self.text = text
        self.filename = filename
        self.computations: tuple[str, ...] = tuple(read_content(text, filename, reverse=False).computations) if text.strip() else ()

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text.strip())

    def __repr__(self) -> str:
        return f"<patch of {', '.join(self.computations) or 'no computations'}>"


def apply_patch(module: Module, patch: str | Patch, *, reverse: bool = False, filename: str = "<patch>") -> Module:
    """Applies a patch to a module and returns the result; the module itself is not changed.

    `patch` is a Patch or the text of a patch; `filename` is the name of that text in messages. With
    `reverse`, the patch is undone. The names and the order of instructions may differ from those in
    the module that the patch was created from. If the names differ, existing instructions keep
    their names and new instructions get unused names. Raises PatchError if the module does not
    contain everything that the patch changes, or if the text is not a patch.

    >>> import hlotool
    >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> right = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] abs(p) }")
    >>> patch = hlotool.diff(left, right).to_patch()
    >>> other = hlotool.parse("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] negate(x) }")
    >>> apply_patch(other, patch).entry.instructions
    [<x = f32[] parameter>, <y = f32[] abs>]
    """
    text, filename = (patch.text, patch.filename) if isinstance(patch, Patch) else (patch, filename)
    if not text.strip():
        return _Application(module, PatchContent(filename)).result()
    with no_garbage_collection():
        try:
            return _Application(module, read_content(text, filename, reverse=reverse)).result()
        except PatchSyntaxError:
            raise
        except PatchError as error:
            fits, fits_undone = [_fits(module, read_content(text, filename, reverse=side)) for side in (reverse, not reverse)]
            if fits_undone and not fits:
                state = "reverted already: the module matches its original" if reverse else "applied already: the module matches its result"
                raise PatchError(f"{filename}: the patch seems to have been {state}") from error
            raise


def _fits(module: Module, content: PatchContent) -> bool:
    """Returns whether a module contains everything that a patch changes."""
    try:
        _Application(module, content)
    except PatchError:
        return False
    return True


class _Line(NamedTuple):
    """A line of the patched module.

    `number` is the line number in the patch, or 0 for a line from the original module. `name` is
    the name that the line defines; `operands` and `called` hold the names that it refers to.
    """

    text: str
    number: int = 0
    name: str = ""
    operands: tuple[str, ...] = ()
    called: tuple[str, ...] = ()


class _Names:
    """The names in the patched module.

    `instructions` and `computations` map the instructions and computations of the module to their
    final names. `patch_instructions` and `patch_computations` map names in the patch to final
    names; `patch_instructions` has one dictionary per computation.
    """

    def __init__(self, module: Module, content: PatchContent, resolution: Resolution) -> None:
        self.content = content
        self.resolution = resolution
        self.has_names = self._has_names()
        self.instructions = OwnNames()
        self.computations = OwnNames()
        self.patch_computations: dict[str, str] = {}
        self.patch_instructions: dict[str, dict[str, str]] = {}
        self._name_all(shown_computations(module))

    def _has_names(self) -> bool:
        """Returns whether the module has the names that the patch expects.

        If not, the renames in the patch are not applied.
        """
        references, homes = self.resolution.references, self.resolution.homes
        return all(
            x.name == references[key].expected_name and homes[x].name == references[key].expected_computation
            for key, x in self.resolution.instructions.items()
        )

    def _name_all(self, shown: Sequence[Computation]) -> None:
        changes, parts = self.content.names, self.content.computations
        patch_names = {c: name for name, c in self.resolution.computations.items()}
        if self.has_names:
            expected = changes.computations_of_patch()
            patch_names = {c: expected.get(c.name, c.name) for c in shown} | patch_names
        taken = NameTable()
        for computation in shown:
            name = patch_names.get(computation)
            if name is not None and name in parts and parts[name].is_deleted:
                continue
            new_name = changes.new_name(name) if self.has_names and name is not None else computation.name
            self.computations[computation] = taken.take(new_name)
            if name is not None and not (name in parts and parts[name].is_new):
                self.patch_computations[name] = self.computations[computation]
        for name, part in parts.items():
            if part.is_new:
                self.patch_computations[name] = taken.take(changes.new_name(name) if self.has_names else name)
                self._name_instructions(name, (), part, {})
        expected_instructions = changes.instructions_of_patch() if self.has_names else {}
        for computation, name in patch_names.items():
            expected_here = expected_instructions.get(name)
            part_here = parts.get(name)
            if (expected_here is None and part_here is None) or (part_here is not None and (part_here.is_new or part_here.is_deleted)):
                continue
            self._name_instructions(name, computation.instructions, part_here or ComputationPatch(), expected_here or {})

    def _name_instructions(self, computation: str, members: Sequence[Instruction], part: ComputationPatch, expected: Mapping[str, str]) -> None:
        changes, taken = self.content.names, NameTable()
        new = {line.name for line in part.lines if line.sign == "+"}
        old = {line.name for line in part.lines if line.sign == "-"}
        resolved = self.resolution.names_of_patch(computation)
        names = self.patch_instructions[computation] = {}
        for x in members:
            name = resolved.get(x)
            if name is not None and name in old and name not in new:
                continue
            if name is None and self.has_names:
                name = expected.get(x.name, x.name)
                name = None if name in new else name
            new_name = changes.new_name(computation, name) if self.has_names and name is not None else x.name
            self.instructions[x] = taken.take(new_name)
            if name is not None:
                names[name] = self.instructions[x]
        for line in part.lines:
            if line.sign == "+" and line.name and line.name not in names:
                names[line.name] = taken.take(changes.new_name(computation, line.name) if self.has_names else line.name)


class _Application:
    def __init__(self, module: Module, content: PatchContent) -> None:
        self.module = module
        self.content = content
        self.resolution = Resolution(module, content.references(), content.text_hash)
        self._check()
        self.names = _Names(module, content, self.resolution)
        self.frames = FrameTables(module)
        self.frame_numbers = self.frames.numbers_of(content.frames)
        self.header = self._header()
        self.writer = InstructionWriter(module, PATCH_PRINT, self.names.instructions, self.names.computations, None, lambda c, level: c.name)

    def _check(self) -> None:
        """Raises PatchError if the module does not contain everything that the patch changes."""
        missing = self.resolution.missing()
        if not missing:
            return
        messages = [self._missing_message(reference) for reference in missing[:_MAX_SHOWN]]
        if len(missing) > _MAX_SHOWN:
            messages.append(f"... and {len(missing) - _MAX_SHOWN} more")
        raise PatchError(*messages)

    def _missing_message(self, reference: Reference) -> str:
        x = self.resolution.nearest(reference)
        instead = f"the nearest is '{self.resolution.line(x)}'" if x is not None else "no instruction there is similar"
        location = f"{self.content.filename}:{reference.number}:1"
        where = f"in computation '{reference.expected_computation}'"
        return f"{location}: the patch does not apply: expected '{reference.line}' {where}, but {instead}; {_HINT}"

    def _error(self, number: int, column: int, message: str) -> PatchError:
        return PatchError(f"{self.content.filename}:{number}:{column}: {message}")

    # ---- the text of the result -----------------------------------------------------------------

    def result(self) -> Module:
        """Returns the patched module."""
        name = self.module.name
        change = self.content.names.module
        if change is not None and name == change[0]:
            name = change[1]
        lines = [_Line(", ".join([f"HloModule {name}", *(f"{key}={value}" for key, value in self.header.items())])), _Line("")]
        tables = self.frames.tables
        if tables is not None:
            lines.append(_Line(tables.text))
        for block in self._in_order([*self._blocks()]):
            lines += block
            lines.append(_Line(""))
        return self._parse(lines)

    def _parse(self, lines: Sequence[_Line]) -> Module:
        text = "".join([f"{line.text}\n" for line in lines])
        try:
            return parse_source(Source(text))
        except ParseError as error:
            raise self._parse_error(error, lines) from error

    def _parse_error(self, error: ParseError, lines: Sequence[_Line]) -> PatchError:
        """Returns the error for a result that does not parse; cites a patch line if possible."""
        diagnostic = error.diagnostics[0]
        at = 0
        for line in lines:
            at += 1 + line.text.count("\n")
            if at >= diagnostic.line:
                break
        hint = "; create the patch again from this module"
        if line.number:
            return self._error(line.number, diagnostic.column + 1, f"{diagnostic.message} [{diagnostic.code}]{hint}")
        return PatchError(f"{self.content.filename}: with the patch, the module does not parse: {diagnostic.message}, at '{line.text.strip()}'{hint}")

    def _header(self) -> dict[str, str]:
        """Returns the header attributes. Raises PatchError if the patch expects other values."""
        header = dict(header_attributes(self.module, PATCH_PRINT))
        for name, old, new, number in self.content.header:
            current = header.get(name)
            if current not in (old, new):
                expected, actual = (f"'{name}={text}'" if text is not None else f"no '{name}'" for text in (old, current))
                raise self._error(number, 1, f"the patch does not apply: expected {expected} in the header, but the module has {actual}; {_HINT}")
            if new is None:
                header.pop(name, None)
            else:
                header[name] = new
        return header

    def _blocks(self) -> Iterator[list[_Line]]:
        """Yields the lines of each computation of the result."""
        parts = self.content.computations
        for name, part in parts.items():
            if part.is_new:
                yield self._new_block(name, part)
        patch_names = {c: name for name, c in self.resolution.computations.items()}
        for computation in self.module.computations:
            name = patch_names.get(computation, "")
            changed = parts.get(name)
            if computation in self.module.hidden or (changed is not None and changed.is_deleted):
                continue
            yield self._block(computation, name, changed)

    def _new_block(self, name: str, part: ComputationPatch) -> list[_Line]:
        opening, *lines, closing = part.lines
        entry = "ENTRY " if opening.text.startswith("ENTRY ") else ""
        final = self.names.patch_computations[name]
        body = [self._adapt(name, line) for line in lines]
        return [_Line(f"{entry}%{final} {{", opening.number, final), *self._sort_lines(body), _Line(closing.text, closing.number)]

    def _block(self, computation: Computation, name: str, part: ComputationPatch | None) -> list[_Line]:
        final = self.names.computations[computation]
        opening = opening_line(final, is_entry=computation is self.module.entry)
        closing = _Line(closing_line(computation))
        lines = [*map(self._own_line, computation.instructions)]
        if part is not None:
            closing = next((_Line(line.text, line.number) for line in part.lines if line.sign == "+" and line.text.startswith("}")), closing)
            lines = self._merge(computation, lines, name, part)
        return [_Line(opening, 0, final), *self._sort_lines(lines), closing]

    def _own_line(self, x: Instruction) -> _Line:
        names, computations = self.names.instructions, self.names.computations
        text = f"  {self.writer.write(x, is_root=self.resolution.homes[x].root is x, level=0)}"
        before = x.operands if not x.attributes else (*x.operands, *x.control_predecessors)
        called = tuple([computations[c] for c in self._named_computations(x)]) if x.op.calls else ()
        return _Line(text, 0, names[x], tuple([names[y] for y in before]), called)

    def _named_computations(self, x: Instruction) -> Iterator[Computation]:
        """Yields the computations that the line of an instruction mentions."""
        hidden = self.module.hidden
        for computation in x.called:
            if computation in hidden:
                yield from (c for inner in computation.instructions for c in inner.called)
            else:
                yield computation

    def _merge(self, computation: Computation, own: Sequence[_Line], name: str, part: ComputationPatch) -> list[_Line]:
        """Merges the patch lines into a computation, each after its predecessor in the patch."""
        numbers = {x: number for number, x in enumerate(computation.instructions)}
        locations: dict[int, tuple[int, int]] = {}
        added: list[tuple[tuple[int, int], _Line]] = []
        gone: set[int] = set()
        last = (-1, 0)
        is_scheduled = self.header.get("is_scheduled") == "true"
        for line in part.lines:
            if not line.name:
                continue
            if line.sign == "+":
                counterpart = self.resolution.instructions.get((name, line.name)) if not is_scheduled else None
                last = (numbers[counterpart], len(added) + 1) if counterpart is not None else (last[0], len(added) + 1)
                added.append((last, self._adapt(name, line)))
                continue
            number = numbers[self.resolution.instructions[name, line.name]]
            if line.sign == "-":
                gone.add(number)
                last = max(last, (number, 0))
            elif is_scheduled and last > (number, 0):
                last = locations[number] = last[0], len(added) + 1
                added.append((last, own[number]))
                gone.add(number)
            else:
                last = number, 0
        kept = [((number, 0), line) for number, line in enumerate(own) if number not in gone]
        return [line for _, line in sorted([*kept, *added], key=lambda item: item[0])]

    def _adapt(self, computation: str, line: PatchedLine) -> _Line:
        """Returns a patch line, rewritten to use the names of the result."""
        names, computations = self.names.patch_instructions[computation], self.names.patch_computations
        definition = definition_of(line.text)
        assert definition is not None
        operands: list[str] = []
        called: list[str] = []

        def final(name: Name) -> str:
            if name.kind == "frame":
                return str(self.frame_numbers.get(int(name.text), name.text))
            known = names if name.kind == "instruction" else computations
            if name.text not in known:
                raise self._error(line.number, name.start + 2, f"the {name.kind} '%{name.text}' is neither in this patch nor in the module")
            (operands if name.kind == "instruction" else called).append(known[name.text])
            return known[name.text]

        rest = replace_names(line.text, definition.end, final)
        root = "ROOT " if definition.is_root else ""
        own = names[line.name]
        return _Line(f"  {root}%{own} = {rest}", line.number, own, tuple(operands), tuple(called))

    # ---- order ----------------------------------------------------------------------------------

    def _sort_lines(self, lines: list[_Line]) -> list[_Line]:
        """Returns the lines of a computation, each after its operands.

        If the lines are already in such an order, as in a schedule, none of them is moved.
        """
        by_name = {line.name: number for number, line in enumerate(lines)}
        return _in_order(lines, [[by_name[name] for name in line.operands if name in by_name] for line in lines])

    def _in_order(self, blocks: list[list[_Line]]) -> list[list[_Line]]:
        """Returns the computations, each after its callees."""
        by_name = {block[0].name: number for number, block in enumerate(blocks)}
        return _in_order(blocks, [[by_name[name] for line in block for name in line.called if name in by_name] for block in blocks])


def _in_order(items: list[Item], needed: Sequence[Sequence[int]]) -> list[Item]:
    if all(other < number for number, others in enumerate(needed) for other in others):
        return items
    try:
        return [items[number] for number in sorted_by_dependencies(range(len(items)), needed.__getitem__)]
    except ValueError:
        # The lines form a cycle, which the parser reports.
        return items
