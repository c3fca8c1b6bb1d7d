"""Runs all parts of hlotool on random modules; not run by pytest.

Usage: `python tests/tools/fuzz_modules.py --seed 0 --count 1000 --jobs 2 [--check NAME] [FILE ...]`.

Each seed yields a module: most of them with some of the features of `hlotool.testing`, some of random
operations on constants and parameters, and some of arbitrary opcodes. With files, which contain HLO
or, like the files of the corpus, JSON lines, the modules come from the files. The module must be
valid, and its printed text must parse back to the same module. The optimizer must keep the module
valid after each pass, preserve its results and effects bit for bit, and find nothing to do in a
second run. A share of the modules also goes through random passes, plans, loops, the differ and
patches, hashes, and builder code. Modules of arbitrary opcodes are mostly invalid; they must not
cause an exception. Every fault is printed with the command that reproduces it, and with a smaller
module. With `--check xla` and HLOTOOL_XLA_PYTHON, XLA also parses and runs the modules before and
after optimization, and the results are compared up to rounding.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import numpy as np
from checks.building import check_rebuilt
from checks.common import Mismatch
from edit_modules import edit_module, renamed, reordered, shuffled
from executors import loop_disagreement, small_blocks
from fuzz_differ import faults, self_faults, swapped_faults
from patching import patch_faults
from random_texts import random_text
from sources import operations, texts_of
from xla_oracle import Xla, XlaError

import hlotool
from hlotool.differ.canonical import canonical_text, hashes
from hlotool.errors import EditError, EvaluationError, HlotoolError
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.values import Value, leaves
from hlotool.interp.queues import HostQueues
from hlotool.interp.run_options import RunOptions
from hlotool.ir.clone import clone_module
from hlotool.ir.model import Instruction, Module
from hlotool.optimizer.checking import same_bits, special_arguments
from hlotool.optimizer.pipeline import PassRun, pass_names
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.testing import FEATURES, random_module
from hlotool.testing.generator import TYPES

ALL_TYPES = [name for name, row in ELEMENT_TYPES.items() if row.bits]
SECONDS = 60
"""The time limit for one check of a module, in seconds; a check that takes longer is a fault."""
REDUCING_SECONDS = 20
_ITEMS = 50
"""The number of items in each queue of the host; no module reads that many."""
_CHUNK = 50


# ---- modules ----------------------------------------------------------------------------------------------------------


KINDS = {"module": 5, "operations": 3, "text": 2}
"""The kinds of modules with their weights: `text` modules have arbitrary opcodes."""
FILES: list[str] = []
TEXTS: list[str] = []
"""The modules from files, if files are given."""


@dataclass(frozen=True)
class Setup:
    """The kind of the module for a seed, and the arguments of `random_module`."""

    seed: int
    size: int
    types: tuple[str, ...]
    features: tuple[str, ...]
    kind: str = "module"

    def module(self) -> Module:
        if self.kind == "file":
            return hlotool.parse(TEXTS[self.seed % len(TEXTS)])
        if self.kind == "operations":
            return hlotool.parse(operations(Random(f"operations {self.seed}")))
        if self.kind == "text":
            return hlotool.parse(random_text(self.seed, instructions=2 * self.size))
        return random_module(self.seed, size=self.size, types=self.types, features=self.features)


_SHARES = {"chains": 0.6, "effects": 0.15}
"""The features whose probability differs from the default, with their probabilities."""
_FOR_INVALID = frozenset({"opt", "passes", "plan"})
"""The checks that also apply to invalid modules."""


def setup_of(seed: int) -> Setup:
    random = Random(f"setup {seed}")
    types = TYPES if random.random() < 0.4 else tuple(random.sample(ALL_TYPES, random.choice((1, 1, 2, 3, 5, 8))))
    features = [name for name in FEATURES if random.random() < _SHARES.get(name, 0.3)]
    kind = "file" if TEXTS else random.choices(list(KINDS), list(KINDS.values()))[0]
    return Setup(seed, random.choice((2, 4, 6, 8, 10, 14)), types, tuple(features), kind)


def errors_of(module: Module) -> list[Any]:
    return [d for d in hlotool.verify(module) if d.severity == "error"]


# ---- runs -------------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """The values of a run and the data that it sent to the host, or the message of its error."""

    values: list[Any] = field(default_factory=list)
    message: str = ""


def run(module: Module, arguments: Sequence[Any], executor: str) -> Run:
    channels = [x.attributes["channel_id"] for x in module.all_instructions() if x.opcode == "recv"]
    items = [np.array([k, -k], np.float32) for k in range(_ITEMS)]
    queues = HostQueues(items, {channel: [item + channel for item in items] for channel in channels})
    effects: list[Value] = []

    def effect(operand: Value) -> Value:
        effects.append(operand)
        return operand

    calls = {"test.effect": effect, "test.same": lambda operand: operand}
    options = RunOptions(elided_fill="iota", max_iterations=10_000, timeout_seconds=SECONDS / 3, custom_calls=calls, queues=queues)
    try:
        result = hlotool.evaluate(module, arguments, executor=executor, options=options)
    except EvaluationError as error:
        return Run(message=str(error))
    sent = [value for channel in sorted(queues.sent) for value in queues.sent[channel]]
    parts = [result, *effects, *queues.outfeed, *sent]
    return Run([len(effects), len(queues.outfeed), len(sent), *(leaf for part in parts for leaf in leaves(part))])


def difference(expected: Run, actual: Run) -> str | None:
    """Returns a description of the first difference between two runs, or None."""
    if len(expected.values) != len(actual.values):
        return f"expected {len(expected.values)} values, found {len(actual.values)}"
    for number, (a, b) in enumerate(zip(expected.values, actual.values, strict=True)):
        if (isinstance(a, (np.ndarray, np.generic, int)) or isinstance(b, (np.ndarray, np.generic, int))) and not same_bits(
            np.asarray(a), np.asarray(b)
        ):
            return f"value {number}: expected {a!r}, found {b!r}"
    return None


def inputs_of(module: Module, seed: int) -> list[tuple[Any, ...]]:
    try:
        return [random_arguments(module, seed), special_arguments(module, seed)]
    except (HlotoolError, KeyError, ValueError, MemoryError):
        # Parameters of invalid modules may have shapes that no array can have.
        if errors_of(module):
            return []
        raise


def changed_results(before: Module, after: Module, seed: int) -> str | None:
    for number, arguments in enumerate(inputs_of(before, seed)):
        expected = run(before, arguments, "reference")
        if expected.message:
            continue
        actual = run(after, arguments, "reference")
        found = actual.message or difference(expected, actual)
        if found:
            return f"input {number}: {found}"
    return None


# ---- checks -----------------------------------------------------------------------------------------------------------

Check = Callable[[Module, Random], Iterator[str]]
CHECKS: dict[str, tuple[float, Check]] = {}
"""The checks by name, each with the share of modules on which it runs.

