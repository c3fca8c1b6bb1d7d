"""Feeds tokens to Lark's automaton and recovers after syntax errors.

After an error, parsing continues at the next line that can begin an instruction, or begin or end a
computation.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import LexerState, LexerThread, Token
from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_parser import _Parser
from lark.utils import TextSlice

from hlotool.text.parse.callbacks import OPENED, callbacks
from hlotool.text.parse.expectations import describe_syntax_error
from hlotool.text.parse.grammar import load_grammar
from hlotool.text.parse.lexer import ACTIVE, HloLexer, would_shift
from hlotool.text.parse.session import LexerSession, ParseSession
from hlotool.text.source.tokens import DEFINITION, NAME

__all__ = ["CallbackFactory", "active_session", "parse_segment", "parse_with_callbacks", "parse_with_recovery", "shared_parser"]

# Maps a grammar rule to the function that is called with the rule's children.
CallbackFactory = Callable[[Any], Callable[[list[Any]], Any]]
_LOCK = threading.Lock()
_PARSER: HloParser | None = None


class HloParser:
    """The grammar, its lexer and the automaton.

    All parses in a process share one parser, because creating it takes longer than most parses.
    """

    def __init__(self) -> None:
        self.grammar = load_grammar(callbacks())
        self.lexer = HloLexer(self.grammar)
        self._automaton = _Parser(self.grammar.table, self.grammar.callbacks)
        self._automata: dict[CallbackFactory, _Parser] = {}

    def start(self, text: str, rule: str, automaton: _Parser | None = None) -> Any:
        """Returns Lark's interactive parser, before the first token of `text`.

        Pass an automaton to use callbacks other than the parser's own.
        """
        thread = LexerThread(self.lexer, LexerState(TextSlice(text, 0, len(text))))
        return (automaton or self._automaton).parse(thread, rule, start_interactive=True)

    def with_callbacks(self, factory: CallbackFactory) -> _Parser:
        """Returns the automaton with other callbacks; `factory(rule)` returns a rule's callback."""
        automaton = self._automata.get(factory)
        if automaton is None:
            automaton = self._automata[factory] = _Parser(self.grammar.table, {rule: factory(rule) for rule in self.grammar.callbacks})
        return automaton


def shared_parser() -> HloParser:
    """Returns the parser of this process; creates it on first use."""
    global _PARSER
    if _PARSER is None:
        with _LOCK:
            if _PARSER is None:
                _PARSER = HloParser()
    return _PARSER


@contextmanager
def active_session(session: LexerSession) -> Iterator[None]:
    """Makes the lexer and the callbacks of this thread use a session in a `with` block."""
    previous: Any = getattr(ACTIVE, "session", None)
    ACTIVE.session = session
    try:
        yield
    finally:
        ACTIVE.session = previous


def _feed(interactive: Any) -> Any:
    """Feeds all tokens of the text to the parser and returns the value of the start rule."""
    state, thread = interactive.parser_state, interactive.lexer_thread
    for token in thread.lex(state):
        state.feed_token(token)
    end = Token("$END", "", len(thread.state.text.text), 1, 1)
    # Here, too, `previous_end` must be the end of the previous token: the last token in the text.
    ACTIVE.session.previous_end = ACTIVE.session.token_end
    return state.feed_token(end, True)


def parse_segment(session: ParseSession, rule: str, text: str) -> Any:
    """Parses a piece of text with the given start rule and returns its value.

    Raises UnexpectedInput or Violation if there is an error.
    """
    builder = session.builder
    builder.in_segment = True
    try:
        with active_session(ParseSession(builder, None, text)):
            return _feed(shared_parser().start(text, rule))
    finally:
        builder.in_segment = False


def parse_with_callbacks(session: LexerSession, rule: str, factory: CallbackFactory) -> Any:
    """Parses the session's text with the given start rule and callbacks; builds no module.

    Raises UnexpectedInput if there is a syntax error.
    """
    parser = shared_parser()
    with active_session(session):
        return _feed(parser.start(session.text, rule, parser.with_callbacks(factory)))


