"""Generates mlp_train_step.hlo, a training step as JAX lowers it, and mlp_train_step.npz.

The step trains a two-layer perceptron with softmax cross-entropy: all gradients, and gradient
descent with momentum. The archive has inputs and JAX's results.

Needs JAX: python samples/make_mlp_train_step.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

HERE = Path(__file__).parent
BATCH, INPUTS, HIDDEN, CLASSES = 8, 16, 32, 10
RATE, MOMENTUM = 0.1, 0.9

COMMENT = """// One training step of a two-layer perceptron, as JAX lowers it: softmax cross-entropy, gradients, and gradient descent with momentum.
// make_mlp_train_step.py generates it, and mlp_train_step.npz with the inputs and JAX's results.
//
//   hlotool run samples/mlp_train_step.hlo --inputs samples/mlp_train_step.npz
"""

Parameters = dict[str, Any]


def loss(parameters: Parameters, images: jax.Array, labels: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(images @ parameters["weights1"] + parameters["bias1"])
    logits = hidden @ parameters["weights2"] + parameters["bias2"]
    targets = jax.nn.one_hot(labels, CLASSES)
    return -jnp.mean(jnp.sum(targets * jax.nn.log_softmax(logits), axis=-1))


def step(parameters: Parameters, velocities: Parameters, images: jax.Array, labels: jax.Array) -> Any:
    """Returns the new parameters and velocities, and the loss with all its gradients."""
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
    velocities = jax.tree.map(lambda v, g: MOMENTUM * v + g, velocities, gradients)
    parameters = jax.tree.map(lambda p, v: p - RATE * v, parameters, velocities)
    return parameters, velocities, value, gradients


def arguments() -> tuple[Any, ...]:
    generator = np.random.default_rng(0)

    def normal(*sizes: int, scale: float = 1.0) -> np.ndarray:
        return (generator.standard_normal(sizes) * scale).astype(np.float32)

    parameters = {
        "weights1": normal(INPUTS, HIDDEN, scale=INPUTS**-0.5),
        "bias1": normal(HIDDEN, scale=0.1),
        "weights2": normal(HIDDEN, CLASSES, scale=HIDDEN**-0.5),
        "bias2": normal(CLASSES, scale=0.1),
    }
    velocities = {name: normal(*value.shape, scale=0.01) for name, value in parameters.items()}
    labels = generator.integers(0, CLASSES, BATCH).astype(np.int32)
    return parameters, velocities, normal(BATCH, INPUTS), labels


def main() -> None:
    inputs = arguments()
    text = jax.jit(step).lower(*inputs).compiler_ir("hlo").as_hlo_text()
    (HERE / "mlp_train_step.hlo").write_text(COMMENT + text.rstrip("\n") + "\n", encoding="utf-8")
    # Inputs are named by their parameter number, results `output.N`.
    stored = {str(k): np.asarray(value) for k, value in enumerate(jax.tree.leaves(inputs))}
    stored |= {f"output.{k}": np.asarray(value) for k, value in enumerate(jax.tree.leaves(jax.jit(step)(*inputs)))}
    np.savez_compressed(HERE / "mlp_train_step.npz", **stored)


if __name__ == "__main__":
    main()
