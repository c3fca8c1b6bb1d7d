"""Exact places inside an instruction or a module's header, found by reading its text once more with the grammar.

Instructions carry only two offsets, so that parsing pays for nothing that most files never need; this is called when a diagnostic is made.
It builds nothing and reports nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from lark.exceptions import UnexpectedInput

from hlotool.errors import Source
from hlotool.text.parse.builder import ModuleBuilder
from hlotool.text.parse.driver import read_pieces
from hlotool.text.parse.patterns import patterns
from hlotool.text.parse.session import Session
from hlotool.text.source.places import Place
from hlotool.text.source.trivia import skip_trivia

__all__ = ["Piece", "locate", "locate_in_header", "piece_maker"]

_FIRST_WORD = re.compile(r"[A-Za-z0-9_.%\-]++")
# What is longer is a constant that nobody reads to its end; reading it again would take seconds.
_LONGEST = 500_000
_PUNCTUATION = frozenset(("{", "}", "(", ")", "[", "]", ",", ":", "=", "->"))
_BRACE = re.compile(r"[{}]")
# Wrappers that a path of entries does not count.
_WRAPPERS = frozenset({"shape", "sharding", "list_replica_groups"})
# Operands that are nothing but names, with XLA's marks between them.
_PLAIN_OPERAND = re.compile(r"(%?+[A-Za-z0-9_.\-]++)(?:, (?:/\*index=[0-9]++\*/)?+|\Z)")


class Piece:
    """What one rule of the grammar recognised: its name and its parts, which are pieces and tokens."""

    __slots__ = ("_entries", "end_pos", "parts", "rule", "start_pos")

    def __init__(self, rule: str, parts: list[Any]) -> None:
        self.rule = rule
        self._entries: list[Any] | None = None
        self.parts = [part for part in parts if part.start_pos >= 0]
        self.start_pos: int = self.parts[0].start_pos if self.parts else -1
        self.end_pos: int = self.parts[-1].end_pos if self.parts else -1

    def find(self, *rules: str) -> Piece | None:
        """The first direct part that one of these rules recognised."""
        return next((part for part in self.parts if isinstance(part, Piece) and part.rule in rules), None)

    def entries(self) -> list[Any]:
        """The parts without brackets, commas and the like."""
        if self._entries is None:
            self._entries = [part for part in self.parts if isinstance(part, Piece) or str(part) not in _PUNCTUATION]
        return self._entries


def piece_maker(rule: Any) -> Callable[[list[Any]], Any]:
    """What Lark calls for a rule; helpers, whose names begin with an underscore, dissolve into the rule that uses them."""
    name = str(rule.alias or rule.origin.name)

    def make(parts: list[Any]) -> Any:
        # The first is the list of what came before: extended, not copied, so that long lists take linear time.
        flat: list[Any] = parts[0] if parts and isinstance(parts[0], list) else parts[:1]
        for part in parts[1:]:
            if isinstance(part, list):
                flat.extend(part)
            else:
                flat.append(part)
        return flat if name.startswith("_") else Piece(name, flat)

    return make


@lru_cache(maxsize=64)
def _pieces(text: str) -> Piece | None:
    """An instruction's text as pieces; None for what cannot stand alone, like an instruction nested in another's operands."""
    session = Session(ModuleBuilder(Source(text)), None, text)
    try:
        found = read_pieces(session, "single_instruction", piece_maker)
    except UnexpectedInput:
        return None
    return found if isinstance(found, Piece) else None


def locate(text: str, start: int, end: int, place: Place) -> tuple[int, int]:
    """Start and end of a part of the instruction that stands at text[start:end], which may begin with whitespace and comments.

    A part that the text leaves out stands at the opcode, and what cannot be found at the instruction's first word.

    >>> from hlotool.text.source.places import parse_place
    >>> line = "  r = f32[2] slice(x), metadata={op_name=\\"slice={\\"}, slice={[0:2]}"
    >>> first, last = locate(line, 0, len(line), parse_place("slice[0]"))
    >>> line[first:last]
    '[0:2]'
    """
    quick = _quick(text, start, end, place)
    if quick is not None:
        return quick
    first = skip_trivia(text, start)
    whole = _pieces(text[first:end]) if end - first <= _LONGEST else None
    if whole is None:
        word = _FIRST_WORD.match(text, first)
        return first, word.end() if word is not None else first + 1
    found_start, found_end = _span(whole, place)
    return first + found_start, first + found_end


def _quick(text: str, start: int, end: int, place: Place) -> tuple[int, int] | None:
    """The span in a line as XLA writes it, by the expression that the fast path reads it with; None where that says too little.

    Twenty times faster than reading with the grammar, which counts when there are thousands of diagnostics.
    """
    line = patterns().line.match(text, start)
    if line is None or place.path or not end - 1 <= line.end() <= end + 1:
        return None
    name, head, attributes = line.span(4), line.span(5), line.span(8)
    name = name[0] - len(line[3]), name[1]
    opcode = text.rfind(" ", *head) + 1 or head[0]
    if text.startswith("b(", opcode):
        # No opcode, but the shape of a buffer.
        return None
    if place.word == "name":
        return name
    if place.word == "result":
        return name[0], head[1] if opcode == head[0] else opcode - 1
    if place.word == "opcode" or (place.word == "shape" and opcode == head[0]):
        return opcode, head[1]
    if place.word == "shape":
        return head[0], opcode - 1
    closing = attributes[0]
    if place.word == "operands" or place.of == "call":
        return opcode, closing
    if place.word == "instruction":
        return line.end(1), line.start(11)
    if place.number is not None:
        if text.startswith(("parameter(", "constant("), opcode):
            return None
        return _quick_operand(text, head[1] + 1, closing - 1, place.number)
    for attribute in patterns().attribute.finditer(text, *attributes):
        if attribute[2].count("{") != attribute[2].count("}"):
            # A value that holds what looks like a further attribute.
            return None
        if attribute[1][:-1] == place.word:
            return attribute.start(2 if place.is_value else 1), attribute.end()
    return None


def _quick_operand(text: str, start: int, end: int, number: int) -> tuple[int, int] | None:
    for _ in range(number + 1):
        operand = _PLAIN_OPERAND.match(text, start, end)
        if operand is None:
            return None
        start = operand.end()
    return operand.span(1) if operand is not None else None


def _span(whole: Piece, place: Place) -> tuple[int, int]:
    instruction = whole.find("instruction", "anonymous_instruction") or whole
    if place.word == "instruction":
        return instruction.start_pos, instruction.end_pos
    right = instruction.find("right_hand_side") or instruction
    call = right.find("call", "parameter_call", "constant_call")
    if call is None:
        return instruction.start_pos, instruction.end_pos
    opcode = call.parts[0]
    if place.word == "operands" or place.of == "call":
        return opcode.start_pos, call.end_pos
    named = instruction.find("name")
    if place.word == "name":
        part: Any = named
    elif place.word == "result":
        return instruction.start_pos if named is None else named.start_pos, (right.find("shape") or opcode).end_pos
    elif place.word == "shape":
        part = right.find("shape")
        part = _entry(part, place.path)
    elif place.word == "literal":
        part = call.find("loose_literal", "literal")
    elif place.number is not None:
        part = _operand(call, place.number)
    else:
        part = _attribute(right, place)
    part = part or opcode
    return part.start_pos, part.end_pos


def _operand(call: Piece, number: int) -> Any:
    operands = call.find("operands")
    entries = operands.entries() if operands is not None else []
    return entries[number] if number < len(entries) else None


def _attribute(right: Piece, place: Place) -> Any:
    for part in right.parts:
        if not isinstance(part, Piece) or part.rule != "instruction_attribute" or str(part.parts[0])[:-1] != place.word:
            continue
        if not (place.is_value or place.path) or len(part.parts) < 2:
            return part
        value = part.parts[1]
        if not place.path:
            return value
        entry = _entry(value, place.path)
        return entry.parts[-1] if place.is_value and isinstance(entry, Piece) else entry
    return None


def _entry(value: Any, path: tuple[str, ...]) -> Any:
    """One entry of a value, or an entry of that, each by its number, its rule or the key that it begins with.

    Where there is no such entry, it is as much as there is on the way.
    """
    for entry in path:
        while isinstance(value, Piece) and value.rule in _WRAPPERS and len(value.parts) == 1:
            value = value.parts[0]
        if entry == "parentheses" and isinstance(value, Piece):
            return _in_parentheses(value)
        entries = value.entries() if isinstance(value, Piece) else []
        found = entries[int(entry) : int(entry) + 1] if entry.isdigit() else [part for part in entries if _is_called(part, entry)]
        if not found:
            return value
        value = found[0]
    return value


def _in_parentheses(value: Piece) -> Piece:
    """The first parentheses of a value with what is in them, or the value where it has none."""
    words = [str(part) if not isinstance(part, Piece) else "" for part in value.parts]
    if "(" not in words or ")" not in words:
        return value
    return Piece("parentheses", value.parts[words.index("(") : words.index(")") + 1])


def _is_called(part: Any, name: str) -> bool:
    return isinstance(part, Piece) and (part.rule == name or str(part.parts[0]) in (name, f"{name}="))


@lru_cache(maxsize=16)
def _header_value(text: str, start: int, rule: str) -> tuple[int, Piece | None]:
    """Where the value in braces that starts there ends, and what it consists of; kept, since headers name thousands of buffers."""
    depth, end = 0, start
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            end = brace.end()
            break
    session = Session(ModuleBuilder(Source("")), None, text[start:end])
    try:
        found = read_pieces(session, rule, piece_maker)
    except UnexpectedInput:
        return end, None
    return end, found if isinstance(found, Piece) else None


def locate_in_header(text: str, start: int, rule: str, place: Place) -> tuple[int, int]:
    """Start and end of an attribute of a module's header, whose name stands at `start`, or of a part of its value, which `rule` reads.

    >>> from hlotool.text.source.places import parse_place
    >>> line = "HloModule m, buffer_donor={ (0, {}), (1, {}) }"
    >>> first, last = locate_in_header(line, 13, "buffer_donor", parse_place("buffer_donor[1]"))
    >>> line[first:last]
    '(1, {})'
    """
    value = start + len(place.word) + 1
    if not (place.is_value or place.path):
        return start, start + len(place.word)
    if not text.startswith("{", value):
        return value, value + 1
    end, whole = _header_value(text, value, rule)
    part = _entry(whole, place.path) if whole is not None else None
    return (value, end) if part is None else (value + part.start_pos, value + part.end_pos)
