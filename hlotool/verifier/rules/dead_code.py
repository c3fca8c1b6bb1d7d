"""W001 to W003: unused instructions, parameters and computations."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Computation
from hlotool.opdefs.inference import count
from hlotool.opdefs.traits import ANY_SIGNATURE, STRUCTURAL
from hlotool.verifier.facts import Facts, is_optimized
from hlotool.verifier.registry import Finding, module_rule
from hlotool.verifier.suppressions import suppressed

__all__: list[str] = []


@module_rule("W001", stage="lint")
def dead_instructions(facts: Facts) -> Iterator[Finding]:
    """The result of each instruction is used.

    Checks: each instruction has a user, an effect or a control dependency, or is the root.
    Constants, tuples and their elements cost nothing and are not reported. There is one finding for
    each computation, with the number of instructions. Tracing leaves dead code in modules, so the
    finding is only informational in dumps from before optimization.
    """
    is_suppressed = suppressed(facts.module, "W001")
    severity = "info" if _is_traced(facts) else None
    for computation in facts.module.computations:
        # A set of used instructions is enough; lists of users would cost more than the rest of the
        # rule. Extracting an element of a tuple costs nothing, and programs that unpack tuples
        # leave some elements unused.
        used = {y for x in computation.instructions for y in x.operands}
        unused = [x for x in computation.instructions if x not in used and STRUCTURAL not in x.op.traits and x is not computation.root]
        if not unused:
            continue
        ordered = {y for x in computation.instructions for y in x.control_predecessors}
        dead = [x for x in unused if x not in ordered and not x.control_predecessors and not facts.has_effect(x)]
        # Each suppressed instruction gets its own finding, so that nothing else is hidden.
        hidden = [x for x in dead if is_suppressed(x.start)]
        for x in hidden:
            yield Finding("W001", computation, x, "name", f"'{x.name}' is never used", "remove it", severity=severity)
        shown = [x for x in dead if x not in set(hidden)] if hidden else dead
        if shown:
            message, hint = f"'{shown[0].name}' is never used", "remove it"
            if len(shown) > 1:
                others = count(len(shown) - 1, "other instruction")
                message, hint = f"'{shown[0].name}' and {others} in '{computation.name}' are never used", "remove them"
            yield Finding("W001", computation, shown[0], "name", message, hint, severity=severity, others=tuple(shown[1:]))


def _is_traced(facts: Facts) -> bool:
    """Returns whether a framework produced the module and no compiler has cleaned it up.

    A layout of the entry computation is a sign of a framework, since people rarely write one.
    """
    if facts.modes.stage == "auto":
        return facts.module.entry_computation_layout is not None and not is_optimized(facts.module, facts.modes)
    return facts.modes.stage == "before-opt"


@module_rule("W002", stage="lint")
def unused_parameters(facts: Facts) -> Iterator[Finding]:
    """Parameters are used.

    Checks: each parameter has a user, except in computations whose signature is fixed by their
    caller, such as reducers.
    """
    for computation in facts.module.computations:
        if computation is facts.module.entry or not _has_fixed_signature(facts, computation):
            users = facts.users(computation)
            for x in computation.instructions:
                if x.op.name == "parameter" and x not in users and x is not computation.root:
                    yield Finding("W002", computation, x, "name", f"parameter {x.parameter_number} '{x.name}' is never used")


def _has_fixed_signature(facts: Facts, computation: Computation) -> bool:
    """Returns whether the caller's opcode determines the parameters.

    This is the case for reducers and for the two computations of a loop.
    """
    return any(ANY_SIGNATURE not in x.op.traits for _, x in facts.callers.get(computation, ()))


@module_rule("W003", stage="lint")
def dead_computations(facts: Facts) -> Iterator[Finding]:
    """Every computation is called.

    Checks: the entry computation calls each computation, directly or through other computations.
    There is one finding for each module, with the number of computations.
    """
    if len(facts.module.computations) == len(facts.reachable):
        return
    is_suppressed = suppressed(facts.module, "W003")
    dead = []
    for computation in facts.module.computations:
        if computation in facts.reachable:
            continue
        if is_suppressed(computation.start):
            yield Finding("W003", computation, None, max(0, computation.start), f"computation '{computation.name}' is never called", "remove it")
        else:
            dead.append(computation)
    if not dead:
        return
    message, hint = f"computation '{dead[0].name}' is never called", "remove it"
    if len(dead) > 1:
        message, hint = f"computation '{dead[0].name}' and {count(len(dead) - 1, 'other')} are never called", "remove them"
    yield Finding("W003", dead[0], None, max(0, dead[0].start), message, hint, others=tuple(dead[1:]))
