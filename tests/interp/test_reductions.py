"""Fast reductions, compared with applying the reducer to one element after another.

They work in blocks, with running reductions, or with the positions of maxima and minima.
"""

from __future__ import annotations

import functools
from random import Random

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, note, settings
from strategies import RANDOM

import hlotool
from hlotool.interp.arrays import arg_reducers, array_reductions
from hlotool.interp.arrays.arg_reducers import arg_reducer_of
from hlotool.interp.arrays.arithmetic import maximum_floats, minimum_floats
from hlotool.interp.arrays.array_reductions import reduce_along
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.kernels import pooling, reduction, scattering

SPECIAL_NUMBERS = [0.0, -0.0, 1.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan]


def random_array(random: Random, sizes: list[int], element_type: str, numbers: list[float]) -> Array:
    """Returns an array of some of the numbers in a random memory order, possibly with gaps."""
    order = random.sample(range(len(sizes)), len(sizes))
    shape = [sizes[k] for k in order]
    values = np.random.default_rng(random.getrandbits(32)).choice(numbers, [*shape, random.choice((1, 1, 2))])
    return values[..., 0].transpose(np.argsort(order)).astype(NUMBERS[element_type].held)


def patch_block_sizes(patch: pytest.MonkeyPatch, random: Random) -> None:
    size = random.choice((4, 60, 1000, 1 << 16))
    for module in (array_reductions, arg_reducers, pooling):
        patch.setattr(module, "BLOCK", size)
    patch.setattr(array_reductions, "_SMALL", 0)
    patch.setattr(array_reductions, "_PARTIAL", random.choice((2, 8, 64)))
    patch.setattr(array_reductions, "_WIDE_ROW", random.choice((16, 2048)))
    patch.setattr(pooling, "_LONG_ROW", random.choice((2, 256)))


# ---- reductions of dimensions -----------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(RANDOM)
def test_blocks_cover_every_element_once(random: Random) -> None:
    """Reduces small integers, whose sums are exact in every order."""
    sizes = [random.choice((1, 2, 3, 5, 17, 33, 70, 150)) for _ in range(random.randint(1, 3))]
    axes = tuple(k for k in range(len(sizes)) if random.random() < 0.5)
    name, ufunc = random.choice(("f32", "s32", "s8", "bf16", "f16", "c64")), random.choice((np.add, np.add, np.maximum))
    x = random_array(random, sizes, name, [-2, -1, 0, 1, 2])
    computed = NUMBERS[name].computed
    note(f"{ufunc} of {x.shape} {name} with strides {x.strides} along {axes}")
    with pytest.MonkeyPatch.context() as patch:
        patch_block_sizes(patch, random)
        result = reduce_along(ufunc, x, axes, computed)
    expected = ufunc.reduce(x.astype(computed), axis=axes, dtype=computed)
    assert result.dtype == computed
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("sizes", [(1 << 16, 16), (1 << 16, 1, 16), (2, 1 << 15, 16), (16, 1 << 16), (1 << 20,)])
def test_errors_of_sums_do_not_grow_with_their_length(sizes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random(sizes, np.float32)
    axes = tuple(k for k, size in enumerate(sizes) if size != 16)
    result, expected = reduce_along(np.add, x, axes, x.dtype), x.sum(axis=axes, dtype=np.float64)
    assert np.abs(result / expected - 1).max() < 1e-6


REDUCE = """f {{ a = {type}[] parameter(0) b = {type}[] parameter(1) ROOT r = {type}[] {opcode}(a, b) }}
ENTRY e {{ x = {type}[{sizes}] parameter(0) i = {type}[] parameter(1)
  ROOT r = {type}[{result}] {reduction}, to_apply=f }}"""


@settings(max_examples=100)
@given(RANDOM)
def test_zeros_of_reductions_have_the_right_sign(random: Random) -> None:
    """Checks that the larger of two zeros is +0, the smaller one is -0, and NaN propagates."""
    opcode, name = random.choice(("maximum", "minimum")), random.choice(("f32", "f64", "bf16", "f16", "f8e5m2"))
    sizes = [random.randint(2, 5) for _ in range(random.randint(1, 3))]
    axes = sorted(random.sample(range(len(sizes)), random.randint(1, len(sizes))))
    worse = -1.0 if opcode == "maximum" else 1.0
    x = random_array(random, sizes, name, random.choice(([0.0, -0.0], [0.0, 0.0, worse], [-0.0, worse], SPECIAL_NUMBERS)))
    init = random_array(random, [], name, [0.0, -0.0, worse])
    kept = [size for k, size in enumerate(sizes) if k not in axes]
    reduction_text = f"reduce(x, i), dimensions={{{','.join(map(str, axes))}}}"
    text = REDUCE.format(type=name, opcode=opcode, sizes=",".join(map(str, sizes)), result=",".join(map(str, kept)), reduction=reduction_text)
    note(f"{text}\n{x}\n{init}")
    combine = maximum_floats if opcode == "maximum" else minimum_floats
    computed = NUMBERS[name].computed
    rows = np.moveaxis(x, axes, range(len(axes))).reshape(-1, *kept).astype(computed)
    expected = functools.reduce(combine, rows, np.broadcast_to(init.astype(computed), kept))
    result = hlotool.evaluate(hlotool.parse(text), [x, init]).astype(computed)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result) & ~np.isnan(result), np.signbit(expected) & ~np.isnan(expected))


