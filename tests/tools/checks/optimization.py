"""Checks cases of the optimizer.

The file name or a comment selects the passes. The output of a case is the module after these
passes; it must compute the same results as the original module.
"""

from __future__ import annotations

import re
from pathlib import Path

from case_files import Case
from held import is_held_as_bytes

from checks.common import Mismatch, parsed, same
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.optimizer.checking import difference
from hlotool.optimizer.optimizer import OptimizedModule, optimize
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text
from hlotool.verifier.engine import verify

__all__ = ["optimized", "optimized_text"]

_PASSES = re.compile(r"^// passes: ([^\n]+)$", re.MULTILINE)
_FAST_MATH = re.compile(r"^// fast-math: ([a-z, ]+)$", re.MULTILINE)
_PLAIN = PrintOptions(print_percent=False, include_layout_in_shapes=False, print_metadata=False)
_INPUTS = 6
# Limits the run time of infinite loops.
_OPTIONS = RunOptions(elided_fill="iota", max_iterations=10_000)


def optimized(path: Path, case: Case) -> None:
    module, flags = parsed(case.text), _flags(case)
    result = _result(path, case, module)
    if result.report.is_stopped:
        raise Mismatch("; ".join(result.report.remarks))
    wanted = case.output if case.output is not None else case.text
    if is_held_as_bytes():
        # Constants held as bytes do not preserve the spelling of numbers.
        wanted = to_text(parsed(wanted), _PLAIN)
    same(wanted.strip(), to_text(result, _PLAIN).strip(), "after the passes")
    known = {d.code for d in verify(module)}
    if errors := [d for d in verify(result) if d.severity == "error" and d.code not in known]:
        raise Mismatch(f"is invalid after the passes: {errors[0]}")
    if to_text(_result(path, case, result)) != to_text(result):
        raise Mismatch("a second run changes the module again")
    # If a comment in the case sets fast-math flags, the results may differ.
    if not flags and (found := difference(module, result, _INPUTS, options=_OPTIONS)):
        raise Mismatch(f"the results differ: {found}")


def optimized_text(path: Path, case: Case) -> str | None:
    """Returns the module after the passes, for `--update`."""
    return to_text(_result(path, case, parsed(case.text)), _PLAIN)


def _flags(case: Case) -> frozenset[str]:
    written = _FAST_MATH.search(case.text)
    return frozenset(flag.strip() for flag in written[1].split(",")) if written else frozenset()


def _result(path: Path, case: Case, module: Module) -> OptimizedModule:
    written = _PASSES.search(case.text)
    passes = tuple(name.strip() for name in written[1].split(",")) if written else (path.stem,)
    return optimize(module, passes, fast_math=_flags(case))
