"""Behavior of `evaluate` beyond single opcodes: arguments, errors, limits and depth."""

from __future__ import annotations

import warnings
from collections import deque

import ml_dtypes
import numpy as np
import pytest

import hlotool
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.values import leaves
from hlotool.interp.evaluator import compute

NEGATE = "ENTRY e {{ x = {0} parameter(0) ROOT r = {0} negate(x) }}"


def run(text: str, *arguments: object, **options: object) -> object:
    return hlotool.evaluate(hlotool.parse(text), arguments, options=hlotool.RunOptions(**options))


def diagnostics_of(text: str, *arguments: object, **options: object) -> list[hlotool.Diagnostic]:
    with pytest.raises(hlotool.EvaluationError) as caught:
        run(text, *arguments, **options)
    return caught.value.diagnostics


# ---- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "argument", "dtype"),
    [
        ("f32[2]", [1.0, 2.0], np.float32),
        ("bf16[2]", np.array([1.0, 2.0]), ml_dtypes.bfloat16),
        ("f8e4m3fn[2]", np.array([1.0, 2.0], ml_dtypes.bfloat16), ml_dtypes.float8_e4m3fn),
        ("s4[2]", [1, 2], ml_dtypes.int4),
        ("s8[2]", np.array([1, 2], np.uint64), np.int8),
        ("c64[2]", [1 + 0j, 2 + 0j], np.complex64),
        ("s64[]", 7, np.int64),
    ],
)
def test_arguments_are_converted_within_their_kind(shape, argument, dtype):
    result = run(NEGATE.format(shape), argument)
    assert result.dtype == dtype
    assert (result.astype(complex) == -np.asarray(argument).astype(complex)).all()


@pytest.mark.parametrize(
    ("shape", "argument", "words"),
    [
        ("f32[2]", [1, 2**24 + 1], "'x' takes f32[2], which cannot hold 16777217 exactly"),
        ("f32[2]", [True, False], "'x' takes f32[2], got an array of bool"),
        ("f32[2]", {"a": 1.0}, "'x' takes f32[2], got an object of type dict"),
        ("f32[2]", [{}, {}], "got an object of type list that NumPy cannot convert to an array of numbers"),
        ("s32[]", 2**70, "got an object of type int that NumPy cannot convert to an array of numbers"),
        ("s32[2]", [1.0, 2.0], "got an array of float64"),
        ("s8[2]", [1, 200], "cannot hold 200"),
        ("f32[2]", [1.0], "got an array with the dimensions [1]"),
        ("f32[2]", [[1.0], [2.0, 3.0]], "not an array"),
        ("(f32[2], s32[])", [1.0], "takes a tuple of length 2, got length 1"),
        ("(f32[2], token[])", ([1.0, 2.0], 0), "'x', element 1, takes a token, got an object of type int"),
        ("f32[2]", "ab", "got an array"),
    ],
)
def test_wrong_arguments_name_the_parameter(shape, argument, words):
    (found,) = diagnostics_of(f"HloModule m\nENTRY e {{\n  x = {shape} parameter(0)\n  ROOT r = {shape} copy(x)\n}}", argument)
    assert words in found.message
    assert (found.code, found.line, found.column) == ("R002", 3, 3)


def test_wrong_count_of_arguments():
    (found,) = diagnostics_of(NEGATE.format("f32[]"), 1.0, 2.0)
    assert found.message == "wrong number of arguments for 'e': expected 1, got 2"


@pytest.mark.parametrize("arguments", [2.0, 1, None, np.float32(2), np.array(2.0)])
def test_a_single_argument_must_be_in_a_list(arguments):
    module = hlotool.parse(NEGATE.format("f32[]"))
    calls = [
        lambda: hlotool.evaluate(module, arguments),
        lambda: hlotool.evaluate_replicas(module, arguments),
        lambda: hlotool.evaluate_replicas(module, [arguments]),
        lambda: compute(module.entry.root, arguments),
    ]
    for call in calls:
        with pytest.raises(hlotool.EvaluationError, match=f"must be a list, got an object of type {type(arguments).__name__}") as caught:
            call()
        assert caught.value.diagnostics[0].hint.startswith("pass a list")


