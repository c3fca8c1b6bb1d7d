"""Plans: the generated functions of a module's computations, compiled when they are first called, and the executor that runs them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from hlotool.errors import EvaluationError
from hlotool.interp.binding import Binding
from hlotool.interp.devices import Device, Wait
from hlotool.interp.kernels.base import Invoke
from hlotool.interp.options import RunOptions
from hlotool.interp.plan.errors import Mismatch
from hlotool.interp.plan.functions import FunctionWriter
from hlotool.interp.plan.lowering import CallGraph, Lowering
from hlotool.interp.plan.runtime import GLOBALS, PlanRun
from hlotool.interp.reference import ReferenceExecutor
from hlotool.interp.values import Value, leaves, with_leaves
from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["Plan", "PlanExecutor"]


class PlanFunction:
    """The function of one computation, on values as kernels take and return them.

    `source` is its text, `instructions` the instruction to blame for each line.
    """

    __slots__ = ("_code", "_function", "_options", "computation", "instructions", "source")

    def __init__(self, computation: Computation, lowering: Lowering, options: RunOptions) -> None:
        writer = FunctionWriter(lowering, options)
        writer.write(lowering.region(computation))
        self.computation = computation
        self.source = writer.writer.text
        self.instructions = writer.writer.instructions
        self._options = options
        namespace: dict[str, Any] = {**GLOBALS, **writer.writer.namespace}
        # The source consists of names and numbers that the writer has made up, see its documentation.
        exec(compile(self.source, f"<plan of {computation.name!a}>", "exec"), namespace)
        self._function = namespace["plan"]
        self._code: CodeType = self._function.__code__

    def __call__(self, run: PlanRun, module: Module, arguments: Sequence[Value]) -> Value:
        flat = [leaf for argument in arguments for leaf in leaves(argument)]
        try:
            results = self._function(run, *flat)
        except (EvaluationError, Mismatch):
            raise
        except Exception as error:
            x = self._blamed(error)
            raise Binding(x, self._options).error(error, module, run.device) from error
        return with_leaves(self.computation.root.shape, [np.asarray(leaf) if isinstance(leaf, np.generic) else leaf for leaf in results])

    def _blamed(self, error: Exception) -> Instruction:
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code is not self._code:
            traceback = traceback.tb_next
        x = None if traceback is None or traceback.tb_lineno is None else self.instructions[traceback.tb_lineno - 1]
        if x is None:
            raise error
        return x


class Plan:
    """The functions of a module's computations for runs with the same options. Raises CannotPlan if the module has to be run in another way.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) y = add(x, x) ROOT r = f32[2] negate(y) }")
    >>> print(Plan(module, RunOptions()).source)
    def plan(run, v1):
        # y = add
        v2 = add(v1, v1)
        del v1
        # r = negate
        v3 = negative(v2, v2)
        del v2
        return (v3, )
    """

    def __init__(self, module: Module, options: RunOptions) -> None:
        self.module = module
        self.options = options
        self._lowering = Lowering(options, CallGraph(module.entry))
        self._functions: dict[Computation, PlanFunction] = {}
        self.function(module.entry)

    @property
    def source(self) -> str:
        """The source of all functions that have been compiled so far."""
        return "\n\n\n".join(function.source for function in self._functions.values())

    def start(self, options: RunOptions, device: Device, request: Invoke) -> Generator[Wait, None, Value]:
        """Begins a run on a device, which computes and returns the value of a computation.

        Raises EvaluationError; CannotPlan or Mismatch if the reference executor has to do it.
        """
        return PlanExecutor(self, options, device).run(request)

    def function(self, computation: Computation) -> PlanFunction:
        """The function of a computation."""
        known = self._functions.get(computation)
        if known is None:
            known = self._functions[computation] = PlanFunction(computation, self._lowering, self.options)
        return known


class PlanExecutor:
    """One run of a plan on one device. What a plan does not do, batches of scalars, the reference executor does."""

    def __init__(self, plan: Plan, options: RunOptions, device: Device) -> None:
        self.plan = plan
        self._reference = ReferenceExecutor(plan.module, options, device)
        self._run = PlanRun(options, device, self._invoke)

    def run(self, request: Invoke) -> Generator[Wait, None, Value]:
        """Computes the value of a computation and returns it. Raises EvaluationError, or Mismatch if the reference executor has to do it."""
        return self._invoke(request)
        yield

    def _invoke(self, request: Invoke) -> Value:
        if request.batch is not None or request.root is not request.computation.root:
            return self._run.drive(self._reference.run(request))
        self._run.check_time()
        return self.plan.function(request.computation)(self._run, self.plan.module, request.take_arguments())
