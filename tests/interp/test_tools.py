"""Parts of `hlotool run`: updates in place, memory estimates, random values and comparison."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest

import hlotool
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.engine.allocation import keep_freed_memory
from hlotool.interp.engine.memory_estimate import estimate
from hlotool.interp.engine.observers import Observer
from hlotool.interp.reports.comparison import compare, tolerance_of
from hlotool.shapes.shape import array_shape

# ---- in place ---------------------------------------------------------------------------------------------------------

FILL = """HloModule fill
below { s = (s32[], f32[6]) parameter(0) k = s32[] get-tuple-element(s), index=0 six = s32[] constant(6)
  ROOT go_on = pred[] compare(k, six), direction=LT }
write { s = (s32[], f32[6]) parameter(0) k = s32[] get-tuple-element(s), index=0 a = f32[6] get-tuple-element(s), index=1
  one = s32[] constant(1) next = s32[] add(k, one) x = f32[] convert(k) row = f32[1] reshape(x) b = f32[6] dynamic-update-slice(a, row, k)
  ROOT t = (s32[], f32[6]) tuple(next, b) }
ENTRY e { a = f32[6] parameter(0) zero = s32[] constant(0) s = (s32[], f32[6]) tuple(zero, a)
  w = (s32[], f32[6]) while(s), condition=below, body=write b = f32[6] get-tuple-element(w), index=1 ROOT r = (f32[6], f32[6]) tuple(a, b) }"""


class AddressRecorder(Observer):
    """An observer that records the memory addresses of updated arrays."""

    def __init__(self):
        self.found = []

    def ended(self, where, instruction, operands, value):
        if instruction.opcode == "dynamic-update-slice":
            self.found.append(value.__array_interface__["data"][0])


def test_loop_state_is_updated_in_place_and_arguments_never():
    addresses, argument = AddressRecorder(), np.full(6, 9, np.float32)
    kept, filled = hlotool.evaluate(hlotool.parse(FILL), [argument], observers=[addresses])
    assert filled.tolist() == [0, 1, 2, 3, 4, 5]
    assert kept.tolist() == argument.tolist() == [9] * 6
    assert len(addresses.found) == 6
    assert len(set(addresses.found)) == 1


@pytest.mark.parametrize(
    "other",
    [
        "add(a, a)",  # reads the operand before the update
        "reverse(a), dimensions={0}",  # a view that is read later
        "copy(a)",  # the same array under another name
    ],
)
def test_values_that_are_read_later_are_not_overwritten(other):
    text = f"""ENTRY e {{ x = f32[4] parameter(0) a = f32[4] negate(x) o = f32[4] {other} z = s32[] constant(0) one = f32[1] constant({{1}})
      u = f32[4] dynamic-update-slice(a, one, z) ROOT r = (f32[4], f32[4], f32[4]) tuple(u, o, o) }}"""
    expected = {"a": [-2, -4, -6, -8], "r": [-4, -3, -2, -1], "c": [-1, -2, -3, -4]}[other[0]]
    updated, first, second = hlotool.evaluate(hlotool.parse(text), [[1.0, 2.0, 3.0, 4.0]])
    assert updated.tolist() == [1, -2, -3, -4]
    assert first.tolist() == second.tolist() == expected
    first += 1
    assert second.tolist() == expected


def test_scatter_does_not_overwrite_an_operand_that_is_read_later():
    text = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY e { x = f32[3] parameter(0) a = f32[3] negate(x) i = s32[2] constant({0, 0}) u = f32[2] constant({1, 2})
      s = f32[3] scatter(a, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
      t = f32[3] scatter(s, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
      ROOT r = (f32[3], f32[3]) tuple(a, t) }"""
    before, after = hlotool.evaluate(hlotool.parse(text), [[1.0, 2.0, 3.0]])
    assert (before.tolist(), after.tolist()) == ([-1, -2, -3], [5, -2, -3])


# ---- estimates --------------------------------------------------------------------------------------------------------


