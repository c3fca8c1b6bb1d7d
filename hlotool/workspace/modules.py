"""Reads the modules of a file, given its text.

The modules may be inside other text, and may use spellings of earlier versions of XLA.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

from hlotool.errors import HlotoolError, ParseError, Source
from hlotool.ir.model import Module
from hlotool.text.parse.parser import decode_text, parse_source, parts_of
from hlotool.workspace.reading import InputForm

__all__ = ["ModuleSource", "module_sources", "modules_of", "modules_or_error", "only_module"]

_MAX_LINES = 10


class ModuleSource(NamedTuple):
    """The source of a module; its offsets plus `start` are offsets in the whole text."""

    source: Source
    start: int


class NoModuleError(HlotoolError):
    """Raised if modules are to be extracted from text that contains none."""

    exit_code = 2


def module_sources(text: str, name: str, form: InputForm) -> list[ModuleSource]:
    """Returns the sources of all modules in `text`.

    Raises HlotoolError if modules are to be extracted and there are none.

    >>> [part.source.text for part in module_sources("log:\\nHloModule a\\nENTRY e { ROOT p = f32[] parameter(0) }", "log", InputForm(extract=True))]
    ['HloModule a\\nENTRY e { ROOT p = f32[] parameter(0) }']
    """
    if not form.extract:
        return [ModuleSource(part.source, part.start) for part in parts_of(decode_text(text), name) if not part.is_separator]
    # Imported on use: most files contain nothing but HLO. Offsets in an excerpt already refer to
    # the whole text.
    excerpts = import_module("hlotool.text.parse.extraction").excerpts_of(text, name)
    if not excerpts:
        beginnings = "no `HloModule name` before lines with a computation, and no line `ENTRY name {` before a line with an instruction"
        raise NoModuleError(f"'{name}' has no module to extract: {beginnings}")
    return [ModuleSource(excerpt.source, 0) for excerpt in excerpts]


def modules_of(text: str, name: str, form: InputForm) -> Iterator[Module | ParseError]:
    """Yields each module in `text`, or its ParseError."""
    for source, _ in module_sources(text, name, form):
        try:
            yield parse_source(source, legacy=form.legacy)
        except ParseError as error:
            yield error


def modules_or_error(text: str, name: str, form: InputForm) -> tuple[list[Module], ParseError | None]:
    """Returns the modules in `text`, and one error for those that do not parse."""
    modules, diagnostics = [], []
    for module in modules_of(text, name, form):
        if isinstance(module, ParseError):
            diagnostics += module.diagnostics
        else:
            modules.append(module)
    return modules, ParseError(diagnostics) if diagnostics else None


def only_module(modules: Sequence[Module], name: str, needs_one: str) -> Module:
    """Returns the only module of a file.

    Raises HlotoolError if there are several; `needs_one` is the reason why there must be only one.

    >>> import hlotool
    >>> text = "HloModule a\\nENTRY e { ROOT p = f32[] parameter(0) }\\n// -----\\nHloModule b\\nENTRY e { ROOT p = f32[] parameter(0) }"
    >>> only_module(hlotool.parse_all(text), "ab.hlo", "run takes one at a time")
    Traceback (most recent call last):
    hlotool.errors.HlotoolError: 'ab.hlo' contains 2 modules, which begin on lines 1, 4; run takes one at a time
    """
    if len(modules) == 1:
        return modules[0]
    lines = ", ".join(str(module.source.first_line) for module in modules[:_MAX_LINES] if module.source is not None)
    more = ", ..." if len(modules) > _MAX_LINES else ""
    raise HlotoolError(f"'{name}' contains {len(modules)} modules, which begin on lines {lines}{more}; {needs_one}")
