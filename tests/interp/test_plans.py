"""Compiled modules: everything that users can observe, not only the results."""

from __future__ import annotations

import gc
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
from executors import disagreement, outcome, small_blocks

import hlotool
from hlotool.interp.engine.observers import Observer
from hlotool.interp.plan import blocks, fusing
from hlotool.interp.plan.native import clusters
from hlotool.interp.plan.native.compiler import compile_blocks
from hlotool.interp.plan.threads import run_in_parallel
from hlotool.interp.plan.writer import Writer

CHAIN = """HloModule chain
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[300,200] parameter(0) zero = f32[] constant(0) n = f32[] constant(200) sums = f32[300] reduce(x, zero), dimensions={1}, to_apply=add
  all = f32[300] broadcast(n), dimensions={} means = f32[300] divide(sums, all) rows = f32[300,200] broadcast(means), dimensions={0}
  centered = f32[300,200] subtract(x, rows) square = f32[300,200] multiply(centered, centered)
  vars = f32[300] reduce(square, zero), dimensions={1}, to_apply=add scale = f32[300] rsqrt(vars)
  wide = f32[300,200] broadcast(scale), dimensions={0} ROOT r = f32[300,200] multiply(centered, wide) }"""

COUNT = """HloModule count
more { s = (s32[], f32[4096]) parameter(0) k = s32[] get-tuple-element(s), index=0 n = s32[] constant(LIMIT)
  ROOT go_on = pred[] compare(k, n), direction=LT }
step { s = (s32[], f32[4096]) parameter(0) k = s32[] get-tuple-element(s), index=0 x = f32[4096] get-tuple-element(s), index=1
  one = s32[] constant(STEP) next = s32[] add(k, one) v = f32[1] constant({7}) y = f32[4096] dynamic-update-slice(x, v, k)
  ROOT t = tuple(next, y) }
ENTRY e { x = f32[4096] parameter(0) zero = s32[] constant(0) s = tuple(zero, x)
  ROOT w = (s32[], f32[4096]) while(s), condition=more, body=step }"""


def counting(limit: int, step: int = 1) -> hlotool.ir.model.Module:
    return hlotool.parse(COUNT.replace("LIMIT", str(limit)).replace("STEP", str(step)))


# ---- the code ---------------------------------------------------------------------------------------------------------


def test_a_chain_is_one_loop_over_blocks():
    with patch.object(clusters, "is_installed", lambda: False):
        source = hlotool.compile(hlotool.parse(CHAIN)).source
    assert source is not None
    assert source.count("for i in range") == 1
    # The result is the only array as large as the operand.
    assert source.count(" empty(") == 1


def test_a_cluster_is_compiled_once_it_has_run_for_long_enough():
    compiled = []

    def spy(source, arguments):
        compiled.append(source)
        return compile_blocks(source, arguments)

    module = hlotool.parse("ENTRY e { x = f32[40000] parameter(0) y = f32[40000] multiply(x, x) ROOT z = f32[40000] add(y, x) }")
    with patch.multiple(clusters, compile_blocks=spy, seconds_to_load=lambda: 0.0, _SECONDS=1e-9, _SECONDS_PER_OPERATION=0.0):
        run = hlotool.compile(module)
        counts = []
        for number in range(4):
            assert run(np.full(40000, number, np.float32)).tolist() == [number * number + number] * 40000
            counts.append(len(compiled))
    assert counts == [0, 1, 1, 1]


def test_a_number_computed_from_the_same_number():
    """Checks a scalar that is broadcast from another scalar: both have the same bits."""
    text = "ENTRY e { x = f32[4] parameter(0) c = f32[] constant(2) r = f32[] broadcast(c), dimensions={} "
    module = hlotool.parse(text + "w = f32[4] broadcast(r), dimensions={} ROOT m = f32[4] multiply(x, w) }")
    assert hlotool.compile(module)([1.0, 2.0, 3.0, 4.0]).tolist() == [2.0, 4.0, 6.0, 8.0]