def test_estimates_follow_views_and_loops():
    parts = "y = f32[1000] negate(x) z = f32[1000] negate(y) t = f32[10,100] reshape(z) ROOT r = f32[100,10] transpose(t), dimensions={1,0}"
    found = estimate(hlotool.parse(f"ENTRY e {{ x = f32[1000] parameter(0) {parts} }}").entry)
    assert (found.bytes, found.at.name) == (12_000, "z")
    body = "f { p = f32[1000] parameter(0) a = f32[1000] add(p, p) ROOT b = f32[1000] add(a, p) }"
    text = f"HloModule m {body} ENTRY e {{ x = f32[1000] parameter(0) ROOT c = f32[1000] call(x), to_apply=f }}"
    found = estimate(hlotool.parse(text).entry)
    assert (found.bytes, found.at.name) == (12_000, "b")
    limits = hlotool.RunOptions(max_memory=11_999)
    with pytest.raises(hlotool.EvaluationError, match="run-limit"):
        hlotool.evaluate(hlotool.parse(text), [np.zeros(1000)], options=limits)


# ---- random values ----------------------------------------------------------------------------------------------------


def draw(text):
    return random_arguments(hlotool.parse(text), 5)


def test_indices_are_in_range_and_keep_promises():
    update = "add { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }"
    rest = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"
    text = f"""HloModule m {update} ENTRY e {{ a = f32[50] parameter(0) i = s32[40,1] parameter(1) u = f32[40] parameter(2) j = s32[40] reshape(i)
      ROOT s = f32[50] scatter(a, j, u), {rest}, indices_are_sorted=true, unique_indices=true }}"""
    indices = draw(text)[1].reshape(-1).tolist()
    assert len(set(indices)) == 40
    assert indices == sorted(indices)
    assert 0 <= indices[0] <= indices[-1] < 50


def test_one_hot_and_start_indices_go_through_calls_and_loops():
    text = """HloModule m
f { p = (s32[3], s32[]) parameter(0) h = s32[3] get-tuple-element(p), index=0 k = s32[] get-tuple-element(p), index=1
  b = s32[3,7] broadcast(h), dimensions={0} n = s32[3,7] iota(), iota_dimension=1 e = pred[3,7] compare(b, n), direction=EQ
  z = s32[] constant(0) ROOT d = pred[1,7] dynamic-slice(e, k, z), dynamic_slice_sizes={1,7} }
ENTRY e { h = s32[3] parameter(0) k = s32[] parameter(1) t = tuple(h, k) ROOT c = pred[1,7] call(t), to_apply=f }"""
    for seed in range(5):
        hot, k = random_arguments(hlotool.parse(text), seed)
        assert ((hot >= 0) & (hot < 7)).all()
        assert 0 <= k <= 2


def test_functions_get_arguments_in_their_domain():
    text = """ENTRY e { v = f32[9] parameter(0) p = f32[9] parameter(1) d = s32[9] parameter(2) x = bf16[9] parameter(3) n = s32[9] parameter(4)
      eps = f32[] constant(0.001) es = f32[9] broadcast(eps), dimensions={} w = f32[9] add(v, es) r = f32[9] rsqrt(w)
      one = f32[] constant(1) ones = f32[9] broadcast(one), dimensions={} q = f32[9] subtract(ones, p) a = f32[9] log(p) b = f32[9] log(q)
      m = s32[9] remainder(n, d) f = bf16[9] exponential(x) ROOT t = tuple(r, a, b, m, f) }"""
    variance, probability, divisor, exponent, _ = draw(text)
    assert (variance > 0).all()
    assert ((probability > 0) & (probability < 1)).all()
    assert divisor.all()
    assert (np.abs(exponent.astype(np.float32)) <= 4).all()


def test_limits_of_a_clamp_do_not_cross():
    text = """ENTRY e { x = f32[9] parameter(0) six = f32[] parameter(1) low = s32[] parameter(2) k = s32[9] parameter(3) high = s32[] parameter(4)
      zero = f32[] constant(0) z = f32[9] broadcast(zero), dimensions={} s = f32[9] broadcast(six), dimensions={} c = f32[9] clamp(z, x, s)
      i = s32[9] clamp(low, k, high) ROOT t = tuple(c, i) }"""
    for seed in range(5):
        _, six, low, _, high = random_arguments(hlotool.parse(text), seed)
        assert six >= 1
        assert low < high


