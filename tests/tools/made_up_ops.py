"""Defines opcodes that XLA does not have, and prints how hlotool handles programs that use them.

`tests/test_traits.py` runs this script in a separate process, since tables and patterns cache
opcodes. The results are printed as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

import hlotool
from hlotool.analysis.effects import computations_with_effects, has_effect
from hlotool.analysis.liveness import peak_memory
from hlotool.analysis.schedule import spans
from hlotool.analysis.simplify import same_value
from hlotool.analysis.users import users
from hlotool.analysis.value_numbers import ComputationClasses, value_numbers
from hlotool.interp.arguments.domains import domains
from hlotool.interp.arrays.values import Value
from hlotool.interp.engine.memory_estimate import estimate
from hlotool.interp.kernels.base import kernel, unchanged
from hlotool.ir.model import Module
from hlotool.opdefs.algebra import Algebra, value
from hlotool.opdefs.base import op
from hlotool.opdefs.inference import require_written_shape
from hlotool.opdefs.kinds import Always, Int, ReplicaGroups
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import COLLECTIVE, COMMUTATIVE, EFFECT, ELEMENTWISE, FREE, IDEMPOTENT, IDENTITY, NONDETERMINISTIC, VIEW
from hlotool.shapes.shape import Shape
from hlotool.text.parse.parser import parse

__all__ = ["answers"]

# ---- the definitions, as in a file of opdefs -------------------------------------------------------------------------


@op(traits=(ELEMENTWISE, COMMUTATIVE, IDEMPOTENT), algebra=Algebra(value(0, None)))
def either(lhs: Shape, rhs: Shape) -> Shape:
    """Made up: returns the larger operand."""
    return lhs


@op(traits=(VIEW, FREE, IDENTITY))
def nickname(operand: Shape) -> Shape:
    """Made up: returns the operand under another name."""
    return operand


@op(infers=False, traits=(COLLECTIVE,))
def swap(operand: Shape, *, channel_id: Int | None = None, replica_groups: Always[ReplicaGroups] = ()) -> Shape:
    """Made up: exchanges the operand with a neighbor's."""
    require_written_shape("swap")


@op(infers=False, traits=(COLLECTIVE, EFFECT), start_of="swap", operands_index=0)
def swap_start(operand: Shape, *, channel_id: Int | None = None, replica_groups: Always[ReplicaGroups] = ()) -> Shape:
    """Made up: begins a swap."""
    require_written_shape("swap-start")


@op(infers=False, traits=(EFFECT,), done_of="swap-start", returned_index=1)
def swap_done(operand: Shape) -> Shape:
    """Made up: waits for a swap."""
    require_written_shape("swap-done")


@op(infers=False, traits=(NONDETERMINISTIC,))
def dice() -> Shape:
    """Made up: returns a different number each time."""
    require_written_shape("dice")


# ---- how they are computed, as in a file of kernels ------------------------------------------------------------------

kernel("nickname", batch="same")(unchanged)
_thrown = iter(range(1, 100))


@kernel("either", batch="same")
def compute_either(lhs: Value, rhs: Value) -> Value:
    return np.maximum(lhs, rhs)


@kernel("dice")
def compute_dice(*, result: Shape) -> Value:
    return np.array(next(_thrown), np.float32)


# ---- programs --------------------------------------------------------------------------------------------------------

SWAPS = """HloModule m, is_scheduled=true
ENTRY e {
  p = f32[8] parameter(0)
  s = (f32[8], f32[8]) swap-start(p), channel_id=%s, replica_groups={{0}}
  n = f32[8] nickname(p)
  d = f32[8] swap-done(%s)
  ROOT r = f32[8] add(d, n)
}"""
SYNCHRONOUS = """HloModule m, is_scheduled=true
f {
  x = f32[8] parameter(0)
  ROOT y = f32[8] swap(x), channel_id=1, replica_groups={}
}
ENTRY e {
  p = f32[8] parameter(0)
  s = f32[8] swap(p), channel_id=1, replica_groups={}
  ROOT c = f32[8] fusion(s), kind=kLoop, calls=f
}"""
ARITHMETIC = """HloModule m
ENTRY e {
  p = s32[8] parameter(0)
  z = s32[] constant(0)
  b = s32[8] broadcast(z), dimensions={}
  a = s32[8] either(p, b)
  c = s32[8] either(a, a)
  k = s32[8] constant({1,2,3,4,5,6,7,8})
  f = s32[8] either(k, k)
  ROOT r = s32[8] either(c, f)
}"""
LAYOUTS = """HloModule m
ENTRY e {
  p = f32[2,3]{1,0} parameter(0)
  a = f32[2,3]{0,1} either(p, p)
  ROOT r = f32[2,3]{0,1} nickname(a)
}"""
TWICE = """HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] nickname(p)
  b = f32[8] nickname(p)
  c = f32[8] either(a, b)
  d = f32[8] either(a, b)
  e = f32[] dice()
  f = f32[] dice()
  g = f32[] add(e, f)
  ROOT r = (f32[8], f32[8], f32[]) tuple(c, d, g)
}"""
DEAD = """HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  s = (f32[8], f32[8]) swap-start(p), replica_groups={}
  d = f32[8] swap-done(s)
  ROOT r = f32[8] negate(p)
}"""
CHAIN = """HloModule m, is_scheduled=true
ENTRY e {
  p = f32[1000] parameter(0)
  a = f32[1000] negate(p)
  b = f32[1000] nickname(a)
  ROOT c = f32[1000] add(a, b)
}"""
LOOP = """HloModule m
body {
  t = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[] get-tuple-element(t), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  d = f32[] dice()
  y = f32[] add(x, d)
  ROOT r = (s32[], f32[]) tuple(j, y)
}
cond {
  t = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(10)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  z = s32[] constant(0)
  x = f32[] constant(0)
  t = (s32[], f32[]) tuple(z, x)
  w = (s32[], f32[]) while(t), condition=cond, body=body
  ROOT r = f32[] get-tuple-element(w), index=1
}"""
LOG = "ENTRY e { p = f32[4] parameter(0) a = f32[4] nickname(p) ROOT r = f32[4] log(a) }"


