"""Commands that an editor can execute: run a module, compare it with the previous dump, or draw it.

Each command runs in a separate process, so that it does not block the server.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from lsprotocol import types

from hlotool.errors import HlotoolError
from hlotool.server.documents import Document
from hlotool.server.lenses import DIFF, GRAPH, RUN, SHOW_GRAPH, previous_dump

__all__ = ["COMMANDS", "Command", "Invocation", "beginning", "execute", "page_file", "position_of"]

_TIMEOUT = 60.0
_MAX_OUTPUT_LENGTH = 20_000
# Limits for a message: the number of lines, and the number of characters in each.
_MAX_LINES = 10
_MAX_LINE_LENGTH = 200


class Invocation(NamedTuple):
    """The arguments of `hlotool`, the text for its standard input, and a title for its output."""

    arguments: list[str]
    text: str
    title: str


class Command(NamedTuple):
    """A command: its invocation for a document and a position, and the use of its output.

    The output is written to the log, or it is an HTML page, which is returned as the response or
    opened.
    """

    invocation: Callable[[Document, types.Position | None], Invocation]
    answer: Literal["log", "page", "open"]


def _run(document: Document, position: types.Position | None) -> Invocation:
    return Invocation(["run", "--color", "never", "--stdin-filename", document.name, "-"], document.text, "run")


def _diff(document: Document, position: types.Position | None) -> Invocation:
    before = previous_dump(document.name)
    if before is None:
        raise HlotoolError("there is no dump before this one")
    return Invocation(["diff", "--color", "never", "--", before, "-"], document.text, "diff")


def _graph(document: Document, position: types.Position | None) -> Invocation:
    """Returns the invocation that draws the computation at a position, by default the entry.

    The instruction at the position is selected in the picture.
    """
    module = document.modules[0] if position is None and document.modules else None
    chosen: list[str] = []
    name = Path(document.name).name
    if position is not None:
        offset = document.lines.offset(position)
        module = document.module_at(offset)
        offset -= module.start if module is not None else 0
        found = module.instruction_at(offset) if module is not None else None
        computation = found[0] if found is not None else module.computation_at(offset) if module is not None else None
        if computation is not None:
            chosen = ["--computation", computation.name, *(["--select", found[1].name] if found is not None else [])]
            name = f"{computation.name} in {name}"
    if module is None:
        raise HlotoolError("there is no module at this position")
    # Adds lines before the module, so that its lines have the same numbers as in the document.
    text = "\n" * (module.source.first_line - 1) + module.source.text
    return Invocation(["graph", "--color", "never", "--format", "html", "--stdin-filename", document.name, *chosen, "-"], text, name)


COMMANDS: Mapping[str, Command] = {
    RUN: Command(_run, "log"),
    DIFF: Command(_diff, "log"),
    GRAPH: Command(_graph, "page"),
    SHOW_GRAPH: Command(_graph, "open"),
}
"""The commands by name. Their arguments are a document's URI and, for pictures, a position."""


async def execute(invocation: Invocation, *, returns_page: bool = False) -> str:
    """Returns the output of a command.

    Raises HlotoolError if the command takes too long, or if it fails to return an HTML page.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        # Keeps the working directory off the import path: it is often the folder of the HLO files,
        # and Python modules in it would take precedence over those of the standard library.
        "-P",
        "-m",
        "hlotool",
        *invocation.arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE if returns_page else asyncio.subprocess.STDOUT,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(invocation.text.encode("utf-8", "replace")), _TIMEOUT)
    except TimeoutError:
        raise HlotoolError(f"the command was stopped after {_TIMEOUT:.0f} seconds") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    if returns_page and process.returncode:
        raise HlotoolError(errors.decode("utf-8", "replace").strip() or f"hlotool exited with code {process.returncode}")
    text = output.decode("utf-8", "replace")
    return text if returns_page or len(text) <= _MAX_OUTPUT_LENGTH else f"{text[:_MAX_OUTPUT_LENGTH]}\n..."


def beginning(output: str) -> str:
    """Returns the first lines of an output, for a message.

    The log contains all lines, but most editors do not show the log.

    >>> beginning("hlotool: random values (seed 0) for x\\noutput  f32[]  3.5\\n")
    'hlotool: random values (seed 0) for x\\noutput  f32[]  3.5'
    """
    lines = output.splitlines()
    shown = [line if len(line) <= _MAX_LINE_LENGTH else f"{line[:_MAX_LINE_LENGTH]}..." for line in lines[:_MAX_LINES]]
    return "\n".join(shown if len(lines) <= _MAX_LINES else [*shown, "... (the log of the language server has the full output)"])


def page_file(page: str, folder: Path) -> str:
    """Writes an HTML page to a file named after its contents, and returns the URI of the file."""
    data = page.encode()
    path = folder / f"{sha256(data).hexdigest()[:16]}.html"
    path.write_bytes(data)
    return path.as_uri()


def position_of(argument: Any) -> types.Position | None:
    """Returns the position that is an argument of a command, or None if it is omitted.

    Raises HlotoolError for anything other than a position or None.
    """
    if argument is None:
        return None
    line, character = (argument.get(key) for key in ("line", "character")) if isinstance(argument, dict) else (None, None)
    if not isinstance(line, int) or not isinstance(character, int) or line < 0 or character < 0:
        raise HlotoolError("expected a position with `line` and `character`, or nothing")
    return types.Position(line, character)
