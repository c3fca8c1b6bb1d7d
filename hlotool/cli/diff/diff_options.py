"""The options of `hlotool diff` for folders and passes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

import click

from hlotool.cli.completions import complete_predicates
from hlotool.cli.options import Decorator, decorate, list_option
from hlotool.workspace.files import is_folder
from hlotool.workspace.keys import FILE_OPTIONS
from hlotool.workspace.reading import STDIN

__all__ = ["FOLDER_OPTIONS", "FolderChoice", "folder_options"]

FOLDER_OPTIONS = ("passes", "until", "module", "details", "all_steps")
"""The options that form a separate group in --help."""

_FORMATS = ("text", "json", "markdown")


class FolderChoice(NamedTuple):
    """The options for folders and passes.

    They determine whether passes are compared, which change to look for, how much to show, and
    which files to take from folders.
    """

    passes: bool = False
    until: str | None = None
    module: str | None = None
    details: bool = False
    all_steps: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    jobs: int = 0

    def compares_many(self, files: Sequence[str]) -> bool:
        """Returns whether the arguments are folders or dumps of passes rather than two modules.

        Raises UsageError for any other arguments.
        """
        if self.passes:
            if not files:
                raise click.UsageError("--passes takes a folder, or the files of a pass-by-pass dump")
            if STDIN in files:
                raise click.UsageError("--passes takes files; standard input has no name that identifies the pass")
            return True
        for name in ("until", "module"):
            if getattr(self, name) is not None:
                raise click.UsageError(f"--{name} requires --passes")
        if len(files) != 2:
            hint = "; for the dumps of passes, use --passes" if len(files) > 2 or any(map(is_folder, files)) else ""
            raise click.UsageError(f"expected two modules or two folders, A and B, found {len(files)}{hint}")
        if any(map(is_folder, files)) or os.devnull in files:
            return True
        if self.all_steps:
            raise click.UsageError("--all requires --passes --semantic")
        if self.details:
            raise click.UsageError("--details applies to folders and passes; the differences between two modules are always shown")
        return False

    def check(self, options: Mapping[str, Any]) -> None:
        """Raises UsageError for options that apply only to two modules."""
        output_format = options["output_format"]
        if output_format not in _FORMATS:
            raise click.UsageError(
                f"--output-format {output_format} applies to two modules; for folders and passes, use one of {', '.join(_FORMATS)}"
            )
        if options["semantic"]:
            self._check_semantic(output_format)
        elif self.all_steps:
            raise click.UsageError("--all requires --passes --semantic")
        if self.details and (options["stat"] or options["name_only"]):
            raise click.UsageError(f"--details shows differences, and {'--stat' if options['stat'] else '--name-only'} does not; use one of the two")

    def _check_semantic(self, output_format: str) -> None:
        if not self.passes:
            raise click.UsageError("--semantic runs two modules, or the dumps of --passes; it cannot be used with folders")
        for name, value in (("--until", self.until), ("--details", self.details)):
            if value:
                raise click.UsageError(f"{name} shows changes of the text, and --semantic runs the modules; use one of the two")


def folder_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options for folders and passes, which the function gets as the argument `choice`."""

    @wraps(function)
    def with_choice(**values: Any) -> Any:
        fields = {name: values.pop(name) for name in FolderChoice._fields}
        return function(**values, choice=FolderChoice(**fields))

    options: Sequence[Decorator] = [
        click.option("--passes", is_flag=True, help="Treat the files, or those in folders, as dumps of passes, and show what each pass changed."),
        click.option(
            "--until", metavar="WHAT", shell_complete=complete_predicates,
            help="With --passes: show the first pass that changes WHAT: opcode=NAME, category=NAME, instruction=NAME, computation=NAME, or NAME.",
        ),
        click.option("--module", metavar="NAME", help="With --passes: compare only the dumps of this module, such as jit_f or module_0001."),
        click.option("--details", is_flag=True, help="For folders and passes: show each difference in full, not only a summary."),
        click.option("--all", "all_steps", is_flag=True, help="With --passes --semantic: run every dump instead of searching by bisection."),
        list_option("include", FILE_OPTIONS["include"], "PATTERN"),
        list_option("exclude", FILE_OPTIONS["exclude"], "PATTERN"),
        click.option(
            "-j", "--jobs", type=click.IntRange(min=0), default=0, metavar="N",
            help="Number of processes for folders and passes; 0, the default, chooses by the size of the files.",
        ),
    ]  # fmt: skip
    return decorate(with_choice, options)