def test_arguments_may_be_an_iterator():
    module = hlotool.parse(NEGATE.format("f32[]"))
    assert hlotool.evaluate(module, iter([2.0])) == -2
    assert hlotool.evaluate_replicas(module, (iter([x]) for x in (2.0, 3.0))) == [-2, -3]
    assert hlotool.evaluate(module, deque([2.0])) == -2


def test_tuples_are_passed_nested_or_leaf_by_leaf():
    text = "ENTRY e { x = (f32[], (s32[], f32[])) parameter(0) ROOT r = (s32[], f32[]) get-tuple-element(x), index=1 }"
    assert run(text, (1.0, (2, 3.0))) == run(text, 1.0, 2, 3.0) == (2, 3)


def test_results_belong_to_the_caller():
    argument = np.zeros(2, np.float32)
    result = run(
        "ENTRY e { x = f32[2] parameter(0) ROOT r = (f32[2], f32[2,2]) tuple(x, y) }".replace(
            "ROOT", "y = f32[2,2] broadcast(x), dimensions={1} ROOT"
        ),
        argument,
    )
    for leaf in result:
        leaf += 1
    assert not argument.any()
    assert result[1].tolist() == [[1, 1], [1, 1]]


def test_random_arguments_are_the_same_on_all_systems():
    module = hlotool.parse("ENTRY e { a = (f32[2], pred[3]) parameter(0) b = u4[4] parameter(1) ROOT r = u4[4] not(b) }")
    first, again, other = (random_arguments(module, seed) for seed in (3, 3, 4))
    assert [x.tolist() for x in leaves(first)] == [x.tolist() for x in leaves(again)]
    assert [x.tolist() for x in leaves(first)] != [x.tolist() for x in leaves(other)]
    assert first[0][0].tolist() == [2.040919065475464, -2.5556650161743164]


# ---- modules that cannot be run ---------------------------------------------------------------------------------------


def test_all_missing_opcodes_are_named_before_anything_runs():
    text = """HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] custom-call(x), custom_call_target="f"
  ROOT z = f32[2] custom-call(y), custom_call_target="g"
}"""
    found = diagnostics_of(text, "not even looked at")
    assert [(d.code, d.line, d.column, d.instruction) for d in found] == [("R001", 4, 3, "y"), ("R001", 5, 8, "z")]


def test_elided_constants_need_an_option():
    text = "ENTRY e { ROOT c = f32[3] constant({...}) }"
    (found,) = diagnostics_of(text)
    assert found.code == "R003"
    assert run(text, elided_fill="zeros").tolist() == [0, 0, 0]
    assert run(text, elided_fill="ones").tolist() == [1, 1, 1]
    assert run(text, elided_fill="iota").tolist() == [0, 1, 2]
    assert run(text, elided_fill="random").tolist() == run(text, elided_fill="random").tolist()


def test_a_wrong_declared_shape_is_reported():
    (found,) = diagnostics_of("HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[3] negate(x)\n}", [1.0, 2.0])
    assert (found.code, found.line) == ("R004", 4)
    assert found.message == "the result of 'negate' is float32[2], not f32[3] as written"


def test_errors_of_numpy_become_evaluation_errors():
    (found,) = diagnostics_of("ENTRY e { x = f32[2,3] parameter(0) ROOT r = f32[5,2] bitcast(x) }", np.zeros((2, 3)))
    assert found.code == "R004"
    assert found.message == "'bitcast' cannot be computed: cannot reshape array of size 6 into shape (5,2)"
    assert found.hint == "check the module with hlotool verify"


@pytest.mark.parametrize("executor", ["reference", "plan"])
def test_a_computation_applied_to_other_values(executor):
    text = "f { a = f32[] parameter(0) b = f32[4] parameter(1) ROOT c = f32[] negate(a) } "
    module = hlotool.parse(text + "ENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] map(x), dimensions={0}, to_apply=f }")
    with pytest.raises(hlotool.EvaluationError, match="'f' is applied to values that do not match its parameters"):
        hlotool.evaluate(module, [np.ones(4, np.float32)], executor=executor)


def test_a_verifier_finding_explains_a_wrong_result():
    text = "ENTRY e { x = f32[3] parameter(0) i = s32[] parameter(1) ROOT r = f32[4] dynamic-slice(x, i), dynamic_slice_sizes={4} }"
    (found,) = diagnostics_of(text, [1.0, 2.0, 3.0], 0)
    assert found.message == "the result of 'dynamic-slice' is float32[3], not f32[4] as written"
    assert found.hint == "slice size 4 exceeds dimension 0 of size 3 (T030)"


