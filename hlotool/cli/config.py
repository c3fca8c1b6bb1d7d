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

__all__ = ["PRESETS", "SEVERITIES", "STAGES", "TARGETS", "Settings", "SettingsError", "settings_for", "wrong_setting"]

# Here, and not taken from the verifier, so that finding settings does not load it.
PRESETS = ("parse", "default", "strict", "gpu", "tpu", "before-opt", "after-opt")
STAGES = ("auto", "before-opt", "after-opt")
TARGETS = ("generic", "cpu", "gpu", "tpu")
SEVERITIES = ("error", "warning", "info")

_NAMES = ("hlotool.toml", ".hlotool.toml")
_PROJECT = "pyproject.toml"
_AUTO_OR_BOOL = "auto, true or false"
Kind = type | str
# The modes of a verification, and which of their names are sets of words.
_MODES: Mapping[str, Kind] = {
    "layout-sensitive": _AUTO_OR_BOOL, "allow-mixed-precision": bool, "reshape-is-bitcast": bool, "no-host-memory": bool,
    "nested-thread-names": bool, "broadcast-dimensions-sorted": bool, "bitcast-may-differ-in-size": bool, "unbounded-dynamic": bool,
    "collective-deadlocks": bool, "check-replica-groups": bool, "stage": str, "target": str, "devices": int,
}  # fmt: skip
# What may be set: by table, then by key, with the type of the value. Presets and modes may stand in [lint] or above all tables.
_KEYS: Mapping[str, Mapping[str, Kind]] = {
    "": {"include": list, "exclude": list, "respect-gitignore": bool, "preset": str, **_MODES},
    "fmt": {"width": int},
    "lint": {"select": list, "extend-select": list, "ignore": list, "severity": dict, "per-file-ignores": dict, "preset": str, **_MODES},
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "preset": PRESETS,
    "stage": STAGES,
    "target": TARGETS,
    "severity": SEVERITIES,
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
    _check_kind(path, key, value, kind)
    if key in _CHOICES:
        for word in value.values() if isinstance(value, dict) else (value,):
            if word not in _CHOICES[key]:
                raise _unknown(path, f"{key} '{word}'", word, list(_CHOICES[key]))
    return value


def _check_kind(path: Path, key: str, value: Any, kind: Kind) -> None:
    if kind == _AUTO_OR_BOOL:
        fits, expected = isinstance(value, bool) or value == "auto", _AUTO_OR_BOOL
    elif kind is list:
        fits, expected = _is_list_of_strings(value), "a list of strings"
    elif kind is dict and key == "severity":
        fits, expected = isinstance(value, dict) and all(isinstance(item, str) for item in value.values()), "a table of codes and severities"
    elif kind is dict:
        fits, expected = isinstance(value, dict) and all(map(_is_list_of_strings, value.values())), "a table of patterns and lists of codes"
    else:
        assert isinstance(kind, type)
        fits = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
        expected = {bool: "true or false", int: "a number", str: "a string"}[kind]
    if not fits:
        raise wrong_setting(path, f"'{key}' is {expected}, not {value!r}")


def _is_list_of_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _unknown(path: Path, what: str, word: str, known: list[str]) -> click.ClickException:
    meant = nearest(word, known)
    hint = f"did you mean '{meant}'?" if meant else f"known: {', '.join(known)}"
    return wrong_setting(path, f"unknown {what}; {hint}")


def wrong_setting(path: Path | None, reason: str) -> click.ClickException:
    """The error for a setting that a command cannot use."""
    return SettingsError(f"in '{path}': {reason}")
