"""Proof that a formatted text says what the text said: the same module, the same comments, and a second run changes nothing.

It does not trust the formatter: both texts are read by the parser, and comments are found by an expression of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from hlotool.errors import InternalError, Source
from hlotool.ir.equal import differences
from hlotool.ir.model import Module
from hlotool.shapes.strings import raw_dict_end
from hlotool.text.formatting.pieces import INDEX_MARK
from hlotool.text.fused import FusedPath
from hlotool.text.parser import read_source

__all__ = ["check", "refuse"]

_TOKEN = re.compile(
    r"(?P<comment>//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)|\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'|(?:backend_config|frontend_attributes)=(?P<raw>\{)",
    re.DOTALL,
)


def comments_of(text: str) -> Counter[str]:
    """Every comment with how often it stands in a text; XLA's index marks are none.

    >>> comments_of('a /* b */ // c "d //"')
    Counter({'/* b */': 1, '// c "d //"': 1})
    """
    found: Counter[str] = Counter()
    if "//" not in text and "/*" not in text:
        return found
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token["comment"]:
            if not INDEX_MARK.fullmatch(token["comment"]):
                found[token["comment"].rstrip()] += 1
        elif token["raw"]:
            at = max(at, raw_dict_end(text, token.start("raw")))
    return found


def check(before: Source, module: Module, after: str, again: Callable[[str, FusedPath], str]) -> None:
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
    assert path is not None
    if again(after, path) != after:
        refuse(before.filename, "formatting twice would give another text")


def refuse(filename: str, reason: str) -> None:
    """Raises InternalError: the formatter has made what it must not make."""
    raise InternalError(f"{filename}: {reason[:500]}. The text is left as it is. This is a bug in hlotool; please report it with the text")
