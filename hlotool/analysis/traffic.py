"""Computes how much memory an instruction reads and writes."""

from __future__ import annotations

from hlotool.analysis.sizes import bytes_of
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import FREE, OVERWRITES, REARRANGES, RETURNS, RUNS_COMPUTATIONS

__all__ = ["bytes_accessed"]

_NOTHING_READ = frozenset({FREE, RUNS_COMPUTATIONS, RETURNS})


def bytes_accessed(x: Instruction) -> int:
    """Returns the number of bytes that an instruction reads from operands and writes to its result.

    Accesses are counted as in XLA's HloCostAnalysis. If the result is a part of an operand, only
    that part is read. If an array is overwritten, only the updates are written. Values computed
    inside a fusion are not in memory. Calls and loops count as 0, since their accesses are counted
    in the computations that they run. Custom calls count as 0, too, since nothing is known about
    them.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { p = f32[100] parameter(0) s = f32[3] slice(p), slice={[0:3]} ROOT n = f32[3] negate(s) }")
    >>> [bytes_accessed(x) for x in module.entry.instructions]
    [0, 24, 24]
    """
    if x.op.name == "fusion" and x.called:
        body = x.called[0]
        return _read_by_parameters(body) + _written(body.root)
    if not _NOTHING_READ.isdisjoint(x.op.traits) or "custom_call_target" in x.attributes or x.immediate is not None:
        return 0
    if x.op.name.endswith("-start"):
        return sum(bytes_of(operand.shape) for operand in x.operands)
    if x.op.name.endswith("-done"):
        # The accesses for which an async-done waits are counted in the computation that it calls.
        return 0 if x.op.name.startswith("async-") else bytes_of(x.shape)
    return sum(_read(x, k) for k in range(len(x.operands))) + _written(x)


def _read(x: Instruction, position: int) -> int:
    operand = x.operands[position]
    if OVERWRITES in x.op.traits and position < _result_count(x):
        # A scatter combines the existing values with the updates.
        return _written(x) if "to_apply" in x.attributes else 0
    size = bytes_of(operand.shape)
    return min(size, bytes_of(x.shape)) if REARRANGES in x.op.traits and position == 0 else size


def _written(x: Instruction) -> int:
    if OVERWRITES not in x.op.traits:
        return bytes_of(x.shape)
    count = _result_count(x)
    updates = x.operands[count + 1 :] if "to_apply" in x.attributes else x.operands[count : count + 1]
    return sum(bytes_of(update.shape) for update in updates)


def _result_count(x: Instruction) -> int:
    return sum(1 for _ in x.shape.leaves())


def _read_by_parameters(body: Computation) -> int:
    """Returns the number of bytes of a fusion's operands that its instructions read."""
    read = dict.fromkeys(body.parameters, 0)
    for user in body.instructions:
        for position, operand in enumerate(user.operands):
            if operand in read:
                read[operand] += _read(user, position)
    return sum(min(size, bytes_of(parameter.shape)) for parameter, size in read.items())
