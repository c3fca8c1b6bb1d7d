"""What a shell offers for values that are not files: codes and names of rules, opcodes, and the parameters of a module."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

import hlotool
from hlotool.codes import CODE_NAMES, FAMILIES

__all__ = ["complete_codes", "complete_parameters", "complete_subjects"]

# A shell waits for the answer; parameters stand in the first lines of a signature or of the entry computation.
_MAX_BYTES = 20_000_000


def complete_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes and names of rules, also after a comma."""
    before, comma, word = incomplete.rpartition(",")
    items = [(letter, title) for letter, (title, _) in FAMILIES.items()] if not word else []
    items += [*CODE_NAMES.items(), *((name, code) for code, name in CODE_NAMES.items()), ("ALL", "every rule")]
    return _items(items, word, before + comma)


def complete_subjects(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `hlotool explain` explains: codes, names of rules, opcodes."""
    # Imported on use, since --help does not need the op table.
    from hlotool.opdefs.table import OPS  # noqa: PLC0415

    return [*complete_codes(ctx, param, incomplete), *_items(((opcode, "opcode") for opcode in OPS), incomplete)]


def complete_parameters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`NAME=` for each parameter of the module that is named before on the command line."""
    # While the option has no value yet, click leaves the other words unparsed.
    file = next(iter(ctx.params.get("files") or ()), None) or next((word for word in ctx.args if not word.startswith("-")), None)
    try:
        if "=" in incomplete or not file or not Path(file).is_file() or Path(file).stat().st_size > _MAX_BYTES:
            return []
        entry = hlotool.parse_file(file, strict=False).entry
    except (hlotool.HlotoolError, OSError, ValueError):
        return []
    return _items(((f"{x.name}=", x.shape.text_without_layout) for x in entry.parameters), incomplete)


def _items(words: Iterable[tuple[str, str]], word: str, before: str = "") -> list[CompletionItem]:
    return [CompletionItem(before + value, help=text) for value, text in words if value.startswith(word)]
