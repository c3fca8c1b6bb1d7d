"""`hlotool completion`: prints the completion script for a shell.

The script completes commands, options and file names.
"""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from hlotool.cli.command import HloCommand
from hlotool.cli.main import COMMANDS
from hlotool.cli.output import flush_out, write_out

__all__ = ["command"]

_HELP = """Print the completion script for a shell.

\b
Install it permanently, in your home directory:
  hlotool completion bash > .local/share/bash-completion/completions/hlotool
  hlotool completion zsh > .zfunc/_hlotool      (with ~/.zfunc in fpath)
  hlotool completion fish > .config/fish/completions/hlotool.fish

\b
Use it in this session only:
  source <(hlotool completion bash)
"""


@click.command("completion", cls=HloCommand, help=_HELP, short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    kind = get_completion_class(shell)
    assert kind is not None, "click supports all three shells"
    completion = kind(COMMANDS, {}, "hlotool", "_HLOTOOL_COMPLETE")
    # The subclass for bash overrides this method and runs bash to check its version, but the script
    # may be for another machine.
    write_out(ShellComplete.source(completion))
    flush_out()
