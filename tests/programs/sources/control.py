"""Nested loops and branches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from sources.registry import program

__all__: list[str] = []


@program(lambda d: (d.normal(5, 3), d.below(4, 5), d.normal(3)))
def nested_control_flow(items, choices, start):
    """Runs a while loop in a branch in a scan, with a switch, and a loop of variable length."""

    def halve(x):
        return lax.while_loop(lambda x: jnp.sum(x * x) > 1.0, lambda x: x * 0.5, x)

    def body(state, item):
        x, choice = item
        state = lax.cond(jnp.sum(state) > 0, lambda s: halve(s + x), lambda s: lax.fori_loop(0, choice, lambda k, s: s + k * x, s), state)
        branches = [lambda s: s, jnp.negative, jnp.sort, lambda s: s.at[choice].set(0.5)]
        return lax.switch(choice, branches, state), (state, choice > 1)

    last, seen = lax.scan(body, start, (items, choices))
    collatz = lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (choices[0] + 27, 0))
    return last, seen, collatz, lax.map(lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), items, batch_size=2)


@program(lambda d: (d.normal(4, 3), d.normal(3)))
def scan_gradients(items, start):
    """Computes the gradient of scans, branches and inner loops, with recomputation."""

    def body(state, x):
        state = lax.cond(jnp.sum(x) > 0, lambda s: jnp.sin(s) + x, lambda s: s * jnp.exp(-x), state)
        return lax.fori_loop(0, 3, lambda k, s: s + 0.1 * jnp.tanh(s * x), state), jnp.sum(state**2)

    def loss(items, start, step):
        last, sums = lax.scan(step, start, items)
        return jnp.sum(last) + jnp.sum(sums)

    return jax.grad(lambda a, b: loss(a, b, jax.checkpoint(body)), (0, 1))(items, start)


@program(lambda d: (d.normal(2, 3), d.below(7, 2, 3, 4), d.normal(7, 7), d.normal(2, 3, 7)))
def beam_search_step(scores, beams, transitions, noise):
    """Continues three beams.

    The best continuations are kept with their origins; finished beams are frozen.
    """
    last = beams[:, :, -1]
    logits = jax.nn.log_softmax(transitions[last] + noise)
    ended = last == 0
    frozen = jnp.full((7,), -jnp.inf).at[0].set(0.0)
    total = scores[:, :, None] + jnp.where(ended[..., None], frozen, logits)
    best, flat = lax.top_k(total.reshape(2, 21), 3)
    parent, token = flat // 7, flat % 7
    moved = jnp.take_along_axis(beams, parent[..., None], axis=1)
    return best, jnp.concatenate([moved, token[..., None]], -1), jnp.take_along_axis(ended, parent, 1) | (token == 0)


@program(lambda d: (d.normal(9, 4), d.normal(4, 4, scale=0.5), d.below(4, 9)))
def structured_prediction(emissions, transitions, tags):
    """Computes a chain's partition function, its gradient, and the chain's best path.

    The path is found with dynamic programming and backtracking.
    """

    def partition(emissions, transitions):
        def step(scores, emission):
            return jax.nn.logsumexp(scores[:, None] + transitions, axis=0) + emission, None

        return jax.nn.logsumexp(lax.scan(step, emissions[0], emissions[1:])[0])

    def score(emissions, transitions):
        return jnp.sum(emissions[jnp.arange(9), tags]) + jnp.sum(transitions[tags[:-1], tags[1:]])

    def best(a, e):
        options = a[:, None] + transitions
        return jnp.max(options, 0) + e, jnp.argmax(options, 0)

    final, back = lax.scan(best, emissions[0], emissions[1:])
    end = jnp.argmax(final)
    _, path = lax.scan(lambda tag, row: (row[tag], tag), end, back, reverse=True)
    likelihood = jax.value_and_grad(lambda e, t: score(e, t) - partition(e, t), (0, 1))(emissions, transitions)
    return likelihood, path, jnp.max(final)


@program(lambda d: (d.below(4, 8), d.below(4, 6)))
def edit_distance(left, right):
    def row(previous, item):
        k, letter = item
        costs = jnp.minimum(previous[1:] + 1, previous[:-1] + (right != letter))
        _, rest = lax.scan(lambda a, c: (jnp.minimum(a + 1, c),) * 2, k + 1, costs)
        new = jnp.concatenate([(k + 1)[None], rest])
        return new, new

    return lax.scan(row, jnp.arange(7), (jnp.arange(8), left))
