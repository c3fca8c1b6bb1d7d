"""The `op` decorator, which derives the definition of an opcode from the signature of a function.

Positional parameters are operands (`*operands` accepts any number of them). Keyword-only parameters
are attributes, in XLA's print order: the annotation names a codec of `opdefs.codecs`, and a default
makes the attribute optional. The body of the function is XLA's lenient shape inference. The
verifier's additional constraints are in another function, which is passed to the decorator as
`verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Concatenate, ParamSpec, TypeVar

from hlotool.errors import Violation
from hlotool.opdefs.algebra import NO_ALGEBRA, Algebra
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import COMMUNICATES, EFFECT, NONDETERMINISTIC, with_implied
from hlotool.opdefs.work import WorkOf
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
    "require_operand_count",
    "unknown_op",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Slots = ParamSpec("Slots")
OperandDefault = Callable[[tuple[Shape, ...]], Any]
ParsedCheck = Callable[[Shape | None, tuple[Shape, ...], dict[str, Any]], Shape | None]
Verify = Callable[[Shape, tuple[Shape, ...], dict[str, Any], VerifyModes], Shape | None]

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()
"""The default of an attribute that must be written."""


def require(holds: object, code: str, at: str, message: str, hint: str | None = None) -> None:
    """Raises Violation unless `holds` is true.

    `at` names the part of the instruction to mark, such as an attribute, "operand 1", "operands",
    "shape" or "opcode".
    """
    if not holds:
        raise Violation(code, at, message, hint)


CONTINUED = "ContinuedComputation"
"""The kind of the attribute in which async-update and async-done repeat the start's computation."""

CALLED_KINDS = frozenset({"Computation", "Computations", CONTINUED})
"""The kinds of attributes whose values are called computations."""

# XLA stores a while's body before its condition, although it prints the condition first.
_STORED_FIRST = "body"


class AttributeSpec(Record):
    """An attribute of an opcode.

    `kind` is the name of its codec. With `always`, the attribute is printed even if it equals the
    default.
    """

    name: str
    kind: str
    default: Any = REQUIRED
    always: bool = False


class OpDef:
    """The definition of an opcode, derived from its function.

    `name` defaults to the name of the function with dashes, and `doc` to its docstring. With
    `shape_ignored`, XLA ignores the written result shape and recomputes it. `infer(*operand_shapes,
    **attributes)` returns the result shape that XLA's parser infers if none is written, or raises
    Violation; called computations are passed as ProgramShapes. `infers` is False if XLA's parser
    requires a written shape. `operand_defaults` computes the defaults of attributes that depend on
    the operand shapes; XLA does not print values that are equal to these defaults. `derived`
    computes attributes that XLA derives from the result shape, ignoring written values.
    `check_parsed(result or None, operand_shapes, attributes)` raises Violation for instructions
    that XLA's parser rejects even if the shape is written. It may return the shape with which XLA
    replaces the written one. `verify(result, operand_shapes, attributes, modes)` raises Violation
    for instructions that inference accepts but XLA's verifier rejects; `attributes` includes
    defaults. It returns the required result shape if that is not the inferred one. `result_code` is
    the code to report if the written result shape is not the required one. `traits` contains traits
    from `opdefs.traits`, including implied ones. `algebra` contains the identity and other special
    elements. For opcodes that have an effect only sometimes, `effect_if` is the name of the
    attribute that decides this. `start_of` is the synchronous opcode that this opcode starts,
    `done_of` is the start opcode for which it waits, and `update_of` is the start opcode whose
    operation it continues. The inverses of `start_of` and `done_of` are `start` and `done`. A done
    opcode returns element `returned_index` of its operand; `operands_index` is the index of the
    operands in a start's result. `calls` lists the attributes with called computations, in the
    order in which XLA stores them. `may_have_effect` is True if instructions with this opcode can
    have an effect, which may also come from a computation that they call. `work(result,
    operand_shapes, attributes)` counts the operations of an instruction. If `work` is None, an
    elementwise opcode has one operation for each element of the result, and any other opcode has no
    operations. `kernel` computes values. It is None until importing the interpreter sets it.
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
        "infer",
        "infers",
        "kernel",
        "may_have_effect",
        "name",
        "operand_defaults",
        "operands",
        "operands_index",
        "required",
        "result_code",
        "returned_index",
        "shape_ignored",
        "start_of",
        "traits",
        "update_of",
        "variadic",
        "verify",
        "work",
    )  # fmt: skip

    name: str
    operands: tuple[str, ...]
    variadic: bool
    attributes: dict[str, AttributeSpec]
    infer: Callable[..., Shape]
    infers: bool
    shape_ignored: bool
    check_parsed: ParsedCheck | None
    operand_defaults: dict[str, OperandDefault]
    derived: dict[str, Callable[[Shape], Any]]
    verify: Verify | None
    result_code: str
    traits: frozenset[str]
    algebra: Algebra
    effect_if: str | None
    start_of: str | None
    done_of: str | None
    update_of: str | None
    returned_index: int | None
    operands_index: int | None
    work: WorkOf | None
    doc: str
    kernel: Any
    arity: int
    required: tuple[str, ...]
    calls: tuple[str, ...]
    may_have_effect: bool

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
        returned_index: int | None = None,
        operands_index: int | None = None,
        work: WorkOf | None = None,
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
        self.returned_index = returned_index
        self.operands_index = operands_index
        self.work = work
        self.doc = (doc or infer.__doc__ or "").strip()
        self.kernel = None
        self.arity = -1 if self.variadic else len(self.operands)
        self.required = tuple(spec.name for spec in self.attributes.values() if spec.default is REQUIRED)
        calls = [spec.name for spec in self.attributes.values() if spec.kind in CALLED_KINDS]
        self.calls = tuple(sorted(calls, key=lambda name: name != _STORED_FIRST))
        self.may_have_effect = EFFECT in self.traits or effect_if is not None or done_of is not None or update_of is not None or bool(calls)

    @property
    def done(self) -> str | None:
        """The opcode that waits for operations started by this opcode; None if it starts none.

        >>> from hlotool.opdefs.table import OPS
        >>> OPS["send"].done, OPS["all-reduce-start"].done, OPS["add"].done
        ('send-done', 'all-reduce-done', None)
        """
        return _DONES.get(self.name)

    @property
    def start(self) -> str | None:
        """The start opcode of this synchronous opcode; None if only `async-start` can start it.

        >>> from hlotool.opdefs.table import OPS
        >>> OPS["all-reduce"].start, OPS["all-to-all"].start
        ('all-reduce-start', None)
        """
        return _STARTS.get(self.name)

    @property
    def is_asynchronous(self) -> bool:
        """True if the opcode starts, continues or ends an asynchronous operation.

        >>> from hlotool.opdefs.table import OPS
        >>> [name for name in ("copy", "copy-start", "copy-done", "async-update", "recv") if OPS[name].is_asynchronous]
        ['copy-start', 'copy-done', 'async-update', 'recv']
        """
        return self.done_of is not None or self.update_of is not None or self.name in _DONES

    @property
    def is_pure(self) -> bool:
        """True if the opcode only computes a value determined by its operands and attributes.

        Computations that it calls may do more.

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
"""All opcodes by name."""


