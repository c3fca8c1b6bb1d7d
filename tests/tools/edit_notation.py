"""Reads edits of a text, written like a line-by-line diff, and describes differences of modules.

In an edit, a line with `-` is removed, a line with `+` is added, and a line with a space stays.
Removed and kept lines are searched below the previous line of the edit, and indentation does not
matter. `@ NAME` goes to the first line of the computation NAME, from where the search continues.

>>> print(edit_text("a\\n  b\\nc\\n", ["- b", "+ x", "+ y"]), end="")
a
x
y
c
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["described", "edit_text", "mirrored"]

Document = dict[str, Any]

_MIRRORED = {
    "inserted": "deleted", "deleted": "inserted", "outlined": "inlined", "inlined": "outlined", "fused": "unfused", "unfused": "fused",
    "cloned": "merged", "merged": "cloned",
}  # fmt: skip


def edit_text(text: str, edit: Sequence[str]) -> str:
    """Returns the text after an edit. Raises ValueError if a line of the edit cannot be found."""
    lines = text.split("\n")
    at = 0
    for row in edit:
        sign, content = row[:1], row[2:].strip()
        if sign == "@":
            at = next((k for k, line in enumerate(lines) if line.split(" ")[:-1] in ([content], ["ENTRY", content])), -1)
        elif sign == "+":
            lines.insert(at, row[2:])
            at += 1
        else:
            at = next((k for k in range(at, len(lines)) if lines[k].strip() == content), -1)
            if at >= 0 and sign == "-":
                del lines[at]
            elif at >= 0:
                at += 1
        if at < 0:
            raise ValueError(f"there is no line for '{row}'")
    return "\n".join(lines)


def mirrored(document: Document) -> Document:
    """Returns the document of a difference as it is expected in the reverse direction."""

    def opposite(change: Document) -> Document:
        result = {**change}
        if "old" in change:
            result |= {"old": change["new"], "new": change["old"]}
        if "slots" in change:
            result["slots"] = [{**slot, "old": slot["new"], "new": slot["old"]} for slot in change["slots"]]
        return result

    def exchanged(row: Document) -> Document:
        return {**row, "left": row["right"], "right": row["left"]}

    return {
        **document,
        "categories": sorted(_MIRRORED.get(name, name) for name in document["categories"]),
        "computations": [exchanged(row) for row in document["computations"]],
        "mapping": [{**exchanged(row), "instructions": [pair[::-1] for pair in row["instructions"]]} for row in document["mapping"]],
        "changed": [{**exchanged(row), "changes": [opposite(change) for change in row["changes"]]} for row in document["changed"]],
        "inserted": document["deleted"],
        "deleted": document["inserted"],
        "regions": [{**exchanged(row), "kind": _MIRRORED[row["kind"]]} for row in document["regions"]],
    }


def described(document: Document) -> list[str]:
    """Returns lines that describe a difference, in an order that does not depend on the text.

    The lines contain every change, and every pair whose names differ.
    """
    lines = [f"categories: {', '.join(document['categories']) or 'none'}"]
    for row in document["computations"]:
        if row["left"] != row["right"]:
            lines.append(f"= {row['left']} is {row['right']}")
        lines += [f"~ {row['left']}: {change['kind']}" for change in row["changes"]]
    for row in document["mapping"]:
        for left, right in row["instructions"]:
            if left != right:
                lines.append(f"= {row['left']}/{left} is {row['right']}/{right}")
    for row in document["changed"]:
        changes = sorted(row["changes"], key=lambda change: (change["kind"], change.get("key", "")))
        lines.append(f"~ {'/'.join(row['left'])}: {'; '.join(map(_change, changes))}")
    lines += [f"- {'/'.join(names)}" for names in document["deleted"]]
    lines += [f"+ {'/'.join(names)}" for names in document["inserted"]]
    lines += [f"~ module: {_change(change)}" for change in document["module"]]
    lines += [f"{row['kind']}: {' '.join(row['left'])} -> {' '.join(row['right'])}" for row in document["regions"]]
    return [lines[0], *sorted(lines[1:])]


def _change(change: Document) -> str:
    words = [change["kind"], *([change["key"]] if "key" in change else [])]
    if "old" in change:
        words.append(f"{_shown(change['old'])} -> {_shown(change['new'])}")
    words += [f"{slot['slot']} ({'/'.join(slot['old'])} -> {'/'.join(slot['new'])})" for slot in change.get("slots", ())]
    return " ".join(words)


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
