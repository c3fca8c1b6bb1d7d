"""Array operations other than arithmetic: sorting, indexing, sums along an axis, bits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from sources.registry import program

__all__: list[str] = []


@program(lambda d: (d.below(4, 3, 9), d.normal(3, 9), d.normal(3, 9).astype("float16")))
def sorting(keys, values, halves):
    by_two = lax.sort((keys, values, halves), dimension=1, num_keys=2)
    values = values.at[0, 2].set(jnp.nan).at[1, 3].set(-0.0).at[1, 4].set(0.0)
    order = jnp.argsort(values, axis=1, descending=True)
    lexical = jnp.lexsort((values[0], keys[0]))
    return by_two, jnp.sort(values, axis=0), order, lexical, jnp.sort(halves, axis=None), jnp.argsort(keys, stable=True), jnp.sort(keys > 1)


@program(lambda d: (d.normal(3, 10), d.between(-5, 5, 3, 10), d.normal(2, 8).astype("bfloat16")))
def top_k(x, integers, narrow):
    wild = x.at[1, 1].set(jnp.nan)
    return lax.top_k(wild, 4), lax.top_k(integers, 3), lax.top_k(narrow, 2), lax.approx_max_k(x, 3), lax.approx_min_k(x[0], 2), jnp.argmax(wild, 1)


@program(lambda d: (d.normal(4, 7), d.between(-4, 5, 4, 7)))
def cumulative(x, integers):
    sums = jnp.cumsum(x, axis=1), lax.cumsum(x, axis=0, reverse=True), jnp.cumsum(integers, axis=1)
    products = jnp.cumprod(x, axis=1), jnp.cumprod(integers, axis=0)
    extremes = lax.cummax(x, axis=1), lax.cummin(integers, axis=1, reverse=True), lax.cumlogsumexp(x, axis=1)
    gradient = jax.grad(lambda x: jnp.sum(jnp.sin(jnp.cumprod(x, axis=1)) + jnp.cumsum(x, 0) ** 2))(x)
    pairs = lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (x, x + 1), axis=1)
    return sums, products, extremes, gradient, pairs, lax.associative_scan(jnp.maximum, integers, reverse=True)


@program(lambda d: (d.normal(5, 6), d.below(5, 4), d.below(6, 4), d.normal(4), d.below(9, 4, 1)))
def scatter_modes(x, rows, columns, updates, far):
    found = [getattr(x.at[rows, columns], name)(updates) for name in ("set", "add", "multiply", "min", "max")]
    found += [x.at[far[:, 0] - 2].add(updates[:, None], mode=mode) for mode in ("drop", "clip", "promise_in_bounds")[:2]]
    found += [x.at[rows].apply(jnp.sin), x.at[2:4, ::2].set(7.0), x.at[:, columns].add(1.0), x.at[jnp.arange(4), rows].subtract(updates)]
    found += [
        x.at[far, columns].get(mode="fill", fill_value=-1),
        jnp.take(x, far, axis=1, mode="clip"),
        x[far, columns],
        jnp.take_along_axis(x, rows[None], 1),
    ]
    gradient = jax.grad(lambda x, u: jnp.sum(jnp.cos(x.at[rows, columns].mul(u, unique_indices=True))), (0, 1))(x, updates)
    return found, gradient


@program(lambda d: (d.normal(3, 4), d.normal(4), d.below(9, 6)))
def update_slices(x, row, positions):
    """Fills a buffer in a loop, partly out of range, and computes gradients of slices."""

    def body(k, buffer):
        buffer = lax.dynamic_update_slice(buffer, row[None] * k, (positions[k] - 1, 0))
        return lax.dynamic_update_index_in_dim(buffer, buffer[:, k % 4].sum() + x[0], positions[(k + 1) % 6], 0)

    filled = lax.fori_loop(0, 6, body, jnp.zeros((6, 4)).at[1:4].set(x))
    gradient = jax.grad(lambda x: jnp.sum(lax.dynamic_slice(x, (positions[0], positions[1]), (2, 3)) ** 2))(x)
    return filled, gradient, jnp.roll(x, positions[2], axis=1), lax.dynamic_slice_in_dim(row, positions[3], 2)


@program(lambda d: (d.normal(20), d.below(6, 15), d.uniform(0, 1, 5)))
def histograms(x, small, at):
    counts, edges = jnp.histogram(x, bins=6, range=(-2, 2))
    found = jnp.searchsorted(jnp.sort(x), at), jnp.digitize(x, edges)
    methods = jnp.searchsorted(jnp.sort(small), jnp.arange(6), method="sort")
    unique = jnp.unique(small, size=8, fill_value=-1, return_counts=True)
    sets = jnp.bincount(small, length=7), jnp.nonzero(small > 2, size=9, fill_value=15)
    return counts, edges, found, methods, unique, sets, jnp.interp(at, jnp.sort(x[:8]), x[8:16])


@program(lambda d: (d.normal(3, 11),))
def quantiles(x):
    x = x.at[1, 3].set(jnp.nan)
    found = [jnp.quantile(x, jnp.array([0.1, 0.5, 0.93]), axis=1, method=m) for m in ("linear", "nearest")]
    gradient = jax.grad(lambda x: jnp.sum(jnp.median(x, axis=0)))(x[::2])
    return found, jnp.median(x, axis=1), jnp.nanmedian(x), gradient, jnp.nanargmin(x, axis=1)


@program(lambda d: (d.between(0, 2**32, 12, dtype="uint32"), d.between(-(2**31), 2**31, 12), d.between(-128, 128, 12, dtype="int8"), d.normal(6)))
def bit_manipulation(words, signed, narrow, floats):
    shifts = jnp.array([0, 1, 7, 31, 32, 40, 3, 5, 9, 16, 30, 33], jnp.uint32)
    found = [lax.population_count(words), lax.clz(words), lax.clz(narrow), lax.population_count(narrow)]
    found += [
        lax.shift_left(words, shifts),
        lax.shift_right_logical(signed, shifts.astype(jnp.int32)),
        lax.shift_right_arithmetic(signed, shifts.astype(jnp.int32)),
    ]
    found += [
        words ^ (words >> 3),
        ~signed & 0xFF,
        signed // 7,
        signed % 7,
        lax.rem(signed, jnp.int32(-9)),
        jnp.gcd(signed // 1000, 360),
        narrow * narrow,
    ]
    bits = lax.bitcast_convert_type(floats, jnp.int32)
    found += [bits, lax.bitcast_convert_type(words, jnp.uint8), lax.bitcast_convert_type(words[:12].reshape(6, 2), jnp.float32) != 0]
    found += [jnp.packbits(narrow > 0), jnp.unpackbits(narrow.view(jnp.uint8)), jnp.frexp(floats), jnp.ldexp(floats, 3), jnp.nextafter(floats, 9.0)]
    found += [
        jnp.signbit(floats),
        lax.reduce_precision(floats, 5, 4),
        lax.reduce_or(words, [0]),
        lax.reduce_xor(signed, [0]),
        jnp.bitwise_and.reduce(words),
    ]
    return found


@program(lambda d: (d.normal(2, 3, 4), d.normal(4, 3, 5), d.normal(3, 3), d.normal(2, 5)))
def einsums(a, b, square, c):
    words = ["ijk,kjl->il", "ijk,kjl->jil", "ijk,ijk->j", "bij->bji"]
    found = [jnp.einsum(word, *(a, b)[: word.count(",") + 1]) for word in words[:2]] + [jnp.einsum(words[2], a, a), jnp.einsum(words[3], a)]
    found += [jnp.einsum("ii->i", square), jnp.einsum("ijk,kjl,il->j", a, b, c), jnp.tensordot(a, b, ((1, 2), (1, 0))), jnp.kron(square, c)]
    return found, jnp.outer(c, c), jnp.inner(square, a[:, :, :3]), jnp.cross(square, square[::-1]), jnp.trace(square, 1), jnp.vander(c[0], 4)


@program(lambda d: (d.normal(3, 5), d.normal(4, 5), d.below(5, 3), d.below(2, 3) > 0))
def vmaps(x, y, index, flag):
    """Batches operations without a batch dimension: slices, loops, branches, sorts, scalar solves.

    The loops have different lengths.
    """
    slices = jax.vmap(lambda r, k: lax.dynamic_slice(r, (k,), (2,)))(x, index)
    updates = jax.vmap(lambda r, k: lax.dynamic_update_slice(r, r[:2] * 2, (k,)))(x, index)
    loops = jax.vmap(lambda r, k: lax.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, s[1] * 0.5 + r.sum()), (0, r[0])))(x, index)
    branches = jax.vmap(lambda f, r: lax.cond(f, jnp.sort, jnp.negative, r))(flag, x)
    switches = jax.vmap(lambda k, r: lax.switch(k, [jnp.sin, jnp.cos, jnp.exp], r))(index, x)
    distances = jax.vmap(lambda a: jax.vmap(lambda b: jnp.linalg.norm(a - b))(y))(x)
    hessian = jax.vmap(jax.hessian(lambda r: jnp.prod(jnp.sin(r))))(x)
    jacobian = jax.jacfwd(lambda r: jnp.cumsum(r**2))(x[0])
    return slices, updates, loops, branches, switches, distances, hessian, jacobian, jax.vmap(jnp.convolve, (0, None))(x, y[0, :3])


@program(lambda d: (d.normal(4, 6), d.between(-9, 9, 4, 6)))
def reductions(x, integers):
    """Reduces several operands and windows with custom monoids, and computes an argmax."""
    zero = jnp.float32(0)
    found = [lax.reduce(x, jnp.float32(1), lambda a, b: a * b, (1,)), lax.reduce(x, zero, lambda a, b: jnp.sqrt(a * a + b * b), (0,))]
    pair = lax.reduce((x, integers), (-jnp.float32(jnp.inf), jnp.int32(0)), _larger, (1,))
    window = lax.reduce_window((x, integers), (-jnp.float32(jnp.inf), jnp.int32(0)), _larger, (2, 3), (1, 2), "SAME")
    custom = lax.reduce_window(integers, jnp.int32(1), lambda a, b: a * b % 1009, (2, 2), (2, 1), "VALID", window_dilation=(2, 1))
    dilated = lax.reduce_window(x, zero, lax.add, (2, 2), (1, 1), ((1, 0), (0, 2)), base_dilation=(2, 1))
    found += [
        jnp.all(x > -1, 0),
        jnp.any(x > 1),
        jnp.argmin(integers, 1),
        jnp.ptp(x, 1),
        jax.nn.logsumexp(x, 1),
        jnp.std(x, ddof=1),
        jnp.average(x, 1, x[0] ** 2),
    ]
    return found, pair, window, custom, dilated, jnp.count_nonzero(integers, 1), jnp.corrcoef(x), jnp.ediff1d(x), jnp.trapezoid(x, axis=1)


def _larger(a, b):
    wins = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
    return jnp.where(wins, a[0], b[0]), jnp.where(wins, a[1], b[1])
