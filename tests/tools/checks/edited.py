"""Checks cases that edit a common module: the difference that an edit makes, and its patch.

The first part of a file is the module. Each other part is an edit in the notation of
`edit_notation`; its output begins with the summary of `hlotool diff`. Instructions of the two
modules with the same name are pairs, unless the output says otherwise.

The difference must be the same if the instructions of the right module are renamed and in another
order, and mirrored in the reverse direction. After `// ambiguous`, another explanation with the
same kinds of changes is as good. The patch must give the right module, except after `// damaged`: the
table of stack frames is damaged, and patches contain only valid frames.

In `tests/patches/edits`, the first part names the file with the module: `// base: chain.hlo`.
Edits after `// on` are made in the module to which the patch is applied. The output is the patch,
with a hash of its references, and the difference that the patch makes there, or the error message.
A renamed module must give the same result; after `// by names`, it is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from case_files import Case, read_cases
from edit_modules import renamed, shuffled
from edit_notation import described, edit_text, mirrored

import hlotool
from checks.common import Mismatch, same
from hlotool.differ.canonical import hashes
from hlotool.ir.model import Module

__all__ = ["difference_of_edit", "edited", "patch_of_edit", "patched_after_edits"]

Document = dict[str, Any]
_ON = "// on\n"
_BASE = re.compile(r"^// base: (\S+)$", re.MULTILINE)
_DIFFERENCES = Path(__file__).parents[2] / "differ" / "edits"


# ---- differences ------------------------------------------------------------------------------------------------------


def edited(path: Path, case: Case) -> None:
    left, right = _modules(path, case)
    delta = hlotool.diff(left, right)
    document = delta.to_dict()
    same(case.output or "", _difference(delta), "the difference")
    if [*delta.categories] != document["categories"] or bool(delta) != document["differs"]:
        raise Mismatch(f"the document has the categories {document['categories']}, the difference {delta.categories}")
    _check_mapping(left, right, document)
    is_ambiguous = "// ambiguous\n" in case.text
    _agree(described(mirrored(document)), described(hlotool.diff(right, left).to_dict()), "in the reverse direction", is_ambiguous=is_ambiguous)
    other, back = _renamed(right, Random(case.first_line))
    found = _with_names(hlotool.diff(left, other).to_dict(), back)
    found["categories"] = sorted({*found["categories"]} - {"names"} | ({*document["categories"]} & {"names"}))
    _agree(described(document), described(found), "after renaming", is_ambiguous=is_ambiguous)
    if "// damaged\n" not in case.text and delta and hlotool.diff(hlotool.apply_patch(left, delta.to_patch()), right):
        raise Mismatch("the patch does not give the right module")
    for name in document["categories"]:
        rest = hlotool.diff(left, right, ignore=[name])
        if [*rest.categories] != [other for other in document["categories"] if other != name]:
            raise Mismatch(f"if '{name}' is ignored, the categories are {rest.categories}")
        if any(change["kind"] == name for row in rest.to_dict()["changed"] for change in row["changes"]):
            raise Mismatch(f"'{name}' is ignored, but reported")


def difference_of_edit(path: Path, case: Case) -> str:
    """Returns the summary and the description of a difference, for `--update`."""
    return _difference(hlotool.diff(*_modules(path, case)))


def _difference(delta: hlotool.Delta) -> str:
    return "\n".join([str(delta).partition("\n")[0], *described(delta.to_dict())]) + "\n"


@lru_cache(maxsize=1)
def _base(path: Path) -> str:
    return read_cases(path)[0].text


def _modules(path: Path, case: Case) -> tuple[Module, Module]:
    base = _base(path)
    return _parsed(base), hlotool.parse(base if case.text == base else edit_text(base, _edit(case.text)))


@lru_cache(maxsize=1)
def _parsed(text: str) -> Module:
    return hlotool.parse(text)


def _edit(text: str) -> list[str]:
    return [line for line in text.split("\n") if line and not line.startswith("//")]


def _check_mapping(left: Module, right: Module, document: Document) -> None:
    """Checks that each instruction is either paired or listed as deleted or inserted.

    If the other module contains the short form of an asynchronous operation, which hides
    instructions, their counterparts may be missing.
    """
    for module, other, side, listed in ((left, right, 0, "deleted"), (right, left, 1, "inserted")):
        names = Counter((row[("left", "right")[side]], pair[side]) for row in document["mapping"] for pair in row["instructions"])
        names.update(map(tuple, document[listed]))
        wanted = Counter((c.name, x.name) for c in module.computations if c not in module.hidden for x in c.instructions)
        if names != wanted and not (other.hidden and names < wanted):
            raise Mismatch(f"instructions are listed twice or not at all: {(names - wanted) | (wanted - names)}")


def _renamed(module: Module, random: Random) -> tuple[Module, dict[str, str]]:
    """Returns a renamed and reordered copy of a module, and the old names by the new ones."""
    ordered = shuffled(module, random)
    copy = renamed(ordered, random)
    pairs = [*zip(copy.computations, ordered.computations, strict=True), *zip(copy.all_instructions(), ordered.all_instructions(), strict=True)]
    return copy, {new.name: old.name for new, old in pairs}


def _with_names(value: Any, names: dict[str, str]) -> Any:
    """Returns a document in which names are replaced."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_with_names(part, names) for part in value]
    return {key: _with_names(part, names) for key, part in value.items()} if isinstance(value, dict) else value


