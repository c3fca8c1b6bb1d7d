"""Hover: facts about the part of a document at a position, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from hlotool.analysis.cost import instruction_cost
from hlotool.analysis.loops import known_trip_count
from hlotool.analysis.sizes import bytes_of, elements_of
from hlotool.errors import Violation
from hlotool.ir.make import inferred_shape
from hlotool.ir.model import Computation, Instruction
from hlotool.literals.print import literal_text
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.inference import brief, count
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import VIEW
from hlotool.server.documents import Document, ModuleText
from hlotool.server.navigation import source_location, source_uri
from hlotool.server.parts import Part, part_at, signature_text
from hlotool.shapes.memory import format_bytes
from hlotool.shapes.shape import Shape, compatible
from hlotool.verifier.explanations import describe_kind, explain_op
from hlotool.verifier.markdown import op_markdown, plain

__all__ = ["hover", "shape_with_size"]

_MAX_VALUE_LENGTH = 200
_MAX_USERS = 8
_MAX_CALLERS = 8


def hover(document: Document, position: types.Position) -> types.Hover | None:
    """Returns facts about the part at a position; None if there is nothing to show.

    >>> document = Document("file:///m.hlo", "ENTRY e { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }")
    >>> print(hover(document, types.Position(0, 57)).contents.value)
    **p** = `f32[4]` parameter 0 of `e`
    <BLANKLINE>
    - 16 B in 4 elements
    - used by `n`
    """
    part = part_at(document, position)
    if part is None:
        return None
    text = _text(document, part)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), document.range(part.module, *part.span)) if text else None


def _text(document: Document, part: Part) -> str:
    if isinstance(part.target, Computation):
        return _computation(part.module, part.target)
    if part.target is not None:
        return _instruction(document, part.module, part.computation, part.target)
    x = part.instruction
    if x is None:
        return ""
    if part.kind == "opcode":
        about = op_markdown(explain_op(x.op)) if x.op.name in OPS else f"`{x.op.name}` is not an opcode that hlotool knows\n"
        return f"{about}\n---\n{_instruction(document, part.module, part.computation, x)}"
    if part.kind == "shape":
        return "\n\n".join(_shape(x))
    if part.kind == "attribute" and part.attribute is not None:
        return _attribute(document, part.module, x, part.attribute)
    return _instruction(document, part.module, part.computation, x)


# ---- instructions ------------------------------------------------------------------------------


def _instruction(document: Document, module: ModuleText, computation: Computation, x: Instruction) -> str:
    opcode = f"{x.op.name} {x.immediate}" if x.op.name == "parameter" else x.op.name
    head = f"**{plain(x.name)}** = `{brief(x.shape)}` {opcode} of `{computation.name}`{', its root' if x is computation.root else ''}"
    facts = [*_size(x.shape), *_cost(module, x), *_value(x), *_users(module, computation, x), *_lifetime(module, computation, x)]
    facts += [*_loop(x), *_origin(document, module, x)]
    return "\n".join([head, "", *(f"- {fact}" for fact in facts)])


def _size(shape: Shape) -> Iterator[str]:
    leaves = [leaf for leaf in shape.leaves() if leaf.is_array]
    if leaves:
        arrays = f"{count(len(leaves), 'array')}" if shape.is_tuple else _quantity(elements_of(shape), "element")
        yield f"{format_bytes(bytes_of(shape))} in {arrays}"


def _quantity(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def _cost(module: ModuleText, x: Instruction) -> Iterator[str]:
    cost = instruction_cost(module.module, x)
    parts = [_quantity(cost.flops, "operation")] if cost.flops else []
    parts += [_quantity(cost.transcendentals, "transcendental function")] if cost.transcendentals else []
    parts += [f"{format_bytes(cost.bytes_accessed)} read and written"] if cost.bytes_accessed else []
    if parts:
        yield f"costs {', '.join(parts)}"


def _value(x: Instruction) -> Iterator[str]:
    literal = x.literal
    if literal is None:
        return
    if literal.shape.is_array:
        yield f"value `{_shorten(literal_text(literal))}`"


def _shorten(text: str) -> str:
    text = " ".join(text[: 4 * _MAX_VALUE_LENGTH].split()).replace("`", "'")
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}..."


def _users(module: ModuleText, computation: Computation, x: Instruction) -> Iterator[str]:
    users = module.users[computation].get(x, [])
    names = [f"`{user.name}`" for user in users[:_MAX_USERS]]
    if len(users) > _MAX_USERS:
        names.append(_quantity(len(users) - _MAX_USERS, "other"))
    if names:
        yield f"used by {', '.join(names)}"
    elif x is not computation.root:
        yield "never used"


def _lifetime(module: ModuleText, computation: Computation, x: Instruction) -> Iterator[str]:
    """Yields the position of a value in the schedule, and its last use.

    Users of views of the value count as its users.
    """
    if not module.module.is_scheduled:
        return
    positions = module.positions[computation]
    last, stack, seen = x, [x], {x}
    while stack:
        for user in module.users[computation].get(stack.pop(), ()):
            if positions[user] > positions[last]:
                last = user
            if VIEW in user.op.traits and user not in seen:
                seen.add(user)
                stack.append(user)
    until = "" if last is x else f", needed until `{last.name}`, number {positions[last] + 1}"
    if x is computation.root or computation.root in seen:
        until = ", needed until the end"
    yield f"number {positions[x] + 1} of {len(positions)} in the schedule{until}"


def _loop(x: Instruction) -> Iterator[str]:
    if x.op.name == "while" and {"condition", "body"} <= x.attributes.keys():
        number = known_trip_count(x)
        yield "number of iterations unknown" if number is None else _quantity(number, "iteration")


def _origin(document: Document, module: ModuleText, x: Instruction) -> Iterator[str]:
    metadata, location = x.metadata, source_location(module, x)
    if metadata is not None and metadata.op_name:
        yield f"from `{_shorten(metadata.op_name)}`"
    if location is not None:
        shown = f"{location[0]}:{location[1]}" if location[1] else location[0]
        uri = source_uri(document, *location)
        yield f"at [{plain(shown)}]({uri})" if uri is not None else f"at `{_shorten(shown)}`"


def _shape(x: Instruction) -> Iterator[str]:
    yield f"`{_shorten(x.shape.text)}`"
    yield from _size(x.shape)
    if x.shape.is_tuple:
        yield "\n".join(f"- {k}: {shape_with_size(element)}" for k, element in enumerate(x.shape.elements[:_MAX_USERS]))
    try:
        inferred = inferred_shape(x.op, [operand.shape for operand in x.operands], x.attributes)
    except (Violation, TypeError, IndexError, ValueError, AttributeError):
        # Inference does not accept everything that a tolerant parse accepts.
        return
    if not compatible(inferred, x.shape):
        yield f"The operands imply `{_shorten(inferred.text_without_layout)}`."


def shape_with_size(shape: Shape) -> str:
    """Returns a shape and its size in memory, as Markdown.

    >>> from hlotool.shapes.shape import array_shape
    >>> shape_with_size(array_shape("f32", (3,)))
    '`f32[3]`, 12 B'
    """
    return f"`{_shorten(brief(shape))}`" + (f", {format_bytes(bytes_of(shape))}" if shape.is_array else "")


# ---- computations and attributes ---------------------------------------------------------------


def _computation(module: ModuleText, computation: Computation) -> str:
    calls = module.callers.get(computation, [])
    what = "entry computation" if computation is module.module.entry else "computation"
    lines = [f"**{plain(computation.name)}**, {what}", "", f"```hlo\n{signature_text(computation)}\n```", ""]
    lines.append(f"- {count(len(computation.instructions), 'instruction')}")
    if calls:
        names = ", ".join(f"`{x.name}`" for _, x in calls[:_MAX_CALLERS])
        lines.append(f"- called by {names}" + (f" and {_quantity(len(calls) - _MAX_CALLERS, 'other')}" if len(calls) > _MAX_CALLERS else ""))
    elif computation is not module.module.entry:
        lines.append("- never called")
    return "\n".join(lines)


def _attribute(document: Document, module: ModuleText, x: Instruction, name: str) -> str:
    spec = x.op.attributes.get(name) or COMMON_ATTRIBUTES.get(name)
    about = f"**{plain(name)}**: {plain(describe_kind(spec.kind))}" if spec is not None else f"**{plain(name)}**: `{x.op.name}` has no such attribute"
    origin = list(_origin(document, module, x)) if name == "metadata" else []
    return "\n".join([about, *([""] if origin else []), *(f"- {fact}" for fact in origin)])
