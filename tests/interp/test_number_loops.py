"""Code for loops over numbers, as machine code and in Python: the results are those of array kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from looped import compiled_loops

import hlotool
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.interp.plan.native import compiler, loops
from hlotool.interp.plan.native.machine_numbers import Untranslatable

SIGNED, UNSIGNED, FLOATS = ("s8", "s16", "s32", "s64"), ("u8", "u16", "u32", "u64"), ("f32", "f64")
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
INTEGERS = "add subtract multiply divide remainder maximum minimum and or xor shift-left shift-right-arithmetic shift-right-logical".split()


def constants(name: str) -> list[str]:
    """Returns the values of the constants `c0`, `c1` and so on, as they are written in HLO."""
    if name == "pred":
        return ["true", "false"]
    return ["0.5"] if name in FLOATS else ["3", "0", "100"] if name in UNSIGNED else ["3", "1", "0", "-5"]


def operations(name: str, *, is_native: bool) -> list[tuple[str, str]]:
    """Returns operations on `x`, `y` and constants, each as an element type and HLO text.

    With `is_native`, returns only the operations that are tested as machine code.
    """
    return [row for row in every_operation(name) if not is_native or not is_left_to_python(name, *row)]


def is_left_to_python(name: str, kind: str, text: str) -> bool:
    """Returns whether an operation is tested only in Python.

    Either the operation cannot be compiled, or a similar operation is compiled, since
    compiling all of them would take a long time.
    """
    opcode = text.partition("(")[0]
    if kind == "u64" or (opcode != "compare" and text.endswith((", c0)", ", c1)", ", c2)"))):
        return True
    if name == "s64":
        # Divisions and operations on their results are tested only in Python.
        return opcode in ("divide", "remainder", "shift-right-logical") or any(f"({operand}" in text or f", {operand})" in text for operand in "dehq")
    return name in FLOATS and opcode == "power"


def every_operation(name: str) -> list[tuple[str, str]]:
    if name == "pred":
        binary, unary = ["and", "or", "xor", "add", "multiply", "maximum", "minimum"], ["not"]
    elif name in FLOATS:
        binary, unary = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power"], ["negate", "abs", "sqrt", "tanh"]
    else:
        binary, unary = INTEGERS, ["negate", "not", *(("abs", "sign") if name in SIGNED else ())]
    labels = [f"c{k}" for k in range(len(constants(name)))]
    rows = [(name, f"{opcode}(x, {y})") for opcode in binary for y in ("y", *labels)] + [(name, f"{opcode}(x)") for opcode in unary]
    rows += [("pred", f"compare(x, {y}), direction={direction}") for direction in DIRECTIONS for y in ("y", *labels[:2])]
    rows += [(name, "select(p, x, y)")]
    # The code for these operations is shorter because the ranges of their operands are known.
    if name in SIGNED:
        rows += [(name, "add(d, c0)"), (name, "subtract(e, c3)"), (name, "multiply(d, d)"), (name, "multiply(e, e)"), (name, "add(e, x)")]
        rows += [(name, text) for text in ("negate(m)", "subtract(m, h)", "negate(h)", "add(q, q)", "multiply(q, m)", "shift-right-logical(m, c1)")]
    if name != "pred":
        rows += [(name, "clamp(y, x, c0)")]
    return [*rows, *[(other, "convert(x)") for other in (*SIGNED, *UNSIGNED, *FLOATS, "pred")]]


def operations_text(name: str, dimensions: str, *, is_native: bool) -> tuple[str, list[str], list[str]]:
    """Returns the HLO text of all operations, and the types and names of their results."""
    rows = operations(name, is_native=is_native)
    shape = f"{name}[{dimensions}]"

    def constant(label: str, number: str) -> str:
        broadcast = f"  {label} = {shape} broadcast({label}0), dimensions={{}}\n" if dimensions else ""
        return f"  {label}{'0' if dimensions else ''} = {name}[] constant({number})\n{broadcast}"

    lines = [constant(f"c{k}", number) for k, number in enumerate(constants(name))]
    lines += [f"  p = pred[{dimensions}] compare(x, y), direction=LT\n"]
    if name in SIGNED:
        # Some of these instructions may have no users; the code leaves them out.
        lines += [f"  d = {shape} remainder(x, c0)\n", f"  e = {shape} divide(x, c0)\n", f"  m = {shape} and(x, c0)\n"]
        lines += [f"  h = {shape} shift-right-logical(y, c1)\n", f"  q = {shape} select(p, m, h)\n"]
    lines += [f"  r{k} = {kind}[{dimensions}] {text}\n" for k, (kind, text) in enumerate(rows)]
    return "".join(lines), [kind for kind, _ in rows], [f"r{k}" for k in range(len(rows))]


def loop_of(name: str, *, is_native: bool) -> hlotool.ir.model.Module:
    """Returns a module that computes all operations on two numbers in a loop.

    The results come from the second of three iterations; each iteration exchanges the two numbers.
    """
    body, kinds, _ = operations_text(name, "", is_native=is_native)
    state = ", ".join(f"{kind}[]" for kind in ("s32", name, name, *kinds))
    kept = "".join(f"  o{k} = {kind}[] get-tuple-element(s), index={k + 3}\n" for k, kind in enumerate(kinds))
    chosen = "".join(f"  n{k} = {kind}[] select(is, r{k}, o{k})\n" for k, kind in enumerate(kinds))
    zeros = "".join(f"  z{k} = {kind}[] constant({'false' if kind == 'pred' else 0})\n" for k, kind in enumerate(kinds))
    return hlotool.parse(f"""HloModule loop
