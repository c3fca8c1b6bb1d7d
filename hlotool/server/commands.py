"""Commands that an editor can execute: to run a module, or to compare it with the dump before. Each is a process of its own."""

from __future__ import annotations

import asyncio
import sys

from hlotool.errors import HlotoolError
from hlotool.server.documents import Document
from hlotool.server.lenses import DIFF, RUN, previous_dump

__all__ = ["COMMANDS", "beginning", "execute"]

COMMANDS = (RUN, DIFF)
_TIMEOUT = 60.0
_LONGEST_OUTPUT = 20_000
# What fits into a message.
_MOST_LINES = 10
_LONGEST_LINE = 200


def _arguments(document: Document, command: str) -> list[str]:
    """The arguments of `hlotool`, which reads the text from its standard input."""
    if command == RUN:
        return ["run", "--color", "never", "--stdin-filename", document.name, "-"]
    before = previous_dump(document.name)
    if before is None:
        raise HlotoolError("there is no dump before this one")
    return ["diff", "--color", "never", before, "-"]


async def execute(document: Document, command: str) -> str:
    """The output of a command for a text. Raises HlotoolError if it takes too long."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "hlotool",
        *_arguments(document, command),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(document.text.encode("utf-8", "replace")), _TIMEOUT)
    except TimeoutError:
        raise HlotoolError(f"stopped after {_TIMEOUT:.0f} seconds") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = output.decode("utf-8", "replace")
    return text if len(text) <= _LONGEST_OUTPUT else f"{text[:_LONGEST_OUTPUT]}\n..."


def beginning(output: str) -> str:
    """The first lines of an output, for a message: most editors put the log where nobody looks.

    >>> beginning("hlotool: random values (seed 0) for x\\noutput  f32[]  3.5\\n")
    'hlotool: random values (seed 0) for x\\noutput  f32[]  3.5'
    """
    lines = output.splitlines()
    shown = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..." for line in lines[:_MOST_LINES]]
    return "\n".join(shown if len(lines) <= _MOST_LINES else [*shown, "... (all of it is in the log of the language server)"])