def found(text: str, *codes: str, modes: VerifyModes | None = None) -> list[str]:
    """Returns the code and the instruction of each finding."""
    return [f"{d.code} {d.instruction}" for d in hlotool.verify(parse(text), modes or VerifyModes(), select=list(codes))]


def named(module: Module, name: str) -> Any:
    return next(x for x in module.all_instructions() if x.name == name)


def same(text: str, name: str) -> str | None:
    source = same_value(named(parse(text), name))
    return None if source is None else source.name


def numbers(text: str, *names: str) -> list[int]:
    module = parse(text)
    by_name = {x.name: number for x, number in value_numbers(module.entry, ComputationClasses(module).freeze).items()}
    return [by_name[name] for name in names]


def effects(text: str) -> list[str]:
    module = parse(text)
    inside = computations_with_effects(module)
    return [x.name for x in module.entry.instructions if has_effect(x, inside)]


def in_flight(text: str) -> list[list[str]]:
    entry = parse(text).entry
    return [[span.start.name, span.done.name] for span in spans(entry, users(entry))]


ANSWERS: dict[str, Callable[[], Any]] = {
    "values": lambda: [int(x) for x in hlotool.evaluate(parse(ARITHMETIC), [[3, -1, 9, 0, 0, 0, 0, 0]])],
    "identities": lambda: found(ARITHMETIC, "W019"),
    "same value": lambda: [same(ARITHMETIC, name) for name in "acr"],
    "foldable": lambda: found(ARITHMETIC, "W021"),
    "kept layouts": lambda: found(LAYOUTS, "L008", modes=VerifyModes(layouts_kept=True, layout_sensitive=True)),
    "repeated": lambda: found(TWICE, "W005"),
    "value numbers": lambda: [len(set(numbers(TWICE, "a", "b"))), len(set(numbers(TWICE, "c", "d"))), len(set(numbers(TWICE, "e", "f")))],
    "named": lambda: found(TWICE, "W016"),
    "pairs": lambda: found(SWAPS % (1, "s"), "A013", "A014", "A015"),
    "wrong pairs": lambda: found(SWAPS % (1, "p"), "A013", "A014", "A015"),
    "spans": lambda: in_flight(SWAPS % (1, "s")),
    "nothing between": lambda: found(SWAPS % (1, "s"), "A030"),
    "in flight": lambda: found(SWAPS % (1, "s"), "A034", modes=VerifyModes(in_flight_limit=0)),
    "channels": lambda: found(SWAPS % (-1, "s"), "P018"),
    "idle groups": lambda: found(SWAPS % (1, "s"), "P033"),
    "synchronous": lambda: found(SYNCHRONOUS, "W023"),
    "one channel": lambda: found(SYNCHRONOUS, "P032"),
    "in a fusion": lambda: found(SYNCHRONOUS, "C043"),
    "dead": lambda: found(DEAD, "W001"),
    "effects": lambda: effects(DEAD),
    "bytes in flight": lambda: peak_memory(parse(SWAPS % (1, "s"))).bytes,
    "bytes of a view": lambda: [peak_memory(parse(text)).bytes for text in (CHAIN, CHAIN.replace("nickname", "negate"))],
    "bytes in a run": lambda: [estimate(parse(text).entry).bytes for text in (CHAIN, CHAIN.replace("nickname(a)", "either(a, p)"))],
    "thrown": lambda: float(hlotool.evaluate(parse(LOOP), [])),
    "domain": lambda: [domain.text for domain in domains(parse(LOG)).values()],
}


def answers() -> dict[str, Any]:
    return {name: answer() for name, answer in ANSWERS.items()}


if __name__ == "__main__":
    print(json.dumps(answers(), indent=1))