Checks yield faults, and must not change the module.
"""


def _check(share: float) -> Callable[[Check], Check]:
    def register(function: Check) -> Check:
        CHECKS[function.__name__.strip("_")] = share, function
        return function

    return register


@_check(1)
def _valid(module: Module, random: Random) -> Iterator[str]:
    text = hlotool.to_text(module)
    read = hlotool.parse(text)
    if errors := errors_of(read):
        yield f"is not valid: {errors[0]}"
    if hlotool.to_text(read) != text:
        yield "does not parse back to the same module"


@_check(1)
def _opt(module: Module, random: Random) -> Iterator[str]:
    yield from _optimized(_read_or_made(module, random), None, random)


@_check(0.3)
def _passes(module: Module, random: Random) -> Iterator[str]:
    chosen = random.choices(pass_names(), k=random.randint(1, 6))
    yield from _optimized(_read_or_made(module, random), ",".join(chosen), random)


def _read_or_made(module: Module, random: Random) -> Module:
    """Returns the module, or a copy parsed from its printed text, with constants stored as text."""
    return module if random.random() < 0.5 else hlotool.parse(hlotool.to_text(module))


def _optimized(module: Module, passes: str | None, random: Random) -> Iterator[str]:
    known = {d.code for d in errors_of(module)}
    wrong: list[str] = []

    def verified(ran: PassRun, context: Any) -> None:
        if ran.rewrites and not wrong and not known:
            context.rewriter.finish()
            wrong.extend(f"is not valid after {ran.name}: {d}" for d in errors_of(context.module))

    before, what = hlotool.to_text(module), f"by {passes}" if passes else "by default"
    after = hlotool.optimize(module, passes, observer=verified)
    text = hlotool.to_text(after)
    if wrong:
        yield f"{what}, {wrong[0]}"
    if hlotool.to_text(module) != before:
        yield f"{what}, the original module was changed"
    if hlotool.to_text(hlotool.parse(text)) != text:
        yield f"{what}, the result does not parse back to the same module"
    if known:
        # Once an invalid instruction has been removed as dead code, more rules may apply to its
        # neighbors.
        return
    # Rules that undo each other are stopped, and then a second run may change the module.
    is_stopped = any("stopped" in remark for remark in after.report.remarks)
    if not is_stopped and hlotool.to_text(hlotool.optimize(after, passes)) != text:
        yield f"{what}, a second run changes the module"
    found = changed_results(module, after, random.randrange(1000))
    if found:
        yield f"{what}, results differ: {found}"


@_check(0.15)
def _literals(module: Module, random: Random) -> Iterator[str]:
    """Checks that the optimizer treats constants stored as bytes like constants stored as text."""
    if hlotool.to_text(hlotool.optimize(module)) != hlotool.to_text(hlotool.optimize(hlotool.parse(hlotool.to_text(module)))):
        yield "is optimized differently after printing and parsing"


@_check(0.4)
def _plan(module: Module, random: Random) -> Iterator[str]:
    for number, arguments in enumerate(inputs_of(module, random.randrange(1000))):
        expected = run(module, arguments, "reference")
        found = _planned(module, arguments, expected)
        if found is None and random.random() < 0.5:
            with small_blocks():
                found = _planned(clone_module(module), arguments, expected)
        if found:
            yield f"with a plan, input {number}: {found}"


def _planned(module: Module, arguments: Sequence[Any], expected: Run) -> str | None:
    actual = run(module, arguments, "plan")
    if expected.message or actual.message:
        # If a module has several errors, any of them may be found first.
        both = expected.message and actual.message
        return None if both else f"{actual.message or 'no error'!r}, not {expected.message or 'no error'!r}"
    return difference(expected, actual)


@_check(0.15)
def _loop(module: Module, random: Random) -> Iterator[str]:
    """Checks plans of the module in a loop."""
    with small_blocks():
        found = loop_disagreement(hlotool.to_text(module))
    if found:
        yield f"in a loop: {found}"


@_check(0.08)
def _diff(module: Module, random: Random) -> Iterator[str]:
    # A Rewriter removes invalid parts of a header, and printing adds defaults; these
    # changes are not edits.
    module = hlotool.parse(hlotool.to_text(renamed(module, random)))
    yield from self_faults(module, random)
    edited = edit_module(module, random.choice((1, 1, 3)), random)
    if edited is not None:
        edited = reordered(edited, random)
        edited.module = renamed(edited.module, random)
        delta = hlotool.diff(module, edited.module)
        kinds = ", ".join(edit.kind for edit in edited.edits)
        yield from (f"edited ({kinds}): {fault}" for fault in (*faults(edited, delta, Counter()), *swapped_faults(edited, delta)))
        yield from (f"edited ({kinds}): {fault}" for fault in patch_faults(delta, random))


@_check(0.08)
def _patch(module: Module, random: Random) -> Iterator[str]:
    """Checks patches from a module to its optimized version."""
    module = hlotool.parse(hlotool.to_text(module))
    delta = hlotool.diff(module, hlotool.parse(hlotool.to_text(hlotool.optimize(module))))
    yield from (f"optimized: {fault}" for fault in patch_faults(delta, random))


@_check(0.2)
def _hash(module: Module, random: Random) -> Iterator[str]:
    module = hlotool.parse(hlotool.to_text(module))
    other = renamed(shuffled(module, random), random)
    if hashes(module).module != hashes(other).module:
        yield "has a different hash after renaming and reordering"
    if canonical_text(module) != canonical_text(other):
        yield "has a different canonical form after renaming and reordering"


@_check(0.08)
def _python(module: Module, random: Random) -> Iterator[str]:
    try:
        check_rebuilt(hlotool.parse(hlotool.to_text(module)))
    except Mismatch as error:
        yield str(error)


@cache
def _xla_process() -> Xla:
    return Xla()


@_check(0)
def _xla(module: Module, random: Random) -> Iterator[str]:
    """Compares XLA's results before and after optimization, if XLA can run the original module."""
    xla, text = _xla_process(), hlotool.to_text(hlotool.optimize(module))
    arguments = list(leaves(random_arguments(module, 0)))
    try:
        expected = xla.run(hlotool.to_text(module), arguments)
    except XlaError:
        return
    try:
        actual = xla.run(text, arguments)
    except XlaError as error:
        # XLA also rejects lines of its own printed text, which may place computations after their
        # callers.
        if any(line.strip() in text for line in str(error).splitlines() if " = " in line):
            yield f"XLA no longer runs the module: {error}"
        return
    for k, (a, b) in enumerate(zip(expected, actual, strict=True)):
        if not _is_close(np.asarray(a), np.asarray(b)):
            yield f"XLA's result {k} differs: {a!r} before and {b!r} after"


