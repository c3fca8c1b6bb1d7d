"""T101 and T102: values in explicit buffers, which have the type `b(...)`."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.custom_call_targets import Path, buffer_paths, holds_buffers
from hlotool.opdefs.traits import HOLDS_BUFFERS
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# The frontend attribute of calls that run on a separate stream.
_STREAM = "_xla_stream_annotation"

Value = tuple[Instruction, Path]
"""The value of a buffer between two writes.

It is identified by the instruction that produces it and by its index in the result.
"""


@module_rule("T101", "T102", stage="calls")
def buffers(facts: Facts) -> Iterator[Finding]:
    """A buffer has one writer at a time and stays inside the program.

    Checks: no parameter of the entry computation contains a `b(...)`, and no operand or result of
    an op that cannot work on buffers does, such as a fusion or a call without a stream annotation,
    unless the op runs asynchronously (T101); each buffer value is returned or used by only one
    instruction, not counting tuples (T102).
    """
    # Shapes are compared by identity, since the instructions of a module share them. Most modules
    # have no buffers at all.
    holding = {id(shape) for shape in facts.distinct_shapes if holds_buffers(shape)}
    if not holding:
        return
    for computation in facts.module.computations:
        is_entry = computation is facts.module.entry
        is_asynchronous = any(caller.op.name == "async-start" for _, caller in facts.callers.get(computation, ()))
        for x in computation.instructions:
            has_buffer = any(id(y.shape) in holding for y in (x, *x.operands))
            if is_entry and x.op.name == "parameter" and has_buffer:
                yield Finding("T101", computation, x, "name", "buffer types are not allowed in entry parameters", "pin an array instead")
            elif has_buffer and not is_asynchronous and HOLDS_BUFFERS not in x.op.traits:
                yield Finding("T101", computation, x, "opcode", f"'{x.op.name}' cannot work on buffers", "unpin the buffer first")
            elif has_buffer and not is_asynchronous and x.op.name == "call" and _STREAM not in (x.attributes.get("frontend_attributes") or {}):
                yield Finding("T101", computation, x, "opcode", "'call' cannot work on buffers", f"add the frontend attribute {_STREAM}")
        yield from _check_writers(computation)


def _check_writers(computation: Computation) -> Iterator[Finding]:
    """Follows buffers through tuples, and reports those that are used more than once."""
    values: dict[Instruction, dict[Path, Value]] = {}
    writers: dict[Value, str] = {}
    for x in computation.instructions:
        values[x] = _result_buffers(x, values)
        # Ops that cannot work on buffers were reported above; they count as writing nothing.
        if HOLDS_BUFFERS in x.op.traits and x.op.name not in _FORWARDING:
            for operand in x.operands:
                for value in values[operand].values():
                    if value in writers:
                        yield Finding("T102", computation, x, "name", f"buffer '{value[0].name}' is also written by {writers[value]}")
                    writers[value] = f"'{x.name}'"
    for value in values[computation.root].values():
        if value in writers:
            root = computation.root
            yield Finding("T102", computation, root, "name", f"buffer '{value[0].name}' is returned, but it is written by {writers[value]}")


def _result_buffers(x: Instruction, values: dict[Instruction, dict[Path, Value]]) -> dict[Path, Value]:
    """Returns the buffers in a result.

    An instruction that only forwards values returns the buffers of its operands. The buffers in
    other results are new.
    """
    follow = _FORWARDING.get(x.op.name)
    if follow is not None:
        return follow(x, values)
    return {path: (x, path) for path in buffer_paths(x.shape)}


def _tuple_buffers(x: Instruction, values: dict[Instruction, dict[Path, Value]]) -> dict[Path, Value]:
    return {(k, *path): value for k, operand in enumerate(x.operands) for path, value in values[operand].items()}


def _element_buffers(x: Instruction, values: dict[Instruction, dict[Path, Value]]) -> dict[Path, Value]:
    index = x.attributes["index"]
    return {path[1:]: value for path, value in values[x.operands[0]].items() if path[:1] == (index,)}


def _operand_buffers(x: Instruction, values: dict[Instruction, dict[Path, Value]]) -> dict[Path, Value]:
    return values[x.operands[0]]


_FORWARDING = {"tuple": _tuple_buffers, "get-tuple-element": _element_buffers, "opt-barrier": _operand_buffers}
