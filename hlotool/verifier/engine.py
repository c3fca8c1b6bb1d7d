"""Checks a module against all rules.

The engine checks every instruction with shape inference and the constraints of its op, then runs
the rules in the folder `rules`. The engine has no special cases for opcodes or rules.
`verifier.report` converts the findings to diagnostics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from hlotool.codes import severity_of
from hlotool.collection import no_garbage_collection
from hlotool.errors import Diagnostic, Violation
from hlotool.ir.model import AttributeSet, Computation, Instruction, Module, as_op_argument
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.constraints import ResultRules, check_precision, check_result
from hlotool.opdefs.layouts import check_kept_layout
from hlotool.opdefs.modes import VerifyModes
from hlotool.option_fields import options_of
from hlotool.record import replace
from hlotool.shapes.shape import ProgramShape, Shape
from hlotool.verifier.damage import Damage
from hlotool.verifier.diagnosing import Reporter
from hlotool.verifier.facts import Facts, has_mixed_precision, is_optimized
from hlotool.verifier.registry import LINT, MODULE_RULES, SHAPE_RULES, Finding
from hlotool.verifier.selection import Selection
from hlotool.verifier.suppressions import apply_suppressions

__all__ = ["InstructionRules", "check", "verify"]

_DEFAULT_MODES = VerifyModes()
_UNCHECKED: Any = object()
_shape_of = attrgetter("shape")

_SHAPE_CODES = frozenset({"L003", "T083", "T084"})
"""Codes of rules about a single shape. Inference also checks the shapes that it derives."""


def verify(
    module: Module, modes: VerifyModes = _DEFAULT_MODES, *, select: Sequence[str] | None = None, ignore: Sequence[str] | None = None
) -> list[Diagnostic]:
    """Returns the problems in a module: the errors of a tolerant parse and the findings of rules.

    The problems are sorted by position in the text. `select` and `ignore` list codes and prefixes
    of codes. Without `select`, errors and a few warnings are reported; ["ALL"] selects every rule.
    Parse errors are always reported. Suppressions in the text (`verifier.suppressions`) hide
    findings.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { p = f32[4] parameter(0) ROOT c = f32[5] negate(p) }")
    >>> print(*verify(module))
    <string>:1:44: error[T003] result-shape: 'negate' of f32[4] returns f32[4], but f32[5] is written
    """
    return check(module, modes, Selection(select, ignore))


def check(module: Module, modes: VerifyModes, selection: Selection, errors: Sequence[Diagnostic] = ()) -> list[Diagnostic]:
    """Returns the problems in a module, like `verify`, but takes a Selection.

    If `module` comes from a tolerant parse after a failed strict parse, `errors` lists the errors
    of the strict parse. They are reported instead of the errors in `module.diagnostics`.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { p = f32[4] parameter(0) ROOT c = f32[5] negate(p) } // hlotool: ignore[T003] later")
    >>> check(module, VerifyModes(), Selection())
    []
    """
    errors = errors or [d for d in module.diagnostics if d.severity == "error"]
    damage = Damage(module, errors) if errors else None
    modes = _with_defaults(modes, module, damage)
    if modes.broadcast_dimensions_sorted:
        selection = selection.with_errors(["T019"])
    diagnostics = [*errors, *(d for d in module.diagnostics if d.severity != "error" and selection.has(d.code) and not _is_reported(d, errors))]
    with no_garbage_collection():
        diagnostics += _diagnostics(module, modes, selection, damage)
    is_sound = not any(severity_of(d.code) == "error" for d in diagnostics)
    diagnostics = apply_suppressions(module, diagnostics, selection, errors, lambda: _silent_codes(modes, is_sound=is_sound))
    return sorted(diagnostics, key=lambda d: (d.line, d.column, d.code))


def _is_reported(d: Diagnostic, errors: Sequence[Diagnostic]) -> bool:
    """Returns whether a strict parse reports this warning of a tolerant parse as an error."""
    return any((d.code, d.line, d.column) == (error.code, error.line, error.column) for error in errors)


def _with_defaults(modes: VerifyModes, module: Module, damage: Damage | None) -> VerifyModes:
    """Returns the modes, with values filled in for those that depend on the module."""
    # A header that does not parse may have declared that the module is optimized.
    is_unknown = damage is not None and damage.in_header
    if modes.layouts_kept is None:
        modes = replace(modes, layouts_kept=bool(modes.layout_sensitive))
    if modes.layout_sensitive is None:
        modes = replace(modes, layout_sensitive=not is_unknown and is_optimized(module, modes))
    if modes.allow_mixed_precision is None:
        modes = replace(modes, allow_mixed_precision=is_unknown or has_mixed_precision(module, modes))
    return modes


def _silent_codes(modes: VerifyModes, *, is_sound: bool) -> frozenset[str]:
    """Returns the codes that are never reported in these modes.

    These are the codes that a mode turns off and, if the module has errors, the codes of lints.
    """
    off = {code for name, option in options_of(VerifyModes).items() for code in option.silent_codes(getattr(modes, name))}
    lints = () if is_sound else (code for rule in MODULE_RULES if rule.stage == LINT for code in rule.codes)
    return frozenset({*off, *lints})


def _diagnostics(module: Module, modes: VerifyModes, selection: Selection, damage: Damage | None) -> list[Diagnostic]:
    """Returns the diagnostics of all rules.

    Facts do not outlive this call, so the garbage collector does not need to visit them.
    """
    facts = Facts(module, modes)
    reporter = Reporter(facts)
    return [reporter.diagnostic(finding) for finding in _findings(facts, selection, damage) if selection.has(finding.code)]


def _findings(facts: Facts, selection: Selection, damage: Damage | None) -> Iterator[Finding]:
    is_sound = True
    for finding in InstructionRules(facts).findings():
        if damage is not None and finding.instruction is not None and damage.affects(finding.instruction):
            continue
        is_sound = is_sound and not finding.is_error
        yield finding
    if damage is not None:
        # Other rules might report something as missing only because it could not be parsed.
        return
    for rule in sorted(MODULE_RULES, key=lambda rule: rule.stage == LINT):
        if selection.codes.isdisjoint(rule.codes) or (rule.stage == LINT and not is_sound):
            continue
        for finding in rule.check(facts):
            is_sound = is_sound and not finding.is_error
            yield finding


class InstructionRules:
    """Checks of each instruction against the definition of its op.

    Instructions that are equal except for their names are checked only once.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.modes = facts.modes
        self._shapes: dict[Shape, Violation | None] = {}
        self._rules: dict[OpDef, ResultRules] = {}
        self._signatures: dict[ProgramShape, ProgramShape] = {}

    def findings(self) -> Iterator[Finding]:
        # Keys are identities of shapes and attributes, which the module keeps alive. Hashing their
        # contents would take longer than the checks, except for the signatures of computations.
        verdicts: dict[tuple[Any, ...], Violation | None] = {}
        get, judge, hidden = verdicts.get, self.judge, self.facts.module.hidden
        # The shapes that faulty instructions should have declared, if known.
        corrected: dict[Instruction, Shape] = {}
        for computation in self.facts.module.computations:
            for x in computation.instructions:
                attributes: Any = id(x.attributes)
                if x.op.calls:
                    # Computations have the same effect on the checks if their signatures are equal.
                    items = x.attributes.items()
                    attributes = tuple(
                        [(name, id(value) if isinstance(value, dict) else as_op_argument(value, self._signature)) for name, value in items]
                    )
                key = (x.op, attributes, id(x.shape), *map(id, map(_shape_of, x.operands)))
                verdict = get(key, _UNCHECKED)
                if verdict is _UNCHECKED:
                    verdict = verdicts[key] = judge(x)
                if verdict is None or self._is_consequence(x, corrected):
                    continue
                shape = self._corrected_shape(x)
                if shape is not None:
                    corrected[x] = shape
                # In the hidden computation of a start such as `negate-start`, only the root is
                # reported. The parameters come from the start, which is checked separately.
                if x is computation.root or computation not in hidden:
                    yield Finding(verdict.code, computation, x, verdict.at, verdict.message, verdict.hint, severity=verdict.severity)

    def _signature(self, computation: Computation) -> Any:
        shape = self.facts.program_shape(computation)
        return id(self._signatures.setdefault(shape, shape))

    def _corrected_shape(self, x: Instruction) -> Shape | None:
        """Returns the shape that follows from the operands of an instruction, or None."""
        try:
            expected = self._expected_shape(x.op, x.shape, tuple([operand.shape for operand in x.operands]), x.attributes)
        except Violation:
            return None
        # Inference ignores layouts.
        is_comparable = expected is not None and expected.is_array and x.shape.is_array and expected.rank == x.shape.rank
        return expected.with_layout(x.shape.layout) if expected is not None and is_comparable else expected

    def _is_consequence(self, x: Instruction, corrected: dict[Instruction, Shape]) -> bool:
        """Returns whether the instruction would be correct with corrected operand shapes."""
        if corrected.keys().isdisjoint(x.operands):
            return False
        operands = tuple([corrected.get(operand, operand.shape) for operand in x.operands])
        return self._judge_shape(x.shape) is None and self._judge_op(x.op, x.shape, operands, x.attributes) is None

    def judge(self, x: Instruction) -> Violation | None:
        """Returns the first violation of a rule by the instruction, or None.

        Users of the instruction are checked with the shape that it declares.
        """
        operands = tuple([operand.shape for operand in x.operands])
        fault = self._judge_shape(x.shape)
        if fault is not None:
            # If an operand's shape has the same fault, the fault is reported at the operand.
            faults = [self._judge_shape(shape) for shape in operands]
            if all(other is None or other.code != fault.code for other in faults):
                return fault
        fault = self._judge_op(x.op, x.shape, operands, x.attributes)
        if fault is not None and fault.code in _SHAPE_CODES and any(self._judge_shape(shape) for shape in operands):
            return None
        return fault

    def _judge_shape(self, shape: Shape) -> Violation | None:
        verdict = self._shapes.get(shape, _UNCHECKED)
        if verdict is _UNCHECKED:
            verdict = self._shapes[shape] = self._first_violation(shape)
        return verdict  # type: ignore[no-any-return]

    def _first_violation(self, shape: Shape) -> Violation | None:
        try:
            for rule in SHAPE_RULES:
                rule.check(shape, self.modes)
        except Violation as violation:
            return violation
        return None

    def _judge_op(self, op: OpDef, result: Shape, operands: tuple[Shape, ...], written: AttributeSet) -> Violation | None:
        """Returns the first error from an op's constraints, or else a warning, or else None."""
        warning: Violation | None = None
        expected: Shape | None = None
        try:
            expected = self._expected_shape(op, result, operands, written)
        except Violation as violation:
            if (violation.severity or severity_of(violation.code)) == "error":
                return violation
            warning = violation
        try:
            if len(operands) > 1:
                check_precision(op, operands, self.modes)
            check_kept_layout(op, result, operands, self.modes)
            if expected is not None and expected is not result:
                check_result(op, operands, expected, result, self.modes)
        except Violation as violation:
            return violation
        return warning

    def _expected_shape(self, op: OpDef, result: Shape, operands: tuple[Shape, ...], written: AttributeSet) -> Shape | None:
        """Returns the result shape determined by inference and the op's constraints, or None."""
        attributes: dict[str, Any] = written
        if op.calls:
            attributes = {name: as_op_argument(value, self.facts.program_shape) for name, value in written.items()}
        rules = self._rules.get(op)
        if rules is None:
            rules = self._rules[op] = ResultRules(op)
        return rules.expected(result, operands, attributes, self.modes)