@np.errstate(all="ignore")
def _is_close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "biu" or "int" in a.dtype.name:
        return bool((a == b).all())
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return bool(np.allclose(a.astype(wide), b.astype(wide), rtol=1e-3, atol=1e-5, equal_nan=True))


# ---- judging ----------------------------------------------------------------------------------------------------------


class TooSlow(BaseException):
    pass


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def judged(name: str, module: Module, seed: int) -> str | None:
    """Returns the first fault that a check finds, or the exception that it raises, or None."""
    signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(SECONDS)
    try:
        return next(CHECKS[name][1](module, Random(f"{name} {seed}")), None)
    except TooSlow:
        return f"takes more than {SECONDS} s"
    except Exception:
        return "exception: " + traceback.format_exc(limit=-4)
    finally:
        signal.alarm(0)


def checks_of(seed: int, only: Sequence[str]) -> list[str]:
    random = Random(f"checks {seed}")
    drawn = [name for name, (share, _) in CHECKS.items() if random.random() < share]
    return [name for name in only or drawn if name in _FOR_INVALID or setup_of(seed).kind != "text"]


def smaller(name: str, setup: Setup, found: str) -> Module:
    """Returns a smaller module with a fault of the same kind."""

    def is_same(module: Module) -> bool:
        other = judged(name, module, setup.seed)
        return other is not None and kind_of(other) == kind_of(found)

    best = setup
    for size in range(1, setup.size):
        shorter = replace(setup, size=size)
        if is_same(shorter.module()):
            best = shorter
            break
    module, end = best.module(), time.perf_counter() + REDUCING_SECONDS
    changed = True
    while changed:
        changed = False
        # Users come first, since operands can be erased only after their users.
        number = sum(1 for _ in module.all_instructions())
        while number > 0 and time.perf_counter() < end:
            number -= 1
            candidate = next((candidate for candidate in without(module, number) if is_same(candidate)), None)
            if candidate is not None:
                module, changed = candidate, True
                number = min(number + 1, sum(1 for _ in module.all_instructions()))
    return module