def _agree(wanted: list[str], found: list[str], what: str, *, is_ambiguous: bool) -> None:
    if is_ambiguous:
        wanted, found = _kinds(wanted), _kinds(found)
    same("\n".join(wanted), "\n".join(found), f"the difference {what}")


def _kinds(lines: list[str]) -> list[str]:
    """Returns the lines of a description without pairs and the names of instructions."""
    return [lines[0], *sorted(re.sub(r"[^ ]*/[^ ;)]*|[0-9]+ \(.*?\)", "", line) for line in lines[1:] if not line.startswith("="))]


# ---- patches ----------------------------------------------------------------------------------------------------------


def patched_after_edits(path: Path, case: Case) -> None:
    """Checks the patch of an edit, and its application to the module after other edits."""
    left, right, target = _patched_modules(path, case)
    patch = hlotool.diff(left, right).to_patch("left", "right")
    result, effect = _applied(target, patch)
    same(case.output or "", _shown(patch, effect), "the patch and its effect")
    undone = hlotool.apply_patch(right, patch, reverse=True)
    for found, wanted in ((hlotool.apply_patch(left, patch), right), (undone, left)):
        if hlotool.diff(found, wanted):
            raise Mismatch(f"the patched module is not the expected one:\n{found}")
    other, _ = _renamed(target, Random(case.first_line))
    found, _ = _applied(other, patch)
    expected = None if "// by names\n" in case.text else result
    hashed = [module and hashes(module).module for module in (found, expected)]
    if hashed[0] != hashed[1]:
        raise Mismatch(f"the result for the renamed module has the hash {hashed[0]}, wanted {hashed[1]}")


def patch_of_edit(path: Path, case: Case) -> str:
    """Returns the patch of an edit and its effect on the target, for `--update`."""
    left, right, target = _patched_modules(path, case)
    patch = hlotool.diff(left, right).to_patch("left", "right")
    return _shown(patch, _applied(target, patch)[1])


def _applied(target: Module, patch: str) -> tuple[Module | None, list[str]]:
    """Returns the patched module, or None, and lines with the effect of the patch."""
    try:
        result = hlotool.apply_patch(target, patch, filename="edit.patch")
    except hlotool.PatchError as error:
        return None, str(error).split("\n")
    return result, described(hlotool.diff(target, result).to_dict())


def _shown(patch: str, effect: list[str]) -> str:
    hunks, _, references = patch.partition("@@ references @@\n")
    return "\n".join([*hunks.split("\n")[2:-1], f"@@ references {sha256(references.encode()).hexdigest()[:8]} @@", "// effect", *effect, ""])


def _patched_modules(path: Path, case: Case) -> tuple[Module, Module, Module]:
    name = _BASE.search(_base(path))
    if name is None:
        raise Mismatch("the file does not name the module that it edits")
    base = _module_text(_DIFFERENCES / name[1])
    first, _, second = case.text.partition(_ON)
    edited, target = (edit_text(base, _edit(part)) for part in (first, second))
    return _parsed(base), hlotool.parse(edited), hlotool.parse(target)


@lru_cache(maxsize=1)
def _module_text(path: Path) -> str:
    return read_cases(path)[0].text
