"""Contextual lexer for Lark's automaton, with extra tokens that no terminal can describe.

If the parser accepts a FAST_ token and the fast path recognizes the next lines, the lexer emits
that single token for all of these lines. Shifting the token makes the parser reduce everything
before it. Then the fast path reads the lines, and the lexer continues after them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

from lark.exceptions import UnexpectedCharacters
from lark.lexer import Lexer, LexerState, Token
from lark.parsers.lalr_analysis import Shift

from hlotool.shapes.strings import raw_dict_end
from hlotool.text.parse.grammar import Grammar
from hlotool.text.parse.line_reader import LineReader
from hlotool.text.parse.session import LexerSession
from hlotool.text.source.trivia import COMMENT, skip_trivia

__all__ = ["ACTIVE", "HloLexer", "raw_value_end", "shape_before", "would_shift"]


class Active(threading.local):
    """The active parse of each thread.

    All parses share Lark's lexer and callbacks, which find the state of the parse here.
    """

    session: LexerSession


ACTIVE = Active()

_RUNS = frozenset({"FAST_COMPUTATIONS", "FAST_RUN"})
_SPECIAL = frozenset({"FAST_HEADER", "FAST_COMPUTATIONS", "FAST_RUN", "LITERAL_TEXT", "RAW_DICT", "RAW_VALUE"})
# A literal up to the closing parenthesis of its constant, with comments and two levels of nested
# parentheses. The literal parser checks the literal.
_LITERAL = re.compile(rf"(?:[^()/\"]++|\((?:[^()/\"]++|\([^()\"]*+\)|/[^()\"]*?)*+\)|{COMMENT})++(?=\))")
# A piece of the value of an unknown attribute: a string, a comment, a word, a bracket, a comma or
# spaces.
_RAW_PIECE = re.compile(rf'"(?:[^"\\]++|\\.)*+"|(?P<comment>{COMMENT})|(?:[^\s{{}}()\[\],"/]++|/(?![/*]))++|[{{(\[]|[}})\]]|,|\s+|["/]', re.DOTALL)


class HloLexer(Lexer):
    """A contextual lexer: in each parser state, it tries only accepted terminals, in Lark's order.

    Lark's own contextual lexer compiles an alternation for each set of accepted terminals, which
    takes longer than most parses. This lexer compiles each terminal once, on first use.
    """

    def __init__(self, grammar: Grammar) -> None:
        self.terminals = grammar.terminals
        self.accepts = {state: frozenset(actions) for state, actions in grammar.table.states.items()}
        self.special = {state: terminals & _SPECIAL for state, terminals in self.accepts.items() if terminals & _SPECIAL}
        self.candidates: dict[int, list[tuple[str, Any]]] = {}
        self.matchers: dict[str, Any] = {}

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:
        session, counter = ACTIVE.session, lexer_state.line_ctr
        text = lexer_state.text.text
        while True:
            position = parser_state.position
            special = self.special.get(position)
            if special is not None:
                if session.fast_path is not None and (
                    kind := self._fast_token_kind(session.fast_path, text, counter.char_pos, special, parser_state)
                ):
                    yield self._make_token(lexer_state, session, kind, counter.char_pos, counter.char_pos)
                    counter.char_pos, reopened = session.fast_path.consume(kind, text, counter.char_pos)
                    # A message about something missing after these lines points to their end, not
                    # to the whitespace after them.
                    session.token_end = _trim_whitespace(text, counter.char_pos)
                    if reopened:
                        opening = self._make_token(lexer_state, session, "FAST_OPEN", counter.char_pos, counter.char_pos)
                        session.token_end = session.previous_end
                        yield opening
                    continue
                token = self._free_form_token(lexer_state, session, special, parser_state)
                if token is not None:
                    yield token
                    continue
            token = self._next_token(lexer_state, position)
            if token is None:
                return
            if token.type == "ATTRIBUTE":
                kind = session.attribute_tokens.get(token[:-1])
                if kind is not None and kind in self.accepts[position]:
                    token.type = kind
            session.previous_end, session.token_end = session.token_end, counter.char_pos
            yield token

    def _fast_token_kind(self, fast_path: LineReader, text: str, position: int, special: frozenset[str], parser_state: Any) -> str | None:
        """Returns the FAST_ token for the next lines, or None if the parser would not shift it.

        The check is needed because LALR states also list impossible lookaheads.
        """
        if len(special & _RUNS) > 1:
            special = frozenset(name for name in special if would_shift(parser_state, name))
        kind = fast_path.announce(text, position, special)
        return kind if kind is not None and would_shift(parser_state, kind) else None

    def _next_token(self, lexer_state: LexerState, position: int) -> Token | None:
        """Returns the next token in this parser state, or None at the end of the text.

        Raises UnexpectedCharacters if no accepted terminal matches.
        """
        counter, text = lexer_state.line_ctr, lexer_state.text.text
        start = skip_trivia(text, counter.char_pos)
        candidates = self.candidates.get(position)
        if candidates is None:
            candidates = self.candidates[position] = self._candidates(position)
        for name, matcher in candidates:
            match = matcher(text, start)
            if match is not None:
                token = Token(name, match[0], start, 1, start + 1)
                token.end_pos = counter.char_pos = match.end()
                lexer_state.last_token = token
                return token
        counter.char_pos = start
        if start >= len(text):
            return None
        raise UnexpectedCharacters(text, start, 1, start + 1, allowed=set(self.accepts[position]))

    def _candidates(self, position: int) -> list[tuple[str, Any]]:
        """Returns the terminals that a parser state accepts, with their compiled patterns."""
        candidates = []
        accepted = self.accepts[position]
        for name, pattern in self.terminals.items():
            if name in accepted:
                if name not in self.matchers:
                    self.matchers[name] = re.compile(pattern).match
                candidates.append((name, self.matchers[name]))
        return candidates

    def _make_token(self, lexer_state: LexerState, session: LexerSession, kind: str, start: int, end: int) -> Token:
        """Creates a token from text[start:end] and moves the lexer to its end."""
        counter = lexer_state.line_ctr
        token = Token(kind, lexer_state.text.text[start:end], start, 1, start + 1)
        token.end_pos = counter.char_pos = end
        lexer_state.last_token = token
        session.previous_end, session.token_end = session.token_end, end
        return token

    def _free_form_token(self, lexer_state: LexerState, session: LexerSession, special: frozenset[str], parser_state: Any) -> Token | None:
        """Returns a token of free-form text if the parser shifts one here, or None.

        A state may also list such a token as an impossible lookahead.
        """
        actions = parser_state.parse_conf.states[parser_state.position]
        kind = next((name for name in _FREE_FORM if name in special and actions[name][0] is Shift), None)
        if kind is None or (kind == "LITERAL_TEXT" and session.fast_path is None):
            return None
        text = lexer_state.text.text
        start = skip_trivia(text, lexer_state.line_ctr.char_pos)
        end = _FREE_FORM[kind](text, start)
        return self._make_token(lexer_state, session, kind, start, end) if end > start else None


def would_shift(parser_state: Any, name: str) -> bool:
    """Returns whether the parser would shift a token, possibly after some reductions."""
    states, stack = parser_state.parse_conf.states, parser_state.state_stack
    # The stack may be deep, so it is not copied. After the reductions, it consists of its first
    # `kept` states, followed by `pushed`.
    kept = len(stack)
    pushed: list[int] = []
    while True:
        action = states[pushed[-1] if pushed else stack[kept - 1]].get(name)
        if action is None:
            return False
        if action[0] is Shift:
            return True
        rule = action[1]
        size = len(rule.expansion)
        kept -= max(0, size - len(pushed))
        del pushed[max(0, len(pushed) - size) :]
        pushed.append(states[pushed[-1] if pushed else stack[kept - 1]][rule.origin.name][1])


def _trim_whitespace(text: str, end: int) -> int:
    """Returns the offset after the last character before `end` that is not whitespace."""
    while end > 0 and text[end - 1] in " \t\r\n":
        end -= 1
    return end


def raw_value_end(text: str, start: int) -> int:
    """Returns the end of the value of an unknown attribute.

    This is the first comma, closing bracket, space or comment outside brackets.

    >>> raw_value_end("{1, 2}, x=3", 0)
    6
    """
    depth, end = 0, start
    for match in _RAW_PIECE.finditer(text, start):
        piece = match[0]
        if piece in "{([":
            depth += 1
        elif piece in "})]":
            depth -= 1
            if depth < 0:
                return end
        elif depth == 0 and (piece == "," or piece.isspace() or match["comment"]):
            return end
        end = match.end()
    return end


def literal_end(text: str, start: int) -> int:
    match = _LITERAL.match(text, start)
    return match.end() if match else start


def dictionary_end(text: str, start: int) -> int:
    return raw_dict_end(text, start) if text.startswith("{", start) else start


_FREE_FORM = {"RAW_DICT": dictionary_end, "LITERAL_TEXT": literal_end, "RAW_VALUE": raw_value_end}


def shape_before(text: str, at: int) -> int:
    """Returns the start of the shape that ends at `at`, or at the spaces before `at`.

    >>> shape_before("add(f32[2,3]{1,0} p)", 18)
    4
    """
    start, depth = at, 0
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    while start > 0:
        c = text[start - 1]
        if c in ")]}":
            depth += 1
        elif c in "([{":
            if not depth:
                break
            depth -= 1
        elif not depth and c in ", \t\r\n/":
            break
        start -= 1
    return start