more {{
  s = ({state}) parameter(0) i = s32[] get-tuple-element(s), index=0 three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}}
step {{
  s = ({state}) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1) j = s32[] add(i, one)
  x = {name}[] get-tuple-element(s), index=1 y = {name}[] get-tuple-element(s), index=2
{kept}{body}  is = pred[] compare(i, one), direction=EQ
{chosen}  ROOT t = ({state}) tuple(j, y, x, {", ".join(f"n{k}" for k in range(len(kinds)))})
}}
ENTRY e {{
  y = {name}[] parameter(0) x = {name}[] parameter(1) zero = s32[] constant(0)
{zeros}  s = ({state}) tuple(zero, x, y, {", ".join(f"z{k}" for k in range(len(kinds)))})
  w = ({state}) while(s), condition=more, body=step
  {" ".join(f"g{k} = {kind}[] get-tuple-element(w), index={k + 3}" for k, kind in enumerate(kinds))}
  ROOT r = ({", ".join(f"{kind}[]" for kind in kinds)}) tuple({", ".join(f"g{k}" for k in range(len(kinds)))})
}}""")


def numbers_of(name: str) -> list[object]:
    if name == "pred":
        return [False, True]
    if name in FLOATS:
        info = np.finfo(NUMPY_TYPES[name])
        return [0.0, -0.0, 1.0, -1.0, 0.1, 3.7e5, float(info.max), float(info.smallest_subnormal), float("inf"), float("-inf"), float("nan")]
    limits = np.iinfo(NUMPY_TYPES[name])
    small = [0, 1, 2, 3, 7, 8, 31, 63, limits.max, limits.max - 1, limits.max // 3]
    return small if name in UNSIGNED else [*small, -1, -2, -3, -100, limits.min, limits.min + 1]


@pytest.mark.parametrize("name", ["pred", *SIGNED, *UNSIGNED, *FLOATS])
def test_results_are_those_of_arrays(name):
    check(name, is_native=False)


@pytest.mark.parametrize("name", ["s32", "s64", "u16", "f32"])
def test_compiled_loops_return_the_same_results(name):
    with compiled_loops(with_llvm=True) as sources, patch.object(loops, "_MAX_COMPILED", 10_000):
        check(name, is_native=True)
    assert sources


def check(name: str, *, is_native: bool) -> None:
    pairs = list(product(numbers_of(name), repeat=2))
    first, second = (np.array([pair[k] for pair in pairs], NUMPY_TYPES[name]) for k in range(2))
    body, kinds, names = operations_text(name, str(len(pairs)), is_native=is_native)
    shape = f"{name}[{len(pairs)}]"
    text = f"ENTRY e {{\n  x = {shape} parameter(0) y = {shape} parameter(1)\n{body}  ROOT t = tuple({', '.join(names)})\n}}"
    expected = hlotool.evaluate(hlotool.parse(text), [first, second], executor="reference")
    run = hlotool.compile(loop_of(name, is_native=is_native))
    assert run.source is not None
    assert "def loop(" in run.source
    results = [run(first[k], second[k]) for k in range(len(pairs))]
    texts = [text for _, text in operations(name, is_native=is_native)]
    for k, kind in enumerate(kinds):
        found = np.array([result[k] for result in results], NUMPY_TYPES[kind])
        same = found.view(np.uint8).reshape(len(pairs), -1) == expected[k].view(np.uint8).reshape(len(pairs), -1)
        wrong = [(*pairs[at], found[at], expected[k][at]) for at in np.flatnonzero(~same.all(1))]
        assert not wrong, f"{kind} {texts[k]}: {wrong[:5]}"


def failing(error: type[Exception]) -> Callable[..., object]:
    def fail(*arguments: object, **options: object) -> object:
        raise error(f"cannot do this for {arguments} {options}")

    return fail


def test_without_llvm_results_are_the_same(monkeypatch):
    monkeypatch.setattr(loops, "_SECONDS", float("-inf"))
    monkeypatch.setattr(compiler, "_llvm", cache(lambda: None))
    check("pred", is_native=True)


@pytest.mark.parametrize("error", [ImportError, AttributeError, SystemError])
def test_with_a_broken_llvm_results_are_the_same(error, monkeypatch):
    monkeypatch.setattr(loops, "_SECONDS", float("-inf"))
    monkeypatch.setattr(compiler, "import_module", failing(error))
    compiler._llvm.cache_clear()
    try:
        check("pred", is_native=True)
    finally:
        compiler._llvm.cache_clear()


@pytest.mark.parametrize(("name", "error"), [("_machine_code", RuntimeError), ("translate", RecursionError), ("translate", Untranslatable)])
def test_loops_that_cannot_be_compiled_return_the_same_results(name, error, monkeypatch):
    monkeypatch.setattr(loops, "_SECONDS", float("-inf"))
    monkeypatch.setattr(compiler, name, failing(error))
    check("pred", is_native=True)


ENDLESS = """HloModule endless
more { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 no = s32[] constant(-1) ROOT c = pred[] compare(i, no), direction=NE }
step { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 mask = s32[] get-tuple-element(s), index=1 by = s32[] constant(STEP)
  n = s32[] add(i, by) m = s32[] and(n, mask) ROOT t = tuple(m, mask) }
