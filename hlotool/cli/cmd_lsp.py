"""`hlotool lsp`: runs the language server of `hlotool.server`, as editors do."""

from __future__ import annotations

import sys
from importlib import import_module

import click

import hlotool
from hlotool.cli.command import HloCommand
from hlotool.cli.interruption import PromptEnd
from hlotool.errors import HlotoolError

__all__ = ["command"]

_HELP = """Serve an editor with the Language Server Protocol.

Editors that support the protocol start the server themselves; docs/editors.md shows how to set them
up. The server reports findings while you type. It also formats, fixes and renames, provides
completion, finds definitions and uses, and describes each instruction with its cost and origin. It
uses the settings of `hlotool verify` and `hlotool fmt` in the nearest hlotool.toml.

The server requires the `lsp` extra: pip install 'hlotool[lsp]'.

\b
Examples:
  hlotool lsp
  hlotool lsp --tcp 7658

\b
Exit codes:
  0 success; 1 the editor disconnected without a shutdown request; 2 pygls is
  missing, or the port is taken; 3 a bug in hlotool
"""


@click.command("lsp", cls=HloCommand, help=_HELP, short_help="Serve an editor with the Language Server Protocol.")
@click.option("--stdio", is_flag=True, help="Use standard input and output, the default; many editors pass this option.")
@click.option("--tcp", "port", type=click.IntRange(1, 65535), metavar="PORT", help="Wait for one editor on this port of the local host instead.")
def command(stdio: bool, port: int | None) -> int:
    if stdio and port is not None:
        raise click.UsageError("--stdio and --tcp cannot be combined")
    try:
        # Imported on use, since pygls is only installed with an extra.
        serve = import_module("hlotool.server.server").serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise HlotoolError("the language server needs an extra package: pip install 'hlotool[lsp]'") from error
    if port is None and (sys.stdin is None or sys.stdout is None):
        # A pipe of this process would get the file descriptor of the closed stream, and the server
        # would wait for itself.
        raise HlotoolError(f"standard {'input' if sys.stdin is None else 'output'} is closed; editors use it to communicate with the server")
    # A thread waits for the editor's next line, which may never come.
    with PromptEnd():
        return 0 if serve(hlotool.__version__, port) else 1
