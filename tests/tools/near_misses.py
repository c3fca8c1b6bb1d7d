"""Near misses of a program: valid programs that differ from it in one or two respects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from module_edits import KINDS, edited

import hlotool
from hlotool.errors import HlotoolError
from hlotool.ir.model import Module

__all__ = ["ALL_EDITS", "near_misses"]

TYPES = ("pred", "s32", "u8", "f32", "bf16", "c64", "f8e8m0fnu", "f8e4m3fnuz")
FEW_EDITS = ("operand", "other_operand", "number", "list", "enum", "dimension", "element_type", "opcode", "layout", "called")
ALL_EDITS = (*KINDS, "special_layout", "special_layout", "elided")
_WITHOUT_LAYOUT = re.compile(r"(?<== )\w+\[(?P<sizes>[0-9,<=]+)\](?= )")
_TYPE = re.compile(rf"\b(?:{'|'.join(TYPES)})(?=\[)")
_ELEMENTS = re.compile(r"(?<=constant\()\{[^)]+\}(?=\))")
_SIZES = re.compile(r"(?<=[a-z0-9])\[[0-9,]+\]|(?<=[{, ])\[[0-9:]+\]")
_SIZE = re.compile(r"\b[0-9]+\b")


def _another_size(text: str, random: Random) -> str:
    """Replaces all occurrences of a size with 0, 1, another number, or a dynamic size."""
    sizes = sorted({size for sizes in _SIZES.findall(text) for size in _SIZE.findall(sizes)})
    if not sizes:
        return text
    old, new = random.choice(sizes), random.choice(("0", "1", "1", "2", "3", "<="))
    if new == "<=":
        lines = [line if "constant(" in line else re.sub(rf"(?<=[\[,]){old}(?=[\],])", f"<={old}", line) for line in text.splitlines(keepends=True)]
        return "".join(lines)
    return _SIZES.sub(lambda match: _SIZE.sub(lambda size: new if size[0] == old else size[0], match[0]), text)


def _another_type(text: str, random: Random) -> str:
    types = sorted(set(_TYPE.findall(text)))
    if not types:
        return text
    old, new = random.choice(types), random.choice(TYPES)
    return _TYPE.sub(lambda match: new if match[0] == old else match[0], text)


def _special_layout(text: str, random: Random) -> str:
    """Gives one array a layout with tiles or with another memory space."""
    arrays = list(_WITHOUT_LAYOUT.finditer(text))
    if not arrays:
        return text
    chosen = random.choice(arrays)
    order = ",".join(map(str, reversed(range(chosen["sizes"].count(",") + 1))))
    return f"{text[: chosen.end()]}{{{order}:{random.choice(('T(2,128)', 'S(1)'))}}}{text[chosen.end() :]}"


def _elided(text: str, random: Random) -> str:
    """Elides the elements of one constant."""
    constants = list(_ELEMENTS.finditer(text))
    if not constants:
        return text
    chosen = random.choice(constants)
    return f"{text[: chosen.start()]}{{...}}{text[chosen.end() :]}"


_MORE_EDITS = {"special_layout": _special_layout, "elided": _elided}


def _with_more_users(module: Module, random: Random) -> None:
    """Adds some arrays of the entry computation to its result."""
    entry = module.entry
    with hlotool.Rewriter(module) as rewriter:
        others = [x for x in entry.instructions if x.shape.is_array and x.op.name != "parameter" and random.random() < 0.5]
        rewriter.set_root(rewriter.insert("tuple", [entry.root, *others], into=entry))


def near_misses(text: str, random: Random, tries: int, kinds: tuple[str, ...] = FEW_EDITS) -> Iterator[Module]:
    """Yields up to `tries` valid modules that differ from a text in one or two respects."""
    for _ in range(tries):
        changed = text
        for _ in range(random.choice((0, 1, 1, 2))):
            kind = random.random()
            if kind < 0.35:
                changed = _another_size(changed, random)
            elif kind < 0.5:
                changed = _another_type(changed, random)
            else:
                chosen = random.choice(kinds)
                changed = _MORE_EDITS[chosen](changed, random) if chosen in _MORE_EDITS else edited(changed, random, chosen) or changed
        try:
            module = hlotool.parse(changed)
        except HlotoolError:
            continue
        if random.random() < 0.4:
            _with_more_users(module, random)
        if not any(d.severity == "error" for d in hlotool.verify(module)):
            yield module
