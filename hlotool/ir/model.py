"""Module, Computation and Instruction: plain slotted objects that everybody reads and few may change.

Instructions are made by `text.parse.builder` (and later by the builder and rewriter packages); nothing else assigns their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hlotool.errors import Diagnostic, Source
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.shapes.literal import Literal
from hlotool.shapes.metadata import (
    Metadata,
    StackTables,
    decode_metadata,
    decode_stack_tables,
)
from hlotool.shapes.shape import ProgramShape, Shape

__all__ = ["NO_ATTRIBUTES", "AttributeSet", "Computation", "Instruction", "Module", "as_written", "seen_by_ops"]


class AttributeSet(dict[str, Any]):
    """The attributes of an instruction by text name, with what they refer to.

    Equal texts share one object, so it is never changed in place. `pending` says that the parser must still complete it for each
    instruction; `spelling` is its source text where the fast path read it; `written` are the attributes, metadata and backend
    configuration that the text gave, where XLA has put others in their place.
    """

    __slots__ = ("called", "control_predecessors", "pending", "spelling", "written")

    def __init__(self, values: dict[str, Any], called: tuple[Computation, ...] = (), control_predecessors: tuple[Instruction, ...] = ()) -> None:
        super().__init__(values)
        self.called = called
        self.control_predecessors = control_predecessors
        self.pending = False
        self.spelling: str | None = None
        self.written: tuple[AttributeSet, str | None, str | None] | None = None


NO_ATTRIBUTES = AttributeSet({})


class Instruction:
    """One instruction.

    `immediate` is the Literal of a constant and the number of a parameter, else None; `metadata_text` and `backend_config`
    keep the canonical spelling of these two, None when absent. `start` and `end` are offsets into the module's source
    (leading whitespace of its line included), -1 when it has none.
    """

    __slots__ = ("attributes", "backend_config", "end", "immediate", "metadata_text", "name", "op", "operands", "shape", "start")

    def __init__(
        self,
        name: str,
        op: OpDef,
        shape: Shape,
        operands: Sequence[Instruction],
        attributes: AttributeSet = NO_ATTRIBUTES,
        immediate: Any = None,
        metadata_text: str | None = None,
        backend_config: str | None = None,
        start: int = -1,
        end: int = -1,
    ) -> None:
        self.name = name
        self.op = op
        self.shape = shape
        self.operands = operands
        self.attributes = attributes
        self.immediate = immediate
        self.metadata_text = metadata_text
        self.backend_config = backend_config
        self.start = start
        self.end = end

    @property
    def opcode(self) -> str:
        return self.op.name

    @property
    def called(self) -> tuple[Computation, ...]:
        """The computations that its attributes name, in the order in which XLA stores them."""
        return self.attributes.called

    @property
    def control_predecessors(self) -> tuple[Instruction, ...]:
        return self.attributes.control_predecessors

    @property
    def literal(self) -> Literal | None:
        """The value of a constant."""
        return self.immediate if self.op.name == "constant" else None

    @property
    def parameter_number(self) -> int | None:
        return self.immediate if self.op.name == "parameter" else None

    @property
    def metadata(self) -> Metadata | None:
        """The decoded `metadata={...}`; decoded anew at each call, since few ever ask."""
        return None if self.metadata_text is None else decode_metadata(self.metadata_text)

    def __repr__(self) -> str:
        return f"<{self.name} = {self.shape} {self.op.name}>"


def as_written(x: Instruction) -> Instruction:
    """The instruction with the annotations of its text, where XLA has replaced them; itself otherwise."""
    if x.attributes.written is None:
        return x
    attributes, metadata_text, backend_config = x.attributes.written
    return Instruction(x.name, x.op, x.shape, x.operands, attributes, x.immediate, metadata_text, backend_config, x.start, x.end)


class Computation:
    """A named list of instructions in textual order, which is the schedule when the module is scheduled."""

    __slots__ = ("end", "execution_thread", "instructions", "name", "printed_span", "root", "start")

    def __init__(self, name: str, start: int = -1) -> None:
        self.name = name
        self.instructions: list[Instruction] = []
        self.root: Instruction = None  # type: ignore[assignment]  # set when the computation is closed
        self.execution_thread = "main"
        self.start = start
        self.end = -1
        # Where the source has all instructions as the lossless print would write them, attributes aside; whoever changes one clears it.
        self.printed_span: tuple[int, int] | None = None

    @property
    def parameters(self) -> list[Instruction]:
        """The parameter instructions by number."""
        found = [x for x in self.instructions if x.op.name == "parameter"]
        return sorted(found, key=lambda x: x.immediate)

    @property
    def program_shape(self) -> ProgramShape:
        return ProgramShape(tuple(p.shape for p in self.parameters), self.root.shape)

    def __repr__(self) -> str:
        return f"<computation {self.name} with {len(self.instructions)} instructions>"


def seen_by_ops(value: Any, program_shape: Callable[[Computation], ProgramShape]) -> Any:
    """An attribute's value as op definitions may see it: called computations become their program shapes."""
    if isinstance(value, Computation):
        return program_shape(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Computation):
        return tuple(map(program_shape, value))
    return value


class Module:
    """A parsed or built HLO module: `attributes` are the header's, by text name; header attributes read as fields too.

    `hidden` holds the one-instruction computations that async sugar (`negate-start`) stands for.
    """

    def __init__(self, name: str, source: Source | None = None) -> None:
        self.name = name
        self.source = source
        self.computations: list[Computation] = []
        self.entry: Computation = None  # type: ignore[assignment]  # set when the module is closed
        self.attributes: dict[str, Any] = {}
        # Where the source has the header's attributes, for messages about them.
        self.attribute_starts: dict[str, int] = {}
        self.stack_tables_text: str | None = None
        self.diagnostics: list[Diagnostic] = []
        self.hidden: set[Computation] = set()
        self.fast_count = 0

    @property
    def is_scheduled(self) -> bool:
        return bool(self.attributes.get("is_scheduled", False))

    @property
    def stack_tables(self) -> StackTables | None:
        """The decoded FileNames .. StackFrames tables, None when the text has none."""
        return None if self.stack_tables_text is None else decode_stack_tables(self.stack_tables_text)

    def __getattr__(self, name: str) -> Any:
        # Reached only for names that are not fields: the header attributes that the text may leave out.
        spec = MODULE_ATTRIBUTES.get(name)
        if spec is not None:
            return self.attributes.get(name, spec.default)
        raise AttributeError(f"a module has no attribute {name!r}")

    def all_instructions(self) -> Iterator[Instruction]:
        """Every instruction of every computation, in textual order."""
        for computation in self.computations:
            yield from computation.instructions

    def __repr__(self) -> str:
        return f"<module {self.name} with {len(self.computations)} computations>"