def test_names_only_occur_in_comments():
    text = 'ENTRY e { x.__import__ = f32[2] parameter(0) ROOT os.system = f32[2] custom-call(x.__import__), custom_call_target="\\n1/0" }'
    module = hlotool.parse(text)
    options = hlotool.RunOptions(custom_calls={"\n1/0": lambda x: x + 1})
    run = hlotool.compile(module, options=options)
    assert run([1.0, 2.0]).tolist() == [2.0, 3.0]
    assert run.source is not None
    lines = [line.partition("#")[0] for line in run.source.splitlines()]
    assert not any("os" in line.split() or "1/0" in line or "import" in line for line in lines)


def test_devices_wait_for_each_other_in_loops_and_calls():
    text = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    sum { x = f32[2] parameter(0) ROOT r = f32[2] all-reduce(x), to_apply=add }
    more { s = (s32[], f32[2]) parameter(0) k = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
      ROOT go_on = pred[] compare(k, n), direction=LT }
    step { s = (s32[], f32[2]) parameter(0) k = s32[] get-tuple-element(s), index=0 x = f32[2] get-tuple-element(s), index=1
      one = s32[] constant(1) next = s32[] add(k, one) y = f32[2] call(x), to_apply=sum ROOT t = tuple(next, y) }
    ENTRY e { x = f32[2] parameter(0) zero = s32[] constant(0) s = tuple(zero, x)
      w = (s32[], f32[2]) while(s), condition=more, body=step ROOT r = f32[2] get-tuple-element(w), index=1 }"""
    module = hlotool.parse(text)
    for executor in ("plan", "reference"):
        values = hlotool.evaluate_replicas(module, [[[1.0, 2.0]], [[10.0, 20.0]]], executor=executor)
        assert [value.tolist() for value in values] == [[44.0, 88.0]] * 2
    run = hlotool.compile(module)
    assert run.source is not None
    assert run([1.0, 2.0]).tolist() == [1.0, 2.0]


def test_deep_nesting_is_left_to_the_reference_executor():
    text = "level0 { ROOT x = f32[] parameter(0) }\n"
    for k in range(1, 200):
        text += f"level{k} {{ a = f32[] parameter(0) b = f32[] call(a), to_apply=level{k - 1} ROOT c = f32[] negate(b) }}\n"
    module = hlotool.parse(text + "ENTRY e { a = f32[] parameter(0) ROOT b = f32[] call(a), to_apply=level199 }")
    run = hlotool.compile(module)
    assert run.source is None
    assert float(run(2.0)) == -2.0


def test_loops_that_multiply_at_every_level_are_left_to_the_reference_executor():
    text = "more { s = s32[] parameter(0) n = s32[] constant(1) ROOT p = pred[] compare(s, n), direction=LT }\n"
    text += "level0 { s = s32[] parameter(0) one = s32[] constant(1) ROOT r = s32[] add(s, one) }\n"
    for k in range(1, 11):
        loops = "".join(f"w{j} = s32[] while({'s' if j == 0 else f'w{j - 1}'}), condition=more, body=level{k - 1} " for j in range(8))
        text += f"level{k} {{ s = s32[] parameter(0) {loops} ROOT r = s32[] copy(w7) }}\n"
    run = hlotool.compile(hlotool.parse(text + "ENTRY e { s = s32[] parameter(0) ROOT w = s32[] while(s), condition=more, body=level10 }"))
    assert run.source is None
    assert int(run(0)) == 1


def test_calls_that_double_at_every_level_do_not_grow_the_code():
    text = "level0 { x = f32[] parameter(0) ROOT y = f32[] negate(x) }\n"
    for k in range(1, 40):
        calls = f"b = f32[] call(a), to_apply=level{k - 1} c = f32[] call(b), to_apply=level{k - 1}"
        text += f"level{k} {{ a = f32[] parameter(0) {calls} ROOT d = f32[] maximum(c, a) }}\n"
    run = hlotool.compile(hlotool.parse(text + "ENTRY e { a = f32[] parameter(0) ROOT b = f32[] call(a), to_apply=level39 }"))
    assert run.source is not None
    assert len(run.source) < 20_000


# ---- results ----------------------------------------------------------------------------------------------------------


def test_layer_norm_in_blocks_of_any_size():
    assert disagreement(CHAIN, inputs=4) is None
    with small_blocks():
        assert disagreement(CHAIN, inputs=4) is None


NARROW = """ENTRY e {{ x = {0}[70,300] parameter(0) y = {0}[300] parameter(1) b = {0}[70,300] broadcast(y), dimensions={{1}}
  p = {0}[70,300] multiply(x, b) q = {0}[70,300] add(p, x) e = {0}[70,300] exponential(q) w = f32[70,300] convert(e)
  m = {0}[70,300] maximum(q, b) s = {0}[70,300] select(c, m, e) c = pred[70,300] compare(x, b), direction=GT
  t = {0}[70,300] tanh(s) n = {0}[70,300] negate(t) back = {0}[70,300] convert(w) ROOT r = tuple(n, w, back, q) }}"""


@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32", "f64"])
def test_narrow_floats_are_rounded_after_each_operation(element_type):
    text = NARROW.format(element_type)
    assert disagreement(text, inputs=4) is None
    with small_blocks():
        assert disagreement(text, inputs=4) is None


BLOCKWISE = {
    "iotas along every axis": """
    ENTRY e { x = s32[30,40,50] parameter(0) a = s32[30] iota(), iota_dimension=0 b = s32[30,40,50] broadcast(a), dimensions={0}
      c = s32[30,40,50] iota(), iota_dimension=1 d = s32[50] iota(), iota_dimension=0 f = s32[30,40,50] broadcast(d), dimensions={2}
      g = s32[30,40,50] add(x, b) h = s32[30,40,50] multiply(g, c) ROOT r = s32[30,40,50] subtract(h, f) }""",
    "a reduction of an iota": """
    add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }
    ENTRY e { x = s32[300] parameter(0) i = s32[300,200] iota(), iota_dimension=0 z = s32[] constant(0)
      s = s32[300] reduce(i, z), dimensions={1}, to_apply=add y = s32[300] add(s, x)
      w = s32[300,200] broadcast(y), dimensions={0} ROOT r = s32[300,200] multiply(w, i) }""",
    "an iota in a narrow type": """
    ENTRY e { i = s32[400,300] iota(), iota_dimension=1 a = bf16[400,300] convert(i) b = bf16[400,300] multiply(a, a)
      j = s32[400,300] iota(), iota_dimension=0 c = f16[400,300] convert(j) d = f16[400,300] negate(c) ROOT r = tuple(b, d) }""",
    "reductions of values computed from an iota": """
    add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }
    ENTRY e { x = s32[300,400] parameter(0) i = s32[300,400] iota(), iota_dimension=0 c = s32[300,400] popcnt(i) d = s32[300,400] convert(i)
      z = s32[] constant(0) s = s32[300] reduce(c, z), dimensions={1}, to_apply=add t = s32[300] reduce(d, z), dimensions={1}, to_apply=add
      u = s32[300] add(s, t) w = s32[300,400] broadcast(u), dimensions={0} ROOT r = s32[300,400] multiply(w, x) }""",
    "reductions of copies of broadcasts": """
    add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }
    sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY e { x = s32[200,300] parameter(0) o = s32[] parameter(1) b = s32[200,300] broadcast(o), dimensions={} c = s32[200,300] convert(b)
      z = s32[] constant(0) s = s32[200] reduce(c, z), dimensions={1}, to_apply=add w = s32[200,300] broadcast(s), dimensions={0}
      p = s32[200] parameter(2) q = s32[200,300] broadcast(p), dimensions={0} d = s32[200,300] convert(q)
      t = s32[200] reduce(d, z), dimensions={1}, to_apply=add v = s32[200,300] broadcast(t), dimensions={0} m = s32[200,300] multiply(w, x)
      h = bf16[] parameter(3) k = bf16[200,300] broadcast(h), dimensions={} f = f32[200,300] convert(k) y = f32[] constant(0)
      g = f32[200] reduce(f, y), dimensions={1}, to_apply=sum l = f32[200,300] broadcast(g), dimensions={0} n = s32[200,300] multiply(m, v)
      e = f32[200,300] negate(l) ROOT r = tuple(n, e) }""",
    "selections by one row along two axes": """
    ENTRY e { x = f32[200,200] parameter(0) p = pred[200] parameter(1) y = f64[200,200] parameter(2)
      h = s8[200,200] parameter(3) down = pred[200,200] broadcast(p), dimensions={0} along = pred[200,200] broadcast(p), dimensions={1}
      m = f32[200,200] negate(x) a = f32[200,200] select(down, x, m) b = f32[200,200] select(along, a, m) c = f32[200,200] select(down, b, a)
      z = f64[200,200] negate(y) d = f64[200,200] select(along, y, z) i = s8[200,200] negate(h) j = s8[200,200] select(along, i, h)
      q = pred[200,200] and(down, along) k = pred[200,200] select(q, along, down) ROOT r = tuple(c, d, j, k) }""",
    "selections between numbers": """
    ENTRY e { x = f32[40000] parameter(0) y = f32[40000] parameter(1) one = f32[] constant(1) large = f32[] constant(inf)
      p = pred[40000] compare(x, y), direction=LT a = f32[40000] broadcast(one), dimensions={} b = f32[40000] broadcast(large), dimensions={}
      s = f32[40000] select(p, a, b) t = f32[40000] select(p, s, x) ROOT r = f32[40000] select(p, y, t) }""",
    "a loop whose state is overwritten in blocks": """
    more { s = (s32[], f32[40000], f32[40000]) parameter(0) k = s32[] get-tuple-element(s), index=0
      n = s32[] constant(5) ROOT go_on = pred[] compare(k, n), direction=LT }
    step { s = (s32[], f32[40000], f32[40000]) parameter(0) k = s32[] get-tuple-element(s), index=0 x = f32[40000] get-tuple-element(s), index=1
      y = f32[40000] get-tuple-element(s), index=2 one = s32[] constant(1) next = s32[] add(k, one) a = f32[40000] add(x, y)
      b = f32[40000] multiply(a, x) c = f32[40000] subtract(b, y) d = f32[40000] maximum(x, c) ROOT t = tuple(next, d, c) }
    ENTRY e { x = f32[40000] parameter(0) zero = s32[] constant(0) y = f32[40000] negate(x) s = tuple(zero, x, y)
      w = while(s), condition=more, body=step v = f32[40000] get-tuple-element(w), index=2 ROOT r = tuple(w, v, x) }""",
    "shifts by more than the width": """
    ENTRY e { x = s32[20000] parameter(0) y = s32[20000] parameter(1) w = u16[20000] parameter(2) n = u16[20000] parameter(3)
      a = s32[20000] shift-left(x, y) b = s32[20000] shift-right-logical(a, y) c = s32[20000] shift-right-arithmetic(x, y) d = s32[20000] add(b, c)
      f = u16[20000] shift-right-arithmetic(w, n) g = u16[20000] shift-left(f, n) h = u16[20000] shift-right-logical(g, w) ROOT r = tuple(d, h) }""",
}


@pytest.mark.parametrize("name", BLOCKWISE)
def test_blocks_agree_with_kernels(name):
    hlotool.parse(BLOCKWISE[name])
    assert disagreement(BLOCKWISE[name], inputs=4) is None
    with small_blocks():
        assert disagreement(BLOCKWISE[name], inputs=4) is None


@pytest.mark.parametrize("name", [*BLOCKWISE, "layer norm"])
@pytest.mark.parametrize("threads", [2, 3, 50])
def test_threads_return_the_same_results(name, threads, monkeypatch):
    monkeypatch.setattr(blocks, "_MIN_THREADED_ELEMENTS", 1)
    monkeypatch.setattr(blocks, "BLOCK_ELEMENTS", 500)
    text = BLOCKWISE.get(name, CHAIN)
    options = hlotool.RunOptions(threads=threads)
    source = hlotool.compile(hlotool.parse(text), options=options).source
    assert source is not None
    assert "run_in_parallel" in source
    assert disagreement(text, inputs=2, options=options) is None


def test_an_error_in_a_thread_is_raised_after_all_have_ended():
    ended = []

    def compute(first, last):
        if first == 4:
            raise MemoryError("no memory")
        ended.append((first, last))

    with pytest.raises(MemoryError, match="no memory"):
        run_in_parallel(compute, 11, 2, 3)
    assert sorted(ended) == [(0, 4), (8, 11)]


@pytest.mark.parametrize("threads", [0, -2, 2.5, "3", None, True])
def test_numbers_of_threads(threads):
    options = hlotool.RunOptions(threads=threads)
    with pytest.raises(hlotool.EvaluationError, match="the number of threads must be a positive integer"):
        hlotool.evaluate(hlotool.parse(CHAIN), [np.zeros((300, 200))], options=options)


def test_blocks_of_unused_arrays_are_overwritten():
    """Runs a loop that updates two arrays of its state in place; arguments must not change."""
    run = hlotool.compile(hlotool.parse(BLOCKWISE["a loop whose state is overwritten in blocks"]))
    assert run.source is not None
    assert "can_alias" in run.source
    x = np.arange(40000, dtype=np.float32)
    run(x)
    assert x.tolist() == list(range(40000))


def test_sums_over_other_memory_orders_may_round_in_another_order():
    text = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY e { x = f32[700,600] parameter(0) t = f32[600,700] transpose(x), dimensions={1,0} y = f32[600,700] exponential(t) z = f32[] constant(0)
      ROOT s = f32[600] reduce(y, z), dimensions={1}, to_apply=add }"""
    x = np.random.default_rng(0).standard_normal((700, 600), np.float32)
    values = [hlotool.evaluate(hlotool.parse(text), [x], executor=executor) for executor in ("plan", "reference")]
    exact = np.exp(x.T.astype(np.float64)).sum(axis=1)
    # The bound is the error of partial sums of 128 terms plus the error of adding these sums.
    for value in values:
        assert np.abs(value / exact - 1).max() < 140 * np.finfo(np.float32).eps


