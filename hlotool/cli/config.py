"""Settings from files: the nearest `hlotool.toml`, `.hlotool.toml` or `pyproject.toml` with a table `[tool.hlotool]`.

What the settings mean is the commands' business; this module finds, reads and checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from hlotool.errors import nearest

__all__ = ["Settings", "settings_for", "wrong_setting"]

_NAMES = ("hlotool.toml", ".hlotool.toml")
_PROJECT = "pyproject.toml"
# What may be set: by table, then by key, with the type of the value.
_KEYS: Mapping[str, Mapping[str, type]] = {
    "": {"include": list, "exclude": list, "respect-gitignore": bool},
    "fmt": {"width": int},
}


class SettingsError(click.ClickException):
    """A file of settings that cannot be read, or says what nobody understands."""

    exit_code = 2


class Settings(NamedTuple):
    """The values of one file, by table and key; `origin` is its path, None when there is no file."""

    values: Mapping[str, Mapping[str, Any]]
    origin: Path | None

    def get(self, table: str, key: str) -> Any:
        """The value of a key, None when it is not set."""
        return self.values.get(table, {}).get(key)


_NOTHING = Settings({}, None)


def settings_for(folder: Path, *, config: str | None = None, isolated: bool = False) -> Settings:
    """The settings for files in `folder`; raises ClickException when a file is wrong."""
    if isolated:
        return _NOTHING
    if config is not None:
        return _read(Path(config))
    try:
        start = folder.resolve()
    except (OSError, ValueError, RuntimeError):
        return _NOTHING
    return _nearest(start)


@cache
def _nearest(folder: Path) -> Settings:
    for at in (folder, *folder.parents):
        for name in _NAMES:
            if (at / name).is_file():
                return _read(at / name)
        project = at / _PROJECT
        # TOML is parsed only where there is something for us.
        if project.is_file() and b"tool.hlotool" in _bytes(project):
            return _read(project)
    return _NOTHING


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"cannot read '{path}': {error.strerror}") from error


@cache
def _read(path: Path) -> Settings:
    tomllib = import_module("tomllib")
    try:
        data = tomllib.loads(_bytes(path).decode("utf-8"))
    except ValueError as error:
        raise wrong_setting(path, f"it is not TOML: {error}") from error
    if path.name == _PROJECT:
        for name in ("tool", "hlotool"):
            data = data.get(name, {})
            if not isinstance(data, dict):
                raise wrong_setting(path, f"'{name}' is a table, not {data!r}")
    values: dict[str, dict[str, Any]] = {"": {}}
    for key, value in data.items():
        if isinstance(value, dict):
            if key not in _KEYS:
                raise _unknown(path, f"table [{key}]", key, [name for name in _KEYS if name])
            values[key] = {name: _checked(path, key, name, inner) for name, inner in value.items()}
        else:
            values[""][key] = _checked(path, "", key, value)
    return Settings(values, path)


def _checked(path: Path, table: str, key: str, value: Any) -> Any:
    kind = _KEYS[table].get(key)
    if kind is None:
        raise _unknown(path, f"key '{key}'" + (f" in [{table}]" if table else ""), key, list(_KEYS[table]))
    fits = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    if kind is list:
        fits = fits and all(isinstance(item, str) for item in value)
    if not fits:
        expected = {list: "a list of strings", bool: "true or false", int: "a number"}[kind]
        raise wrong_setting(path, f"'{key}' is {expected}, not {value!r}")
    return value


def _unknown(path: Path, what: str, word: str, known: list[str]) -> click.ClickException:
    meant = nearest(word, known)
    hint = f"did you mean '{meant}'?" if meant else f"known: {', '.join(known)}"
    return wrong_setting(path, f"unknown {what}; {hint}")


def wrong_setting(path: Path | None, reason: str) -> click.ClickException:
    """The error for a setting that a command cannot use."""
    return SettingsError(f"in '{path}': {reason}")
