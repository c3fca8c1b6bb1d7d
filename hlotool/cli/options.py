"""Options that several commands share, so that they are spelled alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

__all__ = ["color_option", "config_options", "files_argument", "selection_options", "stdin_filename_option"]

files_argument = click.argument("files", nargs=-1, metavar="[FILE|-]...", type=click.Path())

color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour messages; auto: on a terminal, unless NO_COLOR is set."
)

stdin_filename_option = click.option("--stdin-filename", metavar="NAME", default="<stdin>", help="What messages call standard input.")


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Which files of a folder are meant."""
    options = [
        click.option("--include", multiple=True, metavar="PATTERN", help="Take the files of folders that match, instead of *.hlo and HLO dumps."),
        click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out files and folders of folders that match."),
        click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Leave out what git ignores; the default."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def config_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where settings come from."""
    options = [
        click.option("--config", metavar="FILE", type=click.Path(), help="Take the settings from FILE, not from the nearest one."),
        click.option("--isolated", is_flag=True, help="Ignore all settings in files."),
    ]
    for option in reversed(options):
        function = option(function)
    return function
