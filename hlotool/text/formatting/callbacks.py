"""Lark callbacks for formatting.

Each grammar rule, from the bottom up, becomes one piece of text, and each line of the output
becomes an item of the writer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from hlotool.text.formatting.attribute_order import HEADER_ORDER, UNKNOWN, attribute_order
from hlotool.text.formatting.pieces import Piece, flatten
from hlotool.text.formatting.session import current_session

__all__ = ["formatting_callback"]

Children = list[Any]
Handler = Callable[[str, Children], Any]
_HANDLERS: dict[str, Handler] = {}
# Grammar rules for values that may contain inline computations, not only names of computations.
_BODIES = frozenset({"inline_computation", "called_computations"})


def _rule(*names: str) -> Callable[[Handler], Handler]:
    def wrap(function: Handler) -> Handler:
        for name in names:
            _HANDLERS[name] = function
        return function

    return wrap


def formatting_callback(rule: Any) -> Callable[[Children], Any]:
    """Returns the callback that Lark calls after recognizing `rule`."""
    name = str(rule.alias or rule.origin.name)
    # XLA separates axes with `, ` in shardings and with `,` in replica groups, so the parent rule
    # joins them.
    if name.startswith("_") or name == "axis_list":
        return _inline
    return partial(_HANDLERS.get(name, _join), name)


def _inline(children: Children) -> list[Piece]:
    """Returns the pieces of a helper rule, which its parent inlines.

    If the first child is a list, extends it in place: the rule is reduced once per element, so
    copying the list would take quadratic time.
    """
    if children and isinstance(children[0], list):
        pieces: list[Piece] = children[0]
        pieces += flatten(children[1:])
        return pieces
    return flatten(children)


def _join(name: str, children: Children) -> Piece | None:
    pieces = flatten(children)
    return current_session().joiner.join(name, pieces) if pieces else None


# ---- literals ----------------------------------------------------------------------------------


@_rule("loose_literal", "literal", "dense", "loose_tuple", "complex")
def _literal(name: str, children: Children) -> Piece | None:
    pieces = flatten(children)
    if not pieces:
        return None
    start, end = pieces[0].start, pieces[-1].end
    return Piece(current_session().text[start:end], start, end, name)


@_rule("constant_call")
def _constant_call(name: str, children: Children) -> Piece:
    """Returns the literal of a constant as written.

    `_format_last_literal` formats the literal as soon as the shape before it is known.
    """
    pieces = flatten(children)
    start, end = pieces[0].start, pieces[-1].end
    session = current_session()
    session.hoist(pieces[0].end, pieces[1].start)
    return Piece(session.text[pieces[1].end : end - 1], start, end, name, key=pieces[0].text)


@_rule("typed_array")
def _typed_array(name: str, children: Children) -> Piece:
    shape, literal = flatten(children)
    session = current_session()
    comments = session.joiner.comments(shape.end, literal.start)
    text = session.literal(shape.text, literal.text, literal.start)
    return Piece(f"{shape.text} {comments + ' ' if comments else ''}{text}", shape.start, literal.end, name)


def _format_last_literal(pieces: list[Piece]) -> list[Piece]:
    """Formats the literal of the last piece, if that is a constant, according to its shape."""
    call = pieces[-1]
    if call.type != "constant_call":
        return pieces
    shape = pieces[0].text if len(pieces) > 1 else ""
    start = call.end - 1 - len(call.text)
    call.text = f"{call.key}({current_session().literal(shape, call.text, start)})"
    return pieces


# ---- instructions ------------------------------------------------------------------------------


@_rule("instruction_attribute", "module_attribute")
def _attribute(name: str, children: Children) -> Piece:
    pieces = flatten(children)
    attribute = current_session().joiner.join(name, pieces)
    attribute.key = pieces[0].text[:-1]
    if pieces[-1].type in _BODIES:
        attribute.type = pieces[-1].type
    return attribute


@_rule("nested_instruction")
def _nested_instruction(name: str, children: Children) -> Piece:
    return _space_separated(name, _format_last_literal(flatten(children)))


def _space_separated(name: str, pieces: list[Piece]) -> Piece:
    """Joins pieces with spaces, and with the comments between them."""
    joiner = current_session().joiner
    text = [pieces[0].text]
    for before, piece in itertools.pairwise(pieces):
        comments = joiner.comments(before.end, piece.start)
        text.append(f" {comments} {piece.text}" if comments else f" {piece.text}")
    return Piece("".join(text), pieces[0].start, pieces[-1].end, name)


@_rule("right_hand_side")
def _right_hand_side(name: str, children: Children) -> Piece:
    """Joins the shape, the call, and the attributes in XLA's order."""
    pieces = flatten(children)
    first = next(k for k, piece in enumerate(pieces) if piece.type in ("call", "parameter_call", "constant_call"))
    opcode = pieces[first].key
    head = _space_separated(name, _format_last_literal(pieces[: first + 1]))
    return _append_attributes(head, pieces[first + 1 :], attribute_order(opcode))


@_rule("call", "parameter_call")
def _call(name: str, children: Children) -> Piece:
    pieces = flatten(children)
    call = current_session().joiner.join(name, pieces)
    call.key = pieces[0].text
    return call


