"""Recorded proofs: programs that need the guards of rules and passes, with their expected results.

The files in `tests/optimizer/proofs` contain the programs, one file for each module with rules or
passes. A program begins with lines such as

    // rule add-of-negation: 1 rewrite, leaves 4 instructions, 3 operands, 2 attributes
    // wrong: _has_sign: `f(x)` is always True

The first line gives the rule or pass, the number of its rewrites, and the size of the program
afterward. Each of the following lines describes a change to the code that breaks a guard. With that
change, the result is `wrong`, or the program is rewritten `otherwise`, that is, differently than by
the unchanged code. Therefore, the program needs the guard. `prove_guards.py` finds the programs and
writes the files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import hlotool
from hlotool.errors import Diagnostic, EvaluationError, HlotoolError
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value, leaves, with_leaves
from hlotool.interp.queues import HostQueues
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.table import OPS
from hlotool.optimizer.checking import same_bits, same_up_to_rounding, special_arguments
from hlotool.optimizer.context import Context
from hlotool.optimizer.opt_options import FAST_MATH, OptimizeOptions
from hlotool.optimizer.opt_report import Report
from hlotool.optimizer.pass_table import BUILT_IN
from hlotool.optimizer.pipeline import PASSES, Pass
from hlotool.optimizer.registry import Rule, all_rules
from hlotool.optimizer.simplify import simplify
from hlotool.record import replace

__all__ = ["FOLDER", "Program", "Subject", "apply_rule", "errors_of", "fault", "read_programs", "replay", "subjects_of", "write_programs"]

FOLDER = Path(__file__).parents[2] / "optimizer" / "proofs"
_SEPARATOR = "// -----\n"
_HEAD = re.compile(r"// (?P<kind>rule|pass) (?P<name>\S+): (?P<count>\d+) rewrites?, leaves (?P<size>\d+ instructions?, [^\n]*)\n")
_GUARD = re.compile(r"// (?P<how>wrong|otherwise): (?P<guard>[^\n]+)\n")
_REPLICAS = re.compile(r"(?:replica_count|num_partitions)=[2-9]")
_INPUTS = 3
# These passes change rounding.
_ROUNDING = ("expand-batch-norm", "expand-logistic")
# The limits on the size of computed constants and on the iterations of unrolled loops are so low
# that small programs reach them.
_OPTIONS = OptimizeOptions(frozenset(FAST_MATH), max_constant_bytes=1024, max_unrolled_iterations=4)


@dataclass(frozen=True)
class Subject:
    """A rule or a pass that can be applied to a module."""

    kind: str
    name: str

    @property
    def rule(self) -> Rule | None:
        return all_rules()[self.name] if self.kind == "rule" else None

    @property
    def module(self) -> str:
        """The Python module that defines the rule or pass."""
        rule = self.rule
        return rule.rewrite.__module__ if rule is not None else f"hlotool.optimizer.{BUILT_IN[self.name][0]}"

    @property
    def function(self) -> str:
        rule = self.rule
        return rule.rewrite.__qualname__.partition(".")[0] if rule is not None else BUILT_IN[self.name][1]

    @property
    def flags(self) -> frozenset[str]:
        return self.rule.flags if self.rule is not None else frozenset()

    def apply(self, module: Module) -> tuple[Module, int]:
        """Returns the module after the rule or pass, and the number of rewrites."""
        rule, after = self.rule, copy(module)
        if rule is not None:
            count = apply_rule(after, rule)
            _require_unchanged(module, after, when=not count)
            return after, count
        report, run = Report(), PASSES[self.name]
        with Context(after, _OPTIONS, report) as context:
            if run(context) != (report.count > 0):
                raise AssertionError("the pass does not report correctly whether it changed something")
            count = report.count
            if run(context):
                raise AssertionError("a second run changes something")
        _require_unchanged(module, after, when=not count)
        if count:
            _check_limits(run, module, without_flags=self.name in _ROUNDING)
            _check_one(run, module)
        return after, count


def _require_unchanged(module: Module, after: Module, *, when: bool) -> None:
    if when and str(after) != str(module):
        raise AssertionError("the module changes although it should not")


def _check_one(run: Pass, module: Module) -> None:
    """Raises AssertionError unless a pass limited to one rewrite performs and reports one."""
    report, after = Report(1), copy(module)
    with Context(after, _OPTIONS, report) as context:
        is_changed = run(context)
    assert is_changed
    assert report.count == 1
    assert str(after) != str(module)


def _check_limits(run: Pass, module: Module, *, without_flags: bool) -> None:
    """Raises AssertionError if a pass does not respect its limits.

    If no rewrites are allowed, the module must stay unchanged. If no computation may be changed,
    the entry computation and all computations reachable from it must keep their size. Without
    fast-math flags, a pass that changes rounding must leave the module unchanged, too.
    """
    for limits in (replace(_OPTIONS, bisect_limit=0), *([replace(_OPTIONS, fast_math=frozenset())] if without_flags else [])):
        after = copy(module)
        with Context(after, limits) as context:
            is_changed = run(context)
        _require_unchanged(module, after, when=True)
        assert not is_changed
    after = copy(module)
    with Context(after, replace(_OPTIONS, only=frozenset({"no such computation"}))) as context:
        run(context)
    if size_of(after) != size_of(module):
        raise AssertionError("the pass changes a computation that it is not allowed to change")


@dataclass
class Program:
    """A recorded program: its text, the expected result, and the guards that the program needs."""

    subject: Subject
    text: str
    count: int
    size: str
    guards: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"// {self.subject.kind} {self.subject.name}: {_plural(self.count, 'rewrite')}, leaves {self.size}\n"]
        lines += [f"// {how}: {guard}\n" for guard, how in sorted(self.guards.items())]
        return "".join(lines) + self.text


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def apply_rule(module: Module, rule: Rule) -> int:
    """Applies one rule to a module in place, and returns the number of rewrites."""
    with Context(module) as context:
        simplify(context, rule.topic, {OPS[opcode]: [rule] for opcode in rule.opcodes})
    return context.report.count


@cache
def subjects_of() -> dict[str, list[Subject]]:
    """Returns the rules and passes, grouped by the Python module that defines them."""
    result: dict[str, list[Subject]] = {}
    subjects = [Subject("rule", name) for name, rule in all_rules().items() if rule.is_built_in]
    subjects += [Subject("pass", name) for name, (module, _) in BUILT_IN.items() if module.startswith("passes.")]
    for subject in subjects:
        import_module(subject.module)
        result.setdefault(subject.module, []).append(subject)
    return result


# ---- the file ---------------------------------------------------------------------------------------------------------------


def _path(module: str) -> Path:
    return FOLDER / f"{module.rpartition('.')[2]}.hlo"


def read_programs(module: str) -> list[Program]:
    """Returns the recorded programs of a Python module with rules or passes."""
    path = _path(module)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [_program(part) for part in text.split(_SEPARATOR) if part]


def _program(part: str) -> Program:
    match = _HEAD.match(part)
    assert match is not None, part
    at, guards = match.end(), {}
    while (guard := _GUARD.match(part, at)) is not None:
        guards[guard["guard"]] = guard["how"]
        at = guard.end()
    return Program(Subject(match["kind"], match["name"]), part[at:], int(match["count"]), match["size"], guards)


def write_programs(module: str, programs: list[Program]) -> None:
    """Writes the file of recorded programs of a Python module."""
    FOLDER.mkdir(exist_ok=True)
    _path(module).write_text(_SEPARATOR.join(map(str, programs)), encoding="utf-8")


# ---- replaying a program ---------------------------------------------------------------------------------------------------------


def replay(program: Program) -> str | None:
    """Describes the fault if the result is wrong or not the recorded one, or returns None."""
    module = hlotool.parse(program.text)
    try:
        after, count = program.subject.apply(module)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if (count, size_of(after)) != (program.count, program.size):
        return f"{_plural(count, 'rewrite')} (recorded: {program.count}), leaves {size_of(after)} (recorded: {program.size})"
    return fault(program.subject, module, after) if count else None


def size_of(module: Module) -> str:
    """Returns the total size of the entry computation and all computations reachable from it."""
    reached, stack = {module.entry}, [module.entry]
    while stack:
        fresh = {called for x in stack.pop().instructions for called in x.called} - reached
        reached |= fresh
        stack += fresh
    instructions = [x for computation in reached for x in computation.instructions]
    counts = len(instructions), sum(len(x.operands) for x in instructions), sum(len(x.attributes) for x in instructions)
    return ", ".join(_plural(count, noun) for count, noun in zip(counts, ("instruction", "operand", "attribute"), strict=True))


def errors_of(module: Module) -> list[Diagnostic]:
    """Returns a module's errors; mixed element types are allowed, as they are in the optimizer."""
    return [d for d in hlotool.verify(module, VerifyModes(allow_mixed_precision=True)) if d.severity == "error"]


