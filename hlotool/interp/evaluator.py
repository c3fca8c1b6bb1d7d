"""Runs modules and instructions: `evaluate`, `evaluate_replicas` and `compute`.

These functions check the arguments and start an executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hlotool.errors import EvaluationError
from hlotool.interp.arguments.argument_checks import as_list, checked_arguments, checked_values
from hlotool.interp.arrays.literal_values import literal_value
from hlotool.interp.arrays.values import Value, own_arrays
from hlotool.interp.devices import DeviceGrid
from hlotool.interp.engine.lockstep import run_in_lockstep
from hlotool.interp.engine.observers import Observer
from hlotool.interp.engine.obstacles import obstacles
from hlotool.interp.engine.order import runnable_instructions
from hlotool.interp.engine.preparation import Prepared, prepare
from hlotool.interp.engine.program import Programs
from hlotool.interp.engine.reference import ReferenceExecutor
from hlotool.interp.failures import failure
from hlotool.interp.kernels.base import Invoke
from hlotool.interp.kernels.libraries.partitions import mesh_axes
from hlotool.interp.plan.choice import plan_for, warn_of_fault
from hlotool.interp.plan.errors import Mismatch
from hlotool.interp.queues import HostQueues
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Instruction, Module

if TYPE_CHECKING:
    from hlotool.interp.plan.executor import Plan

__all__ = ["compute", "evaluate", "evaluate_replicas"]

EXECUTORS = ("auto", "plan", "reference")
_DEFAULTS = RunOptions()


def evaluate(
    module: Module, arguments: Sequence[Any], *, executor: str = "auto", options: RunOptions = _DEFAULTS, observers: Sequence[Observer] = ()
) -> Value:
    """Returns the value of the module's entry computation for these arguments.

    Pass one argument per parameter or, if some parameters are tuples, one argument per leaf. An
    argument is anything that NumPy converts to an array, or a nested tuple of such values. Floats
    are converted to the parameter's float type, and integers to its integer type. A float parameter
    accepts integers if its type can represent each of them exactly. Arrays in the result have the
    exact element type (an ml_dtypes type for bf16 and similar types) and belong to the caller.
    Tuples are returned as Python tuples. Raises EvaluationError, and no other exception, for any
    module and any arguments.

    `executor` is "reference", which calls one kernel per instruction; "plan", which compiles the
    module to Python code first; or "auto", which compiles if that is worthwhile. All executors
    return the same results. The reference executor calls `observers` for every instruction, and is
    always used unless all observers set `needs_only_reached` (see `Observer`). Several threads may
    evaluate the same module at the same time.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }")
    >>> evaluate(module, [[1.0, 2.0]])
    array([-1., -2.], dtype=float32)
    """
    return _evaluate(module, [arguments], 1, executor, options, observers)[0]


def evaluate_replicas(
    module: Module,
    arguments: Sequence[Sequence[Any]],
    *,
    num_partitions: int = 1,
    executor: str = "auto",
    options: RunOptions = _DEFAULTS,
    observers: Sequence[Observer] = (),
) -> list[Value]:
    """Returns the value that each device computes when all devices run the module together.

    `arguments` has an entry for each device. There are `len(arguments) / num_partitions` replicas
    of `num_partitions` devices each, listed replica by replica. One process runs all devices, one
    at a time. Arguments, results and errors are the same as for `evaluate`. In addition, an
    EvaluationError reports devices that would wait for each other forever.

    >>> import hlotool
    >>> text = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }"
    >>> text += "ENTRY e { x = f32[] parameter(0) ROOT r = f32[] all-reduce(x), to_apply=add }"
    >>> [float(value) for value in evaluate_replicas(hlotool.parse(text), [[1.0], [2.0]])]
    [3.0, 3.0]
    """
    return _evaluate(module, arguments, num_partitions, executor, options, observers)


def compute(
    x: Instruction, values: Sequence[Any], *, options: RunOptions = _DEFAULTS, module: Module | None = None, observers: Sequence[Observer] = ()
) -> Value:
    """Returns the value of one instruction, given the values of its operands.

    Use this function in tools that fold constants or have their own executor. `values` may contain
    anything that `evaluate` accepts as an argument. Computations that the instruction calls are
    run. The run has only one device. The result may share memory with `values`. Raises
    EvaluationError on failure; if `module` is passed, the error has the location of the instruction
    in the source of the module. `observers` are called for the instruction, and for all
    instructions in the computations that it calls.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[2] constant({1, 2}) y = f32[2] constant({3, 5}) ROOT z = f32[2] add(x, y) }")
    >>> x, y, z = module.entry.instructions
    >>> compute(z, [compute(x, []), compute(y, [])])
    array([4., 7.], dtype=float32)
    """
    position = Module("") if module is None else module
    if diagnostics := obstacles(position, [x, *runnable_instructions(options, *x.called)], options):
        raise EvaluationError(diagnostics)
    if x.parameter_number is not None:
        raise failure(position, x, "R001", f"parameter '{x.name}' has no value before the computation is called")
    values = as_list(position, values, "operand values", "pass a list, even for one operand: compute(x, [value])")
    if len(values) != len(x.operands):
        raise failure(position, x, "R002", f"wrong number of operand values for '{x.name}': expected {len(x.operands)}, got {len(values)}")
    checked = checked_values(position, zip(x.operands, values, strict=True), x)
    with np.errstate(all="ignore"):
        if x.literal is not None:
            return literal_value(x.literal, options)
        return run_in_lockstep([ReferenceExecutor(position, Programs(options), DeviceGrid().devices[0], observers).compute(x, checked)])[0]


def _evaluate(
    module: Module, arguments: Sequence[Sequence[Any]], num_partitions: int, executor: str, options: RunOptions, observers: Sequence[Observer]
) -> list[Value]:
    if executor not in EXECUTORS:
        raise failure(module, None, "R002", f"there is no executor '{executor}'", f"use one of the executors {', '.join(EXECUTORS)}")
    arguments = as_list(module, arguments, "argument lists", "pass a list with the arguments of each device: evaluate_replicas(module, [[x], [x]])")
    count = len(arguments)
    if not count or num_partitions < 1 or count % num_partitions:
        raise failure(module, None, "R002", f"the number of argument lists, {count}, is not a positive multiple of num_partitions={num_partitions}")
    prepared = prepare(module, options)
    prepared.check(module, count)
    queues = options.queues or ()
    meshes = mesh_axes(module.frontend_attributes.get("xla.sdy.meshes", "")) if module.frontend_attributes else None
    grid = DeviceGrid(count // num_partitions, num_partitions, (queues,) if isinstance(queues, HostQueues) else queues, meshes)
    values = [checked_arguments(module, device_values) for device_values in arguments]
    plan = plan_for(prepared, module, executor, is_watched=bool(observers)) if all(observer.needs_only_reached for observer in observers) else None
    # Entering this context for each operation would triple the cost of small operations.
    with np.errstate(all="ignore"):
        results = _results(module, prepared, grid, observers, values, plan)
        try:
            return [own_arrays(result, module.entry.root.shape, device_values) for result, device_values in zip(results, values, strict=True)]
        except MemoryError:
            # A result may be a view that repeats a few elements; as a separate array, it may not
            # fit into memory.
            raise failure(module, module.entry.root, "R004", "the result cannot be computed: not enough memory") from None


def _results(
    module: Module, prepared: Prepared, grid: DeviceGrid, observers: Sequence[Observer], values: Sequence[tuple[Value, ...]], plan: Plan | None
) -> list[Value]:
    """Returns the result that each device computes from its arguments."""
    reference = ReferenceExecutor(module, prepared.programs, grid.devices[0], () if plan is not None else observers)
    pairs = [(reference.on(device), device_values) for device, device_values in zip(grid.devices, values, strict=True)]
    if plan is not None:
        try:
            return run_in_lockstep([plan.start(executor, Invoke(module.entry, device_values), observers) for executor, device_values in pairs])
        except Mismatch as mismatch:
            reason = str(mismatch)
            if plan.has_effects:
                message = reason or "a kernel returned a value with a different shape than the instruction declares"
                hint = "run the module without compiling it: --executor reference"
                raise failure(module, None, "R004", message, f"{hint}; check it with hlotool verify") from None
            if reason:
                warn_of_fault(module, reason)
    return run_in_lockstep([executor.run(Invoke(module.entry, device_values)) for executor, device_values in pairs])
