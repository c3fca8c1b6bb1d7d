"""Orders of instructions and computations, as in XLA."""

import pytest

from hlotool.ir.walk import computation_post_order, fusion_computations, instruction_post_order, print_order
from hlotool.text.parse.parser import parse

LEAF = "{} {{ ROOT x = f32[] parameter(0) }} "
CALL = "{} {{ x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply={} }} "


def names(nodes) -> list[str]:
    return [node.name for node in nodes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The walk starts at instructions without users; operands precede their users, in order.
        ("a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(b, a)", ["b", "a", "c"]),
        ("a = f32[] parameter(0) b = f32[] abs(a) c = f32[] abs(a) ROOT d = f32[] add(c, b)", ["a", "c", "b", "d"]),
        ("a = f32[] parameter(0) b = f32[] abs(a) ROOT c = f32[] negate(a)", ["a", "b", "c"]),
        (
            "a = f32[] parameter(0) b = f32[] abs(a) p = f32[] parameter(1) c = f32[] negate(p), control-predecessors={b} ROOT d = f32[] abs(b)",
            ["a", "b", "p", "c", "d"],
        ),
        # Control predecessors come before operands.
        ("a = f32[] parameter(0) b = f32[] abs(a) p = f32[] parameter(1) ROOT c = f32[] negate(p), control-predecessors={b}", ["a", "b", "p", "c"]),
        (
            "p = f32[] parameter(0) q = f32[] parameter(1) a = f32[] abs(p) b = f32[] abs(q) ROOT c = f32[] negate(p), control-predecessors={a, b}",
            ["p", "a", "q", "b", "c"],
        ),
    ],
)
def test_instructions_in_post_order(text, expected):
    assert names(instruction_post_order(parse(f"ENTRY e {{ {text} }}").entry)) == expected


def test_instructions_of_a_cycle_are_visited_once():
    entry = parse("ENTRY e { a = f32[] parameter(0) b = f32[] abs(a), control-predecessors={a} ROOT c = f32[] add(b, b) }").entry
    assert names(instruction_post_order(entry)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LEAF.format("f") + LEAF.format("g") + "ENTRY " + CALL.format("e", "f"), ["g", "f", "e"]),
        (LEAF.format("f") + CALL.format("g", "f") + CALL.format("h", "g") + "ENTRY " + CALL.format("e", "h"), ["f", "g", "h", "e"]),
        (
            LEAF.format("f")
            + LEAF.format("g")
            + "ENTRY e { x = f32[] parameter(0) y = f32[] call(x), to_apply=g ROOT z = f32[] call(y), to_apply=f }",
            ["g", "f", "e"],
        ),
        # An instruction's callees are visited in order, but only after all of them are marked.
        (
            LEAF.format("f") + CALL.format("g", "f") + "ENTRY e { i = s32[] parameter(0) x = f32[] parameter(1) "
            "ROOT z = f32[] conditional(i, x, x), branch_computations={g, f} }",
            ["g", "f", "e"],
        ),
        (
            LEAF.format("f") + CALL.format("g", "f") + "ENTRY e { i = s32[] parameter(0) x = f32[] parameter(1) "
            "ROOT z = f32[] conditional(i, x, x), branch_computations={f, g} }",
            ["f", "g", "e"],
        ),
        # If a computation is listed twice, its last position counts.
        (
            LEAF.format("f") + CALL.format("g", "f") + "ENTRY e { i = s32[] parameter(0) x = f32[] parameter(1) "
            "ROOT z = f32[] conditional(i, x, x, x), branch_computations={f, g, f} }",
            ["g", "f", "e"],
        ),
        (LEAF.format("f") + CALL.format("g", "f") + "ENTRY " + CALL.format("e", "f"), ["f", "g", "e"]),
    ],
)
def test_computations_in_post_order(text, expected):
    assert names(computation_post_order(parse(text))) == expected


BODY = "{ p = f32[] parameter(0) q = f32[] parameter(1) ROOT c = f32[] add(q, p) } "


@pytest.mark.parametrize(("header", "expected"), [("HloModule m, is_scheduled=true ", ["p", "q", "c"]), ("HloModule m ", ["q", "p", "c"])])
def test_schedules_are_printed_unchanged_except_in_fusions(header, expected):
    fusion = "ENTRY e { x = f32[] parameter(0) y = f32[] call(x, x), to_apply=g ROOT z = f32[] fusion(y, x), kind=kLoop, calls=f }"
    module = parse(f"{header} f {BODY} g {BODY} {fusion}")
    fused = fusion_computations(module)
    assert names(fused) == ["f"]
    assert names(print_order(module, module.computations[0], fused)) == ["q", "p", "c"]
    assert names(print_order(module, module.computations[1], fused)) == expected


def test_a_computation_with_many_callers_is_visited_once():
    twice = "level{} {{ x = f32[] parameter(0) a = f32[] call(x), to_apply=level{} ROOT b = f32[] call(a), to_apply=level{} }} "
    module = parse(LEAF.format("level0") + "".join(twice.format(k + 1, k, k) for k in range(60)) + "ENTRY " + CALL.format("e", "level60"))
    assert names(computation_post_order(module)) == [*(f"level{k}" for k in range(61)), "e"]
