"""Runs random command lines on random files; not run by pytest.

Usage: `python tests/tools/fuzz_commands.py --count 500 --seed 1`. Commands, options and their types
come from click, so new options are covered automatically. No command line may end with an internal
error, run for more than a few seconds, or change a file that it was not asked to write. For
each failure, the command is printed and its folder is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import os
import random
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from module_edits import edited
from random_texts import Style, random_text

from hlotool.cli.main import COMMANDS, run
from hlotool.testing import random_module
from hlotool.text.print.printer import to_text

_SECONDS = 20
_SERVERS = frozenset({"lsp"})
"""Commands that wait for requests."""

_WRITERS = frozenset({"-o", "--output", "--trace-out", "--in-place", "--fix", "--add-ignore", "--write-baseline", "--baseline"})
"""Options that write files, or whose value is the path of a file to write."""

_WRITING = frozenset({"apply", "fmt"})
"""Commands that write files without an option."""

_WORDS = ("x", "f0", "entry", "add", "opcode=add", "W001", "all", "dce", "1:2", "nnan", "*.hlo", "%c", "4", "64MB", "HEAD", "\x1b[31m", "é", "")


class TooSlow(BaseException):
    """Raised when a command line takes longer than `_SECONDS`."""


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def expire(*_: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def write_files(folder: Path, chance: random.Random) -> list[str]:
    """Writes valid, invalid and unusual files, and returns their names."""
    text = to_text(random_module(chance.randrange(2**32)))
    other = random_text(chance.randrange(2**32), 12, Style())
    contents = {
        "a.hlo": text,
        "b.hlo": to_text(random_module(chance.randrange(2**32))),
        "c.hlo": text.replace("maximum", "minimum").replace("add", "multiply"),
        "edited.hlo": edited(other, chance) or other,
        "other.hlo": other,
        "cut.hlo": text[: chance.randrange(len(text))],
        "log.txt": f"I0000 some log\n{text}\nmore\x1b[2J\n",
        "empty.hlo": "",
        "s/module_0001.f.before_optimizations.txt": other,
        "s/module_0001.f.after_optimizations.txt": text,
        "hlotool.toml": "[lint]\nignore = ['W001']\n",
    }
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    (folder / "z.hlo.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "bytes.hlo").write_bytes(chance.randbytes(60))
    return [*contents, "z.hlo.gz", "bytes.hlo", "s", ".", "missing.hlo", "-"]


def value_of(parameter: click.Parameter, files: list[str], chance: random.Random) -> str:
    """Draws a value for an option or an argument, usually a value of the correct type."""
    kind = parameter.type
    if chance.random() < 0.03:
        return chance.choice(_WORDS)
    if isinstance(kind, click.Choice):
        return str(chance.choice(list(kind.choices)))
    if isinstance(kind, click.Path):
        return "out.txt" if _WRITERS & set(parameter.opts) else chance.choice(files if chance.random() < 0.2 else files[:3])
    if isinstance(kind, click.types.IntParamType):
        return str(chance.choice([1, 2, 3, 10, 80, 0, -1]))
    if isinstance(kind, click.types.FloatParamType):
        return str(chance.choice([0, 1e-3, 1.5, 5]))
    return chance.choice(_WORDS)


def random_command(names: list[str], files: list[str], chance: random.Random) -> list[str]:
    """Draws a command line."""
    name = chance.choice(names)
    command = COMMANDS.get_command(click.Context(COMMANDS), name)
    assert command is not None
    result, positional = [name], []
    density = chance.choice([0.0, 0.02, 0.05, 0.1])
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            count = chance.choice([1, 2, 2, 3]) if parameter.nargs == -1 else int(parameter.required or chance.random() < 0.8)
            positional += [value_of(parameter, files, chance) for _ in range(count)]
        elif isinstance(parameter, click.Option) and chance.random() < density:
            result.append(chance.choice([*parameter.opts, *parameter.secondary_opts]))
            if not parameter.is_flag and not parameter.count:
                result += [value_of(parameter, files, chance) for _ in range(parameter.nargs)]
    if chance.random() < 0.5:
        positional = positional[:2] if name == "diff" else positional[:1]
    return result + positional


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fault_of(arguments: list[str], folder: Path) -> tuple[int, str]:
    """Runs a command line in a folder.

    Returns its exit code, and a description of its fault or an empty string.
    """
    before = snapshot(folder)
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    error = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    streams = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(b"HloModule m\n\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n")), out, error
    fault = ""
    try:
        with time_limit(_SECONDS):
            code = run(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except TooSlow:
        code, fault = -1, f"ran longer than {_SECONDS} s"
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    for stream in (out, error):
        if not stream.closed:
            stream.flush()
    shown = "" if error.closed else error.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]
    if code not in {0, 1, 2, -1}:
        fault = f"exits with code {code}\n{shown}"
    elif "Traceback (most recent call last)" in shown:
        fault = f"shows a traceback\n{shown}"
    elif arguments[0] not in _WRITING and not _WRITERS & {part.partition("=")[0] for part in arguments} and snapshot(folder) != before:
        fault = "changed files that it was not asked to write"
    return code, fault


def fuzz(count: int, seed: int, names: list[str]) -> tuple[Counter[int], int]:
    """Runs `count` command lines.

    Returns how often each exit code occurred, and the number of faults.
    """
    codes: Counter[int] = Counter()
    faults = 0
    start = Path.cwd()
    for number in range(seed, seed + count):
        chance = random.Random(number)
        folder = Path(tempfile.mkdtemp(prefix="hlotool-commands-"))
        files = write_files(folder, chance)
        arguments = random_command(names, files, chance)
        os.chdir(folder)
        try:
            code, fault = fault_of(arguments, folder)
        finally:
            os.chdir(start)
        codes[code] += 1
        if fault:
            faults += 1
            print(f"--seed {number}: cd {folder}; hlotool {shlex.join(arguments)}\n{fault}", flush=True)
        else:
            shutil.rmtree(folder)
    return codes, faults


def main() -> int:
    names = [name for name in COMMANDS.list_commands(click.Context(COMMANDS)) if name not in _SERVERS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=names, help="run only this command; repeatable")
    options = parser.parse_args()
    began = time.monotonic()
    codes, faults = fuzz(options.count, options.seed, options.only or names)
    ended = ", ".join(f"{number} with exit code {code}" for code, number in sorted(codes.items()))
    print(f"{options.count} command lines in {time.monotonic() - began:.0f} s: {ended}; faults: {faults}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