@settings(max_examples=60)
@given(RANDOM)
def test_narrow_floats_are_rounded_after_each_step(random: Random) -> None:
    opcode, name = random.choice(("add", "multiply")), random.choice(("bf16", "f16", "f8e5m2"))
    sizes = [random.choice((2, 3, 9, 32)) for _ in range(random.randint(1, 2))]
    axes = sorted(random.sample(range(len(sizes)), random.randint(1, len(sizes))))
    x, init = random_array(random, sizes, name, [0.1, 1.3, -0.7, 2.5, -0.0]), random_array(random, [], name, [0.0, 1.0, -3.0])
    kept = [size for k, size in enumerate(sizes) if k not in axes]
    reduction_text = f"reduce(x, i), dimensions={{{','.join(map(str, axes))}}}"
    text = REDUCE.format(type=name, opcode=opcode, sizes=",".join(map(str, sizes)), result=",".join(map(str, kept)), reduction=reduction_text)
    note(f"{text}\n{x}\n{init}")
    ufunc = np.add if opcode == "add" else np.multiply
    expected = np.full(kept, init)
    for row in np.moveaxis(x, axes, range(len(axes))).reshape(-1, *kept):
        expected = ufunc(expected.astype(np.float32), row.astype(np.float32)).astype(x.dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch_block_sizes(patch, random)
        result = hlotool.evaluate(hlotool.parse(text), [x, init])
    assert result.tobytes() == expected.tobytes()


# ---- argmax and argmin ------------------------------------------------------------------------------------------------

HEAD = "a = {type}[] parameter(0) i = s32[] parameter(1) b = {type}[] parameter(2) j = s32[] parameter(3) "
JAX = """better = pred[] compare(a, b), direction={strict} unordered = pred[] compare(a, a), direction=NE
  p = pred[] or(better, unordered) v = {type}[] select(p, a, b) same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT tie = pred[] and(same, before) q = pred[] or(p, tie)
  k = s32[] select(q, i, j) ROOT r = ({type}[], s32[]) tuple(v, k)"""
BUILDER = """p = pred[] compare(a, b), direction={weak} v = {type}[] select(p, a, b) k = s32[] select(p, i, j)
  same = pred[] compare(a, b), direction=EQ least = s32[] minimum(i, j) l = s32[] select(same, least, k)
  ROOT r = ({type}[], s32[]) tuple(v, l)"""
FIRST = "p = pred[] compare(a, b), direction={weak} v = {type}[] select(p, a, b) k = s32[] select(p, i, j) ROOT r = ({type}[], s32[]) tuple(v, k)"
SWAPPED = """worse = pred[] compare(b, a), direction={strict} p = pred[] not(worse) v = {type}[] select(p, a, b)
  k = s32[] select(worse, j, i) ROOT r = ({type}[], s32[]) tuple(v, k)"""
ARG_REDUCERS = {"jax": JAX, "builder": BUILDER, "first": FIRST, "swapped": SWAPPED}
UNRECOGNIZED = {
    "last": FIRST.replace("{weak}", "{strict}"),
    "largest index": BUILDER.replace("minimum", "maximum"),
    "values mixed": FIRST.replace("select(p, a, b)", "select(p, b, a)"),
    "indices mixed": FIRST.replace("select(p, i, j)", "select(p, j, i)"),
    "only indices": FIRST.replace("compare(a, b)", "compare(i, j)"),
    "sum of indices": FIRST.replace("select(p, i, j)", "add(i, j)"),
    "maximum of values": FIRST.replace("select(p, a, b)", "maximum(a, b)"),
    "equality": FIRST.replace("{weak}", "EQ"),
}
PAIRS = """f {{ {reducer} }}
ENTRY e {{ x = {type}[{sizes}] parameter(0) y = s32[{sizes}] parameter(1) u = {type}[] parameter(2) w = s32[] parameter(3)
  ROOT r = ({type}[{result}], s32[{result}]) reduce(x, y, u, w), dimensions={{{axes}}}, to_apply=f }}"""


def reducer_text(body: str, element_type: str, is_maximum: bool) -> str:
    directions = {"strict": "GT", "weak": "GE"} if is_maximum else {"strict": "LT", "weak": "LE"}
    return (HEAD + body).format(type=element_type, **directions)


@pytest.mark.parametrize("name", ARG_REDUCERS)
@settings(max_examples=40)
@given(RANDOM)
def test_argmax_agrees_with_the_reducer(name: str, random: Random) -> None:
    """Checks that the result has the same bits as applying the reducer to one pair after another.

    The reducer may have any recognized spelling, and the numbers and indices are arbitrary.
    """
    element_type, is_maximum = random.choice(("f32", "f32", "bf16", "f64", "s32", "u8")), random.random() < 0.5
    is_float = NUMBERS[element_type].kind == "float"
    numbers = random.choice((SPECIAL_NUMBERS, SPECIAL_NUMBERS[:-1], [0.0, -0.0, 1.0], [1.0, 2.0, 3.0])) if is_float else [0, 1, 2, 5]
    sizes = [random.choice((1, 2, 3, 5, 20)) for _ in range(random.randint(1, 3))]
    axes = sorted(random.sample(range(len(sizes)), random.randint(1, len(sizes))))
    x = random_array(random, sizes, element_type, numbers)
    y = np.arange(x.size, dtype=np.int32).reshape(sizes)
    if random.random() < 0.5:
        along = random.choice(axes)
        y = np.broadcast_to(np.arange(sizes[along], dtype=np.int32).reshape([-1 if k == along else 1 for k in range(len(sizes))]), sizes)
    elif random.random() < 0.3:
        y = random_array(random, sizes, "s32", [0, 1, 2, 3])
    u, w = random_array(random, [], element_type, numbers), random_array(random, [], "s32", [0, 3, 1000])
    kept = ",".join(str(size) for k, size in enumerate(sizes) if k not in axes)
    text = PAIRS.format(
        reducer=reducer_text(ARG_REDUCERS[name], element_type, is_maximum),
        type=element_type,
        sizes=",".join(map(str, sizes)),
        result=kept,
        axes=",".join(map(str, axes)),
    )
    note(f"{text}\n{x}\n{y}\n{u} {w}")
    with pytest.MonkeyPatch.context() as patch:
        patch_block_sizes(patch, random)
        results = hlotool.evaluate(hlotool.parse(text), [x, y, u, w])
        patch.setattr(reduction, "arg_reducer_of", lambda _: None)
        expected = hlotool.evaluate(hlotool.parse(text), [x, y, u, w])
    assert [part.tobytes() for part in results] == [part.tobytes() for part in expected]


@pytest.mark.parametrize("name", [*ARG_REDUCERS, *UNRECOGNIZED])
def test_recognition_depends_on_the_selected_values(name: str) -> None:
    text = f"f {{ {reducer_text((ARG_REDUCERS | UNRECOGNIZED)[name], 'f32', True)} }} ENTRY e {{ ROOT x = f32[] parameter(0) }}"
    reducer = arg_reducer_of(hlotool.parse(text).computations[0])
    assert (reducer is not None) == (name in ARG_REDUCERS)


def test_argmax_does_not_take_a_step_per_element() -> None:
    reducer = reducer_text(JAX, "f32", True)
    text = PAIRS.format(reducer=reducer, type="f32", sizes="300", result="", axes="0")
    calls = []

    class Calls(hlotool.interp.engine.observers.Observer):
        def started(self, where: object, instruction: hlotool.ir.model.Instruction) -> None:
            calls.append(instruction.opcode)

    x = np.sin(np.arange(300, dtype=np.float32))
    value, index = hlotool.evaluate(hlotool.parse(text), [x, np.arange(300, dtype=np.int32), np.float32(-np.inf), np.int32(0)], observers=[Calls()])
    assert (value, index) == (x.max(), x.argmax())
    assert calls.count("select") == 0


# ---- windows ----------------------------------------------------------------------------------------------------------


def random_window(random: Random) -> tuple[str, str, int, int]:
    """Returns a window's dimension as text, and the sizes of the array and the result.

    The text is in two parts: size and stride, then padding and dilations.
    """
    while True:
        base, size = random.choice((1, 3, 8, 25, 40)), random.choice((1, 2, 3, 4, 5, 17, 20, 40))
        stride = random.choice((1, 1, 2, 3, size))
        low, high = random.choice(((0, 0), (1, 1), (size - 1, 0), (0, size - 1), (size + 2, 0), (-1, 2), (base, base)))
        window_dilation, base_dilation = (random.choice((1, 1, 1, 2)) for _ in range(2))
        room = (base - 1) * base_dilation + 1 + low + high - (size - 1) * window_dilation - 1
        if room >= 0 and (base - 1) * base_dilation + 1 + min(low, 0) + min(high, 0) > 0:
            return f"{size} {stride}", f"{low}_{high} {window_dilation} {base_dilation}", base, room // stride + 1


def window_text(windows: list[tuple[str, str, int, int]]) -> str:
    rows = zip(*((*w[0].split(), *w[1].split()) for w in windows), strict=True)
    return "{{size={} stride={} pad={} rhs_dilate={} lhs_dilate={}}}".format(*("x".join(row) for row in rows))


@settings(max_examples=150)
@given(RANDOM)
def test_windows_agree_with_the_reducer(random: Random) -> None:
    """Checks that results have the same bits, except sums of floats, whose order is unspecified."""
    windows = [random_window(random) for _ in range(random.choice((1, 2, 2, 3)))]
    name = random.choice(("f32", "f32", "f64", "bf16", "s32", "u8", "pred", "c64"))
    opcodes = {"pred": ("and", "or", "add"), "c64": ("add", "multiply")}.get(name, ("add", "maximum", "minimum", "multiply"))
    opcode = random.choice(opcodes)
    bases, sizes = ([w[k] for w in windows] for k in (2, 3))
    is_sum = opcode == "add" and name in ("f32", "f64", "c64")
    comparisons = [[0.0, -0.0], [0.0, -0.0, -1.0], [0.0, 1.0, -1.0], SPECIAL_NUMBERS]
    numbers = random.choice(comparisons) if name in ("f32", "f64", "bf16") and not is_sum else [0, 1, 1, 2, 3]
    x, init = random_array(random, bases, name, numbers), random_array(random, [], name, numbers[:2])
    window = window_text(windows)
    text = REDUCE.format(
        type=name,
        opcode=opcode,
        sizes=",".join(map(str, bases)),
        result=",".join(map(str, sizes)),
        reduction=f"reduce-window(x, i), window={window}",
    )
    note(f"{text}\n{x}\n{init}")
    with pytest.MonkeyPatch.context() as patch:
        patch_block_sizes(patch, random)
        result = hlotool.evaluate(hlotool.parse(text), [x, init])
        patch.setattr(reduction, "reduce_windows", lambda *_: None)
        patch.setattr(reduction, "_is_rounded", lambda *_: False)
        expected = hlotool.evaluate(hlotool.parse(text), [x, init])
    if is_sum:
        np.testing.assert_allclose(result.astype(np.complex128), expected.astype(np.complex128), rtol=1e-5)
    else:
        same_nans = np.where(np.isnan(result), expected, result) if result.dtype.kind in "fV" or name == "bf16" else result
        np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
        assert same_nans.tobytes() == expected.tobytes()


def test_running_sums_are_rounded_once() -> None:
    x = np.random.default_rng(0).random((3, 5000), np.float32)
    text = REDUCE.format(
        type="f32", opcode="add", sizes="3,5000", result="3,5000", reduction="reduce-window(x, i), window={size=1x5000 pad=0_0x4999_0}"
    )
    result = hlotool.evaluate(hlotool.parse(text), [x, np.float32(0)])
    np.testing.assert_array_equal(result, np.cumsum(x, axis=1, dtype=np.float64).astype(np.float32))
    assert ml_dtypes.finfo(np.float32).eps > np.abs(result / np.cumsum(x, axis=1, dtype=np.float64) - 1).max()


SELECT = """ge {{ a = {type}[] parameter(0) b = {type}[] parameter(1) ROOT r = pred[] compare(a, b), direction={direction} }}
last {{ a = {type}[] parameter(0) ROOT b = {type}[] parameter(1) }}
add {{ a = {type}[] parameter(0) b = {type}[] parameter(1) ROOT r = {type}[] add(a, b) }}
ENTRY e {{ x = {type}[{sizes}] parameter(0) s = {type}[{windows}] parameter(1) i = {type}[] parameter(2)
  ROOT r = {type}[{sizes}] select-and-scatter(x, s, i), window={window}, select=ge, scatter={scatter} }}"""
COMPARISONS = {"GE": np.greater_equal, "LE": np.less_equal, "GT": np.greater}


@settings(max_examples=100)
@given(RANDOM)
def test_selected_elements_receive_the_values_of_their_windows(random: Random) -> None:
    windows = [random_window(random) for _ in range(random.choice((1, 2)))]
    if random.random() < 0.5:
        windows.insert(0, ("1 1", "0_0 1 1", 5, 5))
    # Dilated arrays are not allowed here, and large windows would take a long time.
    windows = [w if w[1].endswith("1") and w[3] * int(w[0].split()[0]) < 100 else ("1 1", "0_0 1 1", 4, 4) for w in windows]
    bases, sizes = ([w[k] for w in windows] for k in (2, 3))
    name, direction = random.choice(("f32", "f64", "s32", "bf16")), random.choice(list(COMPARISONS))
    scatter = random.choice(("add", "last"))
    x = random_array(random, bases, name, SPECIAL_NUMBERS if name != "s32" else [0, 1, 2, -3])
    keys = x.astype(np.float64)
    source, init = random_array(random, sizes, name, [1, 2, 3]), random_array(random, [], name, [0, 1])
    text = SELECT.format(
        type=name,
        direction=direction,
        scatter=scatter,
        sizes=",".join(map(str, bases)),
        windows=",".join(map(str, sizes)),
        window=window_text(windows),
    )
    note(f"{text}\n{x}\n{source}")
    expected = np.full(bases, init)
    for position in np.ndindex(*sizes):
        selected = None
        for tap in np.ndindex(*(int(w[0].split()[0]) for w in windows)):
            element = tuple(element_of(w, p, t) for w, p, t in zip(windows, position, tap, strict=True))
            if all(0 <= k < base for k, base in zip(element, bases, strict=True)):
                selected = selected if selected is not None and COMPARISONS[direction](keys[selected], keys[element]) else element
        if selected is not None:
            expected[selected] = source[position] if scatter == "last" else expected[selected] + source[position]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scattering, "_PART", random.choice((1, 30, 1 << 18)))
        result = hlotool.evaluate(hlotool.parse(text), [x, source, init])
    assert result.tobytes() == expected.tobytes()


