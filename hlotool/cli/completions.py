"""Shell completion for values other than files.

The candidates are codes and names of rules, opcodes, passes, categories, and names from a module.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import click
from click.shell_completion import CompletionItem

import hlotool
from hlotool.cli.output import counted
from hlotool.codes import CODE_NAMES, FAMILIES
from hlotool.differ.categories import CATEGORIES, PREDICATES
from hlotool.optimizer.opt_options import FAST, FAST_MATH
from hlotool.optimizer.pass_table import pass_summaries

__all__ = [
    "complete_categories",
    "complete_codes",
    "complete_computations",
    "complete_flags",
    "complete_instructions",
    "complete_parameters",
    "complete_passes",
    "complete_predicates",
    "complete_subjects",
]

# In bytes. Names from larger modules are not completed, since the shell waits for the answer.
_MAX_BYTES = 20_000_000


def complete_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes codes and names of rules, including after a comma."""
    before, comma, word = incomplete.rpartition(",")
    items = [(letter, title) for letter, (title, _) in FAMILIES.items()] if not word else []
    items += [*CODE_NAMES.items(), *((name, code) for code, name in CODE_NAMES.items()), ("ALL", "every rule")]
    return _items(items, word, before + comma)


def complete_subjects(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the subjects of `hlotool explain`: rules, opcodes, rewrite rules and passes."""
    # Imported on use, since --help does not need the op table.
    from hlotool.opdefs.table import OPS  # noqa: PLC0415
    from hlotool.optimizer.registry import all_rules  # noqa: PLC0415

    opcodes = _items(((opcode, "opcode") for opcode in OPS), incomplete)
    rewrites = _items(((entry.name, entry.summary) for entry in all_rules().values()), incomplete)
    passes = _items(pass_summaries().items(), incomplete)
    return [*complete_codes(ctx, param, incomplete), *opcodes, *rewrites, *passes]


def complete_passes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes passes and groups of rewrite rules, including after a comma."""
    before, comma, word = incomplete.rpartition(",")
    return _items(pass_summaries().items(), word, before + comma)


def complete_flags(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the flags of `--fast-math`, including after a comma."""
    before, comma, word = incomplete.rpartition(",")
    return _items([*FAST_MATH.items(), (FAST, "all except precision"), ("all", "all of them")], word, before + comma)


def complete_categories(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes categories of differences, including after a comma."""
    before, comma, word = incomplete.rpartition(",")
    return _items(CATEGORIES.items(), word, before + comma)


def complete_predicates(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the values of `--until`: categories, opcodes, and other kinds of changes."""
    subject, sign, word = incomplete.partition("=")
    if sign:
        # Imported on use, since --help does not need the op table.
        from hlotool.opdefs.table import OPS  # noqa: PLC0415

        words: dict[str, Iterable[tuple[str, str]]] = {"category": CATEGORIES.items(), "opcode": ((opcode, "opcode") for opcode in OPS)}
        return _items(words.get(subject, ()), word, f"{subject}=")
    subjects = [(f"{name}=", text) for name, text in PREDICATES.items()]
    return _items([*CATEGORIES.items(), *subjects], incomplete)


def complete_computations(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the computations of the module named earlier on the command line."""
    module = _preceding_module(ctx)
    return [] if module is None else _items(((c.name, counted(len(c.instructions), "instruction")) for c in module.computations), incomplete)


def complete_instructions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the instructions of the module named earlier on the command line."""
    module = _preceding_module(ctx)
    return [] if module is None else _items(((x.name, f"{x.opcode} in {c.name}") for c in module.computations for x in c.instructions), incomplete)


def complete_parameters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes `NAME=` for the parameters of the module named earlier on the command line."""
    module = _preceding_module(ctx) if "=" not in incomplete else None
    return [] if module is None else _items(((f"{x.name}=", x.shape.text_without_layout) for x in module.entry.parameters), incomplete)


def _preceding_module(ctx: click.Context) -> hlotool.Module | None:
    """Returns the module named earlier on the command line.

    Returns None if no module is named, or if it cannot be read.
    """
    # While the option has no value yet, click leaves the other words unparsed.
    files = [ctx.params.get("file"), *(ctx.params.get("files") or ()), *(word for word in ctx.args if not word.startswith("-"))]
    file = next((name for name in files if name), None)
    try:
        if not file or not Path(file).is_file():
            return None
        # Imported on use, like the parser.
        text: str = import_module("hlotool.text.source.files").read_text(file, max_bytes=_MAX_BYTES)
        return hlotool.parse(text, file, strict=False)
    except (hlotool.HlotoolError, OSError, ValueError):
        return None


def _items(words: Iterable[tuple[str, str]], word: str, before: str = "") -> list[CompletionItem]:
    return [CompletionItem(before + value, help=text) for value, text in words if value.startswith(word)]
