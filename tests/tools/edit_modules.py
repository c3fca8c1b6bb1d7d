"""Random edits of modules, with a record of the differences that the edits cause.

The editor records the kind of each edit, and the counterpart of each instruction.

>>> from random import Random
>>> text = "ENTRY e { p = f32[2] parameter(0) n = f32[2] negate(p) ROOT a = f32[2] abs(n) }"
>>> module = hlotool.parse(hlotool.to_text(hlotool.parse(text)))
>>> edited = edit_module(module, 1, Random(0), ["metadata"])
>>> edited.edits
[Edit(kind='metadata', left=0, right=0, key=None)]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import hlotool
from hlotool import Rewriter
from hlotool.errors import EditError, HlotoolError
from hlotool.ir.clone import clone_module
from hlotool.ir.equal import differences
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.literals.literal import Literal, decode
from hlotool.literals.print import literal_text
from hlotool.opdefs.traits import COMMUTATIVE
from hlotool.shapes.layout import default_layout
from hlotool.shapes.shape import array_shape
from hlotool.testing.edits import shuffle

__all__ = ["EDITS", "Edit", "Edited", "edit_module", "renamed", "reordered", "shuffled"]

# Values pass through these opcodes, so a changed operand may be reported elsewhere.
_PLUMBING = frozenset({"parameter", "get-tuple-element", "tuple", "call", "fusion"})
_ALIKE = (
    ("add", "subtract", "multiply", "maximum", "minimum", "divide"),
    ("negate", "abs", "sine", "cosine", "floor", "ceil", "sign"),
    ("and", "or", "xor"),
)
_ANNOTATED = """ENTRY e { p = f32[] parameter(0), sharding={replicated}, frontend_attributes={edited="1"}
n = f32[] negate(p), sharding={maximal device=1}, frontend_attributes={edited="2"} ROOT m = f32[] negate(n), sharding={manual} }"""
_HEADERS = ("replica_count=7", "num_partitions=5", 'frontend_attributes={edited="yes"}', "allow_spmd_sharding_propagation_to_output={true}")
_NUMBER = re.compile(r"-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?|-?nan(?:\(0x[0-9a-f]+\))?|-?inf|true|false")


@dataclass(frozen=True)
class Edit:
    """An edit: its kind, and the instruction in both modules.

    `left` and `right` are the instruction's numbers in textual order, or -1 for a module that does
    not contain the instruction. For the kind `root`, they are numbers of computations. Edits whose
    kind ends with `?` may also be reported in another way, or not at all.
    """

    kind: str
    left: int
    right: int
    key: str | None = None


@dataclass
class Edited:
    """An edited module.

    `partner` maps instruction numbers of the original to those of the edited module; it has no
    entry for deleted instructions.
    """

    original: Module
    module: Module
    edits: list[Edit]
    partner: dict[int, int]
    computations: dict[int, int]
    regions: list[str] = field(default_factory=list)


class Editor:
    """Edits a copy of a module, and records the edits. An instruction is edited at most once."""

    def __init__(self, original: Module, random: Random) -> None:
        self.original = original
        self.random = random
        self.module = clone_module(original)
        self.rewriter = Rewriter(self.module)
        self.origin = dict(zip(self.module.all_instructions(), original.all_instructions(), strict=True))
        self.copies: dict[Computation, Computation] = dict(zip(self.module.computations, original.computations, strict=True))
        # The edited pairs; their numbers are not known until the end.
        self.told: list[tuple[str, Instruction | Computation | None, Instruction | Computation | None, str | None]] = []
        self.touched: set[Instruction] = set()
        self.roots: set[Computation] = set()
        self.regions: list[str] = []

    # ---- choosing -----------------------------------------------------------------------------------------------------

    def some(self, fits: Callable[[Instruction], Any] = lambda x: True) -> Instruction:
        """Returns a random instruction that has not been edited.

        Raises EditError if a few attempts find none.
        """
        visible = [c for c in self.module.computations if c not in self.module.hidden and self.rewriter.instructions(c)]
        for _ in range(30):
            x = self.random.choice(self.rewriter.instructions(self.random.choice(visible)))
            if x in self.origin and x not in self.touched and not x.opcode.startswith("async") and fits(x):
                return x
        raise EditError("there is no such instruction")

    def earlier(self, x: Instruction) -> list[Instruction]:
        """Returns the unedited instructions that come before `x` in its computation."""
        order = self.rewriter.instructions(self.rewriter.owner(x))
        return [y for y in order[: order.index(x)] if y in self.origin]

    def is_shown(self, x: Instruction) -> bool:
        """Returns whether the shape of an instruction is part of the header."""
        owner = self.rewriter.owner(x)
        return owner is self.module.entry and (owner.root is x or x.opcode == "parameter")

    def tell(self, kind: str, x: Instruction, key: str | None = None) -> None:
        self.told.append((kind, self.origin.get(x), x, key))
        self.touched.add(x)

    def tell_operands(self, user: Instruction, *values: Instruction) -> None:
        self.tell("operands?" if any(x.opcode in _PLUMBING for x in (user, *values)) else "operands", user)

    # ---- the end ------------------------------------------------------------------------------------------------------

    def result(self) -> Edited:
        self.rewriter.finish()
        here = {x: number for number, x in enumerate(self.original.all_instructions())}
        there = {x: number for number, x in enumerate(self.module.all_instructions())}
        bodies = {c: number for number, c in enumerate(self.original.computations)}
        others = {c: number for number, c in enumerate(self.module.computations)}
        numbers: dict[Any, int] = {None: -1, **here, **there, **bodies, **others}
        edits = [Edit(kind, numbers[x], numbers[y], key) for kind, x, y, key in self.told if y is None or y in numbers]
        partner = {here[old]: there[new] for new, old in self.origin.items() if new in there}
        computations = {bodies[old]: others[new] for new, old in self.copies.items() if new in others}
        return Edited(self.original, self.module, edits, partner, computations, self.regions)


EDITS: dict[str, Callable[[Editor], None]] = {}


def _edit(function: Callable[[Editor], None]) -> Callable[[Editor], None]:
    EDITS[function.__name__.strip("_")] = function
    return function


# ---- parts of an instruction ------------------------------------------------------------------------------------------


@_edit
def _opcode(editor: Editor) -> None:
    x = editor.some(lambda x: any(x.opcode in group for group in _ALIKE) and not x.attributes)
    group = next(group for group in _ALIKE if x.opcode in group)
    editor.rewriter.update(x, op=editor.random.choice([name for name in group if name != x.opcode]))
    editor.tell("opcode", x)


@_edit
def _operands(editor: Editor) -> None:
    x = editor.some(lambda x: x.operands)
    k = editor.random.randrange(len(x.operands))
    old = x.operands[k]
    others = [y for y in editor.earlier(x) if y is not old and y.shape == old.shape and y not in x.operands]
    if not others:
        raise EditError("the computation has no other operand")
    new = editor.random.choice(others)
    editor.rewriter.set_operand(x, k, new)
    editor.tell_operands(x, old, new)


@_edit
def _commuted(editor: Editor) -> None:
    x = editor.some(lambda x: COMMUTATIVE in x.op.traits and len(x.operands) == 2 and x.operands[0] is not x.operands[1])
    editor.rewriter.update(x, operands=x.operands[::-1])
    editor.tell("commuted", x)


def _shaped(editor: Editor) -> Instruction:
    return editor.some(
        lambda x: x.shape.is_array and x.opcode not in ("parameter", "constant") and not x.op.derived and not editor.is_shown(x)
        and not any(user.op.operand_defaults for user in editor.rewriter.users(x)) and not x.op.operand_defaults
    )  # fmt: skip


@_edit
def _shape(editor: Editor) -> None:
    x = _shaped(editor)
    if not x.shape.dimensions or min(x.shape.dimensions) < 0:
        raise EditError("the shape has no dimension")
    k = editor.random.randrange(x.shape.rank)
    sizes = [size + (number == k) for number, size in enumerate(x.shape.dimensions)]
    editor.rewriter.update(x, shape=x.shape.with_dimensions(sizes, x.shape.dynamic))
    editor.tell("shape", x)


@_edit
def _element_type(editor: Editor) -> None:
    x = _shaped(editor)
    new = editor.random.choice([name for name in ("f32", "f16", "s32", "u8", "pred") if name != x.shape.element_type])
    editor.rewriter.update(x, shape=array_shape(new, x.shape.dimensions, x.shape.dynamic, x.shape.layout))
    editor.tell("element_type", x)


@_edit
def _layout(editor: Editor) -> None:
    x = _shaped(editor)
    if x.shape.rank < 2:
        raise EditError("the dimensions have only one order")
    layout = x.shape.layout or default_layout(x.shape.rank)
    order = list(layout.minor_to_major)
    editor.random.shuffle(order)
    if tuple(order) == tuple(layout.minor_to_major):
        order.reverse()
    editor.rewriter.update(x, shape=x.shape.with_layout(_with_field(layout, minor_to_major=tuple(order))))
    editor.tell("layout", x)


def _with_field(record: Any, **fields: Any) -> Any:
    return type(record)(**{name: fields.get(name, getattr(record, name)) for name in type(record)._fields})


@_edit
def _attributes(editor: Editor) -> None:
    fixed = {"sharding", "frontend_attributes", "control-predecessors", "channel_id"}
    x = editor.some(lambda x: any(name not in fixed and name not in x.op.derived and _other(v) is not None for name, v in x.attributes.items()))
    names = [name for name, value in x.attributes.items() if name not in fixed and name not in x.op.derived and _other(value) is not None]
    name = editor.random.choice(sorted(names))
    editor.rewriter.update(x, attributes={name: _other(x.attributes[name])})
    editor.tell("attributes", x, name)


def _other(value: Any) -> Any:
    """Returns another value of the same type, or None if the type is not known."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, tuple) and type(value) is tuple and value and all(type(part) is int for part in value):
        return value[::-1] if value[::-1] != value and len(value) > 1 else (*value[:-1], value[-1] + 1)
    return None


