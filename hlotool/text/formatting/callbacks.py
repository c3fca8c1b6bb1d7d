"""What Lark calls while a text is formatted: each rule becomes one piece of text, bottom-up, and each instruction an item of the writer."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from hlotool.text.formatting.attribute_order import HEADER_ORDER, UNKNOWN, attribute_order
from hlotool.text.formatting.pieces import Piece, flat
from hlotool.text.formatting.session import current

__all__ = ["callback"]

Children = list[Any]
Handler = Callable[[str, Children], Any]
_HANDLERS: dict[str, Handler] = {}
# Values with computations written inline; names alone are joined as `names`.
_BODIES = frozenset({"inline_computation", "called_computations"})


def _rule(*names: str) -> Callable[[Handler], Handler]:
    def wrap(function: Handler) -> Handler:
        for name in names:
            _HANDLERS[name] = function
        return function

    return wrap


def callback(rule: Any) -> Callable[[Children], Any]:
    """The function of a rule of the grammar, for Lark's automaton."""
    name = str(rule.alias or rule.origin.name)
    # Axes are written with a space in shardings and without in replica groups: their parent joins them.
    if name.startswith("_") or name == "axis_list":
        return _inlined
    return partial(_HANDLERS.get(name, _joined), name)


def _inlined(children: Children) -> list[Piece]:
    """The parts of a helper rule, which those of its parent take in; lists grow in place, since the rule repeats for every element."""
    if children and isinstance(children[0], list):
        found: list[Piece] = children[0]
        found += flat(children[1:])
        return found
    return flat(children)


def _joined(name: str, children: Children) -> Piece | None:
    pieces = flat(children)
    return current().joiner.join(name, pieces) if pieces else None


# ---- literals ---------------------------------------------------------------------------------------------------------


@_rule("loose_literal", "literal", "dense", "loose_tuple", "complex")
def _literal(name: str, children: Children) -> Piece | None:
    pieces = flat(children)
    if not pieces:
        return None
    start, end = pieces[0].start, pieces[-1].end
    return Piece(current().text[start:end], start, end, name)


@_rule("constant_call")
def _constant_call(name: str, children: Children) -> Piece:
    """`constant(`, the literal as it is, and `)`: it is laid out when the shape before it is known."""
    pieces = flat(children)
    start, end = pieces[0].start, pieces[-1].end
    session = current()
    session.hoist(pieces[0].end, pieces[1].start)
    return Piece(session.text[pieces[1].end : end - 1], start, end, name, key=pieces[0].text)


@_rule("typed_array")
def _typed_array(name: str, children: Children) -> Piece:
    shape, literal = flat(children)
    session = current()
    comments = session.joiner.comments(shape.end, literal.start)
    text = session.literal(shape.text, literal.text, literal.start)
    return Piece(f"{shape.text} {comments + ' ' if comments else ''}{text}", shape.start, literal.end, name)


def _with_literal(pieces: list[Piece]) -> list[Piece]:
    """A shape and a constant, the literal laid out."""
    call = pieces[-1]
    if call.type != "constant_call":
        return pieces
    shape = pieces[0].text if len(pieces) > 1 else ""
    start = call.end - 1 - len(call.text)
    call.text = f"{call.key}({current().literal(shape, call.text, start)})"
    return pieces


# ---- instructions -----------------------------------------------------------------------------------------------------


@_rule("instruction_attribute", "module_attribute")
def _attribute(name: str, children: Children) -> Piece:
    pieces = flat(children)
    made = current().joiner.join(name, pieces)
    made.key = pieces[0].text[:-1]
    if pieces[-1].type in _BODIES:
        made.type = pieces[-1].type
    return made


@_rule("nested_instruction")
def _nested_instruction(name: str, children: Children) -> Piece:
    return _side_by_side(name, _with_literal(flat(children)))


def _side_by_side(name: str, pieces: list[Piece]) -> Piece:
    """Pieces with a space between them."""
    joiner = current().joiner
    text = [pieces[0].text]
    for before, piece in itertools.pairwise(pieces):
        comments = joiner.comments(before.end, piece.start)
        text.append(f" {comments} {piece.text}" if comments else f" {piece.text}")
    return Piece("".join(text), pieces[0].start, pieces[-1].end, name)


@_rule("right_hand_side")
def _right_hand_side(name: str, children: Children) -> Piece:
    """Shape, call and attributes, these in XLA's order."""
    pieces = flat(children)
    first = next(k for k, piece in enumerate(pieces) if piece.type in ("call", "parameter_call", "constant_call"))
    opcode = pieces[first].key
    head = _side_by_side(name, _with_literal(pieces[: first + 1]))
    return _with_attributes(head, pieces[first + 1 :], attribute_order(opcode))


@_rule("call", "parameter_call")
def _call(name: str, children: Children) -> Piece:
    pieces = flat(children)
    made = current().joiner.join(name, pieces)
    made.key = pieces[0].text
    return made


