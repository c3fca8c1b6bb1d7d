"""Locates the parts of an instruction or of a module's header by parsing its text again.

Instructions store only two offsets, to keep parsing fast. The offsets of their parts are computed
when a diagnostic needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from lark.exceptions import UnexpectedInput

from hlotool.errors import Source
from hlotool.text.parse.builder import ModuleBuilder
from hlotool.text.parse.driver import parse_with_callbacks
from hlotool.text.parse.patterns import patterns
from hlotool.text.parse.session import ParseSession
from hlotool.text.source.part_names import PartName
from hlotool.text.source.tokens import WORD, closing
from hlotool.text.source.trivia import comment_spans, skip_trivia

__all__ = ["SyntaxNode", "first_word", "locate", "locate_in_header", "node_callback"]

# Longer instructions are constants, which would take seconds to parse again. Diagnostics about them
# point to the first word.
_MAX_LENGTH = 500_000
_PUNCTUATION = frozenset(("{", "}", "(", ")", "[", "]", ",", ":", "=", "->"))
_UNNAMED = "_ = "
# Grammar rules that do not count as levels of a path.
_WRAPPERS = frozenset({"shape", "sharding", "list_replica_groups"})
# An operand that is only a name, and the separator after it, which may include XLA's index mark.
_PLAIN_OPERAND = re.compile(r"(%?+[A-Za-z0-9_.\-]++)(?:, (?:/\*index=[0-9]++\*/)?+|\Z)")


class SyntaxNode:
    """A node of the syntax tree: the name of its grammar rule, and its parts (nodes and tokens)."""

    __slots__ = ("_entries", "end_pos", "parts", "rule", "start_pos")

    def __init__(self, rule: str, parts: list[Any]) -> None:
        self.rule = rule
        self._entries: list[Any] | None = None
        self.parts = [part for part in parts if part.start_pos >= 0]
        self.start_pos: int = self.parts[0].start_pos if self.parts else -1
        self.end_pos: int = self.parts[-1].end_pos if self.parts else -1

    def find(self, *rules: str) -> SyntaxNode | None:
        """Returns the first direct part that is a node of one of these rules, or None."""
        return next((part for part in self.parts if isinstance(part, SyntaxNode) and part.rule in rules), None)

    def entries(self) -> list[Any]:
        """Returns the parts that are not punctuation, such as brackets and commas."""
        if self._entries is None:
            self._entries = [part for part in self.parts if isinstance(part, SyntaxNode) or str(part) not in _PUNCTUATION]
        return self._entries


def node_callback(rule: Any) -> Callable[[list[Any]], Any]:
    """Returns the callback that creates a node for a grammar rule.

    Helper rules, whose names begin with an underscore, are inlined into their parents.
    """
    name = str(rule.alias or rule.origin.name)

    def make(parts: list[Any]) -> Any:
        # A repeated rule gets the list of its earlier parts as its first part. Extending that list
        # in place keeps the time for long lists linear.
        flat: list[Any] = parts[0] if parts and isinstance(parts[0], list) else parts[:1]
        for part in parts[1:]:
            if isinstance(part, list):
                flat.extend(part)
            else:
                flat.append(part)
        return flat if name.startswith("_") else SyntaxNode(name, flat)

    return make


@lru_cache(maxsize=64)
def _syntax_tree(text: str) -> SyntaxNode | None:
    """Returns the syntax tree of an instruction.

    Returns None if the text is not an instruction on its own, for example because it is nested in
    the operands of another instruction.
    """
    session = ParseSession(ModuleBuilder(Source(text)), None, text)
    try:
        tree = parse_with_callbacks(session, "single_instruction", node_callback)
    except UnexpectedInput:
        return None
    return tree if isinstance(tree, SyntaxNode) else None


def locate(text: str, start: int, end: int, part_name: PartName) -> tuple[int, int]:
    """Returns the start and end offsets of a part of the instruction text[start:end].

    The text may begin with whitespace and comments. If it does not contain the part, returns the
    span of the opcode. If the instruction cannot be parsed, returns the span of its first word.

    >>> from hlotool.text.source.part_names import parse_part_name
    >>> line = "  r = f32[2] slice(x), metadata={op_name=\\"slice={\\"}, slice={[0:2]}"
    >>> first, last = locate(line, 0, len(line), parse_part_name("slice[0]"))
    >>> line[first:last]
    '[0:2]'
    """
    span = _fast_span(text, start, end, part_name)
    if span is not None:
        return span
    first = skip_trivia(text, start)
    if part_name.word == "instruction" and not part_name.path:
        # Avoids the grammar, since a caller may locate thousands of nested instructions one by one.
        return first, max(first + 1, first + _end_of_last_token(text[first:end]))
    if end - first > _MAX_LENGTH:
        return first_word(text, start)
    tree, shift = _syntax_tree(text[first:end]), 0
    if tree is None:
        # An instruction in the operands of another one has no name.
        tree, shift = _syntax_tree(_UNNAMED + text[first:end]), len(_UNNAMED)
    part_start, part_end = (0, 0) if tree is None else _span(tree, part_name)
    return first_word(text, start) if part_end <= shift else (first + part_start - shift, first + part_end - shift)


def _end_of_last_token(text: str) -> int:
    """Returns the offset at which trailing whitespace and comments begin.

    >>> _end_of_last_token("r = f32[] negate(x)  /* one */  // two")
    19
    """
    end = len(text.rstrip())
    for start, comment_end in reversed(list(comment_spans(text))):
        if comment_end < end:
            break
        end = len(text[:start].rstrip())
    return end


def first_word(text: str, start: int) -> tuple[int, int]:
    """Returns the start and end offsets of the first word at or after `start`.

    >>> first_word("  r = f32[] negate(p)", 0)
    (2, 3)
    """
    first = skip_trivia(text, start)
    word = WORD.match(text, first)
    return first, word.end() if word is not None else first + 1


def _fast_span(text: str, start: int, end: int, part_name: PartName) -> tuple[int, int] | None:
    """Returns the span of a part, or None if the grammar is needed to find it.

    Uses the regular expression of the parser's fast path, which matches lines that are spelled as
    XLA prints them. The expression is twenty times faster than the grammar, which matters if there
    are thousands of diagnostics.
    """
    # The pattern reads to the end of the line, which is slow if many instructions share the line.
    ends_line = end >= len(text) or "\n" in text[max(end - 2, 0) : end + 1]
    line = patterns().line.match(text, start) if ends_line else None
    if line is None or part_name.path or not end - 1 <= line.end() <= end + 1:
        return None
    name, head, attributes = line.span(4), line.span(5), line.span(8)
    name = name[0] - len(line[3]), name[1]
    opcode = text.rfind(" ", *head) + 1 or head[0]
    if text.startswith("b(", opcode):
        # The last word is not the opcode: `b(` begins the shape of a buffer.
        return None
    if part_name.word == "name":
        return name
    if part_name.word == "result":
        return name[0], head[1] if opcode == head[0] else opcode - 1
    if part_name.word == "opcode" or (part_name.word == "shape" and opcode == head[0]):
        return opcode, head[1]
    if part_name.word == "shape":
        return head[0], opcode - 1
    closing = attributes[0]
    if part_name.word == "operands" or part_name.of == "call":
        return opcode, closing
    if part_name.word == "instruction":
        return line.end(1), line.start(11)
    if part_name.number is not None:
        if text.startswith(("parameter(", "constant("), opcode):
            return None
        return _fast_operand_span(text, head[1] + 1, closing - 1, part_name.number)
    for attribute in patterns().attribute.finditer(text, *attributes):
        if attribute[2].count("{") != attribute[2].count("}"):
            # Part of the value looks like another attribute.
            return None
        if attribute[1][:-1] == part_name.word:
            return attribute.start(2 if part_name.is_value else 1), attribute.end()
    return None


def _fast_operand_span(text: str, start: int, end: int, number: int) -> tuple[int, int] | None:
    for _ in range(number + 1):
        operand = _PLAIN_OPERAND.match(text, start, end)
        if operand is None:
            return None
        start = operand.end()
    return operand.span(1) if operand is not None else None


def _span(tree: SyntaxNode, part_name: PartName) -> tuple[int, int]:
    instruction = tree.find("instruction", "anonymous_instruction") or tree
    if part_name.word == "instruction":
        return instruction.start_pos, instruction.end_pos
    right = instruction.find("right_hand_side") or instruction
    call = right.find("call", "parameter_call", "constant_call")
    if call is None:
        return instruction.start_pos, instruction.end_pos
    opcode = call.parts[0]
    if part_name.word == "operands" or part_name.of == "call":
        return opcode.start_pos, call.end_pos
    name = instruction.find("name")
    if part_name.word == "name":
        part: Any = name
    elif part_name.word == "result":
        return instruction.start_pos if name is None else name.start_pos, (right.find("shape") or opcode).end_pos
    elif part_name.word == "shape":
        part = right.find("shape")
        part = _entry(part, part_name.path)
    elif part_name.word == "literal":
        part = call.find("loose_literal", "literal")
    elif part_name.number is not None:
        part = _operand(call, part_name.number)
    else:
        part = _attribute(right, part_name)
    part = part or opcode
    return part.start_pos, part.end_pos


def _operand(call: SyntaxNode, number: int) -> Any:
    operands = call.find("operands")
    entries = operands.entries() if operands is not None else []
    return entries[number] if number < len(entries) else None


def _attribute(right: SyntaxNode, part_name: PartName) -> Any:
    for part in right.parts:
        if not isinstance(part, SyntaxNode) or part.rule != "instruction_attribute" or str(part.parts[0])[:-1] != part_name.word:
            continue
        if not (part_name.is_value or part_name.path) or len(part.parts) < 2:
            return part
        value = part.parts[1]
        if not part_name.path:
            return value
        entry = _entry(value, part_name.path)
        return entry.parts[-1] if part_name.is_value and isinstance(entry, SyntaxNode) else entry
    return None


def _entry(value: Any, path: tuple[str, ...]) -> Any:
    """Returns the entry of a value at a path.

    Each step of the path is a number, a grammar rule, or the key at the start of an entry. If an
    entry is missing, returns the last existing entry on the path.
    """
    for entry in path:
        while isinstance(value, SyntaxNode) and value.rule in _WRAPPERS and len(value.parts) == 1:
            value = value.parts[0]
        if entry == "parentheses" and isinstance(value, SyntaxNode):
            return _in_parentheses(value)
        entries = value.entries() if isinstance(value, SyntaxNode) else []
        matches = entries[int(entry) : int(entry) + 1] if entry.isdigit() else [part for part in entries if _has_key(part, entry)]
        if not matches:
            return value
        value = matches[0]
    return value


def _in_parentheses(value: SyntaxNode) -> SyntaxNode:
    """Returns the first parenthesized part with its parentheses, or the value if it has none."""
    words = [str(part) if not isinstance(part, SyntaxNode) else "" for part in value.parts]
    if "(" not in words or ")" not in words:
        return value
    return SyntaxNode("parentheses", value.parts[words.index("(") : words.index(")") + 1])


def _has_key(part: Any, name: str) -> bool:
    """Returns whether a part is a node of this grammar rule, or begins with this word or key."""
    return isinstance(part, SyntaxNode) and (part.rule == name or str(part.parts[0]) in (name, f"{name}="))


@lru_cache(maxsize=16)
def _header_value(text: str, start: int, rule: str) -> tuple[int, SyntaxNode | None]:
    """Returns the end and the syntax tree of the value in braces at `start`.

    The result is cached, because diagnostics may refer to thousands of buffers in one header.
    """
    end = max(start, closing(text, start))
    session = ParseSession(ModuleBuilder(Source("")), None, text[start:end])
    try:
        tree = parse_with_callbacks(session, rule, node_callback)
    except UnexpectedInput:
        return end, None
    return end, tree if isinstance(tree, SyntaxNode) else None


def locate_in_header(text: str, start: int, rule: str, part_name: PartName) -> tuple[int, int]:
    """Returns the start and end offsets of a header attribute, or of a part of its value.

    The attribute begins at `start`; `rule` is the grammar rule of its value.

    >>> from hlotool.text.source.part_names import parse_part_name
    >>> line = "HloModule m, buffer_donor={ (0, {}), (1, {}) }"
    >>> first, last = locate_in_header(line, 13, "buffer_donor", parse_part_name("buffer_donor[1]"))
    >>> line[first:last]
    '(1, {})'
    """
    value = start + len(part_name.word) + 1
    if not (part_name.is_value or part_name.path):
        return start, start + len(part_name.word)
    if not text.startswith("{", value):
        return value, value + 1
    end, tree = _header_value(text, value, rule)
    part = _entry(tree, part_name.path) if tree is not None else None
    return (value, end) if part is None else (value + part.start_pos, value + part.end_pos)
