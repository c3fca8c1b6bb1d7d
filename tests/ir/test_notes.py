"""Notes about the source: their kinds, the effect of edits on them, and copies."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

import hlotool
from hlotool import Rewriter
from hlotool.ir.model import Module
from hlotool.ir.notes import Annotations, SourceNotes
from hlotool.shapes.shape import array_shape

COPIERS: dict[str, Callable[[Module], Module]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda module: pickle.loads(pickle.dumps(module)),
}
ANNOTATED = (
    'f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x), metadata={op_name="inner"} }\n'
    'ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) async-start(p), calls=f, metadata={op_name="outer"} ROOT d = f32[4] async-done(s) }'
)
PROGRAM = hlotool.to_text(
    hlotool.parse(
        "f { x = f32[2,3] parameter(0) ROOT t = f32[3,2] transpose(x), dimensions={1,0} } ENTRY e { p = f32[2,3] parameter(0) "
        "a = f32[3,2] transpose(p), dimensions={1,0} b = f32[3,2] call(p), to_apply=f c = f32[3,2] call(p), to_apply=f ROOT r = f32[3,2] add(a, b) }"
    )
)


def _rename(module: Module) -> None:
    module.entry["a"].name = "renamed"


def _swap(module: Module) -> None:
    instructions = module.entry.instructions
    instructions[1], instructions[2] = instructions[2], instructions[1]


def _change_root(module: Module) -> None:
    module.entry.root = module.entry["b"]


def _rename_computation(module: Module) -> None:
    module.computation("f").name = "g"


def test_notes_are_current_until_a_field_is_assigned() -> None:
    module, other = hlotool.parse(PROGRAM), hlotool.parse(PROGRAM)
    assert module.notes.are_current()
    assert copy.copy(module).notes.are_current()
    with Rewriter(other) as rewriter:
        rewriter.insert("sine", [other.entry["p"]], into=other.entry)
    assert module.notes.are_current()
    other.entry.root.name = "changed"
    assert not module.notes.are_current()
    assert hlotool.parse(PROGRAM).notes.are_current()


CHANGES = {
    _rename: "%renamed = f32[3,2]{1,0} transpose(%p)",
    _swap: "(%p), to_apply=%f\n  %a = ",
    _change_root: "ROOT %b = ",
    _rename_computation: "(%p), to_apply=%g\n  ",
}


@pytest.mark.parametrize("copier", ["parse", *COPIERS])
@pytest.mark.parametrize("change", CHANGES)
def test_changes_without_a_rewriter_are_printed(change: Callable[[Module], None], copier: str) -> None:
    module = hlotool.parse(PROGRAM)
    change(module)
    assert CHANGES[change] in hlotool.to_text(COPIERS[copier](module) if copier != "parse" else module)
    # After an assignment in any module, the printer checks each instruction of a copy.
    if copier != "parse":
        copied = COPIERS[copier](hlotool.parse(PROGRAM))
        hlotool.parse(PROGRAM).entry.root.name = "other"
        assert hlotool.to_text(copied) == PROGRAM
        change(copied)
        assert CHANGES[change] in hlotool.to_text(copied)


@pytest.mark.parametrize("copier", ["parse", *COPIERS])
def test_copies_have_the_notes_of_the_source(copier: str) -> None:
    module = hlotool.parse(PROGRAM)
    a = module.entry["a"]
    with Rewriter(module) as rewriter:
        f = module.computation("f")
        new = rewriter.insert("sine", [f["x"]], into=f, origin=f["t"])
    if copier != "parse":
        copied = COPIERS[copier](module)
        a, new, f = copied.entry["a"], copied.computation("f")["sine"], copied.computation("f")
        assert copied.notes.fast_count == module.notes.fast_count > 0
        module = copied
    notes = module.notes
    assert [(op, text) for attributes, op, text in notes.spellings() if attributes is a.attributes] == [(a.op, ", dimensions={1,0}")]
    assert notes.origin_of == {new: f["t"]}
    # The computation `f` has changed.
    assert list(notes.spans) == [module.entry]
    span = notes.spans[module.entry]
    assert (span.root, span.parameters, span.instructions) == (module.entry.root, module.entry.parameters, module.entry.instructions)
    assert PROGRAM[span.start : span.end].strip().startswith("%p = ")


@pytest.mark.parametrize("copier", COPIERS)
def test_copies_share_attributes_as_the_original_does(copier: str) -> None:
    module = hlotool.parse(PROGRAM)
    with Rewriter(module) as rewriter:
        rewriter.insert_copy(module.entry["b"], into=module.entry, name="again")
    entry = COPIERS[copier](module).entry
    assert entry["again"].attributes is entry["b"].attributes
    assert entry["b"].attributes["to_apply"] is not module.computation("f")
    if copier != "pickle":
        assert entry["a"].attributes is module.entry["a"].attributes


@pytest.mark.parametrize("copier", COPIERS)
def test_notes_about_removed_parts_are_not_copied(copier: str) -> None:
    module = hlotool.parse(hlotool.to_text(hlotool.parse(ANNOTATED)))
    with Rewriter(module) as rewriter:
        p = module.entry["p"]
        start, old = rewriter.insert("sine", [p], into=module.entry), rewriter.insert("sine", [p], into=module.entry)
        new = rewriter.insert("sine", [p], into=module.entry, origin=old)
        gone = rewriter.insert("sine", [p], into=module.entry, origin=start)
        rewriter.set_root(new)
    del module.computations[0]
    module.entry.instructions = [p, start, new]
    copied = COPIERS[copier](module)
    assert [c.name for c in copied.computations] == ["e"]
    assert [x.name for x in copied.entry] == ["p", start.name, new.name]
    if copier == "pickle":
        assert (copied.notes.origin_of, list(copied.notes.spans)) == ({}, [])
        assert gone not in copied.notes.origin_of


@pytest.mark.parametrize("copier", COPIERS)
def test_an_instruction_removed_from_the_list_is_not_copied(copier: str) -> None:
    module = hlotool.parse(PROGRAM)
    del module.entry.instructions[-2]
    module.entry.root = module.entry.instructions[-1]
    module.entry.root.operands = (module.entry["a"], module.entry["b"])
    copied = COPIERS[copier](module)
    if copier == "pickle":
        assert list(copied.notes.spans) == [copied.computation("f")]
    assert hlotool.to_text(copied) == hlotool.to_text(module)


@pytest.mark.parametrize("copier", COPIERS)
def test_a_computation_removed_from_the_list_is_not_copied(copier: str) -> None:
    module = hlotool.parse(hlotool.to_text(hlotool.parse("g { ROOT x = f32[] parameter(0) } ENTRY e { ROOT p = f32[] parameter(0) }")))
    assert len(module.notes.spans) == 2
    del module.computations[0]
    copied = COPIERS[copier](module)
    assert [c.name for c in copied.computations] == ["e"]
    if copier == "pickle":
        assert list(copied.notes.spans) == [copied.entry]
    assert hlotool.to_text(copied) == hlotool.to_text(module)


@pytest.mark.parametrize("copier", COPIERS)
def test_the_text_of_a_call_is_not_copied_without_the_computation(copier: str) -> None:
    body = "{ x = f32[4] parameter(0) ROOT n = f32[4] negate(x) }"
    text = (
        f"g {body} h {body} f {{ y = f32[4] parameter(0) ROOT c = f32[4] call(y), to_apply=g }}\n"
        "ENTRY e { p = f32[4] parameter(0) t = f32[4] call(p), to_apply=g "
        's = ((f32[4]), f32[4]) async-start(t), calls=f, metadata={op_name="outer"} ROOT d = f32[4] async-done(s) }'
    )
    module = hlotool.parse(hlotool.to_text(hlotool.parse(text)))
    assert module.notes.written(module.computation("f").root) is not None
    with Rewriter(module) as rewriter:
        for call in (module.entry["t"], module.computation("f")["c"]):
            rewriter.update(call, attributes={"to_apply": module.computation("h")})
        rewriter.erase_computation(module.computation("g"))
    assert hlotool.to_text(COPIERS[copier](module)) == hlotool.to_text(module)


@pytest.mark.parametrize("copier", COPIERS)
def test_headers_threads_and_tables_are_copied(copier: str) -> None:
    module = hlotool.parse(
        'HloModule m, replica_count=2\n\nFileNames\n1 "a.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n'
        "1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=2}\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n"
        'f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x) }, execution_thread="other"\n'
        "ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) ROOT d = f32[4] abs-done(s) }"
    )
    copied = COPIERS[copier](module)
    assert hlotool.to_text(copied) == hlotool.to_text(module)
    assert copied.attribute_starts == module.attribute_starts
    assert copied.computation("f").execution_thread == "other"
    assert {c.name for c in copied.hidden} == {c.name for c in module.hidden}
    assert len(copied.hidden) == 1
    assert copied.stack_tables == module.stack_tables
    assert copied.stack_tables is not None


@pytest.mark.parametrize("copier", COPIERS)
def test_messages_about_the_header_of_a_copy_point_to_it(copier: str) -> None:
    module = hlotool.parse("HloModule m,\n  replica_count=0\nENTRY e { ROOT p = f32[] parameter(0) }")
    before = [str(d) for d in hlotool.verify(module)]
    assert [str(d) for d in hlotool.verify(COPIERS[copier](module))] == before
    assert any(":2:" in text for text in before)


def test_computations_and_instructions_are_copied_separately() -> None:
    entry = hlotool.parse(PROGRAM).entry
    for twin in (copy.copy(entry), copy.deepcopy(entry)):
        assert twin is not entry
        assert (twin.name, [x.name for x in twin]) == (entry.name, [x.name for x in entry])
        assert twin["r"].operands == (twin["a"], twin["b"])
    for x in (copy.copy(entry["r"]), copy.deepcopy(entry["r"])):
        assert x is not entry["r"]
        assert x.operands == entry["r"].operands


@pytest.mark.parametrize("copier", COPIERS)
def test_a_module_without_a_source_is_copied(copier: str) -> None:
    module = Module("m")
    with Rewriter(module) as rewriter:
        module.entry = rewriter.add_computation("e")
        rewriter.insert("parameter", into=module.entry, immediate=0, shape=array_shape("f32"))
    assert module.diagnostics == []
    assert str(COPIERS[copier](module)) == str(module)


def test_unknown_attributes_of_a_module_are_errors() -> None:
    with pytest.raises(AttributeError, match="a module has no attribute 'no_such'"):
        _ = Module("m").no_such
    assert Module("m").replica_count == 1


# ---- annotations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"metadata_text": '{op_name="new"}'},
        {"backend_config": '"new"'},
        {"attributes": {"frontend_attributes": {"a": "b"}}},
    ],
)
def test_changed_annotations_are_printed(change: dict[str, object]) -> None:
    module = hlotool.parse(ANNOTATED)
    root = module.computation("f").root
    assert 'op_name="inner"' in hlotool.to_text(module)
    with Rewriter(module) as rewriter:
        rewriter.update(root, **change)  # type: ignore[arg-type]
    text = hlotool.to_text(module)
    assert 'op_name="inner"' not in text
    assert "new" in text or 'frontend_attributes={a="b"}' in text


def test_the_annotations_of_the_text_are_those_replaced_first() -> None:
    x = hlotool.parse(PROGRAM).entry["a"]
    first, second, third = (Annotations(x.attributes, text, None) for text in ("one", "two", x.metadata_text))
    notes = SourceNotes()
    assert notes.written(x) is None
    notes.set_written(x, first, second)
    assert notes.written(x) is None
    notes.set_written(x, second, third)
    assert notes.written(x) == first
    notes.forget_written(x)
    assert notes.written(x) is None
