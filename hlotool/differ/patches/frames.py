"""Stack frames in patches: writes, reads and renumbers the frames that patch lines refer to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.ir.model import Module
from hlotool.record import Record
from hlotool.shapes.metadata import FileLocation, StackFrame, StackTables
from hlotool.shapes.strings import quote, unescape

__all__ = ["Frame", "FrameTables", "frame_lines", "read_frame"]

_STRING = r'"((?:[^"\\]|\\.)*)"'
_INT = r"(-?[0-9]{1,18})"
_FRAME = re.compile(rf"([0-9]{{1,18}}) called from {_INT}: {_STRING} in {_STRING}, {_INT}:{_INT} to {_INT}:{_INT}")


class Frame(Record):
    """A stack frame; `caller` is the number of its caller's frame, or 0 if there is none."""

    caller: int
    file_name: str
    function_name: str
    line: int
    column: int
    end_line: int
    end_column: int


def frame_lines(module: Module, numbers: set[int]) -> Iterator[str]:
    """Yields the patch lines for the given frames of a module and for all their callers."""
    tables = FrameTables(module)
    for number in sorted(tables.with_callers(numbers)):
        frame = tables.frame(number)
        if frame is not None:
            location = f"{frame.line}:{frame.column} to {frame.end_line}:{frame.end_column}"
            yield f"{number} called from {frame.caller}: {quote(frame.file_name)} in {quote(frame.function_name)}, {location}"


def read_frame(text: str) -> tuple[int, Frame] | None:
    """Reads a frame and its number from a patch line; returns None for any other line.

    >>> read_frame('3 called from 1: "model.py" in "step", 4:1 to 4:9')
    (3, Frame(caller=1, file_name='model.py', function_name='step', line=4, column=1, end_line=4, end_column=9))
    """
    match = _FRAME.fullmatch(text)
    if match is None:
        return None
    try:
        names = unescape(match[3]), unescape(match[4])
    except ValueError:
        return None
    return int(match[1]), Frame(int(match[2]), *names, *map(int, match.groups()[4:]))


class FrameTables:
    """The stack frame tables of a module, as a copy to which frames can be added."""

    def __init__(self, module: Module) -> None:
        tables = module.stack_tables or StackTables((), (), (), ())
        self._has_tables = module.stack_tables is not None
        self._file_names = list(tables.file_names)
        self._function_names = list(tables.function_names)
        self._locations = list(tables.file_locations)
        self._frames = list(tables.stack_frames)
        self._file_rows = {name: number for number, name in enumerate(self._file_names, 1)}
        self._function_rows = {name: number for number, name in enumerate(self._function_names, 1)}
        self._numbers: dict[tuple[int, Frame], int] | None = None

    @property
    def tables(self) -> StackTables | None:
        """The tables, or None if there are none."""
        if not self._has_tables and not self._frames:
            return None
        return StackTables(tuple(self._file_names), tuple(self._function_names), tuple(self._locations), tuple(self._frames))

    def frame(self, number: int) -> Frame | None:
        """Returns a frame by its number, or None if it is not in the tables."""
        if not 0 < number <= len(self._frames):
            return None
        row = self._frames[number - 1]
        if not 0 < row.file_location_id <= len(self._locations):
            return None
        location = self._locations[row.file_location_id - 1]
        names = _entry(self._file_names, location.file_name_id), _entry(self._function_names, location.function_name_id)
        return Frame(max(row.parent_frame_id - 1, 0), *names, location.line, location.column, location.end_line, location.end_column)

    def with_callers(self, numbers: set[int]) -> set[int]:
        """Returns the numbers of frames together with those of all their callers."""
        result: set[int] = set()
        for number in numbers:
            while number not in result:
                frame = self.frame(number)
                if frame is None:
                    break
                result.add(number)
                number = frame.caller
        return result

    def numbers_of(self, frames: dict[int, Frame]) -> dict[int, int]:
        """Maps another module's frame numbers to numbers in these tables, adding missing frames."""
        numbers: dict[int, int] = {0: 0}
        for start in frames:
            chain: dict[int, None] = {}
            at = start
            while at not in numbers and at in frames and at not in chain:
                chain[at] = None
                at = frames[at].caller
            for number in reversed(chain):
                frame = frames[number]
                numbers[number] = self._number_of(frame, numbers.get(frame.caller, 0))
        return numbers

    def _number_of(self, frame: Frame, caller: int) -> int:
        if self._numbers is None:
            self._numbers = {}
            for number in range(len(self._frames), 0, -1):
                own = self.frame(number)
                if own is not None:
                    self._numbers[own.caller, _without_caller(own)] = number
        key = caller, _without_caller(frame)
        if key not in self._numbers:
            file_name = _row(frame.file_name, self._file_names, self._file_rows)
            function_name = _row(frame.function_name, self._function_names, self._function_rows)
            self._locations.append(FileLocation(file_name, function_name, frame.line, frame.end_line, frame.column, frame.end_column))
            self._frames.append(StackFrame(len(self._locations), caller + 1))
            self._numbers[key] = len(self._frames)
        return self._numbers[key]


def _without_caller(frame: Frame) -> Frame:
    return Frame(0, frame.file_name, frame.function_name, frame.line, frame.column, frame.end_line, frame.end_column)


def _entry(names: list[str], number: int) -> str:
    return names[number - 1] if 0 < number <= len(names) else ""


def _row(name: str, names: list[str], rows: dict[str, int]) -> int:
    """Returns the number of a name, adding the name if it is missing."""
    if name not in rows:
        names.append(name)
        rows[name] = len(names)
    return rows[name]
