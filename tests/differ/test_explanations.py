"""Differences after several random edits: they are explained at no more than the recorded cost.

A change costs 1, an inserted or deleted instruction 1.25, and a new opcode 2. Pairs with a cost
above that of a deletion and an insertion do not help a reader.

A cost below the recorded one is an improvement: record it. Each line of `costs.txt` contains a kind
of modules, and the seeds of some modules and their edits, with the costs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from case_files import read_cases
from edit_modules import edit_module, renamed, shuffled
from repetitive import repetitive_module

import hlotool

HERE = Path(__file__).parent
COSTS = HERE / "costs.txt"


def module_of(kind: str, random: Random) -> hlotool.Module:
    """Returns a module from a generator, or the one in a file of `edits`."""
    if kind == "repetitive":
        return hlotool.parse(repetitive_module(random, random.randint(2, 8)))
    return hlotool.parse(read_cases(HERE / "edits" / f"{kind}.hlo")[0].text)


def modules_of(kind: str, seed: int) -> tuple[hlotool.Module, hlotool.Module]:
    """Returns a module, and the same module after edits, with other names and in another order."""
    random = Random(f"{kind} {seed}")
    while True:
        left = hlotool.parse(hlotool.to_text(module_of(kind, random)))
        edited = edit_module(left, random.choice((1, 2, 3, 5, 8, 13)), random)
        if edited is not None:
            return left, renamed(shuffled(edited.module, random), random)


def cost_of(document: dict[str, Any]) -> float:
    kinds = [{change["kind"] for change in row["changes"]} for row in document["changed"]]
    singles = len(document["inserted"]) + len(document["deleted"])
    roots = sum(len(row["changes"]) for row in document["computations"])
    return sum(len(own) + ("opcode" in own) for own in kinds) + 1.25 * singles + roots


@cache
def recorded() -> list[tuple[str, dict[int, float]]]:
    """Returns the kind, the seeds and the costs in each line of the file."""
    rows = [line.split(" ") for line in COSTS.read_text().splitlines()]
    return [(kind, {int(seed): float(cost) for seed, cost in (row.split(":") for row in costs)}) for kind, *costs in rows]


@pytest.mark.parametrize(("kind", "costs"), recorded(), ids=lambda value: value if isinstance(value, str) else f"from{min(value)}")
def test_no_explanation_costs_more(kind: str, costs: dict[int, float]) -> None:
    assert costs == {seed: cost_of(hlotool.diff(*modules_of(kind, seed)).to_dict()) for seed in costs}
