"""Equal operands with different memory layouts: views of arrays, and modules that create views.

Results must have the same bits as with dense operands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from instances import Instance, module_of

import hlotool
from hlotool.errors import EvaluationError, HlotoolError
from hlotool.interp import compute
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value, leaves
from hlotool.interp.engine.observers import Observer, RunPosition
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Instruction, Module
from hlotool.optimizer.checking import same_bits

__all__ = ["FORMS", "computation_disagreement", "in_form", "view_disagreement"]

LIMITS = RunOptions(elided_fill="iota", max_iterations=1000)


# ---- arrays -----------------------------------------------------------------------------------------------------------


def _transposed(x: Array) -> Array:
    return np.asfortranarray(x)


def _sliced(x: Array) -> Array:
    wide = np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., 1::2] = np.flip(x)
    wide[..., ::2] = x
    return wide[..., ::2]


def _with_gaps(x: Array) -> Array:
    """Returns an array whose rows neither begin nor end at an aligned address."""
    wide = np.empty((*x.shape[:-1], x.shape[-1] + 3), x.dtype)
    wide[...] = x.flat[0] if x.size else 0
    wide[..., 1:-2] = x
    return wide[..., 1:-2]


def _reversed(x: Array) -> Array:
    return np.flip(np.flip(x).copy())


def _unaligned(x: Array) -> Array:
    memory = np.empty(x.nbytes + 1, np.uint8)
    array = memory[1:].view(x.dtype).reshape(x.shape)
    array[...] = x
    return array


def _with_odd_steps(x: Array) -> Array:
    """Returns an array with odd strides along dimensions of size 1, where they have no effect."""
    steps = [7 * x.itemsize if size == 1 else step for size, step in zip(x.shape, x.strides, strict=True)]
    # NumPy can set strides only for arrays of its own types.
    plain = x.view(f"V{x.itemsize}")
    return np.lib.stride_tricks.as_strided(plain, x.shape, steps).view(x.dtype)


FORMS: dict[str, Callable[[Array], Array]] = {
    "transposed": _transposed,
    "sliced": _sliced,
    "with gaps": _with_gaps,
    "reversed": _reversed,
    "unaligned": _unaligned,
    "odd steps": _with_odd_steps,
}


def in_form(value: Value, form: str) -> Value:
    """Returns the value with all its arrays converted to the given form."""
    if isinstance(value, tuple):
        return tuple(in_form(element, form) for element in value)
    return FORMS[form](np.ascontiguousarray(value)) if isinstance(value, np.ndarray) and value.ndim else value


def broadcast_from(x: Array, random: Random) -> Array:
    """Returns an array of the same shape whose elements share memory.

    All elements along at least one dimension are the same.
    """
    axes = [k for k in range(x.ndim) if random.random() < 0.6] or [random.randrange(x.ndim)]
    part = x[tuple([slice(0, 1) if k in axes else slice(None) for k in range(x.ndim)])]
    return np.broadcast_to(part.copy(), x.shape)


# ---- single instructions ------------------------------------------------------------------------------------------------


class _Recorder(Observer):
    """Records the operands of all instructions that have array operands."""

    def __init__(self) -> None:
        self.calls: list[tuple[Instruction, list[Value]]] = []

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        if any(isinstance(leaf, np.ndarray) and leaf.ndim for operand in operands for leaf in leaves(operand)):
            self.calls.append((instruction, list(operands)))


def computation_disagreement(module: Module, arguments: Sequence[Any], random: Random, seen: Counter[str] | None = None) -> str | None:
    """Returns a message if a result in a run depends on the memory layout of the operands.

    The message is about the first such instruction. Returns None if all kernels give the same bits
    for equal operands with other memory layouts. Counts the computed opcodes in `seen`.
    """
    recorder = _Recorder()
    try:
        hlotool.evaluate(module, arguments, executor="reference", observers=[recorder], options=LIMITS)
    except EvaluationError:
        return None
    for x, operands in recorder.calls:
        for name, dense, other in _pairs(operands, random):
            results = []
            for values in (dense, other):
                try:
                    results.append([np.array(leaf) for leaf in leaves(compute(x, values, options=LIMITS)) if isinstance(leaf, np.ndarray)])
                except EvaluationError:
                    results.append([])
            if seen is not None:
                seen[x.opcode] += bool(results[0])
            if not all(same_bits(a, b) for a, b in zip(*results, strict=True)):
                return f"{x} with {name} operands: {results[1]} instead of {results[0]} with dense operands"
    return None


def _pairs(operands: Sequence[Value], random: Random) -> Iterator[tuple[str, list[Value], list[Value]]]:
    """Yields the name of a form, operands in row-major order, and the same operands in that form.

    The form applies to all operands, or to one chosen at random.
    """
    dense = [_dense(operand) for operand in operands]
    arrays = [k for k, operand in enumerate(operands) if isinstance(operand, np.ndarray) and operand.ndim]
    for form in FORMS:
        yield form, dense, [in_form(operand, form) for operand in dense]
        if len(arrays) > 1:
            one = random.choice(arrays)
            yield form, dense, [in_form(operand, form) if k == one else operand for k, operand in enumerate(dense)]
    for k in arrays:
        repeated = broadcast_from(np.asarray(operands[k]), random)
        yield "broadcast", [*dense[:k], repeated.copy(), *dense[k + 1 :]], [*dense[:k], repeated, *dense[k + 1 :]]
    for k, j in pairwise(arrays):
        one, other = dense[k], dense[j]
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape and one.dtype == other.dtype:
            yield "the same", [*dense[:j], one.copy(), *dense[j + 1 :]], [*dense[:j], one, *dense[j + 1 :]]


def _dense(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(map(_dense, value))
    return np.array(value, order="C") if isinstance(value, np.ndarray) else value


# ---- modules ------------------------------------------------------------------------------------------------------------


def with_views(x: Instance, random: Random) -> tuple[str, list[Array], list[Array]]:
    """Returns a module in which each parameter of an instance becomes a view of another array.

    The first list contains the arrays of the instance, some of them broadcast; the second list
    contains the arguments of the module.
    """
    text, dense, given = module_of([x]), [], []
    for k, array in enumerate(x.arrays):
        line = re.compile(rf"^  i0_p{k} = (\w+)(\[.*?\]) parameter\({k}\)$", re.MULTILINE)
        found = line.search(text)
        assert found is not None
        element_type, sizes = found.groups()
        name = random.choice(list(_VIEWS)) if array.ndim else ""
        made = _VIEWS[name](array, random) if name else (array, array, "")
        dense.append(np.array(made[0], order="C"))
        given.append(np.array(made[1], order="C"))
        if name:
            source = f"{element_type}[{','.join(map(str, made[1].shape))}]"
            text = line.sub(f"  i0_q{k} = {source} parameter({k})\n  i0_p{k} = {element_type}{sizes} {made[2].replace('$', f'i0_q{k}')}", text)
    return text, dense, given


def _list(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _transpose(x: Array, random: Random) -> tuple[Array, Array, str]:
    order = random.sample(range(x.ndim), x.ndim)
    return x, x.transpose(np.argsort(order)), f"transpose($), dimensions={_list(order)}"


def _slice(x: Array, random: Random) -> tuple[Array, Array, str]:
    start, stride, ends = random.choice((0, 1)), random.choice((1, 2)), random.choice((0, 1))
    wide = np.empty((*x.shape[:-1], start + stride * x.shape[-1] + ends), x.dtype)
    wide[...] = x.flat[0] if x.size else 0
    limit = start + stride * (x.shape[-1] - 1) + 1 if x.shape[-1] else start
    wide[..., start:limit:stride] = x
    ranges = [*(f"[0:{size}]" for size in x.shape[:-1]), f"[{start}:{limit}:{stride}]"]
    return x, wide, f"slice($), slice={{{', '.join(ranges)}}}"


def _reverse(x: Array, random: Random) -> tuple[Array, Array, str]:
    return x, np.flip(x), f"reverse($), dimensions={_list(range(x.ndim))}"


def _broadcast(x: Array, random: Random) -> tuple[Array, Array, str]:
    kept = [k for k in range(x.ndim) if random.random() < 0.4]
    if 0 in x.shape:
        return x, x, "copy($)"
    part = x[tuple([slice(None) if k in kept else 0 for k in range(x.ndim)])]
    whole = np.broadcast_to(np.expand_dims(part, [k for k in range(x.ndim) if k not in kept]), x.shape)
    return whole, np.asarray(part), f"broadcast($), dimensions={_list(kept)}"


_VIEWS: dict[str, Callable[[Array, Random], tuple[Array, Array, str]]] = {
    "transpose": _transpose,
    "slice": _slice,
    "reverse": _reverse,
    "broadcast": _broadcast,
}


def view_disagreement(x: Instance, random: Random) -> str | None:
    """Returns a difference between the results with views and with dense operands, or None.

    Runs the module with each executor.
    """
    text, dense, given = with_views(x, random)
    plain, module = hlotool.parse(module_of([x])), hlotool.parse(text)
    expected = _outcome(plain, dense, "reference")
    runs: list[tuple[str, Module, list[Any], str]] = [
        ("views", module, given, "reference"),
        ("views", module, given, "plan"),
        ("dense arguments", plain, dense, "plan"),
    ]
    for form in random.sample(list(FORMS), 2):
        runs += [(f"{form} arguments", plain, [in_form(array, form) for array in dense], executor) for executor in ("reference", "plan")]
    for name, of_run, arguments, executor in runs:
        actual = _outcome(of_run, arguments, executor)
        if len(actual) != len(expected) or not all(map(same_bits, expected, actual)):
            return f"{text}{name}, {executor}: {actual} instead of {expected}"
    return None


def _outcome(module: Module, arguments: Sequence[Any], executor: str) -> list[Array]:
    try:
        return [np.asarray(leaf) for leaf in leaves(hlotool.evaluate(module, arguments, executor=executor, options=LIMITS))]
    except HlotoolError:
        return []