def fault(subject: Subject, module: Module, after: Module) -> str | None:
    """Returns the reason why the result of a rule or pass is wrong, or None.

    A result is wrong if it is an invalid module or computes different values.
    """
    known = {d.code for d in errors_of(module)}
    try:
        again = hlotool.parse(hlotool.to_text(after))
    except HlotoolError as error:
        return f"no longer valid: {error}"
    errors = [d for d in errors_of(again) if d.code not in known]
    if errors:
        return f"no longer valid: {errors[0]}"
    if any(not _is_json(x.backend_config) for x in after.all_instructions()) and all(_is_json(x.backend_config) for x in module.all_instructions()):
        return "a configuration is no longer JSON"
    if subject.flags or subject.name in _ROUNDING:
        return _difference(module, after, _integers, same_up_to_rounding)
    return _difference_on_devices(module, after) if _REPLICAS.search(hlotool.to_text(module)) else _difference(module, after, _special, same_bits)


def _is_json(text: str | None) -> bool:
    try:
        return text is None or json.loads(text) is not None
    except ValueError:
        return False


def _integers(module: Module, seed: int) -> tuple[Value, ...]:
    """Returns random arguments whose floats are small positive integers.

    Sums, products and conversions of such floats are not rounded.
    """
    arguments = random_arguments(module, seed)
    return tuple(with_leaves(p.shape, [_rounded(leaf) for leaf in leaves(x)]) for p, x in zip(module.entry.parameters, arguments, strict=True))