@_edit
def _constants(editor: Editor) -> None:
    def has_numbers(x: Instruction) -> bool:
        return isinstance(x.immediate, Literal) and x.immediate.shape.is_array and len(literal_text(x.immediate)) < 2000

    x = editor.some(has_numbers)
    literal: Literal = x.immediate
    text = literal_text(literal)
    found = list(_NUMBER.finditer(text))
    if not found:
        raise EditError("the constant has no number")
    match = editor.random.choice(found)
    is_float = x.shape.element_type[0] in "fb" and x.shape.element_type != "pred"
    words = {"true": ("false",), "false": ("true",), "0": ("-0.0", "1") if is_float else ("1",)}
    choices = words.get(match[0], ("nan(0x400001)", "-nan", "3", "-0.0") if is_float else ("3", "2", "1"))
    if "nan" in match[0] and is_float:
        choices = ("nan(0x400003)", "1")
    new = Literal(literal.shape, text[: match.start()] + editor.random.choice(choices) + text[match.end() :])
    try:
        decode(new)
        if new == literal:
            raise EditError("the new value is the same")
    except (ValueError, OverflowError, HlotoolError) as error:
        raise EditError("the constant does not have such a value") from error
    editor.rewriter.update(x, immediate=new)
    editor.tell("constants", x)


