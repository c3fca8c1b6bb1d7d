"""Resolves the lines of a patch to instructions of a module, even if names differ."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Container, Iterable
from typing import NamedTuple

from hlotool.differ.patches.fingerprints import fingerprints
from hlotool.differ.patches.fingerprints import text_hash as text_hash_of
from hlotool.differ.patches.line_names import definition_of, names_in, replace_names
from hlotool.differ.patches.patch_lines import PATCH_PRINT
from hlotool.errors import nearest
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.memo import cached_property
from hlotool.text.print.instruction import InstructionWriter
from hlotool.text.source.tokens import closing

__all__ = ["Reference", "Resolution"]

# The largest number of lines that are compared to find the nearest one for a message.
_MAX_COMPARED = 1000
# A value with more users than this does not help to find any of these users, and visiting all of
# them would take too long.
_MAX_USERS = 100
# The number that distinguishes instructions with the same fingerprint.
_NUMBER = re.compile(r"[0-9]+(?=/)")


class Reference(NamedTuple):
    """An instruction that a patch refers to.

    `computation` and `name` are names in the patch; the expected names are those in the module that
    the patch was created from. `line` is the instruction's line in the patch, and `number` is the
    number of that line.
    """

    computation: str
    name: str
    expected_name: str
    expected_computation: str
    fingerprint: str
    line: str
    number: int


class Resolution:
    """Finds the instructions of a module to which the references in a patch refer.

    In the module that the patch was created from (`text_hash` is the hash of its text), names
    identify the instructions. In other modules, fingerprints identify them, even if names differ.
    If a module has further changes, the fingerprints around these changes differ. A reference then
    refers to an instruction with the same name and line, an operand or a user of an instruction
    that has been found, or the only instruction with the same operands or the same users.
    """

    def __init__(self, module: Module, references: Iterable[Reference], text_hash: str = "") -> None:
        self.module = module
        self.references = {(reference.computation, reference.name): reference for reference in references}
        self.instructions: dict[tuple[str, str], Instruction] = {}
        self.computations: dict[str, Computation] = {}
        self.taken: set[Instruction] = set()
        self.homes = {x: c for c in module.computations for x in c.instructions}
        self._writer = InstructionWriter.with_own_names(module, PATCH_PRINT)
        self._resolve(text_hash)

    def missing(self) -> list[Reference]:
        """Returns the references for which no instruction was found."""
        return [reference for key, reference in self.references.items() if key not in self.instructions]

    def names_of_patch(self, computation: str) -> dict[Instruction, str]:
        """Maps the instructions found for a computation of the patch to their names in the patch."""
        return self._names.get(computation, {})

    @cached_property
    def _names(self) -> dict[str, dict[Instruction, str]]:
        names: dict[str, dict[Instruction, str]] = {}
        for (computation, name), x in self.instructions.items():
            names.setdefault(computation, {})[x] = name
        return names

    # ---- the steps ------------------------------------------------------------------------------

    def _resolve(self, text_hash: str) -> None:
        if not self.references:
            return
        if text_hash == text_hash_of(self.module):
            self._by_name(is_certain=True)
            self._settle_computations()
            return
        self._by_fingerprint()
        for step in (self._by_name, self._by_neighbors, self._by_half, self._by_neighbors):
            if len(self.instructions) < len(self.references):
                self._settle_computations()
                step()
        self._settle_computations()

    def _take(self, key: tuple[str, str], x: Instruction) -> bool:
        if key in self.instructions or x in self.taken or self.homes[x] in self.module.hidden:
            return False
        self.instructions[key] = x
        self.taken.add(x)
        return True

    def _settle_computations(self) -> None:
        """Matches computations by their instructions; drops instructions found in other ones."""
        votes: dict[str, Counter[Computation]] = {}
        for (name, _), x in self.instructions.items():
            votes.setdefault(name, Counter())[self.homes[x]] += 1
        used: set[Computation] = set()
        self.computations.clear()
        for name in sorted(votes, key=lambda name: -votes[name].total()):
            for computation, _ in votes[name].most_common():
                if computation not in used:
                    used.add(computation)
                    self.computations[name] = computation
                    break
        for key, x in [*self.instructions.items()]:
            if self.computations.get(key[0]) is not self.homes[x]:
                del self.instructions[key]
                self.taken.discard(x)

    def _by_fingerprint(self) -> None:
        """Finds instructions with the same fingerprint.

        If the fingerprints of several instructions in a computation differ only in the number,
        metadata distinguishes them.
        """
        by_fingerprint = {text: x for x, text in self._fingerprints.items()}
        numbered: dict[tuple[str, str], Instruction] = {}
        for key, reference in self.references.items():
            x = by_fingerprint.get(reference.fingerprint)
            if x is None:
                continue
            if _NUMBER.search(reference.fingerprint):
                numbered[key] = x
            else:
                self._take(key, x)
        if not numbered:
            return
        similar: dict[tuple[Computation, str], _Similar] = {}
        groups: dict[Instruction, _Similar] = {}
        for x, text in self._fingerprints.items():
            if _NUMBER.search(text):
                group = similar.setdefault((self.homes[x], _NUMBER.sub("", text)), _Similar())
                group.add(x, self.line(x))
                groups[x] = group
        # Unambiguous references come first: they lead to their neighbors, which may have no metadata
        # that distinguishes them.
        for key, x in sorted(numbered.items(), key=lambda item: groups[item[1]].count(self.references[item[0]].line)):
            if key not in self.instructions:
                meant = groups[x].choose(x, self.references[key].line, self.taken)
                if meant is not None and self._take(key, meant):
                    self._by_neighbors([key])

    def _by_name(self, *, is_certain: bool = False) -> None:
        """Finds instructions with the same name whose lines are the same except for names.

        With `is_certain`, lines do not matter.
        """
        by_name = {(c.name, x.name): x for c in self.module.computations for x in c.instructions}
        for key, reference in self.references.items():
            if key in self.instructions:
                continue
            computation = self.computations.get(reference.computation)
            home = reference.expected_computation if computation is None else computation.name
            x = by_name.get((home, reference.expected_name))
            if x is not None and (is_certain or self._has_line(x, reference)):
                self._take(key, x)

    def _by_neighbors(self, found: Iterable[tuple[str, str]] | None = None) -> None:
        """Finds operands and users of the instructions found so far.

        An operand must have the line of its reference; a user must also be the only user with that
        line. The search starts from the instructions in `found`, or by default from all
        instructions found so far.
        """
        operands, users = self._operands_of_references, self._users_of_references
        queue = [*(self.instructions if found is None else found)]
        while queue:
            key = queue.pop()
            x = self.instructions[key]
            for name, operand in zip(operands[key], x.operands, strict=False):
                other = key[0], name
                if other in self.references and self._has_line(operand, self.references[other]) and self._take(other, operand):
                    queue.append(other)
            for other, position in users.get(key, ()):
                if other in self.instructions:
                    continue
                users_here = self._users.get(x, ())
                if len(users_here) > _MAX_USERS:
                    continue
                similar = [y for y, k in users_here if k == position and y not in self.taken and self._has_line(y, self.references[other])]
                if len(similar) == 1 and self._take(other, similar[0]):
                    queue.append(other)

    def _by_half(self) -> None:
        """Finds instructions that are the only ones with the same operands or the same users."""
        halves: tuple[dict[str, list[Instruction]], dict[str, list[Instruction]]] = ({}, {})
        for x, text in self._fingerprints.items():
            for half, part in zip(halves, text.split(".")[:2], strict=True):
                half.setdefault(part, []).append(x)
        for key, reference in self.references.items():
            for half, part in zip(halves, reference.fingerprint.split("."), strict=False):
                similar = half.get(part, ())
                if len(similar) == 1 and self._has_line(similar[0], reference):
                    self._take(key, similar[0])

    # ---- lines ----------------------------------------------------------------------------------

    @cached_property
    def _fingerprints(self) -> dict[Instruction, str]:
        return fingerprints(self.module)

    @cached_property
    def _operands_of_references(self) -> dict[tuple[str, str], list[str]]:
        return {key: [*_operands(reference.line)] for key, reference in self.references.items()}

    @cached_property
    def _users_of_references(self) -> dict[tuple[str, str], list[tuple[tuple[str, str], int]]]:
        users: dict[tuple[str, str], list[tuple[tuple[str, str], int]]] = {}
        for key, names in self._operands_of_references.items():
            for position, name in enumerate(names):
                users.setdefault((key[0], name), []).append((key, position))
        return users

    @cached_property
    def _users(self) -> dict[Instruction, list[tuple[Instruction, int]]]:
        users: dict[Instruction, list[tuple[Instruction, int]]] = {}
        for x in self.module.all_instructions():
            for position, operand in enumerate(x.operands):
                users.setdefault(operand, []).append((x, position))
        return users

    def _has_line(self, x: Instruction, reference: Reference) -> bool:
        """Returns whether an instruction has a reference's line, except for names and metadata."""
        return _nameless(self.line(x)) == self._nameless_references[reference.computation, reference.name]

    @cached_property
    def _nameless_references(self) -> dict[tuple[str, str], str]:
        return {key: _nameless(reference.line) for key, reference in self.references.items()}

    def line(self, x: Instruction) -> str:
        return self._writer.write(x, is_root=self.homes[x].root is x, level=0)

    def nearest(self, reference: Reference) -> Instruction | None:
        """Returns the instruction to which an unresolved reference most probably refers, if any."""
        computation = self.computations.get(reference.computation)
        if computation is None:
            computation = next((c for c in self.module.computations if c.name == reference.expected_computation), self.module.entry)
        shown = {x.name: x for x in computation.instructions}
        if reference.expected_name in shown:
            return shown[reference.expected_name]
        lines = {_nameless(self.line(x)): x for x in computation.instructions if x not in self.taken}
        meant = nearest(_nameless(reference.line), [*lines][:_MAX_COMPARED])
        by_lower = {line.lower(): x for line, x in lines.items()}
        return by_lower.get(meant.lower()) if meant is not None else None


