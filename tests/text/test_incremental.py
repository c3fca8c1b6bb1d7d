"""Incremental parsing, which may reuse the results of parsing an earlier version of a document."""

from __future__ import annotations

import pytest

from hlotool.errors import Source
from hlotool.ir.model import Module
from hlotool.text.parse.fast_path import FastPath
from hlotool.text.parse.parser import read_source
from hlotool.text.print.printer import to_text

NEGATE = "f {\n  x = f32[4]{0} parameter(0)\n  ROOT y = f32[4]{0} negate(x)\n}\n\n"
OTHER = NEGATE.replace("f {", "g {").replace("negate", "sine")
ENTRY = "ENTRY e {\n  p = f32[4]{0} parameter(0)\n  c = f32[4]{0} call(p), to_apply=f\n  ROOT d = call(c), to_apply=g\n}\n"
TEXT = f"HloModule m\n\n{NEGATE}{OTHER}{ENTRY}"
STARTS = """HloModule m

f {
  x = f32[4]{0} parameter(0)
  ROOT y = f32[4]{0} negate(x)
}

ENTRY e {
  p = f32[4]{0} parameter(0)
  s = ((f32[4]{0}), f32[4]{0}, u32[]) async-start(p), calls=f, frontend_attributes={a="1"}
  ROOT d = f32[4]{0} async-done(s)
}
"""


def read(text: str, known: FastPath | None = None) -> tuple[Module, FastPath]:
    module, path = read_source(Source(text), strict=False, known=known)
    assert path is not None
    path.close()
    return module, path


def results_of(module: Module) -> object:
    """Returns all results of a parse: the printed module, the messages, and all locations."""
    positions = [(c.name, c.start, c.end, c.execution_thread, [(x.name, x.start, x.end) for x in c.instructions]) for c in module.computations]
    return to_text(module), module.diagnostics, module.entry.name, positions


# Each row has a part of the text in one version, its replacement in the next version, and the names
# of the computations that are the same objects in both versions.
EDITS = {
    "nothing": ("", "", "f g e"),
    "the first computation": ("negate(x)", "abs(x)", ""),
    "the last computation": ("  c = ", "  c2 = f32[4]{0} sine(p)\n  c = ", "f g"),
    "a comment before everything": ("HloModule m\n", "HloModule m\n// before\n", ""),
    "a signature that changes": ("f32[4]{0} negate(x)", "f32[5]{0} negate(x)", "g"),
    "a shape that a caller infers": ("f32[4]{0} sine(x)", "f32[5]{0} sine(x)", "f"),
    "a name that changes": ("g {", "h {", "f"),
    "a computation that breaks": ("sine(x)", "sine(y)", "f"),
    "a text with index marks": ("call(c)", "call(/*index=0*/c)", "f g"),
    "the rest of a closing line": ("}\n\ng {", '}, execution_thread="t"\n\ng {', ""),
    "a comma on the line after": ("}\n\ng {", '}\n, execution_thread="t"\n\ng {', ""),
    # Duplicate names are resolved after the whole text has been read, so nothing may be shared.
    "a computation twice": (OTHER, OTHER + NEGATE, ""),
    "computations in another order": (NEGATE + OTHER, OTHER + NEGATE, ""),
    "an inline body of the same name": (
        "call(p), to_apply=f\n",
        "call(p), to_apply=_ {\n  x = f32[4]{0} parameter(0)\n  ROOT y = f32[4]{0} abs(x)\n }\n",
        "f g",
    ),
    "an inline body that takes a name": (
        "call(p), to_apply=f\n",
        "call(p), to_apply={\n    x = f32[4]{0} parameter(0)\n    ROOT y = f32[4]{0} abs(x)\n  }\n",
        "f g",
    ),
    "an origin that is passed on": (
        "  c = f32[4]{0} call(p), to_apply=f\n",
        '  o = f32[4]{0} negate(p), origin={{"o"}}\n  t = (f32[4]{0}) tuple(o)\n  c = f32[4]{0} get-tuple-element(t), index=0\n',
        "f g",
    ),
    "an origin": ("negate(x)", 'negate(x), origin={{"a"}}', ""),
    "control predecessors": ("call(c), to_apply=g", "call(c), to_apply=g, control-predecessors={p}", "f g"),
}


def check_versions(*texts: str) -> None:
    """Parses each text, reusing results for the previous text; checks that no result changes."""
    versions = []
    path: FastPath | None = None
    for text in texts:
        module, path = read(text, path)
        versions.append((module, results_of(read(text)[0])))
        for version, expected in versions:
            assert results_of(version) == expected


@pytest.mark.parametrize("edit", EDITS)
def test_edits(edit: str) -> None:
    old, new, _ = EDITS[edit]
    changed = TEXT.replace(old, new, 1)
    check_versions(TEXT, changed, TEXT, changed, f"{changed}\n", changed.replace("HloModule m", "HloModule mm"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('a="1"', 'a="2"'),
        (', frontend_attributes={a="1"}', ""),
        ("calls=f,", 'async_execution_thread="t", calls=f,'),
        ("async-start(p)", "async-start(q)"),
        ("ENTRY", "\nENTRY"),
    ],
)
def test_a_start_changes_the_computation_that_it_calls(old: str, new: str) -> None:
    """Checks that the computation always gets the annotations and the thread of the start op."""
    changed = STARTS.replace(old, new, 1)
    assert changed != STARTS
    check_versions(STARTS, changed, STARTS, changed)
    check_versions(changed, STARTS, f"{STARTS}\n", changed)


@pytest.mark.parametrize("edit", EDITS)
def test_computations_before_the_edit_are_shared(edit: str) -> None:
    old, new, shared = EDITS[edit]
    first, path = read(TEXT)
    second, _ = read(TEXT.replace(old, new, 1), path)
    assert [c.name for c in second.computations if c in first.computations] == shared.split()


def test_a_computation_is_renamed_by_an_inline_body() -> None:
    """Adds an inline body, which takes the name `_`, to `f`.

    The computation called `_` is renamed until the inline body is removed.
    """
    call = "call(x), to_apply={\n    ROOT i = f32[4]{0} parameter(0)\n  }\n"
    text = TEXT.replace("g {", "_ {").replace("=g", "=_")
    renamed = text.replace("negate(x)\n", call)
    assert [c.name for c in read(renamed)[0].computations] != [c.name for c in read(text)[0].computations]
    check_versions(text, renamed, text, renamed, f"{renamed}\n", text)