# ---- annotations ------------------------------------------------------------------------------------------------------


@_edit
def _metadata(editor: Editor) -> None:
    x = editor.some()
    editor.rewriter.update(x, metadata_text=f'{{op_name="edited/{editor.random.randrange(1000)}" source_line=3}}')
    editor.tell("metadata", x)


@_edit
def _backend_config(editor: Editor) -> None:
    x = editor.some(lambda x: x.op.name not in ("parameter", "constant"))
    editor.rewriter.update(x, backend_config=f'{{"edited":"{editor.random.randrange(1000)}"}}')
    editor.tell("backend_config", x)


def _annotate(editor: Editor, kind: str) -> None:
    values = [x.attributes[kind] for x in hlotool.parse(_ANNOTATED).all_instructions() if kind in x.attributes]
    x = editor.some(lambda x: x.shape.is_array)
    editor.rewriter.update(x, attributes={kind: editor.random.choice([value for value in values if value != x.attributes.get(kind)])})
    editor.tell(kind, x)


@_edit
def _sharding(editor: Editor) -> None:
    _annotate(editor, "sharding")


@_edit
def _frontend_attributes(editor: Editor) -> None:
    _annotate(editor, "frontend_attributes")


# ---- edges ------------------------------------------------------------------------------------------------------------


@_edit
def _control(editor: Editor) -> None:
    x = editor.some(lambda x: x.op.name != "parameter")
    others = [y for y in editor.earlier(x) if y not in x.control_predecessors and y.op.name != "parameter"]
    if not others:
        raise EditError("no other instruction comes before this one")
    editor.rewriter.update(x, attributes={"control-predecessors": (*x.control_predecessors, editor.random.choice(others))})
    editor.tell("control", x)


@_edit
def _root(editor: Editor) -> None:
    x = editor.some()
    owner = editor.rewriter.owner(x)
    if owner.root is x or owner.root.shape != x.shape or owner in editor.roots or owner not in editor.copies or owner.root in editor.touched:
        raise EditError("the instruction cannot be the root")
    editor.roots.add(owner)
    editor.touched |= {x, owner.root}
    editor.rewriter.set_root(x)
    editor.told.append(("root", editor.copies[owner], owner, None))


