"""Runs mutation tests: changes one part of the code at a time, and checks that a test notices.

Usage: `python tests/tools/mutate.py analysis ir.equal`, or without names for everything;
`--sample 100 --seed 7` tries a random sample.

In `analysis`, `ir`, `shapes`, `differ` and the bound programs of the interpreter, the parts are
statements, conditions, operands of `and` and `or`, elements of tuples, sets and dictionaries, and
results. In op definitions and rules of the verifier, the parts are checks. The name `traits` stands
for the facts in the op table. Unnoticed mutations are printed as `module:line: deleted part`, unless
`equivalent_mutations.txt` lists them with a reason.

A first run of the tests records which tests reach which lines. Each mutation then runs in a
separate process, forked from a process that has not run any tests, so that no cache keeps results
of a mutated function.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import mmap
import os
import pickle
import pkgutil
import resource
import signal
import struct
import sys
import tempfile
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from code_changes import RELATIONS, CannotMutate, Rebind, Swap, WithoutFact, is_plain, kind_of, loaded_functions, names_in
from code_mutations import Mutation, checks_of, function_mutations, outermost_functions, table_mutations
from reached import LINES, REACHED, Finder, tree_of

HERE = Path(__file__).parents[1]
EQUIVALENTS = Path(__file__).with_name("equivalent_mutations.txt")

TESTS = (
    "tests/verify",
    "tests/text",
    "tests/ops",
    "tests/devices",
    "tests/interp",
    "tests/analysis",
    "tests/ir",
    "tests/shapes",
    "tests/differ",
    "tests/patches",
    "tests/cli",
    "tests/test_*.py",
    "hlotool",
)
SLOW_TEST = 0.5
"""The time in seconds above which a test is too slow to run for every mutation."""


class Baseline:
    """The results of the tests on the unchanged code.

    For each test: the time in seconds, whether it fails, and the numbers of the lines it reaches.
    """

    def __init__(self) -> None:
        self.results: dict[str, tuple[float, bool, array[int]]] = {}

    def usable(self, test: str) -> bool:
        seconds, failed, _ = self.results[test]
        return seconds <= SLOW_TEST and not failed

    def seconds(self, test: str) -> float:
        return self.results[test][0]

    def failures(self) -> list[str]:
        return [test for test, (_, failed, _) in self.results.items() if failed]

    def reaching(self) -> dict[int, list[str]]:
        """Returns the tests that reach each line."""
        tests: dict[int, list[str]] = defaultdict(list)
        for test, (_, _, numbers) in self.results.items():
            for number in numbers:
                tests[number].append(test)
        return tests


class Mutator:
    """A pytest plugin that runs tests under each mutation, instead of running all tests once."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.failed = False
        self.items: dict[str, pytest.Item] = {}
        self.baseline = Baseline()
        self.reaching: dict[int, list[str]] = {}
        self.unnoticed: list[str] = []
        self.unreached: list[str] = []
        self.stale: list[str] = []
        self.equivalents = read_equivalents()
        self.killers: dict[str, dict[str, None]] = defaultdict(dict)
        self.exit_code = 2

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        # Creates the folder before forking, so that all processes share it.
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        warm_up()
        gc.collect()
        gc.freeze()
        start = time.monotonic()
        self._find_baseline()
        self.reaching = self.baseline.reaching()
        say(f"{len(self.items)} tests, {time.monotonic() - start:.0f} s")
        for test in self.baseline.failures():
            say(f"  fails without any mutation: {test}")
        mutations = self._mutations()
        judged = self._judge(mutations, start)
        self._report(judged, start)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def _passes(self, test: str) -> bool:
        """Returns whether a test passes, including its fixtures."""
        self.failed = False
        for report in runtestprotocol(self.items[test], log=False, nextitem=None):
            self.failed |= report.failed
        return not self.failed

    # ---- without mutations --------------------------------------------------------------------------------------------

    def _find_baseline(self) -> None:
        """Runs all tests in forked processes.

        Uses cached results if neither hlotool nor the test's file has changed.
        """
        cache: Path | None = self.options.cache
        code = digest(HERE.parent / "hlotool", "*.py")
        files = {path: digest(path, "") for path in {item.path for item in self.items.values()}}
        stamps = {test: files[item.path] for test, item in self.items.items()}
        known: dict[str, dict[str, Any]] = pickle.loads(cache.read_bytes()) if cache and cache.exists() else {}
        old = known.get(code, {})
        results = {test: old[test, stamp] for test, stamp in stamps.items() if (test, stamp) in old}
        missing = [test for test in self.items if test not in results]
        readers = []
        for job in range(self.options.jobs):
            path = Path(tempfile.gettempdir()) / f"mutate-{os.getpid()}-{job}"
            if not (child := os.fork()):
                path.write_bytes(pickle.dumps(self._run_all(missing[job :: self.options.jobs])))
                os._exit(0)
            readers.append((child, path))
        for child, path in readers:
            os.waitpid(child, 0)
            results.update(pickle.loads(path.read_bytes()))
            path.unlink()
        self.baseline.results = results
        if cache:
            cache.write_bytes(pickle.dumps({code: {(test, stamps[test]): result for test, result in results.items()}}))

    def _run_all(self, tests: Sequence[str]) -> dict[str, tuple[float, bool, array[int]]]:
        results = {}
        for test in tests:
            REACHED.clear()
            start = sum(os.times()[:4])
            failed = not self._passes(test)
            # Includes the time of the processes that the test starts.
            results[test] = sum(os.times()[:4]) - start, failed, array("I", REACHED)
        return results

    # ---- mutations ----------------------------------------------------------------------------------------------------

    def _mutations(self) -> list[Candidate]:
        """Returns the mutations, with functions that apply them and tests that might fail."""
        chosen = [name for name in sorted(sys.modules) if kind_of(name) != "entry" and self._is_chosen(name, parts=True)]
        functions = loaded_functions()
        # Computing this takes a second, so it is done only if a constant is chosen.
        mentions = cache(self._mentions)
        result: list[Candidate] = []
        for module in chosen:
            tree = tree_of(module)
            kind = kind_of(module)
            for owner, classes, function in outermost_functions(tree):
                if self._is_chosen(f"{module}.{owner}"):
                    locations = checks_of(module, owner, function) if kind == "checks" else function_mutations(module, owner, function)
                    for mutation in locations:
                        tests = self.reaching.get(LINES.get((module, mutation.statement), -1), ())
                        result.append((mutation, Swap(mutation, classes, function, functions), list(tests)))
            if kind == "lines":
                for mutation in table_mutations(module, tree):
                    # Other constants cannot be replaced in a running process.
                    can_replace = is_plain(getattr(sys.modules[module], mutation.owner, None))
                    if can_replace and self._is_chosen(f"{module}.{mutation.owner}"):
                        result.append((mutation, Rebind(mutation, tree), sorted(mentions()(mutation.owner))))
        if self._is_chosen("hlotool.traits"):
            result += self._fact_mutations()
        keys = {mutation.key for mutation, _, _ in result}
        # Listed mutations that no longer exist because the code has changed. For modules that are
        # tried only in part, this is not known.
        whole = tuple(f"{name.removeprefix('hlotool.')}: " for name in chosen if self._is_chosen(name))
        self.stale = [key for key in self.equivalents if key.startswith(whole) and key not in keys]
        result = [entry for entry in result if entry[0].key not in self.equivalents]
        if self.options.sample:
            result = Random(self.options.seed).sample(result, min(self.options.sample, len(result)))
        return result

    def _is_chosen(self, name: str, *, parts: bool = False) -> bool:
        """Returns whether a function, a constant or a module is chosen.

        With `parts`, returns whether any part of it is chosen.
        """
        wanted = [f"hlotool.{word}" for word in self.options.only]
        return not wanted or any(f"{name}.".startswith(f"{word}.") or (parts and word.startswith(f"{name}.")) for word in wanted)

    def _mentions(self) -> Callable[[str], set[str]]:
        """Returns a function from the name of a constant to the tests that depend on it.

        A test depends on a constant if it reaches a function that mentions the constant or a
        constant derived from it, or if the test's file imports one of these constants.
        """
        lines: dict[str, set[int]] = defaultdict(set)
        derived: dict[str, set[str]] = defaultdict(set)
        for module in [name for name in sys.modules if name.startswith("hlotool.")]:
            if sys.modules[module].__file__ is None:
                continue
            tree = tree_of(module)
            for _, _, function in outermost_functions(tree):
                for name in names_in(function):
                    lines[name].add(LINES.get((module, function.lineno), -1))
            for statement in tree.body:
                if isinstance(statement, ast.Assign | ast.AnnAssign):
                    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                    for name in names_in(statement):
                        derived[name].add(ast.unparse(target))

        importing: dict[str, set[str]] = defaultdict(set)
        for test, item in self.items.items():
            for name in vars(getattr(item, "module", None) or object):
                importing[name].add(test)

        def tests(name: str) -> set[str]:
            names, stack = {name}, [name]
            while stack:
                fresh = derived[stack.pop()] - names
                names |= fresh
                stack += fresh
            reaching = {test for known in names for line in lines[known] for test in self.reaching.get(line, ())}
            return reaching.union(*[importing[known] for known in names])

        return tests

    def _fact_mutations(self) -> Iterator[Candidate]:
        """Yields mutations that remove one trait, relation or algebraic fact of an opcode.

        A trait is removed alone, even if other traits imply it.
        """
        from hlotool.opdefs.table import OPS
        from hlotool.record import replace

        others = [test for test, item in self.items.items() if not hasattr(item, "case") and not test.startswith(("tests/cli", "tests/text"))]
        for opcode, definition in sorted(OPS.items()):
            cases = [test for test, item in self.items.items() if opcode in getattr(getattr(item, "case", None), "text", "")]
            facts: list[tuple[str, str, object]] = [
                (f"trait `{trait}` removed", "traits", definition.traits - {trait}) for trait in sorted(definition.traits)
            ]
            facts += [(f"`{slot}` removed", slot, None) for slot in RELATIONS if getattr(definition, slot) is not None]
            nothing = type(definition.algebra)()
            for name in type(nothing).__annotations__:
                if getattr(definition.algebra, name) != getattr(nothing, name):
                    less = replace(definition.algebra, **{name: getattr(nothing, name)})
                    facts.append((f"`{name}` of its algebra removed", "algebra", less))
            for what, slot, value in facts:
                yield Mutation("traits", opcode, 0, 0, what, []), WithoutFact(opcode, slot, value), cases + others

    # ---- running the tests --------------------------------------------------------------------------------------------

    def _judge(self, mutations: list[Candidate], start: float) -> int:
        """Tries mutations until all are done or the time is up, and returns their number."""
        shared = mmap.mmap(-1, 4 * self.options.jobs)
        running: dict[int, tuple[int, Candidate, list[str]]] = {}
        free = list(range(self.options.jobs))
        waiting = mutations[::-1]
        patient: set[str] = set()
        judged = 0
        while waiting or running:
            while waiting and free:
                candidate = mutation, change, reaching = waiting.pop()
                tests = self._in_order(mutation, reaching, self.options.seconds * (_PATIENCE if mutation.location in patient else 1))
                if not tests:
                    self.unreached.append(mutation.location)
                    continue
                slot = free.pop()
                if not (child := os.fork()):
                    os._exit(self._try(change, tests, shared, slot))
                running[child] = slot, candidate, tests
            if not running:
                break
            child, status = os.wait()
            slot, candidate, tests = running.pop(child)
            mutation, _, reaching = candidate
            free.append(slot)
            if status == 0 and mutation.location not in patient and len(tests) < len(reaching):
                # The number of tests that fit into the time depends on the load of the machine,
                # so the mutation is tried again with more time.
                patient.add(mutation.location)
                waiting.append(candidate)
                continue
            test = tests[struct.unpack_from("I", shared, 4 * slot)[0]]
            if status == 0:
                self.unnoticed.append(f"{mutation.location} ({len(tests)} tests)")
                say(f"unnoticed {self.unnoticed[-1]}")
            elif os.waitstatus_to_exitcode(status) == _CANNOT:
                say(f"cannot be tried: {mutation.location}")
            else:
                known = self.killers[mutation.owner]
                known.pop(test, None)
                known[test] = None
            judged += 1
            if judged % 250 == 0:
                say(f"... {judged} of {len(mutations)}, {len(self.unnoticed)} unnoticed, {time.monotonic() - start:.0f} s")
            if self.options.minutes and time.monotonic() - start > 60 * self.options.minutes and waiting:
                say(f"stopped after {self.options.minutes} minutes, {len(waiting)} not tried")
                waiting = []
        return judged + len(self.unreached)

    def _in_order(self, mutation: Mutation, reaching: list[str], most: float) -> list[str]:
        """Returns tests that take at most `most` seconds in total.

        Tests that noticed a mutation of the same function come first, then the fastest ones.
        """
        recent = {test: -k for k, test in enumerate(self.killers[mutation.owner])}
        usable = [test for test in reaching if self.baseline.usable(test)] or reaching
        usable.sort(key=lambda test: (recent.get(test, 1), self.baseline.seconds(test)))
        seconds, count = 0.0, 0
        for test in usable:
            seconds += self.baseline.seconds(test)
            if seconds > most and count:
                break
            count += 1
        return usable[:count]

    def _try(self, change: Callable[[], None], tests: list[str], shared: mmap.mmap, slot: int) -> int:
        """Runs tests under a mutation in a forked process, and returns its exit code.

        The code is _NOTICED if a test fails. If a test runs too long, its process is killed.
        """
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        struct.pack_into("I", shared, 4 * slot, 0)
        try:
            change()
        except CannotMutate:
            return _CANNOT
        except Exception:
            return _NOTICED
        for number, test in enumerate(tests):
            struct.pack_into("I", shared, 4 * slot, number)
            signal.setitimer(signal.ITIMER_PROF, 2 + 10 * self.baseline.seconds(test))
            try:
                passes = self._passes(test)
            except BaseException:
                return _NOTICED
            if not passes:
                return _NOTICED
        return 0

    def _report(self, tried: int, start: float) -> None:
        if self.unreached:
            print("\nno test reaches:", *self.unreached, sep="\n  ", file=sys.__stdout__)
        if self.unnoticed:
            print("\nno test notices:", *self.unnoticed, sep="\n  ", file=sys.__stdout__)
        if self.stale:
            print(f"\nlisted in {EQUIVALENTS.name}, but not found:", *sorted(self.stale), sep="\n  ", file=sys.__stdout__)
        say(f"{tried} mutations, {len(self.unreached)} reached by no test, {len(self.unnoticed)} unnoticed, {time.monotonic() - start:.0f} s")
        self.exit_code = 1 if self.unreached or self.unnoticed or self.stale else 0


