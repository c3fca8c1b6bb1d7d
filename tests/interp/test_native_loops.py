"""Compiled loops over numbers and small arrays, which compute the same bits as uncompiled loops.

The results are the same whether LLVM or Python runs the generated source.
"""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from case_files import read_cases
from executors import disagreement, small_blocks
from looped import compiled_clusters, compiled_loops, looped

import hlotool
from hlotool.interp.plan.native import integer_products, loops

CASES = Path(__file__).with_name("small_loops.hlo")
FILES = sorted((CASES.parent.parent / "ops").glob("*.hlo"))


def modules(path: Path) -> list[hlotool.ir.model.Module]:
    """Returns the valid modules of a file that can be wrapped in a loop, each in such a loop."""
    found = []
    for case in read_cases(path):
        try:
            module = hlotool.parse(case.text)
        except hlotool.ParseError:
            continue
        if not any(diagnostic.severity == "error" for diagnostic in hlotool.verify(module)):
            found.append(looped(module))
    return [module for module in found if module is not None]


@pytest.mark.parametrize("with_llvm", [False, True])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_operations_in_a_loop(path, with_llvm):
    for module in modules(path):
        # In a loop, operations on constants are not folded.
        with small_blocks(), compiled_loops(with_llvm=with_llvm):
            assert disagreement(str(module)) is None, str(module)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_operations_in_clusters(path):
    for case in read_cases(path):
        with small_blocks(), compiled_clusters():
            assert disagreement(case.text) is None, case.text


@pytest.mark.parametrize("with_llvm", [False, True])
def test_small_arrays(with_llvm):
    (module,) = modules(CASES)
    with compiled_loops(with_llvm=with_llvm) as sources:
        assert disagreement(str(module), inputs=4) is None
    assert sources, "nothing was compiled"


ROWS = """HloModule rows
combine { a = TYPE[] parameter(0) b = TYPE[] parameter(1) ROOT c = TYPE[] OPCODE(a, b) }
ENTRY e { x = TYPE[1001,LENGTH] parameter(0) y = TYPE[1001,LENGTH] cosine(x) init = TYPE[] constant(INIT)
  r = TYPE[1001] reduce(y, init), dimensions={1}, to_apply=combine w = TYPE[1001,LENGTH] broadcast(r), dimensions={0}
  d = TYPE[1001,LENGTH] subtract(y, w) s = TYPE[1001] reduce(d, init), dimensions={1}, to_apply=combine
  ROOT t = (TYPE[1001,LENGTH], TYPE[1001]) tuple(d, s) }"""


@pytest.mark.parametrize("length", [17, 100, 200, 1000, 2048])
@pytest.mark.parametrize(("opcode", "init"), [("add", "0"), ("maximum", "-inf"), ("minimum", "inf")])
@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_long_rows_in_clusters(element_type, opcode, init, length):
    """Checks reductions in tiles: sums have the order of NumPy's partial sums."""
    text = ROWS.replace("TYPE", element_type).replace("LENGTH", str(length)).replace("OPCODE", opcode).replace("INIT", init)
    with compiled_clusters() as sources:
        assert disagreement(text, inputs=1) is None
    assert any("for tile" in source.text and "for j" in source.text for source in sources), "no row was reduced in machine code"


