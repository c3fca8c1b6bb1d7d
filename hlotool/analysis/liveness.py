"""How much memory a schedule needs at once, and what for: XLA's buffer liveness, computed from the text.

A buffer is one array that some instruction defines; it lives from there to its last use, both included, as in XLA's own reports. Compilers
share more than is assumed here (an elementwise result may replace an operand that dies), and pad where a heap is fragmented. Nothing is
judged; in a module without schedule the textual order is a guess.
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
    """A buffer at the peak, by the instruction that defines it; `temporary` is what the computations that it calls need meanwhile."""

    instruction: Instruction
    bytes: int
    temporary: bool = False


class PeakMemory(Record):
    """The place in the entry computation where most is live, and what is live there, the largest first.

    `saved` are the bytes of results that overwrite parameters, as the header's `input_output_alias` allows.
    """

    bytes: int
    at: Instruction
    live: tuple[LiveBuffer, ...]
    saved: int


class _Buffer:
    """One array in memory while the schedule is gone through; parameters of called computations and results belong to the caller."""

    __slots__ = ("bytes", "first", "instruction", "last", "parameter_leaf")

    def __init__(self, instruction: Instruction, size: int, first: int, parameter_leaf: int = -1) -> None:
        self.instruction = instruction
        self.bytes = size
        self.first = self.last = first
        self.parameter_leaf = parameter_leaf


_Value = tuple[_Buffer, ...]
"""The buffers of a result, leaf by leaf."""


class _Summary(Record):
    """What a caller needs to know: the temporary bytes, and for each leaf of the result the parameter's leaf that it is, or -1."""

    temporary: int
    result: tuple[int, ...]


