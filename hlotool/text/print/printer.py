"""Prints modules: losslessly, like XLA byte for byte, or with any other print options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from hlotool.collection import no_garbage_collection
from hlotool.errors import HlotoolError, ParseError, Source
from hlotool.ir.model import AttributeSet, Computation, Instruction, Module
from hlotool.ir.names import unique_names
from hlotool.ir.notes import PrintedSpan
from hlotool.ir.walk import computation_post_order, fusion_computations, print_order
from hlotool.literals.print import literal_text
from hlotool.memo import Memo, cached_property
from hlotool.opdefs.base import CALLED_KINDS, CONTINUED, REQUIRED, OpDef
from hlotool.opdefs.codecs.base import WriteStyle
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS, OPS
from hlotool.shapes.shape import ProgramShape, Shape, with_default_order
from hlotool.shapes.values import Raw, Recovery
from hlotool.text.parse.line_parts import prints_derived_attributes
from hlotool.text.parse.parser import parse_source
from hlotool.text.print.instruction import InstructionWriter, OwnNames, is_wrapper, original_instruction, typed_literal_text
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.stack_frames import RenumberedFrames
from hlotool.text.source.marks import MARK_INTERVAL, marked_operands

__all__ = ["header_attributes", "to_text"]

_LOSSLESS = PrintOptions()
# Attributes that make XLA build the module's configuration, including the entry layout, before it
# parses the entry. Each is paired with the one value that does not have this effect.
_LAYOUT_RESETTING_ATTRIBUTES = (
    ("alias_passthrough_params", False),
    ("allow_spmd_sharding_propagation_to_parameters", None),
    ("allow_spmd_sharding_propagation_to_output", None),
    ("replica_count", 1),
    ("num_partitions", 1),
)
# Limits for computations that are printed inside one another. The number of such computations can
# grow exponentially with the size of the module.
_MAX_BODY_DEPTH = 100
_MAX_BODIES = 1_000_000
# Two sets of opcodes that `_plain_instructions` treats specially: the attributes printed for the
# first ones depend on more than the attribute set, and the second ones always have a printed one.
_SPECIAL = frozenset(op for op in OPS.values() if op.name.startswith("async-") or op.operand_defaults or op.derived)
_ALWAYS = frozenset(op for op in OPS.values() if any(spec.always for spec in op.attributes.values()))
_NEW_LINE = "\n"
_get_start, _get_attributes = attrgetter("start"), attrgetter("attributes")
# `print_name_after_closing_brace` applies to computations with more instructions than this, as in
# XLA.
_MAX_WITHOUT_NAME = 5


def to_text(module: Module, options: PrintOptions = _LOSSLESS) -> str:
    """Prints a module.

    By default, parsing the text yields the same module again, in hlotool and in XLA. With
    `PrintOptions.xla_default()`, the text equals XLA's output byte for byte. Raises HlotoolError if
    called computations are to be printed in full, but there are too many of them or they are nested
    too deeply.

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


def header_attributes(module: Module, options: PrintOptions = _LOSSLESS) -> list[tuple[str, str]]:
    """Returns the attributes of a module's header, each as its name and the text of its value.

    >>> from hlotool.text.parse.parser import parse
    >>> header_attributes(parse("HloModule m, replica_count=2\\nENTRY e { ROOT p = s32[] parameter(0) }"))
    [('entry_computation_layout', '{(s32[])->s32[]}'), ('replica_count', '2')]
    """
    return [*ModulePrinter(module, options).header_attributes()]


