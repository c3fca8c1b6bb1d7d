"""Windows, padding, collectives and other composite operations, and errors in their use.

Results are compared with NumPy or with XLA's documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from steps import steps

import hlotool
from hlotool.builder import ConvolutionDimensionNumbers, DotDimensionNumbers, GatherDimensionNumbers
from hlotool.builder.op import Op
from hlotool.builder.windows import make_window
from hlotool.shapes.values import PaddingDimension


def run(build: Callable[..., Any], *values: Any) -> Any:
    b = hlotool.Builder("m")
    arguments = [b.parameter(k, b.constant(value).shape) for k, value in enumerate(values)]
    return hlotool.evaluate(b.build(build(b, *arguments)), values)


@pytest.mark.parametrize("area", range(1, 9))
@pytest.mark.parametrize("size", range(1, 5))
@pytest.mark.parametrize("stride", range(1, 4))
def test_same_padding_has_one_position_per_stride(area: int, size: int, stride: int) -> None:
    (window,) = make_window([area], [size], [stride], "SAME")
    padded = area + window.padding_low + window.padding_high
    assert (padded - size) // stride + 1 == -(-area // stride)
    assert window.padding_high - window.padding_low in (0, 1)
    assert make_window([area], [size], [stride], "kSame") == (window,)


def reference_convolution(x: Any, kernel: Any, stride: int, low: int, high: int, dilation: int = 1) -> Any:
    """Computes a convolution of [batch, feature, width] with [output, feature, width]."""
    padded = np.pad(x, ((0, 0), (0, 0), (low, high)))
    span = (kernel.shape[2] - 1) * dilation + 1
    starts = range(0, padded.shape[2] - span + 1, stride)
    columns = [np.einsum("bfk,ofk->bo", padded[:, :, start : start + span : dilation], kernel) for start in starts]
    return np.stack(columns, 2)


X = np.arange(2 * 3 * 7, dtype=np.float32).reshape(2, 3, 7)
KERNEL = np.arange(4 * 3 * 3, dtype=np.float32).reshape(4, 3, 3) - 10

CONVOLUTIONS: list[tuple[Callable[..., Op], tuple[int, ...]]] = [
    (lambda b, x, k: b.conv(x, k, [1], "VALID"), (1, 0, 0)),
    (lambda b, x, k: b.conv(x, k, [2], "SAME"), (2, 1, 1)),
    (lambda b, x, k: b.conv_with_general_padding(x, k, [1], [(2, 3)]), (1, 2, 3)),
    (lambda b, x, k: b.conv_with_general_dimensions(x, k, [1], "SAME", "bf0_oi0->bf0"), (1, 1, 1)),
    (lambda b, x, k: b.conv_general(x, k, [3], [[1, 0]], ConvolutionDimensionNumbers(0, 1, [2], 1, 0, [2], 0, 1, [2])), (3, 1, 0)),
    (lambda b, x, k: b.conv_general_dilated(x, k, [1], [(0, 0)], None, [2], None), (1, 0, 0, 2)),
    (lambda b, x, k: b.conv_general_dilated(x, b.rev(k, [2]), None, [(1, 1)], [1], [1], None, window_reversal=[True]), (1, 1, 1)),
]


@pytest.mark.parametrize(("build", "expected"), CONVOLUTIONS)
def test_convolutions(build: Callable[..., Op], expected: tuple[int, ...]) -> None:
    np.testing.assert_allclose(run(build, X, KERNEL), reference_convolution(X, KERNEL, *expected))


def test_products_have_the_preferred_type() -> None:
    x, y = np.full((2, 3), 100, np.int8), np.full((3, 2), 100, np.int8)
    assert run(lambda b, x, y: b.dot(x, y, preferred_element_type="s32"), x, y).tolist() == [[30000] * 2] * 2
    b = hlotool.Builder("m")
    product = b.dot(b.parameter(0, "f32[2,3]"), b.parameter(1, "f32[3]"), "HIGHEST")
    assert product.instruction.attributes["operand_precision"] == ("highest", "highest")


def test_dictionaries_are_dimension_numbers() -> None:
    numbers = {"lhs_contracting_dimensions": [-1], "rhs_contracting_dimensions": [0]}
    x, y = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    assert run(lambda b, x, y: b.dot_general(x, y, numbers), x, y).tolist() == (x @ y).tolist()


def test_gather_takes_rows() -> None:
    table = np.arange(20, dtype=np.float32).reshape(5, 4)
    rows = GatherDimensionNumbers([1], [0], [0], 1)
    found = run(lambda b, x: b.gather(x, [[3], [0], [9]], rows, [1, 4]), table)
    assert found.tolist() == table[[3, 0, 4]].tolist()


def test_padding_in_all_forms() -> None:
    x = np.array([1.0, 2.0, 3.0], np.float32)
    for config in ([(1, -1, 1)], [PaddingDimension(1, -1, 1)], "1_-1_1"):
        assert run(lambda b, x, config=config: b.pad(x, 9.0, config), x).tolist() == [9.0, 1.0, 9.0, 2.0, 9.0]


def test_select_of_tuples_and_numbers() -> None:
    first, second = run(
        lambda b, p: b.select(p, b.tuple([b.constant(1.0), b.constant([1, 2])]), b.tuple([b.constant(3.0), b.constant([3, 4])])), np.bool_(False)
    )
    assert (float(first), second.tolist()) == (3.0, [3, 4])
    x = np.array([[-1.0, 2.0]], np.float32)
    assert run(lambda b, x: b.select(x > 0.0, x, 0.0), x).tolist() == [[0.0, 2.0]]
    assert run(lambda b, x: b.select(x > 0.0, 1, 0), x).tolist() == [[0, 1]]


def test_sums_of_truth_values_use_or() -> None:
    b = hlotool.Builder("m", replica_count=2)
    b.cross_replica_sum(b.parameter(0, "pred[2]"))
    assert [x.tolist() for x in hlotool.evaluate_replicas(b.build(), [[[True, False]], [[False, False]]])] == [[True, False]] * 2


def test_tuples_are_reduced_element_by_element() -> None:
    b = hlotool.Builder("m", replica_count=2)
    b.cross_replica_sum(b.tuple([b.parameter(0, "f32[2]"), b.parameter(1, "f32[]")]))
    first, _ = hlotool.evaluate_replicas(b.build(), [[[1.0, 2.0], 3.0], [[10.0, 20.0], 30.0]])
    assert (first[0].tolist(), float(first[1])) == ([11.0, 22.0], 33.0)


@pytest.mark.parametrize(("split", "concat"), [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0)])
def test_all_to_all_concatenates_parts(split: int, concat: int) -> None:
    b = hlotool.Builder("m", replica_count=2)
    b.all_to_all(b.parameter(0, "f32[2,4,6]"), split, concat, 2)
    values = [np.arange(48, dtype=np.float32).reshape(2, 4, 6) + 100 * k for k in range(2)]
    found = hlotool.evaluate_replicas(b.build(), [[value] for value in values])
    for k in range(2):
        parts = [np.split(value, 2, split)[k] for value in values]
        assert found[k].tolist() == np.concatenate(parts, concat).tolist()


def test_infeeds_and_outfeeds_keep_their_order() -> None:
    b = hlotool.Builder("m")
    first, second = b.infeed("f32[]"), b.infeed("(f32[], s32[])")
    b.outfeed(first)
    b.outfeed(second[1])
    queues = hlotool.HostQueues(infeed=[np.float32(1), (np.float32(2), np.int32(3))])
    found = hlotool.evaluate(b.build(first + second[0]), [], options=hlotool.RunOptions(queues=queues))
    assert float(found) == 3.0
    assert [np.asarray(item).item() for item in queues.outfeed] == [1.0, 3]


WRONG: list[tuple[Callable[[hlotool.Builder, Op], Any], str]] = [
    (lambda b, x: b.conv(x, x, [1, 1], "NONE"), "conv: padding: 'NONE' is neither SAME nor VALID"),
    (lambda b, x: b.conv(x, x, [1], "SAME"), "conv: window_strides: expected one entry per dimension of the window (2), got 1"),
    (lambda b, x: b.conv_with_general_padding(x, x, [1, 1], [(0, 0)]), "padding: expected (low, high) for each dimension (2)"),
    (lambda b, x: b.conv_general(x, x, [1, 1], "SAME", "wrong"), "dimension_numbers: 'wrong' cannot be read"),
    (lambda b, x: b.conv(x, x, [1, 1], "SAME", feature_group_count=3), "conv: lhs, rhs: the kernel expects 3 features, but lhs has 1"),
    (lambda b, x: b.reduce_window(x, 0.0, lambda a, c: a + c, [2, 2], [1, 1], "SAME"), "expected one entry per dimension of the operand (4), got 2"),
    (lambda b, x: b.dot_general(x, x, DotDimensionNumbers([9], [0])), "dot_general: dimension_numbers: dimension 9 in lhs_contracting_dims"),
    (lambda b, x: b.dot_general(x, x, {"lhs": [0]}), "dimension_numbers: DotDimensionNumbers has no field lhs"),
    (lambda b, x: b.dot(x, x, "best"), "precision_config: 'best' is not one of default, high, highest"),
    (lambda b, x: b.all_gather(x, 0, 3, [[0, 1]]), "shard_count: each group has 2 members, but shard_count is 3"),
    (lambda b, x: b.all_gather(x, 7, 2), "all_gather_dimension"),
    (lambda b, x: b.all_to_all(x, 4, 0, 1), "split_dimension: there is no dimension 4"),
    (lambda b, x: b.all_to_all(x, 2, 0, 3), "split_count: dimension 2 of size 8 cannot be split into 3 equal parts"),
    (lambda b, x: b.reduce_scatter(x, abs, 2, 3), "shard_count: dimension 2 of size 8 cannot be split into 3 equal parts"),
    (lambda b, x: b.cross_replica_sum(x, replica_group_ids=[0, 1, 0]), "groups must have the same size, got sizes 1 and 2"),
    (
        lambda b, x: b.collective_permute(x, [(0, 1)], inplace=True),
        "operand: expected 4 operands (the input, the output, and the offsets into each), got 1",
    ),
    (lambda b, x: b.collapse(x, [0, 2]), "collapse: dimensions: dimensions must be consecutive"),
    (lambda b, x: b.collapse(x, [1, 0]), "collapse: dimensions: dimensions must be consecutive"),
    (lambda b, x: b.broadcast_in_dim(x, [1], [0]), "broadcast_dimensions: expected one entry for each dimension of f32[1,1,8,8]"),
    (lambda b, x: b.slice(x, [0], [1, 2]), "limit_indices: expected as many entries as start_indices (1), got 2"),
    (lambda b, x: b.slice(x, [0, 0, 0, 0], [1, 1, 9, 1]), "limit 9 exceeds size 8 of dimension 2"),
    (lambda b, x: b.pad(x, 0.0, [(1,)]), "padding_config: expected (low, high) or (low, high, interior), got [1]"),
    (lambda b, x: b.pad(x, 0.0, [(1, 1)]), "padding_config: padding must have 4 entries (one low_high per dimension of f32[1,1,8,8]), got 1"),
    (lambda b, x: b.pad(x, 0.0, 5), "padding_config: expected a list, found int"),
    (lambda b, x: b.transpose(x, [0, 1]), "permutation: dimensions of 'transpose' must be a permutation of [0, 1, 2, 3], got [0, 1]"),
    (lambda b, x: b.transpose(x, 3), "permutation: expected a list of integers, found 3"),
    (lambda b, x: b.convert_element_type(x, "float"), "new_element_type: 'float' is not an element type"),
    (lambda b, x: b.bitcast_convert_type(x, "c64"), "cannot reinterpret f32 as c64"),
    (lambda b, x: b.reshape(x, [5]), "cannot turn 64 elements (f32[1,1,8,8]) into 5 (f32[5])"),
    (lambda b, x: b.reshape(x), "the sizes of the result are missing"),
    (lambda b, x: b.iota("pred[2]"), "the element type of 'iota' cannot be pred"),
    (lambda b, x: b.rng_uniform(0.0, 1.0, "c64[2]"), "rng_uniform"),
    (lambda b, x: b.rng_bit_generator("mersenne", x, "u32[2]"), "algorithm: 'mersenne' is not one of rng_default"),
    (lambda b, x: b.infeed("((f32[]))"), "tuples of an infeed cannot be nested"),
    (lambda b, x: b.outfeed(x, "f32[2]"), "outfeed_shape"),
    (lambda b, x: b.send_done(x), "context: expected the result of 'send', got that of 'parameter'"),
    (lambda b, x: b.custom_call("f", [x], "f32[", attributes={}), "'f32[' is not a shape"),
    (lambda b, x: b.custom_call("f", [x], "f32[]", attributes={"apy_version": 1}), "did you mean 'api_version'?"),
    (lambda b, x: b.compare(x, x, [], "LE", "SIGNED"), "type of 'compare' must be FLOAT or TOTALORDER for f32, got SIGNED"),
    (lambda b, x: b.compare(x, x, [], "lt"), "did you mean 'LT'?"),
    (lambda b, x: b.exp(x, "fast"), "result_accuracy: 'fast' is not one of default, highest"),
    (lambda b, x: b.get_tuple_element(x, 0), "tuple"),
    (lambda b, x: b.tuple([x])[3], "index 3 is out of range"),
    (lambda b, x: b.instruction("tranpose", x), "did you mean 'transpose'?"),
    (lambda b, x: b.instruction("transpose", x), "needs the attribute 'dimensions'"),
    (lambda b, x: b.sort(x, lambda p, q: p), "comparator: the comparator must return pred[]"),
    (lambda b, x: b.fft(x, "DCT", [8]), "fft_type: 'DCT' is not one of FFT"),
    (lambda b, x: b.cholesky(x[0, 0, :2], True), "the last two dimensions must be equal, got [2, 8]"),
]


@pytest.mark.parametrize(("call", "part"), WRONG)
def test_mistakes(call: Callable[[hlotool.Builder, Op], Any], part: str) -> None:
    b = hlotool.Builder("m", replica_count=2)
    x = b.parameter(0, "f32[1,1,8,8]", "x")
    with pytest.raises(hlotool.BuilderError) as caught:
        call(b, x)
    assert part in str(caught.value)
    assert caught.value.diagnostics[0].filename == __file__


def building_steps(count: int) -> int:
    """Returns the number of steps that it takes to build about `count` operations.

    Some of the operations have new shapes.
    """

    def build() -> None:
        b = hlotool.Builder("m")
        x = b.parameter(0, "f32[64,64]")
        y = x
        for k in range(count // 3):
            y = b.tanh(x * y)
            y = b.transpose(y, [1, 0])
            b.slice(y, [k % 64, 0], [64, 1 + k % 7])
        b.build()

    return steps(build)


def test_building_takes_a_few_steps_for_each_operation() -> None:
    small, large = building_steps(300), building_steps(3000)
    # Most of the steps check operations with new shapes, which are a quarter of all operations.
    assert (large - small) / 2700 < 2500
