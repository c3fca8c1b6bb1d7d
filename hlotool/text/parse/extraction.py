"""`extract`: finds the modules in a log, a web page, a notebook, a source file or pasted text."""

from __future__ import annotations

from hlotool.errors import ParseError, Source
from hlotool.text.extract.excerpts import Excerpt, excerpts
from hlotool.text.parse.parser import as_text, decode_text, parse_source, parts_of

__all__ = ["excerpts_of", "extract"]


def extract(text: str | bytes) -> list[str]:
    """Returns the source of each module inside other text, in order.

    The text may be a log with a prefix on every line, Markdown, a notebook, the source of a program
    or a test, a concatenation of dumps, or HLO itself. Skips modules that do not parse as a whole,
    for example because lines are missing. Old spellings count as HLO.

    >>> extract("Before:\\n```\\nHloModule m\\nENTRY e { ROOT p = f32[] parameter(0) }\\n```\\n")
    ['HloModule m\\nENTRY e { ROOT p = f32[] parameter(0) }']
    """
    sources: list[Source] = [excerpt.source for excerpt in excerpts_of(text)]
    sources = sources or [part.source for part in parts_of(decode_text(text), "<string>") if not part.is_separator]
    return [source.text for source in sources if _is_module(source)]


def _is_module(source: Source) -> bool:
    try:
        parse_source(source, legacy=True)
    except ParseError:
        return False
    return True


def excerpts_of(text: str | bytes, filename: str = "<string>") -> list[Excerpt]:
    """Returns all parts of the text that look like modules, even if they do not parse.

    Positions in these parts refer to the whole text.
    """
    return excerpts(Source(as_text(text), filename))