class ModulePrinter:
    """A printer of one module with given options."""

    def __init__(self, module: Module, options: PrintOptions) -> None:
        self.module = module
        self.options = options
        self.fused = fusion_computations(module) if not options.lossless else set()
        names: dict[Instruction, str]
        if options.lossless:
            computation_names = {c: c.name for c in module.computations}
            names = OwnNames()
        else:
            names, computation_names = unique_names(module)
        self.frames = RenumberedFrames(module) if not options.lossless and options.print_metadata else None
        self.computation_names = computation_names
        self.writer = InstructionWriter(module, options, names, computation_names, self.frames, self._nested_body)
        self.indent = "  " * options.indent_amount
        self.nested = 0
        # Caches of printed text: attribute sets by identity, the default attributes of opcodes, and
        # shapes in signatures.
        self.texts: dict[int | OpDef, str] = {}
        self.notes_are_current = module.notes.are_current()
        self.plans: Memo[OpDef, _AttributePlan] = Memo(_AttributePlan)
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
        """Returns the computations to print, in order, except those replaced by syntactic sugar."""
        module, options = self.module, self.options
        order = module.computations if options.lossless or options.canonicalize_computations else computation_post_order(module)
        if not options.syntax_sugar_async_ops:
            return order
        if options.lossless:
            return [c for c in order if c not in module.hidden]
        wrapped = {c for x in module.all_instructions() if x.op.name == "async-start" for c in x.called if is_wrapper(c)}
        return [c for c in order if c not in wrapped]

    def unchanged_span(self, computation: Computation) -> PrintedSpan | None:
        """Returns the source range of a computation's instructions, or None if it cannot be copied.

        The range can be copied if the instructions are printed as the source spells them. The
        parser's fast path has checked everything except the attributes, which `respelled` checks.
        """
        span, instructions = self.module.notes.spans.get(computation), computation.instructions
        if span is None or self.module.source is None or span.root is not computation.root or span.instructions != instructions:
            return None
        # The start of an instruction is -1 if one of its fields was assigned after parsing.
        if not self.notes_are_current and -1 in map(_get_start, instructions):
            return None
        if self.respelled and not self.respelled.isdisjoint(map(id, map(_get_attributes, instructions))):
            return None
        return span

    @cached_property
    def respelled(self) -> set[int]:
        """The identities of the attribute sets that are not printed as the source spells them.

        Two kinds of sets need no check. Sets with control predecessors are replaced when the
        predecessors are resolved, so no instruction has the set that was read. Some opcodes have
        attributes that follow from operands or results; computations with such opcodes have no
        spans.
        """
        return {
            id(attributes)
            for attributes, op, text in self.module.notes.spellings()
            if not prints_derived_attributes(op) and "control-predecessors" not in attributes and self.plain_attributes(op, attributes) != text
        }

    def plain_attributes(self, op: OpDef, attributes: AttributeSet) -> str:
        """Returns the attributes between operands and metadata, for lossless output."""
        plan = self.plans[op]
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
                # Keyed by identity, because equal parts of a source share one value, and values
                # live as long as the module.
                written = memo.get(id(value))
                if written is None:
                    written = memo[id(value)] = write(value, style) if value != () else "{}"
                parts.append(f", {name}={written}")
        if left:
            parts += self.writer.common_attributes(op, attributes)
        return "".join(parts)

    # ---- header ---------------------------------------------------------------------------------

    def _header(self) -> str:
        module, options = self.module, self.options
        parts = [self.indent, "HloModule ", module.name if options.print_ids else ""]
        for name, text in self.header_attributes():
            parts.append(f",{_NEW_LINE if name == 'debug_attributes' else ' '}{name}={text}")
        parts.append("\n\n")
        tables = self._tables()
        if tables is not None:
            parts += [tables, "\n"]
        return "".join(parts)

    def header_attributes(self) -> Iterator[tuple[str, str]]:
        """Yields the printed header attributes in XLA's order, each as its name and its text."""
        module, options = self.module, self.options
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
            yield name, CODECS[spec.kind].write(value, self.writer.style)
        yield from ((name, value.text) for name, value in module.attributes.items() if isinstance(value, Raw))

    def _entry_layout(self) -> ProgramShape:
        """Returns the entry layout.

        If the module has certain attributes, XLA replaces the dimension orders in the layout with
        the default ones.
        """
        shape = self.module.entry.program_shape
        attributes = self.module.attributes
        if not any(name in attributes and attributes[name] != unless for name, unless in _LAYOUT_RESETTING_ATTRIBUTES):
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
        """Returns a row whose recovery module is printed with the main options and indented."""
        if row.module is None:
            return row
        try:
            inner = parse_source(Source(row.module))
        except ParseError:
            # A tolerant parse has reported the error; the module is printed as written.
            return row
        options = PrintOptions(
            lossless=self.options.lossless,
            print_large_constants=self.options.print_large_constants,
            indent_amount=self.options.indent_amount + 2,
        )
        return Recovery(row.old, row.new, to_text(inner, options))

    # ---- computations ---------------------------------------------------------------------------

    def computation(self, computation: Computation, level: int, *, nested: bool) -> str:
        """Returns the text of a computation, without a line end after the last line."""
        options, writer = self.options, self.writer
        indent = "  " * level
        if options.lossless:
            order, root = _original_instructions(self.module, computation)
        else:
            order, root = print_order(self.module, computation, self.fused), computation.root
        outer = writer.canonical, writer.compacted
        if options.compact_gte:
            writer.compacted = _find_compacted(order, root)
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
        if options.print_name_after_closing_brace and len(order) > _MAX_WITHOUT_NAME:
            closing += f" // {self.computation_names[computation]}"
        lines.append(closing)
        return "\n".join(lines)

    def _nested_body(self, computation: Computation, level: int) -> str:
        """Returns the text of a called computation that is printed in full.

        Raises HlotoolError if too many computations are printed in this way, or if they are nested
        too deeply.
        """
        self.nested += 1
        if level > _MAX_BODY_DEPTH or self.nested > _MAX_BODIES:
            message = (
                "called computations are nested too deeply or occur too often to be printed in full"
                f" (over {_MAX_BODY_DEPTH} levels or {_MAX_BODIES:,} bodies)"
            )
            raise HlotoolError(f"{message}; print only their names instead")
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


