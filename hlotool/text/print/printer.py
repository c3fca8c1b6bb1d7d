"""From a module to text: the lossless print, XLA's own print byte for byte, and everything its options allow."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hlotool.collection import no_garbage_collection
from hlotool.errors import HlotoolError, Source
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.ir.names import unique_names
from hlotool.ir.walk import computation_post_order, fusion_computations, print_order
from hlotool.literals.print import literal_text
from hlotool.memo import Memo
from hlotool.opdefs.base import CALLED_KINDS, CONTINUED, REQUIRED, OpDef
from hlotool.opdefs.codecs.base import WriteStyle
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS, OPS
from hlotool.shapes.shape import ProgramShape, Shape, with_default_order
from hlotool.shapes.values import Raw, Recovery
from hlotool.text.parse.parser import parse_source
from hlotool.text.print.instruction import InstructionWriter, as_written, is_wrapper, typed_literal_text
from hlotool.text.print.options import PrintOptions
from hlotool.text.print.stack_frames import RenumberedFrames
from hlotool.text.source.marks import MARK_INTERVAL, marked_operands

__all__ = ["to_text"]

_LOSSLESS = PrintOptions()
# Attributes that make XLA build the module's configuration, and with it the entry layout, before it has seen the entry; unless they
# have this value.
_RESETS_LAYOUT = (
    ("alias_passthrough_params", False),
    ("allow_spmd_sharding_propagation_to_parameters", None),
    ("allow_spmd_sharding_propagation_to_output", None),
    ("replica_count", 1),
    ("num_partitions", 1),
)
# Bodies written inside one another multiply; a small text can ask for more output than any disk holds.
_DEEPEST_BODIES = 100
_MOST_BODIES = 1_000_000
# More instructions than this, and print_name_after_closing_brace repeats the name.
_SHORT = 5


def to_text(module: Module, options: PrintOptions = _LOSSLESS) -> str:
    """The text of a module.

    The default reads back as the same module in hlotool and in XLA; `PrintOptions.xla_default()` gives XLA's bytes.

    >>> from hlotool.text.parse.parser import parse
    >>> print(to_text(parse("ENTRY e { ROOT p = s32[] parameter(0) }")), end="")
    HloModule module_e, entry_computation_layout={(s32[])->s32[]}
    <BLANKLINE>
    ENTRY %e (p: s32[]) -> s32[] {
      ROOT %p = s32[] parameter(0)
    }
    <BLANKLINE>
    """
    with no_garbage_collection():
        return ModulePrinter(module, options).text()


class ModulePrinter:
    """One print of one module."""

    def __init__(self, module: Module, options: PrintOptions) -> None:
        self.module = module
        self.options = options
        self.fused = fusion_computations(module) if not options.lossless else set()
        names: dict[Instruction, str]
        if options.lossless:
            computation_names = {c: c.name for c in module.computations}
            names = _OwnNames()
        else:
            names, computation_names = unique_names(module)
        self.frames = RenumberedFrames(module) if not options.lossless and options.print_metadata else None
        self.computation_names = computation_names
        self.writer = InstructionWriter(module, options, names, computation_names, self.frames, self._nested_body)
        self.indent = "  " * options.indent_amount
        self.nested = 0
        # Texts of attribute sets and of shapes in signatures, each made once.
        self.texts: dict[int | OpDef, str] = {}
        # Attribute sets whose source is spelled as they are printed, by identity.
        self.as_printed: dict[int, bool] = {}
        self.plans: Memo[OpDef, _Plan] = Memo(_Plan)
        self.signatures: Memo[Shape, str] = Memo(lambda shape: shape.text_without_layout)

    def text(self) -> str:
        parts = [self._header()]
        plain = self.options == _LOSSLESS
        for computation in self._computations():
            if plain:
                parts.append(_plain_computation(self, computation))
            else:
                parts.append(self.computation(computation, self.options.indent_amount, nested=False))
            parts.append("\n\n")
        return "".join(parts)

    def _computations(self) -> list[Computation]:
        """What is printed, in order: hidden async computations are not."""
        module, options = self.module, self.options
        order = module.computations if options.lossless or options.canonicalize_computations else computation_post_order(module)
        if not options.syntax_sugar_async_ops:
            return order
        if options.lossless:
            return [c for c in order if c not in module.hidden]
        wrapped = {c for x in module.all_instructions() if x.op.name == "async-start" for c in x.called if is_wrapper(c)}
        return [c for c in order if c not in wrapped]

    def copied_body(self, computation: Computation) -> str | None:
        """The source of a computation's instructions if this is how they are printed, None if they must be written.

        The fast path has vouched for all but the attributes; those are compared here, once for each distinct text.
        """
        span, source = self.module.notes.spans.get(computation), self.module.source
        if span is None or source is None or span.root is not computation.root or span.count != len(computation.instructions):
            return None
        known, last = self.as_printed, -1
        for x in computation.instructions:
            # Ascending offsets: nobody has changed, moved or replaced an instruction since it was read.
            if x.start <= last:
                return None
            last = x.start
            key = id(x.attributes)
            verdict = known.get(key)
            if verdict is None:
                verdict = known[key] = self._attributes_as_printed(x)
            if not verdict:
                return None
        return source.text[span.start : span.end]

    def _attributes_as_printed(self, x: Instruction) -> bool:
        op, attributes = x.op, x.attributes
        # What depends on operands or result is printed only if it is written, or always.
        if op.derived or any(name in attributes or op.attributes[name].always for name in op.operand_defaults):
            return False
        return self.module.notes.spelling(attributes) == self.plain_attributes(x)

    def plain_attributes(self, x: Instruction) -> str:
        """Everything between operands and metadata, for the lossless print."""
        plan = self.plans[x.op]
        attributes = x.attributes
        left, parts, style = len(attributes), [], self.writer.style
        for name, default, always, called, write, memo in plan.rows:
            value = attributes.get(name, default)
            left -= name in attributes
            if not always and (value is None or value == default):
                continue
            if called:
                text = f"%{value.name}" if called == "Computation" else "{" + ", ".join([f"%{c.name}" for c in value]) + "}"
                parts.append(f", {name}={text}")
            else:
                # By identity: equal texts of a source share one value, and values live as long as the module.
                written = memo.get(id(value))
                if written is None:
                    written = memo[id(value)] = write(value, style) if value != () else "{}"
                parts.append(f", {name}={written}")
        if left:
            parts += self.writer.common_attributes(x)
        return "".join(parts)

    # ---- header -------------------------------------------------------------------------------------------------------

    def _header(self) -> str:
        module, options = self.module, self.options
        parts = [self.indent, "HloModule ", module.name if options.print_ids else ""]
        for name, spec in MODULE_ATTRIBUTES.items():
            value = module.attributes.get(name, spec.default)
            if name == "entry_computation_layout" and value is None:
                value = self._entry_layout()
            elif value == spec.default:
                continue
            if name == "frontend_attributes" and not options.print_frontend_attributes:
                continue
            if name == "origin_recovery_table":
                value = tuple(self._recovery(row) for row in value)
            if name == "debug_attributes":
                parts.append(",\n" + f"{name}={CODECS[spec.kind].write(value, self.writer.style)}")
                continue
            parts.append(f", {name}={CODECS[spec.kind].write(value, self.writer.style)}")
        parts += [f", {name}={value.text}" for name, value in module.attributes.items() if isinstance(value, Raw)]
        parts.append("\n\n")
        tables = self._tables()
        if tables is not None:
            parts += [tables, "\n"]
        return "".join(parts)

    def _entry_layout(self) -> ProgramShape:
        """The layouts of the entry; XLA forgets their dimension orders when certain attributes are written."""
        shape = self.module.entry.program_shape
        attributes = self.module.attributes
        if not any(name in attributes and attributes[name] != unless for name, unless in _RESETS_LAYOUT):
            return shape
        return ProgramShape(tuple(with_default_order(p) for p in shape.parameters), with_default_order(shape.result))

    def _tables(self) -> str | None:
        if not self.options.print_metadata:
            return None
        if self.options.print_inline_stack_frames:
            return None
        if self.frames is None:
            return self.module.stack_tables_text
        tables = self.frames.tables
        return None if tables is None else tables.text

    def _recovery(self, row: Recovery) -> Recovery:
        """A recovery module is printed by the same rules, further in."""
        if row.module is None:
            return row
        inner = parse_source(Source(row.module))
        options = PrintOptions(
            lossless=self.options.lossless,
            print_large_constants=self.options.print_large_constants,
            indent_amount=self.options.indent_amount + 2,
        )
        return Recovery(row.old, row.new, to_text(inner, options))

    # ---- computations -------------------------------------------------------------------------------------------------

    def computation(self, computation: Computation, level: int, *, nested: bool) -> str:
        """From the name to the closing brace, without a line end."""
        options, writer = self.options, self.writer
        indent = "  " * level
        if options.lossless:
            order, root = _as_written(self.module, computation)
        else:
            order, root = print_order(self.module, computation, self.fused), computation.root
        outer = writer.canonical, writer.compacted
        if options.compact_gte:
            writer.compacted = _compacted(order, root)
            order = [x for x in order if x not in writer.compacted]
        if options.canonicalize_instruction_names:
            writer.canonical = {x: f"tmp_{k}" for k, x in enumerate(order)}
        lines = [indent + self._opening(computation, nested=nested or options.is_in_nested_computation)]
        for x in order:
            lines.append(f"{indent}  {writer.write(x, is_root=x is root, level=level)}")
        writer.canonical, writer.compacted = outer
        closing = f"{indent}}}"
        if computation.execution_thread != "main" and options.print_ids:
            closing += f', execution_thread="{computation.execution_thread}"'
        if options.print_name_after_closing_brace and len(order) > _SHORT:
            closing += f" // {self.computation_names[computation]}"
        lines.append(closing)
        return "\n".join(lines)

    def _nested_body(self, computation: Computation, level: int) -> str:
        self.nested += 1
        if level > _DEEPEST_BODIES or self.nested > _MOST_BODIES:
            message = (
                f"called computations nest too deeply or too often to be written in full (over {_DEEPEST_BODIES} levels or {_MOST_BODIES:,} bodies)"
            )
            raise HlotoolError(f"{message}; print their names instead")
        return self.computation(computation, level, nested=True)

    def _opening(self, computation: Computation, *, nested: bool) -> str:
        options = self.options
        parts = []
        if computation is self.module.entry and not nested:
            parts.append("ENTRY ")
        if not nested and options.print_ids:
            parts.append(self.writer.computation_name(computation) + " ")
        if options.print_program_shape:
            parts.append(self._signature(computation) + " ")
        parts.append("{")
        return "".join(parts)

    def _signature(self, computation: Computation) -> str:
        names = self.writer.names
        parameters = ", ".join(f"{names[p] or '(unknown)'}: {p.shape.text_without_layout}" for p in computation.parameters)
        return f"({parameters}) -> {computation.root.shape.text_without_layout}"


class _Plan:
    """How the lossless print writes the attributes of an opcode: name, default, always, kind if it is a called computation, writer, memo."""

    __slots__ = ("rows",)

    def __init__(self, op: OpDef) -> None:
        self.rows: list[tuple[str, Any, bool, str, Callable[[Any, WriteStyle], str], dict[int, str]]] = []
        for spec in op.attributes.values():
            if spec.name == "result_accuracy" or spec.kind == CONTINUED:
                continue
            write = (lambda value, style: typed_literal_text(value)) if spec.kind == "TypedLiteral" else CODECS[spec.kind].write
            called = spec.kind if spec.kind in CALLED_KINDS else ""
            self.rows.append((spec.name, None if spec.default is REQUIRED else spec.default, spec.always, called, write, {}))


def _as_written(module: Module, computation: Computation) -> tuple[list[Instruction], Instruction]:
    """Instructions and root as the text gave them: XLA annotates the roots of asynchronous computations anew."""
    root = as_written(module, computation.root)
    if root is computation.root:
        return computation.instructions, root
    return [root if x is computation.root else x for x in computation.instructions], root


def _compacted(order: list[Instruction], root: Instruction) -> dict[Instruction, tuple[Instruction, str]]:
    """The get-tuple-elements that a suffix of their operand can stand for, with the instruction that is written instead and the suffix.

    A line remains where it says more: that it is the root, an attribute, a control dependence; and where nothing uses the element.
    """
    used = {operand for x in order for operand in x.operands}
    ordered = {before for x in order for before in x.attributes.get("control-predecessors") or ()}
    compacted: dict[Instruction, tuple[Instruction, str]] = {}
    for x in order:
        if x.op.name == "get-tuple-element" and x is not root and x in used and x not in ordered and x.attributes.keys() <= {"index"}:
            tuple_, suffix = compacted.get(x.operands[0], (x.operands[0], ""))
            compacted[x] = tuple_, f"{suffix}#{x.attributes['index']}"
    return compacted


class _OwnNames(dict[Instruction, str]):
    """The lossless print calls instructions what they are called."""

    def __missing__(self, x: Instruction) -> str:
        return x.name


def _plain_computation(printer: ModulePrinter, computation: Computation) -> str:
    """The lossless print of a computation; one loop without switches, since whole dumps go through it.

    Says what InstructionWriter says under default options, which a test holds it to.
    """
    writer = printer.writer
    lines: list[str] = []
    append = lines.append
    root, texts, signatures = computation.root, printer.texts, printer.signatures
    special, always = _special_ops()
    entry = "ENTRY " if computation is printer.module.entry else ""
    parameters = ", ".join([f"{p.name}: {signatures[p.shape]}" for p in computation.parameters])
    append(f"{entry}%{computation.name} ({parameters}) -> {signatures[root.shape]} {{\n")
    copied = printer.copied_body(computation)
    if copied is not None:
        append(copied)
    instructions, root = _as_written(printer.module, computation) if copied is None else ([], root)
    for x in instructions:
        op, operands, attributes, shape = x.op, x.operands, x.attributes, x.shape
        if op in special:
            append(f"  {writer.write(x, is_root=x is root, level=0)}\n")
            continue
        count = len(operands)
        if count == 1:
            inside = f"%{operands[0].name}"
        elif count == 2:
            inside = f"%{operands[0].name}, %{operands[1].name}"
        elif not count:
            immediate = x.immediate
            inside = "" if immediate is None else str(immediate) if immediate.__class__ is int else immediate.text or literal_text(immediate)
        elif count <= MARK_INTERVAL:
            inside = "%" + ", %".join([operand.name for operand in operands])
        else:
            inside = marked_operands([operand.name for operand in operands])
        if attributes or op in always:
            # One object without attributes serves all opcodes, some of which print their defaults.
            key = id(attributes) if attributes else op
            text = texts.get(key)
            if text is None:
                text = texts[key] = printer.plain_attributes(x)
        else:
            text = ""
        start = "  ROOT %" if x is root else "  %"
        metadata, config = x.metadata_text, x.backend_config
        if config is not None:
            text = f"{text}, metadata={metadata}, backend_config={config}" if metadata is not None else f"{text}, backend_config={config}"
        elif metadata is not None:
            append(f"{start}{x.name} = {shape._text or shape.text} {op.name}({inside}){text}, metadata={metadata}\n")
            continue
        append(f"{start}{x.name} = {shape._text or shape.text} {op.name}({inside}){text}\n")
    thread = computation.execution_thread
    append("}" if thread == "main" else f'}}, execution_thread="{thread}"')
    # Joined here and not with the whole module: the memory of the lines is used again by the next computation.
    return "".join(lines)


@lru_cache(maxsize=1)
def _special_ops() -> tuple[frozenset[OpDef], frozenset[OpDef]]:
    """Opcodes whose attributes do not follow from the attribute set alone, and those that print some even if none is written."""
    special = frozenset(op for op in OPS.values() if op.name.startswith("async-") or op.operand_defaults or op.derived)
    return special, frozenset(op for op in OPS.values() if any(spec.always for spec in op.attributes.values()))
