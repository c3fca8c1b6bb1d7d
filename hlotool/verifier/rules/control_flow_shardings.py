"""P027 and P028: loops and branches whose parts are sharded differently."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count
from hlotool.shapes.sharding import Sharding
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

Part = tuple[Computation, Instruction, str]
"""A part that carries the value: its computation, its instruction, and a phrase for messages."""


@module_rule("P027", "P028", stage="module")
def control_flow_shardings(facts: Facts) -> Iterator[Finding]:
    """The state of a loop and the result of a conditional have the same sharding everywhere.

    Checks: a while, its body's parameter and root, and its condition's parameter have the same
    sharding (P027); a conditional and its branches' roots have the same sharding (P028). Only
    explicit shardings are compared.
    """
    for computation, x in facts.instructions_of("while"):
        body, condition = x.attributes["body"], x.attributes["condition"]
        parts = [(computation, x, f"'{x.name}'")]
        parts += [
            (called, p, f"{what} parameter '{p.name}'") for called, what in ((body, "body"), (condition, "condition")) for p in called.parameters
        ]
        parts.append((body, body.root, f"body ROOT '{body.root.name}'"))
        yield from _check_equal("P027", parts)
    for computation, x in facts.instructions_of("conditional"):
        parts = [(computation, x, f"'{x.name}'")]
        parts += [(called, called.root, f"branch ROOT '{called.root.name}'") for called in dict.fromkeys(x.called)]
        yield from _check_equal("P028", parts)


def _check_equal(code: str, parts: list[Part]) -> Iterator[Finding]:
    """Reports the first part whose sharding differs from the first sharding."""
    first: tuple[Sharding, str, str] | None = None
    for computation, x, name in parts:
        sharding = x.attributes.get("sharding")
        if sharding is None:
            continue
        if first is None:
            first = sharding, name, _placement(sharding)
        elif sharding is not first[0] and _placement(sharding) != first[2]:
            message = f"{first[1]} is sharded as {_brief(first[0])}, but {name} is sharded as {_brief(sharding)}"
            yield Finding(code, computation, x, "sharding", message)
            return


def _brief(sharding: Sharding) -> str:
    return f"a tuple of {count(len(sharding.elements), 'sharding')}" if sharding.is_tuple else sharding.to_text(metadata=False)


def _placement(sharding: Sharding) -> str:
    """Returns the text of a sharding without its metadata."""
    return sharding.to_text(metadata=False)
