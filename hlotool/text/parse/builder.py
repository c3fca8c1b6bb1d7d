"""Builds a module while its text is parsed: scopes, names, computations and diagnostics.

Both paths of the parser use the builder: the grammar path from Lark's callbacks, and the fast path
from its loop over lines. `text.parse.instructions` builds and checks the instructions. With
`strict`, everything that XLA rejects is an error; otherwise, unknown opcodes and attributes are
kept as raw text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from hlotool.codes import CODE_NAMES
from hlotool.errors import Diagnostic, Source, Violation, nearest
from hlotool.ir.async_chain import bind_continuations
from hlotool.ir.make import make_instruction
from hlotool.ir.model import Computation, Instruction, Module, set_field
from hlotool.ir.names import free_name, unique_names
from hlotool.ir.notes import SourceNotes
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS
from hlotool.shapes.shape import Shape, compatible, subshape
from hlotool.shapes.values import AliasPair
from hlotool.text.source.tokens import LINE

__all__ = ["MAX_DIAGNOSTICS", "ModuleBuilder", "Scope", "alias_errors"]

# The word that a message underlines.
_WORD = re.compile(r"(?:ROOT[ \t]++)?+[A-Za-z0-9_.%\-]++")
# Codes of errors in attribute values. Their messages also underline the name of the attribute.
_ATTRIBUTE_CODES = frozenset({"S006", "S017", "S018", "S029"})
_PRECEDING_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*+=[ \t]*+\Z")
_MAX_ATTRIBUTE_LENGTH = 80
_PARAMETER = re.compile(r"\bparameter[ \t]*+\([^)]*+\)")
# The beginning of a pair in input_output_alias.
_ALIAS_PAIR = re.compile(r"\{[-0-9, \t\r\n]*+\}[ \t\r\n]*+:")

# The maximum number of names that are compared with a misspelled name, and the maximum number of
# comparisons per module. A comparison takes about 20 microseconds.
_MAX_CANDIDATES = 1000
_MAX_COMPARISONS = 10_000

# The maximum number of leaves in the inferred tuples of a module. One more leaf is allowed for each
# character of the text.
_MAX_INFERRED = 1 << 17
# The maximum number of leaves and nested tuples in the inferred tuples of any module: 40 nested
# tuples can have 2^40 elements.
_MAX_NESTED = 5_000_000

MAX_DIAGNOSTICS = 100
"""Parsing stops after this many diagnostics."""


class Scope:
    """A computation that is being parsed."""

    __slots__ = (
        "broken",
        "computation",
        "counters",
        "definitions",
        "is_entry",
        "is_faulty",
        "is_named",
        "names",
        "numbers",
        "odd_names",
        "result",
        "result_position",
        "root_position",
    )

    def __init__(self, computation: Computation, is_entry: bool, result: Shape | None, result_position: int) -> None:
        self.computation = computation
        self.is_entry = is_entry
        self.is_named = True
        self.result = result
        self.result_position = result_position
        self.names: dict[str, Instruction] = {}
        self.counters: dict[str, int] = {}
        # Parameters by number, to find duplicates and gaps.
        self.numbers: dict[int, Instruction] = {}
        self.root_position = -1
        # Names whose definition has an error. Uses of these names are not reported.
        self.broken: set[str] = set()
        # True if an error in the computation was reported. Missing parts are then not reported.
        self.is_faulty = False
        # The offsets of all definitions after the first use of an unknown name, or None before such
        # a use.
        self.definitions: dict[str, int] | None = None
        # True if any name is legal only with its percent sign, such as %true.
        self.odd_names = False


class ModuleBuilder:
    """The builder of one module; without `strict`, it keeps unknown opcodes and attributes."""

    def __init__(self, source: Source, *, strict: bool = True) -> None:
        self.source = source
        self.strict = strict
        self.module = Module("", source)
        # Computations by name: `computations` holds those that the text can refer to, and `named`
        # holds all of them, including inline bodies.
        self.computations: dict[str, Computation] = {}
        self.named: dict[str, Computation] = {}
        self.inline_bodies: list[Computation] = []
        # True if a computation has a name that was given to an inline body.
        self.has_clashes = False
        self.counters: dict[str, int] = {}
        # Names of computations with errors. Calls to these computations are not reported.
        self.broken: set[str] = set()
        self.scopes: list[Scope] = []
        self.diagnostics: list[Diagnostic] = []
        self.entry_position = -1
        self.single_instruction = False
        # True if the grammar has rejected a part of the text.
        self.has_syntax_errors = False
        self.has_origins = False
        # Async update and done ops whose start op is in another computation, with the offsets of
        # their opcodes.
        self.unbound: dict[Instruction, int] = {}
        # Reported errors about names: code, message and computation.
        self.known_errors: set[tuple[str, str, str]] = set()
        # The first computation that defines each name, among the first `_owner_count` computations.
        self._owners: dict[str, Computation] = {}
        self._owner_count = 0
        self._comparisons = 0
        # The names of the computations that begin after the first reference to a missing
        # computation.
        self._headers: frozenset[str] | None = None
        # The numbers of leaves, and of tuples and leaves together, in tuples with inferred shapes.
        self._leaves = 0
        self._nested = 0
        # True while a segment is parsed for the fast path: Violations are then raised, not
        # reported.
        self.in_segment = False

    # ---- diagnostics ----------------------------------------------------------------------------

    @property
    def has_errors(self) -> bool:
        return any(d.severity == "error" for d in self.diagnostics)

    def report(
        self, code: str, position: int, message: str, hint: str | None = None, end: int = -1, notes: tuple[str, ...] = (), severity: str = "error"
    ) -> None:
        """Adds a diagnostic for the text between two offsets; without `end`, for one character."""
        line, column = self.source.line_column(position)
        end_line, end_column = self.source.line_column(end) if end > position else (line, column + 1)
        computation = None
        if self.scopes:
            computation = next((scope.computation.name for scope in reversed(self.scopes) if scope.is_named), None)
            if severity == "error":
                self.scope.is_faulty = True
        self.diagnostics.append(
            Diagnostic(code, CODE_NAMES[code], severity, message, self.source.filename, line, column, end_line, end_column, hint, notes, computation)
        )

    def report_violation(self, violation: Violation, position: int, end: int = -1) -> None:
        """Reports a Violation at its offset, or else at `position`.

        `end` defaults to the end of the word at that offset.
        """
        text, start = self.source.text, violation.at if isinstance(violation.at, int) else position
        word = _WORD.match(text, start)
        if end < 0 and word is not None:
            end = word.end()
        if violation.code in _ATTRIBUTE_CODES:
            name = _PRECEDING_ATTRIBUTE.search(text, max(0, start - _MAX_ATTRIBUTE_LENGTH), start)
            end, start = (max(end, start + 1), name.start()) if name is not None else (end, start)
        self.report(violation.code, start, violation.message, violation.hint, end=end)

    def location(self, position: int) -> str:
        """Returns the line and column of an offset for messages, such as `12:3`."""
        line, column = self.source.line_column(position)
        return f"{line}:{column}"

    # ---- shapes ---------------------------------------------------------------------------------

    def count_inferred(self, shape: Shape) -> None:
        """Counts the elements of an inferred tuple. Raises Violation if there are too many."""
        self._leaves += shape.leaf_count
        self._nested += shape.tree_size
        limit = _MAX_INFERRED + len(self.source.text)
        if self._leaves > limit or self._nested > _MAX_NESTED:
            message = f"the tuples with inferred shapes have more than {limit if self._leaves > limit else _MAX_NESTED:,} elements in total"
            self._leaves -= shape.leaf_count
            self._nested -= shape.tree_size
            raise Violation("S037", "shape", f"{message}, including nested tuples", "write the result shapes of tuples, or nest fewer tuples")

    # ---- computations ---------------------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        """The innermost open computation."""
        return self.scopes[-1]

    def open_computation(
        self, name: str | None, start: int, *, is_entry: bool = False, result: Shape | None = None, result_position: int = -1
    ) -> Scope:
        """Opens a computation; `result` is the result shape of its signature, at `result_position`.

        An unnamed computation, such as an inline body, is called `_`, as in XLA. Diagnostics do not
        show this name.
        """
        if is_entry:
            if self.entry_position >= 0:
                self.report(
                    "S010", start, "a module can have only one ENTRY computation", notes=(f"the first is at {self.location(self.entry_position)}",)
                )
            else:
                self.entry_position = start
        scope = Scope(Computation("_" if name is None else name, start), is_entry, result, result_position)
        scope.is_named = name is not None
        self.scopes.append(scope)
        return scope

    def close_computation(self, position: int, end: int, thread: str = "main", *, inline: bool = False) -> Computation:
        """Adds the innermost computation, whose closing brace is at `position`, to the module."""
        scope = self.scope
        computation = scope.computation
        computation.end = end
        computation.execution_thread = thread
        if not computation.instructions:
            if not (scope.is_faulty or scope.broken):
                brace = self.source.text.rfind("{", max(0, computation.start), position)
                self.report(
                    "S011",
                    max(brace, computation.start),
                    f"computation '{computation.name}' has no instructions",
                    "add at least a ROOT instruction",
                )
            self.scopes.pop()
            self.broken.add(computation.name)
            return computation
        if computation.root is None:
            computation.root = computation.instructions[-1]
        if not (scope.is_faulty or scope.broken):
            self._check_parameters(scope)
            _check_result(self, scope)
        self._add_computation(scope, inline=inline)
        return computation

    def add_parsed_computation(self, computation: Computation, *, is_entry: bool) -> None:
        """Adds a computation that another parse has already read and checked."""
        scope = self.open_computation(computation.name, computation.start, is_entry=is_entry)
        scope.computation = computation
        self._add_computation(scope, inline=False)

    def _add_computation(self, scope: Scope, *, inline: bool) -> None:
        """Adds the innermost computation, which must be complete, to the module."""
        computation = scope.computation
        self.scopes.pop()
        if inline:
            computation.name = free_name(computation.name, self.named, self.counters)
            self.inline_bodies.append(computation)
        elif computation.name in self.computations:
            first = self.computations[computation.name]
            note = f"the first definition is at {self.location(first.start)}"
            self.report("S005", computation.start, f"computation '{computation.name}' is defined twice", notes=(note,))
        if scope.is_faulty or scope.broken:
            # The parameters and the result of the computation are uncertain.
            self.broken.add(computation.name)
        else:
            if not inline:
                self.has_clashes |= computation.name in self.named
                self.computations[computation.name] = computation
            self.named[computation.name] = computation
        self.module.computations.append(computation)
        if scope.is_entry and self.module.entry is None:
            self.module.entry = computation

    def _check_parameters(self, scope: Scope) -> None:
        """Reports a gap in the parameter numbers."""
        count = len(scope.numbers)
        if count and max(scope.numbers) >= count:
            missing = next(k for k in range(count) if k not in scope.numbers)
            last = scope.numbers[max(scope.numbers)]
            call = _PARAMETER.search(self.source.text, last.start)
            start, end = call.span() if call is not None else (self.text_start(last.start), -1)
            self.report("S021", start, f"parameter number {missing} is missing, but there is a parameter number {max(scope.numbers)}", end=end)

    def text_start(self, start: int) -> int:
        """Returns the offset after the whitespace at `start`.

        Instructions from the fast path start at the beginning of a line.
        """
        text = self.source.text
        while start < len(text) and text[start] in " \t\r\n":
            start += 1
        return start

    # ---- references -----------------------------------------------------------------------------

    def computation(self, name: str, position: int) -> Computation:
        """Returns the computation with this name. Raises Violation if it is not defined yet."""
        computation = self.computations.get(name)
        if computation is not None:
            return computation
        if any(scope.is_named and scope.computation.name == name for scope in self.scopes):
            raise Violation("S029", position, f"computation '{name}' calls itself", "HLO has no recursion; use a while loop")
        if name in self.broken:
            raise Violation("", position, "")
        raise Violation("S006", position, *_missing_computation(self, name, position))

    def instruction(self, name: str, position: int, code: str = "S002") -> Instruction:
        """Returns the instruction with this name in the open computation, or raises Violation."""
        scope = self.scope
        instruction = scope.names.get(name)
        if instruction is not None:
            return instruction
        if name in scope.broken:
            raise Violation("", position, "")
        if code == "S002":
            # XLA has one error for all these cases; specific messages save the user a search.
            _raise_if_defined_elsewhere(self, name, position)
        meant = self._nearest(name, scope.names)
        hint = f"did you mean '{meant}'?" if meant else None
        raise Violation(code, position, f"no instruction named '{name}' in computation '{scope.computation.name}'", hint)

    def owner(self, name: str) -> Computation | None:
        """Returns the first complete computation that defines an instruction with this name."""
        computations = self.module.computations
        for computation in computations[self._owner_count :]:
            for x in computation.instructions:
                self._owners.setdefault(x.name, computation)
        self._owner_count = len(computations)
        return self._owners.get(name)

    def _nearest(self, name: str, names: dict[str, Any]) -> str | None:
        """Returns the name that was probably meant, or None.

        Considers only the latest names, and none at all after too many comparisons.
        """
        candidates = list(islice(reversed(names), _MAX_CANDIDATES))
        self._comparisons += len(candidates)
        return nearest(name, candidates) if self._comparisons <= _MAX_COMPARISONS else None

    # ---- the module -----------------------------------------------------------------------------

    def set_header(self, name: str, attributes: list[tuple[Any, str, Any]]) -> None:
        """Sets the module's name and its header attributes, given as (position, name, value)."""
        self.module.name = name
        for position, key, value in attributes:
            spec = MODULE_ATTRIBUTES.get(key)
            if key in self.module.attributes:
                self.report("S016", position, f"module attribute '{key}' is written twice", end=position + len(key))
            elif spec is None:
                self._unknown_module_attribute(key, position, value)
            else:
                self.module.attribute_starts[key] = int(position)
                convert = CODECS[spec.kind].convert
                self.module.attributes[key] = convert(value) if convert else value

    def _unknown_module_attribute(self, key: str, position: int, value: Any) -> None:
        meant = nearest(key, MODULE_ATTRIBUTES)
        hint = f"did you mean '{meant}'?" if meant else f"module attributes: {', '.join(sorted(MODULE_ATTRIBUTES))}"
        severity = "error" if self.strict else "warning"
        self.report("M017", position, f"a module has no attribute '{key}'", hint, end=position + len(key), severity=severity)
        if not self.strict:
            self.module.attributes[key] = value

    def finish(self, position: int) -> Module:
        """Completes the module at the end of the text and returns it."""
        module = self.module
        module.diagnostics = self.diagnostics
        if not module.computations:
            if not self.has_errors:
                self.report("S001", position, "expected a computation, found the end of the text")
            # With `strict=False`, every text yields a module that can be walked and printed.
            module.computations.append(_empty_computation())
        if module.entry is None:
            module.entry = module.computations[-1]
        if not module.name:
            module.name = "_" if self.single_instruction else f"module_{module.entry.name}"
        if self.unbound and not self.has_errors:
            _bind_continuations(self)
        if not self.has_errors:
            _check_aliases(self)
        if self.has_origins:
            _propagate_origins(module)
        if self.has_clashes:
            _rename_computations(module, self.inline_bodies)
        return module


