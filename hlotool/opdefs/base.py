"""The op decorator: a function's signature is the declaration of an opcode.

Positional parameters are operands (`*operands` takes any number), keyword-only parameters are attributes in XLA's print order;
their annotations name a codec of `opdefs.codecs`, their defaults make them optional. The body is XLA's lenient inference; what the
verifier demands beyond it stands beside the function and is given to the decorator as `verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Concatenate, ParamSpec, TypeVar

from hlotool.errors import Violation
from hlotool.opdefs.algebra import NO_ALGEBRA, Algebra
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import COMMUNICATES, EFFECT, NONDETERMINISTIC, with_implied
from hlotool.record import Record
from hlotool.shapes.shape import Shape

__all__ = [
    "CALLED_KINDS",
    "CONTINUED",
    "OPS",
    "REQUIRED",
    "AttributeSpec",
    "OpDef",
    "Verify",
    "op",
    "require",
    "unknown_op",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Slots = ParamSpec("Slots")
OperandDefault = Callable[[tuple[Shape, ...]], Any]
ParsedCheck = Callable[[Shape | None, tuple[Shape, ...], dict[str, Any]], Shape | None]
Verify = Callable[[Shape, tuple[Shape, ...], dict[str, Any], VerifyModes], Shape | None]

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()
"""Default of an attribute that must be written."""


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

    `name` defaults to the function's with dashes, `doc` to its docstring; `shape_ignored` says that XLA recomputes the result shape whatever
    is written.
    `infer(*operand_shapes, **attributes)` gives the result shape that XLA's parser infers when none is written, or raises
    Violation; called computations are passed as ProgramShape. `infers` is False where XLA's parser demands a written shape.
    `operand_defaults` gives attributes whose default follows from the operand shapes; XLA does not print a value equal to it.
    `derived` gives attributes that XLA computes from the result shape, whatever is written.
    `check_parsed(result or None, operand_shapes, attributes)` refuses what XLA's parser refuses even with a written shape; it may
    return the shape that XLA puts in place of the written one.
    `verify(result, operand_shapes, attributes, modes)` refuses what the verifier refuses and inference lets pass; `attributes` has the
    defaults of those that are not written. It returns the shape that the result must have where that is not the inferred one.
    `result_code` is the rule that another result breaks.
    `traits` are those of `opdefs.traits`, with all that follow from them; `algebra` says which elements change nothing.
    `effect_if` names the attribute that says whether the instruction has an effect, where not every one has.
    `start_of` is the opcode that does at once what this one begins; `done_of` the one whose end this one waits for, `update_of` the one that
    it continues. `done` and `start` are these two relations read from the other side.
    `gives` is the element of the operand's shape that a done gives, and `operands_at` the element of a start's shape that its operands are.
    `calls` names the attributes that hold called computations, in the order in which XLA stores these.
    `kernel` computes its values: None until the interpreter, which alone fills and reads it, is imported.
    """

    __slots__ = (
        "algebra",
        "arity",
        "attributes",
        "calls",
        "check_parsed",
        "derived",
        "doc",
        "done_of",
        "effect_if",
        "gives",
        "infer",
        "infers",
        "kernel",
        "name",
        "operand_defaults",
        "operands",
        "operands_at",
        "required",
        "result_code",
        "shape_ignored",
        "start_of",
        "traits",
        "update_of",
        "variadic",
        "verify",
    )  # fmt: skip

    def __init__(
        self,
        infer: Callable[..., Shape],
        name: str | None = None,
        *,
        infers: bool = True,
        shape_ignored: bool = False,
        check_parsed: ParsedCheck | None = None,
        operand_defaults: dict[str, OperandDefault] | None = None,
        derived: dict[str, Callable[[Shape], Any]] | None = None,
        verify: Verify | None = None,
        result_code: str = "T003",
        traits: Iterable[str] = (),
        algebra: Algebra = NO_ALGEBRA,
        effect_if: str | None = None,
        start_of: str | None = None,
        done_of: str | None = None,
        update_of: str | None = None,
        gives: int | None = None,
        operands_at: int | None = None,
        doc: str | None = None,
    ) -> None:
        self.name = name or infer.__name__.strip("_").replace("_", "-")
        self.operands, self.variadic, self.attributes = _read_signature(infer)
        self.infer = infer
        self.infers = infers
        self.shape_ignored = shape_ignored
        self.check_parsed = check_parsed
        self.operand_defaults = operand_defaults or {}
        self.derived = derived or {}
        self.verify = verify
        self.result_code = result_code
        self.traits = with_implied(traits)
        self.algebra = algebra
        self.effect_if = effect_if
        self.start_of = start_of
        self.done_of = done_of
        self.update_of = update_of
        self.gives = gives
        self.operands_at = operands_at
        self.doc = (doc or infer.__doc__ or "").strip()
        self.kernel: Any = None
        self.arity = -1 if self.variadic else len(self.operands)
        self.required = tuple(spec.name for spec in self.attributes.values() if spec.default is REQUIRED)
        calls = [spec.name for spec in self.attributes.values() if spec.kind in CALLED_KINDS]
        self.calls = tuple(sorted(calls, key=lambda name: name != _STORED_FIRST))

    @property
    def done(self) -> str | None:
        """The opcode that waits for what this one begins; None where it begins nothing.

        >>> from hlotool.opdefs.table import OPS
        >>> OPS["send"].done, OPS["all-reduce-start"].done, OPS["add"].done
        ('send-done', 'all-reduce-done', None)
        """
        return _DONES.get(self.name)

    @property
    def start(self) -> str | None:
        """The opcode of its own that begins what this one does at once; None where there is only `async-start`.

        >>> from hlotool.opdefs.table import OPS
        >>> OPS["all-reduce"].start, OPS["all-to-all"].start
        ('all-reduce-start', None)
        """
        return _STARTS.get(self.name)

    @property
    def is_asynchronous(self) -> bool:
        """Whether it begins, continues or ends work that goes on beside other instructions.

        >>> from hlotool.opdefs.table import OPS
        >>> [name for name in ("copy", "copy-start", "copy-done", "async-update", "recv") if OPS[name].is_asynchronous]
        ['copy-start', 'copy-done', 'async-update', 'recv']
        """
        return self.done_of is not None or self.update_of is not None or self.name in _DONES

    @property
    def is_pure(self) -> bool:
        """Whether it does nothing but compute a value that its operands and attributes determine; what it calls may do more.

        >>> from hlotool.opdefs.table import OPS
        >>> [name for name in ("add", "rng", "all-reduce", "custom-call", "while") if OPS[name].is_pure]
        ['add', 'while']
        """
        return self.effect_if is None and not self.is_asynchronous and self.traits.isdisjoint(_IMPURE)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __copy__(self) -> OpDef:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> OpDef:
        return self


