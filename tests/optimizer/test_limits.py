"""Modules for which folding or unrolling would take too long or not terminate."""

from __future__ import annotations

from math import isqrt

import pytest

import hlotool
from hlotool.ir.model import Module
from hlotool.optimizer.work import work_of


def doubling_calls(levels: int) -> Module:
    """Returns a chain of computations, each of which calls the previous one twice."""
    text = "f.0 { p = f32[] parameter(0) a = f32[] sine(p) b = f32[] cosine(a) c = f32[] tanh(b) d = f32[] abs(c) ROOT r = f32[] sine(d) }\n"
    for k in range(1, levels):
        calls = f"a = f32[] call(p), to_apply=f.{k - 1} b = f32[] call(a), to_apply=f.{k - 1}"
        text += f"f.{k} {{ p = f32[] parameter(0) {calls} c = f32[] sine(b) d = f32[] cosine(c) e = f32[] tanh(d) ROOT r = f32[] log(e) }}\n"
    return hlotool.parse(text + f"ENTRY e {{ c = f32[] constant(0.5) ROOT r = f32[] call(c), to_apply=f.{levels - 1} }}")


def nested_loops(levels: int, iterations: int, start: str = "parameter(0)") -> Module:
    """Returns nested loops.

    Each loop counts to a number and also changes another element of its state.
    """
    text = ""
    for k in range(levels):
        change = "one = s32[] constant(1) y = s32[] add(x, one)"
        if k:
            change = f"zero = s32[] constant(0) u = (s32[], s32[]) tuple(zero, x) w = (s32[], s32[]) while(u), condition=c.{k - 1}, body=b.{k - 1} "
            change += "y = s32[] get-tuple-element(w), index=1"
        state = "s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = s32[] get-tuple-element(s), index=1"
        text += f"b.{k} {{ {state} {change} d = s32[] constant(1) j = s32[] add(i, d) ROOT t = (s32[], s32[]) tuple(j, y) }}\n"
        text += f"c.{k} {{ {state} n = s32[] constant({iterations}) ROOT l = pred[] compare(i, n), direction=LT }}\n"
    entry = f"p = s32[] {start} zero = s32[] constant(0) u = (s32[], s32[]) tuple(zero, p) "
    entry += f"ROOT w = (s32[], s32[]) while(u), condition=c.{levels - 1}, body=b.{levels - 1}"
    return hlotool.parse(f"{text}ENTRY e {{ {entry} }}")


def dot(size: int) -> Module:
    """Returns a dot of two vectors of ones, which needs no memory other than the vectors."""
    text = f"one = s32[] constant(1) v = s32[1,{size}] broadcast(one), dimensions={{}} w = s32[{size},1] broadcast(one), dimensions={{}} "
    return hlotool.parse(f"ENTRY e {{ {text} ROOT d = s32[1,1] dot(v, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}")


@pytest.mark.parametrize(
    ("line", "elements"),
    [
        ("dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}", 20 * 30 * 40),
        ("convolution(i, k), window={size=3x3}, dim_labels=b01f_01io->b01f", isqrt(9 * 9 * 4 * (3 * 3 * 4 * 5) * (7 * 7 * 5) * 9)),
        ("reduce-window(p, z), window={size=3x3}, to_apply=add", 20 * 30 * 9),
        ("reduce(p, z), dimensions={0}, to_apply=add", 20 * 30),
        ("cholesky(m), lower=true", 50 * 50 * 50),
        ("add(p, p)", 20 * 30),
        ("gather(p, j), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,30}", 20 * 30),
        ("iota(), iota_dimension=0", 7),
        ("infeed(o)", 5000),
        ("tuple(p, q)", 30 * 40),
        ("get-tuple-element(t), index=1", 1),
        ("opt-barrier(t)", 1),
        ("parameter(7)", 0),
        ("after-all()", 0),
    ],
)
def test_work(line: str, elements: int) -> None:
    """Checks that elements that are computed or read count as work, and others do not."""
    opcode = line.partition("(")[0]
    shapes = {"iota": "s32[7] ", "infeed": "((f32[5000]), token[]) ", "parameter": "(f32[8]) ", "opt-barrier": "(f32[20,30], f32[30,40]) "}
    add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }"
    text = "p = f32[20,30] parameter(0) q = f32[30,40] parameter(1) i = f32[1,9,9,4] parameter(2) k = f32[3,3,4,5] parameter(3) "
    text += (
        "z = f32[] parameter(4) m = f32[50,50] parameter(5) j = s32[2] parameter(6) t = (f32[20,30], f32[30,40]) tuple(p, q) o = token[] after-all() "
    )
    module = hlotool.parse(f"{add} ENTRY e {{ {text} ROOT r = {shapes.get(opcode, '')}{line} }}")
    assert work_of(module.entry.root) == 1024 + elements


