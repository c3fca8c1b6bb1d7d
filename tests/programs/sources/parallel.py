"""Programs for several devices, which XLA partitions."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from sources.registry import program

__all__: list[str] = []


def _mesh(**axes: int) -> Mesh:
    count = int(np.prod(list(axes.values())))
    return Mesh(np.array(jax.devices()[:count]).reshape(*axes.values()), tuple(axes))


@program(lambda d: (d.normal(8, 6), d.normal(4, 8), d.normal(16, 4)), devices=4)
def collectives(x, y, z):
    mesh = _mesh(i=4)

    @partial(jax.shard_map, mesh=mesh, in_specs=(P("i"), P("i"), P("i")), out_specs=(P(), P("i"), P("i"), P("i"), P("i"), P()), check_vma=False)
    def body(x, y, z):
        turned = lax.ppermute(y, "i", [(k, (k + 1) % 4) for k in range(4)])
        swapped = lax.all_to_all(z, "i", 1, 0, tiled=True)
        scattered = lax.psum_scatter(lax.all_gather(y, "i", tiled=True) * lax.axis_index("i"), "i", tiled=True)
        return lax.psum(x, "i"), lax.pmax(x, "i") - x, turned, swapped, scattered, lax.all_gather(x[0], "i")

    return body(x, y, z)


@program(lambda d: (d.normal(8, 6), d.normal(6, 8, scale=0.4), d.normal(8, 4, scale=0.4), d.normal(8, 4)), devices=8)
def data_and_model_parallel(x, w1, w2, wanted):
    """Shards batches over one axis of the mesh and hidden units over the other.

    The partitioner inserts the sums of gradients.
    """
    mesh = _mesh(data=4, model=2)

    def position(value, *axes):
        return lax.with_sharding_constraint(value, jax.NamedSharding(mesh, P(*axes)))

    x, wanted, w1, w2 = position(x, "data"), position(wanted, "data"), position(w1, None, "model"), position(w2, "model")

    def loss(w1, w2):
        hidden = position(jax.nn.relu(x @ w1), "data", "model")
        return jnp.mean((hidden @ w2 - wanted) ** 2)

    value, (g1, g2) = jax.value_and_grad(loss, (0, 1))(w1, w2)
    return value, position(w1 - 0.1 * g1, None, "model"), position(w2 - 0.1 * g2, "model"), position(jnp.sort(x, 0), "data")


@program(lambda d: (d.normal(8, 4), d.normal(8, 4), d.normal(8, 4)), devices=4)
def ring_attention(q, k, v):
    """Sends keys and values around a ring; a running maximum keeps the softmax exact."""
    mesh = _mesh(i=4)

    @partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False)
    def body(q, k, v):
        def step(_, state):
            k, v, top, total, out = state
            scores = q @ k.T / 2
            new = jnp.maximum(top, scores.max(-1))
            fade, weights = jnp.exp(top - new), jnp.exp(scores - new[:, None])
            around = [(j, (j + 1) % 4) for j in range(4)]
            k, v = lax.ppermute((k, v), "i", around)
            return k, v, new, total * fade + weights.sum(-1), out * fade[:, None] + weights @ v_before(v, around)

        def v_before(v, around):
            return lax.ppermute(v, "i", [(b, a) for a, b in around])

        start = k, v, jnp.full(2, -jnp.inf), jnp.zeros(2), jnp.zeros((2, 4))
        _, _, _, total, out = lax.fori_loop(0, 4, step, start)
        return out / total[:, None]

    return body(q, k, v)
