"""Finds names in losslessly printed instruction lines, where each name has a percent sign."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from hlotool.opdefs.base import CALLED_KINDS
from hlotool.opdefs.table import OPS

__all__ = ["Definition", "Name", "definition_of", "names_in", "replace_names"]

_WORD = r"[A-Za-z_][A-Za-z0-9_.\-]*+"
_DEFINITION = re.compile(rf"\s*+(ROOT )?+%({_WORD}) = ")


class Definition(NamedTuple):
    """The definition in a line: its name, whether it defines the root, and where it ends."""

    name: str
    is_root: bool
    end: int


class Name(NamedTuple):
    """A name in a line, from `start` to `end` without the percent sign.

    `kind` is "instruction", "computation", or "frame" for the number of a stack frame.
    """

    kind: str
    text: str
    start: int
    end: int


def definition_of(line: str) -> Definition | None:
    """Returns the definition in a line, or None if the line does not define an instruction.

    >>> definition_of("  ROOT %a = f32[] add(%p, %q)")
    Definition(name='a', is_root=True, end=12)
    """
    match = _DEFINITION.match(line)
    return match and Definition(match[2], match[1] is not None, match.end())


@lru_cache(maxsize=1)
def _name_pattern() -> re.Pattern[str]:
    called = "|".join(sorted({re.escape(spec.name) for op in OPS.values() for spec in op.attributes.values() if spec.kind in CALLED_KINDS}))
    # Parts that contain no names are matched first: strings, comments, and the backend
    # configuration, which ends the line.
    skipped = r'"(?:[^"\\]++|\\.)*+"|/\*(?:[^*]++|\*(?!/))*+\*/|, backend_config=.*+'
    return re.compile(
        rf"{skipped}|\b(?:{called})=(?:%(?P<one>{_WORD})|\{{(?P<many>[^{{}}\"]*+)\}})"
        rf"|\bstack_frame_id=(?P<frame>-?[0-9]{{1,18}})|%(?P<name>{_WORD})",
        re.DOTALL,
    )


_MEMBER = re.compile(rf"%({_WORD})")


def names_in(line: str, start: int = 0) -> Iterator[Name]:
    """Yields the names in a line, from left to right.

    >>> [(name.kind, name.text) for name in names_in('%r = f32[] reduce(%p, %z), to_apply=%add, metadata={op_name="%x"}', 5)]
    [('instruction', 'p'), ('instruction', 'z'), ('computation', 'add')]
    """
    for match in _name_pattern().finditer(line, start):
        if match["name"] is not None:
            yield Name("instruction", match["name"], *match.span("name"))
        elif match["one"] is not None:
            yield Name("computation", match["one"], *match.span("one"))
        elif match["many"] is not None:
            for member in _MEMBER.finditer(line, *match.span("many")):
                yield Name("computation", member[1], *member.span(1))
        elif match["frame"] is not None:
            yield Name("frame", match["frame"], *match.span("frame"))


def replace_names(line: str, start: int, replacement: Callable[[Name], str]) -> str:
    """Returns the line from `start` on, with its names replaced."""
    parts, end = [], start
    for name in names_in(line, start):
        parts += [line[end : name.start], replacement(name)]
        end = name.end
    return "".join([*parts, line[end:]])
