"""The content of a patch, read in one of its two directions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from hlotool.differ.patches.frames import Frame, read_frame
from hlotool.differ.patches.line_names import definition_of
from hlotool.differ.patches.patch_text import COMPUTATION, FRAMES, HEADER, NAMES, REFERENCES, Hunk, Line, PatchSyntaxError, read_patch
from hlotool.differ.patches.resolution import Reference
from hlotool.text.source.tokens import NAME

__all__ = ["ComputationPatch", "HeaderChange", "NameChanges", "PatchContent", "PatchedLine", "read_content"]

_OPENING = re.compile(rf"(?:ENTRY )?+%({NAME}) \{{")
_CLOSING = re.compile(r'\}(?:, execution_thread="[^"\\\n]*")?')
_ATTRIBUTE = re.compile(rf"({NAME})=(.+)", re.DOTALL)
_RENAMED = re.compile(rf"HloModule (?P<module>{NAME})|%(?P<computation>{NAME})(?: %(?P<instruction>{NAME}))?")
_REFERENCE = re.compile(rf"({NAME}) ({NAME}) ([0-9a-f]+\.[0-9a-f]+(?:\.[0-9]+/[0-9]+)?)|module ([0-9a-f]+)")
_REVERSED = {"-": "+", "+": "-", " ": " "}


class HeaderChange(NamedTuple):
    """A change to a header attribute.

    `old` and `new` are the values as text, or None if the attribute is absent. `number` is the
    line number in the patch at which the change starts.
    """

    name: str
    old: str | None
    new: str | None
    number: int


class PatchedLine(NamedTuple):
    """A line of a computation.

    `name` is the name of the instruction that the line defines, or empty for opening and closing
    lines.
    """

    sign: str
    text: str
    name: str
    number: int


class ComputationPatch:
    """The patch lines for one computation."""

    def __init__(self) -> None:
        self.lines: list[PatchedLine] = []

    @property
    def is_new(self) -> bool:
        """True if the patch adds the computation."""
        return self.lines[0].sign == "+" and _OPENING.fullmatch(self.lines[0].text) is not None

    @property
    def is_deleted(self) -> bool:
        """True if the patch removes the computation."""
        return self.lines[0].sign == "-" and _OPENING.fullmatch(self.lines[0].text) is not None


class NameChanges:
    """The old and new names of instructions and computations.

    They are listed only if they differ from the names in the patch. Each key consists of the names
    of a computation and of an instruction in the patch. For the computation itself, the name of the
    instruction is empty.
    """

    def __init__(self) -> None:
        self.module: tuple[str, str] | None = None
        self.before: dict[tuple[str, str], str] = {}
        self.after: dict[tuple[str, str], str] = {}

    def old_name(self, computation: str, instruction: str = "") -> str:
        """Returns the old name of a computation or an instruction, given its name in the patch."""
        return self.before.get((computation, instruction), instruction or computation)

    def new_name(self, computation: str, instruction: str = "") -> str:
        """Returns the new name of a computation or an instruction, given its name in the patch."""
        return self.after.get((computation, instruction), instruction or computation)

    def computations_of_patch(self) -> dict[str, str]:
        """Maps the old names of computations to their names in the patch, if the two differ."""
        return {name: computation for (computation, instruction), name in self.before.items() if not instruction}

    def instructions_of_patch(self) -> dict[str, dict[str, str]]:
        """Maps the old names of instructions to their names in the patch, for each computation.

        A computation is included if the old or new name of any instruction differs from its name in
        the patch.
        """
        result: dict[str, dict[str, str]] = {}
        for computation, instruction in self.after:
            if instruction:
                result.setdefault(computation, {})
        for (computation, instruction), name in self.before.items():
            if instruction:
                result.setdefault(computation, {})[name] = instruction
        return result


class PatchContent:
    """The content of a patch in one direction: `-` lines are old, `+` lines are new."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.header: list[HeaderChange] = []
        self.frames: dict[int, Frame] = {}
        self.computations: dict[str, ComputationPatch] = {}
        self.names = NameChanges()
        self.fingerprints: dict[tuple[str, str], str] = {}
        # The hash of the old module's text.
        self.text_hash = ""

    def references(self) -> Iterator[Reference]:
        """Yields the instructions that the module must contain: deleted instructions and context.

        For a deleted computation, the root is enough.
        """
        for name, part in self.computations.items():
            for line in part.lines:
                if line.sign == "+" or not line.name:
                    continue
                definition = definition_of(line.text)
                if part.is_deleted and not (definition is not None and definition.is_root):
                    continue
                fingerprint = self.fingerprints.get((name, line.name), "")
                names = self.names
                yield Reference(
                    name, line.name, names.old_name(name, line.name), names.old_name(name), fingerprint, line.text.removeprefix("  "), line.number
                )


def read_content(text: str, filename: str, *, reverse: bool) -> PatchContent:
    """Reads a patch in one of its directions.

    Raises PatchSyntaxError, with line and column, if the text is not a patch.
    """
    reader = _ContentReader(filename, reverse=reverse)
    for hunk in read_patch(text, filename):
        reader.read(hunk)
    for part in reader.content.computations.values():
        reader.check(part)
    return reader.content


