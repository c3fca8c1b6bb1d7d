"""Functions of analysis and linear algebra."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax
from jax.scipy import special

from sources.registry import Draw, program

__all__: list[str] = []


@program(lambda d: (d.normal(6), d.uniform(0.1, 6, 6), d.uniform(0.05, 0.95, 6)))
def special_functions(x, positive, fraction):
    found = [special.erf(x), special.erfc(x), special.erfinv(x / 4), special.gammaln(positive), special.digamma(positive), special.i0e(x)]
    found += [special.logit(fraction), special.entr(fraction), special.xlogy(positive, fraction)]
    return found


@program(lambda d: (d.uniform(0.1, 6, 6), d.uniform(0.1, 6, 6)))
def incomplete_gamma(a, x):
    """Sums series and continued fractions until they converge for all numbers."""
    return special.gammainc(a, x)


@program(lambda d: (d.uniform(0.3, 3, 6), d.normal(6)))
def special_gradients(positive, x):
    def total(p, x):
        return jnp.sum(special.gammaln(p) + special.erfc(x) + jnp.sinc(x))

    elementary = [jnp.arcsinh(x), jnp.arccosh(positive + 1), jnp.arctanh(x / 4), jnp.arctan2(x, positive), jnp.cbrt(x), jnp.hypot(x, positive)]
    elementary += [jnp.sinh(x), jnp.cosh(x), jnp.tan(x), jnp.arcsin(x / 4), jnp.arccos(x / 4)]
    return jax.value_and_grad(total, (0, 1))(positive, x), elementary, jnp.logaddexp(x, positive), jnp.float_power(positive, x)


@program(lambda d: (d.complex(6), d.complex(6), d.complex(3, 3)))
def complex_numbers(x, y, matrix):
    found = [x * y, x / y, jnp.exp(x), jnp.log(x), jnp.sqrt(x), jnp.abs(x), jnp.angle(x), jnp.conj(x), x**y, jnp.tanh(x), jnp.cos(x), lax.rsqrt(x)]
    found += [jnp.log1p(x), jnp.expm1(x), jnp.sign(x), x == y, matrix @ matrix, jnp.prod(x), jnp.cumsum(x), jnp.sort(x), x.real * y.imag]
    gradient = jax.grad(lambda z: jnp.abs(jnp.sum(jnp.sin(z) * y)) ** 2)(x)
    return found, gradient, jax.jacfwd(lambda z: z**3, holomorphic=True)(x)


@program(lambda d: (d.normal(2, 16), d.normal(6, 8), d.complex(5, 7)))
def spectral_filter(signal, image, waves):
    """Computes real and complex transforms and inverses, in 1-D and 2-D, of odd lengths."""
    spectrum = jnp.fft.rfft(signal)
    kept = jnp.fft.irfft(spectrum * (jnp.fft.rfftfreq(16) < 0.2), 16)
    flat = jnp.fft.ifft2(jnp.fft.fft2(image) * jnp.exp(-(jnp.fft.fftfreq(6)[:, None] ** 2)))
    odd = jnp.fft.fft(waves, axis=1), jnp.fft.ifft(waves, axis=0), jnp.fft.irfftn(jnp.fft.rfftn(image)), jnp.fft.hfft(waves[0])
    gradient = jax.grad(lambda s: jnp.sum(jnp.abs(jnp.fft.rfft(s)) ** 2 * jnp.arange(9)))(signal)
    convolved = jsp.signal.fftconvolve(signal[0], image[0], mode="same")
    return spectrum, kept, flat, odd, gradient, convolved, jsp.fft.dct(signal, norm="ortho"), jnp.fft.fftshift(image, 1)


def _matrices(draw: Draw) -> tuple[jax.Array, ...]:
    a = draw.normal(2, 4, 4)
    return a, a @ a.transpose(0, 2, 1) + 2 * jnp.eye(4, dtype="float32"), draw.normal(2, 4, 3)


@program(_matrices)
def factorizations(a, positive, b):
    """Factorizes matrices and multiplies the factors again, since their signs are arbitrary."""
    factor = jnp.linalg.cholesky(positive)
    solved = jax.scipy.linalg.solve_triangular(factor, b, lower=True)
    q, r = jnp.linalg.qr(a)
    u, s, v = jnp.linalg.svd(b, full_matrices=False)
    values, vectors = jnp.linalg.eigh(positive)
    p, low, high = jax.scipy.linalg.lu(a[0])
    found = [factor, solved, q @ r, jnp.abs(r), s, u * s[:, None] @ v, values, jnp.abs(vectors), p, low, high]
    return found, jnp.linalg.solve(a, b), jnp.linalg.det(a), jsp.linalg.cho_solve((factor[0], True), b[0])


@program(_matrices)
def factorization_gradients(a, positive, b):
    def total(a, positive, b):
        factor = jnp.linalg.cholesky(positive)
        values, _ = jnp.linalg.eigh(positive)
        parts = (
            jnp.linalg.solve(a, b).sum(),
            jnp.log(jnp.diagonal(factor, axis1=1, axis2=2)).sum(),
            jnp.log(values).sum(),
            jnp.linalg.norm(b, "nuc", (1, 2)).sum(),
        )
        return sum(parts), parts

    return jax.value_and_grad(total, (0, 1, 2), has_aux=True)(a, positive, b)


@program(lambda d: (d.normal(4, 4), d.normal(5, 3), d.normal(3, 6), d.complex(3, 3)))
def linear_algebra(a, tall, bands, complex_matrix):
    values = jnp.linalg.eigvals(a)
    order = jnp.lexsort((values.imag, values.real))
    diagonals = lax.linalg.tridiagonal_solve(bands[0], bands[1] + 5, bands[2], bands.T)
    reflectors, tau = jnp.linalg.qr(tall, mode="raw")
    q = lax.linalg.householder_product(reflectors.T, tau)
    schur, basis = jsp.linalg.schur(a + a.T)
    found = [jnp.linalg.slogdet(a), values[order], jnp.linalg.pinv(tall), jnp.linalg.matrix_rank(tall)]
    found += [diagonals, jnp.abs(q), basis @ schur @ basis.T, jnp.linalg.cond(a)]
    hermitian = complex_matrix @ complex_matrix.conj().T + jnp.eye(3)
    found += [jnp.linalg.eigvalsh(hermitian), jnp.linalg.solve(complex_matrix, complex_matrix[0]), jnp.linalg.svd(complex_matrix, compute_uv=False)]
    hessenberg = jsp.linalg.hessenberg(a)
    return (
        found,
        jnp.abs(hessenberg),
        jnp.linalg.cholesky(hermitian, upper=True),
        lax.linalg.triangular_solve(a, a, transpose_a=True, left_side=False),
    )


@program(lambda d: (d.normal(3, 3),))
def matrix_exponential(a):
    """Computes a matrix exponential by scaling, rational approximation and squaring.

    The norm of the matrix decides which approximation is used.
    """
    return jsp.linalg.expm(a), jnp.linalg.matrix_power(a, 5)


@program(lambda d: (d.normal(3), d.uniform(0.5, 1.5, 3)))
def integration_step(state, rates):
    """Computes Runge-Kutta steps, their gradient with the adjoint method, and adaptive steps.

    An adaptive step is retried until its error estimate is small.
    """

    def slope(y, t):
        return jnp.array([10.0, 8.0, 3.0]) * (jnp.roll(y, 1) - y) * rates + jnp.sin(t)

    def step(y, t, h):
        k1 = slope(y, t)
        k2 = slope(y + h / 2 * k1, t + h / 2)
        k3 = slope(y + h / 2 * k2, t + h / 2)
        k4 = slope(y + h * k3, t + h)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def path(y):
        return lax.scan(lambda y, t: (step(y, t, 0.02), y), y, jnp.arange(5) * 0.02)

    def too_large(trial):
        h, _ = trial
        return jnp.max(jnp.abs(step(state, 0.0, h) - step(step(state, 0.0, h / 2), h / 2, h / 2))) > 1e-4

    size, tries = lax.while_loop(too_large, lambda trial: (trial[0] * 0.7, trial[1] + 1), (jnp.float32(0.3), 0))
    last, pull, seen = jax.vjp(path, state, has_aux=True)
    return last, seen, pull(last), size, tries


@program(lambda d: (d.normal(5, 4, dtype="float64"), d.complex(6, dtype="complex128"), d.between(-(2**62), 2**62, 6, dtype="int64")), wide=True)
def wide_types(x, waves, long):
    """Computes with doubles, complex doubles, 64-bit integers, and mixtures of them."""
    found = [jnp.tanh(x) @ x.T, special.erf(x), jnp.fft.fft(waves), jnp.exp(waves) / waves, jnp.sqrt(waves), long * 3, lax.clz(long), long // 1000]
    found += [long.astype(jnp.float32), x.astype(jnp.int64), (x * 1e18).astype(jnp.int64), long.astype(jnp.uint64) % 1000, x.astype(jnp.float16)]
    found += [jnp.sort(long), lax.bitcast_convert_type(x, jnp.uint32), jnp.linalg.eigvalsh(x.T @ x), x.astype(jnp.bfloat16), jnp.cumsum(x, 1)]
    found += [jnp.mod(x, 0.3), jnp.expm1(x), jnp.arctan2(x, x[::-1]), jnp.var(waves)]
    return found, jax.grad(lambda x: jnp.linalg.slogdet(x.T @ x)[1])(x)


@program(lambda d: (d.between(-8, 8, 3, 4), d.normal(3, 4, scale=3)))
def narrow_types(integers, floats):
    """Computes with types of four and eight bits, as far as XLA:CPU supports them."""
    small = integers.astype(jnp.int4)
    found = [
        small.astype(jnp.int32),
        (small + small).astype(jnp.int32),
        floats.astype(jnp.int4).astype(jnp.int8),
        integers.astype(jnp.uint4).astype(jnp.int32),
    ]
    kinds = [jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float8_e4m3, jnp.float8_e3m4, jnp.float8_e8m0fnu, jnp.float4_e2m1fn, jnp.float8_e5m2fnuz]
    found += [floats.astype(kind).astype(jnp.float32) for kind in kinds]
    eights = floats.astype(jnp.float8_e4m3fn)
    found += [(eights + eights).astype(jnp.float32), (eights * eights).astype(jnp.bfloat16), jnp.sort(eights.astype(jnp.float32)), eights > 0, eights]
    total = integers.astype(jnp.uint4).astype(jnp.int8) * 2
    return found, total, lax.bitcast_convert_type(eights, jnp.uint8), integers.astype(jnp.int8) // 3, floats.astype(jnp.float16) / 3


@program(lambda d: (d.uniform(0.5, 3, 6), d.normal(3, 3)))
def derivatives(x, matrix):
    """Computes higher, implicit and matrix-free derivatives, with custom rules in both modes."""

    @jax.custom_jvp
    def softplus(x):
        return jnp.logaddexp(x, 0)

    softplus.defjvp(lambda primals, tangents: (softplus(*primals), jax.nn.sigmoid(primals[0]) * tangents[0]))

    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.5, 0.5),))

    def root(a):
        return lax.custom_root(
            lambda y: y**3 - a, jnp.ones_like(a), lambda f, y: lax.fori_loop(0, 12, lambda _, y: y - f(y) / (3 * y * y), y), lambda g, y: y / g(1.0)
        )

    third = jax.vmap(jax.grad(jax.grad(jax.grad(lambda x: jnp.sin(x) * softplus(x)))))(x)
    product = jax.jvp(jax.grad(lambda m: jnp.sum(jnp.tanh(m @ m))), (matrix,), (matrix.T,))
    solved, _ = jsp.sparse.linalg.cg(lambda v: matrix @ (matrix.T @ v) + v, matrix[0], maxiter=5)
    return third, product, jax.grad(lambda x: jnp.sum(clipped(x) ** 2))(x), jax.vmap(jax.value_and_grad(root))(x), solved
