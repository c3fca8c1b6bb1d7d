"""Measures the language server on files.

Usage: `python tests/tools/time_server.py FILE...`. The opening time ends when symbols and findings
have arrived. Then an operand list is broken or an instruction is renamed, and the time from
the edit to the response to a request is measured. Memory is the largest resident set of the server.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lsp_client import Client

from hlotool.text.source.files import read_text

_EDITS = 10
_PAUSE = 0.05


def peak_memory(process: int) -> float:
    """Returns the largest resident set of a process, in megabytes."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def requests(line: int, column: int, last: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    position = {"line": line, "character": column}
    shown = {"start": {"line": max(0, line - 30), "character": 0}, "end": {"line": min(last, line + 30), "character": 0}}
    yield "symbols", "documentSymbol", {}
    yield "hover", "hover", {"position": position}
    yield "completion", "completion", {"position": position}
    yield "tokens of a screen", "semanticTokens/range", {"range": shown}
    yield "hints of a screen", "inlayHint", {"range": shown}


def measure(file: str) -> None:
    text = read_text(file)
    lines = text.split("\n")
    with Client(timeout=120) as client:
        start = time.perf_counter()
        client.open("file:///m.hlo", text)
        client.about("documentSymbol", "file:///m.hlo")
        symbols = time.perf_counter() - start
        found = client.diagnostics("file:///m.hlo", 1)
        opened = time.perf_counter() - start
        print(f"{file}: {len(text):,} characters, {len(lines):,} lines, {len(found)} findings")
        print(f"  open: symbols after {symbols:.2f} s, findings after {opened:.2f} s")
        positions = [k for k, line in enumerate(lines) if " = " in line and "(" in line]
        version = 1
        times: dict[str, list[float]] = {}
        for k in range(_EDITS):
            line = positions[(2 * k + 1) * len(positions) // (2 * _EDITS)]
            column = lines[line].index("(")
            here = {"line": line, "character": column}
            name_end = {"line": line, "character": lines[line].index(" = ")}
            for name, method, params in requests(line, column - 1, len(lines) - 1):
                # First an edit that breaks the text, then one that keeps it valid. The server has
                # not seen either text before.
                for kind, typed, position in (("broken", f"({version}", here), ("sound", f".{version}", name_end)):
                    version += 1
                    start = time.perf_counter()
                    end = {"line": line, "character": position["character"] + len(typed)}
                    client.change("file:///m.hlo", version, {"range": {"start": position, "end": position}, "text": typed})
                    client.about(method, "file:///m.hlo", **params)
                    times.setdefault(f"{name}, {kind}", []).append(time.perf_counter() - start)
                    version += 1
                    client.change("file:///m.hlo", version, {"range": {"start": position, "end": end}, "text": ""})
                    # People pause while typing, and the server then parses the text.
                    time.sleep(_PAUSE)
        for name, taken in times.items():
            print(f"  {name}: median {1000 * statistics.median(taken):.0f} ms, maximum {1000 * max(taken):.0f} ms")
        start = time.perf_counter()
        client.diagnostics("file:///m.hlo", version)
        print(f"  findings after the last edit: {time.perf_counter() - start:.2f} s")
        print(f"  memory: {peak_memory(client.process.pid):.0f} MB")


if __name__ == "__main__":
    for file in sys.argv[1:]:
        measure(file)