def _with_attributes(head: Piece, rest: list[Piece], order: dict[str, int]) -> Piece:
    """`head, name=value, name=value`; comments around a comma stay with what they stand beside."""
    joiner, texts = current().joiner, []
    before, text, place, end, has_body = head, head.text, -1, head.end, False
    for piece in rest:
        comments = joiner.comments(before.end, piece.start)
        if piece.type == "COMMA":
            text += f" {comments}" if comments else ""
        else:
            texts.append((place, text, has_body))
            text = f"{comments} {piece.text}" if comments else piece.text
            has_body = piece.type in _BODIES
            place, end = order.get(piece.key, order[UNKNOWN]), piece.end
        before = piece
    texts.append((place, text, has_body))
    text = ""
    for k, piece_text in enumerate(_in_order(texts)):
        # XLA writes the table of debug attributes on lines of its own.
        text += ("" if k == 0 else ",\n" if piece_text.startswith("debug_attributes=") else ", ") + piece_text
    return Piece(text, head.start, end, head.type)


def _in_order(texts: list[tuple[int, str, bool]]) -> list[str]:
    """Sorted by place; attributes with computations written inline keep their order, by which these are named."""
    bodies = iter([text for _, text, has_body in texts if has_body])
    return [next(bodies) if has_body else text for _, text, has_body in sorted(texts, key=lambda found: found[0])]


@_rule("instruction")
def _instruction(name: str, children: Children) -> None:
    session = current()
    made = _side_by_side(name, flat(children))
    session.writer.item(made.start, made.end, made.text)


@_rule("anonymous_instruction")
def _anonymous_instruction(name: str, children: Children) -> None:
    made = _right_hand_side(name, children)
    current().writer.item(made.start, made.end, made.text)


# ---- computations -----------------------------------------------------------------------------------------------------


@_rule("computation_open")
def _computation_open(name: str, children: Children) -> None:
    if getattr(children[0], "type", "") == "FAST_OPEN":
        return
    made = _side_by_side(name, flat(children))
    writer = current().writer
    writer.item(made.start, made.end, made.text, empty_lines=writer.empty_before_computation)
    writer.open()


@_rule("computation_close")
def _computation_close(name: str, children: Children) -> None:
    pieces = flat(children)
    head = pieces[0]
    text, before = head.text, head
    for piece in pieces[1:]:
        comments = current().joiner.comments(before.end, piece.start)
        text += (f" {comments}" if comments else "") + (" " if before.type == "COMMA" else "") + piece.text
        before = piece
    current().writer.close(head.start, pieces[-1].end, text)


@_rule("computation", "module", "headerless", "single_instruction")
def _nothing(name: str, children: Children) -> None:
    """Everything inside has been written."""


@_rule("body_open")
def _body_open(name: str, children: Children) -> Piece:
    brace = flat(children)[0]
    current().writer.begin_body(brace.end)
    return brace


@_rule("inline_computation")
def _inline_computation(name: str, children: Children) -> Piece:
    brace, *_, close = flat(children)
    session = current()
    text = session.writer.end_body(close.start, close.end)
    return Piece(session.writer.newline + text, brace.start, close.end, name)


@_rule("called_computations")
def _called_computations(name: str, children: Children) -> Piece:
    pieces = flat(children)
    session = current()
    if not any("\n" in piece.text for piece in pieces):
        return session.joiner.join("names", pieces)
    bodies = [piece.text if piece.text[:1] in "\r\n" else f"{session.writer.newline}{piece.text}" for piece in pieces if piece.type != "COMMA"][1:-1]
    for before, piece in itertools.pairwise(pieces):
        session.hoist(before.end, piece.start)
    indent = "  " * session.writer.block.level
    return Piece("{" + ",".join(bodies) + session.writer.newline + indent + "}", pieces[0].start, pieces[-1].end, name)


# ---- the header -------------------------------------------------------------------------------------------------------


@_rule("module_header")
def _module_header(name: str, children: Children) -> None:
    pieces = flat(children)
    session = current()
    tables = pieces.pop() if pieces and pieces[-1].type == "stack_tables" else None
    if pieces:
        head = _side_by_side(name, pieces[:2])
        made = _with_attributes(head, pieces[2:], HEADER_ORDER)
        session.writer.item(made.start, made.end, made.text)
    if tables is not None:
        session.writer.tables(tables.start, tables.end, tables.text)


@_rule("stack_tables")
def _stack_tables(name: str, children: Children) -> Piece:
    pieces = flat(children)
    session = current()
    newline = session.writer.newline
    text = [pieces[0].text]
    for before, piece in itertools.pairwise(pieces):
        session.hoist(before.end, piece.start)
        text.append((newline * 2 if piece.type.isupper() else newline) + piece.text)
    return Piece("".join(text), pieces[0].start, pieces[-1].end, name)


@_rule("recovery_table", "debug_attributes")
def _table(name: str, children: Children) -> Piece:
    """A row on each line, as XLA prints these."""
    pieces = flat(children)
    session = current()
    rows = []
    for before, piece in itertools.pairwise(pieces):
        session.hoist(before.end, piece.start)
        if piece.type not in ("COMMA", "RBRACE"):
            rows.append(f"  {piece.text}")
    newline = session.writer.newline
    separator = f",{newline}" if name == "debug_attributes" else newline
    end = newline if name == "recovery_table" else ""
    return Piece(f"{{{newline}{separator.join(rows)}{newline}}}{end}", pieces[0].start, pieces[-1].end, name)