ENTRY e { i = s32[] parameter(0) mask = s32[] parameter(1) s = tuple(i, mask) ROOT w = (s32[], s32[]) while(s), condition=more, body=step }"""


@pytest.mark.parametrize("seconds", [float("-inf"), 100.0])
def test_limits_hold(seconds, monkeypatch):
    monkeypatch.setattr(loops, "_SECONDS", seconds)
    module = hlotool.parse(ENDLESS.replace("STEP", "2"))
    for options, message in (
        ({"max_iterations": 1000}, "did not end after 1000 iterations"),
        ({"timeout_seconds": 0.3}, "took longer than 0.3 s"),
    ):
        with pytest.raises(hlotool.EvaluationError, match=message):
            hlotool.evaluate(module, [np.int32(0), np.int32(0xFFFF)], options=hlotool.RunOptions(**options), executor="plan")
    result = hlotool.evaluate(module, [np.int32(-1001), np.int32(-1)], options=hlotool.RunOptions(max_iterations=500), executor="plan")
    assert [x.item() for x in result] == [-1, -1]


@pytest.mark.parametrize(("executor", "seconds"), [("plan", float("-inf")), ("plan", 100.0), ("reference", 100.0)])
def test_a_state_that_stays_the_same_is_the_result(executor, seconds, monkeypatch):
    """Checks that a loop ends after an iteration that does not change its state."""
    monkeypatch.setattr(loops, "_SECONDS", seconds)
    result = hlotool.evaluate(hlotool.parse(ENDLESS.replace("STEP", "0")), [np.int32(5), np.int32(-1)], executor=executor)
    assert [x.item() for x in result] == [5, -1]
