"""A progress bar for long work, on terminals only. rich, which draws it, is imported when the bar is first shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from hlotool.cli.output import visible

__all__ = ["progress"]

# Seconds before the bar is shown.
_DELAY = 1.0


@contextmanager
def progress(total: int, title: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A context that yields a function to call with the name of each finished file."""
    if quiet or total < 2 or sys.stderr is None or not sys.stderr.isatty():
        yield lambda name: None
        return
    started, done = time.monotonic(), 0
    bar: Any = None
    task: Any = None

    def advance(name: str) -> None:
        nonlocal bar, task, done
        done += 1
        if bar is None:
            if time.monotonic() - started < _DELAY:
                return
            rich = import_module("rich.progress")
            console = import_module("rich.console").Console(stderr=True)
            bar = rich.Progress(
                *rich.Progress.get_default_columns(), rich.TextColumn("{task.fields[name]}", markup=False), console=console, transient=True
            )
            bar.start()
            task = bar.add_task(title, total=total, name="")
        bar.update(task, completed=done, name=visible(name))

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()
