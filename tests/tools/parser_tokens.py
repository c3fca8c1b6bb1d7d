"""The tokens of HLO text and their kinds, as the parser sees them: the reference for highlighters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, cast

import lark
from lark.exceptions import UnexpectedInput

from hlotool.collection import no_garbage_collection
from hlotool.syntax.kinds import KIND_OF_NAME, kind_of_terminal
from hlotool.syntax.scanner import Token
from hlotool.text.parse import driver
from hlotool.text.parse.driver import CallbackFactory, active_session, shared_parser
from hlotool.text.parse.lexer import ACTIVE
from hlotool.text.parse.parser import form_of, parts_of
from hlotool.text.parse.session import LexerSession

__all__ = ["tokens"]

_NAMES = frozenset({"IDENT", "PERCENT_NAME", "COLON_NAME"})
_UNCLOSED = "UNCLOSED"
# Each unclosed string costs a search through the rest of the text, as in `text.source.trivia`.
_MAX_UNCLOSED = 16
# Inside a raw dictionary, single quotes and comments have no meaning.
_RAW_PIECE = re.compile(r'(?P<string>"(?:[^"\\]++|\\.)*+")|[^\s"]++|"', re.DOTALL)


def tokens(text: str) -> list[Token]:
    """Returns the tokens and comments in HLO text, in order.

    The text may contain several modules, and it may have errors: text that the parser skips after
    an error is read with the terminals alone.

    >>> text = "ROOT p = f32[] parameter(0)"
    >>> [(text[start:end], kind) for start, end, kind in tokens(text)][:4]
    [('ROOT', 'keyword'), ('p', 'instruction'), ('=', 'operator'), ('f32', 'type')]
    """
    found: list[Token] = []
    with no_garbage_collection():
        for part in parts_of(text, "<string>"):
            here = _tokens_without_parser(part.source.text, 0, len(part.source.text)) if part.is_separator else _tokens_of_module(part.source.text)
            found += [Token(part.start + start, part.start + end, kind) for start, end, kind in here]
    return found


class _Session(LexerSession):
    """The state of one run: the kinds of the names read so far, by offset."""

    __slots__ = ("kinds",)

    def __init__(self, text: str) -> None:
        super().__init__(None, text)
        self.kinds: dict[int, str] = {}


def _tokens_of_module(text: str) -> Iterator[Token]:
    session = _Session(text)
    kind_of, end = kind_of_terminal(), 0
    for start, token_end, terminal in _read(session, form_of(text), _callback):
        # The gap contains comments and, after an error, the text that the parser has skipped.
        yield from _tokens_without_parser(text, end, start)
        end = token_end
        # The kind of a name is known only when its rule is complete, some tokens later.
        yield from _pieces(text, start, end, terminal, session.kinds.get(start, kind_of[terminal]))
    yield from _tokens_without_parser(text, end, len(text))


def _read(session: LexerSession, rule: str, factory: CallbackFactory) -> list[tuple[int, int, str]]:
    """Returns all tokens of the session's text, each as (start, end, terminal).

    `factory` returns the callbacks, which receive the same tokens. After an error, skips to the
    next line that can begin an instruction or a computation.
    """
    parser, text = shared_parser(), session.text
    found: list[tuple[int, int, str]] = []
    with active_session(session):
        interactive = parser.start(text, rule, parser.with_callbacks(factory))
        while True:
            try:
                _feed(interactive, found)
            except UnexpectedInput as error:
                # Also skips the token that the parser did not accept.
                position = len(text) if error.pos_in_stream is None else error.pos_in_stream
                if found and found[-1][0] >= position:
                    found.pop()
                line = _next_line(interactive.parser_state, text, position)
                if line is None:
                    return found
                if line["header"] and driver._last_state(interactive.parser_state, parser.grammar.table.states, "FAST_COMPUTATIONS") < 0:
                    interactive = parser.start(text, "headerless", parser.with_callbacks(factory))
                interactive.lexer_thread.state.line_ctr.char_pos = line.start()
            else:
                return found


def _next_line(state: Any, text: str, position: int) -> re.Match[str] | None:
    """Returns the next line that can begin an instruction or a computation.

    Unwinds the stack to a state that accepts the line, if there is one.
    """
    inside = driver._last_state(state, state.parse_conf.states, "FAST_RUN")
    start = text.find("\n", position) + 1
    for line in driver._RESUME_LINE.finditer(text, start) if start else ():
        target = driver._last_state(state, state.parse_conf.states, "FAST_COMPUTATIONS") if line["header"] else inside
        if target >= 0:
            del state.state_stack[target + 1 :]
            del state.value_stack[target:]
        if target >= 0 or line["header"]:
            return line
    return None


def _feed(interactive: Any, found: list[tuple[int, int, str]]) -> None:
    """Feeds the tokens to the parser, and appends each of them to `found`."""
    state, thread = interactive.parser_state, interactive.lexer_thread
    for token in thread.lex(state):
        found.append((token.start_pos, token.end_pos, token.type))
        state.feed_token(token)
    state.feed_token(lark.Token("$END", "", len(thread.state.text.text), 1, 1), True)


def _pieces(text: str, start: int, end: int, terminal: str, kind: str) -> Iterator[Token]:
    """Yields a token, or its parts if highlighters show these separately.

    For example, `dimensions=` is a name and an operator.
    """
    if terminal == "RAW_DICT":
        for piece in _RAW_PIECE.finditer(text, start, end):
            yield Token(*piece.span(), "string" if piece["string"] else kind)
    elif terminal == "RAW_VALUE":
        yield from _tokens_without_parser(text, start, end)
    elif kind == "attribute" or terminal == "COLON_NAME":
        yield Token(start, end - 1, kind)
        yield Token(end - 1, end, "operator")
    else:
        yield Token(start, end, kind)


@lru_cache(maxsize=1)
def _any_terminal() -> re.Pattern[str]:
    """Returns a pattern with a group for each terminal, in the order of the parser's lexer.

    Also matches the beginnings of unclosed comments and strings.
    """
    terminals = {**shared_parser().grammar.terminals, _UNCLOSED: r"/\*|[\"']"}
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in terminals.items() if name != "WHITESPACE"))


def _tokens_without_parser(text: str, start: int, end: int) -> Iterator[Token]:
    """Yields the tokens in a piece of text, independently of the parser's state.

    Such text includes comments, text that is not HLO, and values of unknown attributes.
    """
    if not text[start:end].strip():
        return
    kind_of, unclosed = kind_of_terminal(), 0
    for match in _any_terminal().finditer(text, start, end):
        terminal = str(match.lastgroup)
        if terminal != _UNCLOSED:
            yield from _pieces(text, *match.span(), terminal, kind_of[terminal])
        elif match[0] == "/*":
            yield Token(match.start(), end, "comment")
            return
        else:
            unclosed += 1
            if unclosed > _MAX_UNCLOSED:
                return


# ---- rule callbacks, which determine the kinds of names ----------------------------------------


def _callback(rule: Any) -> Callable[[list[Any]], Any]:
    name = str(rule.alias or rule.origin.name)
    if name == "name":
        return _first
    if name in KIND_OF_NAME:
        return partial(_record, KIND_OF_NAME[name])
    # Lark creates helper rules for repetitions: `__names_star_0` is a part of `names`.
    return _names_in if name.startswith("__names_") else _nothing


def _is_name(child: Any) -> bool:
    """Returns whether this child of a rule is a name. Callers ignore all other tokens."""
    return getattr(child, "type", None) in _NAMES


def _first(children: list[Any]) -> Any:
    return children[0]


def _nothing(children: list[Any]) -> None:
    return None


def _names_in(children: list[Any]) -> list[Any]:
    """Returns the names in a repetition.

    Extends the list of the first child in place, because the rule is reduced once for each name.
    """
    names: list[Any] = children.pop(0) if isinstance(children[0], list) else []
    names += [child for child in children if _is_name(child)]
    return names


def _record(kind: str, children: list[Any]) -> None:
    kinds = cast("_Session", ACTIVE.session).kinds
    for child in children:
        for token in child if isinstance(child, list) else (child,):
            if _is_name(token):
                kinds[token.start_pos] = kind
