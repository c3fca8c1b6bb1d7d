"""Proofs of the rewrite rules about shapes: each rule alone, on generated programs."""

from __future__ import annotations

import pytest
from proofs.record import LEAST_PROGRAMS, is_about_shapes, on_programs, recorded

from hlotool.optimizer.registry import Rule, all_rules


@pytest.mark.parametrize("rule", [rule for rule in all_rules().values() if is_about_shapes(rule)], ids=lambda rule: rule.name)
def test_generated_programs(rule: Rule) -> None:
    proof = on_programs(rule)
    assert not proof.refutations, "\n\n".join(proof.refutations[:3])
    assert proof.instances >= max(LEAST_PROGRAMS, recorded()[rule.name]["programs"])
