"""Commands that an editor can execute: to run a module, or to compare it with the dump before. Each is a process of its own."""

from __future__ import annotations

import asyncio
import sys

from hlotool.errors import HlotoolError
from hlotool.server.documents import Document
from hlotool.server.lenses import DIFF, RUN, previous_dump

__all__ = ["COMMANDS", "execute"]

COMMANDS = (RUN, DIFF)
_TIMEOUT = 60.0
_LONGEST_OUTPUT = 20_000


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
