"""A progress bar for long work, on terminals only; rich, which draws it, is loaded when it is first shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

__all__ = ["progress"]

# Work that takes no longer than this needs no bar.
_PATIENCE = 1.0


@contextmanager
def progress(total: int, title: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Gives a function to call with the name of each part that is done."""
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
            if time.monotonic() - started < _PATIENCE:
                return
            rich = import_module("rich.progress")
            console = import_module("rich.console").Console(stderr=True)
            bar = rich.Progress(*rich.Progress.get_default_columns(), rich.TextColumn("{task.fields[name]}"), console=console, transient=True)
            bar.start()
            task = bar.add_task(title, total=total, name="")
        bar.update(task, completed=done, name=name)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()