def _check_result(builder: ModuleBuilder, scope: Scope) -> None:
    """Reports a root whose shape differs from the result of the signature."""
    computation = scope.computation
    if scope.result is None or compatible(scope.result, computation.root.shape):
        return
    declared, actual = scope.result.text_without_layout, computation.root.shape.text_without_layout
    message = f"the signature of '{computation.name}' has the result {declared}, but its root '{computation.root.name}' is {actual}"
    builder.report("S023", scope.result_position, message, f"change the signature's result to {actual}")


def _raise_if_defined_elsewhere(builder: ModuleBuilder, name: str, position: int) -> None:
    """Raises Violation if the instruction is defined later, or in another computation."""
    if builder.scope.definitions is None:
        builder.scope.definitions = _later_definitions(builder.source.text, position)
    below = builder.scope.definitions.get(name, -1)
    if below >= position:
        message = f"'{name}' is used before it is defined at {builder.location(below)}"
        # In a scheduled module, the order of lines is the schedule, so the schedule is wrong.
        code = "A028" if builder.module.is_scheduled else "S027"
        raise Violation(code, position, message, "move its definition up; HLO text defines instructions before they are used")
    owner = builder.owner(name)
    if owner is not None:
        message = f"'{name}' is defined in computation '{owner.name}', not in '{builder.scope.computation.name}'"
        raise Violation("S026", position, message, "values pass between computations only as parameters and results")


