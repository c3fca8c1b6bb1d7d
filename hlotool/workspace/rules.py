"""The rules and modes of a verification, which come from options, settings and a preset."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from hlotool.opdefs.modes import VerifyModes
from hlotool.record import replace
from hlotool.verifier.selection import Layer, Selection, SelectionError, codes_of
from hlotool.workspace.keys import MODES, RULE_OPTIONS, key_of
from hlotool.workspace.presets import PRESETS
from hlotool.workspace.settings import Settings, wrong_setting

__all__ = ["Checks", "RuleChoice"]


class Checks(NamedTuple):
    """The rules and modes for one file, and the severities that settings override."""

    selection: Selection
    modes: VerifyModes
    severities: Mapping[str, str]


class RuleChoice(NamedTuple):
    """The options that select rules and modes.

    Options that are not set are taken from the settings of each file. `modes` holds the modes that
    are set, by field of VerifyModes.

    >>> RuleChoice(select=("T003",), modes={"layout_sensitive": "auto"}).checks_for("m.hlo", Settings({}, None)).selection.has("T004")
    False
    """

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preset: str | None = None
    modes: Mapping[str, Any] = {}

    def validate(self) -> None:
        """Raises SelectionError if a name is not the name of a rule."""
        for name in (*self.select, *self.extend_select, *self.ignore):
            codes_of(name)

    def preset_for(self, settings: Settings) -> str:
        """Returns the name of the preset to use with these settings."""
        name: str = self.preset or _setting(settings, "preset") or RULE_OPTIONS["preset"].default
        return name

    def checks_for(self, name: str, settings: Settings) -> Checks:
        """Returns the rules and modes for the file `name`.

        Raises SettingsError if the settings contain names of rules that do not exist.
        """
        preset = PRESETS[self.preset_for(settings)]
        select = settings.get("lint", "select")
        settings_layer = Layer(
            None if select is None else tuple(select),
            tuple(settings.get("lint", "extend-select") or ()),
            (*(settings.get("lint", "ignore") or ()), *_ignores_for(name, settings)),
        )
        preset_layer = Layer(preset.select, preset.extend_select, preset.ignore)
        try:
            severities = {code: level for word, level in (settings.get("lint", "severity") or {}).items() for code in codes_of(word)}
            # A preset from the command line overrides the settings.
            layers = (settings_layer, preset_layer) if self.preset else (preset_layer, settings_layer)
            selection = Selection.layered([*layers, Layer(self.select or None, self.extend_select, self.ignore)])
        except SelectionError as error:
            raise wrong_setting(settings.origin, str(error)) from None
        return Checks(selection, self._modes(preset.modes, settings), severities)

    def _modes(self, preset_modes: Mapping[str, Any], settings: Settings) -> VerifyModes:
        values = dict(preset_modes)
        for field in MODES:
            value = _setting(settings, key_of(field))
            if value is not None and not (self.preset and field in preset_modes):
                values[field] = value
        values.update(self.modes)
        return replace(VerifyModes(), **{field: MODES[field].value(value) for field, value in values.items()})


def _setting(settings: Settings, key: str) -> Any:
    value = settings.get("lint", key)
    return settings.get("", key) if value is None else value


def _ignores_for(name: str, settings: Settings) -> list[str]:
    """Returns the codes to ignore in a file according to the settings.

    Patterns match the name of the file, or its path relative to the settings file.
    """
    table = settings.get("lint", "per-file-ignores") or {}
    if not table:
        return []
    path = Path(name)
    paths = {name, path.name, path.absolute().as_posix()}
    if settings.origin is not None:
        folder = settings.origin.absolute().parent
        if path.absolute().is_relative_to(folder):
            paths.add(path.absolute().relative_to(folder).as_posix())
    return [code for pattern, codes in table.items() if any(fnmatchcase(path, pattern) for path in paths) for code in codes]
