"""C031 to C033: reducers, which XLA may apply in any order."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isinf

from hlotool.analysis.collectives import reduces
from hlotool.analysis.simplify import binary_root, constant_value, identity_of, is_associative
from hlotool.ir.model import Computation, Instruction
from hlotool.literals.print import literal_text
from hlotool.opdefs.algebra import Number
from hlotool.opdefs.traits import REDUCTION
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("C031", "C032", "C033", stage="lint")
def reducers(facts: Facts) -> Iterator[Finding]:
    """Reducers are associative, and reductions start from the identity of the reducer.

    Checks: the reducer of a collective is a single known operation on its two parameters (C031);
    the reducer of reduce and reduce-window, if it is a single operation, is associative (C032); a
    constant init value is the identity of the operation (C033).
    """
    for computation, x in facts.instructions_where(reduces):
        called: Computation = x.attributes["to_apply"]
        root = binary_root(called)
        if len(called.parameters) == 2 and (root is None or not is_associative(root.op)):
            why = f" ({root.op.name} is not associative)" if root is not None else ""
            yield Finding("C031", computation, x, "to_apply", f"'{called.name}' is not a reduction that backends support{why}")
    for computation, x in facts.instructions_with(REDUCTION):
        root = binary_root(x.attributes["to_apply"])
        if root is None:
            continue
        if not is_associative(root.op):
            message = f"{root.op.name} is not associative, so the result depends on the backend"
            yield Finding("C032", computation, x, "to_apply", message)
        elif len(x.operands) == 2:
            yield from _check_init(computation, x.operands[1], root)


def _check_init(computation: Computation, init: Instruction, root: Instruction) -> Iterator[Finding]:
    literal, row = init.literal, ELEMENT_TYPES.get(init.shape.element_type)
    if literal is None or init.shape.dimensions or row is None:
        return
    identity, value = identity_of(root.op, row), constant_value(init)
    if identity is not None and value is not None and not _serves_as(value, identity, row):
        message = f"init value {literal_text(literal)} is not the identity of {root.op.name}, which is {_number_text(identity, row)}"
        yield Finding("C033", computation, init, "opcode", message, "start from the identity, and combine this value with the result")


def _serves_as(value: Number, identity: Number, row: ElementType) -> bool:
    """Returns whether an init value is as good as the identity.

    Zeros of both signs are equally good, and the largest finite number is as good as an infinity.
    """
    return value == identity or (isinf(identity) and abs(value) >= _largest(row) and (value < 0) == (identity < 0))


def _number_text(identity: Number, row: ElementType) -> str:
    # Adding 0 removes the sign of a zero.
    return ("true" if identity else "false") if row.kind == "pred" else f"{identity + 0:g}" if isinstance(identity, float) else str(identity)


def _largest(row: ElementType) -> float:
    """Returns the power of two at or above which a number counts as the largest finite number."""
    form = row.float_format
    return inf if form is None else 2.0 ** ((1 << form.exponent_bits) - 2 - form.bias)