def _decorator(define: Callable[Concatenate[Callable[..., Any], Slots], OpDef]) -> Callable[Slots, Callable[[Function], Function]]:
    def op(*names: Slots.args, **slots: Slots.kwargs) -> Callable[[Function], Function]:
        """Registers the decorated function in OPS. The decorator's arguments are passed to `OpDef`.

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
                if definition.done_of in OPS:
                    OPS[definition.done_of].may_have_effect = True
            definition.may_have_effect = definition.may_have_effect or definition.name in _DONES
            if definition.start_of is not None:
                _STARTS[definition.start_of] = definition.name
            return function

        return wrap

    return op


# The decorator has the signature of the constructor, so that the slots are listed only once.
op = _decorator(OpDef)


def _read_signature(function: Callable[..., Any]) -> tuple[tuple[str, ...], bool, dict[str, AttributeSpec]]:
    """Returns the names of the operands, whether there may be more operands, and the attributes.

    Reads the function's code object and annotations. `inspect.signature` would take 84 us for each
    of 133 functions every time hlotool starts.
    """
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


def require_operand_count(op: OpDef, found: int) -> None:
    """Raises Violation if an opcode does not take this number of operands.

    >>> require_operand_count(OPS["add"], 2)
    """
    if op.variadic:
        least = f"{len(op.operands)} operand" + "s" * (len(op.operands) != 1)
        require(found >= len(op.operands), "S013", "operands", f"'{op.name}' takes at least {least}, found {found}")
    elif found != op.arity:
        require(op.arity, "S035", "operands", f"'{op.name}' takes no operands, found {found}")
        raise Violation("S013", "operands", f"'{op.name}' takes {op.arity} operand{'s' * (op.arity != 1)}, found {found}")


def unknown_op(name: str) -> OpDef:
    """Returns a definition for an opcode that is not in the table.

    The definition accepts any operands and attributes, and requires a written shape.
    """

    def infer(*operands: Shape) -> Shape:
        raise Violation("S037", "shape", f"the result shape of the unknown opcode '{name}' cannot be inferred", "write the shape before the opcode")

    return OpDef(infer, name, infers=False)
