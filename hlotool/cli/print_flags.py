"""The options of XLA's printer as command-line options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import click

import hlotool
from hlotool.cli.options import click_option, decorate
from hlotool.option_fields import options_of

__all__ = ["PRESETS", "PRINT_OPTIONS", "print_options"]

PRESETS: dict[str, str | None] = {
    "default": "xla_default",
    "lossless": None,
    "short": "short_parsable",
    "canonical": "canonical",
    "fingerprint": "fingerprint",
}
"""The name of the method that constructs each preset; None stands for `PrintOptions()`."""

PRINT_OPTIONS = options_of(hlotool.PrintOptions)
"""The fields of PrintOptions."""


def print_options(preset: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds --preset, with `preset` as its default, and an option for each field of PrintOptions.

    The function gets the chosen options as the argument `print_options`. --help lists the options
    with a value first, then the flags.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def with_options(*, base: str, **values: Any) -> Any:
            changes = {name: value for name in PRINT_OPTIONS if (value := values.pop(name)) is not None}
            return function(**values, print_options=_build_options(base, changes))

        names = sorted(PRINT_OPTIONS, key=lambda name: PRINT_OPTIONS[name].kind == "flag")
        text = f"Preset that determines the options that are not set; default: {preset}."
        choice = click.option("--preset", "base", type=click.Choice(list(PRESETS)), default=preset, help=text)
        return decorate(with_options, [choice, *(click_option(name, PRINT_OPTIONS[name]) for name in names)])

    return add


def _build_options(preset: str, changes: dict[str, Any]) -> hlotool.PrintOptions:
    constructor = PRESETS[preset]
    options: hlotool.PrintOptions = getattr(hlotool.PrintOptions, constructor)() if constructor else hlotool.PrintOptions()
    return replace(options, **changes)