def element_of(window: tuple[str, str, int, int], position: int, tap: int) -> int:
    stride, (padding, dilation) = int(window[0].split()[1]), window[1].split()[:2]
    return position * stride - int(padding.split("_")[0]) + tap * int(dilation)


@pytest.mark.parametrize(
    "steps",
    [
        "m = f32[] minimum(a, a) ROOT r = f32[] add(b, m)",
        "n = f32[] negate(a) m = f32[] negate(n) s = f32[] add(m, b) ROOT r = f32[] copy(s)",
        "one = f32[] constant(1) m = f32[] multiply(one, b) ROOT r = f32[] add(a, m)",
        "ROOT r = f32[] call(b, a), to_apply=add",
    ],
)
def test_steps_without_effect_do_not_change_the_order_of_a_sum(steps: str) -> None:
    """Checks that removing steps without effect from a reducer does not change the result.

    The optimizer removes such steps.
    """
    add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }"
    entry = "ENTRY e { x = f32[3,50] parameter(0) z = f32[] constant(0.1) ROOT r = f32[3] reduce(x, z), dimensions={1}, to_apply=NAME }"
    module = f"{add}\nf {{ a = f32[] parameter(0) b = f32[] parameter(1) {steps} }}\n{entry}"
    x = np.random.default_rng(1).standard_normal((3, 50), np.float32)
    for executor in ("reference", "plan"):
        plain, other = (hlotool.evaluate(hlotool.parse(module.replace("NAME", name)), [x], executor=executor) for name in ("add", "f"))
        assert plain.tobytes() == other.tobytes()


