"""Programs that hlotool starts, found on the PATH."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["find_program"]


def find_program(name: str) -> str | None:
    """Returns the absolute path of a program; None if it is not on the PATH.

    The working directory, whose files may come from untrusted sources, is never searched, and
    neither are folders of the PATH that are relative to it. Windows itself, and `shutil.which` on
    Windows, do search the working directory.
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