def _append_attributes(head: Piece, rest: list[Piece], order: dict[str, int]) -> Piece:
    """Returns `head, name=value, name=value`, sorted by `order`.

    A comment next to a comma stays with the attribute on the same side of the comma.
    """
    joiner, texts = current_session().joiner, []
    before, text, position, end, has_body = head, head.text, -1, head.end, False
    for piece in rest:
        comments = joiner.comments(before.end, piece.start)
        if piece.type == "COMMA":
            text += f" {comments}" if comments else ""
        else:
            texts.append((position, text, has_body))
            text = f"{comments} {piece.text}" if comments else piece.text
            has_body = piece.type in _BODIES
            position, end = order.get(piece.key, order[UNKNOWN]), piece.end
        before = piece
    texts.append((position, text, has_body))
    text = ""
    for k, piece_text in enumerate(_sort_attributes(texts)):
        # XLA starts a new line before the table of debug attributes.
        text += ("" if k == 0 else ",\n" if piece_text.startswith("debug_attributes=") else ", ") + piece_text
    return Piece(text, head.start, end, head.type)


def _sort_attributes(texts: list[tuple[int, str, bool]]) -> list[str]:
    """Returns the attributes sorted by position.

    Attributes with inline computations keep their order among themselves, since the parser numbers
    these computations in the order in which it reads them.
    """
    bodies = iter([text for _, text, has_body in texts if has_body])
    return [next(bodies) if has_body else text for _, text, has_body in sorted(texts, key=lambda item: item[0])]


@_rule("instruction")
def _instruction(name: str, children: Children) -> None:
    session = current_session()
    instruction = _space_separated(name, flatten(children))
    session.writer.item(instruction.start, instruction.end, instruction.text)


@_rule("anonymous_instruction")
def _anonymous_instruction(name: str, children: Children) -> None:
    instruction = _right_hand_side(name, children)
    current_session().writer.item(instruction.start, instruction.end, instruction.text)


# ---- computations ------------------------------------------------------------------------------


@_rule("computation_open")
def _computation_open(name: str, children: Children) -> None:
    if getattr(children[0], "type", "") == "FAST_OPEN":
        return
    opening = _space_separated(name, flatten(children))
    writer = current_session().writer
    writer.item(opening.start, opening.end, opening.text, empty_lines=writer.empty_before_computation)
    writer.open()


@_rule("computation_close")
def _computation_close(name: str, children: Children) -> None:
    pieces = flatten(children)
    head = pieces[0]
    text, before = head.text, head
    for piece in pieces[1:]:
        comments = current_session().joiner.comments(before.end, piece.start)
        text += (f" {comments}" if comments else "") + (" " if before.type == "COMMA" else "") + piece.text
        before = piece
    current_session().writer.close(head.start, pieces[-1].end, text)


@_rule("computation", "module", "headerless", "single_instruction")
def _skip(name: str, children: Children) -> None:
    """Does nothing: the callbacks of the inner rules have already written their items."""


@_rule("body_open")
def _body_open(name: str, children: Children) -> Piece:
    brace = flatten(children)[0]
    current_session().writer.begin_body(brace.end)
    return brace


@_rule("inline_computation")
def _inline_computation(name: str, children: Children) -> Piece:
    brace, *_, close = flatten(children)
    session = current_session()
    text = session.writer.end_body(close.start, close.end)
    return Piece(session.writer.newline + text, brace.start, close.end, name)


@_rule("called_computations")
def _called_computations(name: str, children: Children) -> Piece:
    pieces = flatten(children)
    session = current_session()
    if not any("\n" in piece.text for piece in pieces):
        return session.joiner.join("names", pieces)
    bodies = [piece.text if piece.text[:1] in "\r\n" else f"{session.writer.newline}{piece.text}" for piece in pieces if piece.type != "COMMA"][1:-1]
    for before, piece in itertools.pairwise(pieces):
        session.hoist(before.end, piece.start)
    indent = "  " * session.writer.block.level
    return Piece("{" + ",".join(bodies) + session.writer.newline + indent + "}", pieces[0].start, pieces[-1].end, name)


# ---- the header --------------------------------------------------------------------------------


@_rule("module_header")
def _module_header(name: str, children: Children) -> None:
    pieces = flatten(children)
    session = current_session()
    tables = pieces.pop() if pieces and pieces[-1].type == "stack_tables" else None
    if pieces:
        head = _space_separated(name, pieces[:2])
        header = _append_attributes(head, pieces[2:], HEADER_ORDER)
        session.writer.item(header.start, header.end, header.text)
    if tables is not None:
        session.writer.tables(tables.start, tables.end, tables.text)


@_rule("stack_tables")
def _stack_tables(name: str, children: Children) -> Piece:
    pieces = flatten(children)
    session = current_session()
    newline = session.writer.newline
    text = [pieces[0].text]
    for before, piece in itertools.pairwise(pieces):
        session.hoist(before.end, piece.start)
        text.append((newline * 2 if piece.type.isupper() else newline) + piece.text)
    return Piece("".join(text), pieces[0].start, pieces[-1].end, name)


@_rule("recovery_table", "debug_attributes")
def _table(name: str, children: Children) -> Piece:
    """Puts each row on its own line, as XLA prints these tables."""
    pieces = flatten(children)
    session = current_session()
    rows = []
    for before, piece in itertools.pairwise(pieces):
        session.hoist(before.end, piece.start)
        if piece.type not in ("COMMA", "RBRACE"):
            rows.append(f"  {piece.text}")
    newline = session.writer.newline
    separator = f",{newline}" if name == "debug_attributes" else newline
    end = newline if name == "recovery_table" else ""
    return Piece(f"{{{newline}{separator.join(rows)}{newline}}}{end}", pieces[0].start, pieces[-1].end, name)
