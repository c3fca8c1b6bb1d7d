"""Proofs of rules: the functions that prove a rule, and the file that records the results."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

from hlotool.optimizer.registry import Rule
from proofs import exhaustive
from proofs.exhaustive import Proof
from proofs.expressions import CASES, is_elementwise

__all__ = [
    "FILE",
    "HAS_SOLVER",
    "is_about_elements",
    "is_about_reals",
    "on_all_numbers",
    "over_the_reals",
    "recorded",
    "with_solver",
    "write",
]

FILE = CASES / "proofs.json"
HAS_SOLVER = find_spec("z3") is not None
# The environment variable HLOTOOL_PROOFS multiplies the number of attempts, for longer runs.
EFFORT = int(os.environ.get("HLOTOOL_PROOFS", "1"))
_CONSTANTS, _ASSIGNMENTS, _COMBINATIONS = 12, 1500, 1 << 17
_STEPS, _QUESTIONS = 2_000_000, 3
_OF_VALUES = frozenset({"nnan", "ninf", "nsz"})
"""The flags that exclude values or the signs of zeros; all other flags allow different rounding."""


def is_about_elements(rule: Rule) -> bool:
    """Returns whether a rule is to be proved for all numbers of small types, and with the solver.

    Values that are excluded by the flags of the rule need no proof.
    """
    return rule.flags <= _OF_VALUES and is_elementwise(rule)


def is_about_reals(rule: Rule) -> bool:
    """Returns whether a rule is to be proved over the real numbers, because it changes rounding."""
    return not rule.flags <= _OF_VALUES and is_elementwise(rule)


def on_all_numbers(rule: Rule) -> Proof:
    return exhaustive.prove(rule, _CONSTANTS * EFFORT, _ASSIGNMENTS * EFFORT, _COMBINATIONS * EFFORT)


def with_solver(rule: Rule) -> Proof:
    # The import fails if the solver is not installed.
    from proofs import symbolic

    return symbolic.prove(rule, _STEPS * EFFORT, _QUESTIONS * EFFORT)


def over_the_reals(rule: Rule) -> Proof:
    from proofs import reals

    return reals.prove(rule)


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """Returns the recorded proofs, with the names of the rules as keys."""
    rows: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return rows


def write(rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes the file of recorded proofs, one line per rule."""
    lines = [f"  {json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
