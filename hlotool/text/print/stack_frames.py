"""Stack frames as XLA prints them.

Only frames that instructions use are printed. Duplicates are removed, and the frames are renumbered
in the order of their first use.
"""

from __future__ import annotations

import re

from hlotool.ir.model import Module
from hlotool.shapes.metadata import FileLocation, Metadata, StackFrame, StackTables

__all__ = ["FRAME_ID", "RenumberedFrames", "innermost_location", "source_line"]

FRAME_ID = re.compile(r"(?<=[{ ])stack_frame_id=(-?[0-9]+)")


class RenumberedFrames:
    """New numbers for the stack frames of a module, assigned on first use, and the new tables."""

    def __init__(self, module: Module) -> None:
        self._tables = module.stack_tables
        self._new: dict[int, int] = {}
        self._files: dict[str, int] = {}
        self._functions: dict[str, int] = {}
        self._locations: dict[FileLocation, int] = {}
        self._frames: dict[StackFrame, int] = {}
        for x in module.all_instructions():
            if x.metadata_text is not None and "stack_frame_id=" in x.metadata_text:
                frame_id = FRAME_ID.search(x.metadata_text)
                if frame_id is not None:
                    self.number(int(frame_id[1]))

    def number(self, frame_id: int) -> int:
        """Returns the new number of a frame, or 0 if it is not in the tables.

        Callers of the frame get numbers first.
        """
        if frame_id not in self._new:
            chain: list[int] = []
            at = frame_id
            while at and at not in self._new and self._row(at) is not None and at not in chain:
                chain.append(at)
                row = self._row(at)
                at = row.parent_frame_id - 1 if row is not None else 0
            for k in reversed(chain):
                self._new[k] = self._intern(k)
            self._new.setdefault(frame_id, 0)
        return self._new[frame_id]

    def _row(self, frame_id: int) -> StackFrame | None:
        frames = self._tables.stack_frames if self._tables is not None else ()
        return frames[frame_id - 1] if 0 < frame_id <= len(frames) else None

    def _intern(self, frame_id: int) -> int:
        row = self._row(frame_id)
        tables = self._tables
        assert row is not None
        assert tables is not None
        if not 0 < row.file_location_id <= len(tables.file_locations):
            return 0
        old = tables.file_locations[row.file_location_id - 1]
        file_name = _entry(tables.file_names, old.file_name_id)
        function_name = _entry(tables.function_names, old.function_name_id)
        location = FileLocation(
            self._files.setdefault(file_name, len(self._files) + 1),
            self._functions.setdefault(function_name, len(self._functions) + 1),
            old.line,
            old.end_line,
            old.column,
            old.end_column,
        )
        location_id = self._locations.setdefault(location, len(self._locations) + 1)
        parent = self._new.get(row.parent_frame_id - 1, 0)
        return self._frames.setdefault(StackFrame(location_id, parent + 1), len(self._frames) + 1)

    @property
    def tables(self) -> StackTables | None:
        """The tables to print, or None if no frame is used."""
        if not self._frames:
            return None
        return StackTables(tuple(self._files), tuple(self._functions), tuple(self._locations), tuple(self._frames))


def _entry(names: tuple[str, ...], number: int) -> str:
    return names[number - 1] if 0 < number <= len(names) else ""


def innermost_location(tables: StackTables | None, frame_id: int) -> tuple[str, FileLocation] | None:
    """Returns the file name and location of a frame, or None if it is not in the tables."""
    if tables is None or not 0 < frame_id <= len(tables.stack_frames):
        return None
    number = tables.stack_frames[frame_id - 1].file_location_id
    if not 0 < number <= len(tables.file_locations):
        return None
    location = tables.file_locations[number - 1]
    return _entry(tables.file_names, location.file_name_id), location


def source_line(metadata: Metadata | None, tables: StackTables | None) -> tuple[str, int]:
    """Returns the file and line in the metadata, or else those of its stack frame in the tables.

    Returns `("", 0)` if the metadata has neither.
    """
    if metadata is None:
        return "", 0
    if metadata.source_file or not metadata.stack_frame_id:
        return metadata.source_file, metadata.source_line
    location = innermost_location(tables, metadata.stack_frame_id)
    return ("", 0) if location is None else (location[0], location[1].line)