Candidate = tuple[Mutation, Callable[[], None], list[str]]
"""A mutation, a function that applies it, and the tests that might notice it."""

_NOTICED, _CANNOT = 1, 3
_MEMORY = 6 << 30
# If the tests tried first do not notice a mutation, the time limit grows by this factor.
_PATIENCE = 20


def read_equivalents() -> set[str]:
    """Returns the mutations that change nothing observable; comment lines give the reasons."""
    lines = EQUIVALENTS.read_text(encoding="utf-8").splitlines() if EQUIVALENTS.exists() else []
    return {line for line in lines if line and not line.startswith("#")}


def digest(folder: Path, pattern: str) -> str:
    """Returns a hash of the contents of a file, or of the files below a folder."""
    paths = sorted(folder.rglob(pattern)) if folder.is_dir() else [folder]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def warm_up() -> None:
    """Loads the parse tables and the kernels once, instead of in every process."""
    import hlotool

    module = hlotool.parse("HloModule m ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }")
    list(hlotool.verify(module))
    hlotool.to_text(module)
    import numpy as np

    hlotool.evaluate(module, [np.zeros(2, np.float32)])


def say(message: str) -> None:
    """Prints a message, bypassing pytest's capture."""
    print(message, file=sys.__stdout__, flush=True)


