"""The canonical form and the hashes of modules."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from edit_modules import EDITS, Edited, edit_module, renamed, reordered

import hlotool
from hlotool.differ.canonical import canonical_text, hashes
from hlotool.ir.model import Module

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "tests" / "programs").glob("*.hlo"))
SAME = [
    ("f32[2,3]", "f32[2,3]{1,0}"),
    ("constant({1, 2})", "constant({1e0, 2.0})"),
    ("replica_groups={}, to_apply=f", "to_apply=f"),
    ('{"a":1, "b":[]}', '{"b":[], "a":1}'),
    (', metadata={op_name="x"}', ""),
    ("HloModule one", "HloModule other, replica_count=1"),
]
TEXT = """HloModule one
f { a = f32[2,3] parameter(0) ROOT b = f32[2,3] negate(a) }
ENTRY e {
  p = f32[2,3] parameter(0)
  c = f32[2] constant({1, 2})
  d = f32[2,3] broadcast(c), dimensions={0}
  n = f32[2,3] call(p), to_apply=f, metadata={op_name="x"}, backend_config={"a":1, "b":[]}
  unused = f32[2,3] abs(p)
  other = f32[2,3] sine(p)
  ROOT s = f32[2,3] add(n, d)
}
"""


def shuffled(module: Module, seed: int) -> Module:
    edited = reordered(Edited(module, module, [], {}, {}), Random(seed))
    return renamed(edited.module, Random(seed))


@pytest.mark.parametrize(("old", "new"), [pair for pair in SAME if pair[0] in TEXT])
def test_spelling_does_not_matter(old: str, new: str) -> None:
    uncalled = (ROOT / "tests" / "differ" / "edits" / "last.hlo").read_text().partition("// output")[0]
    assert hashes(hlotool.parse(uncalled)).module == "hlo1:018aaa4c76508ee566a749adbe829416"
    assert hashes(hlotool.parse(TEXT)).module == hashes(hlotool.parse(TEXT.replace(old, new))).module


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("negate", "abs"), ("add(n, d)", "add(d, n)"), ("{1, 2}", "{1, -2}"), ('"a":1', '"a":2'), ("sine", "cosine"), ("abs(p)", "abs(s)"),
        ("HloModule one", "HloModule one, replica_count=2"), ("d = f32[2,3]", "d = f32[2,3]{0,1}"),
    ],
)  # fmt: skip
def test_everything_else_matters(old: str, new: str) -> None:
    unused, root = "  unused = f32[2,3] abs(p)\n", "  ROOT s = f32[2,3] add(n, d)\n"
    text = TEXT.replace(unused, "").replace(root, root + unused)
    assert hashes(hlotool.parse(text)).module == hashes(hlotool.parse(TEXT)).module
    assert hashes(hlotool.parse(text)).module != hashes(hlotool.parse(text.replace(old, new))).module


@pytest.mark.parametrize(
    "lines",
    [
        # Only the root distinguishes the operands of x and y.
        ["a = abs(p)", "b = abs(p)", "x = sine(a)", "y = sine(b)", "ROOT r = divide(a, b)"],
        # Only another user of b distinguishes the operands of x and y.
        ["a = abs(p)", "b = abs(p)", "x = sine(a)", "y = sine(b)", "z = cosine(b)", "ROOT r = negate(p)"],
        ["a = abs(p)", "b = abs(p)", "c = sine(a)", "d = sine(b)", "x = cosine(c)", "y = cosine(d)", "z = floor(b)", "ROOT r = negate(p)"],
        # Some of the users share an operand.
        ["a = abs(p)", "b = abs(p)", "x = sine(a)", "y = sine(a)", "z = sine(b)", "w = sine(b)", "ROOT r = negate(p)"],
        ["a = abs(p)", "b = abs(p)", "x = sine(a)", "y = sine(a)", "z = sine(b)", "ROOT r = negate(p)"],
        ["a = abs(p)", "b = abs(p)", "x = sine(a)", "y = cosine(a)", "z = sine(b)", "w = cosine(b)", "ROOT r = negate(p)"],
        ["a = abs(p)", "b = abs(p)", "c = abs(p)", "x = add(a, b)", "y = add(b, c)", "z = add(c, a)", "ROOT r = negate(p)"],
        ["a = abs(p)", "b = abs(p)", "x = add(a, a)", "y = add(b, b)", "z = add(a, b)", "ROOT r = negate(p)"],
        # Only control predecessors distinguish x and y.
        ["a = abs(p)", "b = abs(p)", "x = sine(p), control-predecessors={a}", "y = sine(p), control-predecessors={b}", "ROOT r = divide(a, b)"],
        ["a = abs(p)", "b = abs(p)", "x = sine(a)", "y = sine(b)", "z = cosine(p), control-predecessors={x}", "ROOT r = negate(p)"],
    ],
)  # fmt: skip
def test_unused_instructions_have_an_order(lines: list[str]) -> None:
    """Checks unused instructions, some of which compute the same value."""
    module = hlotool.parse("\n".join(["ENTRY e {", "p = f32[] parameter(0)", *[line.replace(" = ", " = f32[] ") for line in lines], "}"]))
    assert {canonical_text(shuffled(module, seed)) for seed in range(24)} == {canonical_text(module)}


def test_a_copy_of_a_computation_matters() -> None:
    once = """f { a = f32[] parameter(0) ROOT b = f32[] negate(a) }
    ENTRY e { p = f32[] parameter(0) c = f32[] call(p), to_apply=f ROOT d = f32[] call(c), to_apply=f }"""
    twice = "g { a = f32[] parameter(0) ROOT b = f32[] negate(a) }\n" + once.replace("call(c), to_apply=f", "call(c), to_apply=g")
    first, second = hashes(hlotool.parse(once)), hashes(hlotool.parse(twice))
    assert first.module != second.module
    assert first.computations == {name: digest for name, digest in second.computations.items() if name != "g"}
    assert second.computations["f"] == second.computations["g"]


def test_the_order_of_a_scheduled_module_matters() -> None:
    text = "HloModule m%s\nENTRY e { p = f32[] parameter(0) %s ROOT c = f32[] add(a, b) }"
    orders = ["a = f32[] abs(p) b = f32[] negate(p)", "b = f32[] negate(p) a = f32[] abs(p)"]
    plain, scheduled = ({hashes(hlotool.parse(text % (header, order))).module for order in orders} for header in ("", ", is_scheduled=true"))
    assert len(plain) == 1
    assert len(scheduled) == 2


@pytest.mark.parametrize("path", PROGRAMS[::12], ids=lambda path: path.name)
def test_programs(path: Path) -> None:
    module = hlotool.parse(path.read_text())
    printed = hlotool.to_text(module)
    form = canonical_text(module)
    assert hlotool.to_text(module) == printed
    assert canonical_text(shuffled(module, 1)) == form
    again = hlotool.parse(form)
    assert canonical_text(again) == form
    assert not hlotool.diff(module, again, ignore=["names", "metadata"])
    random = Random(path.name)
    for kind in sorted(EDITS):
        edited = edit_module(module, 1, random, [kind])
        if edited is not None:
            differs = bool(hlotool.diff(module, edited.module, ignore=["names", "metadata"]))
            assert (hashes(edited.module).module != hashes(module).module) == differs, edited.edits


def test_hashes_are_stable() -> None:
    """Checks that hashes of the current version never change.

    If the canonical form changes, the hashes require a new version.
    """
    assert hashes(hlotool.parse((ROOT / "samples" / "max_pool.hlo").read_text())).module == "hlo1:c5fdf27d2370aa2e4fbb2984f0addaad"
    uncalled = (ROOT / "tests" / "differ" / "edits" / "last.hlo").read_text().partition("// output")[0]
    assert hashes(hlotool.parse(uncalled)).module == "hlo1:018aaa4c76508ee566a749adbe829416"
    assert hashes(hlotool.parse(TEXT)).module == "hlo1:038fac4871d6bb39a3be9d1e2c92f342"


def test_annotations_of_an_asynchronous_call_may_be_written_on_its_root() -> None:
    text = """HloModule one
f { a = f32[2] parameter(0) ROOT b = f32[2] negate(a) }
ENTRY e {
  p = f32[2] parameter(0)
  s = ((f32[2]), f32[2], u32[]) async-start(p), calls=f, frontend_attributes={k="v"}
  ROOT d = f32[2] async-done(s)
}
"""
    written = text.replace("negate(a)", 'negate(a), frontend_attributes={k="v"}')
    assert not hlotool.diff(hlotool.parse(text), hlotool.parse(written))
    assert canonical_text(hlotool.parse(text)) == canonical_text(hlotool.parse(written))


@pytest.mark.parametrize("opcode", ["sine", "cosine", "abs", "floor", "ceil", "sign"])
def test_either_of_two_equal_instructions_may_precede_an_unused_one(opcode: str) -> None:
    text = f"""HloModule one
ENTRY e {{
  ROOT p = f32[2] parameter(0)
  first = f32[2] tanh(p)
  second = f32[2] tanh(p)
  third = f32[2] {opcode}(p), control-predecessors={{first}}
}}
"""
    assert canonical_text(hlotool.parse(text)) == canonical_text(hlotool.parse(text.replace("{first}", "{second}")))