@pytest.mark.parametrize("element_type", ["s8", "u8"])
@pytest.mark.parametrize("dimensions", ["lhs_contracting_dims={1}, rhs_contracting_dims={0}", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"])
@pytest.mark.parametrize("variant", integer_products._VARIANTS, ids=lambda variant: variant.feature)
def test_products_of_bytes(variant, element_type, dimensions):
    """Checks products in machine code, on processors that multiply bytes."""
    left, right = ("202,131", "131,193") if "lhs_contracting_dims={1}" in dimensions else ("131,202", "193,131")
    text = f"ENTRY e {{ x = {element_type}[{left}] parameter(0) y = s8[{right}] parameter(1) ROOT r = s32[202,193] dot(x, y), {dimensions} }}"
    with patch.multiple(integer_products, _SECONDS=float("-inf"), _VARIANTS=(variant,)):
        assert disagreement(text, inputs=2) is None


UPDATES = """HloModule updates
combine { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
more { s = (s32[], f32[3000], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(90)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[3000], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[3000] get-tuple-element(s), index=1
  y = f32[4] get-tuple-element(s), index=2 one = s32[] constant(1) next = s32[] add(i, one)
  early = f32[4] dynamic-slice(x, next), dynamic_slice_sizes={4} z = f32[4] add(y, early)
  u = f32[3000] UPDATE late = f32[4] dynamic-slice(u, i), dynamic_slice_sizes={4} w = f32[4] multiply(z, late)
  ROOT t = (s32[], f32[3000], f32[4]) tuple(next, u, w) }
ENTRY e { x = f32[3000] parameter(0) y = f32[4] parameter(1) i = s32[] constant(0) s = (s32[], f32[3000], f32[4]) tuple(i, x, y)
  ROOT r = (s32[], f32[3000], f32[4]) while(s), condition=more, body=body }"""


@pytest.mark.parametrize(
    "update",
    [
        "dynamic-update-slice(x, z, i)",
        "scatter(x, i, z), update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=combine",
    ],
)
def test_long_arrays_that_are_updated_in_place(update):
    """Checks loops that read parts of an array before and after they update it."""
    with compiled_loops(with_llvm=True) as sources:
        assert disagreement(UPDATES.replace("UPDATE", update), inputs=3) is None
    assert sources, "nothing was compiled"


@pytest.mark.parametrize("read", ["slice(x), slice={[7:11]}", "dynamic-slice(x, i), dynamic_slice_sizes={4}"])
def test_arrays_that_are_read_after_an_update(read):
    """Checks that an array is copied if it is read after its update, or shares its memory."""
    text = UPDATES.replace("3000", "30").replace("90", "9").replace("UPDATE", "dynamic-update-slice(x, z, i)")
    text = text.replace("late = f32[4] dynamic-slice(u, i), dynamic_slice_sizes={4}", f"late = f32[4] {read}")
    with compiled_loops(with_llvm=True) as sources:
        assert disagreement(text, inputs=3) is None
    assert sources, "nothing was compiled"


PRODUCTS = """ENTRY e { x = f64[2,4] parameter(0) y = f64[4] parameter(1) VIEW
  ROOT r = f64[2,4] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""


@pytest.mark.parametrize("view", ["broadcast(y), dimensions={0}", "broadcast(y), dimensions={1}", "iota(), iota_dimension=1"])
def test_products_of_views(view):
    """Checks products of operands that have gaps or elements that share memory.

    NumPy sums such operands in another order; compiled loops always pass a dense array.
    """
    module = looped(hlotool.parse(PRODUCTS.replace("VIEW", f"v = f64[4,4] {view}")))
    with compiled_loops(with_llvm=False) as sources:
        assert disagreement(str(module), inputs=4) is None
    assert sources, "nothing was compiled"


def test_the_product_of_a_matrix_and_its_transpose():
    """Checks a symmetric product, for which NumPy has a function that sums in another order."""
    text = "ENTRY e { x = f64[4,33] parameter(0) ROOT r = f64[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1} }"
    with compiled_loops(with_llvm=False) as sources:
        assert disagreement(str(looped(hlotool.parse(text)))) is None
    assert sources, "nothing was compiled"


WIDER = """wider { a = f64[] parameter(0) b = f64[] parameter(1) ROOT c = f64[] add(a, b) }
ENTRY e { x = f32[2] parameter(0) i = s32[8] parameter(1) y = f32[8] parameter(2) zero = f32[] constant(0) ROOT r = RESULT, to_apply=wider }"""


@pytest.mark.parametrize(
    "result",
    [
        "f32[] reduce(y, zero), dimensions={0}",
        "f32[2] scatter(x, i, y), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
    ],
)
def test_reducers_with_wider_numbers_round_at_the_end(result):
    """Checks reducers of a wider type: they are valid in a scatter, but an error in a reduce."""
    module = looped(hlotool.parse(WIDER.replace("RESULT", result)))
    with compiled_loops(with_llvm=False):
        assert disagreement(str(module), inputs=6) is None


NESTED = """HloModule nested
few { s = (s32[], s32[3]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(INNER) ROOT c = pred[] compare(i, n), direction=LT }
inner { s = (s32[], s32[3]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1) next = s32[] add(i, one)
  x = s32[3] get-tuple-element(s), index=1 w = s32[3] broadcast(i), dimensions={} y = s32[3] add(x, w) ROOT t = (s32[], s32[3]) tuple(next, y) }
more { s = (s32[], s32[3]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(OUTER)
  ROOT c = pred[] compare(i, n), direction=NE }
outer { s = (s32[], s32[3]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1) next = s32[] add(i, one)
  x = s32[3] get-tuple-element(s), index=1 zero = s32[] constant(0) begin = (s32[], s32[3]) tuple(zero, x)
  w = (s32[], s32[3]) while(begin), condition=few, body=inner y = s32[3] get-tuple-element(w), index=1 ROOT t = (s32[], s32[3]) tuple(next, y) }
ENTRY e { x = s32[3] parameter(0) zero = s32[] constant(0) s = (s32[], s32[3]) tuple(zero, x)
  w = (s32[], s32[3]) while(s), condition=more, body=outer ROOT r = s32[3] get-tuple-element(w), index=1 }"""


def nested(outer: int, inner: int) -> hlotool.ir.model.Module:
    return hlotool.parse(NESTED.replace("OUTER", str(outer)).replace("INNER", str(inner)))


def test_a_loop_is_compiled_while_it_runs():
    with (
        compiled_loops(with_llvm=True) as sources,
        patch.object(loops, "_SECONDS", 1e-6),
        patch.object(loops, "seconds_to_load", lambda: 0.0),
        patch.multiple(loops, _SECONDS_PER_NUMBER=0.0, _SECONDS_PER_ARRAY=0.0, _SECONDS_PER_PAIR=0.0, _SECONDS_PER_STEP=0.0),
    ):
        compiled = hlotool.compile(nested(10_000, 20))
        assert compiled(np.zeros(3, np.int32)).tolist() == [1_900_000] * 3
        assert compiled(np.ones(3, np.int32)).tolist() == [1_900_001] * 3
    assert len(sources) == 1


def test_a_loop_that_ends_soon_is_not_compiled():
    with compiled_loops(with_llvm=False) as sources, patch.object(loops, "_SECONDS", 5.0):
        assert hlotool.evaluate(nested(200, 2), [np.zeros(3, np.int32)]).tolist() == [200] * 3
    assert not sources


def test_inner_loops_that_take_too_long_are_left_to_python():
    with compiled_loops(with_llvm=True), patch.object(loops, "_TOO_MUCH_WORK", 1000):
        assert hlotool.evaluate(nested(3, 2000), [np.zeros(3, np.int32)]).tolist() == [5_997_000] * 3


@pytest.mark.parametrize(
    ("outer", "inner", "options", "message"),
    [
        (-1, 3, {"timeout_seconds": 0.5}, "took longer than 0.5 s"),
        (-1, 3, {"max_iterations": 1000}, "did not end after 1000 iterations"),
        (10, 2000, {"max_iterations": 1000}, "did not end after 1000 iterations"),
    ],
)
def test_limits_hold(outer, inner, options, message):
    with compiled_loops(with_llvm=True), patch.object(loops, "_SECONDS_TO_COMPILE", 0.0), pytest.raises(hlotool.EvaluationError, match=message):
        hlotool.evaluate(nested(outer, inner), [np.zeros(3, np.int32)], options=hlotool.RunOptions(**options))
