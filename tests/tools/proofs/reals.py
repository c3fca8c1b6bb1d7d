"""Proofs of fast-math rules over the real numbers, with an SMT solver.

A proof shows that both sides are equal wherever both are defined. Constants are treated as
the real numbers that they represent, and conversions between floats do not change the number. The
solver knows two laws of the exponential: the exponential of a sum is the product of the terms'
exponentials, and the logarithm is the inverse of the exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import islice
from typing import Any

import z3

from hlotool.analysis.simplify import constant_value
from hlotool.ir.model import Instruction
from hlotool.optimizer.registry import Rule
from proofs.exhaustive import Proof
from proofs.expressions import Batch, Expression, apply_rule, expressions_of, typed

__all__ = ["prove"]

_CONSTANTS = 24
_LIMIT = 2_000_000
_EXPONENTIAL, _LOGARITHM = (z3.Function(name, z3.RealSort(), z3.RealSort()) for name in ("exponential", "log"))


class _Unmodelled(Exception):
    """Raised for an operation or a number that has no counterpart among the real numbers."""


class _Model:
    """Terms for instructions, and the conditions under which they are defined."""

    def __init__(self) -> None:
        self.conditions: list[Any] = []

    def root(self, x: Any) -> Any:
        """Returns the nonnegative number whose square is `x`."""
        root = z3.FreshReal("root")
        self.conditions += [root >= 0, root * root == x]
        return root

    def inverse(self, x: Any) -> Any:
        inverse = z3.FreshReal("inverse")
        self.conditions.append(inverse * x == 1)
        return inverse

    def exponential(self, x: Any) -> Any:
        if z3.is_add(x):
            return z3.Product(*map(self.exponential, x.children()))
        if z3.is_app(x) and x.decl() == _LOGARITHM:
            return x.arg(0)
        return _EXPONENTIAL(x)

    def logarithm(self, x: Any) -> Any:
        if z3.is_app(x) and x.decl() == _EXPONENTIAL:
            return x.arg(0)
        self.conditions.append(x > 0)
        return _LOGARITHM(x)

    def power(self, x: Any, exponent: Any) -> Any:
        powers: dict[str, Callable[[], Any]] = {"2": lambda: x * x, "1/2": lambda: self.root(x), "-1/2": lambda: self.inverse(self.root(x))}
        if str(exponent) not in powers:
            raise _Unmodelled(f"power with the exponent {exponent}")
        return powers[str(exponent)]()

    def apply(self, opcode: str, operands: list[Any]) -> Any:
        functions: dict[str, Callable[..., Any]] = {
            "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "negate": lambda a: -a,
            "divide": lambda a, b: a * self.inverse(b), "sqrt": self.root, "rsqrt": lambda a: self.inverse(self.root(a)), "power": self.power,
            "exponential": self.exponential, "log": self.logarithm, "convert": lambda a: a, "broadcast": lambda a: a,
        }  # fmt: skip
        if opcode not in functions:
            raise _Unmodelled(opcode)
        return functions[opcode](*operands)

    def value(self, root: Instruction, instructions: tuple[Instruction, ...]) -> Any:
        """Returns the term for an instruction, given its whole computation in order."""
        values: dict[Instruction, Any] = {}
        for x in instructions:
            number = constant_value(x) if x.shape.is_array else None
            if number is not None:
                if number != number or abs(number) == float("inf"):
                    raise _Unmodelled(number)
                values[x] = z3.RealVal("{}/{}".format(*number.as_integer_ratio()))
            elif x.op.name == "parameter":
                values[x] = z3.Real(x.name)
            elif x.op.name != "tuple":
                values[x] = self.apply(x.op.name, [values[y] for y in x.operands])
        return values[root]


def prove(rule: Rule) -> Proof:
    """Queries the solver about all f32 expressions that a rule replaces.

    Conversions use f16 as the second type, and f64 as the third.
    """
    proof = Proof(rule)
    for expression in expressions_of(rule):
        if "pred" in (expression.parameters or ("pred",)):
            continue
        types = ("f32", "f16", "f64")[: len(expression.types)]
        for x in Batch(list(islice(typed(expression, types, _CONSTANTS), _CONSTANTS)), 2).fired(rule):
            _ask(proof, x)
    return proof


def _ask(proof: Proof, x: Expression) -> None:
    batch = Batch([x], 2)
    before = copy(batch.module)
    apply_rule(batch.module, proof.rule)
    try:
        model = _Model()
        first, second = (model.value(m.entry.root.operands[0], m.entry.instructions) for m in (before, batch.module))
    except _Unmodelled as error:
        proof.unanswered.append(f"not modeled: {error}")
        return
    solver = z3.Solver()
    solver.set("rlimit", _LIMIT)
    solver.add(*model.conditions)
    if solver.check() == z3.unsat:
        # The conditions contradict each other, for example because of a division by zero.
        proof.unanswered.append("not defined")
        return
    solver.add(first != second)
    result = solver.check()
    if result == z3.unsat:
        proof.instances += 1
        proof.types.add("real")
    elif result == z3.sat:
        proof.refutations.append(f"{proof.rule.name}: {solver.model()}, in\n{x}")
    else:
        proof.unanswered.append(f"no answer for\n{x}")
