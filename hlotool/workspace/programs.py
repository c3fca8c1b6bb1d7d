"""Programs that hlotool starts, found on the PATH."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["find_program"]


def find_program(name: str) -> str | None:
    """Returns the absolute path of a program; None if it is not on the PATH.

    The working directory, which may come from anywhere, is never searched; Windows itself, and
    `shutil.which` on Windows, do search it. Folders of the PATH that are relative to it are not
    searched either.
    """
    if Path(name).is_absolute():
        return name if _is_program(Path(name)) else None
    suffixes = ["", *os.environ.get("PATHEXT", ".EXE").split(os.pathsep)] if os.name == "nt" else [""]
    for folder in os.get_exec_path():
        if Path(folder).is_absolute():
            for suffix in suffixes:
                path = Path(folder, f"{name}{suffix}")
                if _is_program(path):
                    return str(path)
    return None


def _is_program(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False
