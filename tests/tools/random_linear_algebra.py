"""Random instances of products, factorizations, transforms, normalization and random bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from instances import (
    COMPLEX,
    EXACT,
    INTEGERS,
    NUMERIC,
    Draw,
    Instance,
    Tolerance,
    Undrawable,
    family,
    rounding,
    shape_text,
)

from hlotool.interp.arrays.dtypes import NUMBERS

__all__: list[str] = []


def _list(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


# XLA:CPU has no products of these types, or only for some shapes.
_WITHOUT_PRODUCT = ("s2", "u2", "s4", "u4")
_OF_ONE_TYPE = tuple(element_type for element_type in NUMERIC if element_type not in _WITHOUT_PRODUCT)
_MIXED = (
    ("s8", "s8", "s32"), ("u8", "u8", "u32"), ("s32", "s32", "s64"), ("s16", "s16", "s32"), ("bf16", "bf16", "f32"), ("f16", "f16", "f32"),
    ("f8e4m3fn", "f8e4m3fn", "f32"), ("f8e4m3fn", "f8e4m3fn", "bf16"), ("f32", "f32", "f64"), ("s8", "s8", "f32"), ("bf16", "f32", "f32"),
    ("s32", "s32", "f32"), ("bf16", "bf16", "f64"), ("f32", "f32", "s32"),
)  # fmt: skip
# XLA's convolution requires operands of one type, unless both are floats of 16 bits or more.
_MIXED_IN_DOT = (*_MIXED, ("u8", "s8", "s32"), ("f8e5m2", "f8e4m3fn", "f32"))


def _product_types(d: Draw, mixed: Sequence[tuple[str, str, str]]) -> tuple[str, str, str]:
    """Draws the types of two factors and of their product.

    Usually, all types are the same; otherwise, the product is usually wider than the factors.
    """
    if d.chance(0.7):
        element_type = d.type(_OF_ONE_TYPE)
        return element_type, element_type, element_type
    return d.pick(mixed)


def _product_style(element_type: str, result: str) -> str:
    """Returns a style of numbers whose sums are the same in any order.

    Integers wrap and are exact; floats are small whole numbers.
    """
    return "wild" if element_type in INTEGERS and result in INTEGERS else "whole"


def _product_tolerance(result: str) -> Tolerance:
    return rounding(result, 8, 8) if result in COMPLEX else Tolerance(signs=False)


@family("dot", 3)
def dot(d: Draw) -> Instance:
    x, (left, right, result) = Instance(), _product_types(d, _MIXED_IN_DOT)
    batch, rows, columns = (list(d.sizes(d.pick((0, 0, 1, 1, 2)))) for _ in range(3))
    contracted = list(d.sizes(d.pick((0, 1, 1, 1, 2))))
    if prod(batch + rows + columns) > 200 or prod(contracted) > 60:
        raise Undrawable

    def side(free: list[int]) -> tuple[list[int], list[int], list[int]]:
        """Returns sizes, and the positions of batch and contracted dimensions."""
        total = [*batch, *contracted, *free]
        order = d.shuffled(range(len(total)))
        # The free dimensions keep their order, which is also their order in the result.
        positions = sorted(order.index(k) for k in range(len(batch) + len(contracted), len(total)))
        for k, position in zip(range(len(batch) + len(contracted), len(total)), positions, strict=True):
            order[position] = k
        numbers = range(len(batch) + len(contracted))
        where = [order.index(k) for k in numbers]
        return [total[k] for k in order], where[: len(batch)], where[len(batch) :]

    (left_sizes, lb, lc), (right_sizes, rb, rc) = side(rows), side(columns)
    a = x.argument(left, d.numbers(left, left_sizes, _product_style(left, result)))
    b = x.argument(right, d.numbers(right, right_sizes, _product_style(right, result)))
    attributes = [f"lhs_contracting_dims={_list(lc)}, rhs_contracting_dims={_list(rc)}"]
    if batch:
        attributes.insert(0, f"lhs_batch_dims={_list(lb)}, rhs_batch_dims={_list(rb)}")
    made = shape_text(result, [*batch, *rows, *columns])
    return x.gives(made, f"dot({a}, {b}), {', '.join(attributes)}", _product_tolerance(result))


class _Kernel:
    """A spatial dimension of a convolution."""

    def __init__(self, d: Draw) -> None:
        self.base, self.size, self.stride = d.between(1, 5), d.between(1, 3), d.pick((1, 1, 2, 3))
        self.low, self.high = d.pick((0, 0, 1, 2, -1)), d.pick((0, 0, 1, 2, -1))
        self.base_dilation, self.dilation, self.reversed = d.pick((1, 1, 1, 2, 3)), d.pick((1, 1, 1, 2)), d.chance(0.2)
        padded = self.low + (self.base - 1) * self.base_dilation + 1 + self.high
        reach = (self.size - 1) * self.dilation + 1
        if padded < 0:
            raise Undrawable
        self.positions = 0 if padded == 0 or reach > padded else (padded - reach) // self.stride + 1


def _kernel_window(kernel: Sequence[_Kernel]) -> str:
    columns = {
        "size": ([str(k.size) for k in kernel], ""),
        "stride": ([str(k.stride) for k in kernel], "1"),
        "pad": ([f"{k.low}_{k.high}" for k in kernel], "0_0"),
        "lhs_dilate": ([str(k.base_dilation) for k in kernel], "1"),
        "rhs_dilate": ([str(k.dilation) for k in kernel], "1"),
        "rhs_reversal": ([str(int(k.reversed)) for k in kernel], "0"),
    }
    return " ".join(f"{name}={'x'.join(values)}" for name, (values, default) in columns.items() if set(values) != {default})


@family("convolution", 3)
def convolution(d: Draw) -> Instance:
    x, (left, right, result) = Instance(), _product_types(d, _MIXED)
    kernel = [_Kernel(d) for _ in range(d.pick((0, 1, 1, 2, 2, 3)))]
    features, batches = d.pick(((1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)))
    of_kernel, made = d.between(1, 3), d.between(1, 2) * features * batches
    batch = d.between(1, 2) * batches

    def ordered(labels: str, sizes: dict[str, int]) -> tuple[str, list[int]]:
        order = d.random.sample(labels, len(labels))
        return "".join(order), [sizes[label] for label in order]

    digits = "".join(str(k) for k in range(len(kernel)))
    lhs, lhs_sizes = ordered("bf" + digits, {"b": batch, "f": of_kernel * features, **{str(k): w.base for k, w in enumerate(kernel)}})
    rhs, rhs_sizes = ordered("io" + digits, {"i": of_kernel, "o": made, **{str(k): w.size for k, w in enumerate(kernel)}})
    out, out_sizes = ordered("bf" + digits, {"b": batch // batches, "f": made, **{str(k): w.positions for k, w in enumerate(kernel)}})
    a = x.argument(left, d.numbers(left, lhs_sizes, _product_style(left, result)))
    b = x.argument(right, d.numbers(right, rhs_sizes, _product_style(right, result)))
    attributes = [f"window={{{_kernel_window(kernel)}}}"] if kernel else []
    attributes.append(f"dim_labels={lhs}_{rhs}->{out}")
    attributes += [f"feature_group_count={features}"] * (features > 1) + [f"batch_group_count={batches}"] * (batches > 1)
    return x.gives(shape_text(result, out_sizes), f"convolution({a}, {b}), {', '.join(attributes)}", _product_tolerance(result))


@family("fft", 1)
def fft(d: Draw) -> Instance:
    x, kind, wide = Instance(), d.pick(("FFT", "IFFT", "RFFT", "IRFFT")), d.chance(0.4)
    real, complex_ = ("f64", "c128") if wide else ("f32", "c64")
    lengths = [d.pick((1, 2, 3, 4, 5, 8)) for _ in range(d.between(1, 3))]
    batch = list(d.sizes(d.between(0, 2)))
    if prod(batch + lengths) > 300:
        raise Undrawable
    half = [*batch, *lengths[:-1], lengths[-1] // 2 + 1]
    full = [*batch, *lengths]
    source, given, target, made = {
        "FFT": (complex_, full, complex_, full), "IFFT": (complex_, full, complex_, full),
        "RFFT": (real, full, complex_, half), "IRFFT": (complex_, half, real, full),
    }[kind]  # fmt: skip
    operand = x.argument(source, d.numbers(source, given, "mild"))
    return x.gives(shape_text(target, made), f"fft({operand}), fft_type={kind}, fft_length={_list(lengths)}", rounding(target, 64, 256))


@family("cholesky", 1)
def cholesky(d: Draw) -> Instance:
    element_type, x, n = d.pick(("f32", "f64", "c64", "c128")), Instance(), d.between(1, 5)
    batch = d.sizes(d.between(0, 2))
    root = d.numbers(element_type, (*batch, n, n), "mild")
    matrix = root @ np.conjugate(np.swapaxes(root, -1, -2)) + 4 * np.eye(n, dtype=root.dtype)
    if d.chance(0.2):
        matrix = matrix - 8 * np.eye(n, dtype=root.dtype)
    # The other triangle is not read, so it may contain anything. The diagonal of a matrix that can
    # be factored is real.
    lower = d.chance(0.5)
    unread = np.triu(np.ones((n, n), bool), 1) if lower else np.tril(np.ones((n, n), bool), -1)
    operand = x.argument(element_type, np.where(unread, d.numbers(element_type, matrix.shape, "mild"), matrix).astype(root.dtype))
    shape = shape_text(element_type, matrix.shape)
    return x.gives(shape, f"cholesky({operand}), lower={str(lower).lower()}", rounding(element_type, 512, 512))


@family("triangular-solve", 1)
def triangular_solve(d: Draw) -> Instance:
    element_type, x, n, k = d.pick(("f32", "f64", "c64", "c128")), Instance(), d.between(1, 5), d.between(1, 3)
    batch, left = d.sizes(d.between(0, 2)), d.chance(0.5)
    unit = d.chance(0.4)
    # The matrix is well conditioned, so that rounding errors stay small.
    matrix = d.numbers(element_type, (*batch, n, n), "mild") / 4
    matrix = matrix if unit else matrix + 3 * np.eye(n, dtype=matrix.dtype)
    sizes = (*batch, n, k) if left else (*batch, k, n)
    names = [x.argument(element_type, matrix.astype(NUMBERS[element_type].held)), x.argument(element_type, d.numbers(element_type, sizes, "mild"))]
    transpose = d.pick(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))
    flags = f"left_side={str(left).lower()}, lower={d.pick(('true', 'false'))}, unit_diagonal={str(unit).lower()}, transpose_a={transpose}"
    return x.gives(shape_text(element_type, sizes), f"triangular-solve({', '.join(names)}), {flags}", rounding(element_type, 512, 512))


@family("batch-norm", 1.5)
def batch_norm(d: Draw) -> Instance:
    element_type, x = d.pick(("f32", "f32", "f64", "f16", "bf16")), Instance()
    sizes = d.sizes(d.between(1, 4), least=1)
    feature = d.between(0, len(sizes) - 1)
    whole, features = shape_text(element_type, sizes), shape_text(element_type, (sizes[feature],))
    kind = d.pick(("training", "inference", "grad"))
    # Differences from the mean lose all digits if a feature has one element, and sums of narrow
    # floats are rounded at every step.
    tolerance = rounding(element_type, 4096 if element_type in ("f32", "f64") else 64, 4096 if element_type in ("f32", "f64") else 64)

    def some(shape: Sequence[int]) -> str:
        return x.argument(element_type, d.numbers(element_type, shape, "mild"))

    def variance() -> str:
        return x.argument(
            element_type, np.abs(d.numbers(element_type, (sizes[feature],), "mild").astype(np.float64)).astype(NUMBERS[element_type].held)
        )

    ones = (sizes[feature],)
    attributes = f"epsilon={d.pick(('0.5', '1', '0.125'))}, feature_index={feature}"
    if kind == "training":
        operands = [some(sizes), some(ones), some(ones)]
        return x.gives(f"({whole}, {features}, {features})", f"batch-norm-training({', '.join(operands)}), {attributes}", tolerance)
    if kind == "inference":
        operands = [some(sizes), some(ones), some(ones), some(ones), variance()]
        return x.gives(whole, f"batch-norm-inference({', '.join(operands)}), {attributes}", tolerance)
    operands = [some(sizes), some(ones), some(ones), variance(), some(sizes)]
    return x.gives(f"({whole}, {features}, {features})", f"batch-norm-grad({', '.join(operands)}), {attributes}", tolerance)


@family("rng-bit-generator", 1)
def rng_bit_generator(d: Draw) -> Instance:
    x, algorithm, element_type = Instance(), d.pick(("rng_three_fry", "rng_philox", "rng_default")), d.pick(("u8", "u16", "u32", "u32", "u64"))
    length, sizes = 2 if algorithm == "rng_three_fry" else d.pick((2, 3)), d.sizes()
    state = x.argument("u64", d.numbers("u64", (length,)))
    return x.gives(f"(u64[{length}], {shape_text(element_type, sizes)})", f"rng-bit-generator({state}), algorithm={algorithm}", EXACT)
