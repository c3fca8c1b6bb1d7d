"""Chains of asynchronous operations, followed backward from updates or done instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from hlotool.ir.equal import same_computation
from hlotool.ir.model import AttributeSet, Computation, Instruction, Module, set_field
from hlotool.ir.order import sorted_by_dependencies
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import array_shape, compatible, is_prefix, subshape

__all__ = ["MARKER_TARGETS", "UNBOUND", "bind_continuations", "complete_wrapped", "continues", "loops_by_parameter", "passes_on", "producer"]

MARKER_TARGETS = frozenset(
    ("Sharding LocalToGlobalShape GlobalToLocalShape xla.sdy.LocalToGlobalShape xla.sdy.GlobalToLocalShape xla.sdy.FuncResultSharding").split()
)
"""The targets of custom calls that pass on the value of an asynchronous operation."""

Loops = Mapping[Instruction, Instruction]
_Path = tuple[int, ...]
_Source = tuple[Instruction, _Path]


def continues(x: Instruction) -> bool:
    """Returns whether an instruction continues an async-start or async-update.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) ROOT d = f32[4] abs-done(s) }"
    >>> [continues(x) for x in parse(text).entry.instructions]
    [False, False, True]
    """
    return x.op.update_of is not None or x.op.done_of == "async-start"


def loops_by_parameter(module: Module) -> dict[Instruction, Instruction]:
    """Returns the while instruction of each loop, keyed by the parameter of the loop's body.

    Omits loops that share their body with another loop.
    """
    loops: dict[Computation, list[Instruction]] = {}
    for x in module.all_instructions():
        if x.op.name == "while":
            loops.setdefault(x.attributes["body"], []).append(x)
    return {parameter: callers[0] for body, callers in loops.items() if len(callers) == 1 for parameter in body.parameters[:1]}


def producer(value: Instruction, loops: Loops, start: str = "async-start") -> Instruction | None:
    """Returns the start or update that a value comes from, or None if it comes from neither.

    The search goes backward through tuples, barriers, copies, markers and loops. If `loops` is
    empty, it ends at parameters. `start` is the opcode of the operation that starts the chain.

    >>> from hlotool.text.parse.parser import parse
    >>> start = "p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p)"
    >>> module = parse(f"ENTRY e {{ {start} b = ((f32[4]), f32[4]) opt-barrier(s) ROOT d = f32[4] abs-done(b) }}")
    >>> producer(module.entry.root.operands[0], {}).name
    's'
    """
    pending: list[_Source] = [(value, ())]
    seen: set[_Source] = set()
    while pending:
        source, path = pending.pop()
        # In a module with wrong types, a loop may nest its state in ever deeper tuples.
        if (source, path) in seen or subshape(source.shape, path) is None:
            continue
        seen.add((source, path))
        if not path and start in (source.op.name, source.op.update_of):
            return source
        step = _STEPS.get(source.op.name)
        if step is not None:
            pending.extend(reversed(step(source, path, loops)))
    return None


def passes_on(x: Instruction) -> bool:
    """Returns whether an instruction may pass on the whole value of a start to its done instruction.

    The instruction has this value as an operand.
    """
    if x.op.name == "custom-call":
        return x.attributes["custom_call_target"] in MARKER_TARGETS
    return x.op.name in _STEPS and x.op.name != "get-tuple-element"


def _follow_operand(x: Instruction, path: _Path, loops: Loops) -> Sequence[_Source]:
    return [(operand, path) for operand in x.operands[:1]]


def _custom_call(x: Instruction, path: _Path, loops: Loops) -> Sequence[_Source]:
    return _follow_operand(x, path, loops) if x.attributes.get("custom_call_target") in MARKER_TARGETS else ()


def _element(x: Instruction, path: _Path, loops: Loops) -> Sequence[_Source]:
    return [(x.operands[0], (x.attributes["index"], *path))]


def _tuple(x: Instruction, path: _Path, loops: Loops) -> Sequence[_Source]:
    return [(x.operands[path[0]], path[1:])] if path and path[0] < len(x.operands) else ()


def _parameter(x: Instruction, path: _Path, loops: Loops) -> Sequence[_Source]:
    loop = loops.get(x)
    return [(loop.operands[0], path), (loop.attributes["body"].root, path)] if loop is not None else ()


def _while(x: Instruction, path: _Path, loops: Loops) -> Sequence[_Source]:
    return [(x.attributes["body"].root, path), (x.operands[0], path)]


_STEPS: dict[str, Callable[[Instruction, _Path, Loops], Sequence[_Source]]] = {
    "copy": _follow_operand,
    "custom-call": _custom_call,
    "get-tuple-element": _element,
    "opt-barrier": _follow_operand,
    "parameter": _parameter,
    "tuple": _tuple,
    "while": _while,
}


# ---- modules that are being read ---------------------------------------------------------------

UNBOUND = array_shape("f32", (1,))
"""A placeholder shape, recognized by identity, for an operand that an update will provide later.

It stands for the shape of a parameter in the operation's hidden computation.
"""


def complete_wrapped(module: Module, x: Instruction) -> None:
    """Completes the hidden computation that an update or done instruction, `x`, continues.

    Sets the shapes of the parameters and of the result, and adds missing parameters.
    """
    called = x.called[0]
    if called not in module.hidden:
        return
    is_update = x.op.update_of is not None
    bound = x.shape.elements[0].elements if is_update else ()
    parameters = called.parameters
    for parameter, shape in zip(parameters, bound, strict=False):
        if parameter.shape is UNBOUND:
            set_field(parameter, "shape", shape)
    new = [(k, shape) for k, shape in enumerate(bound) if k >= len(parameters)]
    if new and called.root.op.variadic:
        added = [Instruction("async_param", OPS["parameter"], shape, (), immediate=k) for k, shape in new]
        called.instructions[-1:-1] = added
        set_field(called.root, "operands", (*called.root.operands, *added))
    result = x.shape.elements[1] if is_update else x.shape
    if is_prefix(called.root.shape, result) and not compatible(called.root.shape, result):
        set_field(called.root, "shape", result)


def bind_continuations(module: Module, unbound: Iterable[Instruction]) -> Iterator[tuple[Instruction, Computation]]:
    """Makes each update or done instruction in a loop call the computation of its start.

    The text may define that computation after the instruction, or may contain a copy of it.
    Yields each instruction that calls a different computation, with the computation of its start.
    Sorts the computations of the module again if callers would come before callees.
    """
    loops = loops_by_parameter(module)
    bound: list[tuple[Instruction, AttributeSet]] = []
    for x in unbound:
        called = _computation_of_start(x, loops)
        if called is None:
            continue
        if not x.called or (x.called[0] is not called and same_computation(x.called[0], called)):
            bound.append((x, x.attributes))
            set_field(x, "attributes", x.attributes.changed({"calls": called}))
        if x.called[0] is called:
            complete_wrapped(module, x)
        else:
            yield x, called
    if not bound:
        return
    calls = {computation: [called for x in computation.instructions for called in x.called] for computation in module.computations}
    try:
        module.computations = sorted_by_dependencies(module.computations, calls.__getitem__)
    except ValueError:
        # A cycle: the operation runs the loop that continues it. The verifier reports the
        # update or done instruction as an operation without a start.
        for x, attributes in bound:
            set_field(x, "attributes", attributes)


def _computation_of_start(x: Instruction, loops: Loops) -> Computation | None:
    source, seen = producer(x.operands[0], loops), {x}
    while source is not None and not source.called and source not in seen:
        seen.add(source)
        source = producer(source.operands[0], loops)
    return source.called[0] if source is not None and source.called else None
