"""Schedules of modules that programs have changed, peak memory, and large or deep modules."""

from __future__ import annotations

import pytest
from steps import steps

from hlotool.analysis.async_chains import AsyncFlow
from hlotool.analysis.callgraph import callers
from hlotool.analysis.liveness import PeakMemory, peak_memory
from hlotool.analysis.users import users
from hlotool.ir.model import Module
from hlotool.opdefs.modes import VerifyModes
from hlotool.shapes.memory import array_bytes, format_bytes
from hlotool.text.parse.parser import parse
from hlotool.verifier.engine import verify

SCHEDULED = "HloModule m, is_scheduled=true\n"
LINE = SCHEDULED + "ENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[4] abs(p)\n  ROOT b = f32[4] negate(a), control-predecessors={p}\n}"


def found(module: Module) -> list[tuple[str, str | None, str]]:
    return [(d.code, d.instruction, d.message) for d in verify(module, select=["A028", "A029"])]


def test_a_parsed_schedule_is_in_order() -> None:
    assert found(parse(LINE)) == []


def test_an_instruction_before_its_operands() -> None:
    module = parse(LINE)
    lines = module.entry.instructions
    lines[0], lines[1] = lines[1], lines[0]
    assert found(module) == [("A028", "a", "'a' is scheduled before its operand 'p'")]
    lines.insert(0, lines.pop())
    messages = [message for _, _, message in found(module)]
    assert messages == [
        "'a' is scheduled before its operand 'p'",
        "'b' is scheduled before its operand 'a'",
        "'b' is scheduled before its control predecessor 'p'",
    ]


def test_an_unscheduled_module_has_no_order() -> None:
    module = parse(LINE.removeprefix(SCHEDULED))
    module.entry.instructions.reverse()
    assert found(module) == []


def test_a_missing_and_a_repeated_instruction() -> None:
    module = parse(LINE)
    del module.entry.instructions[1]
    assert [(code, x) for code, x, _ in found(module)] == [("A029", "b")]
    module = parse(LINE)
    module.entry.instructions.append(module.entry.instructions[1])
    assert found(module) == [("A029", "a", "'a' is listed twice in the schedule of 'e'")]
    module = parse(LINE)
    module.entry.instructions.pop()
    assert found(module) == [("A029", None, "root 'b' is not in the schedule of 'e'")]


def test_a_missing_computation() -> None:
    module = parse(SCHEDULED + "f { ROOT x = f32[] parameter(0) }\nENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }")
    del module.computations[0]
    assert found(module) == [("A029", "c", "computation 'f', which 'c' calls, is not in the module")]


# ---- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("f32[3,5]", 60),
        ("pred[7]", 7),
        ("s4[7]", 7),
        ("s4[7]{0:E(4)}", 4),
        ("c64[]", 8),
        ("f32[0,5]", 0),
        ("f32[<=8]", 32),
        ("f32[3,5]{1,0:T(8,128)}", 4096),
        ("f32[3,5]{0,1:T(8,128)}", 4096),
        ("bf16[9,5]{1,0:T(8,128)(2,1)}", 2 * 16 * 128),
        ("f32[5]{0:T(256)}", 1024),
        ("f32[2,3,5]{2,1,0:T(*,8)}", 2 * 16 * 4),
        ("f32[5]{0:L(4)}", 32),
        ("token[]", 0),
    ],
)
def test_sizes(shape: str, size: int) -> None:
    assert array_bytes(parse(f"ENTRY e {{ ROOT p = {shape} parameter(0) }}").entry.root.shape) == size


def test_readable_sizes() -> None:
    assert [format_bytes(size) for size in (0, 1023, 1024, 1 << 20, 5 << 50)] == ["0 B", "1023 B", "1 KiB", "1 MiB", "5 PiB"]


def peak(body: str, before: str = "", header: str = "") -> PeakMemory:
    return peak_memory(parse(f"HloModule m, is_scheduled=true{header}\n{before}\nENTRY e {{\n{body}\n}}"))


def test_tuples_and_bitcasts_take_no_memory() -> None:
    found = peak("p = f32[8] parameter(0) b = f32[2,4] bitcast(p) t = (f32[2,4]) tuple(b) ROOT g = f32[2,4] get-tuple-element(t), index=0")
    assert found.bytes == 32