def _rounded(leaf: Any) -> Any:
    if not isinstance(leaf, np.ndarray | np.generic) or leaf.dtype.kind not in "fV":
        return leaf
    with np.errstate(all="ignore"):
        return np.clip(np.rint(np.abs(leaf.astype(np.float64)) * 3), 1, 3).astype(leaf.dtype)


def _special(module: Module, seed: int) -> tuple[Value, ...]:
    return special_arguments(module, seed) if seed else random_arguments(module, seed)


def _difference(
    before: Module, after: Module, inputs: Callable[[Module, int], tuple[Value, ...]], same: Callable[[Array, Array], bool]
) -> str | None:
    """Returns the first difference in results or in data sent to the host, or None.

    Compares the modules on a few inputs.
    """
    for seed in range(_INPUTS):
        arguments = inputs(before, seed)
        try:
            expected = _run(before, arguments)
        except (EvaluationError, MemoryError):
            continue
        try:
            actual = _run(after, arguments)
        except EvaluationError as error:
            return f"fails: {error}"
        if not _same(expected, actual, same):
            return f"{expected} before and {actual} after"
    return None


def _run(module: Module, arguments: Any) -> list[Any]:
    queues = HostQueues()
    result = hlotool.evaluate(module, arguments, options=RunOptions(elided_fill="iota", max_iterations=100, queues=queues))
    return [*leaves(result), *leaves(tuple(queues.outfeed))]


def _difference_on_devices(before: Module, after: Module) -> str | None:
    count = int(re.search(r"replica_count=(\d+)", hlotool.to_text(before) + " replica_count=1")[1])  # type: ignore[index]
    arguments = [random_arguments(before, seed) for seed in range(count)]
    try:
        expected = list(leaves(tuple(hlotool.evaluate_replicas(before, arguments))))
    except EvaluationError:
        return None
    try:
        actual = list(leaves(tuple(hlotool.evaluate_replicas(after, arguments))))
    except EvaluationError as error:
        return f"fails: {error}"
    return None if _same(expected, actual, same_bits) else f"{expected} before and {actual} after"


def _same(first: list[Any], second: list[Any], same: Callable[[Array, Array], bool]) -> bool:
    if len(first) != len(second):
        return False
    arrays = [(np.asarray(a), np.asarray(b)) for a, b in zip(first, second, strict=True) if isinstance(a, np.ndarray | np.generic)]
    return all(same(a, b) for a, b in arrays)
