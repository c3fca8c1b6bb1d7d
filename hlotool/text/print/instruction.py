"""Prints one instruction with any print options."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from hlotool.ir.model import AttributeSet, Computation, Instruction, Module
from hlotool.literals.literal import Literal, abbreviated
from hlotool.literals.print import literal_text, xla_literal_text
from hlotool.opdefs.base import CALLED_KINDS, CONTINUED, AttributeSpec, OpDef
from hlotool.opdefs.codecs.base import WriteStyle
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.table import CODECS, OPS
from hlotool.opdefs.traits import CONTROL_FLOW
from hlotool.record import replace
from hlotool.shapes.metadata import Metadata, decode_metadata
from hlotool.shapes.shape import Shape
from hlotool.shapes.strings import printed_string, unquote
from hlotool.shapes.values import Raw
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.stack_frames import FRAME_ID, RenumberedFrames, innermost_location

__all__ = ["DROPPED_KINDS", "InstructionWriter", "OwnNames", "is_wrapper", "original_instruction", "typed_literal_text"]

# XLA parses attributes of these kinds but then drops them, so its own output may not parse.
DROPPED_KINDS = frozenset({"CollectiveMode", "IgnoredDims"})
_COMMON_ORDER = ("sharding", "frontend_attributes", "control-predecessors", "statistics")
# A field of backend configurations. If the field is empty, XLA removes it with a regular expression
# like this one.
_QUEUES = '"wait_on_operation_queues"'
_EMPTY_QUEUES = re.compile(_QUEUES + r"[ \t\n\f\r]*:[ \t\n\f\r]*\[[ \t\n\f\r]*\][ \t\n\f\r]*,")
_MAX_COMPACT_OPERANDS = 4
_MAX_ESSENTIAL_ELEMENTS = 500_000


class OwnNames(dict[Any, str]):
    """A mapping from each instruction and computation to its own name."""

    def __missing__(self, node: Instruction | Computation) -> str:
        return node.name


class InstructionWriter:
    """A printer of the instructions of one module.

    `names` and `computation_names` contain the names to print; `body` prints a called computation
    at an indentation level.
    """

    def __init__(
        self,
        module: Module,
        options: PrintOptions,
        names: dict[Instruction, str],
        computation_names: dict[Computation, str],
        frames: RenumberedFrames | None,
        body: Callable[[Computation, int], str],
    ) -> None:
        self.module = module
        self.options = options
        self.names = names
        self.computation_names = computation_names
        self.frames = frames
        self.body = body
        self.percent = "%" if options.print_percent else ""
        self.style = WriteStyle(
            exact=options.lossless,
            percent=options.print_percent,
            metadata=options.print_metadata,
            metadata_only_op_name=options.print_metadata_only_op_name,
            full_replica_groups=options.print_full_replica_group_list,
            without_subaxes=options.print_replica_groups_without_subaxes,
        )
        # Canonical names (`tmp_0`) of the instructions of the current computation.
        self.canonical: dict[Instruction, str] = {}
        # The get-tuple-elements of the current computation that are printed as operand suffixes
        # (`t#1`).
        self.compacted: dict[Instruction, tuple[Instruction, str]] = {}

    @classmethod
    def with_own_names(cls, module: Module, options: PrintOptions, names: dict[Instruction, str] | None = None) -> InstructionWriter:
        """Returns a writer that keeps all names except those of the instructions in `names`.

        The writer does not print the bodies of called computations.
        """
        return cls(module, options, names or OwnNames(), OwnNames(), None, lambda computation, level: computation.name)

    # ---- names and shapes -----------------------------------------------------------------------

    def name(self, x: Instruction) -> str:
        suffix = ""
        if x in self.compacted:
            x, suffix = self.compacted[x]
        if x in self.canonical:
            return self.canonical[x] + suffix
        name = self.names[x]
        return self.percent + (name if self.options.print_ids else name.partition(".")[0]) + suffix

    def computation_name(self, computation: Computation) -> str:
        return self.percent + self.computation_names[computation]

    def shape(self, shape: Shape) -> str:
        return shape.text if self.options.include_layout_in_shapes else shape.text_without_layout

    # ---- the line -------------------------------------------------------------------------------

    def write(self, x: Instruction, *, is_root: bool, level: int) -> str:
        """Returns `%name = shape opcode(operands), attributes`, without indentation or line end."""
        wrapped = self.wrapped_instruction(x)
        parts = ["ROOT " if is_root else "", self.name(x), " = "]
        if self.options.print_result_shape:
            parts += [self.shape(x.shape), " "]
        opcode = x.op.name
        if wrapped is not None:
            opcode = f"{wrapped.op.name}-{opcode.partition('-')[2]}"
        parts += [opcode, "(", self.operands(x), ")"]
        if wrapped is not None and x.op.name == "async-start":
            parts += self._sugared_attributes(x, wrapped, level)
        else:
            parts += self.attributes_of(x, level=level, skip_called=wrapped is not None)
        return "".join(parts)

    def attributes_of(self, x: Instruction, *, level: int = 0, skip_called: bool = False) -> list[str]:
        """Returns all attributes of an instruction as `, name=value`, in XLA's order."""
        return self._attributes(x.op, x, level, skip_called=skip_called) + self._common(x)

    def wrapped_instruction(self, x: Instruction) -> Instruction | None:
        """Returns the instruction wrapped by an async op that is printed with syntactic sugar.

        Such an op is printed as `X-start`, `X-update` or `X-done`. Returns None for all other
        instructions.
        """
        if not x.op.name.startswith("async-") or not self.options.syntax_sugar_async_ops or not x.called:
            return None
        called = x.called[0]
        if self.options.lossless:
            return original_instruction(self.module, called.root) if called in self.module.hidden else None
        return called.root if is_wrapper(called) else None

    def operands(self, x: Instruction) -> str:
        options = self.options
        if x.op.name == "parameter":
            return str(x.immediate) if options.print_parameter_number else ""
        if x.op.name == "constant":
            return self._constant(x.immediate)
        operands: Sequence[Instruction] = x.operands
        rest = ""
        if options.compact_operands and len(operands) > _MAX_COMPACT_OPERANDS:
            rest = f", ...(+{len(operands) - _MAX_COMPACT_OPERANDS})"
            operands = operands[:_MAX_COMPACT_OPERANDS]
        interval = options.print_operand_index_annotation_interval
        parts = []
        for k, operand in enumerate(operands):
            separator = ", " if k else ""
            if interval and k and k % interval == 0:
                separator += f"/*index={k}*/"
            words = [self.shape(operand.shape)] if options.print_operand_shape else []
            if options.print_operand_names:
                words.append(self.name(operand))
            parts.append(separator + " ".join(words))
        return "".join(parts) + rest

    def _constant(self, literal: Literal) -> str:
        if self.options.print_only_essential_constants:
            return _essential_text(literal)
        if self.options.lossless and self.options.print_large_constants:
            return literal_text(literal)
        return xla_literal_text(literal, print_large_constants=self.options.print_large_constants)

    # ---- attributes -----------------------------------------------------------------------------

    def _attributes(self, op: OpDef, x: Instruction, level: int, *, skip_called: bool = False) -> list[str]:
        """Returns the opcode's own attributes, in the order in which they are declared."""
        parts = []
        for name, spec in op.attributes.items():
            forgotten = spec.kind in DROPPED_KINDS and not self.options.lossless
            if name == "result_accuracy" or spec.kind == CONTINUED or forgotten or (spec.kind in CALLED_KINDS and skip_called):
                continue
            text = self._attribute(op, x, name, spec, level)
            if text is not None:
                parts.append(f", {name}={text}")
        if not self.options.print_extra_attributes:
            return [part for part in parts if op.attributes[part[2 : part.index("=")]].kind in CALLED_KINDS]
        return parts

    def _attribute(self, op: OpDef, x: Instruction, name: str, spec: AttributeSpec, level: int) -> str | None:
        """Returns the text of an attribute's value, or None if the attribute is not printed."""
        default = spec.default
        if name in op.operand_defaults:
            default = op.operand_defaults[name](tuple(operand.shape for operand in x.operands))
        value = op.derived[name](x.shape) if name in op.derived else x.attributes.get(name, default)
        if not spec.always and (value == default or value is None):
            return None
        if spec.kind in CALLED_KINDS:
            return self._called(op, spec.kind, value, level)
        if name == "channel_id" and not self.options.print_channel_id:
            return "_"
        if name in ("infeed_config", "outfeed_config") and not self.options.print_infeed_outfeed_config:
            return None
        return self._value_text(spec.kind, value)

    def _value_text(self, kind: str, value: Any) -> str:
        if isinstance(value, Raw):
            return value.text
        if kind == "TypedLiteral":
            return xla_literal_text(value, print_large_constants=True, typed=True) if not self.options.lossless else typed_literal_text(value)
        return "{}" if value == () else CODECS[kind].write(value, self.style)

    def _called(self, op: OpDef, kind: str, value: Any, level: int) -> str | None:
        mode = self.options.print_subcomputation_mode
        computations = value if isinstance(value, tuple) else (value,)
        if mode == "off":
            return None
        if mode == "full" or (mode == "non_sequential" and CONTROL_FLOW not in op.traits):
            bodies = ",\n".join(self.body(c, level + 1) for c in computations)
            return "\n" + bodies if kind == "Computation" else "{\n" + bodies + "\n" + "  " * (level + 1) + "}"
        texts = [self.computation_name(c) for c in computations]
        return texts[0] if kind == "Computation" else CODECS[kind].write(tuple(texts), self.style)

    def _sugared_attributes(self, x: Instruction, wrapped: Instruction, level: int) -> list[str]:
        """Returns the attributes of a start op that is printed with syntactic sugar.

        These are the op's thread, the attributes of the wrapped instruction, and the op's other
        attributes.
        """
        parts = []
        thread = x.called[0].execution_thread
        if thread != "main":
            parts.append(f", async_execution_thread={self._value_text('Text', thread)}")
        parts += self._attributes(wrapped.op, wrapped, level)
        own = wrapped.attributes
        if "frontend_attributes" in own and "frontend_attributes" in x.attributes:
            own = AttributeSet({k: v for k, v in own.items() if k != "frontend_attributes"})
        for name in _COMMON_ORDER:
            # XLA prints the statistics of the start op twice, although such text does not parse.
            if name in own and (name not in x.attributes or (name == "statistics" and not self.options.lossless)):
                parts += self._common_attribute(own, name)
        parts += self._result_accuracy(own)
        aliasing = x.attributes.get("output_to_operand_aliasing")
        if aliasing:
            parts.append(f", output_to_operand_aliasing={self._value_text('OutputAliases', aliasing)}")
        if self.options.print_subcomputation_mode == "full":
            parts.append(f", calls=\n{self.body(x.called[0], level + 1)}")
        return parts + self._common(x)

    # ---- common attributes ----------------------------------------------------------------------

    def common_attributes(self, op: OpDef, attributes: AttributeSet) -> list[str]:
        """Returns the attributes between the opcode's own attributes and the metadata."""
        parts: list[str] = []
        for name in _COMMON_ORDER:
            parts += self._common_attribute(attributes, name)
        parts += self._result_accuracy(attributes)
        if self.options.print_original_value and "origin" in attributes:
            parts.append(f", origin={self._value_text('Origin', attributes['origin'])}")
        # `strict=False` keeps attributes that the opcode does not have.
        for name, value in attributes.items():
            if name not in op.attributes and name not in COMMON_ATTRIBUTES:
                parts.append(f", {name}={self._undeclared_attribute(name, value)}")
        return parts

    def _undeclared_attribute(self, name: str, value: Any) -> str:
        """Returns the value of an attribute that the opcode does not declare.

        The value is printed as for an opcode that does declare the attribute, or as raw text if
        there is no such opcode.
        """
        kind = next((op.attributes[name].kind for op in OPS.values() if name in op.attributes), "Text")
        if kind in CALLED_KINDS and not isinstance(value, Raw):
            names = tuple(self.computation_name(c) for c in (value if isinstance(value, tuple) else (value,)))
            return CODECS[kind].write(names if kind == "Computations" else names[0], self.style)
        return self._value_text(kind, value)

    def _common(self, x: Instruction) -> list[str]:
        parts = self.common_attributes(x.op, x.attributes) if x.attributes else []
        if x.metadata_text is not None and self.options.print_metadata:
            text = self.metadata(x.metadata_text)
            if text is not None:
                parts.append(f", metadata={text}")
        if x.backend_config is not None and self.options.print_backend_config:
            parts.append(f", backend_config={self._backend_config(x.backend_config)}")
        return parts

    def _common_attribute(self, attributes: AttributeSet, name: str) -> list[str]:
        value = attributes.get(name)
        if value is None:
            return []
        if name == "control-predecessors":
            if not self.options.print_control_dependencies:
                return []
            names = ", ".join(self.percent + self.names[p] for p in value)
            return [f", control-predecessors={{{names}}}"]
        if name == "frontend_attributes" and not (value and self.options.print_frontend_attributes):
            return []
        if name == "statistics" and not value.values:
            return []
        return [f", {name}={self._value_text(COMMON_ATTRIBUTES[name].kind, value)}"]

    def _result_accuracy(self, attributes: AttributeSet) -> list[str]:
        value = attributes.get("result_accuracy")
        if value is None or (value.mode == "default" and value.tolerance is None):
            return []
        return [f", result_accuracy={self._value_text('ResultAccuracy', value)}"]

    def metadata(self, text: str) -> str | None:
        """Converts an instruction's metadata for output; returns None if nothing is printed."""
        options = self.options
        if options.lossless and not options.print_metadata_only_op_name and not options.print_inline_stack_frames:
            return text
        if self.frames is not None and not options.print_inline_stack_frames and "stack_frame_id=" in text:
            text = FRAME_ID.sub(lambda m: f"stack_frame_id={self.frames.number(int(m[1]))}" if self.frames else m[0], text)
        simple = text.startswith(('{op_type="', '{op_name="', '{source_file="')) and "stack_frame_id=0" not in text
        if simple and not options.print_metadata_only_op_name and not options.print_inline_stack_frames and "scheduling_name" not in text:
            return text
        value = decode_metadata(text)
        if options.print_inline_stack_frames and value.stack_frame_id:
            value = _inline_frame(value, self.module)
        if options.print_metadata_only_op_name:
            value = Metadata(op_name=value.op_name)
        return value.text if value.is_printed_by_xla else None

    def _backend_config(self, text: str) -> str:
        if not self.options.lossless:
            value = unquote(text) if text.startswith('"') else text
            shown = _EMPTY_QUEUES.sub("", value) if _QUEUES in value else value
            text = text if shown is text else printed_string(shown)
        if self.options.sort_backend_config and text.startswith("{"):
            # Imported on use, because json adds 2 ms to the startup time and few callers sort the
            # keys.
            json = import_module("json")
            try:
                return str(json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")))
            except (ValueError, RecursionError):
                return text
        return text


def original_instruction(module: Module, x: Instruction) -> Instruction:
    """Returns an instruction with the annotations written in the source.

    The parser may have replaced the annotations, as XLA does.
    """
    written = module.notes.written(x)
    if written is None:
        return x
    return Instruction(
        x.name, x.op, x.shape, x.operands, written.attributes, x.immediate, written.metadata_text, written.backend_config, x.start, x.end
    )


def is_wrapper(computation: Computation) -> bool:
    """Returns whether a computation has only parameters and a root.

    The syntactic sugar for async operations can replace such a computation.
    """
    return all(x.op.name == "parameter" or x is computation.root for x in computation.instructions)


def typed_literal_text(literal: Literal) -> str:
    """Returns the lossless text of a `literal=` attribute, with each array after its shape."""
    if not literal.shape.is_tuple:
        return f"{literal.shape.text} {literal_text(literal)}"
    pieces: list[str] = []
    stack: list[Literal | str] = [literal]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif item.shape.is_tuple:
            stack.append(" )")
            for k in range(len(item.elements) - 1, -1, -1):
                stack += [item.elements[k], ", " if k else "( "]
            if not item.elements:
                stack.append("( ")
        else:
            pieces.append(f"{item.shape.text} {literal_text(item)}")
    return "".join(pieces)


def _essential_text(literal: Literal) -> str:
    """Returns a constant as XLA prints it for fingerprints.

    A constant of only zeros or only ones becomes one digit. Other integers are printed in full,
    unless there are too many. All other constants become `{...}`.
    """
    if literal.elided or literal.shape.is_tuple:
        return "{...}"
    is_too_large = literal.element_count > _MAX_ESSENTIAL_ELEMENTS
    text = (
        xla_literal_text(abbreviated(literal), print_large_constants=True) if is_too_large else xla_literal_text(literal, print_large_constants=True)
    )
    values = set(text.translate(str.maketrans("{},()", "     ")).split())
    if is_too_large and literal.is_abbreviated:
        values.add("0")
    for digit, spellings in (("0", {"0", "false"}), ("1", {"1", "true"})):
        if values and values <= spellings:
            return digit
    if "." not in text and literal.shape.element_type[0] in "sup" and not is_too_large:
        return text
    return "{...}"


def _inline_frame(value: Metadata, module: Module) -> Metadata:
    """Replaces the number of a stack frame with the file and line of the innermost frame."""
    frame = innermost_location(module.stack_tables, value.stack_frame_id)
    if frame is None:
        return replace(value, stack_frame_id=0)
    file_name, location = frame
    return replace(value, stack_frame_id=0, source_file=file_name, source_line=location.line, source_column=location.column)
