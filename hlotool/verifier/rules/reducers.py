"""C031 to C033: functions that combine values in an order that nobody fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from hlotool.analysis.reducers import binary_root, is_associative
from hlotool.ir.model import Computation, Instruction
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_COLLECTIVES = ("all-reduce", "all-reduce-start", "reduce-scatter")
_REDUCTIONS = ("reduce", "reduce-window")


@module_rule("C031", "C032", "C033", stage="lint")
def reducers(facts: Facts) -> Iterator[Finding]:
    """Reducers are associative, and start from a value that changes nothing.

    Checks: the function of a collective is one known operation of its two parameters (C031); that of reduce and reduce-window, where it is
    one operation, is associative (C032); an init value that is a constant is the identity of the operation (C033).
    Why: backends combine in any order, in parallel, and may apply the init value several times or not at all.
    Bad: `reduce(a, one), to_apply=add` with `one = f32[] constant(1)`
    Good: `reduce(a, zero), to_apply=add`, and an add after it
    """
    for computation, x in facts.instructions_of(*_COLLECTIVES):
        called: Computation = x.attributes["to_apply"]
        root = binary_root(called)
        if len(called.parameters) == 2 and (root is None or not is_associative(root)):
            why = f" ({root.op.name} is not associative)" if root is not None else ""
            yield Finding("C031", computation, x, "to_apply", f"'{called.name}' is not a known reduction{why}")
    for computation, x in facts.instructions_of(*_REDUCTIONS):
        root = binary_root(x.attributes["to_apply"])
        if root is None:
            continue
        if not is_associative(root):
            message = f"{root.op.name} is not associative; the result depends on the backend"
            yield Finding("C032", computation, x, "to_apply", message)
        elif len(x.operands) == 2:
            yield from _init(computation, x.operands[1], root)


def _init(computation: Computation, init: Instruction, root: Instruction) -> Iterator[Finding]:
    literal, row = init.literal, ELEMENT_TYPES.get(init.shape.element_type)
    if literal is None or not literal.text or init.shape.dimensions or row is None or row.kind == "complex":
        return
    identity, fits = _IDENTITIES[root.op.name](row)
    value = _number(literal.text)
    if value is not None and not fits(value):
        message = f"init {literal.text} is not the identity of {root.op.name} ({identity})"
        yield Finding("C033", computation, init, "opcode", message, "start from the identity and combine the value with the result")


def _number(text: str) -> float | None:
    """The value of a scalar's spelling; None for what is left out."""
    known = {"true": 1.0, "false": 0.0}.get(text)
    try:
        return float(text) if known is None else known
    except ValueError:
        return None


Identity = tuple[str, Callable[[float], bool]]
"""How the identity is spelled, and whether a value is it."""


def _exactly(value: float) -> Callable[[ElementType], Identity]:
    return lambda row: (f"{value:g}", lambda found: found == value)


def _all_bits(row: ElementType) -> Identity:
    ones = {"pred": 1, "signed": -1}.get(row.kind, (1 << row.bits) - 1)
    return ("true" if row.kind == "pred" else str(ones)), lambda found: found == ones


def _least(row: ElementType) -> Identity:
    if row.is_integral:
        return str(row.minimum), lambda found: found <= row.minimum
    # The least finite number serves as well, where there is nothing but finite numbers.
    return ("false", lambda found: not found) if row.kind == "pred" else ("-inf", lambda found: found <= -_largest(row))


def _greatest(row: ElementType) -> Identity:
    if row.is_integral:
        return str(row.maximum), lambda found: found >= row.maximum
    return ("true", bool) if row.kind == "pred" else ("inf", lambda found: found >= _largest(row))


def _largest(row: ElementType) -> float:
    """The order of magnitude of the largest finite number, from which on a value counts as a bound."""
    form = row.float_format
    return inf if form is None else 2.0 ** ((1 << form.exponent_bits) - 2 - form.bias)


_IDENTITIES: dict[str, Callable[[ElementType], Identity]] = {
    "add": _exactly(0),
    "multiply": _exactly(1),
    "or": _exactly(0),
    "xor": _exactly(0),
    "and": _all_bits,
    "maximum": _least,
    "minimum": _greatest,
}
