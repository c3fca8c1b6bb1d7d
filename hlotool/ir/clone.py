"""Copies of modules, computations and instructions, and the pickled form of modules.

A copy shares shapes, literals and op definitions with the original; its instructions and
computations are new. Nothing here recurses, because chains of operands can be deeper than Python's
stack. Since `ir.model` imports this module, classes are taken from the objects to copy.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from hlotool.ir.attributes import AttributeSet
from hlotool.ir.node import Node
from hlotool.opdefs.table import definition_of

# The classes are in `ir.model`, which imports this module.
Computation: TypeAlias = Any
Instruction: TypeAlias = Any
Module: TypeAlias = Any

__all__ = ["ModuleState", "clone_computation", "clone_instruction", "clone_module", "module_from_state", "replace_nodes", "state_of_module"]

set_field = object.__setattr__
"""Sets a field of an instruction without resetting its offsets in the source."""


def clone_instruction(x: Instruction) -> Instruction:
    """Copies an instruction; the copy has the same operands and belongs to no computation."""
    copy = x.fields_type(x.name, x.op, x.shape, x.operands, x.attributes, x.immediate, x.metadata_text, x.backend_config, x.start, x.end)
    copy.__class__ = type(x)
    return copy


def clone_computation(computation: Computation, name: str | None = None) -> Computation:
    """Copies a computation and its instructions; the copy belongs to no module.

    The copy calls the same computations as the original.

    >>> from hlotool.text.parse.parser import parse
    >>> clone_computation(parse("ENTRY e { ROOT p = f32[2] parameter(0) }").entry, "e.clone")
    <computation e.clone with 1 instruction>
    """
    copies = _Copies({computation: _empty_copy(computation, name or computation.name)})
    copies.fill()
    return copies.computations[computation]


def clone_module(module: Module) -> Module:
    """Returns a copy of a module with all its computations and instructions.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { ROOT p = f32[2] parameter(0) }")
    >>> copy = clone_module(module)
    >>> copy.entry.root.shape is module.entry.root.shape, copy.entry.root is module.entry.root
    (True, False)
    """
    copies = _Copies({computation: _empty_copy(computation, computation.name) for computation in module.computations})
    copies.fill()
    copy = type(module)(module.name, module.source)
    copy.computations = [copies.computations[computation] for computation in module.computations]
    copy.entry = copies.computations.get(module.entry, module.entry)
    copy.attributes = dict(module.attributes)
    copy.attribute_starts = dict(module.attribute_starts)
    copy.stack_tables_text = module.stack_tables_text
    copy.diagnostics = list(module.diagnostics)
    copy.hidden = {copies.computations[computation] for computation in module.hidden}
    copy.notes = module.notes.mapped(copies.node, copies.attribute_set)
    return copy


def _empty_copy(computation: Computation, name: str) -> Computation:
    copy = type(computation)(name, computation.start)
    copy.execution_thread = computation.execution_thread
    copy.end = computation.end
    return copy


class _Copies:
    """Copies of some computations and their instructions.

    Copied computations and instructions are keyed by the original, and copied attribute sets by
    the id of the original.
    """

    def __init__(self, computations: dict[Computation, Computation]) -> None:
        self.computations = computations
        self.instructions: dict[Instruction, Instruction] = {}
        self.attributes: dict[int, AttributeSet] = {}

    def fill(self) -> None:
        """Copies the instructions; references to objects outside the computations are unchanged."""
        instructions = self.instructions
        for computation, copy in self.computations.items():
            copy.instructions = list(map(clone_instruction, computation.instructions))
            instructions.update(zip(computation.instructions, copy.instructions, strict=True))
            copy.root = instructions.get(computation.root, computation.root)
        get, sets = instructions.get, self.attributes
        for original, x in instructions.items():
            operands, attributes = original.operands, original.attributes
            if operands:
                set_field(x, "operands", tuple(map(get, operands, operands)))
            if attributes:
                new = sets.get(id(attributes)) or self.attribute_set(attributes)
                if new is not attributes:
                    set_field(x, "attributes", new)

    def attribute_set(self, attributes: AttributeSet) -> AttributeSet:
        copy = self.attributes.get(id(attributes))
        if copy is None:
            values = {name: replace_nodes(value, Node, self.node) for name, value in attributes.items()}
            is_same = all(values[name] is value for name, value in attributes.items())
            copy = self.attributes[id(attributes)] = attributes if is_same else type(attributes)(values)
        return copy

    def node(self, original: Any) -> Any:
        return self.computations.get(original) or self.instructions.get(original, original)


class _NodeReference(NamedTuple):
    """A reference that stands for a node in pickled attributes: its number in textual order."""

    is_computation: bool
    number: int


class ModuleState(NamedTuple):
    """The state that pickle stores for a module: flat tables, so that pickling does not recurse.

    A row of `computations` holds the name, thread, start and end, the number of the first
    instruction, one more than the number of the last, and the number of the root. A row of
    `instructions` holds the arguments of Instruction, with the opcode in place of its definition,
    and numbers in place of operands and attributes.
    """

    types: tuple[type[Module], type[Computation], type[Instruction], type[AttributeSet]]
    header: dict[str, Any]
    computations: list[tuple[Any, ...]]
    instructions: list[tuple[Any, ...]]
    attributes: list[dict[str, Any]]
    entry: int
    hidden: list[int]
    notes: Any


_HEADER = ("name", "source", "attributes", "attribute_starts", "stack_tables_text", "diagnostics")


def state_of_module(module: Module) -> ModuleState:
    """Returns the state of a module; `module_from_state` builds an equal module from it."""
    computations = {computation: k for k, computation in enumerate(module.computations)}
    instructions = {x: k for k, x in enumerate(module.all_instructions())}
    references: dict[Any, Any] = {node: _NodeReference(True, k) for node, k in computations.items()} | {
        node: _NodeReference(False, k) for node, k in instructions.items()
    }
    sets: dict[int, int] = {}
    attributes: list[dict[str, Any]] = []

    def number_of(values: AttributeSet) -> int:
        number = sets.get(id(values))
        if number is None:
            attributes.append({name: replace_nodes(value, Node, references.__getitem__) for name, value in values.items()})
            number = sets[id(values)] = len(attributes) - 1
        return number

    def number_in_notes(values: AttributeSet) -> int | None:
        # Attributes in notes get no number if they refer to a computation that has been erased.
        with suppress(KeyError):
            return number_of(values)
        return None

    rows = []
    for x in instructions:
        operands = tuple([instructions[operand] for operand in x.operands])
        rows.append((x.name, x.op.name, x.shape, operands, number_of(x.attributes), x.immediate, x.metadata_text, x.backend_config, x.start, x.end))
    extents, first = [], 0
    for c in module.computations:
        last = first + len(c.instructions)
        extents.append((c.name, c.execution_thread, c.start, c.end, first, last, instructions[c.root]))
        first = last
    any_computation, any_instruction = module.entry, module.entry.root
    types = type(module), type(any_computation), type(any_instruction), type(any_instruction.attributes)
    header = {name: getattr(module, name) for name in _HEADER}
    notes = module.notes.mapped(references.get, number_in_notes)
    return ModuleState(types, header, extents, rows, attributes, computations[module.entry], sorted(computations[c] for c in module.hidden), notes)


def module_from_state(state: ModuleState) -> Module:
    """Returns a new module built from a state."""
    make_module, make_computation, make_instruction, make_attributes = state.types
    module = make_module(state.header["name"])
    for name, value in state.header.items():
        setattr(module, name, value)
    computations = [make_computation(name, start) for name, _, start, *_ in state.computations]
    instructions = [make_instruction(name, definition_of(opcode), shape, ()) for name, opcode, shape, *_ in state.instructions]

    def node(reference: Any) -> Any:
        return (computations if reference.is_computation else instructions)[reference.number]

    sets = [make_attributes({name: replace_nodes(value, _NodeReference, node) for name, value in values.items()}) for values in state.attributes]
    for x, (_, _, _, operands, number, *rest) in zip(instructions, state.instructions, strict=True):
        values = (tuple([instructions[k] for k in operands]), sets[number], *rest)
        for field, value in zip(_LINKED_FIELDS, values, strict=True):
            set_field(x, field, value)
    for computation, (_, thread, _, end, first, last, root) in zip(computations, state.computations, strict=True):
        computation.execution_thread, computation.end = thread, end
        computation.instructions, computation.root = instructions[first:last], instructions[root]
    module.computations, module.entry = computations, computations[state.entry]
    module.hidden = {computations[k] for k in state.hidden}
    module.notes = state.notes.mapped(node, sets.__getitem__)
    return module


_LINKED_FIELDS = ("operands", "attributes", "immediate", "metadata_text", "backend_config", "start", "end")


def replace_nodes(value: Any, kind: type, replacement: Callable[[Any], Any]) -> Any:
    """Returns an attribute's value with every object of the class `kind` replaced.

    `kind` is the class of nodes or the class of references to nodes.
    """
    if isinstance(value, kind):
        return replacement(value)
    if isinstance(value, tuple) and value and isinstance(value[0], kind):
        return tuple([replacement(part) for part in value])
    return value
