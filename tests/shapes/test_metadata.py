"""Metadata and tables of stack frames: their text, and the metadata that XLA prints."""

import pytest

from hlotool.shapes.metadata import FileLocation, Metadata, StackFrame, StackTables, decode_metadata, decode_stack_tables

TEXTS = [
    (Metadata(), "{}"),
    (Metadata(op_type="add", op_name="a/b"), '{op_type="add" op_name="a/b"}'),
    (Metadata(op_name='it is "é"'), r'{op_name="it is \"\303\251\""}'),
    (
        Metadata(source_file="f.py", source_line=3, source_end_line=4, source_column=-1),
        '{source_file="f.py" source_line=3 source_end_line=4 source_column=-1}',
    ),
    (Metadata(profile_type=(1, 2)), "{profile_type={1,2}}"),
    (Metadata(scheduling_name="s"), '{scheduling_name="s"}'),
    (Metadata(scheduling_name='s"'), r'{scheduling_name="s\""}'),
    (Metadata(stack_frame_id=7, metadata_payload=""), '{stack_frame_id=7 metadata_payload=""}'),
]


@pytest.mark.parametrize(("metadata", "text"), TEXTS)
def test_metadata(metadata, text):
    assert metadata.text == text
    assert decode_metadata(text) == metadata


@pytest.mark.parametrize(
    ("metadata", "printed"),
    [
        (Metadata(), False),
        (Metadata(op_type="add"), True),
        (Metadata(op_name="a"), True),
        (Metadata(source_file="f"), True),
        (Metadata(source_line=3), False),
        (Metadata(scheduling_name="s"), True),
        (Metadata(stack_frame_id=1), True),
        (Metadata(metadata_payload=""), True),
        (Metadata(profile_type=(1,)), False),
    ],
)
def test_metadata_that_xla_prints(metadata, printed):
    assert metadata.is_printed_by_xla is printed


def test_tables_of_stack_frames():
    tables = StackTables(
        ("a.py", 'b"é.py'),
        ("f", "g", "h"),
        (FileLocation(1, 2, 3, 4, 5, 6), FileLocation(2, 3, -1, 0, 0, 0)),
        (StackFrame(1, 1), StackFrame(2, 2)),
    )
    assert tables.text == (
        'FileNames\n1 "a.py"\n2 "b\\"\\303\\251.py"\n\nFunctionNames\n1 "f"\n2 "g"\n3 "h"\n\n'
        "FileLocations\n1 {file_name_id=1 function_name_id=2 line=3 end_line=4 column=5 end_column=6}\n"
        "2 {file_name_id=2 function_name_id=3 line=-1 end_line=0 column=0 end_column=0}\n\n"
        "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=2 parent_frame_id=2}\n\n"
    )
    assert decode_stack_tables(tables.text) == tables
