"""Random modules with many equal or nearly equal parts, which the differ must tell apart."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

__all__ = ["repetitive_module"]

_UNARY = ("sine", "negate", "abs", "tanh")
_REDUCERS = ("add", "maximum", "multiply")


def repetitive_module(random: Random, size: int) -> str:
    """Returns the text of a module with about `size` repeated parts of one kind."""
    return random.choice(_KINDS)(random, size)


def _module(computations: list[str], body: list[str], root: str) -> str:
    lines = [f"  {'ROOT ' if line.startswith(f'{root} = ') else ''}{line}" for line in body]
    return "\n".join(["HloModule repetitive", *computations, "ENTRY e {", *lines, "}", ""])


def _computation(name: str, body: list[str]) -> str:
    return "\n".join([f"{name} {{", *(f"  {line}" for line in body[:-1]), f"  ROOT {body[-1]}", "}"])


def _chain(random: Random, first: str, stem: str, length: int) -> tuple[list[str], str]:
    lines = []
    for k in range(length):
        lines.append(f"{stem}.{k} = f32[6,6] {random.choice(_UNARY)}({first})")
        first = f"{stem}.{k}"
    return lines, first


def _uncalled(random: Random, size: int) -> str:
    """Returns computations without callers, some of which call others."""
    kinds = [_chain(random, "n", "t", random.randint(2, 6)) for _ in range(2)]
    computations = []
    for k in range(size):
        chain, last = random.choice(kinds)
        body = [
            "p = f32[6,6] parameter(0)",
            "z = f32[] constant(0)",
            "s = f32[4,6] slice(p), slice={[0:4], [0:6]}",
            "n = f32[6,6] pad(s, z), padding=1_1x0_0",
        ]
        computations.append(_computation(f"inner.{k}", [*body, *chain, f"r = f32[6,6] multiply({last}, p)"]))
        if random.random() < 0.5:
            body = ["x = f32[6,6] parameter(0)", f"f = f32[6,6] fusion(x), kind=kLoop, calls=inner.{k}", "y = f32[6,6] tanh(f)"]
            computations.append(_computation(f"outer.{k}", body))
    return _module(computations, ["p = f32[] parameter(0)", "r = f32[] negate(p)"], "r")


def _layers(random: Random, size: int) -> str:
    """Returns a chain of layers, each with a computation of its own."""
    opcode, attribute = random.choice((("call", "to_apply"), ("fusion", "kind=kLoop, calls")))
    chain, last = _chain(random, "n", "t", random.randint(2, 6))
    body = ["p = f32[6,6] parameter(0)", "q = f32[6,6] parameter(1)", "n = f32[6,6] add(p, q)", *chain, f"r = f32[6,6] multiply({last}, p)"]
    lines = ["x.0 = f32[6,6] parameter(0)", "w = f32[6,6] parameter(1)"]
    for k in range(size):
        lines.append(f"d.{k} = f32[6,6] dot(x.{k}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")
        lines.append(f"x.{k + 1} = f32[6,6] {opcode}(d.{k}, x.{k}), {attribute}=layer.{k}")
    return _module([_computation(f"layer.{k}", body) for k in range(size)], lines, f"x.{size}")


def _steps(random: Random, size: int) -> str:
    """Returns an unrolled loop over the rows of an array."""
    gates, state = [random.choice(_UNARY) for _ in range(3)], "h"
    lines = [f"x = f32[{size},6] parameter(0)", "h = f32[1,6] parameter(1)"]
    for k in range(size):
        lines.append(f"s.{k} = f32[1,6] slice(x), slice={{[{k}:{k + 1}], [0:6]}}")
        lines += [f"g.{k}.{n} = f32[1,6] {gate}({state if n else f's.{k}'})" for n, gate in enumerate(gates)]
        lines += [f"m.{k} = f32[1,6] multiply(g.{k}.0, g.{k}.1)", f"h.{k} = f32[1,6] add(m.{k}, g.{k}.2)"]
        state = f"h.{k}"
    return _module([], lines, state)


def _reducers(random: Random, size: int) -> str:
    """Returns reductions, most of them with their own copy of one of a few computations."""
    count = random.randint(2, size + 1)
    body = "x = f32[] parameter(0)", "y = f32[] parameter(1)"
    computations = [_computation(f"f.{k}", [*body, f"r = f32[] {random.choice(_REDUCERS)}(x, y)"]) for k in range(count)]
    lines = ["p = f32[6,6] parameter(0)", "z = f32[] constant(0)"]
    for k in range(size):
        called = k if k < count else random.randrange(count)
        lines.append(f"r.{k} = f32[6] reduce(p, z), dimensions={{{k % 2}}}, to_apply=f.{called}")
    lines.append(f"t = ({', '.join(['f32[6]'] * size)}) tuple({', '.join(f'r.{k}' for k in range(size))})")
    return _module(computations, lines, "t")


_KINDS: tuple[Callable[[Random, int], str], ...] = (_uncalled, _layers, _steps, _reducers)