def peak_memory(module: Module, memory_space: int = 0) -> PeakMemory:
    """The most memory that the entry computation has in use at once, in one memory space.

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
    """The computations that the entry runs instruction by instruction, with buffers for each."""
    reached, pending = set[Computation](), [entry]
    while pending:
        for x in pending.pop().instructions:
            for called in x.called if RUNS_COMPUTATIONS in x.op.traits else ():
                if called not in reached:
                    reached.add(called)
                    pending.append(called)
    return reached


class _Sizes:
    """Sizes of leaves and places of elements, found out once for each shape; the module keeps its shapes alive."""

    def __init__(self, memory_space: int) -> None:
        self.memory_space = memory_space
        self._bytes: dict[int, list[int]] = {}
        self._starts: dict[int, list[int]] = {}

    def leaves(self, shape: Shape) -> list[int]:
        """Bytes of each leaf, 0 for those in other memory spaces."""
        sizes = self._bytes.get(id(shape))
        if sizes is None:
            sizes = self._bytes[id(shape)] = [self._leaf(leaf) for leaf in shape.leaves()]
        return sizes

    def _leaf(self, leaf: Shape) -> int:
        space = leaf.layout.memory_space if leaf.layout is not None else 0
        return array_bytes(leaf) if space == self.memory_space else 0

    def element(self, shape: Shape, index: int) -> slice:
        """Where the leaves of an element lie among those of its tuple."""
        starts = self._starts.get(id(shape))
        if starts is None:
            starts = self._starts[id(shape)] = [0, *accumulate(len(self.leaves(element)) for element in shape.elements)]
        return slice(starts[index], starts[index + 1]) if 0 <= index < len(starts) - 1 else slice(0, 0)


class _LivenessWalk:
    """Goes through one computation in order, and knows the buffers of every result."""

    def __init__(self, computation: Computation, sizes: _Sizes, summaries: dict[Computation, _Summary], *, is_entry: bool) -> None:
        self.computation = computation
        self.sizes = sizes
        self.summaries = summaries
        self.is_entry = is_entry
        self.users = users(computation)
        self.end = len(computation.instructions) - 1
        self.values: dict[Instruction, _Value] = {}
        self.buffers: list[_Buffer] = []
        # By place: bytes that called computations need while the instruction runs.
        self.temporary: dict[int, int] = {}
        # Asked for the arguments of a program, which live to its end unless they are donated.
        self.last_use: dict[_Buffer, int] = {}
        self._number_parameters()
        for place, x in enumerate(computation.instructions):
            self.values[x] = self._value(x, place)
        for buffer in self._of(computation.root):
            buffer.last = self.end

    def _number_parameters(self) -> None:
        self.first_leaf: dict[Instruction, int] = {}
        count = 0
        for parameter in self.computation.parameters:
            self.first_leaf[parameter] = count
            count += len(self.sizes.leaves(parameter.shape))

    def _of(self, x: Instruction) -> _Value:
        # Empty for what stands later than its use, as it may in modules that a program is changing.
        return self.values.get(x, ())

    def _made(self, x: Instruction, shape: Shape, place: int) -> _Value:
        """New buffers for a result, or a part of one."""
        value = tuple(_Buffer(x, size, place) for size in self.sizes.leaves(shape))
        self.buffers += value
        return value

    def _value(self, x: Instruction, place: int) -> _Value:
        opcode, traits = x.op.name, x.op.traits
        if opcode == "parameter":
            return self._parameter(x)
        if opcode == "get-tuple-element":
            tuple_ = x.operands[0]
            return self._of(tuple_)[self.sizes.element(tuple_.shape, x.attributes["index"])]
        self._use(x, place)
        if opcode == "tuple":
            return tuple(buffer for operand in x.operands for buffer in self._of(operand))
        if VIEW in traits:
            return self._of(x.operands[0])
        if x.op.gives is not None:
            return self._given(x, place, x.op.gives)
        if RUNS_COMPUTATIONS in traits:
            self.temporary[place] = max((self.summaries[c].temporary for c in x.called), default=0)
        if x.op.operands_at is not None:
            return self._start(x, place, x.op.operands_at)
        rule = _RULES.get(opcode)
        return rule(self, x, place) if rule is not None else self._made_or_overwritten(x, place)

    def _parameter(self, x: Instruction) -> _Value:
        first = self.first_leaf[x]
        value = tuple(_Buffer(x, size, 0, first + k) for k, size in enumerate(self.sizes.leaves(x.shape)))
        if self.is_entry:
            # The caller of a program may use its arguments again.
            for buffer in value:
                buffer.last = self.end
            self.buffers += value
        return value

    def _use(self, x: Instruction, place: int) -> None:
        read = list(x.operands)
        if x.op.done_of is not None:
            # What a start reads is read until its end.
            read += [source for operand in x.operands for source in operand.operands]
        for operand in read:
            for buffer in self._of(operand):
                buffer.last = max(buffer.last, place)
                self.last_use[buffer] = place

    def _given(self, x: Instruction, place: int, element: int) -> _Value:
        """What a done gives: an element of what was in flight, and tokens."""
        flying = x.operands[0]
        value = self._of(flying)[self.sizes.element(flying.shape, element)]
        missing = len(self.sizes.leaves(x.shape)) - len(value)
        return (*value, *(_Buffer(x, 0, place) for _ in range(missing)))

    def _start(self, x: Instruction, place: int, kept: int) -> _Value:
        """What is in flight: the operands where they are, and new buffers for the rest."""
        buffers = list[_Buffer]()
        operand_buffers = tuple(buffer for operand in x.operands for buffer in self._of(operand))
        for k, element in enumerate(x.shape.elements):
            # Of a transfer, the operands include a token.
            count = len(self.sizes.leaves(element))
            buffers += operand_buffers[:count] if k == kept else self._made(x, element, place)
        return tuple(buffers)

    def loop(self, x: Instruction, place: int) -> _Value:
        """The state is one set of buffers: before, while and after the loop runs."""
        return self._of(x.operands[0])

    def call(self, x: Instruction, place: int) -> _Value:
        """What the called computation gives: new buffers, or those of operands that it passes on."""
        operand_buffers = tuple(buffer for operand in x.operands for buffer in self._of(operand))
        summary = self.summaries[x.called[0]]
        results = self._made(x, x.shape, place)
        if len(summary.result) != len(results):
            return results
        return tuple(
            self._replaced(new, operand_buffers[leaf]) if 0 <= leaf < len(operand_buffers) else new
            for new, leaf in zip(results, summary.result, strict=True)
        )

    def _made_or_overwritten(self, x: Instruction, place: int) -> _Value:
        results = list(self._made(x, x.shape, place))
        for leaf, operand, operand_leaf in self._overwritten(x):
            if leaf < len(results) and operand_leaf < len(self._of(operand)):
                results[leaf] = self._replaced(results[leaf], self._of(operand)[operand_leaf])
        return tuple(results)

    def _replaced(self, new: _Buffer, old: _Buffer) -> _Buffer:
        """The old buffer in place of a new one, which then takes no memory."""
        new.bytes = 0
        return old

    def _overwritten(self, x: Instruction) -> list[tuple[int, Instruction, int]]:
        """Leaves of the result that are written over operands: by leaf, operand and its leaf."""
        pairs = []
        for pair in x.attributes.get("output_to_operand_aliasing", ()):
            if 0 <= pair.number < len(x.operands):
                operand = x.operands[pair.number]
                pairs.append((self._leaf_at(x.shape, pair.output_index), operand, self._leaf_at(operand.shape, pair.index)))
        if not pairs:
            pairs = [(leaf, x.operands[k], 0) for leaf, k in _updated(x) if k < len(x.operands) and self._dies(x.operands[k])]
        return pairs

    def _leaf_at(self, shape: Shape, index: Sequence[int]) -> int:
        place = 0
        for k, at in enumerate(index):
            part = subshape(shape, tuple(index[:k]))
            place += self.sizes.element(part, at).start if part is not None else 0
        return place

    def _dies(self, operand: Instruction) -> bool:
        """Whether nobody else uses an operand that this program may overwrite."""
        return len(self.users.get(operand, ())) == 1 and not (self.is_entry and operand.op.name == "parameter")

    def summary(self) -> _Summary:
        result = self._of(self.computation.root)
        mine = {id(buffer) for buffer in result}
        curve = self._curve([buffer for buffer in self.buffers if id(buffer) not in mine])
        return _Summary(max(curve, default=0), tuple(buffer.parameter_leaf for buffer in result))

    def _curve(self, buffers: list[_Buffer]) -> list[int]:
        """Live bytes at each place."""
        changes = [0] * (self.end + 2)
        for buffer in buffers:
            changes[buffer.first] += buffer.bytes
            changes[buffer.last + 1] -= buffer.bytes
        return [live + self.temporary.get(place, 0) for place, live in enumerate(accumulate(changes[:-1]))]

    def peak(self, module: Module) -> PeakMemory:
        saved = self._share_with_parameters(module)
        curve = self._curve(self.buffers)
        top = max(curve)
        place = curve.index(top)
        at = self.computation.instructions[place]
        live = [LiveBuffer(b.instruction, b.bytes) for b in self.buffers if b.bytes and b.first <= place <= b.last]
        if self.temporary.get(place):
            live.append(LiveBuffer(at, self.temporary[place], temporary=True))
        return PeakMemory(top, at, tuple(sorted(live, key=lambda b: -b.bytes)), saved)

    def _share_with_parameters(self, module: Module) -> int:
        """Lets donated parameters live until results take their place, and says how many bytes these need not find elsewhere."""
        root, parameters, saved = self.computation.root, self.computation.parameters, 0
        result = self._of(root)
        for pair in module.attributes.get("input_output_alias", ()):
            if not 0 <= pair.number < len(parameters):
                continue
            source, parameter = self._of(parameters[pair.number]), parameters[pair.number]
            leaf, place = self._leaf_at(root.shape, pair.output_index), self._leaf_at(parameter.shape, pair.index)
            if leaf >= len(result) or place >= len(source) or result[leaf] is source[place]:
                continue
            parameter, output = source[place], result[leaf]
            parameter.last = self.last_use.get(parameter, 0)
            if parameter.last <= output.first and parameter.bytes:
                # The result may take its place in the very instruction that reads it last.
                saved += output.bytes
                parameter.last = max(min(parameter.last, output.first - 1), 0)
        return saved


_RULES: dict[str, Callable[[_LivenessWalk, Instruction, int], _Value]] = {
    "while": _LivenessWalk.loop,
    "call": _LivenessWalk.call,
}


def _updated(x: Instruction) -> list[tuple[int, int]]:
    """Leaves of a result that are an operand with changes: by leaf and number of the operand."""
    if OVERWRITES in x.op.traits:
        return [(k, k) for k in range(len(x.shape.elements) if x.shape.is_tuple else 1)]
    if x.op.name != "fusion":
        return []
    root = x.called[0].root
    parts = root.operands if root.op.name == "tuple" else (root,)
    elements = []
    for leaf, part in enumerate(parts):
        for _, number in _updated(part) if OVERWRITES in part.op.traits else ():
            source = part.operands[number]
            while source.op.name == "bitcast":
                source = source.operands[0]
            if source.op.name == "parameter":
                elements.append((leaf, source.immediate))
    return elements