def test_no_warning_escapes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = "ENTRY e { x = f32[3] parameter(0) y = f32[3] divide(x, x) z = s8[3] convert(y) ROOT r = (f32[3], s8[3]) tuple(y, z) }"
        quotient, converted = run(text, [0.0, np.inf, 1e38])
    assert np.isnan(quotient[:2]).all()
    assert converted.tolist() == [0, 0, 1]


# ---- limits and depth -------------------------------------------------------------------------------------------------

ENDLESS = """HloModule m
yes { s = s32[] parameter(0) ROOT go_on = pred[] constant(true) }
more { s = s32[] parameter(0) one = s32[] constant(1) ROOT t = s32[] add(s, one) }
ENTRY e {
  x = s32[] parameter(0)
  ROOT r = s32[] while(x), condition=yes, body=more
}"""


def test_loops_can_be_limited():
    (found,) = diagnostics_of(ENDLESS, 1, max_iterations=7)
    assert (found.code, found.line, found.message) == ("R005", 6, "the loop did not end after 7 iterations")
    (found,) = diagnostics_of(ENDLESS, 1, timeout_seconds=0.05)
    assert found.code == "R005"


def test_calls_nest_as_deeply_as_memory_allows():
    depth = 10_000
    parts = ["level0 { p = f32[] parameter(0) one = f32[] constant(1) ROOT r = f32[] add(p, one) }"]
    parts += [f"level{k} {{ p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=level{k - 1} }}" for k in range(1, depth)]
    text = "\n".join(["HloModule m", *parts, f"ENTRY e {{ p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=level{depth - 1} }}"])
    assert run(text, 1.0) == 2


def test_loops_and_branches_nest_deeply_too():
    depth = 2_000
    parts = ["yes { s = (pred[], f32[]) parameter(0) ROOT p = pred[] get-tuple-element(s), index=0 }"]
    parts += ["level0 { s = (pred[], f32[]) parameter(0) x = f32[] get-tuple-element(s), index=1 no = pred[] constant(false) ROOT t = tuple(no, x) }"]
    for k in range(1, depth):
        parts.append(f"w{k} {{ s = (pred[], f32[]) parameter(0) ROOT t = (pred[], f32[]) while(s), condition=yes, body=level{k - 1} }}")
        branches = f"true_computation=w{k}, false_computation=level0"
        parts.append(
            f"level{k} {{ s = (pred[], f32[]) parameter(0) p = pred[] get-tuple-element(s), index=0 ROOT t = conditional(p, s, s), {branches} }}"
        )
    call = f"ROOT t = (pred[], f32[]) call(s), to_apply=level{depth - 1}"
    text = "\n".join(["HloModule m", *parts, f"ENTRY e {{ s = (pred[], f32[]) parameter(0) {call} }}"])
    assert run(text, (True, 5.0)) == (False, 5)


def test_tuples_nest_deeply_too():
    depth = 3_000
    lines = ["t0 = (f32[]) tuple(x)"] + [f"t{k} = tuple(t{k - 1})" for k in range(1, depth)]
    value = run("\n".join(["ENTRY e {", "x = f32[] parameter(0)", *lines, f"ROOT r = tuple(t{depth - 1})", "}"]), 4.0)
    assert [float(x) for x in leaves(value)] == [4]


# ---- scalar computations on arrays ------------------------------------------------------------------------------------

