"""Proves the rewrite rules, and writes down how: `python tests/tools/prove_rules.py [RULE ...]`.

Without names, all rules are proved, and `tests/optimizer/proofs.json` is written, which the pages of the documentation and the tests read. With
names, it only prints what it finds. The environment variable HLOTOOL_PROOFS multiplies what is tried. Without Z3 (`pip install z3-solver`), the
types that it proves stay as they are written down.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from proofs.exhaustive import Proof
from proofs.record import (
    FILE,
    HAS_SOLVER,
    cases_by_rule,
    is_about_elements,
    is_about_shapes,
    on_all_numbers,
    on_programs,
    recorded,
    with_solver,
    write,
)

from hlotool.optimizer.registry import Rule, all_rules


def row_of(rule: Rule, proofs: dict[str, Proof]) -> dict[str, Any]:
    """What is written down about a rule."""
    row: dict[str, Any] = {"cases": cases_by_rule()[rule.name]}
    if is_about_elements(rule):
        row |= {"exhaustive": sorted(proofs["exhaustive"].types), "sampled": sorted(proofs["exhaustive"].sampled)}
        row["solver"] = sorted(proofs["solver"].types) if "solver" in proofs else recorded().get(rule.name, {}).get("solver", [])
    elif is_about_shapes(rule):
        row["programs"] = proofs["programs"].instances
    return row


def proofs_of(rule: Rule) -> dict[str, Proof]:
    """The proofs of a rule by their kind; none of rules that are not exact."""
    if is_about_shapes(rule):
        return {"programs": on_programs(rule)}
    if not is_about_elements(rule):
        return {}
    return {"exhaustive": on_all_numbers(rule)} | ({"solver": with_solver(rule)} if HAS_SOLVER else {})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="names of rules, by default all")
    options = parser.parse_args()
    rows, refuted = {}, 0
    for rule in all_rules().values():
        if options.rules and rule.name not in options.rules:
            continue
        start = time.perf_counter()
        proofs = proofs_of(rule)
        rows[rule.name] = row_of(rule, proofs)
        print(f"{rule.name}: {rows[rule.name]} in {time.perf_counter() - start:.1f} s", flush=True)
        for proof in proofs.values():
            refuted += bool(proof.refutations)
            for text in (*proof.refutations[:3], *(proof.unanswered if options.rules else proof.unanswered[:1])):
                print(f"  {text}", flush=True)
    if not options.rules:
        write(rows)
        print(f"{FILE}: {len(rows)} rules, {refuted} refuted")
    return int(refuted > 0)


if __name__ == "__main__":
    sys.exit(main())