def test_a_loop_has_one_state_and_its_own_temporaries() -> None:
    loop = """
c { s = (f32[8]) parameter(0) ROOT t = pred[] constant(true) }
b {
  s = (f32[8]) parameter(0)
  x = f32[8] get-tuple-element(s), index=0
  y = f32[16] concatenate(x, x), dimensions={0}
  z = f32[8] slice(y), slice={[0:8]}
  ROOT r = (f32[8]) tuple(z)
}"""
    found = peak("p = f32[8] parameter(0) i = (f32[8]) tuple(p) ROOT w = (f32[8]) while(i), condition=c, body=b", loop)
    assert (found.bytes, found.at.name) == (32 + 64, "w")
    assert [(buffer.instruction.name, buffer.bytes, buffer.temporary) for buffer in found.live] == [("w", 64, True), ("p", 32, False)]


def test_branches_count_once() -> None:
    branches = """
f { x = f32[8] parameter(0) a = f32[8] abs(x) ROOT r = f32[8] negate(a) }
g { x = f32[8] parameter(0) a = f32[8] abs(x) ROOT r = f32[8] negate(a) }"""
    found = peak("p = f32[8] parameter(0) i = s32[] constant(0) ROOT c = f32[8] conditional(i, p, p), branch_computations={f, g}", branches)
    # The parameter, the index, the result, and the temporaries of the larger branch.
    assert found.bytes == 32 + 4 + 32 + 32


def test_a_call_may_return_its_operand() -> None:
    assert peak("p = f32[8] parameter(0) ROOT c = f32[8] call(p), to_apply=f", "f { ROOT x = f32[8] parameter(0) }").bytes == 32


def test_updates_in_place() -> None:
    update = "i = s32[] constant(0) v = f32[1] constant({1}) d = f32[8] dynamic-update-slice({}, v, i) ROOT r = f32[8] abs(d)"
    assert peak("p = f32[8] parameter(0) c = f32[8] copy(p) " + update.replace("{}, v", "c, v")).bytes == 32 + 32 + 32
    # An argument must not be overwritten, so the update requires additional memory.
    assert peak("p = f32[8] parameter(0) " + update.replace("{}, v", "p, v")).bytes == 32 + 32 + 32


def test_aliases_of_fusions_and_programs() -> None:
    body = "f { x = f32[8] parameter(0) ROOT y = f32[8] abs(x) }"
    call = "p = f32[8] parameter(0) c = f32[8] copy(p) ROOT r = f32[8] fusion(c), kind=kLoop, calls=f"
    assert peak(call, body).bytes == 96
    assert peak(call + ", output_to_operand_aliasing={{}: (0, {})}", body).bytes == 64
    found = peak("p = f32[8] parameter(0) a = f32[8] abs(p) ROOT b = f32[8] negate(a)", "", ", input_output_alias={ {}: (0, {}, may-alias) }")
    assert (found.bytes, found.saved) == (64, 32)


def test_operations_in_flight_keep_their_operands() -> None:
    plain = "p = f32[8] parameter(0) a = f32[8] abs(p) s = {} {}-start(a){} n = f32[8] negate(p) ROOT d = f32[8] {}-done(s)"
    adder = "f { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }"
    assert peak(plain.format("f32[8]", "all-reduce", ", to_apply=f", "all-reduce"), adder).bytes == 4 * 32
    assert peak(plain.format("((f32[8]), f32[8])", "sine", "", "sine")).bytes == 4 * 32


def test_other_memory_spaces() -> None:
    module = parse(SCHEDULED + "ENTRY e { p = f32[8] parameter(0) ROOT a = f32[8]{0:S(5)} abs(p) }")
    assert (peak_memory(module).bytes, peak_memory(module, 5).bytes, peak_memory(module, 1).bytes) == (32, 32, 0)


# ---- size -------------------------------------------------------------------------------------------------------------


