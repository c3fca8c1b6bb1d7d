"""The op decorator: a function's signature is the declaration of an opcode.

Positional parameters are operands (`*operands` takes any number), keyword-only parameters are attributes in XLA's print order;
their annotations name a codec of `opdefs.codecs`, their defaults make them optional. The body is XLA's lenient inference; what the
verifier demands beyond it stands beside the function and is given to the decorator as `verify`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hlotool.errors import Violation
from hlotool.opdefs.modes import VerifyModes
from hlotool.record import Record
from hlotool.shapes.shape import Shape

__all__ = [
    "ACCUMULATED",
    "CALLED_KINDS",
    "CONTINUED",
    "LAYOUT_KEPT",
    "MIXED_PRECISION",
    "OPS",
    "PRECISION_KEPT",
    "REQUIRED",
    "ROUNDED",
    "SHAPE_GUESSED",
    "AttributeSpec",
    "OpDef",
    "Verify",
    "definition_of",
    "op",
    "require",
    "unknown_op",
]  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])
OperandDefault = Callable[[tuple[Shape, ...]], Any]
ParsedCheck = Callable[[Shape | None, tuple[Shape, ...], dict[str, Any]], Shape | None]
Verify = Callable[[Shape, tuple[Shape, ...], dict[str, Any], VerifyModes], Shape | None]

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()
"""Default of an attribute that must be written."""

MIXED_PRECISION = "mixed-precision"
"""Trait: operands may be floats of different types even where the verifier allows no mixed precision elsewhere."""
LAYOUT_KEPT = "layout-kept"
"""Trait: the result's layout is the inferred one, since nothing is computed that could arrange it anew."""
PRECISION_KEPT = "precision-kept"
"""Trait: the result's element type is the inferred one even where the verifier allows mixed precision."""
ROUNDED = "rounded"
"""Trait: the result may be bf16 where f32 is inferred, as compilers for TPUs write sums that they round at once."""
ACCUMULATED = "accumulated"
"""Trait: the result may have another element type than the operands, in which products are accumulated."""
SHAPE_GUESSED = "shape-guessed"
"""Trait: what the parser infers where the shape is omitted is not what the verifier demands of a written one."""


def require(holds: object, code: str, at: str, message: str, hint: str | None = None) -> None:
    """Raises Violation unless `holds`; `at` names an attribute, "operand 1", "operands", "shape" or "opcode"."""
    if not holds:
        raise Violation(code, at, message, hint)


CONTINUED = "ContinuedComputation"
"""Kind of the attribute of an async-update or async-done that refers to the computation of its start."""

CALLED_KINDS = frozenset({"Computation", "Computations", CONTINUED})
"""Kinds of attribute whose values are called computations."""

# XLA stores a while's body before its condition, against the order of printing.
_STORED_FIRST = "body"


class AttributeSpec(Record):
    """One attribute of one opcode: `kind` names its codec; `always` prints it even when it equals the default."""

    name: str
    kind: str
    default: Any = REQUIRED
    always: bool = False


