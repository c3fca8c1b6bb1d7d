"""Python statements that build instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from hlotool.builder.source.arguments import generic_calls, natural_calls
from hlotool.builder.source.calls import Call
from hlotool.builder.source.literals import constant_arguments
from hlotool.builder.source.trial import ANNOTATIONS, Trial
from hlotool.builder.source.values import CodeWriter, attribute_value, fill_marks, shape_text
from hlotool.builder.texts import as_attribute
from hlotool.errors import HlotoolError, Violation
from hlotool.ir.model import Instruction
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.record import Record
from hlotool.shapes.strings import unquote

__all__ = ["InstructionCode", "used_instructions"]

Step = tuple[str, tuple[str, ...]]
"""A method name and the code of the arguments, in which marks stand for operands."""


class _Form(Record):
    """The calls that build an instruction, without its name and metadata."""

    call: Step
    layout: tuple[Step, ...]
    annotations: tuple[str, ...]


class InstructionCode:
    """The code for the instructions of a module, computed once per kind of instruction."""

    def __init__(self, trial: Trial, writer: CodeWriter) -> None:
        self._trial = trial
        self._writer = writer
        self._forms: dict[tuple[Any, ...], _Form] = {}

    def steps(self, x: Instruction, name: str | None, variables: Mapping[Instruction, str]) -> list[Step]:
        """Returns the calls that build an instruction, in order.

        `name` is None if the builder chooses the right name by default.
        """
        if x.op.name == "parameter":
            call, name = self._parameter(x, name), None
            form = _Form(call, (), self._annotations(x, None))
        elif x.op.name == "constant":
            form = _Form((".constant", self._arguments(Call("", constant_arguments(x.immediate)))), (), self._annotations(x, None))
        else:
            form = self._form(x)
        steps = [(form.call[0], tuple([fill_marks(code, x.operands, variables) for code in form.call[1]]))]
        if name is not None:
            steps.append((".named", (self._writer.code(name),)))
        steps += form.layout
        annotations = form.annotations
        if x.metadata_text is not None:
            annotations = (*annotations, f"metadata={self._writer.code(x.metadata_text)}")
        if annotations:
            steps.append((".annotated", annotations))
        return steps

    def _form(self, x: Instruction) -> _Form:
        # The ids stay valid because the objects live as long as the module.
        key = (x.op, id(x.attributes), x.backend_config, id(x.shape), *[id(operand.shape) for operand in x.operands])
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = self._find_form(x)
        return form

    def _find_form(self, x: Instruction) -> _Form:
        for call in chain(natural_calls(x), generic_calls(x)):
            built = self._trial.build(call, x)
            if built is not None:
                layout = () if built.shape == x.shape else ((".with_layout", (self._writer.code(x.shape.text),)),)
                return _Form((f".{call.method}", self._arguments(call)), layout, self._annotations(x, built))
        raise HlotoolError(f"builders cannot create '{x.name}' (opcode '{x.op.name}', result {x.shape.text})")

    def _arguments(self, call: Call) -> tuple[str, ...]:
        return tuple([f"{name}={self._writer.code(value)}" if name else self._writer.code(value) for name, value in call.arguments])

    def _parameter(self, x: Instruction, name: str | None) -> Step:
        arguments: list[Any] = [("", x.immediate), ("", shape_text(x.shape))]
        if name is not None:
            arguments.append(("", name))
        replication = x.attributes.get("parameter_replication")
        if replication is not None:
            arguments.append(("parameter_replication", list(replication)))
        return ".parameter", self._arguments(Call("parameter", tuple(arguments)))

    def _annotations(self, x: Instruction, built: Instruction | None) -> tuple[str, ...]:
        """Returns the arguments of `annotated`, except for annotations that `built` already has."""
        own = {} if built is None else built.attributes
        parts = []
        for name in ANNOTATIONS:
            value = x.attributes.get(name)
            if value is not None and value != own.get(name):
                parts.append(f"{name}={self._writer.code(_annotation_value(name, value, x.shape.text))}")
        if x.backend_config is not None and (built is None or built.backend_config is None):
            parts.append(f"backend_config={self._writer.code(configuration_value(x.backend_config))}")
        return tuple(parts)


def _annotation_value(name: str, value: Any, shape: str) -> Any:
    """Returns an annotation in a form that `annotate` accepts.

    The form is HLO text, or the value itself for dictionaries and for text that cannot be read
    back.
    """
    if isinstance(value, dict):
        return value
    text = attribute_value(COMMON_ATTRIBUTES[name].kind, value)
    with suppress(Violation):
        if as_attribute(name, text, None, shape) == value:
            return text
    return value


def configuration_value(text: str) -> str:
    """Returns the value of a backend configuration, given its text: strings are unquoted.

    >>> configuration_value('{"a":1}'), configuration_value('"a b"')
    ('{"a":1}', 'a b')
    """
    return unquote(text) if text.startswith('"') else text


def used_instructions(instructions: Sequence[Instruction]) -> set[Instruction]:
    """Returns the instructions that other statements refer to."""
    used: set[Instruction] = set()
    for x in instructions:
        used.update(x.operands)
        if x.control_predecessors:
            used.update(x.control_predecessors, (x,))
    return used
