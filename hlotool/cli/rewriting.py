"""`--fix`, `--diff` and `--add-ignore`: writes rewritten files, or shows the changes.

`workspace.rewriting` computes the new contents of files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Protocol

from hlotool.cli.diff.text_diff import unified_diff
from hlotool.cli.inputs import Outcome
from hlotool.cli.output import complain, counted, write_out
from hlotool.cli.rendering.render import wants_color
from hlotool.errors import HlotoolError
from hlotool.workspace.checking import check_text
from hlotool.workspace.findings import Checked
from hlotool.workspace.in_place import write_back
from hlotool.workspace.reading import STDIN, InputForm, one_by_one, read_input
from hlotool.workspace.rewriting import RewriteRequest, rewrite_text
from hlotool.workspace.rules import Checks

__all__ = ["RewriteOptions", "rewrite_files"]


class RewriteOptions(Protocol):
    """The command-line options that affect rewriting."""

    @property
    def fix(self) -> bool: ...
    @property
    def unsafe_fixes(self) -> bool: ...
    @property
    def show_diff(self) -> bool: ...
    @property
    def add_ignore(self) -> bool: ...
    @property
    def form(self) -> InputForm: ...
    @property
    def color(self) -> str: ...
    @property
    def quiet(self) -> int: ...


def rewrite_files(work: Sequence[tuple[str, Checks]], options: RewriteOptions, outcome: Outcome, stdin_filename: str) -> Iterator[Checked]:
    """Rewrites the files, and yields the remaining findings of each."""
    request = RewriteRequest(options.fix or not options.add_ignore, options.unsafe_fixes, options.add_ignore, options.form.legacy)
    fixed = changed = 0
    for file, (_, checks) in zip(one_by_one([name for name, _ in work]), work, strict=True):
        checked: Checked | None = None
        with outcome.file(file):
            name, text = read_input(file, stdin_filename)
            try:
                result = rewrite_text(text, name, checks, request)
                is_changed = result.text != text
                if is_changed and not options.show_diff and file != STDIN:
                    write_back(file, text, result.text)
            except HlotoolError as error:
                outcome.failed(str(error), max(error.exit_code, 2))
                continue
            fixed, changed = fixed + sum(result.fixed.values()), changed + is_changed
            if options.show_diff:
                if is_changed:
                    outcome.at_least(1)
                color = wants_color(options.color, sys.stdout)
                write_out("".join(unified_diff(text, result.text, name, color=color)), is_escaped=color)
            elif file == STDIN:
                write_out(result.text)
            checked = Checked(name, [] if options.show_diff else check_text(result.text, name, checks, wants_fixes=True))
        if checked is not None:
            yield checked
    if not options.quiet:
        complain(_summary(fixed, changed, options))


def _summary(fixed: int, changed: int, options: RewriteOptions) -> str:
    files = counted(changed, "file")
    would = "would be " if options.show_diff else ""
    findings = counted(fixed, "finding")
    return f"{findings} {would}{'suppressed' if options.add_ignore else 'fixed'} in {files}" if fixed else "nothing to fix"