@pytest.mark.parametrize("module", [doubling_calls(40), nested_loops(4, 900, "constant(0)")], ids=["calls", "loops"])
def test_folding_is_limited_in_work(module: Module) -> None:
    assert [x.opcode for x in hlotool.optimize(module, "fold").entry.instructions] == [x.opcode for x in module.entry.instructions]


@pytest.mark.parametrize("module", [doubling_calls(3), nested_loops(2, 5, "constant(0)"), dot(10_000)], ids=["calls", "loops", "dot"])
def test_short_computations_are_folded(module: Module) -> None:
    assert {x.opcode for x in hlotool.optimize(module, "fold,algsimp,dce").entry.instructions} <= {"constant", "tuple"}


def test_arrays_inside_computations_are_limited() -> None:
    """Computes one number from an intermediate array that would not fit into memory."""
    text = "f { p = s32[] parameter(0) b = s32[1000000,1000000] broadcast(p), dimensions={} ROOT s = s32[1,1] slice(b), slice={[0:1], [0:1]} }"
    module = hlotool.parse(f"{text} ENTRY e {{ c = s32[] constant(1) ROOT r = s32[1,1] call(c), to_apply=f }}")
    assert hlotool.optimize(module, "fold").entry.root.opcode == "call"


def test_unrolled_loops_do_not_multiply_without_limit() -> None:
    report = hlotool.optimize(nested_loops(10, 8), "unroll").report
    assert report.instructions_before < report.instructions_after < 10_000
    assert [computation.name for computation in hlotool.optimize(nested_loops(2, 3), "unroll,dce").computations] == ["e"]


def test_infinite_loops_are_kept() -> None:
    text = "c { i = s32[] parameter(0) ROOT t = pred[] constant(true) } b { i = s32[] parameter(0) d = s32[] constant(1) ROOT j = s32[] add(i, d) }"
    module = hlotool.parse(f"{text} ENTRY e {{ z = s32[] constant(0) ROOT w = s32[] while(z), condition=c, body=b }}")
    assert hlotool.optimize(module).entry.root.opcode == "while"
    assert hlotool.optimize(module, "unroll,annotate,fold").entry.root.opcode == "while"


def test_long_concatenates_are_not_merged() -> None:
    inner = f"concatenate({', '.join(['p'] * 6000)}), dimensions={{0}}"
    for count, opcodes in ((1, {"parameter", "concatenate"}), (2, {"parameter", "concatenate"})):
        lines = "".join(f"  c{k} = u1[6000] {inner}\n" for k in range(count))
        names = ", ".join(["p", *(f"c{k}" for k in range(count))])
        module = hlotool.parse(
            f"ENTRY e {{\n  p = u1[1] parameter(0)\n{lines}  ROOT r = u1[{6000 * count + 1}] concatenate({names}), dimensions={{0}}\n}}"
        )
        after = hlotool.optimize(module, "concatenate").entry
        assert {x.opcode for x in after.instructions} == opcodes
        assert len(after.instructions) == (2 if count == 1 else 2 + count)


@pytest.mark.parametrize(("operations", "opcode"), [(32, "negate"), (33, "map")])
def test_long_functions_are_not_mapped(operations: int, opcode: str) -> None:
    lines = "".join(f"  v{k + 1} = f32[] negate(v{k})\n" for k in range(operations - 1))
    body = f"f {{\n  v0 = f32[] parameter(0)\n{lines}  ROOT r = f32[] negate(v{operations - 1})\n}}\n"
    module = hlotool.parse(f"{body}ENTRY e {{ p = f32[3] parameter(0) ROOT m = f32[3] map(p), dimensions={{0}}, to_apply=f }}")
    assert hlotool.optimize(module, "calls").entry.root.opcode == opcode


@pytest.mark.parametrize(("count", "opcode"), [(1000, "reshape"), (1002, "add")])
def test_large_constants_are_not_reshaped(count: int, opcode: str) -> None:
    numbers = ", ".join(map(str, range(count // 2)))
    text = f"p = s32[{count}] parameter(0) a = s32[2,{count // 2}] reshape(p) c = s32[2,{count // 2}] constant({{ {{{numbers}}}, {{{numbers}}} }}) "
    module = hlotool.parse(f"ENTRY e {{ {text} ROOT r = s32[2,{count // 2}] add(a, c) }}")
    assert hlotool.optimize(module, "rearranged_operands").entry.root.opcode == opcode
