"""Training steps: optimizers, layers and their gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from sources.registry import Draw, program

__all__: list[str] = []


def _mlp(draw: Draw) -> dict[str, Any]:
    return {"w1": draw.normal(6, 8, scale=0.4), "b1": draw.normal(8), "w2": draw.normal(8, 3, scale=0.4), "b2": draw.normal(3)}


def _mlp_loss(weights: dict[str, Any], x: jax.Array, labels: jax.Array) -> jax.Array:
    hidden = jax.nn.gelu(x @ weights["w1"] + weights["b1"])
    logits = hidden @ weights["w2"] + weights["b2"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1))


def _adam_arguments(draw: Draw) -> tuple[Any, ...]:
    weights = _mlp(draw)
    first = jax.tree.map(lambda w: draw.normal(*w.shape, scale=0.1), weights)
    second = jax.tree.map(lambda w: draw.uniform(0, 0.1, *w.shape), weights)
    return weights, first, second, jnp.int32(7), draw.normal(5, 6), draw.below(3, 5)


@program(_adam_arguments)
def adam_step(weights, first, second, count, x, labels):
    loss, gradients = jax.value_and_grad(_mlp_loss)(weights, x, labels)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.5 / norm), gradients)
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    rate = 0.01 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, first, second)
    return weights, first, second, count, loss


@program(lambda d: (_mlp(d), _mlp(d), d.normal(3, 5, 6), d.below(3, 3, 5)))
def sgd_momentum_epoch(weights, velocities, batches, labels):
    """Runs three steps in a scan over batches, with weight decay and rematerialization."""

    def step(state, batch):
        weights, velocities = state
        loss, gradients = jax.value_and_grad(jax.checkpoint(_mlp_loss))(weights, *batch)
        velocities = jax.tree.map(lambda v, g, w: 0.9 * v + g + 0.01 * w, velocities, gradients, weights)
        return (jax.tree.map(lambda w, v: w - 0.1 * v, weights, velocities), velocities), loss

    return lax.scan(step, (weights, velocities), (batches, labels))


@program(lambda d: (d.normal(2, 5, 8), d.normal(8, 24, scale=0.3), d.normal(8, 8, scale=0.3), d.below(2, 2, 5) > 0))
def attention_gradient(x, project, out, padding):
    """Computes the gradient of causal attention with two heads and a padding mask."""

    def attend(x, project, out):
        q, k, v = (a.reshape(2, 5, 2, 4) for a in jnp.split(x @ project, 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2.0
        allowed = jnp.tril(jnp.ones((5, 5), bool)) & padding[:, None, None, :] | jnp.eye(5, dtype=bool)
        weights = jax.nn.softmax(jnp.where(allowed, scores, -jnp.inf), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(2, 5, 8) @ out

    value, pull = jax.vjp(attend, x, project, out)
    return value, pull(jnp.cos(value))


@program(lambda d: (d.normal(2, 4, 9, 8), d.normal(6, 2, 3, 3, scale=0.3)))
def convolution_gradients(images, kernel):
    """Computes gradients of a strided, dilated and grouped convolution with uneven padding."""

    def convolve(images, kernel):
        return lax.conv_general_dilated(images, kernel, (2, 1), [(2, 1), (1, 3)], rhs_dilation=(1, 2), feature_group_count=2)

    value, pull = jax.vjp(convolve, images, kernel)
    return value, pull(jnp.sin(value))


@program(lambda d: (d.normal(2, 7, 6, 3), d.normal(3, 3, 3, 4, scale=0.3), d.normal(4, 2, 2, 3, scale=0.3), d.normal(3, 3, 1, 6)))
def convolution_kinds(images, kernel, up, depthwise):
    """Computes transposed, depthwise and batch-grouped convolutions and patches, in NHWC order."""
    layout = ("NHWC", "HWIO", "NHWC")
    hidden = lax.conv_general_dilated(images, kernel, (2, 2), "SAME", dimension_numbers=layout)
    wide = lax.conv_transpose(hidden, up.transpose(1, 2, 0, 3), (2, 2), "VALID", dimension_numbers=layout)
    apart = lax.conv_general_dilated(images, depthwise, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=3)
    batches = lax.conv_general_dilated(images, kernel, (1, 2), "VALID", dimension_numbers=layout, batch_group_count=2)
    patches = lax.conv_general_dilated_patches(images, (2, 3), (2, 1), "SAME", dimension_numbers=layout)
    return wide, apart, batches, patches


@program(lambda d: (d.normal(4, 2, 3), d.normal(3 + 4, 16, scale=0.4), d.normal(16), d.normal(4, 2)))
def lstm_gradient(inputs, weights, bias, readout):
    def loss(weights, bias, readout):
        def cell(state, x):
            h, c = state
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ weights + bias, 4, axis=-1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((2, 4))
        (_, last), outputs = lax.scan(cell, (zeros, zeros), inputs)
        return jnp.sum((outputs @ readout) ** 2) + jnp.sum(last)

    return jax.value_and_grad(loss, argnums=(0, 1, 2))(weights, bias, readout)


@program(lambda d: (d.normal(2, 5, 3), d.normal(3, 12, scale=0.4), d.normal(4, 12, scale=0.4), d.between(1, 6, 2)))
def gru_both_ways(inputs, from_input, from_state, lengths):
    """Runs a GRU forward and backward over sequences of different lengths, with masks."""

    def cell(h, item):
        x, live = item
        a, b = x @ from_input, h @ from_state
        reset, update = jax.nn.sigmoid(a[:, :4] + b[:, :4]), jax.nn.sigmoid(a[:, 4:8] + b[:, 4:8])
        new = (1 - update) * h + update * jnp.tanh(a[:, 8:] + reset * b[:, 8:])
        h = jnp.where(live[:, None], new, h)
        return h, h

    live = jnp.arange(5)[:, None] < lengths[None]
    items = (inputs.swapaxes(0, 1), live)
    forward = lax.scan(cell, jnp.zeros((2, 4)), items, unroll=2)
    backward = lax.scan(cell, jnp.zeros((2, 4)), items, reverse=True)
    return forward, backward


@program(lambda d: (d.normal(2, 6, 8), d.normal(8), d.normal(8), d.normal(8), d.uniform(0.5, 2, 8)))
def normalizations(x, scale, offset, mean, variance):
    """Computes batch, layer and root-mean-square norms with gradients, and running averages."""

    def batch(x, scale, offset):
        m, v = x.mean((0, 1)), x.var((0, 1))
        return (x - m) * lax.rsqrt(v + 1e-5) * scale + offset, (0.9 * mean + 0.1 * m, 0.9 * variance + 0.1 * v)

    def layer(x, scale, offset):
        return jax.nn.standardize(x, axis=-1) * scale + offset

    def root(x, scale, offset):
        return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale + offset

    value, pull, running = jax.vjp(batch, x, scale, offset, has_aux=True)
    found = [value, pull(jnp.sin(value)), running]
    for norm in (layer, root):
        value, pull = jax.vjp(norm, x, scale, offset)
        found += [value, pull(jnp.sin(value))]
    return found


@program(lambda d: (d.normal(2, 3, 7, 6),))
def pooling_gradients(x):
    def largest(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 2), "SAME")

    def average(x):
        total = lax.reduce_window(x, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 2, 1), "SAME")
        return total / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (1, 1, 3, 3), (1, 1, 2, 1), "SAME")

    found = []
    for pool in (largest, average):
        value, pull = jax.vjp(pool, x)
        found += [value, pull(jnp.cos(value))]
    return found


@program(lambda d: (d.normal(7, 4), d.below(7, 3, 5), d.normal(3, 5, 4), d.below(4, 3, 5)))
def embedding_gradient(table, ids, context, segments):
    """Computes embedding lookups, segment sums, and the gradient of the table."""

    def loss(table):
        rows = table[ids]
        sums = jax.ops.segment_sum((rows * context).reshape(-1, 4), segments.reshape(-1), num_segments=4)
        most = jax.ops.segment_max(rows.reshape(-1, 4), segments.reshape(-1), num_segments=5)
        return jnp.sum(jnp.tanh(sums)) + jnp.sum(jnp.where(jnp.isfinite(most), most, 0)), sums

    return jax.value_and_grad(loss, has_aux=True)(table)


@program(lambda d: (d.normal(6, 8), d.normal(8, 8, scale=0.3), d.normal(8, 4, scale=0.3), d.below(4, 6)))
def bf16_training(x, hidden, out, labels):
    """Computes everything in bf16 with a scaled loss, but stores the weights in f32."""

    def loss(weights):
        h, o = (w.astype(jnp.bfloat16) for w in weights)
        logits = (jax.nn.silu(x.astype(jnp.bfloat16) @ h) @ o).astype(jnp.float32)
        return 16.0 * -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(6), labels])

    value, gradients = jax.value_and_grad(loss)((hidden, out))
    updated = tuple(w - 0.1 * g / 16.0 for w, g in zip((hidden, out), gradients, strict=True))
    return value, updated, tuple(w.astype(jnp.bfloat16) for w in updated), x.astype(jnp.float16).sum(0)


@program(lambda d: (d.normal(5, 8), d.normal(8, 6), d.between(-128, 128, 4, 8, dtype="int8"), d.between(0, 256, 4, 8, dtype="uint8")))
def int8_matmul(x, weights, signed, unsigned):
    """Multiplies matrices with scales per row and column, sums in s32, and zero points."""
    scale_x = jnp.max(jnp.abs(x), axis=1, keepdims=True) / 127
    scale_w = jnp.max(jnp.abs(weights), axis=0, keepdims=True) / 127
    qx = jnp.clip(jnp.round(x / scale_x), -127, 127).astype(jnp.int8)
    qw = jnp.clip(jnp.round(weights / scale_w), -127, 127).astype(jnp.int8)
    total = lax.dot_general(qx, qw, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    narrow = lax.dot_general(signed, qw, (((1,), (0,)), ((), ())))
    mixed = lax.dot_general(unsigned.astype(jnp.int32) - 128, signed.astype(jnp.int32), (((1,), (1,)), ((), ())))
    packed = (signed[:, ::2] & 15) | (signed[:, 1::2] << 4)
    low, high = (packed << 4) >> 4, packed >> 4
    return total.astype(jnp.float32) * scale_x * scale_w, total, narrow, mixed, low, high


@program(lambda d: (d.normal(4, 8), d.normal(8, 6)))
def fp8_matmul(x, weights):
    """Computes the forward pass in e4m3fn and gradients in e5m2, each with its own scale."""

    def quantize(a, dtype):
        most = jnp.finfo(dtype).max.astype(jnp.float32)
        scale = jnp.max(jnp.abs(a)) / most
        return jnp.clip(a / scale, -most, most).astype(dtype), scale

    qx, sx = quantize(x, jnp.float8_e4m3fn)
    qw, sw = quantize(weights, jnp.float8_e4m3fn)
    value = lax.dot_general(qx, qw, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32) * sx * sw
    qg, sg = quantize(jnp.sin(value), jnp.float8_e5m2)
    back = qg.astype(jnp.float32) @ qw.astype(jnp.float32).T * sg * sw
    others = [x.astype(t).astype(jnp.float32) for t in (jnp.float8_e4m3fnuz, jnp.float8_e5m2fnuz, jnp.float8_e4m3b11fnuz)]
    return value, back, qx, qg, others


@program(lambda d: (d.normal(2, 6, 4), d.normal(4, 3), d.normal(3, 4, 5, scale=0.5), d.normal(3, 5, 4, scale=0.5)))
def mixture_of_experts(x, router, up, down):
    """Routes each token to its two best experts, up to their capacity; computes the gradient."""

    def layer(x, router, up, down):
        gates = jax.nn.softmax(x @ router)
        weights, chosen = lax.top_k(gates, 2)
        wanted = jax.nn.one_hot(chosen, 3, dtype=jnp.int32)
        position = jnp.cumsum(wanted.reshape(2, 12, 3), axis=1).reshape(2, 6, 2, 3) * wanted - 1
        seat = jax.nn.one_hot(position, 3) * wanted[..., None]
        dispatch = seat.max(2)
        combine = jnp.einsum("btk,btkec->btec", weights, seat)
        inside = jnp.einsum("btec,btd->becd", dispatch, x)
        outside = jnp.einsum("becf,efd->becd", jax.nn.relu(jnp.einsum("becd,edf->becf", inside, up)), down)
        return jnp.einsum("btec,becd->btd", combine, outside), jnp.sum(gates.mean((0, 1)) * wanted.mean((0, 1, 2)))

    value, pull, balance = jax.vjp(layer, x, router, up, down, has_aux=True)
    return value, balance, pull(jnp.cos(value))


@program(lambda d: (d.normal(2, 5, 6, 3), d.normal(2, 4, 4, 3)))
def image_resizing(images, small):
    found = [jax.image.resize(images, (2, 8, 9, 3), method) for method in ("nearest", "cubic")]
    value, pull = jax.vjp(lambda x: jax.image.resize(x, (2, 3, 7, 3), "linear", antialias=True), small)
    return found, value, pull(value)
