"""Random numbers and methods based on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax, random

from sources.registry import program

__all__: list[str] = []


@program(lambda d: (d.key(), d.normal(3, 5)))
def threefry(key, logits):
    first, second = random.split(key)
    return random.uniform(first, (5, 3)), random.bernoulli(second, 0.3, (9,)), random.permutation(first, 11), random.categorical(second, logits)


@program(lambda d: (d.between(0, 2**32, 4, dtype="uint32"),))
def bit_generators(key):
    """Draws from XLA's own generators, with explicit states and through JAX keys."""
    algorithms = lax.RandomAlgorithm
    found = [lax.rng_bit_generator(key, (5, 3), dtype=t, algorithm=algorithms.RNG_PHILOX) for t in (jnp.uint32, jnp.uint8)]
    found += [lax.rng_bit_generator(key, (3, 4), dtype=jnp.uint16, algorithm=algorithms.RNG_THREE_FRY)]
    wrapped = random.wrap_key_data(key, impl="rbg")
    return found, random.uniform(wrapped, (6,)), random.bernoulli(wrapped, 0.4, (7,)), random.normal(wrapped, (5,))


@program(lambda d: (d.normal(2), d.key()))
def markov_chain(position, key):
    """Accepts or rejects Hamiltonian steps, and computes statistics of the chain."""

    def energy(q):
        return jnp.sum(q**4) / 4 + 0.5 * jnp.sum((q[1:] - q[:-1] ** 2) ** 2)

    def step(state, key):
        q, accepted = state
        first, second = random.split(key)
        p = random.normal(first, q.shape)

        def leap(_, qp):
            q, p = qp
            p = p - 0.05 * jax.grad(energy)(q)
            q = q + 0.1 * p
            return q, p - 0.05 * jax.grad(energy)(q)

        new_q, new_p = lax.fori_loop(0, 4, leap, (q, p))
        change = energy(q) - energy(new_q) + (p @ p - new_p @ new_p) / 2
        ok = jnp.log(random.uniform(second)) < change
        q = jnp.where(ok, new_q, q)
        return (q, accepted + ok), q

    return lax.scan(step, (position, 0), random.split(key, 6))


@program(lambda d: (d.normal(14, 2), d.key()))
def k_means(points, key):
    """Draws initial centers, and then assigns and averages points until nothing changes."""
    centers = points[random.choice(key, 14, (3,), replace=False)]

    def assign(centers):
        return jnp.argmin(jnp.sum((points[:, None] - centers[None]) ** 2, -1), -1)

    def better(state):
        centers, _, count = state
        chosen = assign(centers)
        sums = jax.ops.segment_sum(points, chosen, 3)
        sizes = jnp.bincount(chosen, length=3)
        made = jnp.where(sizes[:, None] > 0, sums / jnp.maximum(sizes, 1)[:, None], centers)
        return made, jnp.max(jnp.abs(made - centers)), count + 1

    centers, _, count = lax.while_loop(lambda s: (s[1] > 1e-5) & (s[2] < 20), better, (centers, jnp.float32(1), 0))
    return centers, assign(centers), count
