"""Liveness analysis: the peak memory of a schedule, and the buffers that are live at the peak.

The analysis follows XLA's buffer liveness, but uses only the text. A buffer is one array
that an instruction defines. A buffer is live from its definition to its last use, both included, as
in XLA's own reports. Compilers share more buffers than this analysis assumes (an elementwise result
may replace an operand that is not used again), and lose memory to fragmentation. Without a
schedule, the textual order is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from hlotool.analysis.users import users
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.ir.walk import computation_post_order
from hlotool.opdefs.traits import OVERWRITES, RUNS_COMPUTATIONS, VIEW
from hlotool.record import Record
from hlotool.shapes.memory import array_bytes
from hlotool.shapes.shape import Shape, subshape

__all__ = ["LiveBuffer", "PeakMemory", "peak_memory"]


class LiveBuffer(Record):
    """A buffer that is live at the peak.

    If `temporary` is True, the record stands for all buffers of the computations that `instruction`
    calls.
    """

    instruction: Instruction
    bytes: int
    temporary: bool = False


class PeakMemory(Record):
    """The peak memory, in bytes, and the instruction of the entry computation at which it is reached.

    `live` lists the buffers that are live at that instruction, largest first. `saved` is the number
    of bytes of results that overwrite parameters, as the header's `input_output_alias` allows.
    """

    bytes: int
    at: Instruction
    live: tuple[LiveBuffer, ...]
    saved: int


class _Buffer:
    """The buffer of one array.

    The buffers of the parameters and results of a called computation belong to its caller.
    """

    __slots__ = ("bytes", "first", "instruction", "last", "parameter_leaf")

    def __init__(self, instruction: Instruction, size: int, first: int, parameter_leaf: int = -1) -> None:
        self.instruction = instruction
        self.bytes = size
        self.first = self.last = first
        self.parameter_leaf = parameter_leaf


_Value = tuple[_Buffer, ...]
"""The buffers of a result, one per leaf."""


class _Summary(Record):
    """The summary of a computation for its callers.

    `temporary` is the number of bytes of its temporary buffers. For each leaf of the result,
    `result` contains the number of the parameter leaf that is returned there, or -1.
    """

    temporary: int
    result: tuple[int, ...]


def peak_memory(module: Module, memory_space: int = 0) -> PeakMemory:
    """Returns the peak memory of the entry computation in one memory space.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "HloModule m, is_scheduled=true ENTRY e { p = f32[8] parameter(0) a = f32[8] abs(p) ROOT b = f32[2] slice(a), slice={[0:2]} }"
    >>> peak = peak_memory(parse(text))
    >>> peak.bytes, peak.at.name, [buffer.instruction.name for buffer in peak.live]
    (72, 'b', ['p', 'a', 'b'])
    """
    sizes = _Sizes(memory_space)
    summaries: dict[Computation, _Summary] = {}
    called_by_entry = _run_by(module.entry)
    for computation in computation_post_order(module):
        if computation in called_by_entry:
            summaries[computation] = _LivenessWalk(computation, sizes, summaries, is_entry=False).summary()
    return _LivenessWalk(module.entry, sizes, summaries, is_entry=True).peak(module)


def _run_by(entry: Computation) -> set[Computation]:
    """Returns the computations that run instruction by instruction, with their own buffers.

    Only computations that the entry computation runs, directly or indirectly, are included.
    """
    reached, pending = set[Computation](), [entry]
    while pending:
        for x in pending.pop().instructions:
            for called in x.called if RUNS_COMPUTATIONS in x.op.traits else ():
                if called not in reached:
                    reached.add(called)
                    pending.append(called)
    return reached


class _Sizes:
    """The sizes of leaves and the positions of tuple elements.

    They are cached by the identity of shapes, which the module keeps alive.
    """

    def __init__(self, memory_space: int) -> None:
        self.memory_space = memory_space
        self._bytes: dict[int, list[int]] = {}
        self._starts: dict[int, list[int]] = {}

    def leaves(self, shape: Shape) -> list[int]:
        """Returns the number of bytes of each leaf; 0 for leaves in other memory spaces."""
        sizes = self._bytes.get(id(shape))
        if sizes is None:
            sizes = self._bytes[id(shape)] = [self._leaf(leaf) for leaf in shape.leaves()]
        return sizes

    def _leaf(self, leaf: Shape) -> int:
        space = leaf.layout.memory_space if leaf.layout is not None else 0
        return array_bytes(leaf) if space == self.memory_space else 0

    def element(self, shape: Shape, index: int) -> slice:
        """Returns the positions of an element's leaves among the leaves of its tuple."""
        starts = self._starts.get(id(shape))
        if starts is None:
            starts = self._starts[id(shape)] = [0, *accumulate(len(self.leaves(element)) for element in shape.elements)]
        return slice(starts[index], starts[index + 1]) if 0 <= index < len(starts) - 1 else slice(0, 0)


