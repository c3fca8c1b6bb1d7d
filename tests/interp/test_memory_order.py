"""The memory order of operands, which must not affect the results.

Every executor computes the same bits from views as from dense arrays.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from case_files import case_devices, device_values, read_cases
from executors import small_blocks
from instances import FAMILIES, module_of, random_instance
from memory_forms import FORMS, computation_disagreement, in_form, view_disagreement

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.literal_values import literal_array
from hlotool.interp.arrays.values import leaves
from hlotool.interp.engine.program import Programs
from hlotool.interp.kernels.table import OPS
from hlotool.interp.plan.loop_layouts import required_orders
from hlotool.interp.plan.lowering import CallGraph, Lowering
from hlotool.interp.plan.operations import Loop
from hlotool.ir.model import Module
from hlotool.literals.parse import parse_literal

FOLDER = Path(__file__).parent.parent
# Opcodes whose kernels are called only in runs on several devices, as in tests/devices.
DEVICE_OPCODES = {
    x.opcode
    for path in (FOLDER / "devices").glob("*.hlo")
    for case in read_cases(path)
    for x in hlotool.parse(case.text, strict=False).all_instructions()
}
# Opcodes without array operands, and opcodes for the later parts of asynchronous operations.
ARRAYLESS_OPCODES = {"after-all", "async-done", "async-update", "copy-done", "get-tuple-element", "iota", "rng", "rng-get-and-update-state"}


def modules_of(opcode: str) -> list[tuple[Module, list[Any]]]:
    """Returns the test cases and random instances of an opcode, with arguments."""
    found: list[tuple[Module, list[Any]]] = []
    path = FOLDER / "ops" / f"{opcode}.hlo"
    for case in read_cases(path) if path.exists() else ():
        try:
            found.append((hlotool.parse(case.text), []))
        except HlotoolError:
            continue
    random = Random(opcode)
    family = opcode.replace("-", "_")
    if family in FAMILIES:
        instances = [random_instance(random, [family], most) for most in (40, 40, 40, 300, 300, 2000)]
        found += [(hlotool.parse(module_of([x])), x.arrays) for x in instances]
    return found


@pytest.mark.parametrize("opcode", sorted(name for name, op in OPS.items() if op.kernel is not None))
def test_kernels(opcode: str) -> None:
    seen: Counter[str] = Counter()
    for module, arguments in modules_of(opcode):
        assert computation_disagreement(module, arguments, Random(1), seen) is None
    assert seen[opcode] or opcode in DEVICE_OPCODES or opcode in ARRAYLESS_OPCODES, "no case has an array operand with dimensions"


@pytest.mark.parametrize("name", FAMILIES)
def test_views_in_modules(name: str) -> None:
    random = Random(name)
    for most in (40, 40, 300, 3000):
        x = random_instance(random, [name], most)
        assert view_disagreement(x, random) is None
        with small_blocks():
            assert view_disagreement(x, random) is None


@pytest.mark.parametrize("path", sorted((FOLDER / "devices").glob("*.hlo")), ids=lambda path: path.stem)
def test_devices(path: Path) -> None:
    for case in read_cases(path):
        module = hlotool.parse(case.text, strict=False)
        replicas, partitions = case_devices(case.text)
        shapes = [leaf for parameter in module.entry.parameters for leaf in parameter.shape.leaves()]
        texts = [device_values(case.text, "input", k) for k in range(replicas * partitions)]
        arguments = [
            [literal_array(parse_literal(shape, text)) for shape, text in zip(shapes, device_arrays, strict=True)] for device_arrays in texts
        ]
        results = []
        for form in (None, *FORMS):
            given = [[argument if form is None else in_form(argument, form) for argument in device_arrays] for device_arrays in arguments]
            try:
                values = hlotool.evaluate_replicas(module, given, num_partitions=partitions, executor="reference")
                results.append([np.asarray(leaf).tobytes() for value in values for leaf in leaves(value)])
            except HlotoolError:
                results.append([])
        assert all(other == results[0] for other in results[1:]), case.text


# ---- sums and products --------------------------------------------------------------------------------------------------


PRODUCTS = [
    (1, 33, 1), (1, 65, 2), (2, 8, 1), (2, 512, 512), (1, 300, 70), (33, 300, 33), (100, 100, 100), (70, 300, 1), (128, 128, 128), (2, 700, 800),
    (1000, 300, 4),
]  # fmt: skip


@pytest.mark.parametrize("sizes", PRODUCTS, ids=str)
@pytest.mark.parametrize("element_type", ["f32", "f64", "c64"])
def test_products(sizes: tuple[int, int, int], element_type: str) -> None:
    """Checks products, which NumPy computes in a way that depends on sizes and memory order."""
    rows, contracted, columns = sizes
    text = f"""ENTRY e {{ x = {element_type}[{rows},{contracted}] parameter(0) y = {element_type}[{contracted},{columns}] parameter(1)
      ROOT r = {element_type}[{rows},{columns}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"""
    dtype = {"f32": np.float32, "f64": np.float64, "c64": np.complex64}[element_type]
    numpy = np.random.default_rng(1)
    arguments = [numpy.standard_normal(shape).astype(dtype) for shape in ((rows, contracted), (contracted, columns))]
    module = hlotool.parse(text)
    assert computation_disagreement(module, arguments, Random(1)) is None
    results = [hlotool.evaluate(module, arguments, executor="reference").tobytes()]
    results += [hlotool.evaluate(module, [in_form(x, form) for x in arguments], executor="plan").tobytes() for form in FORMS]
    assert len(set(results)) == 1


@pytest.mark.parametrize("rows", [2, 7, 33])
@pytest.mark.parametrize("executor", ["reference", "plan"])
def test_the_product_of_a_matrix_and_its_transpose(rows: int, executor: str) -> None:
    """Checks symmetric products, for which NumPy has a function that sums in another order."""
    text = f"""ENTRY e {{ x = f32[{rows},300] parameter(0) y = f32[{rows},300] parameter(1)
      ROOT r = f32[{rows},{rows}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}} }}"""
    module, x = hlotool.parse(text), np.random.default_rng(1).standard_normal((rows, 300)).astype(np.float32)
    assert hlotool.evaluate(module, [x, x], executor=executor).tobytes() == hlotool.evaluate(module, [x, x.copy()], executor=executor).tobytes()


def test_layouts() -> None:
    """Checks that a layout determines the operand's memory order, even if the operand is a view."""
    text = """ENTRY e { x = f32[1,300] parameter(0) y = f32[300,70]{0,1} parameter(1)
      ROOT r = f32[1,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
    viewed = text.replace(
        "y = f32[300,70]{0,1} parameter(1)", "z = f32[70,300]{1,0} parameter(1) y = f32[300,70]{0,1} transpose(z), dimensions={1,0}"
    )
    numpy = np.random.default_rng(1)
    x, y = numpy.standard_normal((1, 300)).astype(np.float32), numpy.standard_normal((300, 70)).astype(np.float32)

    def results(module: str, array: Any) -> set[bytes]:
        arguments = [[x, np.array(array, order=order)] for order in ("C", "F")]
        return {hlotool.evaluate(hlotool.parse(module), a, executor=executor).tobytes() for a in arguments for executor in ("reference", "plan")}

    assert len(results(text, y)) == len(results(text.replace("{0,1}", ""), y)) == 1
    assert results(viewed, y.T) == results(text, y)


SUMS = [((3, 3000, 20), (1,)), ((5, 600, 50), (1,)), ((381, 172, 20), (1,)), ((4, 20, 800, 30), (1, 2)), ((70001, 16), (1,)), ((2, 40000), (1,))]


@pytest.mark.parametrize(("sizes", "axes"), SUMS, ids=str)
def test_sums_in_blocks(sizes: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Checks that a block of a few rows is summed in the same order as the whole array."""
    kept = [size for k, size in enumerate(sizes) if k not in axes]
    text = f"""add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
      ENTRY e {{ x = f32{list(sizes)} parameter(0) y = f32{list(sizes)} exponential(x) zero = f32[] constant(0)
      ROOT r = f32{kept} reduce(y, zero), dimensions={{{", ".join(map(str, axes))}}}, to_apply=add }}"""
    module, x = hlotool.parse(text.replace(", ", ",")), np.random.default_rng(1).standard_normal(sizes).astype(np.float32)
    results = {hlotool.evaluate(module, [x], executor=executor).tobytes() for executor in ("reference", "plan")}
    assert len(results) == 1


@pytest.mark.parametrize("element_type", ["f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("exponent", ["2", "0.5", "-1", "3", "0"])
def test_powers(element_type: str, exponent: str) -> None:
    """Checks powers with equal exponents.

    If all exponents are a single number in memory, NumPy uses special functions for squares, roots
    and reciprocals.
    """
    number = f"({exponent}, 0)" if element_type.startswith("c") else exponent
    text = f"""ENTRY e {{ x = {element_type}[70] parameter(0) n = {element_type}[] constant({number})
      y = {element_type}[70] broadcast(n), dimensions={{}} ROOT r = {element_type}[70] power(x, y) }}"""
    dense = text.replace("y = ", f"y = {element_type}[70] parameter(1) z = ")
    numpy = np.random.default_rng(1)
    x = numpy.standard_normal(70) + (1j * numpy.standard_normal(70) if element_type.startswith("c") else 0)
    x = x.astype({"f32": "f4", "f64": "f8", "c64": "c8", "c128": "c16"}[element_type])
    expected = hlotool.evaluate(hlotool.parse(dense), [x, np.full(70, complex(exponent) if x.dtype.kind == "c" else float(exponent), x.dtype)])
    for executor in ("reference", "plan"):
        assert hlotool.evaluate(hlotool.parse(text), [x], executor=executor).tobytes() == expected.tobytes()


GRADIENTS = {
    "few images": "x = f32[3,9,12,5] parameter(0) y = f32[9,12,5,4] parameter(1) ROOT r = convolution(x, y), window={size=9x12 pad=1_1x1_1}, $",
    "many images": "x = f32[40,3,4,5] parameter(0) y = f32[3,4,5,4] parameter(1) ROOT r = convolution(x, y), window={size=3x4 pad=1_1x1_1}, $",
    "groups": """x = f32[2,9,12,6] parameter(0) y = f32[9,12,3,4] parameter(1)
      ROOT r = convolution(x, y), window={size=9x12 pad=1_1x1_1}, feature_group_count=2, $""",
    "infinite kernels": """x = f32[3,9,12,5] parameter(0) z = f32[9,12,5,4] parameter(1) c = f32[] constant(inf)
      b = f32[9,12,5,4] broadcast(c), dimensions={}
      y = f32[9,12,5,4] multiply(z, b) ROOT r = convolution(x, y), window={size=9x12 pad=1_1x1_1}, $""",
    "complex": "x = c64[2,5,7,5] parameter(0) y = c64[5,7,5,4] parameter(1) ROOT r = convolution(x, y), window={size=5x7 pad=1_1x1_1}, $",
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_convolutions_with_large_windows(name: str) -> None:
    """Checks convolutions that read views in place; only the sizes decide the method."""
    module = hlotool.parse(f"ENTRY e {{ {GRADIENTS[name].replace('$', 'dim_labels=b01f_01io->b01f')} }}")
    arguments = random_arguments(module, 1)
    assert computation_disagreement(module, arguments, Random(1)) is None
    results = {np.asarray(hlotool.evaluate(module, arguments, executor="reference")).tobytes()}
    for form in FORMS:
        given = [in_form(x, form) for x in arguments]
        results.update(np.asarray(hlotool.evaluate(module, given, executor=executor)).tobytes() for executor in ("reference", "plan"))
    assert len(results) == 1


# ---- loops --------------------------------------------------------------------------------------------------------------


CACHE = """more { s = (s32[], f32[60,80], f32[8,60], f32[1,80]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT }
step { s = (s32[], f32[60,80], f32[8,60], f32[1,80]) parameter(0) i = s32[] get-tuple-element(s), index=0
  k = f32[60,80] get-tuple-element(s), index=1 o = f32[8,60] get-tuple-element(s), index=2 x = f32[1,80] get-tuple-element(s), index=3
  z = s32[] constant(0) one = s32[] constant(1) j = s32[] add(i, one) UPDATE
  t = f32[80,60] transpose(l), dimensions={1,0} w = f32[1,60] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  p = f32[8,60] dynamic-update-slice(o, w, i, z) h = f32[] constant(0.25)
  b = f32[1,80] broadcast(h), dimensions={} v = f32[1,80] multiply(x, b)
  ROOT r = (s32[], f32[60,80], f32[8,60], f32[1,80]) tuple(j, NEXT, p, v) }
ENTRY e { k = f32[60,80] parameter(0) o = f32[8,60] parameter(1) x = f32[1,80] parameter(2) i = s32[] constant(0)
  s = (s32[], f32[60,80], f32[8,60], f32[1,80]) tuple(i, k, o, x)
  ROOT r = (s32[], f32[60,80], f32[8,60], f32[1,80]) while(s), condition=more, body=step }"""
UPDATES = {
    # Each row has the update, the next state, and True if the array is stored in transposed order.
    "updated in place": ("l = f32[60,80] dynamic-update-slice(k, x, i, z)", "l", True),
    "read without an update": ("l = f32[60,80] copy(k)", "k", True),
    "through reshapes": ("q = f32[1,60,1,80] reshape(k) l = f32[60,80] reshape(q)", "k", True),
    "read in both orders": (
        """l = f32[60,80] dynamic-update-slice(k, x, i, z) u = f32[1,60] slice(o), slice={[0:1], [0:60]}
           a = f32[1,80] dot(u, l), lhs_contracting_dims={1}, rhs_contracting_dims={0}
           g = f32[60,80] dynamic-update-slice(l, a, i, z)""",
        "g",
        False,
    ),
    "computed anew": ("l = f32[60,80] exponential(k)", "l", False),
    "read by other instructions": ("l = f32[60,80] dynamic-update-slice(k, x, i, z) g = f32[60,80] negate(l)", "g", False),
    "updated by its own rows": ("g = f32[1,80] slice(k), slice={[0:1], [0:80]} l = f32[60,80] dynamic-update-slice(k, g, i, z)", "l", False),
}


@pytest.mark.parametrize("name", UPDATES)
def test_arrays_in_loops(name: str) -> None:
    """Checks that an array is copied once if a loop reads only transposed views of it.

    Otherwise, each iteration copies the views; the results are the same in both cases.
    """
    update, following, is_kept = UPDATES[name]
    module = hlotool.parse(CACHE.replace("UPDATE", update).replace("NEXT", following))
    arguments = random_arguments(module, 3)
    results = {
        tuple([np.asarray(leaf).tobytes() for leaf in leaves(hlotool.evaluate(module, given, executor=executor))])
        for given in (arguments, [in_form(x, "transposed") for x in arguments])
        for executor in ("reference", "plan")
    }
    assert len(results) == 1
    region = Lowering(Programs(hlotool.RunOptions()), CallGraph(module.entry)).region(module.entry)
    (orders,) = [required_orders(operation) for operation in region.operations if isinstance(operation, Loop)]
    assert list(orders.values()) == [((1, 0), (1, 0))] * is_kept