_IMPURE = frozenset({EFFECT, NONDETERMINISTIC, COMMUNICATES})
_DONES: dict[str, str] = {}
_STARTS: dict[str, str] = {}


OPS: dict[str, OpDef] = {}
"""Every opcode by its name in text."""


def _decorator(define: Callable[Concatenate[Callable[..., Any], Slots], OpDef]) -> Callable[Slots, Callable[[Function], Function]]:
    def op(*names: Slots.args, **slots: Slots.kwargs) -> Callable[[Function], Function]:
        """Enters the decorated function into OPS; takes what `OpDef` takes besides it.

        >>> from hlotool.opdefs.table import OPS
        >>> OPS["transpose"].operands, OPS["transpose"].required
        (('operand',), ('dimensions',))
        """

        def wrap(function: Function) -> Function:
            definition = define(function, *names, **slots)
            if definition.name in OPS:
                raise ValueError(f"opcode {definition.name} is defined twice")
            OPS[definition.name] = definition
            if definition.done_of is not None:
                _DONES[definition.done_of] = definition.name
            if definition.start_of is not None:
                _STARTS[definition.start_of] = definition.name
            return function

        return wrap

    return op


# The signature of the decorator is that of the constructor, so that the slots are listed once.
op = _decorator(OpDef)


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


def unknown_op(name: str) -> OpDef:
    """A definition for an opcode that is not in the table: any operands, attributes kept as they are written, the shape written too."""

    def infer(*operands: Shape) -> Shape:
        raise Violation("S037", "shape", f"the result shape of the unknown opcode '{name}' cannot be inferred", "write it")

    return OpDef(infer, name, infers=False)
