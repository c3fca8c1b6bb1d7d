"""Options that select rules and modes, and the output of --show-settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from hlotool.cli.completions import complete_codes
from hlotool.cli.options import click_option, decorate, list_option
from hlotool.cli.output import counted
from hlotool.errors import HlotoolError
from hlotool.workspace.keys import MODES, RULE_OPTIONS, key_of
from hlotool.workspace.settings import Settings

if TYPE_CHECKING:
    from hlotool.workspace.rules import RuleChoice

__all__ = ["rule_options", "settings_lines"]


def rule_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds options for choosing rules, which the function gets as the argument `rules`.

    Unknown rules are usage errors.
    """

    @wraps(function)
    def with_rules(**values: Any) -> Any:
        # Imported on use, since --help does not need the verifier.
        from hlotool.workspace.rules import RuleChoice  # noqa: PLC0415

        modes = {name: value for name in MODES if (value := values.pop(name, None)) is not None}
        rules = RuleChoice(**{name: values.pop(name) for name in RULE_OPTIONS}, modes=modes)
        try:
            rules.validate()
        except HlotoolError as error:
            raise click.UsageError(str(error)) from None
        return function(**values, rules=rules)

    codes = [list_option(name, RULE_OPTIONS[name], "CODES", _split, complete_codes) for name in ("select", "extend_select", "ignore")]
    modes = [click_option(name, option) for name, option in MODES.items()]
    return decorate(with_rules, [*codes, click_option("preset", RULE_OPTIONS["preset"]), *modes])


def _split(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


def settings_lines(rules: RuleChoice, name: str, settings: Settings, baseline: str | None) -> Iterator[str]:
    """Yields the lines of --show-settings for one file."""
    checks = rules.checks_for(name, settings)
    origin = f"'{settings.origin}'" if settings.origin else "no file"
    yield f"settings for '{name}', from {origin}"
    yield f"preset = {rules.preset_for(settings)}"
    for field, option in MODES.items():
        yield f"{key_of(field)} = {option.format(getattr(checks.modes, field))}"
    yield f"baseline = {baseline or 'none'}"
    for code, level in sorted(checks.severities.items()):
        yield f"severity.{code} = {level}"
    codes = sorted(checks.selection.codes)
    yield f"{counted(len(codes), 'rule')}: {' '.join(codes)}"
