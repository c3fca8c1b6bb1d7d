"""How each rule is proved: what the tests find, and the file in which it is written down for the documentation."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

from case_files import read_cases

import hlotool
from hlotool.optimizer.optimizer import optimize
from hlotool.optimizer.registry import Rule, all_rules
from proofs import exhaustive, generated
from proofs.exhaustive import Proof
from proofs.expressions import CASES, is_elementwise

__all__ = [
    "FILE",
    "HAS_SOLVER",
    "cases_by_rule",
    "is_about_elements",
    "is_about_shapes",
    "on_all_numbers",
    "on_programs",
    "recorded",
    "with_solver",
    "write",
]

FILE = CASES / "proofs.json"
HAS_SOLVER = find_spec("z3") is not None
# The environment variable HLOTOOL_PROOFS multiplies what is tried, for longer runs.
EFFORT = int(os.environ.get("HLOTOOL_PROOFS", "1"))
PROGRAMS, TRIES = 16, 400
"""The programs on which rules about shapes are compared, and how many are drawn to find them."""
LEAST_PROGRAMS = 8
_CONSTANTS, _ASSIGNMENTS, _COMBINATIONS = 12, 1500, 1 << 17
_STEPS, _QUESTIONS = 2_000_000, 3
_PASSES = re.compile(r"^// (?P<what>passes|fast-math): (?P<words>[^\n]+)$", re.MULTILINE)


def is_about_elements(rule: Rule) -> bool:
    """Whether a rule is to be proved for all numbers of small types, and with the solver."""
    return not rule.flags and is_elementwise(rule)


def is_about_shapes(rule: Rule) -> bool:
    """Whether a rule is to be proved on generated programs."""
    return not rule.flags and not is_elementwise(rule)


def on_all_numbers(rule: Rule) -> Proof:
    return exhaustive.prove(rule, _CONSTANTS * EFFORT, _ASSIGNMENTS * EFFORT, _COMBINATIONS * EFFORT)


def with_solver(rule: Rule) -> Proof:
    # What needs the solver is imported where there is one.
    from proofs import symbolic

    return symbolic.prove(rule, _STEPS * EFFORT, _QUESTIONS * EFFORT)


def on_programs(rule: Rule) -> Proof:
    return generated.prove(rule, PROGRAMS * EFFORT, TRIES * EFFORT)


@cache
def cases_by_rule() -> Mapping[str, int]:
    """The number of cases in which each rule rewrites something."""
    counts = dict.fromkeys(all_rules(), 0)
    for path in sorted(CASES.glob("*.hlo")):
        for case in read_cases(path):
            words = {match["what"]: match["words"].split(", ") for match in _PASSES.finditer(case.text)}
            report = optimize(hlotool.parse(case.text), words.get("passes", [path.stem]), fast_math=words.get("fast-math", ())).report
            for name, statistics in report.statistics.items():
                if name in counts and statistics.hits:
                    counts[name] += 1
    return counts


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """By the name of a rule, its proofs as they are written down."""
    rows: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return rows


def write(rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes the proofs down, a line for each rule."""
    lines = [f"  {json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
