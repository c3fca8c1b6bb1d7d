"""Finds programs that show that each guard of a rule or pass is needed.

If the guard is changed, the rewritten program is wrong or differs from the usual one. Candidates
are the cases of the optimizer, programs that narrowly differ from a case, and programs that are
generated for a rule or pass. Each changed guard is tried in a separate process, so that it leaves
nothing behind in caches.
"""

from __future__ import annotations

import mmap
import re
import signal
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from random import Random

from case_files import read_cases
from code_changes import CannotMutate, loaded_functions
from near_misses import ALL_EDITS, near_misses

import hlotool
import proofs.programs
from hlotool.errors import HlotoolError
from hlotool.ir.model import Module
from proofs.calling import program_for_pass
from proofs.expressions import CASES, Batch, expressions_of, is_elementwise, typed
from proofs.guards import Guard, apart, guards_of
from proofs.replay import Program, Subject, errors_of, fault, read_programs, size_of, subjects_of
from proofs.shapes import Undrawable, program_for

__all__ = ["Search"]

_REGISTERED = (proofs.programs,)
_COMMENT = re.compile(r"^//[^\n]*\n", re.MULTILINE)
_SECONDS_OF_APPLYING, _SECONDS = 3, 3
_SEEDS = {1: range(30), 2: range(30, 160)}
_OF_A_PASS, _MAX_CASE_LENGTH = 5, 600
_MAX_FAULTS, _MAX_MORE = 12, 150
_WRONG, _OTHERWISE = 1, 2
_HOW = {_WRONG: "wrong", _OTHERWISE: "otherwise"}
_TYPES = ("pred", "s8", "u8", "f32", "f8e8m0fnu", "c64", "s32", "bf16")


# ---- candidates ------------------------------------------------------------------------------------------------------------------


@dataclass
class Candidate:
    """A program, and the result that the unchanged code produces for it."""

    subject: Subject
    text: str
    module: Module
    after: Module
    count: int
    shown: int = 0

    def __post_init__(self) -> None:
        self.outcome = self.count, str(self.after) if self.count else ""


def _candidate(subject: Subject, text: str, module: Module) -> Candidate:
    after, count = subject.apply(module)
    return Candidate(subject, text, module, after, count)


def _texts(module: str, subjects: Sequence[Subject], stage: int) -> Iterator[tuple[Sequence[Subject], str]]:
    """Yields the texts of programs, each with the rules and passes to apply to it.

    Each stage has many more programs than the previous one.
    """
    topics = {module.rpartition(".")[2], *(subject.name for subject in subjects)}
    cases = [(path.stem, _COMMENT.sub("", case.text)) for path in sorted(CASES.glob("*.hlo")) for case in read_cases(path)]
    own = sorted((text for stem, text in cases if stem in topics), key=len)
    if stage == 0:
        yield from (([program.subject], program.text) for program in read_programs(module))
        yield from ((subjects, text) for text in own)
        return
    yield from ((subjects, str(miss)) for text in own for miss in near_misses(text, Random(f"{stage}{text}"), 4**stage, ALL_EDITS))
    for subject in subjects:
        yield from (([subject], text) for text in _generated(subject, _SEEDS[stage]))
    if stage == 2:
        yield from ((subjects, text) for _, text in cases if len(text) < _MAX_CASE_LENGTH)


def _generated(subject: Subject, seeds: range) -> Iterator[str]:
    rule = subject.rule
    if rule is None:
        yield from (program_for_pass(subject.name, _OF_A_PASS * seed + k) for seed in seeds for k in range(_OF_A_PASS))
    elif is_elementwise(rule):
        random, expressions = Random(f"{subject.name}{seeds}"), expressions_of(rule)
        for _ in seeds:
            x = random.choice(expressions)
            types = random.choices(_TYPES, k=len(x.types))
            yield from (Batch([y], 4).text() for y in islice(typed(x, types, 2, random.randrange(1000)), 2))
    else:
        # If no opcode of a rule can be drawn, there are no programs for it.
        with suppress(Undrawable):
            yield from (program_for(rule, seed) for seed in seeds)


