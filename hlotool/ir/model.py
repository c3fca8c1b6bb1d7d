"""Module, Computation and Instruction: plain objects that refer to each other.

The parser and `ir.make` create them; `ir.edit.Rewriter` edits them and keeps uses, names and order
consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from typing import Any, ClassVar, NoReturn, Self

from hlotool.errors import Diagnostic, Source
from hlotool.ir.attributes import NO_ATTRIBUTES as NO_ATTRIBUTES
from hlotool.ir.attributes import AttributeSet as AttributeSet
from hlotool.ir.clone import clone_computation, clone_instruction, clone_module, module_from_state, set_field, state_of_module
from hlotool.ir.node import Node
from hlotool.ir.notes import Assignments, SourceNotes
from hlotool.literals.literal import Literal
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.inference import count
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.shapes.metadata import (
    Metadata,
    StackTables,
    decode_metadata,
    decode_stack_tables,
)
from hlotool.shapes.shape import ProgramShape, Shape

__all__ = ["NO_ATTRIBUTES", "AttributeSet", "Computation", "Instruction", "InstructionFields", "Module", "as_op_argument", "set_field"]

_parameter_number = attrgetter("immediate")
_decoded = lru_cache(maxsize=1024)(decode_metadata)


class InstructionFields(Node):
    """The fields of an instruction.

    Assigning a field of an Instruction runs Python code (`__setattr__`), which would make
    construction slow. So instructions are created as objects of this class, and their class is then
    changed to Instruction.
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


class Instruction(InstructionFields):
    """An instruction.

    `immediate` is the Literal of a constant or the number of a parameter; otherwise it is None.
    `metadata_text` and `backend_config` are the canonical texts of the metadata and of the backend
    configuration, or None if absent. `start` and `end` are offsets into the module's source, or -1
    for an instruction that is not in the source or has changed; the range may include spaces before
    the instruction.

    Fields can be assigned, and `to_text` prints the new values, but nothing else is updated. To
    edit a module, use a Rewriter.
    """

    __slots__ = ()
    fields_type: ClassVar[type[InstructionFields]] = InstructionFields

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        fields = InstructionFields(*args, **kwargs)
        fields.__class__ = cls
        return fields  # type: ignore[return-value]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: `__new__` sets the fields."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The printer must not copy the source text of an instruction that has changed.
        Assignments.last = object()
        set_field(self, name, value)
        set_field(self, "start", -1)
        set_field(self, "end", -1)

    def __copy__(self) -> Instruction:
        copy: Instruction = clone_instruction(self)
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Instruction:
        copy: Instruction = clone_instruction(self)
        return copy

    def __reduce__(self) -> NoReturn:
        raise TypeError("an instruction cannot be pickled by itself; pickle its module")

    @property
    def opcode(self) -> str:
        return self.op.name

    @property
    def called(self) -> tuple[Computation, ...]:
        """The computations that the instruction calls, in the order in which XLA stores them.

        >>> from hlotool.text.parse.parser import parse
        >>> module = parse("f { ROOT x = f32[] parameter(0) }  ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }")
        >>> module.entry.root.called
        (<computation f with 1 instruction>,)
        """
        names = self.op.calls
        if not names:
            return ()
        called: list[Computation] = []
        for name in names:
            value = self.attributes.get(name)
            if isinstance(value, Computation):
                called.append(value)
            elif isinstance(value, tuple):
                called.extend(value)
        return tuple(called)

    @property
    def control_predecessors(self) -> tuple[Instruction, ...]:
        """The instructions that must run before this one, in addition to its operands."""
        predecessors: tuple[Instruction, ...] = self.attributes.get("control-predecessors", ())
        return predecessors

    @property
    def literal(self) -> Literal | None:
        """The value of a constant, or None for other opcodes."""
        return self.immediate if self.op.name == "constant" else None

    @property
    def parameter_number(self) -> int | None:
        """The number of a parameter, or None for other opcodes."""
        return self.immediate if self.op.name == "parameter" else None

    @property
    def metadata(self) -> Metadata | None:
        """The decoded `metadata={...}`, or None if absent.

        Decoding takes about 10 microseconds. The last 1024 results are cached, so that reading
        several fields decodes the metadata only once.
        """
        return None if self.metadata_text is None else _decoded(self.metadata_text)

    def users(self, computation: Computation) -> tuple[Instruction, ...]:
        """Returns the instructions of the computation that have this one as an operand.

        The users are in textual order. Each call searches the whole computation. For many
        instructions, use `analysis.users.users`, or `Rewriter.users` during edits.
        """
        return tuple([x for x in computation.instructions if self in x.operands])

    def __repr__(self) -> str:
        return f"<{self.name} = {self.shape} {self.op.name}>"


