"""Options that several commands share, so that they are spelled alike."""

from __future__ import annotations

import click

__all__ = ["color_option", "files_argument", "stdin_filename_option"]

files_argument = click.argument("files", nargs=-1, metavar="[FILE|-]...", type=click.Path())

color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour messages; auto: on a terminal, unless NO_COLOR is set."
)

stdin_filename_option = click.option("--stdin-filename", metavar="NAME", default="<stdin>", help="What messages call standard input.")
