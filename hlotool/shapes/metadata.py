"""The origin of instructions in a program: `metadata={...}` and the stack frame tables.

Metadata and tables are stored as canonical text and decoded on demand. The regular expressions here
read only the canonical form.
"""

from __future__ import annotations

import re

from hlotool.record import Record
from hlotool.shapes.strings import quote, unescape

__all__ = ["FileLocation", "Metadata", "StackFrame", "StackTables", "decode_metadata", "decode_stack_tables"]


class Metadata(Record):
    """The fields of XLA's OpMetadata in printed order.

    A field that is zero or empty is absent, except for the payload, which may be empty.
    """

    op_type: str = ""
    op_name: str = ""
    source_file: str = ""
    source_line: int = 0
    source_end_line: int = 0
    source_column: int = 0
    source_end_column: int = 0
    profile_type: tuple[int, ...] = ()
    deduplicated_name: str = ""
    scheduling_name: str = ""
    stack_frame_id: int = 0
    metadata_payload: str | None = None

    @property
    def text(self) -> str:
        """The canonical text: `{op_name="x" source_line=3}`."""
        return "{" + " ".join(self._parts()) + "}"

    def _parts(self) -> list[str]:
        parts = []
        for name in type(self)._fields:
            value = getattr(self, name)
            if not value and (value is None or name != "metadata_payload"):
                continue
            if isinstance(value, tuple):
                parts.append(f"{name}={{{','.join(map(str, value))}}}")
            elif isinstance(value, int):
                parts.append(f"{name}={value}")
            else:
                parts.append(f"{name}={quote(value)}")
        return parts

    @property
    def is_printed_by_xla(self) -> bool:
        """True if XLA prints the metadata; XLA drops metadata that has none of the fields below."""
        return bool(
            self.op_type or self.op_name or self.source_file or self.scheduling_name or self.stack_frame_id or self.metadata_payload is not None
        )


_FIELD = re.compile(r'([a-z_]++)=(?:"((?:[^"\\]++|\\.)*+)"|\{([0-9,]*+)\}|(-?[0-9]++))')


def decode_metadata(text: str) -> Metadata:
    """Decodes the canonical text of metadata.

    >>> decode_metadata('{op_name="a/b" source_line=3}').source_line
    3
    """
    values: dict[str, str | int | tuple[int, ...]] = {}
    for name, string, numbers, number in _FIELD.findall(text):
        if number:
            values[name] = int(number)
        elif numbers:
            values[name] = tuple(map(int, numbers.split(",")))
        else:
            values[name] = unescape(string)
    return Metadata(**values)  # type: ignore[arg-type]


class FileLocation(Record):
    """A range of lines and columns in a file and a function, which are given by their row numbers."""

    file_name_id: int
    function_name_id: int
    line: int
    end_line: int
    column: int
    end_column: int


class StackFrame(Record):
    """A call site.

    `parent_frame_id` is the number in the text: the row number of the caller's frame plus one, or 1
    if there is no caller.
    """

    file_location_id: int
    parent_frame_id: int


class StackTables(Record):
    """The four tables of a module's header; row numbers count from 1."""

    file_names: tuple[str, ...]
    function_names: tuple[str, ...]
    file_locations: tuple[FileLocation, ...]
    stack_frames: tuple[StackFrame, ...]

    @property
    def text(self) -> str:
        """The text that XLA prints after the header: four blocks, each followed by an empty line."""
        blocks = [
            ["FileNames", *(f"{k} {quote(name)}" for k, name in enumerate(self.file_names, 1))],
            ["FunctionNames", *(f"{k} {quote(name)}" for k, name in enumerate(self.function_names, 1))],
            [
                "FileLocations",
                *(
                    f"{k} {{file_name_id={x.file_name_id} function_name_id={x.function_name_id} line={x.line} end_line={x.end_line}"
                    f" column={x.column} end_column={x.end_column}}}"
                    for k, x in enumerate(self.file_locations, 1)
                ),
            ],
            [
                "StackFrames",
                *(f"{k} {{file_location_id={x.file_location_id} parent_frame_id={x.parent_frame_id}}}" for k, x in enumerate(self.stack_frames, 1)),
            ],
        ]
        return "".join("\n".join(block) + "\n\n" for block in blocks)


_NAME_ROW = re.compile(r'^[0-9]+ "((?:[^"\\]|\\.)*)"$', re.MULTILINE)
_LOCATION_ROW = re.compile(
    r"^[0-9]+ \{file_name_id=(-?[0-9]+) function_name_id=(-?[0-9]+) line=(-?[0-9]+) end_line=(-?[0-9]+) column=(-?[0-9]+) end_column=(-?[0-9]+)\}$",
    re.MULTILINE,
)
_FRAME_ROW = re.compile(r"^[0-9]+ \{file_location_id=(-?[0-9]+) parent_frame_id=(-?[0-9]+)\}$", re.MULTILINE)


def decode_stack_tables(text: str) -> StackTables:
    """Decodes canonical stack frame tables."""
    functions = text.index("\nFunctionNames\n")
    locations = text.index("\nFileLocations\n", functions)
    frames = text.index("\nStackFrames", locations)
    return StackTables(
        tuple(unescape(m[1]) for m in _NAME_ROW.finditer(text, 0, functions)),
        tuple(unescape(m[1]) for m in _NAME_ROW.finditer(text, functions, locations)),
        tuple(FileLocation(*map(int, m.groups())) for m in _LOCATION_ROW.finditer(text, locations, frames)),
        tuple(StackFrame(*map(int, m.groups())) for m in _FRAME_ROW.finditer(text, frames)),
    )