class OpDef:
    """The definition of one opcode, as read from its function.

    `infer(*operand_shapes, **attributes)` gives the result shape that XLA's parser infers when none is written, or raises
    Violation; called computations are passed as ProgramShape. `infers` is False where XLA's parser demands a written shape.
    `operand_defaults` gives attributes whose default follows from the operand shapes; XLA does not print a value equal to it.
    `derived` gives attributes that XLA computes from the result shape, whatever is written.
    `check_parsed(result or None, operand_shapes, attributes)` refuses what XLA's parser refuses even with a written shape; it may
    return the shape that XLA puts in place of the written one.
    `verify(result, operand_shapes, attributes, modes)` refuses what the verifier refuses and inference lets pass; `attributes` has the
    defaults of those that are not written. It returns the shape that the result must have where that is not the inferred one.
    `result_code` is the rule that another result breaks.
    `calls` names the attributes that hold called computations, in the order in which XLA stores these.
    `kernel` computes its values: None until the interpreter, which alone fills and reads it, is imported.
    """

    __slots__ = (
        "arity",
        "attributes",
        "calls",
        "check_parsed",
        "derived",
        "doc",
        "infer",
        "infers",
        "kernel",
        "name",
        "operand_defaults",
        "operands",
        "required",
        "result_code",
        "shape_ignored",
        "traits",
        "variadic",
        "verify",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        infer: Callable[..., Shape],
        *,
        infers: bool = True,
        shape_ignored: bool = False,
        check_parsed: ParsedCheck | None = None,
        operand_defaults: dict[str, OperandDefault] | None = None,
        derived: dict[str, Callable[[Shape], Any]] | None = None,
        verify: Verify | None = None,
        result_code: str = "T003",
        traits: tuple[str, ...] = (),
        doc: str = "",
    ) -> None:
        self.name = name
        self.operands, self.variadic, self.attributes = _read_signature(infer)
        self.infer = infer
        self.infers = infers
        self.shape_ignored = shape_ignored
        self.check_parsed = check_parsed
        self.operand_defaults = operand_defaults or {}
        self.derived = derived or {}
        self.verify = verify
        self.result_code = result_code
        self.traits = frozenset(traits)
        self.doc = doc
        self.kernel: Any = None
        self.arity = -1 if self.variadic else len(self.operands)
        self.required = tuple(spec.name for spec in self.attributes.values() if spec.default is REQUIRED)
        calls = [spec.name for spec in self.attributes.values() if spec.kind in CALLED_KINDS]
        self.calls = tuple(sorted(calls, key=lambda name: name != _STORED_FIRST))

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are the definition itself, which every process has; kernels and rules are found by its identity."""
        return definition_of, (self.name,)

    def __copy__(self) -> OpDef:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> OpDef:
        return self


OPS: dict[str, OpDef] = {}
"""Every opcode by its name in text."""


def op(
    name: str | None = None,
    *,
    infers: bool = True,
    shape_ignored: bool = False,
    check_parsed: ParsedCheck | None = None,
    operand_defaults: dict[str, OperandDefault] | None = None,
    derived: dict[str, Callable[[Shape], Any]] | None = None,
    verify: Verify | None = None,
    result_code: str = "T003",
    traits: tuple[str, ...] = (),
    doc: str | None = None,
) -> Callable[[Function], Function]:
    """Enters the decorated function into OPS.

    `name` defaults to the function's with dashes; `shape_ignored` says that XLA recomputes the result shape whatever is written.

    >>> from hlotool.opdefs.table import OPS
    >>> OPS["transpose"].operands, OPS["transpose"].required
    (('operand',), ('dimensions',))
    """

    def wrap(function: Function) -> Function:
        opcode = name or function.__name__.strip("_").replace("_", "-")
        if opcode in OPS:
            raise ValueError(f"opcode {opcode} is defined twice")
        OPS[opcode] = OpDef(
            opcode,
            function,
            infers=infers,
            shape_ignored=shape_ignored,
            check_parsed=check_parsed,
            operand_defaults=operand_defaults,
            derived=derived,
            verify=verify,
            result_code=result_code,
            traits=traits,
            doc=(doc or function.__doc__ or "").strip(),
        )
        return function

    return wrap


def _read_signature(function: Callable[..., Any]) -> tuple[tuple[str, ...], bool, dict[str, AttributeSpec]]:
    """Reads code and annotations directly: inspect.signature costs 84 us a function, which every start would pay 133 times."""
    code = function.__code__
    names, positional, keyword = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    defaults: dict[str, Any] = function.__kwdefaults__ or {}
    attributes = {}
    for parameter in names[positional : positional + keyword]:
        annotation: str = function.__annotations__[parameter]
        always = annotation.startswith("Always[")
        kind = annotation.removeprefix("Always[").removesuffix("]") if always else annotation
        attributes[parameter] = AttributeSpec(parameter, kind.removesuffix(" | None"), defaults.get(parameter, REQUIRED), always)
    return names[:positional], bool(code.co_flags & 0x04), attributes


def definition_of(name: str) -> OpDef:
    """The definition of an opcode, that of an unknown one where the table has none.

    >>> definition_of("zork")
    <op zork>
    """
    return OPS.get(name) or unknown_op(name)


def unknown_op(name: str) -> OpDef:
    """A definition for an opcode that is not in the table: any operands, attributes kept as they are written, the shape written too."""

    def infer(*operands: Shape) -> Shape:
        raise Violation("S037", "shape", f"the result shape of the unknown opcode '{name}' cannot be inferred", "write it")

    return OpDef(name, infer, infers=False)
