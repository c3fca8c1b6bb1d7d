"""The simplest expressions that use the opcodes of a rule.

Operands are parameters, constants, one value used twice, or instructions with another opcode of the
rule. Some of the expressions match the rule, and others only resemble a match: the operand that the
rule looks for is in another position, or a different operand occurs twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ELEMENTWISE
from hlotool.optimizer.registry import Rule
from proofs.lines import Expression, Line

__all__ = ["simplest"]

# A rule with more opcodes than this, and without operand opcodes, gets no nested binary operations.
_MAX_OPCODES = 8
_OF_SEVERAL_TYPES = ("compare", "convert", "bitcast-convert", "complex", "real", "imag", "is-finite", "stochastic-convert", "reduce-precision")
_A, _B, _C, _D = Line("t0", "parameter"), Line("t0", "parameter"), Line("t0", "constant", number=0), Line("t0", "constant", number=1)
_P, _Q, _K = Line("pred", "parameter"), Line("pred", "parameter"), Line("pred", "constant", number=2)


def simplest(rule: Rule) -> Iterator[Expression]:
    """Yields the expressions for one rule."""
    inner = [op.name for op in rule.operands]
    for root in rule.opcodes:
        if root in _SPECIAL:
            yield from _SPECIAL[root](inner)
        if not _is_simple(root):
            continue
        if OPS[root].arity == 1:
            yield Expression((_A, Line("t0", root, (0,))))
        else:
            yield from (Expression((*leaves, Line("t0", root, (0, len(leaves) - 1)))) for leaves in ((_A,), (_A, _B), (_A, _C), (_C, _A)))
        if inner or OPS[root].arity == 1 or len(rule.opcodes) <= _MAX_OPCODES:
            for opcode in inner or [root]:
                yield from _nested(root, opcode) if _is_simple(opcode) else ()


def _is_simple(opcode: str) -> bool:
    """Returns whether an opcode takes one or two operands of the same type as the result."""
    op = OPS[opcode]
    return ELEMENTWISE in op.traits and op.arity in (1, 2) and opcode not in _OF_SEVERAL_TYPES


def _nested(root: str, inner: str) -> Iterator[Expression]:
    """Yields expressions whose root has an operand with the opcode `inner`."""
    if OPS[inner].arity == 1:
        yield Expression((_A, Line("t0", inner, (0,)), Line("t0", root, (1,) * OPS[root].arity)))
    if OPS[inner].arity == 1 and OPS[root].arity == 2:
        for first in (_A, _C):
            lines = (first, _B, Line("t0", inner, (1,)))
            yield from (Expression((*lines, Line("t0", root, positions))) for positions in ((0, 2), (2, 0), (1, 2), (2, 1)))
        yield Expression((_A, _B, Line("t0", inner, (0,)), Line("t0", inner, (1,)), Line("t0", root, (2, 3))))
    if OPS[inner].arity == 2:
        lines = (_A, _B, Line("t0", inner, (0, 1)))
        positions = ((2,),) if OPS[root].arity == 1 else ((2, 0), (2, 1), (0, 2), (1, 2))
        yield from (Expression((*lines, Line("t0", root, p))) for p in positions)
        yield Expression((_A, Line("t0", inner, (0, 0)), Line("t0", root, (1,) * OPS[root].arity)))
    if OPS[inner].arity == OPS[root].arity == 2:
        for leaves in (_A, _C), (_C, _A):
            lines = (*leaves, Line("t0", inner, (0, 1)), _D)
            yield from (Expression((*lines, Line("t0", root, positions))) for positions in ((2, 3), (3, 2)))


# ---- opcodes with operands of several types, or with three operands --------------------------------------------------------


def _selects(inner: list[str]) -> Iterator[Expression]:
    for a, b in ((_A, _B), (_A, _C), (_C, _A), (_C, _D)):
        yield from (Expression((p, a, b, Line("t0", "select", (0, 1, 2)))) for p in (_P, _K))
    yield Expression((_P, _A, Line("t0", "select", (0, 1, 1))))
    for opcode in inner:
        if opcode == "select":
            lines = (_P, _Q, _A, _B, _A)
            for choice in (0, 1):
                nested = (*lines, Line("t0", "select", (choice, 2, 3)))
                yield from (Expression((*nested, Line("t0", "select", positions))) for positions in ((0, 5, 4), (0, 4, 5), (0, 5, 3), (0, 2, 5)))
        elif _is_simple(opcode) and OPS[opcode].arity == 1:
            yield Expression((_P, _A, _B, Line("pred", opcode, (0,)), Line("t0", "select", (3, 1, 2))))
            nested = (_P, _Q, _P, Line("pred", opcode, (1,)))
            yield from (Expression((*nested, Line("pred", "select", positions))) for positions in ((0, 3, 2), (0, 2, 3), (3, 1, 0)))


def _comparisons(inner: list[str]) -> Iterator[Expression]:
    for positions in (0, 0), (0, 1), (0, 2), (2, 0), (2, 3):
        yield Expression((_A, _B, _C, _D, Line("pred", "compare", positions, ", direction=LT")))
    if "convert" in inner:
        other = Line("t1", "parameter")
        one, two = Line("t1", "convert", (0,)), Line("t1", "convert", (1,))
        for positions in (3, 4), (3, 2), (2, 3), (3, 3):
            yield Expression((_A, _B, other, one, two, Line("pred", "compare", positions, ", direction=LT")))


def _clamps(inner: list[str]) -> Iterator[Expression]:
    lines = (_A, _B, _C, _D, Line("t0", "parameter"))
    yield from (Expression((*lines, Line("t0", "clamp", positions))) for positions in ((0, 1, 4), (2, 0, 3), (2, 0, 1), (0, 1, 3)))
    if "clamp" in inner:
        for nested in (2, 0, 3), (1, 0, 4):
            limits = nested[0], nested[2]
            for low, high in (limits, limits[::-1], (limits[0], 4), (1, limits[1])):
                yield Expression((*lines, Line("t0", "clamp", nested), Line("t0", "clamp", (low, 5, high))))
        yield Expression((*lines, Line("t0", "clamp", (1, 0, 4)), Line("t0", "clamp", (5, 0, 4))))


_SPECIAL = {"select": _selects, "compare": _comparisons, "clamp": _clamps}
