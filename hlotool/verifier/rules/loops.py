"""W015, W017, W018 and W037: loops that repeat work, run at most once or carry unused state."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.callgraph import reachable
from hlotool.analysis.loops import invariant_elements, trip_count
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.traits import EXPENSIVE, HOST_QUEUE, TRANSFER
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_HOST_SPACE = 5
_CALLBACK = "callback"


@module_rule("W015", stage="lint")
def transfers_in_loops(facts: Facts) -> Iterator[Finding]:
    """Loops do not transfer data to or from the host.

    Checks: the body and condition of a while, and the computations that they call, contain no
    infeed, outfeed, host callback, send to or recv from the host, or copy to or from host memory.
    Copies in scheduled modules are not reported, since the compiler chose to offload the data.
    """
    transfers = [
        (computation, x) for computation, x in facts.instructions_where(_may_transfer) if _is_transfer(x, scheduled=facts.module.is_scheduled)
    ]
    if not transfers:
        return
    inside: dict[Computation, str] = {}
    for _, loop in facts.instructions_of("while"):
        inside.update(dict.fromkeys(reachable(loop.called, inside), loop.name))
    for computation, x in transfers:
        if computation in inside:
            message = f"this host transfer runs on each iteration of '{inside[computation]}'"
            yield Finding("W015", computation, x, "opcode", message, "stack the results and transfer them once")


def _may_transfer(op: OpDef) -> bool:
    copies = "copy" in (op.name, op.start_of)
    return copies or op.name == "custom-call" or not op.traits.isdisjoint((TRANSFER, HOST_QUEUE))


def _is_transfer(x: Instruction, *, scheduled: bool) -> bool:
    if TRANSFER in x.op.traits:
        return bool(x.attributes.get("is_host_transfer", False))
    if x.op.name == "custom-call":
        return _CALLBACK in x.attributes["custom_call_target"]
    return HOST_QUEUE in x.op.traits or (not scheduled and _is_on_host(x) != _is_on_host(x.operands[0]))


def _is_on_host(x: Instruction) -> bool:
    leaf = next(x.shape.leaves(), None)
    return leaf is not None and leaf.layout is not None and leaf.layout.memory_space == _HOST_SPACE


@module_rule("W017", stage="lint")
def invariants(facts: Facts) -> Iterator[Finding]:
    """A loop does not compute the same value again and again.

    Checks: in the body of a while, no contraction, reduction, sort, fusion or the like is computed
    only from constants and from elements of the state that the body passes on unchanged.
    """
    for computation in {loop.attributes["body"]: loop for _, loop in facts.instructions_of("while")}:
        kept = set(invariant_elements(computation))
        parameter = computation.parameters[0]
        fixed: set[Instruction] = set()
        for x in computation.instructions:
            if x.op.name == "get-tuple-element" and x.operands[0] is parameter:
                is_fixed = x.attributes["index"] in kept
            else:
                is_fixed = x.op.name != "parameter" and all(y in fixed for y in x.operands) and not facts.has_effect(x)
            if is_fixed:
                fixed.add(x)
                if EXPENSIVE in x.op.traits and x.operands:
                    yield Finding(
                        "W017", computation, x, "name", f"'{x.name}' has the same value on each iteration of the loop", "compute it before the loop"
                    )


@module_rule("W018", stage="lint")
def trip_counts(facts: Facts) -> Iterator[Finding]:
    """A loop runs more than once.

    Checks: no loop is known to run never or only once. The number of iterations is known if the
    counter starts at a constant, is incremented by a constant, and is compared with a constant.
    """
    for computation, x in facts.instructions_of("while"):
        iterations = trip_count(x)
        if iterations in (0, 1):
            yield Finding("W018", computation, x, "opcode", "the loop runs exactly once" if iterations else "the loop never runs")


@module_rule("W037", stage="lint")
def unused_state(facts: Facts) -> Iterator[Finding]:
    """A loop carries only state that it reads or changes.

    Checks: each element of the state is changed by the body, or read by the body or the condition.
    """
    seen: set[tuple[Computation, Computation]] = set()
    for _, loop in facts.instructions_of("while"):
        body, condition = loop.attributes["body"], loop.attributes["condition"]
        if (body, condition) in seen:
            continue
        seen.add((body, condition))
        read = _elements_read(facts, condition)
        for index, x in invariant_elements(body).items():
            if read is not None and index not in read and facts.users(body)[x] == [body.root]:
                yield Finding("W037", body, x, "instruction", f"state element {index} is neither read nor changed in the loop")


def _elements_read(facts: Facts, computation: Computation) -> set[int] | None:
    """Returns the state elements that a computation reads, or None if it uses the whole state."""
    parameter = computation.parameters[0]
    users = facts.users(computation).get(parameter, [])
    if parameter is computation.root or any(x.op.name != "get-tuple-element" for x in users):
        return None
    return {x.attributes["index"] for x in users if x in facts.users(computation) or x is computation.root}
