"""Options that several commands share, and options derived from the metadata of fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import click

from hlotool.option_fields import Option, parse_size
from hlotool.workspace.files import FileChoice
from hlotool.workspace.keys import FILE_OPTIONS
from hlotool.workspace.reading import STDIN, InputForm, limit_input_size

__all__ = [
    "Decorator",
    "click_option",
    "color_option",
    "decorate",
    "file_choice_options",
    "files_argument",
    "input_form_options",
    "input_size_option",
    "list_option",
    "number_type",
    "seconds_type",
    "size_type",
    "stdin_filename_option",
]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

files_argument = click.argument("files", nargs=-1, metavar="[FILE|-]...", type=click.Path())

color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="When to use colors; default: auto (on a terminal, unless NO_COLOR is set).",
)

stdin_filename_option = click.option("--stdin-filename", metavar="NAME", default="<stdin>", help="File name to use for standard input.")


def decorate(function: Callable[..., Any], options: Iterable[Decorator]) -> Callable[..., Any]:
    """Returns the function with these options, which --help lists in this order."""
    for option in reversed(list(options)):
        function = option(function)
    return function


class _Number(click.FloatRange):
    """A number in a range. It cannot be NaN, which `click.FloatRange` accepts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail("NaN is not allowed", param, ctx)
        return number


# ---- options from metadata ---------------------------------------------------------------------


class _Size(click.ParamType[int]):
    """A number of bytes, such as 500M or 2GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else parse_size(value)
        except (ValueError, OverflowError):
            self.fail(f"'{value}' is not a size such as 500M or 2GiB", param, ctx)


def click_option(name: str, option: Option) -> Decorator:
    """Returns the command-line option for a field.

    Its default is None, so that settings can provide the value.
    """
    flag = name.replace("_", "-")
    details: dict[str, Any] = {"default": None, "help": option.description}
    if option.kind == "flag":
        opposite = flag.replace("no-", "allow-", 1) if flag.startswith("no-") else f"no-{flag}"
        return click.option(f"--{flag}/--{opposite}", name, **details)
    if option.kind == "auto":
        return click.option(f"--{flag}", type=click.Choice(["auto", "true", "false"]), callback=_auto, **details)
    if option.kind == "choice":
        return click.option(f"--{flag}", type=click.Choice(option.choices), **details)
    if option.kind == "list":
        return list_option(name, option, "PATTERN", _none_if_unused)
    if option.kind == "path":
        return click.option(f"--{flag}", type=click.Path(), metavar="FILE", **details)
    if option.kind == "size":
        return click.option(f"--{flag}", type=_Size(), metavar="SIZE", **details)
    return click.option(f"--{flag}", type=click.IntRange(option.least, option.most), metavar="N", **details)


def list_option(name: str, option: Option, metavar: str, callback: Any = None, complete: Any = None) -> Decorator:
    """Returns an option that may be repeated; `complete` returns the candidates for a shell."""
    flag = f"--{name.replace('_', '-')}"
    return click.option(flag, multiple=True, metavar=metavar, callback=callback, shell_complete=complete, help=option.description)


def _none_if_unused(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> Sequence[str] | None:
    """Returns the values of a repeatable option.

    If the option is not used, returns None, so that settings can provide the values.
    """
    return values or None


def _auto(ctx: click.Context, param: click.Parameter, word: str | None) -> bool | str | None:
    return {"true": True, "false": False}.get(word, word) if word is not None else None


def _limit_input_size(ctx: click.Context, param: click.Parameter, size: int | None) -> None:
    limit_input_size(size)


size_type = _Size()
"""The type of options that take a number of bytes."""

number_type = _Number(min=0)
"""The type of options that take a non-negative number."""

seconds_type = _Number(min=0, min_open=True)
"""The type of options that take a time in seconds."""

input_size_option = click.option(
    "--max-input-size",
    type=_Size(),
    metavar="SIZE",
    expose_value=False,
    callback=_limit_input_size,
    help="Largest input to read, after decompression, such as 2GiB; default: 400M.",
)


# ---- how files are read ------------------------------------------------------------------------


def input_form_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --legacy and --extract, which the function gets as the argument `form`."""

    @wraps(function)
    def with_form(*, legacy: bool, extract: bool, **values: Any) -> Any:
        return function(**values, form=InputForm(legacy, extract))

    options = [
        click.option("--legacy", is_flag=True, help="Also read spellings of earlier versions of XLA, back to 2017."),
        click.option("--extract", is_flag=True, help="Extract the modules from other text, such as a log, a web page or a test."),
    ]
    return decorate(with_form, options)


# ---- which files -------------------------------------------------------------------------------


def file_choice_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds options for choosing files, which the function gets as the argument `choice`.

    The argument also contains the value of `--stdin-filename`.
    """

    @wraps(function)
    def with_choice(**values: Any) -> Any:
        fields = {name: values.pop(name) for name in FileChoice._fields if name in values and name != "stdin_filename"}
        return function(**values, choice=FileChoice(**fields, stdin_filename=values.get("stdin_filename", STDIN)))

    options: Sequence[Decorator] = [
        list_option("include", FILE_OPTIONS["include"], "PATTERN"),
        list_option("exclude", FILE_OPTIONS["exclude"], "PATTERN"),
        click.option("--force-exclude", is_flag=True, help="Skip files that match --exclude even if they are arguments."),
        click_option("respect_gitignore", FILE_OPTIONS["respect_gitignore"]),
        click.option("--config", metavar="FILE", type=click.Path(), help="Settings file to use instead of the nearest one."),
        click.option("--isolated", is_flag=True, help="Ignore all settings files."),
    ]
    return decorate(with_choice, options)
