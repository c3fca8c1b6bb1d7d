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
from hlotool.interp.plan.native import loops

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