def test_arguments_are_never_overwritten():
    x = np.zeros(4096, np.float32)
    for executor in ("plan", "reference"):
        count, updated = hlotool.evaluate(counting(100), [x], executor=executor)
        assert (int(count), updated[:101].tolist()) == (100, [7.0] * 100 + [0.0])
        assert not x.any()


def test_loops_update_their_state_in_place():
    run = hlotool.compile(hlotool.parse(COUNT.replace("LIMIT", "2000").replace("STEP", "1").replace("4096", "4000000")))
    x = np.zeros(4_000_000, np.float32)
    started = time.process_time()
    count, updated = run(x)
    seconds = time.process_time() - started
    assert (int(count), updated[:2001].tolist()) == (2000, [7.0] * 2000 + [0.0])
    # Copying 16 MB 2,000 times takes several seconds.
    assert seconds < 1


def test_results_belong_to_the_caller():
    text = "ENTRY e { x = f32[3] parameter(0) c = f32[3] constant({1, 2, 3}) b = f32[3] add(x, c) ROOT t = tuple(b, b, c, x) }"
    run = hlotool.compile(hlotool.parse(text))
    first = run([0.0, 0.0, 0.0])
    for leaf in first:
        leaf += 1
    assert [leaf.tolist() for leaf in run([0.0, 0.0, 0.0])] == [[1, 2, 3], [1, 2, 3], [1, 2, 3], [0, 0, 0]]