# ---- the search --------------------------------------------------------------------------------------------------------------------


class Search:
    """A search for programs that need the guards of the rules or passes of a Python module."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.guards = guards_of(module)
        self.functions = loaded_functions()
        self.by_subject: dict[Subject, list[Candidate]] = {subject: [] for subject in subjects_of()[module]}
        self.found: dict[str, tuple[Candidate, str]] = {}
        self.shared = mmap.mmap(-1, 8)

    def add_candidates(self, stage: int) -> None:
        """Adds the candidates of a stage, after applying the unchanged code to each."""
        seen = {(x.subject, x.text) for candidates in self.by_subject.values() for x in candidates}
        for subjects, text in _texts(self.module, list(self.by_subject), stage):
            try:
                parsed = hlotool.parse(text)
                if errors_of(parsed):
                    continue
            except HlotoolError:
                continue
            for subject in subjects:
                if (subject, text) not in seen:
                    seen.add((subject, text))
                    # Other tests find the programs that the unchanged code handles incorrectly.
                    with suppress(AssertionError):
                        self.by_subject[subject].append(_candidate(subject, text, parsed))

    def find(self, key: str) -> str | None:
        """Looks for a program that needs a guard.

        Returns "wrong" or "otherwise", as in recorded programs, or None if no program is found.
        """
        guard = self.guards[key]
        candidates = [x for subject in guard.subjects for x in self.by_subject[subject]]
        candidates.sort(key=lambda x: -x.shown)
        self.shared[:8] = bytes(8)
        ends = apart(lambda: self._try(guard, candidates))
        how, number = struct.unpack("II", self.shared[:8])
        if not ends:
            how = _WRONG
        if how not in _HOW:
            return None
        candidate = candidates[number]
        self.found[key] = candidate, _HOW[how]
        # A program that needs one guard is tried first for other guards, so that few are recorded.
        candidate.shown += 1
        return _HOW[how]

    def _try(self, guard: Guard, candidates: Sequence[Candidate]) -> None:
        """Looks for a candidate whose result, preferably a wrong one, reveals a broken guard.

        Writes the kind of result and the number of the candidate to the shared memory.
        """
        try:
            guard.break_it(self.functions)
        except CannotMutate:
            return
        faults, end, first = 0, time.process_time() + _SECONDS, -1
        for number, x in enumerate(candidates):
            if time.process_time() > end or faults >= _MAX_FAULTS or (first >= 0 and number > first + _MAX_MORE):
                return
            if first < 0:
                self.shared[:8] = struct.pack("II", 0, number)
            signal.setitimer(signal.ITIMER_PROF, _SECONDS_OF_APPLYING)
            try:
                now = _candidate(x.subject, x.text, x.module)
            except Exception:
                now = None
            if now is not None and now.outcome == x.outcome:
                continue
            if x.count and fault(x.subject, x.module, x.after) is not None:
                # The result is wrong even with the unchanged code.
                continue
            faults += 1
            is_wrong = now is None or fault(x.subject, x.module, now.after) is not None
            is_other = now is not None and (now.count, size_of(now.after)) != (x.count, size_of(x.after))
            if is_wrong:
                self.shared[:8] = struct.pack("II", _WRONG, number)
                return
            if is_other and first < 0:
                first = number
                self.shared[:8] = struct.pack("II", _OTHERWISE, number)

    def programs(self) -> list[Program]:
        """Returns the programs found, each with the guards that it needs.

        Also returns one program for each rule or pass that would otherwise have none.
        """
        result: dict[int, Program] = {}
        needed = {x.subject for x, _ in self.found.values()}
        for candidates in (candidates for subject, candidates in self.by_subject.items() if subject not in needed):
            first = next((x for x in candidates if x.count and fault(x.subject, x.module, x.after) is None), None)
            if first is not None:
                result[id(first)] = Program(first.subject, first.text, first.count, size_of(first.after))
        for key, (x, how) in self.found.items():
            program = result.setdefault(id(x), Program(x.subject, x.text, x.count, size_of(x.after)))
            program.guards[key] = how
        return sorted(result.values(), key=lambda program: (program.subject.kind, program.subject.name, program.text))
