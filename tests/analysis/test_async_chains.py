"""The flow of an asynchronous operation's value through the instructions that pass it on."""

import pytest

from hlotool.analysis.async_chains import AsyncFlow, written_opcode
from hlotool.analysis.callgraph import callers
from hlotool.analysis.users import users
from hlotool.text.parse.parser import parse

VALUE = "((f32[4]), f32[4])"
START = f"p = f32[4] parameter(0) s = {VALUE} abs-start(p) "
WRAPPED = "w { x = f32[4] parameter(0) ROOT y = f32[4] abs(x) } "
BODY = f"body {{ a = {VALUE} parameter(0) ROOT b = {VALUE} copy(a) }} "
CONDITION = f"condition {{ k = {VALUE} parameter(0) ROOT t = pred[] constant(true) }} "


def reached(text: str, start: str = "s") -> list[str]:
    module = parse(text)
    computation, instruction = next((c, x) for c in module.computations for x in c.instructions if x.name == start)
    return [x.name for _, x in AsyncFlow(users, callers(module)).arrivals(computation, instruction)]


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (f"u = {VALUE} abs-update(s) ROOT d = f32[4] abs-done(u)", ["s", "u"]),
        (f"c = {VALUE} copy(s) ROOT d = {VALUE} copy(c)", ["s", "c", "d"]),
        (f"c = {VALUE} opt-barrier(s) ROOT d = {VALUE} copy(c)", ["s", "c", "d"]),
        (
            f'c = {VALUE} domain(s), domain={{kind="sharding", entry={{replicated}}, exit={{replicated}}}} ROOT d = {VALUE} copy(c)',
            ["s", "c", "d"],
        ),
        (f'c = {VALUE} custom-call(s), custom_call_target="t" ROOT d = {VALUE} copy(c)', ["s", "c", "d"]),
        # These instructions compute a different value.
        ("ROOT n = f32[4] get-tuple-element(s), index=1", ["s"]),
        (f"ROOT n = {VALUE} add(s, s)", ["s"]),
        # The element that is read from a tuple is the value that was put into it.
        (f"t = (f32[4], {VALUE}) tuple(p, s) g = {VALUE} get-tuple-element(t), index=1 ROOT d = {VALUE} copy(g)", ["s", "t", "g", "d"]),
        (f"t = (f32[4], {VALUE}) tuple(p, s) ROOT g = f32[4] get-tuple-element(t), index=0", ["s", "t"]),
        (
            (
                f"t = (f32[4], {VALUE}) tuple(p, s) o = (f32[4], {VALUE}) opt-barrier(t) g = {VALUE} get-tuple-element(o), index=1 "
                f"h = f32[4] get-tuple-element(o), index=0 ROOT d = {VALUE} copy(g)"
            ),
            ["s", "t", "o", "g", "d"],
        ),
        # Two elements of the tuple hold the value.
        (
            f"t = ({VALUE}, {VALUE}) tuple(s, s) a = {VALUE} get-tuple-element(t), index=0 ROOT b = {VALUE} get-tuple-element(t), index=1",
            ["s", "t", "b", "t", "a"],
        ),
        # Nested tuples.
        (
            (
                f"t = ({VALUE}) tuple(s) v = (({VALUE}), f32[4]) tuple(t, p) g = ({VALUE}) get-tuple-element(v), index=0 "
                f"h = {VALUE} get-tuple-element(g), index=0 ROOT d = {VALUE} copy(h)"
            ),
            ["s", "t", "v", "g", "h", "d"],
        ),
        # The flow ends with the instruction that consumes the value.
        ("d = f32[4] abs-done(s) ROOT n = f32[4] copy(d)", ["s", "d"]),
    ],
)
def test_within_a_computation(rest, expected):
    assert reached(f"ENTRY e {{ {START} {rest} }}") == expected


def test_from_an_update_to_its_consumers():
    text = f"ENTRY e {{ {START} u = {VALUE} abs-update(s) v = {VALUE} abs-update(u) ROOT d = f32[4] abs-done(v) }}"
    assert reached(text, "u") == ["u", "v"]


def test_around_a_loop():
    text = f"{BODY}{CONDITION}ENTRY e {{ {START} l = {VALUE} while(s), condition=condition, body=body ROOT d = {VALUE} copy(l) }}"
    assert sorted(reached(text)) == ["a", "b", "d", "k", "l", "s"]


def test_a_loop_that_may_not_run_returns_its_operand():
    body = f'body {{ a = {VALUE} parameter(0) ROOT b = {VALUE} custom-call(), custom_call_target="t" }} '
    text = f"{body}{CONDITION}ENTRY e {{ {START} ROOT l = {VALUE} while(s), condition=condition, body=body }}"
    assert sorted(reached(text)) == ["a", "k", "l", "s"]


