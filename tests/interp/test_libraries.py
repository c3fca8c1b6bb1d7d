"""Custom calls to GPU libraries, compared with their definitions.

Gradients are compared with the linear maps that they transpose, and attention is compared with its
formula.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import hlotool
from hlotool.interp.kernels.libraries import lapack

# ---- convolutions -----------------------------------------------------------------------------------------------------

_CONVOLUTIONS = [
    ("size=3 pad=1_1", 5, 3, 1),
    ("size=3 stride=2 pad=0_1", 6, 3, 1),
    ("size=2 stride=2 pad=1_0 rhs_dilate=2", 7, 2, 1),
    ("size=3 pad=2_0", 5, 3, 2),
    ("size=3 stride=2 pad=1_1 rhs_reversal=1", 6, 3, 2),
]


def _run(text: str, *arguments: Any) -> Any:
    return hlotool.evaluate(hlotool.parse(text), arguments)


def _call(target: str, window: str, groups: int, result: tuple[int, ...], lhs: Any, rhs: Any) -> Any:
    """Returns the first result of a cuDNN convolution whose dimensions are in an unusual order."""
    shapes = [f"f64[{','.join(map(str, dims))}]" for dims in (result, lhs.shape, rhs.shape)]
    text = (
        f"ENTRY e {{ a = {shapes[1]} parameter(0) b = {shapes[2]} parameter(1) "
        f"c = ({shapes[0]}, u8[0]) custom-call(a, b), window={{{window}}}, dim_labels=b0f_o0i->fb0, feature_group_count={groups}, "
        f'custom_call_target="__cudnn${target}" ROOT r = {shapes[0]} get-tuple-element(c), index=0 }}'
    )
    return _run(text, lhs, rhs)


@pytest.mark.parametrize(("window", "length", "taps", "groups"), _CONVOLUTIONS)
def test_gradients_of_convolutions_are_transposed_convolutions(window: str, length: int, taps: int, groups: int) -> None:
    draw = np.random.default_rng(7)
    batch, features, outputs = 2, 2 * groups, 3 * groups
    x, w = draw.standard_normal((batch, length, features)), draw.standard_normal((outputs, taps, features // groups))
    text = (
        f"ENTRY e {{ a = f64[{batch},{length},{features}] parameter(0) b = f64[{outputs},{taps},{features // groups}] parameter(1) "
        f"ROOT r = convolution(a, b), window={{{window}}}, dim_labels=b0f_o0i->fb0, feature_group_count={groups} }}"
    )
    y = _run(text, x, w)
    np.testing.assert_allclose(_call("convForward", window, groups, y.shape, x, w), y)
    dy = draw.standard_normal(y.shape)
    dx, dw = (_call("convBackwardInput", window, groups, x.shape, dy, w), _call("convBackwardFilter", window, groups, w.shape, x, dy))
    for index in np.ndindex(x.shape):
        one = np.zeros_like(x)
        one[index] = 1
        assert np.isclose(dx[index], (_run(text, one, w) * dy).sum()), index
    for index in np.ndindex(w.shape):
        one = np.zeros_like(w)
        one[index] = 1
        assert np.isclose(dw[index], (_run(text, x, one) * dy).sum()), index


# ---- attention --------------------------------------------------------------------------------------------------------


def _dims(lhs: tuple[Any, int], rhs: tuple[Any, int]) -> str:
    pairs = [("lhs", lhs), ("rhs", rhs)]
    return ",".join(f'"{s}_contracting_dimensions":["{k}"],"{s}_batch_dimensions":{[str(b) for b in batch]}' for s, (batch, k) in pairs).replace(
        "'", '"'
    )


# Q is [batch, position, head, feature]; scores are [batch, head, position in Q, position in K].
_ROWS, _SCORES = (0, 2), (0, 1)
_PRODUCTS = {
    "bmm1": ((_ROWS, 3), (_ROWS, 3)),
    "bmm2": ((_SCORES, 3), (_ROWS, 1)),
    "bmm1_grad_gemm1": ((_SCORES, 2), (_ROWS, 1)),
    "bmm1_grad_gemm2": ((_SCORES, 3), (_ROWS, 1)),
    "bmm2_grad_gemm1": ((_SCORES, 2), (_ROWS, 1)),
    "bmm2_grad_gemm2": ((_ROWS, 3), (_ROWS, 3)),
}


def _config(mask: str, window: int, scale: float) -> str:
    products = ",".join(f'"{name}_dot_dimension_numbers":{{{_dims(*sides)}}}' for name, sides in _PRODUCTS.items())
    return (
        f'{{"cudnn_fmha_backend_config":{{"fmha_scale":{scale},"dropout_rate":0,"mask_type":"{mask}","sliding_window_length":{window},{products}}}}}'
    )


def _attention(target: str, results: str, config: str, *operands: Any) -> Any:
    names = {"float32": "f32", "int32": "s32"}
    parameters = [f"p{k} = {names[x.dtype.name]}[{','.join(map(str, x.shape))}] parameter({k})" for k, x in enumerate(operands)]
    call = f'custom-call({", ".join(f"p{k}" for k in range(len(operands)))}), custom_call_target="__cudnn${target}", backend_config={config}'
    return _run(f"ENTRY e {{ {' '.join(parameters)} ROOT r = ({results}, u8[0]) {call} }}", *operands)


def _formula(q: Any, k: Any, v: Any, kept: Any, bias: Any, scale: float) -> Any:
    scores = np.einsum("bsnd,btnd->bnst", q, k).astype(np.float64) * scale + bias
    powers = np.where(kept, np.exp(scores), 0)
    return np.einsum("bnst,btnd->bnsd", powers / powers.sum(-1, keepdims=True), v)


_MASKS = {"NO_MASK": lambda s, t: s + t >= 0, "CAUSAL": lambda s, t: t <= s}


@pytest.mark.parametrize(("mask", "window", "with_bias"), [("NO_MASK", 0, False), ("CAUSAL", 0, True), ("CAUSAL", 2, False)])
def test_attention_and_its_gradient(mask: str, window: int, with_bias: bool) -> None:
    draw = np.random.default_rng(3)
    batch, positions, heads, size, scale = 2, 4, 3, 2, 0.5
    q, k, v = (draw.standard_normal((batch, positions, heads, size)).astype(np.float32) for _ in range(3))
    bias = draw.standard_normal((1, heads, positions, positions)).astype(np.float32) * with_bias
    rows, columns = np.ogrid[:positions, :positions]
    kept = _MASKS[mask](rows, columns) & ((columns > rows - window) if window else True)
    word, extra = ("ScaleBiasSoftmax", [bias]) if with_bias else ("Softmax", [])
    shape, config = f"f32[{batch},{heads},{positions},{size}]", _config(mask, window, scale)
    output, sums, _ = _attention(f"fmha{word}", f"{shape}, f32[{batch},{heads},{positions}]", config, q, k, v, *extra)
    np.testing.assert_allclose(output, _formula(q, k, v, kept, bias, scale), rtol=1e-5, atol=1e-6)

    # XLA passes the output and its gradient in the layout of Q.
    slope = draw.standard_normal(q.shape).astype(np.float32)
    rest = [sums, slope, *extra, np.ascontiguousarray(output.transpose(0, 2, 1, 3))]
    gradients = _attention(f"fmha{word}Backward", ", ".join([shape] * 3), config, q, k, v, *rest)[:3]
    step = 1e-4
    for which, index in product(range(3), [(0, 1, 2, 1), (1, 0, 0, 0)]):
        moved = [x.astype(np.float64) for x in (q, k, v)]
        values = []
        for sign in (1, -1):
            moved[which][index] += sign * step
            values.append((_formula(*moved, kept, bias, scale) * slope.transpose(0, 2, 1, 3)).sum())
            moved[which][index] -= sign * step
        b, s, n, d = index
        assert np.isclose(gradients[which][b, n, s, d], (values[0] - values[1]) / (2 * step), rtol=1e-3, atol=1e-5), which


def test_attention_respects_the_lengths_of_padded_rows() -> None:
    draw = np.random.default_rng(5)
    q, k, v = (draw.standard_normal((2, 3, 1, 2)).astype(np.float32) for _ in range(3))
    lengths = np.array([3, 1], np.int32)
    output, sums, _ = _attention("fmhaSoftmax", "f32[2,1,3,2], f32[2,1,3]", _config("PADDING", 0, 1), q, k, v, lengths, lengths)
    whole = np.ones((3, 3), bool)
    np.testing.assert_allclose(output[0], _formula(q[:1], k[:1], v[:1], whole, 0, 1)[0], rtol=1e-5, atol=1e-6)
    # The second row has only one position, which attends to itself; padding attends to nothing.
    np.testing.assert_allclose(output[1, 0], [v[1, 0, 0], [0, 0], [0, 0]], rtol=1e-6)
    assert sums[1, 0, 1] == -np.inf


def test_dropout_is_rejected() -> None:
    q = np.ones((1, 1, 1, 1), np.float32)
    with pytest.raises(hlotool.EvaluationError, match="uses dropout"):
        _attention("fmhaSoftmax", "f32[1,1,1,1]", _config("NO_MASK", 0, 1).replace('rate":0', 'rate":0.5'), q, q, q)


# ---- linear algebra ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["lapack_spotrf_ffi", "cusolver_potrf_ffi", "LuDecomposition"])
def test_without_scipy_the_hint_is_to_install_the_extra(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr(lapack, "find_spec", lambda name: None)
    lapack.lapack_target.cache_clear()
    try:
        with pytest.raises(hlotool.EvaluationError) as raised:
            _run(f'ENTRY e {{ a = f32[2,2] parameter(0) ROOT r = f32[2,2] custom-call(a), custom_call_target="{target}" }}', np.eye(2))
    finally:
        lapack.lapack_target.cache_clear()
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.message == f"the custom-call target '{target}' requires the package SciPy"
    assert diagnostic.hint == "pip install 'hlotool[lapack]'"
