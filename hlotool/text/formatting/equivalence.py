"""Checks that formatted text is equivalent to the original.

The formatted text must contain the same module and the same comments, and formatting it again must
not change it. The check shares no code with the formatter: the parser reads both versions, and a
separate regular expression finds the comments.
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

__all__ = ["check_equivalent", "raise_internal_error"]

# The formatter may change line ends as well, but they are needed here to separate the lines.
_CHANGEABLE = str.maketrans("", "", " \t\r,")


def comment_counts(text: str) -> Counter[str]:
    """Counts how often each comment occurs, leaving out XLA's index marks.

    >>> comment_counts('a /* b */ // c "d //"')
    Counter({'/* b */': 1, '// c "d //"': 1})
    >>> comment_counts('frontend_attributes={/* a */ x={//}}, backend_config={/*}')
    Counter({'/* a */': 1})
    """
    counts: Counter[str] = Counter()
    for start, end in comment_spans(text):
        if not INDEX_MARK.fullmatch(text, start, end):
            counts[text[start:end].rstrip()] += 1
    return counts


def _has_same_characters(before: str, after: str) -> bool:
    """Returns whether every character occurs equally often in both versions of the text.

    Ignores the characters that the formatter may add or drop.
    """
    lines, new_lines = _bare_lines(before), _bare_lines(after)
    # The characters of lines that occur in both versions need not be counted.
    return Counter("".join((lines - new_lines).elements())) == Counter("".join((new_lines - lines).elements()))


def _bare_lines(text: str) -> Counter[str]:
    if "/*i" in text:
        text = INDEX_MARK.sub("", text)
    return Counter(text.translate(_CHANGEABLE).split("\n"))


def _error_codes(module: Module) -> Counter[str]:
    return Counter(d.code for d in module.diagnostics if d.severity == "error")


def check_equivalent(before: Source, module: Module, path: FastPath, after: str, format_again: Callable[[str, FastPath], str]) -> None:
    """Raises InternalError unless `after` is equivalent to `before`.

    `module` and `path` are the results of parsing `before`; `format_again` runs the formatter.
    """
    if after == before.text:
        return
    copy, new_path = read_source(Source(after, before.filename), strict=False, known=path)
    known = _error_codes(module)
    errors = [d for d in copy.diagnostics if d.severity == "error" and d.code not in known]
    if errors or _error_codes(copy) != known:
        raise_internal_error(before.filename, f"the formatted text would not parse: {errors[0] if errors else 'it has other errors'}")
    difference = next(differences(module, copy), None)
    if difference is not None:
        raise_internal_error(before.filename, f"formatting would change the module: {difference}")
    comments, new_comments = comment_counts(before.text), comment_counts(after)
    if comments != new_comments:
        changed = next(iter((comments - new_comments) or (new_comments - comments)))
        raise_internal_error(before.filename, f"formatting would change the comments: {changed[:80]}")
    # The module does not represent all of the text: it lacks percent signs and the parameters of
    # signatures, for example.
    if not _has_same_characters(before.text, after):
        raise_internal_error(before.filename, "formatting would change more than whitespace and commas")
    assert new_path is not None
    if format_again(after, new_path) != after:
        raise_internal_error(before.filename, "formatting the result again would change it")


def raise_internal_error(filename: str, reason: str) -> None:
    """Raises InternalError for a bug in the formatter."""
    raise InternalError(f"{filename}: {reason[:500]}. The text is left unchanged. This is a bug in hlotool; please report it and attach the text")