def test_an_operand_that_occurs_twice_is_not_lost():
    text = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY e { p = f32[3] parameter(0) x = f32[3] negate(p) i = s32[3,1] constant({{2}, {0}, {1}})
    ROOT r = f32[3] scatter(x, i, x), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,
      to_apply=add }"""
    assert disagreement(text) is None


@pytest.mark.parametrize("executor", ["plan", "reference"])
def test_both_branches(executor):
    text = """double { x = f32[3] parameter(0) ROOT y = f32[3] add(x, x) }
    same { ROOT x = f32[3] parameter(0) }
    third { x = f32[3] parameter(0) c = f32[3] constant({1, 2, 3}) ROOT y = f32[3] multiply(x, c) }
    ENTRY e { k = s32[] parameter(0) x = f32[3] parameter(1) n = f32[3] negate(x)
      ROOT r = f32[3] conditional(k, n, n, x), branch_computations={double, same, third} }"""
    module = hlotool.parse(text)
    values = [hlotool.evaluate(module, [k, [1.0, 2.0, 3.0]], executor=executor).tolist() for k in (0, 1, 2, 9, -1)]
    assert values == [[-2, -4, -6], [-1, -2, -3], [1, 4, 9], [1, 4, 9], [1, 4, 9]]


def test_errors_have_the_same_location():
    text = "ENTRY e {\n  x = f32[2] parameter(0)\n  i = s32[] parameter(1)\n  ROOT r = f32[<=2] set-dimension-size(x, i), dimensions={0}\n}"
    module = hlotool.parse(text)
    messages = [outcome(module, [[1.0, 2.0], 5], executor, hlotool.RunOptions())[1] for executor in ("plan", "reference")]
    assert messages[0] == messages[1]
    assert ":4:" in messages[0]


def test_missing_memory_is_reported_at_the_last_operation_of_a_cluster():
    size = 1 << 46
    text = f"""ENTRY e {{
      x = f32[] parameter(0)
      i = f32[{size}] broadcast(x), dimensions={{}}
      a = f32[{size}] sine(i)
      b = f32[{size}] negate(a)
      s = f32[1] slice(b), slice={{[0:1]}}
      ROOT r = f32[1] negate(s) }}"""
    with pytest.raises(hlotool.EvaluationError, match=r":5:.*'negate' cannot be computed: not enough memory"):
        hlotool.evaluate(hlotool.parse(text), [1.0], executor="plan")


# The shape of the sort's first result is wrong, which affects only instructions that read it.
WRONG_TUPLE = """less { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = f32[3] parameter(0) i = s32[3] iota(), iota_dimension=0
  t = (f32[2], s32[3]) sort(x, i), dimensions={0}, to_apply=less %s
  ROOT k = s32[3] get-tuple-element(t), index=1 }"""


def test_a_tuple_with_unexpected_arrays_is_left_to_the_reference_executor():
    values = [hlotool.evaluate(hlotool.parse(WRONG_TUPLE % ""), [[3.0, 1.0, 2.0]], executor=executor).tolist() for executor in ("plan", "reference")]
    assert values == [[1, 2, 0]] * 2


def test_a_run_with_effects_is_not_restarted():
    module = hlotool.parse(WRONG_TUPLE % "o = token[] after-all() f = token[] outfeed(x, o)")
    queues = hlotool.HostQueues()
    with pytest.raises(hlotool.EvaluationError, match="a different shape"):
        hlotool.evaluate(module, [[3.0, 1.0, 2.0]], executor="plan", options=hlotool.RunOptions(queues=queues))


def test_computations_that_kernels_call_with_unexpected_arguments():
    text = """step { x = f32[4] parameter(0) c = f32[2] parameter(1) s = f32[2] add(c, c) ROOT t = (f32[2], f32[2]) tuple(s, s) }
    ENTRY e { x = f32[3,2] parameter(0) c = f32[2] parameter(1)
      ROOT r = (f32[3,2], f32[2]) scan(x, c), dimensions={0}, num_carries=1, to_apply=step }"""
    module = hlotool.parse(text)
    arguments = [np.ones((3, 2)), np.ones(2)]
    results = [outcome(module, arguments, executor, hlotool.RunOptions()) for executor in ("plan", "reference")]
    assert [[leaf.tolist() for leaf in leaves] for leaves, _ in results] == [[[[2, 2], [4, 4], [8, 8]], [8, 8]]] * 2


# ---- bugs in the compiler ---------------------------------------------------------------------------------------------


def test_a_module_that_cannot_be_compiled_runs_with_a_warning(monkeypatch):
    monkeypatch.setattr("hlotool.interp.plan.function_writer.schedule", lambda region, forms: 1 / 0)
    with pytest.warns(RuntimeWarning, match="please report this: ZeroDivisionError"):
        assert hlotool.evaluate(counting(3), [np.zeros(4096)], executor="plan")[0] == 3


def test_code_with_an_undefined_name_is_abandoned_with_a_warning(monkeypatch):
    write = Writer.line
    monkeypatch.setattr(Writer, "line", lambda self, text: write(self, text.replace("return (", "return (nobody_defines_this, ")))
    with pytest.warns(RuntimeWarning, match="please report this: the code for .* is wrong: name 'nobody_defines_this'"):
        assert hlotool.evaluate(counting(3), [np.zeros(4096)], executor="plan")[0] == 3


class Watch(Observer):
    needs_only_reached = True

    def __init__(self):
        self.names = []

    def reached(self, instruction):
        self.names.append(instruction.name)


def test_a_watched_plan_reports_what_it_reaches():
    """Checks that a plan reports arrays and loops of the entry computation, and each iteration."""
    text = """more { s = (s32[], f32[3000]) parameter(0) k = s32[] get-tuple-element(s), index=0 n = s32[] constant(2)
      ROOT c = pred[] compare(k, n), direction=LT }
    step { s = (s32[], f32[3000]) parameter(0) k = s32[] get-tuple-element(s), index=0 x = f32[3000] get-tuple-element(s), index=1
      one = s32[] constant(1) next = s32[] add(k, one) y = f32[3000] reverse(x), dimensions={0} ROOT t = (s32[], f32[3000]) tuple(next, y) }
    few { k = (s32[]) parameter(0) i = s32[] get-tuple-element(k), index=0 n = s32[] constant(2) ROOT c = pred[] compare(i, n), direction=LT }
    count { k = (s32[]) parameter(0) i = s32[] get-tuple-element(k), index=0 one = s32[] constant(1) next = s32[] add(i, one)
      ROOT t = (s32[]) tuple(next) }
    ENTRY e { x = f32[3000] parameter(0) n = f32[] parameter(1) m = f32[] negate(n) w = f32[3000] broadcast(m), dimensions={}
      a = f32[3000] reverse(x), dimensions={0} zero = s32[] constant(0) s = (s32[], f32[3000]) tuple(zero, a)
      loop = (s32[], f32[3000]) while(s), condition=more, body=step b = f32[3000] get-tuple-element(loop), index=1
      c = f32[3000] add(b, w) d = f32[3000] multiply(c, c) t = (s32[]) tuple(zero)
      numbers = (s32[]) while(t), condition=few, body=count ROOT r = (f32[3000], (s32[])) tuple(d, numbers) }"""
    module = hlotool.parse(text)
    found = []
    for least in (1 << 14, 100):
        watch = Watch()
        with patch.object(fusing, "MIN_DOMAIN_SIZE", least):
            hlotool.evaluate(hlotool.parse(text) if found else module, [np.zeros(3000), 1.0], executor="plan", observers=[watch])
        found.append(watch.names)
    assert found == [["a", "loop", "loop", "loop", "c", "d", "numbers"], ["a", "loop", "loop", "loop", "d", "numbers"]]


# ---- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["plan", "reference"])
def test_iterations_are_limited(executor):
    for limit in (5, 63, 64, 99):
        options = hlotool.RunOptions(max_iterations=limit)
        count, _ = hlotool.evaluate(counting(limit), [np.zeros(4096)], executor=executor, options=options)
        assert int(count) == limit
        with pytest.raises(hlotool.EvaluationError, match=f"did not end after {limit} iterations"):
            hlotool.evaluate(counting(limit + 1), [np.zeros(4096)], executor=executor, options=options)


def test_a_loop_that_stops_changing_its_state_ends():
    module = counting(1, step=0)
    count, _ = hlotool.evaluate(module, [np.zeros(4096)], executor="plan")
    assert int(count) == 0


def test_a_loop_is_stopped_in_time():
    module = counting(2_000_000_000)
    started = time.monotonic()
    with pytest.raises(hlotool.EvaluationError, match="took longer than"):
        hlotool.evaluate(module, [np.zeros(4096)], executor="plan", options=hlotool.RunOptions(timeout_seconds=0.3))
    assert time.monotonic() - started < 20


# ---- cached plans -----------------------------------------------------------------------------------------------------


def test_an_edited_module_is_compiled_again():
    module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) y = f32[2] negate(x) ROOT r = f32[2] abs(y) }")
    run = hlotool.compile(module)
    assert run([1.0, 2.0]).tolist() == [1.0, 2.0]
    _, y, r = module.entry.instructions
    with hlotool.Rewriter(module) as rewriter:
        rewriter.replace_all_uses(r, y)
    assert run([1.0, 2.0]).tolist() == [-1.0, -2.0]


def test_other_options_use_another_plan():
    module = hlotool.parse("ENTRY e { ROOT c = f32[9] constant({...}) }")
    for fill, number in (("zeros", 0), ("ones", 1), ("zeros", 0)):
        value = hlotool.evaluate(module, [], executor="plan", options=hlotool.RunOptions(elided_fill=fill))
        assert value.tolist() == [number] * 9


def test_functions_of_custom_calls_may_be_replaced():
    module = hlotool.parse('ENTRY e { x = f32[] parameter(0) ROOT r = f32[] custom-call(x), custom_call_target="f" }')
    functions = {"f": lambda x: x + 1}
    options = hlotool.RunOptions(custom_calls=functions)
    run = hlotool.compile(module, options=options)
    assert float(run(1.0)) == 2
    functions["f"] = lambda x: x * 10
    assert float(run(1.0)) == 10


def test_unreferenced_modules_are_freed_with_their_plans():
    module = hlotool.parse(CHAIN)
    for _ in range(2):
        hlotool.evaluate(module, [np.zeros((300, 200))])
    hlotool.compile(module)
    known = weakref.ref(module)
    del module
    gc.collect()
    assert known() is None


def test_threads_may_run_one_plan():
    run = hlotool.compile(hlotool.parse(CHAIN))
    arguments = [np.random.default_rng(k).standard_normal((300, 200), np.float32) for k in range(8)]
    alone = [run(argument) for argument in arguments]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(run, arguments))
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


def test_small_loops_are_much_faster_with_a_plan():
    module = hlotool.parse(
        """more { s = (s32[], s32[]) parameter(0) k = s32[] get-tuple-element(s), index=0 n = s32[] constant(20000)
      ROOT go_on = pred[] compare(k, n), direction=LT }
    step { s = (s32[], s32[]) parameter(0) k = s32[] get-tuple-element(s), index=0 x = s32[] get-tuple-element(s), index=1
      one = s32[] constant(1) next = s32[] add(k, one) three = s32[] constant(3) a = s32[] multiply(x, three) b = s32[] add(a, k)
      ROOT t = tuple(next, b) }
    ENTRY e { x = s32[] parameter(0) zero = s32[] constant(0) s = tuple(zero, x) ROOT w = (s32[], s32[]) while(s), condition=more, body=step }"""
    )
    seconds = {}
    for executor in ("reference", "plan"):
        hlotool.evaluate(module, [1], executor=executor)
        started = time.process_time()
        hlotool.evaluate(module, [1], executor=executor)
        seconds[executor] = time.process_time() - started
    assert seconds["plan"] < seconds["reference"] / 5


def test_a_complex_result_is_not_mistaken_for_a_real_one():
    module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) c = f32[2] complex(x, x) ROOT r = f32[2] negate(c) }")
    for executor in ("plan", "reference"):
        with pytest.raises(hlotool.EvaluationError, match=r"the result of 'complex' is complex64\[2\], not f32\[2\] as written"):
            hlotool.evaluate(module, [[1.0, 2.0]], executor=executor)
