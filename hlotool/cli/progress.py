"""A progress bar for long-running work, on terminals only.

The package rich, which draws it, is imported when the bar is first shown.
"""

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
# The width of the title and of the bar, in characters. The rest of the line is for the file name.
_MAX_TITLE_LENGTH, _BAR = 20, 20
# The width of the percentage, the remaining time, and the spaces between columns.
_OTHERS = len("100%") + len("0:00:00") + 6


@contextmanager
def progress(total: int, title: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Shows a progress bar; yields a function to call with the name of each finished file."""
    if quiet or total < 2 or sys.stderr is None or not sys.stderr.isatty():
        yield lambda name: None
        return
    started, done = time.monotonic(), 0
    bar: Any = None
    task: Any = None
    available = 0

    def advance(name: str) -> None:
        nonlocal bar, task, done, available
        done += 1
        if bar is None:
            if time.monotonic() - started < _DELAY:
                return
            rich = import_module("rich.progress")
            shown_title = _ending(visible(title), _MAX_TITLE_LENGTH)
            console = import_module("rich.console").Console(stderr=True)
            columns = (rich.BarColumn(_BAR), rich.TaskProgressColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
            texts = [rich.TextColumn(f"{{task.fields[{field}]}}", markup=False) for field in ("title", "name")]
            bar = rich.Progress(texts[0], *columns, texts[1], console=console, transient=True)
            bar.start()
            task = bar.add_task("", total=total, title=shown_title, name="")
            available = console.width - len(shown_title) - _BAR - 2 * len(str(total)) - 1 - _OTHERS
        bar.update(task, completed=done, name=_ending(visible(name), available))

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()


def _ending(name: str, width: int) -> str:
    """Returns the end of a name, which distinguishes files best, or "" if nothing fits.

    >>> _ending("dumps/module_0001.txt", 12), _ending("a.hlo", 12), _ending("a.hlo", 1)
    ('..._0001.txt', 'a.hlo', '')
    """
    # Some characters are two columns wide.
    columns = import_module("rich.cells").cell_len
    if columns(name) <= width:
        return name
    kept = name[-max(0, width - len("...")) :] if width > len("...") else ""
    while kept and columns(kept) > width - len("..."):
        kept = kept[1:]
    return f"...{kept}" if kept else ""
