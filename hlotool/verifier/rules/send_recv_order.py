"""A026 and A027: schedules in which devices wait for each other forever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hlotool.analysis.transfers import PAIRS_ATTRIBUTE, Pairs, cycle_of, is_between_devices, pairs_of, repeated
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import COLLECTIVE, COMMUNICATES, RUNS_COMPUTATIONS, TRANSFER
from hlotool.text.print.instruction import is_wrapper
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

Pending = tuple[Instruction, ...]
"""The transfers that have not been matched yet."""


@module_rule("A026", "A027", stage="module")
def send_recv_order(facts: Facts) -> Iterator[Finding]:
    """In a schedule, each send is followed by its recv before any other communication.

    Checks: in the mode `collective_deadlocks` and in scheduled modules, every send is followed by
    the recv with the same source-target pairs, or vice versa, with no collective between them
    (A026; a warning for reductions and asynchronous collectives, which XLA accepts). Several
    transfers may begin together if no device sends or receives twice and the transfers form no
    cycle. The transfers of an asynchronous group are matched among themselves. Each transfer has
    source-target pairs, without repetitions or cycles (A027). Transfers to the host and pipelined
    transfers are not checked.
    """
    if not (facts.modes.collective_deadlocks and facts.module.is_scheduled):
        return
    sound: dict[Instruction, Computation] = {}
    for computation, x in facts.instructions_with(TRANSFER):
        if is_between_devices(x) and not (x.attributes.get("frontend_attributes") or {}).get(PAIRS_ATTRIBUTE):
            message = f"'{x.name}' has no source-target pairs, so it is unknown whether devices wait for each other"
            yield Finding("A027", computation, x, "instruction", message, f"write the frontend attribute {PAIRS_ATTRIBUTE}")
            continue
        fault = _fault(pairs_of(x)) if is_between_devices(x) else None
        if fault is not None:
            yield Finding("A027", computation, x, f"frontend_attributes value[{PAIRS_ATTRIBUTE}]", fault)
        elif is_between_devices(x):
            sound[x] = computation
    if sound:
        yield from _Order(_communicating(facts, sound), sound, facts.module.entry).findings()


def _fault(pairs: Pairs) -> str | None:
    twice = repeated(pairs)
    if twice is not None:
        return twice
    cycle = cycle_of(pairs)
    return f"pairs form the cycle {' -> '.join(map(str, cycle))}" if cycle else None


def _communicating(facts: Facts, sound: Mapping[Instruction, Computation]) -> dict[Computation, list[Instruction]]:
    """Returns the communicating instructions of each computation, including calls."""
    chosen_by: dict[Computation, set[Instruction]] = {}
    pending = [(computation, x) for computation, x in facts.instructions_with(COMMUNICATES) if x in sound or COLLECTIVE in x.op.traits]
    while pending:
        computation, x = pending.pop()
        if computation not in chosen_by:
            pending += [call for call in facts.callers.get(computation, ()) if RUNS_COMPUTATIONS in call[1].op.traits]
        chosen_by.setdefault(computation, set()).add(x)
    return {computation: [x for x in computation.instructions if x in chosen] for computation, chosen in chosen_by.items()}


class _Walk:
    """The state of a walk through a computation.

    `before` contains the transfers that were pending before the computation, and `rest` yields its
    remaining communication. For a group of transfers, `group_of` contains the transfers that are
    pending outside the group.
    """

    __slots__ = ("before", "computation", "group_of", "rest")

    def __init__(self, computation: Computation, before: Pending, rest: Iterator[Instruction], group_of: Pending | None = None) -> None:
        self.computation = computation
        self.before = before
        self.rest = rest
        self.group_of = group_of


class _Order:
    """A walk through the schedule and called computations, tracking the unmatched transfers."""

    def __init__(self, events: Mapping[Computation, list[Instruction]], sound: Mapping[Instruction, Computation], entry: Computation) -> None:
        self.events = events
        self.sound = sound
        self.entry = entry
        # The transfers that are pending after a computation depend only on those that were pending
        # before it.
        self.after: dict[tuple[Computation, Pending], Pending] = {}
        self.reported: set[Instruction] = set()

    def findings(self) -> Iterator[Finding]:
        pending: Pending = ()
        # The computations to enter, and the walks that are under way.
        work: list[Computation | _Walk] = [self.entry]
        while work:
            top = work[-1]
            if isinstance(top, Computation):
                work.pop()
                known = self.after.get((top, pending))
                if known is None:
                    work.append(_Walk(top, pending, iter(self.events.get(top, ()))))
                else:
                    pending = known
                continue
            x = next(top.rest, None)
            if x is None:
                work.pop()
                if top.group_of is None:
                    self.after[top.computation, top.before] = pending
                else:
                    yield from self._check_pending(pending if top.group_of else ())
                    pending = top.group_of
            elif x.op.name == "async-start" and not is_wrapper(x.called[0]):
                # The transfers of a group begin together, and are matched among themselves.
                if x.called[0] in self.events:
                    work.append(_Walk(x.called[0], (), iter(self.events[x.called[0]]), group_of=pending))
                    pending = ()
            elif RUNS_COMPUTATIONS in x.op.traits:
                work.extend(called for called in reversed(x.called) if called in self.events)
            else:
                conflict = self._conflict(x, pending)
                if conflict is not None and x not in self.reported:
                    self.reported.add(x)
                    is_tolerated = COLLECTIVE in x.op.traits and (x.op.is_asynchronous or bool(x.called))
                    yield Finding("A026", top.computation, x, "instruction", *conflict, severity="warning" if is_tolerated else None)
                pending = self._step(x, pending)
        # After a conflict, the remaining transfers are pending only because of the conflict.
        yield from self._check_pending(() if self.reported else pending)

    def _check_pending(self, pending: Pending) -> Iterator[Finding]:
        # If both sends and receives are left, the kind that came second has the wrong pairs.
        wrong = [x for x in pending if x.op is not pending[0].op]
        for x in wrong or pending:
            self.reported.add(x)
            message = f"no pending {_other(x)} has the pairs of '{x.name}'" if wrong else f"no {_other(x)} with the pairs of '{x.name}' follows"
            yield Finding("A026", self.sound[x], x, "instruction", message)

    def _conflict(self, x: Instruction, pending: Pending) -> tuple[str, str | None] | None:
        """Returns the message and a hint if `x` conflicts with the pending transfers, or None."""
        if not pending:
            return None
        first = pending[0]
        if COLLECTIVE in x.op.traits:
            return f"'{x.op.name}' comes between '{first.name}' and its {_other(first)}", f"move it after the {_other(first)}"
        fault = _fault(tuple(pair for y in (*pending, x) if y.op is x.op for pair in pairs_of(y))) if first.op is x.op else None
        return None if fault is None else (f"'{x.name}' begins before the {_other(first)} of '{first.name}': {fault}", None)

    def _step(self, x: Instruction, pending: Pending) -> Pending:
        match = _match(x, pending)
        if match is not None:
            return tuple(y for y in pending if y is not match)
        if x not in self.sound:
            return pending
        # A transfer with a conflict has been reported, so no match is expected for it.
        return pending if x in self.reported else (*pending, x)


def _other(x: Instruction) -> str:
    return "recv" if x.op.name == "send" else "send"


def _match(x: Instruction, pending: Pending) -> Instruction | None:
    """Returns the pending transfer that matches `x`, or None."""
    opcode, pairs = _other(x), sorted(pairs_of(x))
    return next((y for y in pending if y.op.name == opcode and sorted(pairs_of(y)) == pairs), None)