def parse_with_recovery(session: ParseSession, rule: str, max_errors: int) -> None:
    """Parses the session's text with the given start rule.

    The session's builder gets the module and all errors, up to `max_errors` diagnostics.
    """
    with active_session(session):
        interactive = shared_parser().start(session.text, rule)
        state, thread = interactive.parser_state, interactive.lexer_thread
        resumed = -1
        while True:
            try:
                _feed(interactive)
                return
            except UnexpectedInput as error:
                accepts = frozenset(interactive.accepts())
                _reduce_completed(state)
                body = _last_state(state, state.parse_conf.states, "FAST_RUN")
                position = _report(session, error, accepts, in_body=body >= 0, begins=body == len(state.state_stack) - 1)
                if session.builder.named and body < 0 and session.text.startswith("HloModule", position):
                    # A second module begins here; its errors do not belong to the first module.
                    return
                resumed = _recover(session, state, thread, position, resumed)
                if resumed < 0 and not session.builder.named and not session.builder.scopes and rule == "module":
                    # The header is broken: parse the rest as a module without a header.
                    rule = "headerless"
                    match = next((m for m in _RESUME_LINE.finditer(session.text, position) if m["header"]), None)
                    if match is not None:
                        interactive = shared_parser().start(session.text, rule)
                        state, thread = interactive.parser_state, interactive.lexer_thread
                        resumed = thread.state.line_ctr.char_pos = session.token_end = session.previous_end = match.start()
                if resumed < 0 or len(session.builder.diagnostics) >= max_errors:
                    return


def _report(session: ParseSession, error: UnexpectedInput, accepts: frozenset[str], *, in_body: bool, begins: bool) -> int:
    """Reports a syntax error and returns the offset of the unexpected token.

    `begins` is true if an instruction could begin at that offset.
    """
    text = session.text
    session.builder.has_syntax_errors = True
    if isinstance(error, UnexpectedToken):
        token = error.token
        position = len(text) if token.type == "$END" else token.start_pos
        end = position + len(token)
        at_end = session.token_end if token.type == "$END" else session.previous_end
    else:
        assert isinstance(error, UnexpectedCharacters)
        position, at_end = error.pos_in_stream or 0, session.token_end
        end = position + 1
    if position < len(text) and not _TOKEN_START.match(text, position):
        # A character that cannot start a token is itself the error.
        at_end = position
    line = _RESUME_LINE.match(text, text.rfind("\n", 0, position) + 1)
    unclosed = in_body and (position == len(text) or (line is not None and line["header"] is not None))
    shown = position
    code, message, hint, at = describe_syntax_error(text, position, accepts)
    if "\n" in text[at_end:position] and (unclosed or not begins) and code != "S034":
        # Something ended too early: point to its end, not to the start of what follows.
        shown, end = at_end, at_end + 1
    before = _PRECEDING_WORD.search(text, max(0, position - _MAX_WORD_LENGTH), position) if code in _PRECEDING_WORD_CODES else None
    if before is not None and (code != "S017" or "=" in before[0]):
        shown = before.start()
    if at is not None:
        shown, end = at, position
    if unclosed and session.builder.scopes:
        hint = hint or f"close computation '{session.builder.scope.computation.name}' with }}"
    session.builder.report(code, shown, message, hint, end=end)
    return position


# A line at which parsing can continue: an instruction, or the header or the end of a computation.
_RESUME_LINE = re.compile(
    rf"^[ \t]*(?:(?P<instruction>(?:ROOT[ \t]+)?%?(?P<name>{NAME})[ \t]*=[ \t])|(?P<close>\}})"
    rf"|(?P<header>(?:ENTRY[ \t]+)?%?(?P<opened>{NAME})[ \t]*(?:\([^\n]*)?\{{[ \t]*(?://[^\n]*)?\r?$))",
    re.MULTILINE,
)
# Codes of errors right after a word, such as a module without a name or a key without a valid
# value. Messages with these codes point to the word.
_PRECEDING_WORD_CODES = frozenset({"M019", "M023", "S017", "S042", "S048"})
_MAX_WORD_LENGTH = 200
_PRECEDING_WORD = re.compile(r"(?:[a-z_]+=[ \t]*\{[ \t]*%?(?=[A-Za-z0-9_.\-]+[ \t]*\Z))?[A-Za-z0-9_.\-]+=?\s*\Z")
_TOKEN_START = re.compile(r"[A-Za-z0-9_%{}()\[\],=:*+~?\"'-]|<=|\.\.\.")


