"""Proves the rewrite rules about elements, and records the proofs.

Usage: `python tests/tools/prove_rules.py [RULE ...]`. Without names, the script proves all of these
rules and writes `tests/optimizer/proofs.json`, which is the source for the documentation and the
tests. With names, it only prints the results. The environment variable HLOTOOL_PROOFS multiplies
the number of attempts. Without Z3 (`pip install z3-solver`), the recorded results of Z3 are kept.
Use `prove_guards.py` for guards.
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
    is_about_elements,
    is_about_reals,
    on_all_numbers,
    over_the_reals,
    recorded,
    with_solver,
    write,
)

from hlotool.optimizer.registry import Rule, all_rules


def row_of(rule: Rule, proofs: dict[str, Proof]) -> dict[str, Any]:
    """Returns the record of a rule."""
    old = recorded().get(rule.name, {})
    if is_about_reals(rule):
        return {"reals": proofs["reals"].instances > 0 and not proofs["reals"].refutations if HAS_SOLVER else old.get("reals", False)}
    row: dict[str, Any] = {"exhaustive": sorted(proofs["exhaustive"].types), "sampled": sorted(proofs["exhaustive"].sampled)}
    row["solver"] = sorted(proofs["solver"].types) if HAS_SOLVER else old.get("solver", [])
    return row


def proofs_of(rule: Rule) -> dict[str, Proof]:
    """Returns the proofs of a rule by their kind."""
    if is_about_reals(rule):
        return {"reals": over_the_reals(rule)} if HAS_SOLVER else {}
    return {"exhaustive": on_all_numbers(rule)} | ({"solver": with_solver(rule)} if HAS_SOLVER else {})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="names of rules; default: all")
    options = parser.parse_args()
    rows, refuted = {}, 0
    for rule in all_rules().values():
        if (options.rules and rule.name not in options.rules) or not (is_about_elements(rule) or is_about_reals(rule)):
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