def _later_definitions(text: str, position: int) -> dict[str, int]:
    """Returns the offsets of the names defined on later lines of the computation at `position`."""
    definitions: dict[str, int] = {}
    for line in LINE.finditer(text, position):
        if line["close"]:
            break
        if line["defined"]:
            definitions.setdefault(line["defined"], line.start("defined"))
    return definitions


def _missing_computation(builder: ModuleBuilder, name: str, position: int) -> tuple[str, str]:
    """Returns the message and the hint for an undefined computation."""
    if builder._headers is None:
        builder._headers = frozenset(line["opened"] for line in LINE.finditer(builder.source.text, position))
    if name in builder._headers:
        message = f"no computation named '{name}' is defined before this point"
        return message, "move its definition up; computations are defined before they are used"
    meant = builder._nearest(name, builder.computations)
    hint = f"did you mean '{meant}'?" if meant else "copy it from the original text; without it, the instruction has no meaning"
    return f"the text has no computation named '{name}'", hint


def _bind_continuations(builder: ModuleBuilder) -> None:
    """Sets the called computations of update and done ops whose start op is in another computation.

    Each op calls the same computation as its start op. Reports ops that are written with a
    different computation.
    """
    for x, called in bind_continuations(builder.module, builder.unbound):
        message = f"'{x.op.name}' calls '{x.called[0].name}', but its start op calls '{called.name}'"
        builder.report("S017", builder.unbound[x], message)