class _AttributePlan:
    """A plan for the lossless output of an opcode's attributes.

    The plan has a row for each attribute: the name, the default, whether the attribute is always
    printed, its kind if it calls computations, the writer, and the printed text of each value by
    identity.
    """

    __slots__ = ("rows",)

    def __init__(self, op: OpDef) -> None:
        self.rows: list[tuple[str, Any, bool, str, Callable[[Any, WriteStyle], str], dict[int, str]]] = []
        for spec in op.attributes.values():
            if spec.name == "result_accuracy" or spec.kind == CONTINUED:
                continue
            write = (lambda value, style: typed_literal_text(value)) if spec.kind == "TypedLiteral" else CODECS[spec.kind].write
            called = spec.kind if spec.kind in CALLED_KINDS else ""
            self.rows.append((spec.name, None if spec.default is REQUIRED else spec.default, spec.always, called, write, {}))


def _original_instructions(module: Module, computation: Computation) -> tuple[list[Instruction], Instruction]:
    """Returns the instructions and the root with the annotations written in the source.

    The parser replaces the annotations of the roots of asynchronous computations, as XLA does.
    """
    root = original_instruction(module, computation.root)
    if root is computation.root:
        return computation.instructions, root
    return [root if x is computation.root else x for x in computation.instructions], root


def _find_compacted(order: list[Instruction], root: Instruction) -> dict[Instruction, tuple[Instruction, str]]:
    """Maps each get-tuple-element that is printed as a suffix (`t#1`) to its tuple and suffix.

    A get-tuple-element keeps its own line if it has no users, if it is the root or a control
    predecessor, or if it has attributes other than `index`.
    """
    used = {operand for x in order for operand in x.operands}
    predecessors = {before for x in order for before in x.attributes.get("control-predecessors") or ()}
    compacted: dict[Instruction, tuple[Instruction, str]] = {}
    for x in order:
        if x.op.name == "get-tuple-element" and x is not root and x in used and x not in predecessors and x.attributes.keys() <= {"index"}:
            source, suffix = compacted.get(x.operands[0], (x.operands[0], ""))
            compacted[x] = source, f"{suffix}#{x.attributes['index']}"
    return compacted


def _plain_computation(printer: ModulePrinter, computation: Computation) -> str:
    """Returns the lossless text of a computation.

    Copies the instructions from the source if nothing has changed; otherwise, prints them one by
    one.
    """
    module, signatures = printer.module, printer.signatures
    span = printer.unchanged_span(computation)
    entry = "ENTRY " if computation is module.entry else ""
    parameters = ", ".join([f"{p.name}: {signatures[p.shape]}" for p in (computation.parameters if span is None else span.parameters)])
    opening = f"{entry}%{computation.name} ({parameters}) -> {signatures[computation.root.shape]} {{\n"
    thread = computation.execution_thread
    closing = "}" if thread == "main" else f'}}, execution_thread="{thread}"'
    if span is not None and module.source is not None:
        return f"{opening}{module.source.text[span.start : span.end]}{closing}"
    return f"{opening}{_plain_instructions(printer, computation)}{closing}"


def _plain_instructions(printer: ModulePrinter, computation: Computation) -> str:
    """Prints the instructions of a computation in a single loop, with the default options.

    Printing a whole dump spends most of its time here. The output is the same as that of
    InstructionWriter with default options; a test compares the two.
    """
    writer = printer.writer
    lines: list[str] = []
    append, texts = lines.append, printer.texts
    instructions, root = _original_instructions(printer.module, computation)
    for x in instructions:
        op, operands, attributes, shape = x.op, x.operands, x.attributes, x.shape
        if op in _SPECIAL:
            append(f"  {writer.write(x, is_root=x is root, level=0)}\n")
            continue
        count = len(operands)
        if count == 1:
            inside = f"%{operands[0].name}"
        elif count == 2:
            inside = f"%{operands[0].name}, %{operands[1].name}"
        elif not count:
            immediate = x.immediate
            inside = "" if immediate is None else str(immediate) if immediate.__class__ is int else immediate.spelling or literal_text(immediate)
        elif count <= MARK_INTERVAL:
            inside = "%" + ", %".join([operand.name for operand in operands])
        else:
            inside = marked_operands([operand.name for operand in operands])
        if attributes or op in _ALWAYS:
            # All opcodes share the empty attribute set, but some opcodes have printed defaults.
            key = id(attributes) if attributes else op
            text = texts.get(key)
            if text is None:
                text = texts[key] = printer.plain_attributes(op, attributes)
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
    # The lines are joined here, not with the whole module, so that the next computation can reuse
    # the memory of the lines.
    return "".join(lines)
