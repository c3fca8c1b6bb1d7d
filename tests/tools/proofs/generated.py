"""Rules about shapes on generated programs."""

from __future__ import annotations

import re
from copy import copy

import hlotool
import proofs.programs
from hlotool.errors import Diagnostic, HlotoolError, InternalError, ParseError
from hlotool.interp.inputs import random_arguments
from hlotool.interp.values import leaves
from hlotool.ir.model import Module
from hlotool.optimizer.checking import same_bits, trials
from hlotool.optimizer.registry import Rule
from proofs.exhaustive import Proof
from proofs.expressions import apply_rule
from proofs.shapes import Undrawable, program_for

__all__ = ["prove"]

_OTHER_FILES = (proofs.programs,)
_REPLICAS = re.compile(r"replica_count=(\d+)")


def prove(rule: Rule, hits: int, tries: int) -> Proof:
    """Runs both sides of a rule on random programs to which it applies, until there are so many, or so many programs were tried."""
    proof = Proof(rule)
    for seed in range(tries):
        try:
            text = program_for(rule, seed)
            module = hlotool.parse(text)
        except Undrawable:
            break
        except HlotoolError as error:
            proof.unanswered.append(f"{error}\n{text}")
            continue
        after = copy(module)
        try:
            count = apply_rule(after, rule)
        except InternalError as error:
            proof.refutations.append(f"{error}, in\n{text}")
            continue
        if count and not any(d.severity == "error" for d in hlotool.verify(module)):
            _compare(proof, module, after, seed)
        if proof.instances >= hits or len(proof.refutations) > 2:
            break
    return proof


def _compare(proof: Proof, module: Module, after: Module, seed: int) -> None:
    errors = _errors(after)
    replicas = _REPLICAS.search(hlotool.to_text(module))
    if errors:
        difference: str | None = f"not valid any more: {errors[0]}"
    elif replicas:
        difference = _difference_on_devices(module, after, int(replicas[1]), seed)
    else:
        outcome = trials(module, after, 2, seed)
        difference = outcome.difference
        if not outcome.compared:
            return
    if difference is not None:
        proof.refutations.append(f"{proof.rule.name}: {difference}, in\n{module}\n{after}")
        return
    proof.instances += 1
    proof.types.add(module.entry.root.shape.element_type)


def _errors(module: Module) -> list[Diagnostic]:
    """What is wrong with a module, also what the parser would complain about."""
    try:
        hlotool.parse(hlotool.to_text(module))
    except ParseError as error:
        return error.diagnostics
    return [d for d in hlotool.verify(module) if d.severity == "error"]


def _difference_on_devices(module: Module, after: Module, count: int, seed: int) -> str | None:
    arguments = [random_arguments(module, seed + k) for k in range(count)]
    before, now = (list(leaves(tuple(hlotool.evaluate_replicas(x, arguments)))) for x in (module, after))
    return None if all(same_bits(a, b) for a, b in zip(before, now, strict=True)) else f"{before} before and {now} after"
