"""Instructions with the same value as another one, found by `analysis.simplify.same_value`."""

from __future__ import annotations

from hlotool.analysis.simplify import same_value
from hlotool.ir.model import Instruction
from hlotool.opdefs.algebra import NO_ALGEBRA
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import IDEMPOTENT, INVOLUTION
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []

_SUMMARIES = {
    "copy": ("copy-of-equal-layout", "copy(a) -> a"),
    "reshape": ("reshape-to-same-shape", "reshape(a) -> a, if the shapes are equal"),
    "bitcast": ("bitcast-to-same-shape", "bitcast(a) -> a, if the shapes are equal"),
    "convert": ("convert-to-same-type", "convert(a) -> a, if the types are equal"),
    "bitcast-convert": ("bitcast-convert-to-same-type", "bitcast-convert(a) -> a, if the types are equal"),
    "real": ("real-of-real", "real(a) -> a, if a is not complex"),
    "slice": ("slice-of-everything", "slice(a) -> a, if the shapes are equal"),
    "dynamic-slice": ("dynamic-slice-of-everything", "dynamic-slice(a, ...) -> a, if the shapes are equal"),
    "transpose": ("transpose-in-order", "transpose(a), dimensions={0,1,...} -> a"),
    "broadcast": ("broadcast-to-same-shape", "broadcast(a), dimensions={0,1,...} -> a, if the shapes are equal"),
    "pad": ("pad-by-nothing", "pad(a, v), padding=0_0x... -> a"),
    "reverse": ("reverse-of-size-one", "reverse(a) -> a, if the reversed dimensions have size 1"),
    "concatenate": ("concatenate-of-one", "concatenate(a) -> a, if all other operands are empty"),
    "dynamic-update-slice": ("dynamic-update-of-everything", "dynamic-update-slice(a, b, ...) -> b, if the shapes are equal"),
    "select": ("select-known", "select(true, a, b) -> a; select(false, a, b) -> b; select(p, a, a) -> a"),
    "get-tuple-element": ("element-of-tuple", "get-tuple-element(tuple(a, b), 1) -> b"),
    "tuple": ("tuple-of-elements", "tuple(get-tuple-element(t, 0), get-tuple-element(t, 1)) -> t"),
}


def _register(name: str, summary: str, *opcodes: str, constant: bool = False) -> None:
    def rewrite(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
        return same_value(x)

    rewrite.__doc__ = summary
    rule(*opcodes, constant=constant, name=name)(rewrite)


for _opcode, (_name, _summary) in _SUMMARIES.items():
    _register(_name, _summary, _opcode)
_register("two-inversions", "negate(negate(a)) -> a", *[op.name for op in OPS.values() if op.arity == 1 and INVOLUTION in op.traits])
_register("applied-twice", "abs(abs(a)) -> abs(a)", *[op.name for op in OPS.values() if op.arity == 1 and IDEMPOTENT in op.traits])
_register(
    "neutral-operand",
    "add(a, 0) -> a; multiply(a, 1) -> a; and(a, a) -> a; minimum(a, inf) -> a; multiply(a, 0) -> 0 for integers",
    *[op.name for op in OPS.values() if op.arity == 2 and (IDEMPOTENT in op.traits or op.algebra != NO_ALGEBRA)],
    constant=True,
)