def test_arrivals_go_through_calls() -> None:
    text = """f { p = f32[4] parameter(0) ROOT s = ((f32[4]), f32[4]) abs-start(p) }
ENTRY e { p = f32[4] parameter(0) c = ((f32[4]), f32[4]) call(p), to_apply=f t = (((f32[4]), f32[4]), f32[4]) tuple(c, p)
  g = ((f32[4]), f32[4]) get-tuple-element(t), index=0 ROOT b = ((f32[4]), f32[4]) opt-barrier(g) }"""
    module = parse(text)
    f = next(computation for computation in module.computations if computation.name == "f")
    assert [x.name for _, x in AsyncFlow(users, callers(module)).arrivals(f, f.root)] == ["s", "c", "t", "g", "b"]


def in_flight(count: int) -> Module:
    """Returns a schedule in which `count` operations start and none finishes."""
    starts = "".join(f"  s{k}. = ((f32[4]), f32[4]) abs-start(p)\n" for k in range(count))
    shapes, names = ", ".join(["((f32[4]), f32[4])"] * count), ", ".join(f"s{k}." for k in range(count))
    return parse(SCHEDULED + f"ENTRY e {{\n  p = f32[4] parameter(0)\n{starts}  ROOT t = ({shapes}) tuple({names})\n}}")


def test_many_operations_in_flight_take_linear_time() -> None:
    modes = VerifyModes(memory_budget=1, in_flight_limit=2, collective_deadlocks=True)
    small, large = in_flight(50), in_flight(400)
    assert sum(d.code == "A001" for d in verify(small, modes, select=["A"])) == 50
    few, many = (steps(lambda module=module: verify(module, modes, select=["A"])) for module in (small, large))  # type: ignore[misc]
    # At eight times the size, linear work takes 8 times as many steps, and quadratic work 64 times
    # as many.
    assert many < 10 * few


@pytest.mark.parametrize("depth", [10_000])
def test_deep_calls_and_tuples(depth: int) -> None:
    chain = "c.0 { ROOT x = f32[4] parameter(0) }\n" + "".join(
        f"c.{k} {{ x = f32[4] parameter(0) ROOT c = f32[4] call(x), to_apply=c.{k - 1} }}\n" for k in range(1, depth)
    )
    module = parse(f"{SCHEDULED}{chain}ENTRY e {{ p = f32[4] parameter(0) ROOT c = f32[4] call(p), to_apply=c.{depth - 1} }}")
    assert peak_memory(module).bytes == 16
    deep = "(" * depth + "f32[4]" + ")" * depth
    assert peak_memory(parse(f"ENTRY e {{ p = {deep} parameter(0) ROOT b = {deep} opt-barrier(p) }}")).bytes == 16


def test_repeated_calls_are_checked_once_for_each_state() -> None:
    # Each level calls the previous one twice, so following every call would take a billion steps.
    transfer = "channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}"
    text = f"""c.0 {{ k = token[] parameter(0) r = (f32[4], u32[], token[]) recv(k), {transfer} rd = (f32[4], token[]) recv-done(r), channel_id=1
  p = f32[4] get-tuple-element(rd), index=0 s = (f32[4], u32[], token[]) send(p, k), {transfer} ROOT d = token[] send-done(s), channel_id=1 }}\n"""
    for k in range(1, 31):
        text += f"c.{k} {{ k = token[] parameter(0) a = token[] call(k), to_apply=c.{k - 1} ROOT b = token[] call(a), to_apply=c.{k - 1} }}\n"
    module = parse(SCHEDULED + text + "ENTRY e { k = token[] after-all() ROOT c = token[] call(k), to_apply=c.30 }")
    assert verify(module, VerifyModes(collective_deadlocks=True), select=["A026", "A027"]) == []


def test_a_loop_that_nests_its_state_ever_deeper() -> None:
    text = """c { p = ((f32[4]), f32[4]) parameter(0) ROOT t = pred[] constant(true) }
b { p = ((f32[4]), f32[4]) parameter(0) ROOT t = (((f32[4]), f32[4])) tuple(p) }
ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) ROOT l = ((f32[4]), f32[4]) while(s), condition=c, body=b }"""
    assert {d.code for d in verify(parse(text), VerifyModes(memory_budget=1))} >= {"C006"}


def test_memory_of_a_module_in_the_wrong_order() -> None:
    module = parse(LINE)
    module.entry.instructions.reverse()
    assert peak_memory(module).bytes > 0
