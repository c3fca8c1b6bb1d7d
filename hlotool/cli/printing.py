"""Writes modules in printed form, for `hlotool print` and `hlotool python`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlotool.cli.inputs import Outcome, read_modules
from hlotool.cli.output import write_out
from hlotool.ir.model import Module
from hlotool.workspace.reading import InputForm, one_by_one
from hlotool.workspace.writing import check_outputs, replace_file

__all__ = ["print_modules"]


def print_modules(
    inputs: Sequence[str],
    text_of: Callable[[Module], str],
    separator: str,
    *,
    output: str | None,
    color: str,
    stdin_filename: str,
    form: InputForm,
) -> None:
    """Writes the text of each module, with separators in between, and ends the command.

    `output` is the name of a file; None and `-` mean standard output.
    """
    check_outputs([output], inputs)
    outcome = Outcome()
    printed: list[str] = []
    to_file = output not in (None, "-")
    before = ""
    for file in one_by_one(inputs):
        with outcome.file(file):
            modules = read_modules(file, outcome, form, color, stdin_filename).modules
            if not modules:
                continue
            texts = [text_of(module) for module in modules]
            # If one module of a file cannot be printed, no module of the file is printed.
            whole = before + separator.join(t if t.endswith("\n") else t + "\n" for t in texts)
            before = separator
            if to_file:
                printed.append(whole)
            else:
                write_out(whole)
    if output is not None and to_file and outcome.exit_code == 0:
        replace_file(output, "".join(printed))
    outcome.finish()
