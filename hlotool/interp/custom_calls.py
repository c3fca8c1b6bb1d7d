"""Targets of custom-calls that hlotool computes: annotations, which change nothing, TopK, and products of sparse matrices.

Targets of linear algebra are in `interp.lapack`; RunOptions may add others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from hlotool.errors import HlotoolError, Violation
from hlotool.interp.bits import total_order_keys
from hlotool.interp.dtypes import Array
from hlotool.interp.lapack import lapack_target
from hlotool.interp.options import RunOptions
from hlotool.interp.values import Value
from hlotool.record import Record
from hlotool.shapes.shape import Shape, compatible

__all__ = ["CustomCall", "handler_of", "load_handler", "takes_call"]

Handler = Callable[..., Any]


class CustomCall(Record):
    """What a handler may ask about the instruction: target, shapes, and the backend configuration as it is written."""

    target: str
    result: Shape
    operand_shapes: tuple[Shape, ...]
    backend_config: str = ""


def _unchanged(*operands: Value, call: CustomCall) -> Value:
    """The operand, if the result has its shape: an annotation changes nothing."""
    if len(operands) != 1 or not compatible(call.operand_shapes[0], call.result):
        operands_text = ", ".join(shape.text_without_layout for shape in call.operand_shapes)
        message = f"'{call.target}' changes shapes from {operands_text} to {call.result.text_without_layout}, which takes several devices"
        raise Violation("R004", "custom_call_target", message, "run the module as its partitioner leaves it")
    return operands[0]


def _top_k(operand: Value, *, call: CustomCall) -> Value:
    """The largest values of each row and their indices, in total order; equal ones keep their order."""
    k = call.result.elements[0].dimensions[-1]
    keys = total_order_keys(operand)
    descending = np.negative(keys) if keys.dtype.kind == "f" else np.invert(keys)
    order = np.argsort(descending, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(operand, order, axis=-1), order.astype(np.int32)


def _sparse_product(values: Array, row_starts: Array, columns: Array, dense: Array, *, call: CustomCall) -> Value:
    """A matrix of compressed rows times a dense vector or matrix; values after the last row are padding."""
    counts = np.diff(row_starts)
    stored = slice(int(row_starts[0]), int(row_starts[-1]))
    factors = values[stored].reshape(-1, *[1] * (dense.ndim - 1))
    product = np.zeros(call.result.dimensions, values.dtype)
    np.add.at(product, np.repeat(np.arange(len(counts)), counts), factors * dense[columns[stored]])
    return product


_ANNOTATIONS = """Sharding SPMDFullToShardShape SPMDShardToFullShape LayoutConstraint annotate_device_placement MoveToHost MoveToDevice
PinToDevice PinToDeviceSram PinToHost AssumeGatherIndicesInBound xla.sdy.Sharding xla.sdy.FuncResultSharding xla.sdy.GlobalToLocalShape
xla.sdy.LocalToGlobalShape xla.sdy.PropagationBarrier xla.sdy.ShardingGroup""".split()

_TARGETS: dict[str, Handler] = {
    **dict.fromkeys(_ANNOTATIONS, _unchanged),
    **dict.fromkeys(["TopK", "__gpu$TopK", "mhlo.topk"], _top_k),
    "cpu_csr_sparse_dense_ffi": _sparse_product,
}


def handler_of(target: str, options: RunOptions) -> Handler | None:
    """The function that computes a target: the one in the options if there is one, else hlotool's, else None.

    >>> handler_of("Sharding", RunOptions()) is None, handler_of("unheard of", RunOptions()) is None
    (False, True)
    """
    own = (options.custom_calls or {}).get(target)
    return own or _TARGETS.get(target) or lapack_target(target)


def takes_call(handler: Handler) -> bool:
    """Whether the function has a parameter `call` for a CustomCall; False for functions without a signature."""
    try:
        return "call" in inspect.signature(handler).parameters
    except (TypeError, ValueError):
        return False


def load_handler(place: str) -> Handler:
    """The function at a place such as `package.module:function`; raises HlotoolError when there is none.

    >>> load_handler("numpy:sin")
    <ufunc 'sin'>
    """
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise HlotoolError(f"'{place}' is not of the form module:function")
    try:
        handler: Any = import_module(module)
        for part in name.split("."):
            handler = getattr(handler, part)
    except Exception as error:
        # A module may raise anything while it is imported.
        raise HlotoolError(f"'{place}' cannot be loaded: {error}") from error
    if not callable(handler):
        raise HlotoolError(f"'{place}' is no function")
    function: Handler = handler
    return function
