"""Diagnostics of the interpreter, with the source location of the instruction at fault."""

from __future__ import annotations

from hlotool.codes import CODE_NAMES
from hlotool.errors import Diagnostic, EvaluationError, Source, Violation
from hlotool.ir.model import Computation, Instruction, Module, as_op_argument
from hlotool.opdefs.constraints import ResultRules
from hlotool.opdefs.modes import VerifyModes
from hlotool.shapes.shape import ProgramShape, Shape
from hlotool.text.locate.instruction import locate
from hlotool.text.source.part_names import PartName

__all__ = ["broken_rule", "diagnostic_at", "failure", "is_as_inferred", "may_fail"]

_NAME = PartName("name")
# The interpreter runs modules with mixed precision.
_MODES = VerifyModes(allow_mixed_precision=True)


def diagnostic_at(
    module: Module, instruction: Instruction | None, code: str, message: str, hint: str | None = None, notes: tuple[str, ...] = ()
) -> Diagnostic:
    """Returns a diagnostic at an instruction's name.

    If the instruction or its location is unknown, the diagnostic is at the start of the module.
    """
    source = module.source or Source("")
    name = None if instruction is None else instruction.name
    if instruction is None or instruction.start < 0 or module.source is None:
        where = (source.first_line, 1, source.first_line, 2)
    else:
        start, end = locate(source.text, instruction.start, instruction.end, _NAME)
        where = (*source.line_column(start), *source.line_column(end))
    return Diagnostic(code, CODE_NAMES[code], "error", message, source.filename, *where, hint=hint, notes=notes, instruction=name)


def failure(
    module: Module, instruction: Instruction | None, code: str, message: str, hint: str | None = None, notes: tuple[str, ...] = ()
) -> EvaluationError:
    """Returns an exception with one diagnostic, located as in `diagnostic_at`."""
    return EvaluationError([diagnostic_at(module, instruction, code, message, hint, notes)])


def broken_rule(x: Instruction) -> Violation | None:
    """Returns the violation of the first op rule that an instruction breaks, or None.

    An instruction may break rules because modules can be run without being verified.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] reverse(x), dimensions={1} }")
    >>> broken_rule(module.entry.root).message
    "dimension 1 in dimensions of 'reverse' is out of range for rank 1"
    """
    try:
        _expected_shape(x)
    except Violation as violation:
        return violation
    return None


def is_as_inferred(x: Instruction) -> bool:
    """Returns whether an instruction follows the rules of its op.

    Its element types and dimensions must also equal the inferred ones.

    >>> import hlotool
    >>> text = "ENTRY e { x = f32[2] parameter(0) y = f32[3] slice(x), slice={[0:2]} ROOT r = f32[2] negate(x) }"
    >>> [is_as_inferred(x) for x in hlotool.parse(text).entry.instructions[1:]]
    [False, True]
    """
    try:
        expected = _expected_shape(x)
    except Violation:
        return False
    return expected is None or [*map(_type_and_sizes, expected.leaves())] == [*map(_type_and_sizes, x.shape.leaves())]


def may_fail(x: Instruction) -> bool:
    """Returns whether an instruction that follows the rules of its op may still fail at run time.

    Its kernel may reject it, or sizes that are known only at run time may not match.

    >>> import hlotool
    >>> text = "ENTRY e { x = f32[2] parameter(0) n = s32[] parameter(1) ROOT r = f32[<=2] set-dimension-size(x, n), dimensions={0} }"
    >>> may_fail(hlotool.parse(text).entry.root)
    True
    """
    is_dynamic = any(True in leaf.dynamic for y in (x, *x.operands) for leaf in y.shape.leaves() if leaf.dynamic)
    return is_dynamic or (x.op.kernel is not None and x.op.kernel.refuses(x))


def _type_and_sizes(shape: Shape) -> tuple[str, tuple[int, ...]]:
    return shape.element_type, shape.dimensions


def _expected_shape(x: Instruction) -> Shape | None:
    attributes = {name: as_op_argument(value, _program_shape) for name, value in x.attributes.items()}
    return ResultRules(x.op).expected(x.shape, tuple([operand.shape for operand in x.operands]), attributes, _MODES)


def _program_shape(computation: Computation) -> ProgramShape:
    return computation.program_shape
