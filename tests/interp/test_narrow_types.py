"""Numbers with fewer than eight bits: each is in the low bits of a byte whose other bits are 0."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from instances import FAMILIES, module_of, random_instance

import hlotool
from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.interp.arrays.values import leaves
from hlotool.ir.model import Module

NARROW = {name: number for name, number in NUMBERS.items() if number.bits < 8 and number.kind != "pred"}
WIDTHS = {number.held: number.bits for number in NARROW.values()}


def upper_bits(module: Module, arguments: list[Any], executor: str) -> list[Any]:
    """Returns the results in which bits above the width of the type are set."""
    values = leaves(hlotool.evaluate(module, arguments, executor=executor))
    arrays = [np.asarray(value) for value in values]
    return [x for x in arrays if x.dtype in WIDTHS and (x.view(np.uint8) >> WIDTHS[x.dtype]).any()]


@pytest.mark.parametrize("executor", ["reference", "plan"])
@pytest.mark.parametrize("family", FAMILIES)
def test_results(family: str, executor: str) -> None:
    random = Random(family)
    for _ in range(12):
        x = random_instance(random, [family], types=list(NARROW))
        # Setting the upper bits of arguments does not change the numbers.
        given = [(a.view(np.uint8) | np.uint8(0xFF << WIDTHS[a.dtype] & 0xFF)).view(a.dtype) if a.dtype in WIDTHS else a for a in x.arrays]
        module = hlotool.parse(module_of([x]))
        assert not upper_bits(module, given, executor), module_of([x])


@pytest.mark.parametrize("executor", ["reference", "plan"])
@pytest.mark.parametrize("name", NARROW)
def test_constants_equal_computed_values(name: str, executor: str) -> None:
    number = NARROW[name]
    numbers = np.arange(1 << number.bits).astype(np.uint8).view(number.held)
    text = ", ".join(str(x) for x in numbers.tolist())
    module = hlotool.parse(f"ENTRY e {{ c = {name}[{len(numbers)}] constant({{{text}}}) ROOT r = {name}[{len(numbers)}] copy(c) }}")
    assert not upper_bits(module, [], executor)
    wide = "f32" if number.kind == "float" else "s32"
    converted = hlotool.parse(f"ENTRY e {{ p = {wide}[{len(numbers)}] parameter(0) ROOT r = {name}[{len(numbers)}] convert(p) }}")
    computed = hlotool.evaluate(converted, [numbers.astype(np.float32 if wide == "f32" else np.int32)], executor=executor)
    assert hlotool.evaluate(module, [], executor=executor).tobytes() == computed.tobytes()


@pytest.mark.parametrize("executor", ["reference", "plan"])
@pytest.mark.parametrize("name", NARROW)
def test_numbers(name: str, executor: str) -> None:
    """Checks scalars, whose upper bits must also be 0."""
    text = f"ENTRY e {{ p = {name}[] parameter(0) c = {name}[] constant(0) ROOT t = ({name}[], {name}[]) tuple(p, c) }}"
    number = NARROW[name]
    results = hlotool.evaluate(hlotool.parse(text), [np.array(0xFF, np.uint8).view(number.held)], executor=executor)
    assert [(type(x), x.dtype, x.shape) for x in results] == [(np.ndarray, number.held, ())] * 2
    assert not upper_bits(hlotool.parse(text), [np.array(0xFF, np.uint8).view(number.held)], executor)


ADD = "add { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] add(a, b) }\n"
MORE = """more { s = (T[], s32[]) parameter(0) k = s32[] get-tuple-element(s), index=1 n = s32[] constant(5)
  ROOT c = pred[] compare(k, n), direction=LT }\n"""
STEP = """step { s = (T[], s32[]) parameter(0) x = T[] get-tuple-element(s), index=0 k = s32[] get-tuple-element(s), index=1 one = s32[] constant(1)
  j = s32[] add(k, one) y = T[] add(x, x) z = T[] subtract(y, x) w = T[] add(y, z) ROOT t = (T[], s32[]) tuple(w, j) }\n"""
USES = {
    "dot": "ROOT r = T[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "convolution": "ROOT r = T[2,2] convolution(x, y), dim_labels=bf_io->bf",
    "reduce": "ROOT r = T[2] reduce(x, c), dimensions={1}, to_apply=add",
    "reduce-window": "ROOT r = T[2,1] reduce-window(x, c), window={size=1x3}, to_apply=add",
    "all sums": "ROOT r = T[] reduce(y, c), dimensions={0,1}, to_apply=add",
    "map": "ROOT r = T[2,3] map(x, x), dimensions={0,1}, to_apply=add",
    "scatter": """i = s32[3,1] constant({{0}, {1}, {1}}) u = T[3,3] broadcast(c), dimensions={}
      ROOT r = T[2,3] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
        index_vector_dim=1, to_apply=add""",
    "iota": "i = T[2,3] iota(), iota_dimension=1 ROOT r = T[2,3] add(i, x)",
    "scalars": "d = T[] add(c, c) e = T[] subtract(d, c) f = T[] multiply(e, d) g = T[] negate(f) ROOT r = (T[], T[], T[], T[]) tuple(d, e, f, g)",
    "broadcast": "b = T[2,3] broadcast(c), dimensions={} m = T[2,3] multiply(b, x) ROOT r = T[2,3] maximum(m, b)",
    "pad": "ROOT r = T[3,5] pad(x, c), padding=0_1x1_1",
    "dynamic-update-slice": "k = s32[] constant(1) b = T[1,1] broadcast(c), dimensions={} ROOT r = T[2,3] dynamic-update-slice(x, b, k, k)",
    "clamp": "ROOT r = T[2,3] clamp(c, x, c)",
    "bits": "n = T[2,3] abs(x) w = s32[2,3] convert(n) v = T[2,3] convert(w) ROOT r = (T[2,3], s32[2,3], T[2,3]) tuple(n, w, v)",
    "while": "k = s32[] constant(0) s = (T[], s32[]) tuple(c, k) ROOT r = (T[], s32[]) while(s), condition=more, body=step",
    "conditional": "p = pred[] constant(true) ROOT r = T[] conditional(p, c, c), true_computation=double, false_computation=double",
}
DOUBLE = "double { a = T[] parameter(0) ROOT r = T[] add(a, a) }\n"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", NARROW)
def test_constants_and_arguments_lead_to_the_same_results(name: str, use: str) -> None:
    """Compares constants with arguments, whose upper bits may be set."""
    number, random = NARROW[name], np.random.default_rng(1)
    if number.kind == "unsigned" and use in ("bits", "scalars"):
        # Negations and absolute values exist for signed numbers only.
        body = USES[use].replace("abs(x)", "copy(x)").replace("negate(f)", "copy(f)")
    else:
        body = USES[use]
    arrays = [random.integers(0, 1 << number.bits, shape).astype(np.uint8) for shape in ((2, 3), (3, 2), ())]
    if number.kind == "float":
        # Sums of infinities have no well-defined bits.
        arrays = [array & np.uint8(1) for array in arrays]
    shapes = [f"{name}[{','.join(map(str, array.shape))}]" for array in arrays]
    clean = [array.view(number.held) for array in arrays]
    dirty = [(array | np.uint8(0xFF << number.bits & 0xFF)).view(number.held) for array in arrays]
    computations = f"{ADD}{MORE}{STEP}{DOUBLE}".replace("T[", f"{name}[")
    body = body.replace("T[", f"{name}[")
    given = "".join(f"{variable} = {shape} parameter({k}) " for k, (variable, shape) in enumerate(zip("xyc", shapes, strict=True)))
    constants = "".join(f"{variable} = {shape} constant({_literal(array)}) " for variable, shape, array in zip("xyc", shapes, clean, strict=True))
    modules = [hlotool.parse(f"{computations}ENTRY e {{ {parameters}{body} }}") for parameters in (given, constants)]
    results = []
    for module, arguments in ((modules[0], clean), (modules[0], dirty), (modules[1], [])):
        for executor in ("reference", "plan"):
            assert not upper_bits(module, arguments, executor)
            results.append([np.asarray(leaf).tobytes() for leaf in leaves(hlotool.evaluate(module, arguments, executor=executor))])
    assert all(result == results[0] for result in results)


def _literal(x: Any) -> str:
    if x.ndim:
        return "{" + ", ".join(map(_literal, x)) + "}"
    # Floats are not written as integers, since the integer -0 has no sign.
    return str(float(x)) if NARROW[_NAMES[x.dtype]].kind == "float" else str(int(x))


_NAMES = {number.held: name for name, number in NARROW.items()}