@pytest.mark.parametrize("element_type", ["f32", "bf16"])
@pytest.mark.parametrize("size", [2, 50, 3000])
def test_a_result_is_the_same_with_and_without_an_independent_one(element_type: str, size: int) -> None:
    """Checks that removing one of two independent results does not change the other result.

    The optimizer removes results that are not used.
    """
    t = element_type
    module = f"""add {{ a = {t}[] parameter(0) b = {t}[] parameter(1) ROOT s = {t}[] add(b, a) }}
both {{ a = {t}[] parameter(0) c = {t}[] parameter(1) b = {t}[] parameter(2) d = {t}[] parameter(3)
  s = {t}[] add(b, a) ROOT r = ({t}[], {t}[]) tuple(s, d) }}
ENTRY e {{ x = {t}[{size},3] parameter(0) y = {t}[{size},3] parameter(1) z = {t}[] constant(0.1)
  alone = {t}[3] reduce(x, z), dimensions={{0}}, to_apply=add
  two = ({t}[3], {t}[3]) reduce(x, y, z, z), dimensions={{0}}, to_apply=both
  first = {t}[3] get-tuple-element(two), index=0
  last = {t}[3] get-tuple-element(two), index=1
  ROOT t = ({t}[3], {t}[3], {t}[3]) tuple(alone, first, last) }}"""
    generator = np.random.default_rng(2)
    x, y = (generator.standard_normal((size, 3), np.float32) for _ in range(2))
    for executor in ("reference", "plan"):
        alone, first, last = hlotool.evaluate(hlotool.parse(module), [x, y], executor=executor)
        assert first.tobytes() == alone.tobytes()
        assert last.tobytes() == y[-1].astype(last.dtype).tobytes()