def kind_of(fault: str) -> str:
    """Returns the part of a fault's description that stays the same in smaller modules."""
    lines = fault.strip().splitlines()
    return lines[-1][:60] if fault.startswith("exception") else " ".join(lines[0].split()[:6])


def without(module: Module, number: int) -> Iterator[Module]:
    """Yields valid, usually smaller copies of a module.

    In each, the instruction with this number is erased, replaced by an operand or a parameter, or
    made the root.
    """
    for kind in ("erase", "root", "parameter", "operand"):
        copy = clone_module(module)
        x = list(copy.all_instructions())[number]
        try:
            with hlotool.Rewriter(copy) as rewriter:
                _shorten(copy, rewriter, x, kind)
            copy.attributes["entry_computation_layout"] = copy.entry.program_shape
            clean = hlotool.optimize(copy, "dce")
            for smaller_module in (copy, clean) if kind in ("operand", "erase") else (clean, copy):
                if not errors_of(hlotool.parse(hlotool.to_text(smaller_module))):
                    yield smaller_module
        except (HlotoolError, StopIteration):
            continue


def _shorten(module: Module, rewriter: hlotool.Rewriter, x: Instruction, kind: str) -> None:
    """Removes an instruction, or the instructions that it is computed from.

    Raises EditError if this is not possible.
    """
    is_in_entry = rewriter.owner(x) is module.entry
    if kind == "root" and is_in_entry and module.entry.root is not x:
        rewriter.set_root(x)
    elif kind == "parameter" and is_in_entry and x.opcode != "parameter" and x.shape.element_type != "token":
        parameter = rewriter.insert("parameter", before=module.entry.instructions[0], shape=x.shape, immediate=len(module.entry.parameters))
        rewriter.replace_all_uses(x, parameter)
        if module.entry.root is not x:
            rewriter.erase(x)
    elif kind == "operand":
        rewriter.replace(x, next(y for y in x.operands if y.shape == x.shape))
    elif kind == "erase" and x.opcode == "parameter":
        rewriter.erase_parameter(x)
    elif kind == "erase":
        for user in rewriter.control_successors(x):
            rewriter.update(user, attributes={"control-predecessors": None})
        rewriter.erase(x)
    else:
        raise EditError(kind)


