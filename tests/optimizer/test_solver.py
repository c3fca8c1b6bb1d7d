"""Proofs with an SMT solver, and comparisons of the solver's HLO model with the interpreter.

Rules about elements are proved for types of 16 to 64 bits. Rules that change rounding are proved
over the real numbers.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import z3
from proofs.record import is_about_elements, is_about_reals, over_the_reals, recorded, with_solver
from proofs.smt import FUNCTIONS, TYPES, Unmodelled, Value, known, value_of

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.opdefs.table import OPS
from hlotool.optimizer.checking import same_bits
from hlotool.optimizer.registry import Rule, all_rules
from hlotool.shapes.dtype import ELEMENT_TYPES

RULES = [rule for rule in all_rules().values() if is_about_elements(rule)]
_INTEGERS = (0, 1, -1, 3, -7, 31, 33)
_FLOATS = (0.0, -0.0, 1.0, -2.5, 3e-8, float("inf"), float("-inf"), float("nan"))
# Numbers for conversions, including the limits of the narrower types.
_LARGE = (-(2.0**31), 2.0**31, 2147483520.0, 4294967040.0, 2.0**32, -0.75, 65519.0, 65520.0, 1e30)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_all_numbers_of_larger_types(rule: Rule) -> None:
    proof = with_solver(rule)
    assert not proof.refutations, "\n\n".join(proof.refutations[:3])
    assert set(recorded()[rule.name]["solver"]) <= proof.types


@pytest.mark.parametrize("rule", [rule for rule in all_rules().values() if is_about_reals(rule)], ids=lambda rule: rule.name)
def test_real_numbers(rule: Rule) -> None:
    proof = over_the_reals(rule)
    assert not proof.refutations, "\n\n".join(proof.refutations[:3])
    assert proof.instances


# ---- the model ----------------------------------------------------------------------------------------------------------


def numbers(element_type: str) -> np.ndarray[Any, Any]:
    row = ELEMENT_TYPES[element_type]
    if row.kind == "pred":
        return np.array([False, True])
    if row.is_integral:
        chosen = [x for x in (*_INTEGERS, row.minimum, row.maximum) if row.minimum <= x <= row.maximum]
        return np.array(chosen, NUMPY_TYPES[element_type])
    return np.array(_FLOATS, NUMPY_TYPES[element_type])


def evaluate_model(module: hlotool.Module, values: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Returns the results of the model for each combination of the operands."""
    results = []
    root = module.entry.root
    for operands in zip(*values, strict=True):
        pairs = zip(module.entry.parameters, operands, strict=True)
        terms: dict[Any, Value] = {p: known(p.shape.element_type, x.item() if hasattr(x, "item") else x) for p, x in pairs}
        results.append(number_of(z3.simplify(value_of(root, terms).term)))
    return np.array(results).astype(NUMPY_TYPES[root.shape.element_type])


def number_of(term: Any) -> Any:
    if z3.is_bool(term):
        return z3.is_true(term)
    if z3.is_bv(term):
        return np.uint64(term.as_long())
    if term.isNaN():
        return float("nan")
    if term.isInf() or term.isZero():
        size = float("inf") if term.isInf() else 0.0
        return -size if term.isNegative() else size
    bits = term.sbits(), term.ebits()
    form = next(
        row for row in ELEMENT_TYPES.values() if row.float_format and bits == (row.float_format.mantissa_bits + 1, row.float_format.exponent_bits)
    )
    code = z3.simplify(z3.fpToIEEEBV(term)).as_long()
    return float(np.array(code, f"u{form.bits // 8}").view(NUMPY_TYPES[form.name]))


def check(operation: str, result: str, types: tuple[str, ...], choices: list[np.ndarray[Any, Any]]) -> int:
    """Compares the model of an operation with the interpreter.

    Returns the number of compared results.
    """
    combinations = list(product(*choices))
    values = [np.array([c[k] for c in combinations], NUMPY_TYPES[name]) for k, name in enumerate(types)]
    names = ", ".join(f"p{k}" for k in range(len(types)))
    for size, run in ((len(combinations), True), (1, False)):
        lines = [f"  p{k} = {name}[{size}] parameter({k})\n" for k, name in enumerate(types)]
        opcode, _, attributes = operation.partition(" ")
        text = f"ENTRY e {{\n{''.join(lines)}  ROOT r = {result}[{size}] {opcode}({names}){attributes}\n}}"
        try:
            module = hlotool.parse(text)
            if any(d.severity == "error" for d in hlotool.verify(module)):
                return 0
            if run:
                expected = hlotool.evaluate(module, values)
        except HlotoolError:
            # The opcode does not exist for this type.
            return 0
    try:
        actual = evaluate_model(module, values)
    except Unmodelled:
        return 0
    for combination, a, b in zip(combinations, expected, actual, strict=True):
        assert same_bits(np.array([a]), np.array([b])), f"{operation} of {combination}: {a}, and in the model {b}"
    return len(combinations)


@pytest.mark.parametrize("opcode", sorted(FUNCTIONS))
def test_model_of_an_opcode(opcode: str) -> None:
    result = "pred" if opcode == "is-finite" else None
    arity = OPS[opcode].arity
    compared = sum(check(opcode, result or name, (name,) * arity, [numbers(name)] * arity) for name in TYPES)
    # The model has only powers with the exponents 0 and 1.
    assert compared > 5 or opcode == "power"


@pytest.mark.parametrize("source", TYPES)
def test_model_of_conversions(source: str) -> None:
    values = numbers(source)
    if ELEMENT_TYPES[source].kind == "float":
        with np.errstate(over="ignore"):
            values = np.concatenate([values, np.array(_LARGE).astype(NUMPY_TYPES[source])])
    for target in TYPES:
        assert check("convert", target, (source,), [values])
        if ELEMENT_TYPES[source].bits == ELEMENT_TYPES[target].bits and "pred" not in (source, target):
            check("bitcast-convert", target, (source,), [values])


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_model_of_comparisons(direction: str) -> None:
    for name in TYPES:
        assert check(f"compare , direction={direction}", "pred", (name, name), [numbers(name)] * 2)
    for name in ("f16", "f32"):
        ordered = numbers(name)[:-1]
        assert check(f"compare , direction={direction}, type=TOTALORDER", "pred", (name, name), [ordered] * 2)


def test_model_of_choices() -> None:
    for name in TYPES:
        few = numbers(name)[-4:]
        assert check("select", name, ("pred", name, name), [numbers("pred"), few, few])
        assert check("clamp", name, (name, name, name), [few, few, few])
