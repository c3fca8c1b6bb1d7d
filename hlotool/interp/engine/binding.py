"""An instruction bound to its kernel: the function, its keywords, and the expected result.

A binding looks up all facts about an instruction once. Only the operands, and the facts that differ
from call to call, are added at run time. Executors and plan compilers call kernels through
bindings, with the calling convention of `interp.kernels.base`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlotool.analysis.collectives import group_mode
from hlotool.errors import EvaluationError, Violation
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.interp.arrays.memory_order import function_in_layout, orders_of
from hlotool.interp.arrays.values import Value
from hlotool.interp.devices import Device
from hlotool.interp.engine.ownership import can_alias
from hlotool.interp.failures import broken_rule, failure
from hlotool.interp.kernels.base import FACTS, PER_CALL_FACTS, Kernel, default_of
from hlotool.interp.kernels.libraries.handlers import target_of
from hlotool.interp.kernels.table import OPS as OPS
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Instruction, Module
from hlotool.opdefs.inference import kind_of
from hlotool.opdefs.traits import ELEMENTWISE

__all__ = ["Binding"]

_FLOATS = frozenset(NUMPY_TYPES[name] for name in NUMPY_TYPES if kind_of(name) == "float")


class Binding:
    """The kernel of one instruction with its keywords.

    `function(*operands, **keywords)` returns the value, or, if `suspends` is set, a generator (a
    `Run`). `per_call` names the facts that are missing from `keywords` because they may differ from
    call to call; `all_keywords` adds them. Results must have the NumPy type `dtype` and the given
    `dimensions`. Both are None for values other than arrays; `dimensions` is also None for dynamic
    shapes and batches. If `batch` is set, `function` is the kernel's function for batches of
    scalars.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[4] parameter(0) ROOT r = f32[2] slice(x), slice={[0:4:2]} }")
    >>> binding = Binding(module.entry.root, RunOptions())
    >>> binding.function(np.arange(4, dtype=np.float32), **binding.keywords)
    array([0., 2.], dtype=float32)
    """

    __slots__ = ("dimensions", "dtype", "function", "instruction", "keywords", "per_call", "rounds", "suspends")

    def __init__(self, instruction: Instruction, options: RunOptions, *, batch: bool = False) -> None:
        kernel: Kernel = instruction.op.kernel
        function = kernel.batch_function if batch else kernel.function
        if function is None:
            raise ValueError(f"'{instruction.opcode}' has no kernel for batches")
        facts = kernel.batch_facts if batch else kernel.facts
        self.instruction = instruction
        self.function: Callable[..., Any] = function
        if kernel.takes_in_layout(instruction):
            self.function = function_in_layout(function, orders_of(instruction))
        if ELEMENTWISE in instruction.op.traits and any(x.shape.dynamic for x in instruction.operands):
            self.function = _with_size_check(self.function)
        self.suspends = kernel.batch_suspends if batch else kernel.suspends
        self.per_call = tuple(name for name in facts if name in PER_CALL_FACTS)
        self.keywords = {name: _keyword(instruction, name, options) for name in facts if name not in PER_CALL_FACTS}
        shape = instruction.shape
        self.dtype: np.dtype[Any] | None = NUMPY_TYPES.get(shape.element_type)
        # In optimized modules, the float type of an operand may differ from the result's type. The
        # result is then rounded.
        self.rounds = self.dtype in _FLOATS and any(
            operand.shape.element_type != shape.element_type and NUMPY_TYPES.get(operand.shape.element_type) in _FLOATS
            for operand in instruction.operands
        )
        self.dimensions = shape.dimensions if self.dtype is not None and not batch and not shape.dynamic else None

    def all_keywords(self, operands: list[Value], device: Device, batch: tuple[int, ...] | None) -> dict[str, Any]:
        """Returns the keywords, including the facts that may differ from call to call.

        `can_alias` counts references, so `operands` must be the list that the executor itself uses.
        """
        keywords = dict(self.keywords)
        if "batch" in self.per_call:
            keywords["batch"] = batch
        if "device" in self.per_call:
            keywords["device"] = device
        if "can_alias" in self.per_call:
            keywords["can_alias"] = can_alias(operands)
        return keywords

    def check(self, value: Value) -> Value:
        """Returns the value as an array of the declared shape.

        Raises Violation if the value does not have this shape, since shapes in a module may be
        wrong.
        """
        value = np.asarray(value)
        if self.rounds:
            value = value.astype(self.dtype, copy=False)
        if value.dtype != self.dtype or (self.dimensions is not None and value.shape != self.dimensions):
            x = self.instruction
            actual = f"{value.dtype}{list(value.shape)}"
            rule = broken_rule(x)
            hint = None if rule is None else f"{rule.message} ({rule.code})"
            raise Violation("R004", "shape", f"the result of '{x.opcode}' is {actual}, not {x.shape.text_without_layout} as written", hint)
        return value

    def error(self, error: Exception, module: Module, device: Device) -> EvaluationError:
        """Returns an exception for an error in the kernel, with the location of the instruction."""
        x = self.instruction
        position = f"on device {device.number}" if device.grid.count > 1 else ""
        if isinstance(error, Violation):
            where = f" ({position})" if position and error.code != "R007" else ""
            return failure(module, x, error.code, error.message + where, error.hint, error.notes)
        prefix = f"'{x.opcode}' cannot be computed{position and ' '}{position}: "
        if isinstance(error, MemoryError):
            return failure(module, x, "R004", f"{prefix}not enough memory")
        # NumPy's messages about invalid attributes refer to its own arguments.
        rule = broken_rule(x)
        if rule is not None:
            return failure(module, x, "R004", f"{prefix}{rule.message} ({rule.code})", rule.hint, rule.notes)
        reason = str(error).partition("\n")[0]
        return failure(module, x, "R004", f"{prefix}{reason}", "check the module with hlotool verify")


def _with_size_check(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function in a check that rejects arrays of different sizes.

    Dynamic dimensions may differ in size at run time, and NumPy would broadcast the arrays.
    """

    def checked(*operands: Value, **keywords: Any) -> Any:
        sizes = dict.fromkeys(np.shape(operand) for operand in operands)
        sizes.pop((), None)
        if len(sizes) > 1:
            first, second, *_ = map(list, sizes)
            raise Violation("R004", "shape", f"operands have different sizes in this run: {first} and {second}")
        return function(*operands, **keywords)

    return checked


def _shardings(x: Instruction, _options: RunOptions) -> tuple[Any, ...]:
    return tuple(y.attributes.get("sharding") for y in (x, *x.operands))


_FACTS: dict[str, Callable[[Instruction, RunOptions], Any]] = {
    "result": lambda x, options: x.shape,
    "operand_shapes": lambda x, options: tuple(operand.shape for operand in x.operands),
    "options": lambda x, options: options,
    "instruction_key": lambda x, options: x,
    "group_mode": lambda x, options: group_mode(x),
    "frontend_attributes": lambda x, options: x.attributes.get("frontend_attributes", {}),
    "target": target_of,
    "shardings": _shardings,
}
"""Functions that compute the facts that depend only on the instruction and the options."""


def _keyword(x: Instruction, name: str, options: RunOptions) -> Any:
    if name in FACTS:
        return _FACTS[name](x, options)
    return x.attributes[name] if name in x.attributes else default_of(x.opcode, name)