def test_weights_keep_sums_small():
    text = """ENTRY e { x = f32[4,900] parameter(0) w = f32[900,5] parameter(1)
      ROOT d = f32[4,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
    x, w = draw(text)
    assert 0.9 < x.std() < 1.1
    assert 0.03 < w.std() < 0.036


# ---- memory of the process --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        "ROOT b = f32[1000] opt-barrier(x)",
        "t = (f32[1000]) tuple(x) b = (f32[1000]) opt-barrier(t) ROOT g = f32[1000] get-tuple-element(b), index=0",
    ],
)
def test_a_barrier_takes_no_memory(parts: str) -> None:
    # The result is a copy of the argument, since the caller owns the result.
    assert estimate(hlotool.parse(f"ENTRY e {{ x = f32[1000] parameter(0) {parts} }}").entry).bytes == 8000
    assert estimate(hlotool.parse("ENTRY e { ROOT x = f32[1000] parameter(0) }").entry).bytes == 8000


def test_the_c_library_is_asked_to_keep_freed_memory(monkeypatch):
    asked = []

    class Library:
        def mallopt(self, parameter, value):
            asked.append((parameter, value))
            return 1

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    assert keep_freed_memory()
    # M_MMAP_MAX is 0, so that no array is mapped directly, and M_TRIM_THRESHOLD is -1, so that no
    # memory is returned to the system.
    assert asked == [(-4, 0), (-1, -1)]


def test_a_library_without_these_functions_changes_nothing(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not keep_freed_memory()


# ---- comparison -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "ours", "theirs", "mismatches", "ulps"),
    [
        ("f32", [1.0, np.nan, np.inf], [np.nextafter(np.float32(1), np.float32(2)), np.nan, np.inf], 0, 1),
        ("f32", [0.0, 1.0], [-0.0, np.nan], 1, 0),
        ("f64", [1.0], [1 + 1e-8], 1, 45035996),
        ("bf16", [1.0], [1.0078125], 0, 1),
        ("f8e4m3fn", [1.0, 8.0], [1.25, 16.0], 1, 8),
        ("f32", [np.inf], [-np.inf], 1, 0),
        ("s8", [1, 2], [1, -128], 1, None),
        ("pred", [True], [False], 1, None),
    ],
)
def test_differences(kind, ours, theirs, mismatches, ulps):
    held = {"bf16": ml_dtypes.bfloat16, "f8e4m3fn": ml_dtypes.float8_e4m3fn, "pred": np.bool_, "s8": np.int8, "f64": np.float64}.get(kind, np.float32)
    shape = array_shape(kind, (len(ours),))
    found = compare("x", shape, np.array(ours, held), np.array(theirs, held), tolerance_of(kind))
    assert (found.mismatches, found.greatest_ulps) == (mismatches, ulps)
    assert found.agrees == (not mismatches)
    assert len(found.worst) == mismatches


@pytest.mark.parametrize(
    ("kind", "ours", "theirs", "absolute", "relative"),
    [
        # The last of many differences is the largest one, and a small difference has the largest
        # ratio.
        ("s32", [*range(1, 70_000), 100], [*range(2, 70_001), 900], 800, 800 / 900),
        ("s32", [5, 5, 5, 5, 5, 5, 3], [100, 100, 100, 100, 100, 100, 0], 95, np.inf),
        ("u8", [0, 255], [255, 255], 255, 1),
        ("s8", [-128], [127], 255, 255 / 127),
        ("s64", [-(2**63)], [2**63 - 1], 2**64, 2),
        ("pred", [True, False], [False, False], 1, np.inf),
    ],
)
def test_differences_of_integers(kind, ours, theirs, absolute, relative):
    dtype = {"s8": np.int8, "u8": np.uint8, "s32": np.int32, "s64": np.int64, "pred": np.bool_}[kind]
    found = compare("x", array_shape(kind, (len(ours),)), np.array(ours, dtype), np.array(theirs, dtype), tolerance_of(kind))
    assert (found.greatest_absolute, found.greatest_relative) == (absolute, relative)
    assert found.worst[0].absolute == absolute
    assert [d.absolute for d in found.worst] == sorted((d.absolute for d in found.worst), reverse=True)


def test_integers_are_compared_with_floats():
    found = compare("x", array_shape("s32", (2,)), np.array([1, 2], np.int32), np.array([1, 2.5], np.float32), tolerance_of("s32"))
    assert (found.mismatches, found.greatest_absolute, found.greatest_relative) == (1, 0.5, 0.2)
