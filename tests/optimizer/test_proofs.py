"""Proofs of the rewrite rules about elements, for all numbers of small types.

The tests also check the record of all proofs, proofs.json. `python tests/tools/prove_rules.py`
writes this file, and the documentation shows its contents.
"""

from __future__ import annotations

import pytest
from proofs.record import is_about_elements, is_about_reals, on_all_numbers, recorded

from hlotool.optimizer.registry import Rule, all_rules

RULES = list(all_rules().values())


@pytest.mark.parametrize("rule", [rule for rule in RULES if is_about_elements(rule)], ids=lambda rule: rule.name)
def test_all_numbers_of_small_types(rule: Rule) -> None:
    proof = on_all_numbers(rule)
    assert not proof.refutations, "\n\n".join(proof.refutations[:3])
    assert set(recorded()[rule.name]["exhaustive"]) <= proof.types
    assert set(recorded()[rule.name]["sampled"]) <= proof.types | proof.sampled


@pytest.mark.parametrize("rule", [rule for rule in RULES if is_about_elements(rule) or is_about_reals(rule)], ids=lambda rule: rule.name)
def test_each_rule_about_elements_has_a_proof(rule: Rule) -> None:
    """Checks that proofs.json records a proof of each rule.

    The test above and the tests with the solver check the proofs themselves.
    """
    row = recorded()[rule.name]
    assert row["reals"] if is_about_reals(rule) else row["exhaustive"] or row["solver"]


def test_only_rules_about_elements_are_recorded() -> None:
    assert recorded().keys() == {rule.name for rule in RULES if is_about_elements(rule) or is_about_reals(rule)}