def test_from_a_body_to_its_parameter_and_out_of_the_loop():
    body = f"body {{ a = {VALUE} parameter(0) d0 = f32[4] get-tuple-element(a), index=1 ROOT s = {VALUE} abs-start(d0) }} "
    text = f"{body}{CONDITION}ENTRY e {{ p = {VALUE} parameter(0) l = {VALUE} while(p), condition=condition, body=body ROOT d = {VALUE} copy(l) }}"
    assert sorted(reached(text)) == ["a", "d", "l", "s"]


def test_into_calls_and_out_of_them():
    callee = f"f {{ a = f32[4] parameter(0) b = {VALUE} parameter(1) ROOT c = {VALUE} copy(b) }} "
    text = f"{callee}ENTRY e {{ {START} l = {VALUE} call(p, s), to_apply=f ROOT d = {VALUE} copy(l) }}"
    assert sorted(reached(text)) == ["b", "c", "d", "l", "s"]


def test_not_out_of_a_call_that_returns_something_else():
    callee = f"f {{ b = {VALUE} parameter(0) c = {VALUE} copy(b) ROOT r = f32[4] get-tuple-element(c), index=1 }} "
    assert reached(f"{callee}ENTRY e {{ {START} ROOT l = f32[4] call(s), to_apply=f }}") == ["s", "b", "c"]


def test_not_into_a_fusion():
    callee = f"f {{ a = f32[4] parameter(0) b = {VALUE} parameter(1) ROOT r = f32[4] negate(a) }} "
    assert reached(f"{callee}ENTRY e {{ {START} ROOT l = f32[4] fusion(p, s), kind=kLoop, calls=f }}") == ["s"]


def test_a_body_without_parameters_that_starts_an_operation():
    body = f"body {{ c = f32[4] constant({{1, 2, 3, 4}}) ROOT s = {VALUE} abs-start(c) }} "
    assert reached(f"{body}{CONDITION}ENTRY e {{ q = {VALUE} parameter(0) ROOT l = {VALUE} while(q), condition=condition, body=body }}") == [
        "s",
        "l",
    ]


def test_into_the_branch_that_takes_the_value():
    one = f"one {{ a = {VALUE} parameter(0) ROOT b = {VALUE} copy(a) }} two {{ c = {VALUE} parameter(0) ROOT g = {VALUE} copy(c) }} "
    text = f"{one}ENTRY e {{ {START} i = s32[] parameter(1) q = {VALUE} parameter(2) "
    text += f"l = {VALUE} conditional(i, q, s), branch_computations={{one, two}} ROOT d = {VALUE} copy(l) }}"
    assert sorted(reached(text)) == ["c", "d", "g", "l", "s"]


def test_not_out_of_computations_that_run_per_element():
    text = f"m {{ p = f32[] parameter(0) ROOT s = {VALUE.replace('f32[4]', 'f32[]')} abs-start(p) }} "
    text += "ENTRY e { p0 = f32[4] parameter(0) ROOT r = f32[4] map(p0), dimensions={0}, to_apply=m }"
    assert reached(text) == ["s"]


@pytest.mark.parametrize("wrong", ["call(s), to_apply=f", "while(s), condition=f, body=f", "conditional(i, s, s), branch_computations={f, f}"])
def test_computations_without_parameters_take_nothing(wrong):
    text = f"f {{ ROOT c = pred[] constant(true) }} ENTRY e {{ {START} i = s32[] parameter(1) ROOT l = {VALUE} {wrong} }}"
    assert reached(text)[0] == "s"
    assert "c" not in reached(text)


def test_a_loop_that_nests_its_state_in_tuples_terminates():
    body = f"body {{ a = {VALUE} parameter(0) ROOT b = ({VALUE}) tuple(a) }} "
    text = f"{body}{CONDITION}ENTRY e {{ {START} ROOT l = {VALUE} while(s), condition=condition, body=body }}"
    assert set(reached(text)) == {"s", "l", "a", "b", "k"}


def test_opcodes_are_reported_as_written():
    text = f"{WRAPPED}ENTRY e {{ {START} a = {VALUE} async-start(p), calls=w b = f32[4] async-done(a) ROOT d = f32[4] abs-done(s) }}"
    names = {x.name: written_opcode(x, module) for module in [parse(text)] for x in module.entry.instructions if x.name in "sabd"}
    assert names == {"s": "abs-start", "a": "async-start", "b": "async-done", "d": "abs-done"}


def test_the_opcode_of_an_instruction_without_callees():
    module = parse("ENTRY e { p = f32[4] parameter(0) c = (f32[4], f32[4], u32[]) copy-start(p) ROOT d = f32[4] copy-done(c) }")
    assert written_opcode(module.entry.root, module) == "async-done"