COLLATZ = """HloModule collatz
odd { s = (s32[], s32[]) parameter(0) x = s32[] get-tuple-element(s), index=0 n = s32[] get-tuple-element(s), index=1
  three = s32[] constant(3) one = s32[] constant(1) y = s32[] multiply(x, three) z = s32[] add(y, one) ROOT t = tuple(z, n) }
even { s = (s32[], s32[]) parameter(0) x = s32[] get-tuple-element(s), index=0 n = s32[] get-tuple-element(s), index=1
  two = s32[] constant(2) y = s32[] divide(x, two) ROOT t = tuple(y, n) }
above_one { s = (s32[], s32[]) parameter(0) x = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)
  ROOT r = pred[] compare(x, one), direction=GT }
step { s = (s32[], s32[]) parameter(0) x = s32[] get-tuple-element(s), index=0 n = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1) m = s32[] add(n, one) u = tuple(x, m) bit = s32[] and(x, one) is_odd = pred[] compare(bit, one), direction=EQ
  ROOT t = (s32[], s32[]) conditional(is_odd, u, u), true_computation=odd, false_computation=even }
length { x = s32[] parameter(0) zero = s32[] constant(0) s = tuple(x, zero) w = (s32[], s32[]) while(s), condition=above_one, body=step
  ROOT n = s32[] get-tuple-element(w), index=1 }
ENTRY e { x = s32[2,30] parameter(0) ROOT n = s32[2,30] map(x), dimensions={0,1}, to_apply=length }
"""


def test_loops_and_branches_run_for_each_instance():
    def length(x: int) -> int:
        count = 0
        while x > 1:
            x, count = (3 * x + 1 if x % 2 else x // 2), count + 1
        return count

    numbers = np.arange(60).reshape(2, 30)
    assert run(COLLATZ, numbers).tolist() == [[length(x) for x in row] for row in numbers.tolist()]


def test_arrays_inside_a_scalar_computation():
    text = """HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
f { x = f32[] parameter(0) xs = f32[3] broadcast(x), dimensions={} zero = f32[] constant(0)
  ROOT r = f32[] reduce(xs, zero), dimensions={0}, to_apply=add }
ENTRY e { x = f32[4] parameter(0) ROOT n = f32[4] map(x), dimensions={0}, to_apply=f }"""
    assert run(text, [1.0, 2.0, 3.0, 4.0]).tolist() == [3, 6, 9, 12]


@pytest.mark.parametrize("size", [5, 1023, 1024, 5000])
def test_unrecognized_reducers(size):
    text = f"""HloModule m
keep_larger {{ a = s32[] parameter(0) i = s32[] parameter(1) b = s32[] parameter(2) j = s32[] parameter(3)
  wins = pred[] compare(b, a), direction=GT x = s32[] select(wins, b, a) k = s32[] select(wins, j, i) ROOT t = tuple(x, k) }}
ENTRY e {{ x = s32[{size}] parameter(0) i = s32[{size}] iota(), iota_dimension=0 low = s32[] constant(-1) none = s32[] constant(-1)
  ROOT r = (s32[], s32[]) reduce(x, i, low, none), dimensions={{0}}, to_apply=keep_larger }}"""
    numbers = np.random.default_rng(0).integers(0, size // 2, size)
    assert run(text, numbers) == (numbers.max(), numbers.argmax())


# ---- loop invariants --------------------------------------------------------------------------------------------------

CONSTANT_STEPS = """HloModule m
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }
c { s = (s32[], s32[], f32[6]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(6)
  ROOT go_on = pred[] compare(i, n), direction=LT }
b { s = (s32[], s32[], f32[6]) parameter(0) i = s32[] get-tuple-element(s), index=0 t = s32[] get-tuple-element(s), index=1
  v = f32[6] get-tuple-element(s), index=2 k = s32[50000] iota(), iota_dimension=0 zero = s32[] constant(0)
  sum = s32[] reduce(k, zero), dimensions={0}, to_apply=add one = s32[] custom-call(zero), custom_call_target="count"
  lo = f32[] constant(0) hi = f32[] constant(1) x = f32[1] rng(lo, hi), distribution=rng_uniform
  j = s32[] add(i, one) u = s32[] add(t, sum) w = f32[6] dynamic-update-slice(v, x, i) ROOT r = tuple(j, u, w) }
ENTRY e { z = s32[] constant(0) f = f32[] constant(0) v = f32[6] broadcast(f), dimensions={} s = tuple(z, z, v)
  ROOT w = (s32[], s32[], f32[6]) while(s), condition=c, body=b }"""


def test_impure_steps_without_parameters_run_in_each_iteration():
    calls = []

    def count(zero):
        calls.append(zero)
        return np.int32(1)

    iterations, total, drawn = run(CONSTANT_STEPS, custom_calls={"count": count})
    assert iterations == len(calls) == 6
    assert total == np.int32(6 * sum(range(50000)) % 2**32 - 2**32)
    assert len(set(drawn.tolist())) == 6