@_edit
def _insert(editor: Editor) -> None:
    user = editor.some(lambda x: x.operands)
    k = editor.random.randrange(len(user.operands))
    operand = user.operands[k]
    if not operand.shape.is_array:
        raise EditError("the operand is not an array")
    new = editor.rewriter.insert("negate", [operand], before=user, shape=operand.shape)
    editor.rewriter.set_operand(user, k, new)
    editor.told.append(("inserted", None, new, None))
    editor.tell_operands(user, operand)


@_edit
def _delete(editor: Editor) -> None:
    x = editor.some(lambda x: x.operands and x.op.name != "tuple" and any(operand.shape == x.shape for operand in x.operands))
    owner = editor.rewriter.owner(x)
    users = editor.rewriter.users(x)
    if owner.root is x or any(user in editor.touched or user not in editor.origin for user in users) or editor.rewriter.control_successors(x):
        raise EditError("the instruction is needed")
    if x.op.calls or x.control_predecessors:
        raise EditError("the instruction has other edges")
    operand = next(operand for operand in x.operands if operand.shape == x.shape)
    editor.rewriter.replace(x, operand)
    editor.told.append(("deleted", editor.origin.pop(x), None, None))
    for user in users:
        editor.tell_operands(user, operand)


# ---- computations -----------------------------------------------------------------------------------------------------


@_edit
def _clone(editor: Editor) -> None:
    def has_shared(x: Instruction) -> bool:
        return len(x.called) == 1 and x.called[0] in x.attributes.values() and len(editor.rewriter.callers(x.called[0])) > 1

    x = editor.some(has_shared)
    name, body = next((name, value) for name, value in x.attributes.items() if isinstance(value, Computation))
    copy = editor.rewriter.clone_computation(body)
    editor.rewriter.update(x, attributes={name: copy})
    for new in copy.instructions:
        editor.told.append(("inserted?", None, new, None))
    editor.tell("called?", x, name)
    editor.regions.append("cloned")


@_edit
def _outline(editor: Editor) -> None:
    x = editor.some(lambda x: x.operands and not x.op.calls and not x.control_predecessors and x.shape.is_array and COMMUTATIVE in x.op.traits)
    rewriter = editor.rewriter
    if rewriter.control_successors(x) or rewriter.owner(x).root is x:
        raise EditError("the instruction has other edges")
    # Also moves the operands that have no other user.
    own = [y for y in dict.fromkeys(x.operands) if y.op.arity in (1, 2) and y in editor.origin and y not in editor.touched and not y.op.calls
           and rewriter.users(y) == (x,) and not y.control_predecessors and y.shape.is_array and rewriter.owner(x).root is not y
           and not rewriter.control_successors(y)]  # fmt: skip
    if not own:
        raise EditError("nothing can be outlined")
    outside = list(dict.fromkeys(z for y in (*own, x) for z in y.operands if z not in own))
    body = rewriter.add_computation("outlined")
    inner = {z: rewriter.insert("parameter", into=body, shape=z.shape, immediate=k) for k, z in enumerate(outside)}
    parameters = list(inner.values())
    for y in (*own, x):
        inner[y] = rewriter.insert_copy(y, [inner[z] for z in y.operands], into=body)
    rewriter.set_root(inner[x])
    call = rewriter.insert("call", outside, before=x, shape=x.shape, attributes={"to_apply": body})
    for user in rewriter.users(x):
        editor.tell("operands?", user)
    rewriter.replace(x, call)
    for y in reversed(own):
        rewriter.erase(y)
    for y in (x, *own):
        editor.origin[inner[y]] = editor.origin.pop(y)
        editor.tell("moved?", inner[y])
        editor.tell("operands?", inner[y])
    editor.told += [("inserted?", None, new, None) for new in (*parameters, call)]
    editor.regions.append("outlined")


@_edit
def _inline(editor: Editor) -> None:
    call = editor.some(lambda x: x.opcode in ("call", "fusion") and len(x.called) == 1 and len(editor.rewriter.callers(x.called[0])) == 1)
    rewriter, body = editor.rewriter, call.called[0]
    users, root = rewriter.users(call), body.root
    if root.opcode == "parameter" or any(x not in editor.origin or x in editor.touched for x in (*rewriter.instructions(body), *users)):
        raise EditError("the body has been edited")
    if rewriter.owner(call).root is call or call.control_predecessors or rewriter.control_successors(call) or root.shape != call.shape:
        raise EditError("the call has other edges")
    moved = [x for x in rewriter.instructions(body) if x.opcode != "parameter"]
    parameters = [x for x in rewriter.instructions(body) if x.opcode == "parameter"]
    rewriter.move_body(body, call.operands, call)
    rewriter.replace_all_uses(call, root)
    rewriter.erase(call)
    rewriter.erase_computation(body)
    for x in (call, *parameters):
        editor.told.append(("deleted?", editor.origin.pop(x), None, None))
    editor.copies.pop(body)
    for x in moved:
        editor.tell("moved?", x)
        editor.tell("operands?", x)
    for user in users:
        editor.tell("operands?", user)
    editor.regions.append("inlined" if call.opcode == "call" else "unfused")