def examine(seeds: range, only: Sequence[str], reduces: bool) -> tuple[Counter[str], list[str], tuple[float, int]]:
    """Runs the checks on modules.

    Returns a counter with the number of modules per check and the number of faults, the reports,
    and the time and seed of the slowest module.
    """
    counts: Counter[str] = Counter()
    reports = []
    slowest = (0.0, 0)
    for seed in seeds:
        start = time.perf_counter()
        setup = setup_of(seed)
        try:
            module = setup.module()
        except Exception:
            counts["modules"] += 1
            counts["FAULTS"] += 1
            reports.append(f"== seed {seed}: exception: {traceback.format_exc(limit=-4)}\nrepeat: {command(seed)}\n")
            continue
        counts["modules"] += 1
        for name in checks_of(seed, only):
            counts[name] += 1
            found = judged(name, module, seed)
            if found is None:
                continue
            counts["FAULTS"] += 1
            small = smaller(name, setup, found) if reduces else module
            why = judged(name, small, seed)
            text = hlotool.to_text(small)
            reports.append(f"== seed {seed}, {name}: {found}\nrepeat: {command(seed, name)}\nsmaller: {why}\n{text}\n")
        slowest = max(slowest, (time.perf_counter() - start, seed))
    return counts, reports, slowest


def command(seed: int, name: str = "") -> str:
    return " ".join(["python", os.path.relpath(__file__), f"--seed {seed} --count 1", *([f"--check {name}"] if name else []), *FILES])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="HLO files, or files of JSON lines with a `text` field")
    parser.add_argument("--count", type=int, help="modules; default: 200, or all of the files")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first module; the others follow")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--check", action="append", default=[], choices=sorted(CHECKS), help="run only this check, on every module; repeatable")
    parser.add_argument("--whole", action="store_true", help="print faulty modules without making them smaller")
    options = parser.parse_args()
    FILES.extend(options.files)
    TEXTS.extend(text for file in FILES for text in texts_of(Path(file)))
    options.count = options.count or len(TEXTS) or 200
    start = time.perf_counter()
    counts: Counter[str] = Counter()
    slowest = (0.0, 0)
    parts = [range(k, min(k + _CHUNK, options.seed + options.count)) for k in range(options.seed, options.seed + options.count, _CHUNK)]
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        for part, (own, reports, slow) in zip(
            parts, pool.map(examine, parts, [options.check] * len(parts), [not options.whole] * len(parts)), strict=True
        ):
            counts += own
            if part.stop % 1000 == 0:
                print(f"up to seed {part.stop}: faults: {counts['FAULTS']}, modules: {counts['modules']:,}", file=sys.stderr, flush=True)
            slowest = max(slowest, slow)
            for report in reports:
                print(report, flush=True)
    seconds = time.perf_counter() - start
    print(f"{dict(counts)}; {seconds:.0f} s, slowest {slowest[0]:.1f} s (seed {slowest[1]}); faults: {counts['FAULTS']}")
    return int(counts["FAULTS"] > 0)


if __name__ == "__main__":
    sys.exit(main())
