"""Runs scalar computations for a whole batch of instances.

All instances run at once if every instruction has a kernel for batches. Otherwise, they run one
after the other.
"""

from __future__ import annotations

from math import prod

import numpy as np

from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.interp.arrays.values import Value, leaves, with_leaves
from hlotool.interp.failures import failure
from hlotool.interp.kernels.base import Invoke, Run
from hlotool.ir.model import Computation, Module
from hlotool.shapes.shape import Shape

__all__ = ["can_batch", "run_all_at_once", "run_one_by_one"]


def can_batch(computation: Computation) -> bool:
    """Returns whether a computation can be run for many instances at once.

    All of its instructions must be scalar and have kernels for batches.

    >>> import hlotool
    >>> text = "f { a = f32[] parameter(0) ROOT b = negate(a) } ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] map(x), to_apply=f }"
    >>> [can_batch(computation) for computation in hlotool.parse(text).computations]
    [True, False]
    """
    return all(_is_scalar(x.shape) and (x.op.kernel is None or x.op.kernel.batch_function is not None) for x in computation.instructions)


def _is_scalar(shape: Shape) -> bool:
    return all(leaf.is_array and not leaf.dimensions for leaf in shape.leaves())


def run_all_at_once(module: Module, request: Invoke, batch: tuple[int, ...], run: Run) -> Run:
    """Returns the result of a run that uses arrays in place of scalars.

    Results that do not depend on the arguments are still scalars, and are broadcast here.
    """
    value = yield from run
    return with_leaves(request.root.shape, [_broadcast(module, request.computation, leaf, batch) for leaf in leaves(value)])


def run_one_by_one(module: Module, request: Invoke, batch: tuple[int, ...]) -> Run:
    """Runs each instance separately."""
    computation, root = request.computation, request.root
    parameters = computation.parameters
    columns = [[_broadcast(module, computation, leaf, batch).reshape(-1) for leaf in leaves(argument)] for argument in request.take_arguments()]
    if [len(column) for column in columns] != [sum(1 for _ in p.shape.leaves()) for p in parameters]:
        message = f"'{computation.name}' is applied to values that do not match its parameters"
        raise failure(module, computation.root, "R004", message, "check the module with hlotool verify")
    rows = []
    for k in range(prod(batch)):
        pairs = zip(parameters, columns, strict=True)
        arguments = tuple(with_leaves(p.shape, [np.asarray(leaf[k]) for leaf in column]) for p, column in pairs)
        value = yield Invoke(computation, arguments, root=root)
        rows.append(list(leaves(value)))
    types = [NUMPY_TYPES[leaf.element_type] for leaf in root.shape.leaves()]
    return with_leaves(root.shape, [np.array([row[k] for row in rows], dtype).reshape(batch) for k, dtype in enumerate(types)])


def _broadcast(module: Module, computation: Computation, leaf: Value, batch: tuple[int, ...]) -> Value:
    """Broadcasts an array to one element per instance.

    Raises EvaluationError if the sizes do not match, which happens only in invalid modules.
    """
    try:
        return np.broadcast_to(leaf, batch)
    except ValueError:
        message = f"'{computation.name}' is applied to arrays with the dimensions {list(leaf.shape)} instead of {list(batch)}"
        raise failure(module, computation.root, "R004", message, "check the module with hlotool verify") from None
