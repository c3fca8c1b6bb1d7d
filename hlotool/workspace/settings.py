"""Settings files: the nearest `hlotool.toml`, `.hlotool.toml` or `pyproject.toml`.

A `pyproject.toml` counts only if it has a table `[tool.hlotool]`. This module finds, reads and
checks settings files; `workspace.keys` lists the keys.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from hlotool.errors import HlotoolError, nearest
from hlotool.option_fields import Option
from hlotool.workspace.reading import file_status, read_bounded, real_path

__all__ = ["Settings", "SettingsError", "forget_settings", "settings_for", "wrong_setting"]

Keys = Mapping[str, Mapping[str, Option]]
_NAMES = ("hlotool.toml", ".hlotool.toml")
_PROJECT = "pyproject.toml"
# The maximum size of a settings file, in bytes.
_MAX_SIZE = 1 << 19
_MAX_DOTS = 200
# The maximum number of characters that a message shows of a wrong value.
_MAX_SHOWN_LENGTH = 100
_MAX_INTEGER = (1 << 63) - 1


class SettingsError(HlotoolError):
    """Raised if a settings file cannot be read, or has unknown keys or values."""

    exit_code = 2


class Settings(NamedTuple):
    """The values in one settings file, by table and key.

    `origin` is its path, or None if there is no file.
    """

    values: Mapping[str, Mapping[str, Any]]
    origin: Path | None

    def get(self, table: str, key: str) -> Any:
        """Returns the value of a key, or None if it is not set."""
        return self.values.get(table, {}).get(key)

    def path(self, table: str, key: str) -> str | None:
        """Returns the path in the value of a key; None if the key is not set.

        The file may not exist yet. Raises SettingsError unless it is a regular file below the
        folder of the settings file: settings may come from untrusted sources, and commands read and
        write the file.
        """
        name = self.get(table, key)
        if name is None or self.origin is None:
            return None
        reason = _reason_to_reject(name, os.path.dirname(real_path(str(self.origin))))  # noqa: PTH120
        if reason:
            raise wrong_setting(self.origin, f"'{key}' must name a regular file below the folder of the settings file; '{name}' {reason}")
        return real_path(str(self.origin.parent / name))


_NO_SETTINGS = Settings({}, None)


def _reason_to_reject(name: str, folder: str) -> str:
    """Returns the reason why a path in settings must not be used, or "" if it may be used.

    `folder` is the folder of the settings file.
    """
    if PurePath(name).anchor:
        return "is an absolute path"
    if "\0" in name:
        # The attempt to open the file will report this error, as it does for a folder.
        return ""
    target = os.path.realpath(real_path(os.path.join(folder, name)))  # noqa: PTH118
    if target != folder and not target.startswith(os.path.join(folder, "")):  # noqa: PTH118
        return f"leads to '{target}'"
    status = file_status(target)
    return "is not a regular file" if status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)) else ""


def settings_for(folder: Path, *, config: str | None = None, isolated: bool = False) -> Settings:
    """Returns the settings for files in `folder`, cached for the process.

    Raises SettingsError if the settings file is not valid.
    """
    if isolated:
        return _NO_SETTINGS
    if config is not None:
        return _read(Path(config))
    try:
        start = folder.resolve()
    except (OSError, ValueError, RuntimeError):
        return _NO_SETTINGS
    return _nearest(start)


def forget_settings() -> None:
    """Clears the cache, so that settings files are read again."""
    _nearest.cache_clear()
    _read.cache_clear()


@cache
def _nearest(folder: Path) -> Settings:
    for at in (folder, *folder.parents):
        for name in _NAMES:
            if _is_file(at / name):
                return _read(at / name)
        project = at / _PROJECT
        # Parsing TOML is slow, and most projects have no such table.
        if _is_file(project) and b"tool.hlotool" in _bytes(project):
            return _read(project)
    return _NO_SETTINGS


def _is_file(path: Path) -> bool:
    """Returns whether the path is a file.

    Returns False in folders without search permission, where Path.is_file raises an exception.
    """
    return os.path.isfile(path)  # noqa: PTH113


def _bytes(path: Path) -> bytes:
    try:
        return read_bounded(path, _MAX_SIZE)
    except OSError as error:
        raise SettingsError(f"cannot read '{path}': {error.strerror}") from error


@cache
def _read(path: Path) -> Settings:
    tomllib = import_module("tomllib")
    encoded = _bytes(path)
    for number, line in enumerate(encoded.split(b"\n"), 1):
        # The memory that tomllib takes is quadratic in the number of names in a key.
        if line.count(b".") > _MAX_DOTS:
            raise wrong_setting(path, f"line {number} has more than {_MAX_DOTS} dots; write it on several lines")
    try:
        data = tomllib.loads(encoded.decode("utf-8"))
    except ValueError as error:
        raise wrong_setting(path, f"not valid TOML: {error}") from error
    except RecursionError as error:
        raise wrong_setting(path, "its values are nested too deeply") from error
    if path.name == _PROJECT:
        for name in ("tool", "hlotool"):
            data = data.get(name, {})
            if not isinstance(data, dict):
                raise wrong_setting(path, f"'{name}' must be a table, not {_show(data)}")
    # Imported on use, since most folders have no settings file.
    keys: Keys = import_module("hlotool.workspace.keys").KEYS
    values: dict[str, dict[str, Any]] = {"": {}}
    for key, value in data.items():
        if isinstance(value, dict):
            if key not in keys:
                raise _unknown(path, f"table [{key}]", key, [name for name in keys if name])
            values[key] = {name: _check_value(path, keys, key, name, inner) for name, inner in value.items()}
        else:
            values[""][key] = _check_value(path, keys, "", key, value)
    return Settings(values, path)


# ---- keys and their values ---------------------------------------------------------------------


def _check_value(path: Path, keys: Keys, table: str, key: str, value: Any) -> Any:
    option = keys[table].get(key)
    if option is None:
        raise _unknown(path, f"key '{key}'" + (f" in [{table}]" if table else ""), key, list(keys[table]))
    if not option.accepts(value):
        raise wrong_setting(path, f"'{key}' must be {option.expected}, not {_show(value)}")
    for word in value.values() if option.kind == "severities" else (value,) if option.choices else ():
        if word not in option.choices:
            raise _unknown(path, f"{key} '{word}'", word, list(option.choices))
    if isinstance(value, int) and option.kind in ("count", "size"):
        most = _MAX_INTEGER if option.most is None else option.most
        if not option.least <= value <= most:
            limit = f"at least {option.least}" if value < option.least else f"at most {most}"
            raise wrong_setting(path, f"'{key}' must be {limit}, not {_show(value)}")
    return value


def _show(value: Any) -> str:
    """Returns a value as shown in messages, shortened if it is long."""
    try:
        text = repr(value)
    except ValueError:
        # Python does not convert integers of more than 4,300 digits to decimal; in a settings file,
        # such integers can be written in hexadecimal.
        return "a number with thousands of digits"
    return text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[:_MAX_SHOWN_LENGTH]}..."


def _unknown(path: Path, what: str, word: str, known: list[str]) -> SettingsError:
    meant = nearest(word, known)
    hint = f"did you mean '{meant}'?" if meant else f"known: {', '.join(known)}"
    return wrong_setting(path, f"unknown {what}; {hint}")


def wrong_setting(path: Path | None, reason: str) -> SettingsError:
    """Returns the error for a settings file that is not valid."""
    return SettingsError(f"in '{path}': {reason}")