# ---- the whole module -------------------------------------------------------------------------------------------------


@_edit
def _schedule(editor: Editor) -> None:
    if not editor.module.is_scheduled:
        raise EditError("the module is not scheduled")
    x = editor.some(lambda x: x.opcode != "parameter")
    order = editor.rewriter.instructions(editor.rewriter.owner(x))
    at = order.index(x)
    needed = [order.index(y) for y in (*x.operands, *x.control_predecessors)]
    earliest = max(needed, default=-1) + 1
    # An exchange of neighbors could be reported for either neighbor.
    if earliest >= at - 1 or any(y not in editor.origin or y in editor.touched for y in order[earliest:at]):
        raise EditError("the instruction cannot move up")
    editor.rewriter.move(x, before=order[earliest])
    editor.touched |= set(order[earliest:at])
    editor.tell("schedule", x)


@_edit
def _header(editor: Editor) -> None:
    text = editor.random.choice(_HEADERS)
    name = text.partition("=")[0]
    if name in editor.module.attributes or any(key == name for _, _, _, key in editor.told):
        raise EditError("the header already has the attribute")
    other = hlotool.parse(f"HloModule m, {text}\nENTRY e {{ ROOT p = f32[] parameter(0) }}")
    editor.module.attributes[name] = other.attributes[name]
    editor.told.append(("header", None, None, name))


# ---- modules ----------------------------------------------------------------------------------------------------------


def edit_module(original: Module, count: int, random: Random, kinds: Sequence[str] = ()) -> Edited | None:
    """Returns a copy of a module with up to `count` edits, parsed from its printed text.

    Returns None if no edit was possible, or if the printed text cannot be parsed.
    """
    editor = Editor(original, random)
    edits = 0
    for _ in range(count * 4):
        try:
            EDITS[random.choice(kinds or sorted(EDITS))](editor)
        except EditError:
            continue
        edits += 1
        if edits == count:
            break
    if not edits:
        return None
    edited = editor.result()
    return _read_again(edited)


def _read_again(edited: Edited) -> Edited | None:
    """Returns the same edits with the module parsed from its printed text.

    Returns None if that module differs, for example because defaults depend on shapes.
    """
    try:
        module = hlotool.parse(hlotool.to_text(edited.module))
    except HlotoolError:
        return None
    if next(iter(differences(edited.module, module)), None) is not None:
        return None
    return replace(edited, module=module)


def renamed(module: Module, random: Random) -> Module:
    """Returns a copy with new names for all instructions and computations."""
    copy = clone_module(module)
    with Rewriter(copy) as rewriter:
        numbers = list(range(sum(1 for _ in copy.all_instructions())))
        random.shuffle(numbers)
        # A suffix that earlier calls have almost certainly not used.
        suffix = f"renamed{random.randrange(1 << 40)}"
        for number, x in zip(numbers, list(copy.all_instructions()), strict=True):
            rewriter.rename(x, f"v{number}.{suffix}")
        for number, computation in enumerate(copy.computations):
            rewriter.rename(computation, f"body{number}.{suffix}")
    return copy


def reordered(edited: Edited, random: Random) -> Edited:
    """Returns the same edits with the instructions in another order, unless the order matters."""
    if edited.module.is_scheduled:
        return edited
    before, copy = _shuffled(edited.module, random)
    numbers = {x: number for number, x in enumerate(copy.all_instructions())}
    at = [numbers[x] for x in before]

    def told(edit: Edit) -> Edit:
        return edit if edit.kind == "root" or edit.right < 0 else replace(edit, right=at[edit.right])

    partner = {left: at[right] for left, right in edited.partner.items()}
    return replace(edited, module=copy, edits=[told(edit) for edit in edited.edits], partner=partner)


def shuffled(module: Module, random: Random) -> Module:
    """Returns a copy with the instructions in another order, unless the order matters."""
    return module if module.is_scheduled else _shuffled(module, random)[1]


def _shuffled(module: Module, random: Random) -> tuple[list[Instruction], Module]:
    """Returns the instructions of a copy in their previous order, and the copy."""
    copy = clone_module(module)
    before = list(copy.all_instructions())
    for computation in copy.computations:
        shuffle(computation, random)
    return before, copy