def _reduce_completed(state: Any) -> None:
    """Reduces a complete instruction or computation before the error, so that it is kept."""
    for kind in ("FAST_RUN", "FAST_COMPUTATIONS"):
        if would_shift(state, kind):
            state.feed_token(Token(kind, ""))
            state.state_stack.pop()
            state.value_stack.pop()
            return


def _mark_broken(session: ParseSession, state: Any, inside: int, line_start: int, line: re.Match[str] | None) -> None:
    """Marks the broken instruction or computation, so that its uses are not reported."""
    builder = session.builder
    if inside < 0:
        if line and line["opened"]:
            builder.broken.add(line["opened"])
        return
    # The broken instruction begins with the first value after the last finished instruction.
    begin = next((at for value in state.value_stack[inside:] if (at := _offset_of_value(value)) >= 0), line_start)
    # The name is known even if the rest of the line is wrong.
    named = DEFINITION.match(session.text, begin)
    if named and builder.scopes:
        builder.scope.broken.add(named["defined"])


def _offset_of_value(value: Any) -> int:
    at: int = getattr(value, "start_pos", getattr(value, "position", -1))
    return at


def _recover(session: ParseSession, state: Any, thread: Any, position: int, resumed: int) -> int:
    """Moves the parser and the lexer to the next line at which parsing can continue.

    Returns the offset of that line, or -1 if there is none. `resumed` is the result of the last
    recovery, or -1.
    """
    text, states = session.text, state.parse_conf.states
    builder = session.builder
    inside = _last_state(state, states, "FAST_RUN")
    while len(builder.scopes) > 1 and inside >= 0 and _is_inline_here(text, builder.scope.computation.start, position):
        # An inline body that begins on the broken line ends with the line. The next lines belong to
        # the enclosing body.
        builder.scopes.pop()
        opened = max(index for index, value in enumerate(state.value_stack[:inside]) if value is OPENED)
        inside = _last_state(state, states, "FAST_RUN", opened + 1)
    line_start = text.rfind("\n", 0, position) + 1
    line = _RESUME_LINE.match(text, line_start) if line_start > resumed else None
    if line and line["header"]:
        # Inside a body, the next computation begins here; otherwise, the error is in this header.
        again = inside >= 0
    else:
        # If the error is at the start of the line, the line was read as a continuation of the
        # previous line: read it again.
        again = line is not None and not text[line_start:position].strip() and inside < len(state.state_stack) - 1
    _mark_broken(session, state, inside, line_start, line)
    start = line_start if again else text.find("\n", position) + 1
    if not start:
        return -1
    match = _RESUME_LINE.search(text, start)
    if match is None:
        return -1
    target = inside if inside >= 0 and not match["header"] else _last_state(state, states, "FAST_COMPUTATIONS")
    if target < 0 or (target != inside and not match["header"]):
        match = next((m for m in _RESUME_LINE.finditer(text, start) if m["header"]), None)
        target = _last_state(state, states, "FAST_COMPUTATIONS")
        if match is None or target < 0:
            return -1
    del state.state_stack[target + 1 :]
    del state.value_stack[target:]
    # The computation around a single instruction was not opened by a token.
    open_computations = sum(1 for value in state.value_stack if value is OPENED) + builder.single_instruction
    while len(builder.scopes) > open_computations:
        scope = builder.scopes.pop()
        builder.broken.add(scope.computation.name)
    thread.state.line_ctr.char_pos = session.token_end = session.previous_end = match.start()
    thread.state.last_token = None
    return match.start()


def _is_inline_here(text: str, start: int, position: int) -> bool:
    """Returns whether the computation at `start` is an inline body on the line of `position`."""
    return text[max(0, start - 1) : start] == "{" and "\n" not in text[start:position]


def _last_state(state: Any, states: dict[Any, dict[str, Any]], token: str, below: int | None = None) -> int:
    """Returns the index on the state stack of the last state that shifts `token`, or -1.

    If `below` is given, considers only smaller indices.
    """
    for index in range((len(state.state_stack) if below is None else below) - 1, -1, -1):
        action = states[state.state_stack[index]].get(token)
        if action is not None and action[0] is Shift:
            return index
    return -1
