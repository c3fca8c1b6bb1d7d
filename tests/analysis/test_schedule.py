"""Spans of asynchronous operations: each start is paired with its done, even across updates."""

import pytest

from hlotool.analysis.schedule import spans
from hlotool.analysis.users import users
from hlotool.text.parse.parser import parse

START = "p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) "
UPDATE = "u = ((f32[4]), f32[4]) abs-update(s) v = ((f32[4]), f32[4]) abs-update(u) "
COPIES = "p = f32[4] parameter(0) s = (f32[4], f32[4], u32[]) copy-start(p) t = (f32[4], f32[4], u32[]) copy-start(p) "

CASES = [
    ("ROOT p = f32[4] parameter(0)", []),
    (START + "ROOT d = f32[4] abs-done(s)", [("s", "d", 1, 2)]),
    (START + "n = f32[4] negate(p) ROOT d = f32[4] abs-done(s)", [("s", "d", 1, 3)]),
    (START + UPDATE + "ROOT d = f32[4] abs-done(v)", [("s", "d", 1, 4)]),
    (START + "e = f32[4] get-tuple-element(s), index=1 " + UPDATE + "ROOT d = f32[4] abs-done(v)", [("s", "d", 1, 5)]),
    # Starts without a done, and starts with a result that other instructions also read.
    (START + "ROOT n = f32[4] negate(p)", []),
    (START + UPDATE + "ROOT n = f32[4] negate(p)", []),
    (START + "ROOT e = f32[4] get-tuple-element(s), index=1", []),
    (START + "e = f32[4] get-tuple-element(s), index=1 d = f32[4] abs-done(s) ROOT n = f32[4] add(d, e)", [("s", "d", 1, 3)]),
    (
        COPIES + "d = f32[4] copy-done(t) c = f32[4] copy-done(s) ROOT n = f32[4] add(c, d)",
        [("s", "c", 1, 4), ("t", "d", 2, 3)],
    ),
]


@pytest.mark.parametrize(("lines", "expected"), CASES)
def test_spans(lines, expected):
    entry = parse(f"ENTRY e {{ {lines} }}").entry
    assert [(span.start.name, span.done.name, span.first, span.last) for span in spans(entry, users(entry))] == expected


def test_a_done_in_another_computation_is_not_paired():
    entry = parse(f"ENTRY e {{ {START} ROOT d = f32[4] abs-done(s) }}").entry
    known = users(entry)
    entry.instructions.remove(entry.root)
    assert spans(entry, known) == []


def test_updates_in_a_cycle():
    entry = parse(f"ENTRY e {{ {START} {UPDATE} ROOT n = f32[4] negate(p) }}").entry
    _, s, u, v, _ = entry.instructions
    assert spans(entry, {s: [u], u: [v], v: [u]}) == []
