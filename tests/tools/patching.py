"""Checks of patches between two modules.

A patch must turn the first module into the second, even if names differ, and the reversed patch
must turn the second into the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from edit_modules import renamed, shuffled

import hlotool
from hlotool.differ.canonical import hashes
from hlotool.differ.delta import Delta
from hlotool.errors import HlotoolError
from hlotool.ir.model import Module

__all__ = ["damaged", "patch_faults"]

_PIECES = ("-", "+", " ", "%", "@@", "\\", "\n", '"', "{", "}", "(", "ROOT ", "ENTRY ", "0", "x", "é", "\x00", "\r", "constant({...})", "%p", "= ")


def patch_faults(delta: Delta, random: Random) -> Iterator[str]:
    """Yields the faults of the patch for a difference, which must not ignore anything."""
    left, right = delta.left, delta.right
    patch = delta.to_patch()
    if bool(patch) != bool(delta):
        yield f"the patch is {'not ' if patch else ''}empty, but the difference has {delta.categories}"
    before = hlotool.to_text(left), hlotool.to_text(right)
    yield from _applied("the patch", left, patch, right, [])
    yield from _applied("the reversed patch", right, patch, left, [], reverse=True)
    if before != (hlotool.to_text(left), hlotool.to_text(right)):
        yield "applying the patch changes the original module"
    for what, module in (("renamed", renamed(left, random)), ("renamed and reordered", renamed(shuffled(left, random), random))):
        # Editing a module removes invalid aliases from its header.
        if not hlotool.diff(left, module, ignore=["names"]):
            yield from _applied(f"the patch for the {what} module", module, patch, right, ["names"])


def _applied(what: str, module: Module, patch: str, wanted: Module, ignore: list[str], *, reverse: bool = False) -> Iterator[str]:
    try:
        result = hlotool.apply_patch(module, patch, reverse=reverse)
    except HlotoolError as error:
        yield f"{what} does not apply: {error}"
        return
    rest = hlotool.diff(result, wanted, ignore=ignore)
    is_same = hashes(result).module == hashes(wanted).module
    # The differ may confuse instructions that are computed in the same way. Such instructions may
    # also be control predecessors, which hashes include.
    if rest and not (is_same and {*rest.categories} <= {"operands", "commuted", "control"}):
        yield f"{what} leaves a difference: {rest.categories}"
    if not ignore and hlotool.to_text(hlotool.parse(hlotool.to_text(result))) != hlotool.to_text(result):
        yield f"the printed result of {what} does not parse back to the same module"
    if patch and not is_same:
        yield f"the result of {what} has a different hash"


def damaged(patch: str, random: Random) -> str:
    """Returns the patch with a random change.

    A line is removed, repeated, moved or cut off, or characters are removed or replaced.
    """
    lines = patch.split("\n")
    kind = random.randrange(7)
    k = random.randrange(len(lines))
    if kind == 0:
        del lines[k]
    elif kind == 1:
        lines.insert(k, random.choice(lines))
    elif kind == 2:
        lines.insert(random.randrange(len(lines)), lines.pop(k))
    elif kind == 3:
        return patch[: random.randrange(len(patch))]
    elif kind == 4:
        lines[k] = random.choice("-+ @\\") + lines[k][1:]
    else:
        at = random.randrange(len(lines[k]) + 1)
        lines[k] = lines[k][:at] + (random.choice(_PIECES) if kind == 5 else "") + lines[k][at + random.randrange(6) :]
    return "\n".join(lines)