def _check_aliases(builder: ModuleBuilder) -> None:
    """Reports aliases of outputs or parameters that the entry does not have."""
    start = builder.module.attribute_starts.get("input_output_alias", 0)
    written = _ALIAS_PAIR.finditer(builder.source.text, start)
    for pair in builder.module.attributes.get("input_output_alias", ()):
        match = next(written, None)
        for code, message in alias_errors(pair, builder.module.entry.root):
            builder.report(code, match.start() if match is not None else start, message)


def _empty_computation() -> Computation:
    """Returns an entry computation for a module without any readable computation.

    The computation has no parameters and returns an empty tuple.
    """
    computation = Computation("main")
    computation.root = make_instruction("nothing", "tuple")
    computation.instructions = [computation.root]
    return computation


def alias_errors(pair: AliasPair, root: Instruction | None) -> Iterator[tuple[str, str]]:
    """Yields the code and the message for an alias whose output or parameter does not exist.

    >>> list(alias_errors(AliasPair((), -1, ()), None))
    [('M005', 'input_output_alias names parameter -1, which cannot exist')]
    """
    if root is not None and subshape(root.shape, pair.output_index) is None:
        index, result = ",".join(map(str, pair.output_index)), root.shape.text_without_layout
        yield "M004", f"input_output_alias names output {{{index}}}, but the result is {result}"
    elif pair.number < 0:
        yield "M005", f"input_output_alias names parameter {pair.number}, which cannot exist"


def _rename_computations(module: Module, inline_bodies: list[Computation]) -> None:
    """Renames all computations in order, as XLA does.

    This is needed if a computation has a name that was given to an earlier inline body.
    """
    for computation in inline_bodies:
        # Until XLA renames it, an inline body is called `_`.
        computation.name = "_"
    _, names = unique_names(module)
    for computation, name in names.items():
        computation.name = name
    # The printer can no longer copy the source lines.
    module.notes = SourceNotes()


def _propagate_origins(module: Module) -> None:
    """Copies origins from the operands of tuples to their get-tuple-elements, as XLA does."""
    for computation in module.computations:
        for x in computation.instructions:
            if x.op.name != "get-tuple-element" or "origin" in x.attributes or x.operands[0].op.name != "tuple":
                continue
            index = x.attributes["index"]
            source = x.operands[0].operands[index] if 0 <= index < len(x.operands[0].operands) else None
            if source is not None and "origin" in source.attributes:
                module.notes.spans.pop(computation, None)
                set_field(x, "attributes", x.attributes.changed({"origin": source.attributes["origin"]}))
