"""Proofs of elementwise rules for all numbers of types up to 64 bits, with an SMT solver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from itertools import product

import z3

import hlotool
from hlotool.optimizer.registry import Rule
from hlotool.shapes.dtype import ELEMENT_TYPES
from proofs.exhaustive import Proof
from proofs.expressions import Batch, Expression, apply_rule, expressions_of, typed
from proofs.smt import TYPES, Unmodelled, Value, answer, parameter, value_of

__all__ = ["prove"]

_CONSTANTS = 12


def prove(rule: Rule, limit: int, most: int) -> Proof:
    """Queries the solver about at most `most` expressions per element type of the parameters.

    `limit` is the maximum number of the solver's steps for each query.
    """
    proof, asked = Proof(rule), Counter[str]()
    for expression in expressions_of(rule):
        variants = [x for types in _assignments(expression) for x in typed(expression, types, _CONSTANTS)]
        fired = Batch(variants, 2).fired(rule) if variants else []
        for x in fired:
            name = _type(x)
            if asked[name] < most:
                asked[name] += 1
                _ask(proof, x, name, limit)
    return proof


def _type(x: Expression) -> str:
    """Returns the widest type of the parameters."""
    return next(name for name in (*reversed(TYPES), *x.parameters, x.lines[0].element_type) if name in (*x.parameters, x.lines[0].element_type))


def _assignments(expression: Expression) -> Sequence[tuple[str, ...]]:
    count = len(expression.types)
    choices = list(product(TYPES, repeat=count))
    # The parts of a complex number have another type.
    return [*choices, *([("c64", "f32"), ("f32", "c64")] if count == 2 else [])]


def _ask(proof: Proof, x: Expression, name: str, limit: int) -> None:
    batch = Batch([x], 2)
    before = copy(batch.module)
    apply_rule(batch.module, proof.rule)
    try:
        parameters = {p.name: parameter(p.name, p.shape.element_type) for p in before.entry.parameters}
        first, second = (_result(module, parameters) for module in (before, batch.module))
        has_floats = any(ELEMENT_TYPES[line.element_type].kind in ("float", "complex") for line in x.lines)
        verdict = answer(first, second, limit, has_floats=has_floats, flags=proof.rule.flags, operands=tuple(parameters.values()))
    except (Unmodelled, z3.Z3Exception) as error:
        proof.unanswered.append(f"{name}: not modeled: {error}")
        return
    if verdict == "proved":
        proof.types.add(name)
        proof.instances += 1
    elif verdict == "unknown":
        proof.unanswered.append(f"{name}: no answer for\n{x}")
    else:
        proof.refutations.append(f"{proof.rule.name}: {verdict}, in\n{x}")


def _result(module: hlotool.Module, parameters: dict[str, Value]) -> Value:
    return value_of(module.entry.root.operands[0], {p: parameters[p.name] for p in module.entry.parameters})
