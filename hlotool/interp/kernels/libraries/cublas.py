"""Matrix products and triangular solvers of NVIDIA's cuBLAS, as XLA calls them for GPUs.

Cholesky factors (cuSOLVER) and products of block-scaled matrices are included. A product and all
operations that follow it are computed in at least f32, and the result is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.arrays.values import Value
from hlotool.interp.kernels.contraction import dot, scaled_dot
from hlotool.interp.kernels.conversion import convert_values
from hlotool.interp.kernels.libraries.base import (
    CustomCall,
    Handler,
    dot_dims,
    flag_of,
    number_of,
    placeholder,
    require,
    result_with_workspace,
    results_of,
    settings_of,
)
from hlotool.interp.kernels.linear_algebra import cholesky, triangular_solve
from hlotool.opdefs.inference import count
from hlotool.shapes.shape import Shape

__all__ = ["TARGETS", "gelu", "silu", "wide_shape"]

_MATMUL_OPERANDS = 2


def gelu(x: Array) -> Array:
    """Computes the Gaussian error linear unit with the tanh approximation, as cuBLAS does."""
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), x.dtype)


def silu(x: Array) -> Array:
    """Computes the sigmoid linear unit: `x` times the logistic function of `x`."""
    return np.asarray(x / (1 + np.exp(-x)), x.dtype)


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "RELU": lambda x: np.maximum(x, x.dtype.type(0)),
    "GELU": gelu,
    "SILU": silu,
}


def wide_shape(shape: Shape) -> Shape:
    """Returns the shape with the element type that a library uses for arithmetic."""
    number = NUMBERS[shape.element_type]
    is_wide = number.computed == number.held and number.bits > 16
    return shape if is_wide else shape.with_element_type("f32")


def _matmul(*operands: Array, call: CustomCall) -> Value:
    """Computes alpha * lhs @ rhs + beta * C, and applies the epilogue.

    The epilogue adds a bias for each column and applies an activation.
    """
    settings = settings_of(call, "gemm_backend_config")
    lhs, rhs, *others = operands
    product = _scaled_product(lhs, rhs, others, settings, call)
    return _finish(product, others, settings, call)


def _matmul_f8(*operands: Array, call: CustomCall) -> Value:
    """Like `_matmul`, with scale factors for the operands and for 8-bit results."""
    settings = settings_of(call, "gemm_backend_config")
    lhs, rhs, *others = operands
    at = int(number_of(settings, "beta", 0, call) != 0)
    require(len(others) >= at + 2, call, "requires the scales of both operands")
    scales = [x.astype(np.float32) for x in others[at : at + 2]]
    del others[at : at + 2]
    is_f8 = NUMBERS[results_of(call)[0].element_type].bits == 8
    scale = others.pop().astype(np.float32) if is_f8 and others else None
    left, right = lhs.astype(np.float32) * scales[0], rhs.astype(np.float32) * scales[1]
    product = _scaled_product(left, right, others, settings, call)
    return _finish(product, others, settings, call, scale)


def _scaled_product(lhs: Array, rhs: Array, others: list[Array], settings: Mapping[str, Any], call: CustomCall) -> Array:
    """Computes alpha * lhs @ rhs + beta * C. If C is used, it is removed from `others`."""
    product = dot(lhs, rhs, **dot_dims(settings, "dot_dimension_numbers", call), result=wide_shape(results_of(call)[0]))
    alpha: complex = complex(number_of(settings, "alpha_real", 1, call), number_of(settings, "alpha_imag", 0, call))
    if product.dtype.kind != "c":
        alpha = alpha.real
    product = product if alpha == 1 else (product * alpha).astype(product.dtype)
    beta = number_of(settings, "beta", 0, call)
    if beta:
        require(bool(others), call, "requires a third matrix, since beta is not 0")
        product = (product + others.pop(0).astype(product.dtype) * beta).astype(product.dtype)
    return product


def _finish(product: Array, others: list[Array], settings: Mapping[str, Any], call: CustomCall, scale: Array | None = None) -> Value:
    epilogue = str(settings.get("epilogue", "DEFAULT"))
    words = set(epilogue.split("_")) - {"DEFAULT"}
    require(words <= {"BIAS", "AUX", *_ACTIVATIONS}, call, f"has the epilogue '{epilogue}', which hlotool does not support")
    if "BIAS" in words:
        require(bool(others), call, f"requires a bias for its epilogue '{epilogue}'")
        product = product + others.pop(0).astype(product.dtype)
    require(not others, call, f"has {count(len(others), 'operand')} that its settings do not call for")
    output, *more = results_of(call)
    extra = []
    if "AUX" in words:
        # This result is the input of the activation, which the activation's gradient needs.
        require(bool(more), call, f"has no result for the input of its epilogue '{epilogue}'")
        extra.append(convert_values(product, NUMBERS[more[0].element_type]))
    for word in words & set(_ACTIVATIONS):
        product = _ACTIVATIONS[word](product)
    if flag_of(settings, "damax_output", call):
        require(len(more) > len(extra), call, "has no result for the largest magnitude")
        extra.append(convert_values(np.asarray(np.abs(product).max(initial=0)), NUMBERS[more[len(extra)].element_type]))
    if scale is not None:
        product = np.asarray(product * scale)
    return result_with_workspace(call, _limit_range(product, NUMBERS[output.element_type]), *extra)


def _limit_range(product: Array, number: NumberType) -> Array:
    """Converts the product to its final type; 8-bit floats are limited to their finite range."""
    if number.kind == "float" and number.bits == 8:
        greatest = float(ml_dtypes.finfo(number.held).max)  # type: ignore[no-untyped-call]
        product = np.clip(product, -greatest, greatest)
    return convert_values(product, number)


def _triangular_solve(a: Array, b: Array, *, call: CustomCall) -> Value:
    settings = settings_of(call, "triangular_solve_options")
    flags = {name: flag_of(settings, name, call) for name in ("left_side", "lower", "unit_diagonal")}
    transpose = str(settings.get("transpose_a", "NO_TRANSPOSE"))
    require(transpose in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"), call, f"has the unknown value '{transpose}' for the setting transpose_a")
    return result_with_workspace(call, triangular_solve(a, b, **flags, transpose_a=transpose))


def _cholesky(a: Array, *, call: CustomCall) -> Value:
    """Computes the Cholesky factor.

    The other results are a workspace, and a flag for each matrix, which is 1 if the matrix is not
    positive definite.
    """
    factor = cholesky(a, lower=flag_of(settings_of(call, "cholesky_options"), "lower", call))
    failed = np.isnan(factor).any(axis=(-1, -2)).astype(np.int32)
    return (factor, *(np.reshape(failed, shape.dimensions) if shape.element_type == "s32" else placeholder(shape) for shape in results_of(call)[1:]))


def _block_scaled_dot(lhs: Array, rhs: Array, *scales: Array, call: CustomCall) -> Value:
    """Computes `lhs @ rhs.T`, both in row-major order.

    Each scale applies to one block of the contracted (last) dimension; an optional scalar scales
    the result.
    """
    (output, *_), batch = results_of(call), tuple(range(lhs.ndim - _MATMUL_OPERANDS))
    last = (lhs.ndim - 1,)
    none = np.ones((), np.float32)
    left_scale, right_scale = [*(scale for scale in scales if scale.ndim), none, none][:2]
    dims = {"lhs_batch_dims": batch, "rhs_batch_dims": batch, "lhs_contracting_dims": last, "rhs_contracting_dims": last}
    product = scaled_dot(lhs, rhs, left_scale, right_scale, **dims, result=wide_shape(output))
    for scale in scales:
        product = product if scale.ndim else np.asarray(product * scale.astype(product.dtype))
    return result_with_workspace(call, convert_values(product, NUMBERS[output.element_type]))


TARGETS: dict[str, Handler] = {
    **dict.fromkeys(["__cublas$gemm", "__cublas$lt$matmul"], _matmul),
    "__cublas$lt$matmul$f8": _matmul_f8,
    "__cublas$triangularSolve": _triangular_solve,
    "__cusolver$cholesky": _cholesky,
    "__op$block_scaled_dot": _block_scaled_dot,
}