def import_everything() -> None:
    import hlotool

    for found in pkgutil.walk_packages(hlotool.__path__, "hlotool."):
        if not found.name.endswith("__main__"):
            import_module(found.name)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="modules, packages or functions, without `hlotool.`; `traits` for the facts in the op table")
    parser.add_argument("--sample", type=int, default=0, help="number of mutations, drawn at random; default: all of them, in order")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--minutes", type=float, default=0, help="stop after this many minutes")
    parser.add_argument("--seconds", type=float, default=20, help="seconds of tests per mutation; 20 times as many before it counts as unnoticed")
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel processes")
    parser.add_argument("--cache", type=Path, help="file for the results of the first run")
    parser.add_argument("--tests", nargs="+", default=list(TESTS), help="files and folders with tests")
    options = parser.parse_args(arguments)
    sys.meta_path.insert(0, Finder(kind_of))
    sys.path.insert(0, str(HERE.parent))
    import_everything()
    mutator = Mutator(options)
    paths = [str(path) for pattern in options.tests for path in sorted(HERE.parent.glob(pattern))]
    addopts = "addopts=--doctest-modules --import-mode=importlib"
    plain = [
        "-o",
        addopts,
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
        "--capture=sys",
        "-k",
        "not test_time and not test_guides and not test_mutations",
    ]
    if any(Path(path).is_relative_to(HERE) for path in paths):
        # The tests' conftest defines the profile; pytest does not load it for doctests alone.
        plain.append("--hypothesis-profile=without-shrinking")
    with tempfile.TemporaryDirectory() as folder:
        status = pytest.main([*plain, "--basetemp", f"{folder}/tests", "--rootdir", str(HERE.parent), *paths], plugins=[mutator])
    return mutator.exit_code if status == 0 else int(status)


if __name__ == "__main__":
    sys.exit(main())
