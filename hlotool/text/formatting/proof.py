"""Proof that a formatted text says what the text said: the same module, the same comments, and a second run changes nothing.

It does not trust the formatter: both texts are read by the parser, and comments are found by an expression of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hlotool.errors import InternalError, Source
from hlotool.ir.equal import differences
from hlotool.ir.model import Module
from hlotool.text.formatting.pieces import INDEX_MARK
from hlotool.text.parse.fast_path import FastPath
from hlotool.text.parse.parser import read_source
from hlotool.text.source.trivia import comment_spans

__all__ = ["check", "refuse"]

_NOT_COUNTED = str.maketrans("", "", " \t\r\n,")


def comments_of(text: str) -> Counter[str]:
    """Every comment with how often it stands in a text; XLA's index marks are none.

    >>> comments_of('a /* b */ // c "d //"')
    Counter({'/* b */': 1, '// c "d //"': 1})
    >>> comments_of('frontend_attributes={/* a */ x={//}}, backend_config={/*}')
    Counter({'/* a */': 1})
    """
    found: Counter[str] = Counter()
    for start, end in comment_spans(text):
        if not INDEX_MARK.fullmatch(text, start, end):
            found[text[start:end].rstrip()] += 1
    return found


def _characters(text: str) -> dict[str, int]:
    """How often each character stands in a text: in any order, but without what the formatter may add and drop."""
    if "/*i" in text:
        text = INDEX_MARK.sub("", text)
    bare = text.translate(_NOT_COUNTED)
    return {character: bare.count(character) for character in set(bare)}


def check(before: Source, module: Module, after: str, again: Callable[[str, FastPath], str]) -> None:
    """Raises InternalError unless `after` may take the place of `before`, whose module is given; `again` is the formatter."""
    if after == before.text:
        return
    copy, path = read_source(Source(after, before.filename), strict=False)
    errors = [d for d in copy.diagnostics if d.severity == "error"]
    if errors:
        refuse(before.filename, f"the formatted text would not parse: {errors[0]}")
    difference = next(differences(module, copy), None)
    if difference is not None:
        refuse(before.filename, f"formatting would change the module: {difference}")
    lost, made = comments_of(before.text), comments_of(after)
    if lost != made:
        changed = next(iter((lost - made) or (made - lost)))
        refuse(before.filename, f"formatting would change the comments: {changed[:80]}")
    # Not everything that is written is part of a module: the parameters of a signature are not, nor are percent signs.
    if _characters(before.text) != _characters(after):
        refuse(before.filename, "formatting would change more than whitespace and commas")
    assert path is not None
    if again(after, path) != after:
        refuse(before.filename, "formatting twice would give another text")


def refuse(filename: str, reason: str) -> None:
    """Raises InternalError: the formatter has made what it must not make."""
    raise InternalError(f"{filename}: {reason[:500]}. The text is left as it is. This is a bug in hlotool; please report it with the text")
