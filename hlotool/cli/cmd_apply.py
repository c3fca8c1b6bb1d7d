"""`hlotool apply`: applies a patch created by `hlotool diff --patch`."""

from __future__ import annotations

import click

from hlotool.cli.command import HloCommand
from hlotool.cli.inputs import Outcome, files_or_stdin, read_module
from hlotool.cli.options import color_option, input_form_options, input_size_option, stdin_filename_option
from hlotool.cli.output import write_out
from hlotool.workspace.reading import STDIN, InputForm, read_input
from hlotool.workspace.writing import check_outputs, replace_file

__all__ = ["command"]

_HELP = """Apply a patch created by `hlotool diff --patch` to a module.

FILE is changed in place. If it is `-`, the module is read from standard input, and the patched module
is printed. A patch also applies to a module that was renumbered after the patch was created,
because instructions are matched by their operands and users. Such a module keeps its names, and
new instructions get unused names. A patch is applied completely or not at all.

\b
Examples:
  hlotool diff --patch before.hlo after.hlo > change.patch
  hlotool apply change.patch module.hlo
  hlotool apply change.patch module.hlo --check
  hlotool apply change.patch module.hlo -o patched.hlo
  hlotool apply --reverse change.patch patched.hlo -o -
  hlotool diff -p a.hlo b.hlo | hlotool apply - c.hlo

\b
Exit codes:
  0  the patch applies
  1  the patch does not apply; nothing is written
  2  bad usage, a file cannot be read, parsed or written, or PATCH is not a
     patch
  3  a bug in hlotool
"""


@click.command("apply", cls=HloCommand, help=_HELP, short_help="Apply a patch created by `hlotool diff --patch`.")
@click.argument("patch", metavar="PATCH", type=click.Path())
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("-R", "--reverse", is_flag=True, help="Undo the patch: restore the module that the patch was created from.")
@click.option("--check", is_flag=True, help="Write nothing; exit with code 0 if the patch applies, and with 1 if it does not.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write to this file instead; - is standard output.")
@color_option
@input_size_option
@stdin_filename_option
@input_form_options
def command(patch: str, file: str, output: str | None, color: str, stdin_filename: str, form: InputForm, *, reverse: bool, check: bool) -> None:
    files_or_stdin((patch, file))
    if check and output is not None:
        raise click.UsageError("--check writes nothing; it cannot be combined with -o")
    if form.extract and output is None and not check and file != STDIN:
        raise click.UsageError("--extract reads a module inside other text, which cannot be changed in place; use -o FILE")
    check_outputs([None if output == STDIN else output], [patch, file])
    outcome = Outcome()
    with outcome.file(file):
        # Imported on use, since --help does not need the parser.
        from hlotool.differ.patches.apply import apply_patch  # noqa: PLC0415
        from hlotool.differ.patches.patch_text import PatchError  # noqa: PLC0415
        from hlotool.text.print.printer import to_text  # noqa: PLC0415

        patch_name, patch_text = read_input(patch, stdin_filename)
        target = read_module(file, outcome, form, color, stdin_filename, "a patch is for one module")
        if target is not None:
            try:
                text = to_text(apply_patch(target.module, patch_text, reverse=reverse, filename=patch_name))
            except PatchError as error:
                for message in error.messages:
                    outcome.failed(message, error.exit_code)
            else:
                if not check:
                    _write(file, target.text, text, output)
    outcome.finish()


def _write(file: str, before: str, after: str, output: str | None) -> None:
    if output == STDIN or (output is None and file == STDIN):
        write_out(after)
    elif output is not None:
        replace_file(output, after)
    else:
        # Imported on use, since most calls write elsewhere.
        from hlotool.workspace.in_place import check_comments, write_back  # noqa: PLC0415

        check_comments(file, before, action="patch")
        write_back(file, before, after, action="patch", instead="use -o FILE")