class _ContentReader:
    def __init__(self, filename: str, *, reverse: bool) -> None:
        self.content = PatchContent(filename)
        self.is_reverse = reverse

    def read(self, hunk: Hunk) -> None:
        lines = [line._replace(sign=_REVERSED[line.sign]) for line in hunk.lines] if self.is_reverse else hunk.lines
        if hunk.title == COMPUTATION:
            self._computation(hunk.computation, lines)
        elif hunk.title == HEADER:
            self._header(lines)
        elif hunk.title == FRAMES:
            self._frames(lines)
        elif hunk.title == NAMES:
            # This hunk is not reversed: names always change from those in the patch to those of the
            # right module.
            self._names(hunk.lines)
        elif hunk.title == REFERENCES:
            self._references(lines)

    def error(self, line: Line | PatchedLine, expected: str, column: int = 2) -> PatchSyntaxError:
        return PatchSyntaxError(f"{self.content.filename}:{line.number}:{column}: expected {expected}, but found '{line.text[:60]}'")

    def fault(self, line: Line, message: str) -> PatchSyntaxError:
        return PatchSyntaxError(f"{self.content.filename}:{line.number}:2: {message}")

    def _header(self, lines: Sequence[Line]) -> None:
        changes: dict[str, HeaderChange] = {}
        for line in lines:
            match = _ATTRIBUTE.fullmatch(line.text)
            if match is None or line.sign == " ":
                raise self.error(line, "a changed attribute of the header, NAME=VALUE", 1 if line.sign == " " else 2)
            name, value = match.groups()
            change = changes.setdefault(name, HeaderChange(name, None, None, line.number))
            if (change.old if line.sign == "-" else change.new) is not None:
                raise self.fault(line, f"'{name}' occurs on two '{line.sign}' lines")
            changes[name] = change._replace(old=value) if line.sign == "-" else change._replace(new=value)
        self.content.header += changes.values()

    def _frames(self, lines: Sequence[Line]) -> None:
        for line in lines:
            row = read_frame(line.text)
            if row is None:
                raise self.error(line, 'a stack frame, such as \'2 called from 1: "model.py" in "step", 4:1 to 4:9\'')
            if line.sign != "-":
                self.content.frames[row[0]] = row[1]

    def _computation(self, name: str, lines: Sequence[Line]) -> None:
        part = self.content.computations.setdefault(name, ComputationPatch())
        seen = {(line.sign == "+", line.name) for line in part.lines if line.name} | {
            (line.sign != "-", line.name) for line in part.lines if line.name
        }
        for line in lines:
            definition = definition_of(line.text)
            if definition is None and _OPENING.fullmatch(line.text) is None and _CLOSING.fullmatch(line.text) is None:
                raise self.error(line, "an instruction, such as '%n = f32[] negate(%p)', with a percent sign before each name")
            own = definition.name if definition is not None else ""
            for side in {line.sign == "+", line.sign != "-"} if own else ():
                if (side, own) in seen:
                    raise self.fault(line, f"'%{own}' occurs twice in the computation")
                seen.add((side, own))
            part.lines.append(PatchedLine(line.sign, line.text, own, line.number))
        if not part.lines:
            del self.content.computations[name]

    def check(self, part: ComputationPatch) -> None:
        """Raises PatchSyntaxError unless an added or removed computation is complete."""
        is_whole = part.is_new or part.is_deleted
        for number, line in enumerate(part.lines):
            is_last = number == len(part.lines) - 1
            if not line.name and line.text.endswith("{") and number:
                raise self.error(line, "an instruction")
            if is_whole and line.sign != part.lines[0].sign:
                raise self.error(line, f"'{part.lines[0].sign}' at the start of the line, as on the other lines of this computation", 1)
            if is_whole and number and bool(line.name) == is_last:
                raise self.error(line, "'}' at the end of the computation" if is_last else "an instruction")
        if is_whole and len(part.lines) == 1:
            raise self.error(part.lines[0], "a whole computation, not only its first line")

    def _names(self, lines: Sequence[Line]) -> None:
        if len(lines) % 2:
            raise self.error(lines[-1], "alternating old and new names, in lines with '-' and '+'")
        names = self.content.names
        for line, following in [*pairwise(lines)][::2]:
            old, new = _RENAMED.fullmatch(line.text), _RENAMED.fullmatch(following.text)
            if old is None or line.sign != "-":
                raise self.error(line, "'-HloModule NAME', '-%COMPUTATION' or '-%COMPUTATION %INSTRUCTION'", 1)
            if new is None or following.sign != "+" or old.lastgroup != new.lastgroup:
                raise self.error(following, f"the new name of '{line.text}', in a similar line with '+'", 1)
            if old["module"] is not None:
                names.module = (new["module"], old["module"]) if self.is_reverse else (old["module"], new["module"])
                continue
            key = old["computation"], old["instruction"] or ""
            (names.before if self.is_reverse else names.after)[key] = new["instruction"] or new["computation"]

    def _references(self, lines: Sequence[Line]) -> None:
        for line in lines:
            match = _REFERENCE.fullmatch(line.text)
            if match is None:
                raise self.error(line, "'module HASH' or 'COMPUTATION INSTRUCTION FINGERPRINT'")
            if line.sign == "+":
                continue
            if match[4] is not None:
                self.content.text_hash = match[4]
            else:
                self.content.fingerprints[match[1], match[2]] = match[3]
