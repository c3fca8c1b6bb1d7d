"""Trial calls to builder methods, which show whether a call rebuilds an instruction."""

from __future__ import annotations

from typing import Any

from hlotool.builder.builder import Builder
from hlotool.builder.emitter import is_default
from hlotool.builder.op import Op
from hlotool.builder.source.calls import Call
from hlotool.builder.source.values import fill_slots
from hlotool.errors import BuilderError
from hlotool.ir.model import Instruction, Module
from hlotool.opdefs.common import COMMON_ATTRIBUTES

__all__ = ["ANNOTATIONS", "Trial"]

ANNOTATIONS = tuple(name for name in COMMON_ATTRIBUTES if name not in ("parameter_replication", "control-predecessors", "metadata", "backend_config"))
"""The attributes that `Builder.annotate` sets, except for metadata and `backend_config`."""


class _TrialBuilder(Builder):
    """A builder that does not annotate the computations that its instructions call."""

    def _annotate_wrapped(self, x: Instruction) -> None:
        """Does nothing, because the computation belongs to the module that is being written."""


class Trial:
    """A builder that builds copies of a module's instructions on trial, and does not keep them.

    The trial instructions use the operands and the called computations of the module.
    """

    def __init__(self, module: Module) -> None:
        self._builder = _TrialBuilder("trial", source_lines=False)
        self._builder._state.computations.update(dict.fromkeys(module.computations))
        self.modes = self._builder._state.modes

    def build(self, call: Call, x: Instruction) -> Instruction | None:
        """Returns the instruction that a call builds from the operands of `x`.

        Returns None if the call fails, or if the instruction differs from `x` in more than its
        name, layout and annotations.
        """
        builder = self._builder

        def operand(number: int) -> Op:
            return Op(builder, x.operands[number])

        try:
            arguments = [fill_slots(value, operand) for value in call.positional]
            named = {name: fill_slots(value, operand) for name, value in call.named.items()}
            result: Any = getattr(builder, call.method)(*arguments, **named)
        except (BuilderError, IndexError):
            # The arguments are wrong, or the method takes more operands than `x` has.
            return None
        finally:
            instructions = list(builder._instructions)
            builder._instructions.clear()
        if not isinstance(result, Op) or instructions != [result.instruction]:
            return None
        return result.instruction if _matches(result.instruction, x) else None


def _matches(built: Instruction, x: Instruction) -> bool:
    return (
        built.op is x.op
        and built.operands == tuple(x.operands)
        and (built.shape == x.shape or built.shape.text_without_layout == x.shape.text_without_layout)
        and _own_attributes(built) == _own_attributes(x)
        and all(name in x.attributes for name in ANNOTATIONS if name in built.attributes)
        and (built.backend_config is None or built.backend_config == x.backend_config)
    )


def _own_attributes(x: Instruction) -> dict[str, Any]:
    """Returns the opcode-specific attributes, except for defaults and those that are derived."""
    op, operands = x.op, tuple([operand.shape for operand in x.operands])
    own: dict[str, Any] = {}
    for name, spec in op.attributes.items():
        value = x.attributes.get(name)
        # Empty groups and dimensions count as defaults, although the printer always writes them.
        is_empty = spec.default == () and not value
        if not (is_empty or name in op.derived or is_default(op, name, value, operands)):
            own[name] = value
    return own