class Computation(Node):
    """A computation: instructions in textual order, which is the schedule in a scheduled module.

    Called computations belong to the module; the `called` property of an instruction refers to
    them.
    """

    __slots__ = ("end", "execution_thread", "instructions", "name", "root", "start")

    def __init__(self, name: str, start: int = -1) -> None:
        self.name = name
        self.instructions: list[Instruction] = []
        self.root: Instruction = None  # type: ignore[assignment]  # set when the computation is closed
        self.execution_thread = "main"
        self.start = start
        self.end = -1

    def __getitem__(self, name: str) -> Instruction:
        """Returns the instruction with this name. Raises KeyError if there is none.

        >>> from hlotool.text.parse.parser import parse
        >>> parse("ENTRY e { ROOT p = f32[2] parameter(0) }").entry["p"]
        <p = f32[2]{0} parameter>
        """
        for x in self.instructions:
            if x.name == name:
                return x
        raise KeyError(f"no instruction named '{name}' in computation '{self.name}'")

    def __contains__(self, x: object) -> bool:
        """Returns whether the computation contains this instruction, or one with this name."""
        return any(other is x or other.name == x for other in self.instructions)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)

    def __bool__(self) -> bool:
        """Returns True, even for a computation without instructions."""
        return True

    def __copy__(self) -> Computation:
        copy: Computation = clone_computation(self)
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Computation:
        copy: Computation = clone_computation(self)
        return copy

    def __reduce__(self) -> NoReturn:
        raise TypeError("a computation cannot be pickled by itself; pickle its module")

    @property
    def parameters(self) -> list[Instruction]:
        """The parameters, sorted by number."""
        return sorted([x for x in self.instructions if x.op.name == "parameter"], key=_parameter_number)

    @property
    def program_shape(self) -> ProgramShape:
        """The shapes of the parameters and of the result."""
        return ProgramShape(tuple(p.shape for p in self.parameters), self.root.shape)

    def __repr__(self) -> str:
        return f"<computation {self.name} with {count(len(self.instructions), 'instruction')}>"


def as_op_argument(value: Any, program_shape: Callable[[Computation], ProgramShape]) -> Any:
    """Converts an attribute's value to the form that op definitions take.

    Replaces called computations with their program shapes.
    """
    if isinstance(value, Computation):
        return program_shape(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Computation):
        return tuple(map(program_shape, value))
    return value


class Module:
    """An HLO module.

    `attributes` holds the header attributes by their names in HLO text; each can also be read as a
    field, as in `module.replica_count`. `hidden` holds the computations that are implied by async
    syntactic sugar such as `negate-start`. These computations are not printed.
    """

    def __init__(self, name: str, source: Source | None = None) -> None:
        self.name = name
        self.source = source
        self.computations: list[Computation] = []
        self.entry: Computation = None  # type: ignore[assignment]  # set when the module is closed
        self.attributes: dict[str, Any] = {}
        # Offsets of the header attributes in the source, for messages.
        self.attribute_starts: dict[str, int] = {}
        self.stack_tables_text: str | None = None
        self.diagnostics: list[Diagnostic] = []
        self.hidden: set[Computation] = set()
        self.notes: SourceNotes[Computation, Instruction] = SourceNotes()

    def __copy__(self) -> Module:
        copy: Module = clone_module(self)
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Module:
        copy: Module = clone_module(self)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return module_from_state, (state_of_module(self),)

    @property
    def is_scheduled(self) -> bool:
        """True if the textual order of instructions is their schedule."""
        return bool(self.attributes.get("is_scheduled", False))

    @property
    def stack_tables(self) -> StackTables | None:
        """The decoded stack frame tables (FileNames to StackFrames), or None if there are none."""
        return None if self.stack_tables_text is None else decode_stack_tables(self.stack_tables_text)

    def __getattr__(self, name: str) -> Any:
        # Python calls this method only for names that are not fields, such as header attributes.
        spec = MODULE_ATTRIBUTES.get(name)
        if spec is not None:
            return self.attributes.get(name, spec.default)
        raise AttributeError(f"a module has no attribute {name!r}")

    def computation(self, name: str) -> Computation:
        """Returns the computation with this name. Raises KeyError if there is none.

        >>> from hlotool.text.parse.parser import parse
        >>> parse("ENTRY e { ROOT p = f32[2] parameter(0) }").computation("e")
        <computation e with 1 instruction>
        """
        for computation in self.computations:
            if computation.name == name:
                return computation
        raise KeyError(f"no computation named '{name}' in module '{self.name}'")

    def all_instructions(self) -> Iterator[Instruction]:
        """Yields all instructions of all computations, in textual order."""
        for computation in self.computations:
            yield from computation.instructions

    def __str__(self) -> str:
        """Returns the text of the module, as `hlotool.to_text` prints it."""
        # Imported here, since the printer is in a higher layer.
        text: str = import_module("hlotool").to_text(self)
        return text

    def _repr_html_(self) -> str:
        """Returns a summary and the text of the module as colored HTML, for notebooks."""
        html: str = import_module("hlotool.syntax.html").notebook_html(self)
        return html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Returns the module for rich display in notebooks, with a plain-text fallback."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __repr__(self) -> str:
        """Returns the module's name and number of computations.

        >>> from hlotool.text.parse.parser import parse
        >>> parse("HloModule m\\nENTRY e { ROOT p = f32[2] parameter(0) }")
        <module m with 1 computation>
        """
        return f"<module {self.name} with {count(len(self.computations), 'computation')}>"
