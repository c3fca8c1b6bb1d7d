"""Checks cases of plans: each consists of a module and the code that computes it.

The output is what `hlotool run --show-plan` prints, followed by the functions that machine code
would replace, each after a line `# machine code`. The plan, this machine code and the reference
executor must give the same bits.

A comment such as `// plan: threads=2 block=100` sets options of the run, or limits of the compiler
(`_LIMITS`), so that small modules reach them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from case_files import Case
from executors import disagreement, outcome
from looped import compiled_clusters, compiled_loops

import hlotool
from checks.common import Mismatch, parsed, same
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.plan import blocks, fusing, loop_layouts, lowering
from hlotool.interp.plan.native import cluster_functions, clusters, loops
from hlotool.interp.plan.native.compiler import NativeSource, Step, compile_native

__all__ = ["plan_text", "planned"]

_LIMITS: dict[str, list[tuple[Any, str]]] = {
    "block": [(blocks, "BLOCK_ELEMENTS"), (fusing, "MIN_DOMAIN_SIZE")],
    "folded": [(lowering, "MAX_FOLDED_ELEMENTS")],
    "group": [(cluster_functions, "_MAX_OPERATIONS")],
    "inlined": [(lowering, "_INLINED_SIZE")],
    "ordered": [(loop_layouts, "_SMALLEST")],
    "repeated": [(blocks, "_MIN_REPEATED_LENGTH")],
    "row": [(fusing, "_MAX_ROW_LENGTH")],
    "threaded": [(blocks, "_MIN_THREADED_ELEMENTS")],
}
_DATA = re.compile(r"(?<=steps\.ctypes\.data, )\d+\)")
"""An address inside NumPy."""
_BOUND = re.compile(r"\bk\d+\b")
_SETTINGS = re.compile(r"^// plan: (.+)$", re.MULTILINE)


def planned(path: Path, case: Case) -> None:
    same(case.output or "", plan_text(path, case), "the plan")
    options, limits = _settings(case)
    with limits:
        for run in (compiled_clusters(), compiled_loops(with_llvm=False), compiled_loops(with_llvm=True)):
            with patch.object(loops, "compile_native", _compile), run:
                found = disagreement(case.text, inputs=4, options=options, has_one_error=True)
            if found is not None:
                raise Mismatch(found)


def plan_text(path: Path, case: Case) -> str:
    """Returns the expected output, for `--update`."""
    module = parsed(case.text)
    options, limits = _settings(case)
    found: list[Any] = []

    def spy(source: Any, arguments: Any) -> None:
        found.append(_DATA.sub("data)", source.text))

    with ExitStack() as stack:
        stack.enter_context(limits)
        for package, name in ((clusters, "compile_blocks"), (loops, "compile_native")):
            stack.enter_context(patch.multiple(package, is_installed=lambda: True, _SECONDS=float("-inf"), **{name: spy}))
        compiled = hlotool.compile(module, options=options)
        # Functions of computations that kernels call are compiled when they are called.
        outcome(module, random_arguments(module, 0), "plan", options)
        plan = compiled.source or f"# {compiled.reason}"
    return _numbered("\n".join([plan, *(f"# machine code\n{source}" for source in found)]) + "\n")


def _numbered(text: str) -> str:
    """Numbers the bound values from 0, since their numbers depend on what has been compiled before."""
    numbers: dict[str, str] = {}
    return _BOUND.sub(lambda match: numbers.setdefault(match[0], f"k{len(numbers)}"), text)


def _compile(source: NativeSource, arguments: Sequence[Any]) -> Step:
    step = compile_native(source, arguments)
    if step is None:
        raise Mismatch(f"cannot be compiled:\n{source.text}")
    return step


def _settings(case: Case) -> tuple[hlotool.RunOptions, AbstractContextManager[Any]]:
    """Returns the options for a case, and a context in which its limits apply."""
    found = _SETTINGS.search(case.text)
    values = {name: int(value) for name, _, value in (word.partition("=") for word in found[1].split())} if found else {}
    limits = ExitStack()
    for name in _LIMITS.keys() & values.keys():
        number = values.pop(name)
        for module, limit in _LIMITS[name]:
            limits.enter_context(patch.object(module, limit, number))
    return hlotool.RunOptions(**values), limits