class _Similar:
    """Instructions whose fingerprints differ only in the number, grouped by metadata."""

    def __init__(self) -> None:
        self._metadata: dict[Instruction, str] = {}
        self._with_metadata: dict[str, deque[Instruction]] = {}
        self._counts = Counter[str]()

    def add(self, x: Instruction, line: str) -> None:
        metadata = self._metadata[x] = _metadata_in(line)
        self._with_metadata.setdefault(metadata, deque()).append(x)
        self._counts[metadata] += 1

    def count(self, line: str) -> int:
        """Counts the instructions with the metadata in a line; counts all if there are none."""
        return self._counts[_metadata_in(line)] or len(self._metadata)

    def choose(self, numbered: Instruction, line: str, taken: Container[Instruction]) -> Instruction | None:
        """Returns an instruction that is not taken and has the metadata in a line.

        Prefers `numbered`. If there is no such instruction, returns `numbered`, or None if it is
        taken.
        """
        metadata = _metadata_in(line)
        others = self._with_metadata.get(metadata, deque())
        while others and others[0] in taken:
            others.popleft()
        if numbered not in taken and (self._metadata[numbered] == metadata or not others):
            return numbered
        return others[0] if others else None


def _metadata_in(line: str) -> str:
    start = line.find(", metadata={")
    return line[start : closing(line, start + len(", metadata="))] if start >= 0 else ""


def _operands(line: str) -> Iterable[str]:
    """Yields the names of the operands in a line, in order."""
    definition = definition_of(line)
    assert definition is not None
    end = line.find("control-predecessors={")
    for name in names_in(line, definition.end):
        if name.kind == "instruction" and (end < 0 or name.start < end):
            yield name.text


def _nameless(line: str) -> str:
    """Returns a line without names and metadata."""
    line = line.replace(_metadata_in(line), "")
    definition = definition_of(line)
    root = "ROOT " if definition is not None and definition.is_root else ""
    return root + replace_names(line, definition.end if definition is not None else 0, lambda name: "")