class _LivenessWalk:
    """A walk through one computation, in order, that tracks the buffers of each result."""

    def __init__(self, computation: Computation, sizes: _Sizes, summaries: dict[Computation, _Summary], *, is_entry: bool) -> None:
        self.computation = computation
        self.sizes = sizes
        self.summaries = summaries
        self.is_entry = is_entry
        self.users = users(computation)
        self.end = len(computation.instructions) - 1
        self.values: dict[Instruction, _Value] = {}
        self.buffers: list[_Buffer] = []
        # For each position, the bytes that called computations use while the instruction runs.
        self.temporary: dict[int, int] = {}
        # The last use of each buffer. Arguments of the program stay live after their last use
        # unless they are donated.
        self.last_use: dict[_Buffer, int] = {}
        self._number_parameters()
        for position, x in enumerate(computation.instructions):
            self.values[x] = self._value(x, position)
        for buffer in self._buffers_of(computation.root):
            buffer.last = self.end

    def _number_parameters(self) -> None:
        self.first_leaf: dict[Instruction, int] = {}
        count = 0
        for parameter in self.computation.parameters:
            self.first_leaf[parameter] = count
            count += len(self.sizes.leaves(parameter.shape))

    def _buffers_of(self, x: Instruction) -> _Value:
        # Empty if x comes after its user, which can happen while a program changes the module.
        return self.values.get(x, ())

    def _new_buffers(self, x: Instruction, shape: Shape, position: int) -> _Value:
        """Creates buffers for a result or a part of one."""
        value = tuple(_Buffer(x, size, position) for size in self.sizes.leaves(shape))
        self.buffers += value
        return value

    def _value(self, x: Instruction, position: int) -> _Value:
        opcode, traits = x.op.name, x.op.traits
        if opcode == "parameter":
            return self._parameter(x)
        if opcode == "get-tuple-element":
            tuple_ = x.operands[0]
            return self._buffers_of(tuple_)[self.sizes.element(tuple_.shape, x.attributes["index"])]
        self._record_uses(x, position)
        if opcode == "tuple":
            return tuple(buffer for operand in x.operands for buffer in self._buffers_of(operand))
        if x.op.update_of is not None:
            return self._update(x, position)
        if VIEW in traits:
            return self._buffers_of(x.operands[0])
        if x.op.returned_index is not None:
            return self._done(x, position, x.op.returned_index)
        if RUNS_COMPUTATIONS in traits:
            self.temporary[position] = max((self.summaries[c].temporary for c in x.called), default=0)
        if x.op.operands_index is not None:
            return self._start(x, position, x.op.operands_index)
        rule = _RULES.get(opcode)
        return rule(self, x, position) if rule is not None else self._ordinary_value(x, position)

    def _parameter(self, x: Instruction) -> _Value:
        first = self.first_leaf[x]
        value = tuple(_Buffer(x, size, 0, first + k) for k, size in enumerate(self.sizes.leaves(x.shape)))
        if self.is_entry:
            # The caller of the program may use the arguments again.
            for buffer in value:
                buffer.last = self.end
            self.buffers += value
        return value

    def _record_uses(self, x: Instruction, position: int) -> None:
        read = list(x.operands)
        if x.op.done_of is not None:
            # The operands of a start are read until its done instruction.
            read += [source for operand in x.operands for source in operand.operands]
        for operand in read:
            for buffer in self._buffers_of(operand):
                buffer.last = max(buffer.last, position)
                self.last_use[buffer] = position

    def _done(self, x: Instruction, position: int, element: int) -> _Value:
        """Returns the result of a done instruction: an element of the value in flight, and tokens."""
        in_flight = x.operands[0]
        value = self._buffers_of(in_flight)[self.sizes.element(in_flight.shape, element)]
        missing = len(self.sizes.leaves(x.shape)) - len(value)
        return (*value, *(_Buffer(x, 0, position) for _ in range(missing)))

    def _start(self, x: Instruction, position: int, kept: int) -> _Value:
        """Returns the value in flight: the operands' buffers, and new ones for everything else."""
        buffers = list[_Buffer]()
        operand_buffers = tuple(buffer for operand in x.operands for buffer in self._buffers_of(operand))
        for k, element in enumerate(x.shape.elements):
            # The operands of a transfer include a token, which is not in this element.
            count = len(self.sizes.leaves(element))
            buffers += operand_buffers[:count] if k == kept else self._new_buffers(x, element, position)
        return tuple(buffers)

    def _update(self, x: Instruction, position: int) -> _Value:
        """Returns the value in flight after an update.

        The value also has the buffers of additional operands, and new buffers for parts that had no
        buffers before the update.
        """
        before = x.operands[0]
        known = self._buffers_of(before)
        passed = tuple(buffer for operand in x.operands[1:] for buffer in self._buffers_of(operand))
        buffers: list[_Buffer] = []
        for k, element in enumerate(x.shape.elements):
            kept = known[self.sizes.element(before.shape, k)] + (passed if k == 0 else ())
            count = len(self.sizes.leaves(element))
            buffers += kept[:count] if len(kept) >= count else (*kept, *self._new_buffers(x, element, position)[len(kept) :])
        return tuple(buffers)

    def loop(self, x: Instruction, position: int) -> _Value:
        """Returns the loop state, which has the same buffers before, during and after the loop."""
        return self._buffers_of(x.operands[0])

    def call(self, x: Instruction, position: int) -> _Value:
        """Returns the result of the called computation.

        Each buffer of the result is new, or belongs to an operand that the computation returns.
        """
        operand_buffers = tuple(buffer for operand in x.operands for buffer in self._buffers_of(operand))
        summary = self.summaries[x.called[0]]
        results = self._new_buffers(x, x.shape, position)
        if len(summary.result) != len(results):
            return results
        return tuple(
            self._replace(new, operand_buffers[leaf]) if 0 <= leaf < len(operand_buffers) else new
            for new, leaf in zip(results, summary.result, strict=True)
        )

    def _ordinary_value(self, x: Instruction, position: int) -> _Value:
        results = list(self._new_buffers(x, x.shape, position))
        for leaf, operand, operand_leaf in self._overwrites(x):
            if leaf < len(results) and operand_leaf < len(self._buffers_of(operand)):
                results[leaf] = self._replace(results[leaf], self._buffers_of(operand)[operand_leaf])
        return tuple(results)

    def _replace(self, new: _Buffer, old: _Buffer) -> _Buffer:
        """Replaces a new buffer with an existing one, so that the new buffer takes no memory."""
        new.bytes = 0
        return old

    def _overwrites(self, x: Instruction) -> list[tuple[int, Instruction, int]]:
        """Returns the leaves of the result that overwrite operands.

        Each leaf is listed with the operand, and with the leaf of the operand that it overwrites.
        """
        pairs = []
        for pair in x.attributes.get("output_to_operand_aliasing", ()):
            if 0 <= pair.number < len(x.operands):
                operand = x.operands[pair.number]
                pairs.append((self._leaf_at(x.shape, pair.output_index), operand, self._leaf_at(operand.shape, pair.index)))
        if not pairs:
            pairs = [(leaf, x.operands[k], 0) for leaf, k in _updated_leaves(x) if k < len(x.operands) and self._dies(x.operands[k])]
        return pairs

    def _leaf_at(self, shape: Shape, index: Sequence[int]) -> int:
        position = 0
        for k, at in enumerate(index):
            part = subshape(shape, tuple(index[:k]))
            position += self.sizes.element(part, at).start if part is not None else 0
        return position

    def _dies(self, operand: Instruction) -> bool:
        """Returns whether an operand has only one user, which may overwrite its memory."""
        return len(self.users.get(operand, ())) == 1 and not (self.is_entry and operand.op.name == "parameter")

    def summary(self) -> _Summary:
        result = self._buffers_of(self.computation.root)
        result_ids = {id(buffer) for buffer in result}
        curve = self._curve([buffer for buffer in self.buffers if id(buffer) not in result_ids])
        return _Summary(max(curve, default=0), tuple(buffer.parameter_leaf for buffer in result))

    def _curve(self, buffers: list[_Buffer]) -> list[int]:
        """Returns the number of live bytes at each position."""
        changes = [0] * (self.end + 2)
        for buffer in buffers:
            changes[buffer.first] += buffer.bytes
            changes[buffer.last + 1] -= buffer.bytes
        return [live + self.temporary.get(position, 0) for position, live in enumerate(accumulate(changes[:-1]))]

    def peak(self, module: Module) -> PeakMemory:
        saved = self._share_with_parameters(module)
        curve = self._curve(self.buffers)
        top = max(curve)
        position = curve.index(top)
        at = self.computation.instructions[position]
        live = [LiveBuffer(b.instruction, b.bytes) for b in self.buffers if b.bytes and b.first <= position <= b.last]
        if self.temporary.get(position):
            live.append(LiveBuffer(at, self.temporary[position], temporary=True))
        return PeakMemory(top, at, tuple(sorted(live, key=lambda b: -b.bytes)), saved)

    def _share_with_parameters(self, module: Module) -> int:
        """Ends the live ranges of donated parameters that results overwrite.

        Returns the number of bytes saved.
        """
        root, parameters, saved = self.computation.root, self.computation.parameters, 0
        result = self._buffers_of(root)
        for pair in module.attributes.get("input_output_alias", ()):
            if not 0 <= pair.number < len(parameters):
                continue
            source, parameter = self._buffers_of(parameters[pair.number]), parameters[pair.number]
            leaf, position = self._leaf_at(root.shape, pair.output_index), self._leaf_at(parameter.shape, pair.index)
            if leaf >= len(result) or position >= len(source) or result[leaf] is source[position]:
                continue
            parameter, output = source[position], result[leaf]
            parameter.last = self.last_use.get(parameter, 0)
            if parameter.last <= output.first and parameter.bytes:
                # The last instruction that reads the parameter may already overwrite it.
                saved += output.bytes
                parameter.last = max(min(parameter.last, output.first - 1), 0)
        return saved


_RULES: dict[str, Callable[[_LivenessWalk, Instruction, int], _Value]] = {
    "while": _LivenessWalk.loop,
    "call": _LivenessWalk.call,
}


def _updated_leaves(x: Instruction) -> list[tuple[int, int]]:
    """Returns the leaves of a result that contain updated operands.

    Each leaf is listed with its operand's number.
    """
    if OVERWRITES in x.op.traits:
        return [(k, k) for k in range(len(x.shape.elements) if x.shape.is_tuple else 1)]
    if x.op.name != "fusion":
        return []
    root = x.called[0].root
    parts = root.operands if root.op.name == "tuple" else (root,)
    elements = []
    for leaf, part in enumerate(parts):
        for _, number in _updated_leaves(part) if OVERWRITES in part.op.traits else ():
            source = part.operands[number]
            while source.op.name == "bitcast":
                source = source.operands[0]
            if source.op.name == "parameter":
                elements.append((leaf, source.immediate))
    return elements
