"""Checks cases of patches: two modules separated by `// to`, and the patch.

A case may have a third module after `// on`, to which the patch is applied. The expected result
follows `// gives`, in the form in which `hlotool.to_text` prints it with short names. An expected
error message follows `// refused: `.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from case_files import Case
from patching import patch_faults

import hlotool
from checks.common import Mismatch, parsed, same
from hlotool.errors import HlotoolError
from hlotool.text.print.print_options import PrintOptions

__all__ = ["patch_text", "patched"]

_TO, _ON, _GIVES = "// to\n", "// on\n", "// gives\n"
_IGNORE = re.compile(r"^// ignore: ([a-z_, ]+)$", re.MULTILINE)
_REFUSED = re.compile(r"^// refused: (.+)\n", re.MULTILINE)
_PRINT = PrintOptions(print_percent=False, print_program_shape=False)


def patched(path: Path, case: Case) -> None:
    patch = patch_text(path, case)
    same(case.output or "", patch, "the patch")
    first, _, rest = case.text.partition(_TO)
    second, _, rest = rest.partition(_ON)
    if not _IGNORE.search(case.text):
        faults = [*patch_faults(hlotool.diff(parsed(first), parsed(second)), Random(1))]
        if faults:
            raise Mismatch("\n".join(faults))
    if not rest:
        return
    target, _, wanted = rest.partition(_GIVES)
    refused = _REFUSED.search(target)
    try:
        result = hlotool.apply_patch(parsed(_REFUSED.sub("", target)), patch, filename="case.patch")
    except HlotoolError as error:
        same(refused[1] if refused else "no error", str(error), "the message")
        return
    if refused:
        raise Mismatch("the patch was not rejected")
    same(wanted.strip(), hlotool.to_text(result, _PRINT).strip(), "the result")


def patch_text(path: Path, case: Case) -> str:
    """Returns the patch, for `--update`."""
    first, _, rest = case.text.partition(_TO)
    ignored = _IGNORE.search(case.text)
    ignore = [name.strip() for name in ignored[1].split(",")] if ignored else []
    return hlotool.diff(parsed(first), parsed(rest.partition(_ON)[0]), ignore=ignore).to_patch("a/case.hlo", "b/case.hlo")
