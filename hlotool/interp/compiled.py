"""Modules that are compiled once and run many times."""

from __future__ import annotations

from typing import Any

from hlotool.errors import EvaluationError
from hlotool.interp.arrays.values import Value
from hlotool.interp.engine.preparation import prepare
from hlotool.interp.evaluator import evaluate
from hlotool.interp.plan.choice import plan_for
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module

__all__ = ["CompiledModule", "compile"]

_DEFAULTS = RunOptions()


class CompiledModule:
    """A module with its plan, callable with the arguments of the entry computation.

    A call returns the same result as `hlotool.evaluate`. After the module is edited, the plan is
    built again. `source` is the generated code, with the names of instructions as comments. If no
    code can be generated, `source` is None, `reason` explains why, and the reference executor runs
    the module.
    """

    def __init__(self, module: Module, options: RunOptions) -> None:
        prepared = prepare(module, options)
        if prepared.obstacles:
            raise EvaluationError(prepared.obstacles)
        self.module = module
        self.options = options
        plan_for(prepared, module, "plan")

    def __call__(self, *arguments: Any) -> Value:
        return evaluate(self.module, arguments, executor="plan", options=self.options)

    @property
    def source(self) -> str | None:
        plan = plan_for(prepare(self.module, self.options), self.module, "plan")
        return None if plan is None else plan.source

    @property
    def reason(self) -> str:
        prepared = prepare(self.module, self.options)
        plan_for(prepared, self.module, "plan")
        return prepared.reason


def compile(module: Module, *, options: RunOptions = _DEFAULTS) -> CompiledModule:  # noqa: A001
    """Compiles a module to a function that can be called many times without recompilation.

    Options, arguments, results and errors are the same as for `hlotool.evaluate`. Raises
    EvaluationError if something prevents every run, such as a constant without values.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) y = f32[2] parameter(1) ROOT r = f32[2] add(x, y) }")
    >>> run = hlotool.compile(module)
    >>> run([1.0, 2.0], [3.0, 4.0])
    array([4., 6.], dtype=float32)
    """
    return CompiledModule(module, options)
