"""Which rules a verification runs, and in which modes: options over settings over a preset.

What the modes mean is the verifier's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hlotool.cli.config import PRESETS, STAGES, TARGETS, Settings, SettingsError
from hlotool.opdefs.modes import VerifyModes
from hlotool.record import replace

if TYPE_CHECKING:
    from hlotool.verifier.selection import Selection

__all__ = ["Checks", "RuleChoice", "rule_options"]

_MODE_HELP = {
    "layout_sensitive": "Compare layouts, too; auto: of scheduled modules.",
    "allow_mixed_precision": "Let operands have different float types.",
    "reshape_is_bitcast": "Reshapes must not move elements.",
    "no_host_memory": "Refuse host memory spaces.",
    "nested_thread_names": "Calls and custom calls keep their thread, too.",
    "broadcast_dimensions_sorted": "The dimensions of a broadcast ascend.",
    "bitcast_may_differ_in_size": "A bitcast may change the size in bytes.",
    "unbounded_dynamic": "Let dimensions be unbounded.",
    "collective_deadlocks": "Look for sends and receives that wait for each other.",
    "check_replica_groups": "Check replica groups; the default.",
}
_MODES = tuple(VerifyModes._fields)


class Checks(NamedTuple):
    """What is checked in one file."""

    selection: Selection
    modes: VerifyModes
    severities: Mapping[str, str]


class RuleChoice(NamedTuple):
    """What the options say; where they say nothing, the settings of each file do. `modes` holds what was given, by field of VerifyModes."""

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preset: str | None = None
    modes: Mapping[str, Any] = {}

    def validate(self) -> None:
        """Raises UsageError when an option names no rule."""
        # --help imports the commands, and shall not wait for the verifier.
        from hlotool.verifier.selection import SelectionError, codes_of  # noqa: PLC0415

        for name in (*self.select, *self.extend_select, *self.ignore):
            try:
                codes_of(name)
            except SelectionError as error:
                raise click.UsageError(str(error)) from None

    def checks_for(self, name: str, settings: Settings) -> Checks:
        """What is checked in the file `name`; raises ClickException when its settings name what does not exist."""
        from hlotool.verifier.presets import PRESETS as BY_NAME  # noqa: PLC0415  # as above
        from hlotool.verifier.selection import Layer, Selection, SelectionError, codes_of  # noqa: PLC0415

        preset = BY_NAME[self.preset or _setting(settings, "preset") or "default"]
        select = settings.get("lint", "select")
        in_file = Layer(
            None if select is None else tuple(select),
            tuple(settings.get("lint", "extend-select") or ()),
            (*(settings.get("lint", "ignore") or ()), *_ignores_for(name, settings)),
        )
        try:
            severities = {code: level for word, level in (settings.get("lint", "severity") or {}).items() for code in codes_of(word)}
            # A preset that is asked for on the command line comes over the settings.
            below = (in_file, preset.layer) if self.preset else (preset.layer, in_file)
            selection = Selection.layered([*below, Layer(self.select or None, self.extend_select, self.ignore)])
        except SelectionError as error:
            raise SettingsError(f"in '{settings.origin}': {error}") from None
        return Checks(selection, self._modes(preset.modes, settings), severities)

    def _modes(self, of_preset: Mapping[str, Any], settings: Settings) -> VerifyModes:
        values = dict(of_preset)
        for field in _MODES:
            found = _setting(settings, field.replace("_", "-"))
            if found is not None and not (self.preset and field in of_preset):
                values[field] = found
        values.update(self.modes)
        if values.get("layout_sensitive") == "auto":
            values["layout_sensitive"] = None
        return replace(VerifyModes(), **values)

    def shown(self, name: str, settings: Settings) -> Iterator[str]:
        """The lines of --show-settings."""
        checks = self.checks_for(name, settings)
        origin = f"'{settings.origin}'" if settings.origin else "no file"
        yield f"settings for '{name}', from {origin}"
        yield f"preset = {self.preset or _setting(settings, 'preset') or 'default'}"
        for field in _MODES:
            value = getattr(checks.modes, field)
            yield f"{field.replace('_', '-')} = {'auto' if value is None and field == 'layout_sensitive' else _spelled(value)}"
        for code, level in sorted(checks.severities.items()):
            yield f"severity.{code} = {level}"
        codes = sorted(checks.selection.codes)
        yield f"{len(codes)} rules: {' '.join(codes)}"


def _spelled(value: Any) -> str:
    return {True: "true", False: "false", None: "from the header"}.get(value, str(value)) if value is None or isinstance(value, bool) else str(value)


def _setting(settings: Settings, key: str) -> Any:
    found = settings.get("lint", key)
    return settings.get("", key) if found is None else found


def _ignores_for(name: str, settings: Settings) -> list[str]:
    """What the settings ignore in a file: patterns match its path from the settings' folder, or its name."""
    table = settings.get("lint", "per-file-ignores") or {}
    if not table:
        return []
    path = Path(name)
    paths = {name, path.name, path.absolute().as_posix()}
    if settings.origin is not None:
        folder = settings.origin.absolute().parent
        if path.absolute().is_relative_to(folder):
            paths.add(path.absolute().relative_to(folder).as_posix())
    return [code for pattern, codes in table.items() if any(fnmatchcase(found, pattern) for found in paths) for code in codes]


def _split(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


def _options() -> list[Callable[..., Any]]:
    codes: dict[str, Any] = {"multiple": True, "metavar": "CODES", "callback": _split}
    options = [
        click.option("--select", **codes, help="Report these only."),
        click.option("--extend-select", **codes, help="Report these, too."),
        click.option("--ignore", **codes, help="Do not report these."),
        click.option("--preset", type=click.Choice(PRESETS), help="A selection with modes, for what is verified most."),
        click.option("--layout-sensitive", type=click.Choice(["auto", "true", "false"]), help=_MODE_HELP["layout_sensitive"]),
    ]
    for field, text in _MODE_HELP.items():
        flag = field.replace("_", "-")
        if field != "layout_sensitive":
            opposite = flag.replace("no-", "allow-", 1) if flag.startswith("no-") else f"no-{flag}"
            options.append(click.option(f"--{flag}/--{opposite}", field, default=None, help=text))
    return [
        *options,
        click.option("--stage", type=click.Choice(STAGES), help="Where in the compiler the modules come from."),
        click.option("--target", type=click.Choice(TARGETS), help="For which kind of device they are."),
        click.option("--devices", type=click.IntRange(min=1), metavar="N", help="The number of devices; default: from the header."),
    ]


def rule_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that become one argument `rules`."""

    @wraps(function)
    def with_rules(**values: Any) -> Any:
        modes = {field: found for field in _MODES if (found := values.pop(field, None)) is not None}
        if "layout_sensitive" in modes:
            modes["layout_sensitive"] = {"auto": None, "true": True, "false": False}[modes["layout_sensitive"]]
        own = {name: values.pop(name) for name in ("select", "extend_select", "ignore", "preset")}
        return function(**values, rules=RuleChoice(**own, modes=modes))

    decorated: Callable[..., Any] = with_rules
    for option in reversed(_options()):
        decorated = option(decorated)
    return decorated
