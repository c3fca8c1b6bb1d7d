"""A writer of modules as Python code."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from typing import Any

from hlotool.builder.source.calls import chain_lines
from hlotool.builder.source.identifiers import Identifiers
from hlotool.builder.source.instructions import InstructionCode, used_instructions
from hlotool.builder.source.trial import Trial
from hlotool.builder.source.values import RECORD_NAMES, CodeWriter
from hlotool.builder.texts import as_module_attribute
from hlotool.collection import no_garbage_collection
from hlotool.errors import HlotoolError, Violation
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.ir.names import GivenNames, NameTable, is_legal_name
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.codecs.base import WriteStyle
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS, OPS
from hlotool.text.print.instruction import original_instruction
from hlotool.text.print.printer import header_attributes
from hlotool.verifier.engine import verify

__all__ = ["to_python"]

_INDENT = "    "
# Names with a fixed meaning in the generated code.
_FIXED_NAMES = ("b", "c", "hlotool", "module", "b64decode")
_DEVICE_COUNTS = ("replica_count", "num_partitions")
_ENTRY_LAYOUT = "entry_computation_layout"


def to_python(module: Module) -> str:
    """Returns the module as Python code: calls to `hlotool.Builder` that rebuild it as `module`.

    The code is meant to be read and edited, for example in a test or a bug report. Each instruction
    is built by the method named after its operation, unless only `Builder.instruction` can build
    the instruction exactly. With all print options, the rebuilt module prints the same text as the
    original. Names and strings of the module appear in the code only as string literals or as safe
    variable names, so running the code only builds a module. If the verifier rejects the module,
    the code builds it without checks.

    Raises HlotoolError for modules with unknown opcodes or attributes, which only parsing with
    `strict=False` accepts, and for modules that use an instruction or a computation before its
    definition.

    >>> from hlotool.text.parse.parser import parse
    >>> print(to_python(parse("ENTRY main { x = f32[4] parameter(0) ROOT y = f32[4] negate(x), sharding={replicated} }")), end="")
    import hlotool
    <BLANKLINE>
    b = hlotool.Builder("module_main", entry="main", source_lines=False)
    <BLANKLINE>
    x = b.parameter(0, "f32[4]", "x")
    y = b.neg(x).named("y").annotated(sharding="{replicated}")
    <BLANKLINE>
    module = b.build(y)
    """
    with no_garbage_collection():
        return _ModuleCode(module).text()


class _ModuleCode:
    """A writer of the code for one module."""

    def __init__(self, module: Module) -> None:
        _require_known(module)
        _require_order(module)
        self._module = module
        self._trial = Trial(module)
        self._writer = CodeWriter()
        self._instructions = InstructionCode(self._trial, self._writer)
        self._unique_names = _has_unique_names(module)
        self._names = NameTable()
        identifiers = Identifiers((*_FIXED_NAMES, *RECORD_NAMES))
        called = {c for x in module.all_instructions() for c in x.called}
        # Only computations that are called are assigned to variables.
        self._writer.computations.update({c: "b" if c is module.entry else identifiers.take(c.name) for c in module.computations if c in called})
        self._reserved = (*_FIXED_NAMES, *RECORD_NAMES, *self._writer.computations.values())

    def text(self) -> str:
        module = self._module
        blocks = [self._opening()]
        for computation in module.computations:
            blocks.append(self._computation(computation))
        is_valid = _is_valid(module, self._trial)
        if module.entry is not module.computations[-1]:
            blocks.append(f"module = b.build({'' if is_valid else 'check=False'})")
        else:
            blocks.append(chain_lines("module = b", [(".build", [self._root, *([] if is_valid else ["check=False"])])], ""))
        return "\n\n".join(["\n".join(self._imports()), *blocks]) + "\n"

    def _imports(self) -> list[str]:
        """Returns the imports of the code, with the standard library first."""
        modules: dict[str, list[str]] = {}
        for name, module in sorted(self._writer.imports.items()):
            modules.setdefault(module, []).append(name)
        lines = [f"from {module} import {', '.join(names)}" for module, names in sorted(modules.items())]
        own = [line for line in lines if line.startswith("from hlotool")]
        return [*(f"{line}\n" for line in lines if line not in own), "import hlotool", *own]

    # ---- the header -----------------------------------------------------------------------------

    def _opening(self) -> str:
        module, code = self._module, self._writer.code
        arguments = [code(module.name)]
        if module.entry.name != module.name:
            arguments.append(f"entry={code(module.entry.name)}")
        arguments += [f"{name}={code(module.attributes[name])}" for name in _DEVICE_COUNTS if module.attributes.get(name, 1) != 1]
        arguments.append("source_lines=False")
        if not self._unique_names:
            arguments.append("unique_names=False")
        lines = [chain_lines("b = hlotool", [(".Builder", arguments)], "")]
        header = [f"{code(name)}: {code(value)}" for name, value in self._header().items()]
        if header:
            line = f"b.set_header({{{', '.join(header)}}})"
            lines.append(line if len(line) <= 120 else "b.set_header({\n" + "".join([f"{_INDENT}{part},\n" for part in header]) + "})")
        if module.stack_tables_text is not None:
            rows = module.stack_tables_text.splitlines(keepends=True)
            lines.append("b.set_stack_frames(\n" + "".join([f"{_INDENT}{code(row)}\n" for row in rows]) + ")")
        if module.entry.execution_thread != "main":
            lines.append(f"b.set_execution_thread({code(module.entry.execution_thread)})")
        return "\n".join(lines)

    def _header(self) -> dict[str, Any]:
        """Returns the header attributes that are not arguments of the builder."""
        module = self._module
        header = {
            name: _header_value(name, module.attributes.get(name), text) for name, text in header_attributes(module) if name not in _DEVICE_COUNTS
        }
        # The builder adds the default entry layout.
        entry = module.entry.program_shape
        default = CODECS[MODULE_ATTRIBUTES[_ENTRY_LAYOUT].kind].write(entry, WriteStyle())
        if module.attributes.get(_ENTRY_LAYOUT) == entry or header.get(_ENTRY_LAYOUT) == default:
            header.pop(_ENTRY_LAYOUT, None)
        return header

    # ---- computations ---------------------------------------------------------------------------

    def _computation(self, computation: Computation) -> str:
        module, code = self._module, self._writer.code
        is_entry, is_hidden = computation is module.entry, computation in module.hidden
        builder, indent = ("b", "") if is_entry else ("c", _INDENT)
        lines = []
        if not is_entry:
            opened = f"b.computation({code(computation.name)}{', hidden=True' if is_hidden else ''})"
            variable = self._writer.computations.get(computation)
            lines.append(f"with {opened if variable is None else f'({variable} := {opened})'} as c:")
            if computation.execution_thread != "main":
                lines.append(f"{indent}c.set_execution_thread({code(computation.execution_thread)})")
        root = original_instruction(module, computation.root)
        names = GivenNames() if is_hidden else self._names if self._unique_names else NameTable()
        used, variables, identifiers = used_instructions(computation.instructions), dict[Instruction, str](), Identifiers(self._reserved)
        is_last = computation.root is computation.instructions[-1]
        if is_entry or not is_last:
            used.add(computation.root)
        for x in computation.instructions:
            start = builder
            if x in used:
                variables[x] = identifiers.take(x.name)
                start = f"{variables[x]} = {builder}"
            written = root if x is computation.root else x
            lines.append(chain_lines(start, self._instructions.steps(written, _reserve_name(names, x), variables), indent))
            if x.control_predecessors:
                lines.append(f"{indent}{builder}.after({variables[x]}, [{', '.join([variables[p] for p in x.control_predecessors])}])")
        if is_entry:
            self._root = variables[computation.root]
            if computation is not module.computations[-1]:
                lines.append(f"b.finish_entry({self._root})")
        elif not is_last:
            lines.append(f"{indent}c.set_root({variables[computation.root]})")
        return "\n".join(lines)


def _header_value(name: str, value: Any, text: str) -> Any:
    """Returns an attribute in a form that `set_header` accepts.

    The form is HLO text, or the value itself for booleans and for text that cannot be read back.
    """
    if isinstance(value, bool):
        return value
    with suppress(Violation):
        if CODECS[MODULE_ATTRIBUTES[name].kind].write(as_module_attribute(name, text), WriteStyle()) == text:
            return text
    return value


def _is_valid(module: Module, trial: Trial) -> bool:
    """Returns whether the verifier accepts the rebuilt module.

    The source text is left out of the check, because its comments may suppress findings.
    """
    built = copy(module)
    built.source, built.diagnostics = None, []
    return not any(diagnostic.severity == "error" for diagnostic in verify(built, trial.modes))


def _reserve_name(names: NameTable, x: Instruction) -> str | None:
    """Reserves the name of an instruction.

    Returns the name, or None if a builder would choose it by default.
    """
    automatic = names.take(x.op.name)
    if automatic == x.name:
        return None
    names.release(automatic)
    names.add(x.name)
    return x.name


def _has_unique_names(module: Module) -> bool:
    """Returns whether a builder with unique names could have chosen the names of the module.

    This requires that instruction names are unique in the module, and that the names of the module
    and of its computations are legal.
    """
    names = [x.name for c in module.computations if c not in module.hidden for x in c.instructions]
    return len(names) == len(set(names)) and all(is_legal_name(name) for name in (module.name, *(c.name for c in module.computations)))


def _require_known(module: Module) -> None:
    """Raises HlotoolError for a module with opcodes or attributes that builders do not know."""
    unknown = [f"the attribute '{name}' of the header" for name in module.attributes if name not in MODULE_ATTRIBUTES]
    known: set[tuple[OpDef, int]] = set()
    for x in module.all_instructions():
        key = x.op, id(x.attributes)
        if key in known:
            continue
        known.add(key)
        if x.op is not OPS.get(x.op.name):
            unknown.append(f"the opcode '{x.op.name}' of '{x.name}'")
        unknown += [f"the attribute '{name}' of '{x.name}'" for name in x.attributes if name not in x.op.attributes and name not in COMMON_ATTRIBUTES]
    if unknown:
        raise HlotoolError(f"builders do not support {unknown[0]}")


def _require_order(module: Module) -> None:
    """Raises HlotoolError if an instruction or a computation is used before its definition."""
    computations: set[Computation] = set()
    for computation in module.computations:
        defined: set[Instruction] = set()
        for x in computation.instructions:
            missing = [used for used in (*x.operands, *x.control_predecessors) if used not in defined]
            called = [c for c in x.called if c not in computations] if x.op.calls else ()
            if missing or called:
                name = (*missing, *called)[0].name
                raise HlotoolError(f"builders cannot create '{x.name}' in '{computation.name}': '{name}' is not defined before it")
            defined.add(x)
        computations.add(computation)
