"""Proofs of elementwise rules for all numbers of small types."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import groupby, product
from math import prod
from random import Random

import numpy as np

import hlotool
from hlotool.errors import EvaluationError
from hlotool.interp.arrays.bits import from_patterns
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.optimizer.checking import same_bits
from hlotool.optimizer.registry import Rule
from hlotool.shapes.dtype import ELEMENT_TYPES
from proofs.expressions import Batch, Expression, apply_rule, expressions_of, typed

__all__ = ["SMALL", "Proof", "prove"]

SMALL = tuple(name for name, row in ELEMENT_TYPES.items() if name == "pred" or (0 < row.bits <= 8 and row.kind in ("signed", "unsigned", "float")))
HALVES = ("s16", "u16", "f16", "bf16")
_OTHERS = ("s32", "s64", "u32", "u64", "f32", "f64")
_FEW = (0, 1, 2, 3, 0x3C, 0x40, 0x7A, 0x7B, 0x7C, 0x7D, 0x7E, 0x7F, 0x80, 0x81, 0x82, 0xBC, 0xC0, 0xFA, 0xFB, 0xFC, 0xFD, 0xFF)
# One type of each kind: if a rule applies to none of these types, the others are not tried.
_KINDS = frozenset(("pred", "s4", "u4", "f8e4m3fn", "f8e5m2", "f8e8m0fnu"))


class Proof:
    """The observed behavior of a rule.

    `types` contains the parameters' element types for which all results are equal. `sampled`
    contains the element types for which results were compared only for special numbers, because
    there are too many combinations of all numbers. `instances` is the number of combinations of
    operands, or the number of programs. `refutations` describes the results that differ, and
    `unanswered` lists the questions that the proof could not answer.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.types: set[str] = set()
        self.sampled: set[str] = set()
        self.refuted: set[str] = set()
        self.instances = 0
        self.refutations: list[str] = []
        self.unanswered: list[str] = []


def prove(rule: Rule, constants: int, assignments: int, combinations: int) -> Proof:
    """Compares both sides of a rule on all expressions of small types to which the rule applies.

    For each expression, `constants` and `assignments` limit the choices of constants and of element
    types. For each choice, `combinations` limits the combinations of operands; if there would be
    more, some operands are only special numbers.
    """
    proof = Proof(rule)
    for expression in expressions_of(rule):
        choices = _assignments(expression, assignments)
        first = [types for types in choices if _KINDS.issuperset(types)]
        fired = _fired(rule, expression, first, constants)
        if not fired and first:
            continue
        fired += _fired(rule, expression, [types for types in choices if not _KINDS.issuperset(types)], constants)
        for _, group in groupby(sorted(fired, key=_parameters), key=_parameters):
            _compare(proof, list(group), combinations)
    proof.types -= proof.refuted
    proof.sampled -= proof.refuted | proof.types
    return proof


def _fired(rule: Rule, expression: Expression, choices: Sequence[tuple[str, ...]], constants: int) -> list[Expression]:
    variants = [x for types in choices for x in typed(expression, types, constants)]
    return Batch(variants, 2).fired(rule) if variants else []


def _parameters(x: Expression) -> tuple[str, ...]:
    # An expression without parameters counts for the type of its first line.
    return x.parameters or tuple(line.element_type for line in x.lines[:1])


def _assignments(expression: Expression, most: int) -> list[tuple[str, ...]]:
    """Returns combinations of element types for an expression, with small types for parameters.

    If a single parameter is the only leaf, its type may also have 16 bits.
    """
    given = set(expression.parameters)
    ranges = []
    for name in expression.types:
        if name not in given and len(expression.types) > 1:
            ranges.append((*SMALL, *HALVES, *_OTHERS))
        else:
            ranges.append((*SMALL, *HALVES) if len(expression.parameters) == 1 and not expression.constants else SMALL)
    assignments = list(product(*ranges))
    return assignments if len(assignments) <= most else Random(0).sample(assignments, most)


def _compare(proof: Proof, expressions: Sequence[Expression], most: int) -> None:
    values, is_complete = _combinations(expressions[0].parameters, most)
    size = len(values[0]) if values else 2
    batch = Batch(expressions, size)
    before = copy(batch.module)
    if not apply_rule(batch.module, proof.rule):
        raise AssertionError(f"{proof.rule.name} does not apply to arrays of {size} elements")
    try:
        with np.errstate(all="ignore"):
            results = zip(hlotool.evaluate(before, values), hlotool.evaluate(batch.module, values), strict=True)
    except EvaluationError:
        # One of the expressions is not defined for its element types.
        if len(expressions) > 1:
            for x in expressions:
                _compare(proof, [x], most)
        return
    for x, (a, b) in zip(expressions, results, strict=True):
        if _agrees(proof.rule.flags, values, np.asarray(a), np.asarray(b)).all():
            (proof.types if is_complete else proof.sampled).update(_parameters(x))
            proof.instances += size
        else:
            proof.refuted.update(_parameters(x))
            proof.refutations.append(_refutation(proof.rule, x, values, np.asarray(a), np.asarray(b)))


def _agrees(flags: frozenset[str], operands: Sequence[Array], a: Array, b: Array) -> Array:
    """Returns a mask of the elements that have the same bits or may differ.

    The flags of the rule may allow NaNs, infinities or signs of zeros to differ.
    """
    same = np.array([same_bits(a[k : k + 1], b[k : k + 1]) for k in range(len(a))]) if not same_bits(a, b) else np.ones(len(a), bool)
    if not flags or same.all():
        return same
    with np.errstate(all="ignore"):
        wide, other = a.astype(np.float64), b.astype(np.float64)
        given = [*(operand.astype(np.float64) for operand in operands), wide]
    if "nsz" in flags:
        same |= (wide == 0) & (other == 0)
    if "nnan" in flags:
        same |= np.any([np.isnan(x) for x in given], axis=0)
    if "ninf" in flags:
        same |= np.any([np.isinf(x) for x in given], axis=0)
    return same


def _refutation(rule: Rule, x: Expression, values: Sequence[Array], a: Array, b: Array) -> str:
    at = int(np.argmin(_agrees(rule.flags, values, a, b)))
    operands = ", ".join(f"{float(v[at]):g}" for v in values)
    return f"{rule.name}: for the operands ({operands}), {a[at]} before and {b[at]} after, in\n{x}"


def _combinations(types: Sequence[str], most: int) -> tuple[list[Array], bool]:
    """Returns an array for each parameter, and whether all combinations of numbers occur in them.

    The arrays are in the order of `Batch.parameters`. If there are more than `most` combinations,
    some arrays contain only special numbers.
    """
    choices = [_numbers(name) for name in sorted(types)]
    is_complete = prod(map(len, choices)) <= most
    while prod(map(len, choices)) > most and any(len(c) > len(_FEW) for c in choices):
        k = max(range(len(choices)), key=lambda k: len(choices[k]))
        choices[k] = choices[k][list(_FEW)] if len(choices[k]) > max(_FEW) else choices[k][:: len(choices[k]) // 16]
    grid = np.meshgrid(*[np.arange(len(c)) for c in choices], indexing="ij")
    return [c[g.reshape(-1)] for c, g in zip(choices, grid, strict=True)], is_complete


def _numbers(element_type: str) -> Array:
    """Returns all numbers of a type of at most 16 bits."""
    number = NUMBERS[element_type]
    if number.kind == "pred":
        return np.array([False, True])
    bits = np.arange(1 << number.bits, dtype=np.uint16 if number.bits > 8 else np.uint8)
    return np.asarray(from_patterns(bits, number))
