"""Near misses of the cases: edited a little, they are still valid afterwards, compute the same, and have not become larger.

A guard that is missing from a rule shows here: with sizes of 0 and 1, other element types, dynamic sizes, other operands and attributes, and more
users of each value.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from case_files import read_cases
from held import with_bytes
from module_edits import KINDS, edited

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.options import RunOptions
from hlotool.ir.model import Module
from hlotool.optimizer.checking import difference
from hlotool.optimizer.registry import all_rules

HERE = Path(__file__).parent
TOPICS = sorted({entry.topic for entry in all_rules().values() if entry.is_built_in})
TYPES = ("pred", "s32", "u8", "f32", "bf16", "c64", "f8e8m0fnu", "f8e4m3fnuz")
EDITS = ("operand", "other_operand", "number", "list", "enum", "dimension", "element_type", "opcode", "layout", "called")
TRIES = 16
OPTIONS = RunOptions(max_iterations=100)
# These stand for several operations, which may take their place.
_MORE = {"gather": 1, "map": 10}
_COMMENT = re.compile(r"^//[^\n]*\n", re.MULTILINE)
_TYPE = re.compile(rf"\b(?:{'|'.join(TYPES)})(?=\[)")
_SIZES = re.compile(r"(?<=[a-z0-9])\[[0-9,]+\]|(?<=[{, ])\[[0-9:]+\]")
_SIZE = re.compile(r"\b[0-9]+\b")
CASES = [
    (path.stem, number, _COMMENT.sub("", case.text))
    for path in sorted(HERE.glob("*.hlo"))
    if path.stem in TOPICS
    for number, case in enumerate(read_cases(path), 1)
    if "// fast-math" not in case.text
]


def another_size(text: str, random: Random) -> str:
    """One size replaced everywhere: by 0, 1, another number, or a dynamic one."""
    sizes = sorted({size for sizes in _SIZES.findall(text) for size in _SIZE.findall(sizes)})
    if not sizes:
        return text
    old, new = random.choice(sizes), random.choice(("0", "1", "1", "2", "3", "<="))
    if new == "<=":
        lines = [line if "constant(" in line else re.sub(rf"(?<=[\[,]){old}(?=[\],])", f"<={old}", line) for line in text.splitlines(keepends=True)]
        return "".join(lines)
    return _SIZES.sub(lambda match: _SIZE.sub(lambda size: new if size[0] == old else size[0], match[0]), text)


def another_type(text: str, random: Random) -> str:
    types = sorted(set(_TYPE.findall(text)))
    if not types:
        return text
    old, new = random.choice(types), random.choice(TYPES)
    return _TYPE.sub(lambda match: new if match[0] == old else match[0], text)


def with_more_users(module: Module, random: Random) -> None:
    """Makes some arrays of the entry results, too."""
    entry = module.entry
    with hlotool.Rewriter(module) as rewriter:
        others = [x for x in entry.instructions if x.shape.is_array and x.op.name != "parameter" and random.random() < 0.5]
        rewriter.set_root(rewriter.insert("tuple", [entry.root, *others], into=entry))


def near_misses(text: str, random: Random) -> Any:
    """Valid modules that differ from a text in one or two respects."""
    for _ in range(TRIES):
        changed = text
        for _ in range(random.choice((0, 1, 1, 2))):
            kind = random.random()
            if kind < 0.35:
                changed = another_size(changed, random)
            elif kind < 0.5:
                changed = another_type(changed, random)
            else:
                changed = edited(changed, random, random.choice([name for name in EDITS if name in KINDS])) or changed
        try:
            module = hlotool.parse(changed)
        except HlotoolError:
            continue
        if random.random() < 0.4:
            with_more_users(module, random)
        if not any(d.severity == "error" for d in hlotool.verify(module)):
            yield module


def size_of(module: Module) -> int:
    """How many arrays are computed; scalars, and arrays that are one scalar everywhere, take no time."""
    computed = [x for x in module.all_instructions() if x.shape.is_array and x.shape.dimensions]
    spread = [x for x in computed if x.op.name in ("broadcast", "reshape") and not x.operands[0].shape.dimensions]
    return len(computed) - len(spread) + sum(_MORE.get(x.op.name, 0) for x in computed)


@pytest.mark.parametrize(("topic", "number", "text"), CASES, ids=lambda value: str(value) if not isinstance(value, str) or "\n" not in value else "")
def test_near_misses(topic: str, number: int, text: str) -> None:
    for k, module in enumerate(near_misses(text, Random(f"{topic} {number}"))):
        module = with_bytes(module) if k % 2 else module
        after = hlotool.optimize(module, topic)
        assert not after.report.is_stopped, f"{after.report.remarks}\n{module}"
        known = {d.code for d in hlotool.verify(module)}
        errors = [d for d in hlotool.verify(after) if d.severity == "error" and d.code not in known]
        assert not errors, f"{errors[0]}\n{module}\n{after}"
        assert hlotool.to_text(hlotool.optimize(after, topic)) == hlotool.to_text(after), f"a second run changes the module\n{module}\n{after}"
        # Reshapes that move towards users are merged with others there.
        is_larger = size_of(after) > size_of(module) and size_of(hlotool.optimize(module, "algsimp")) > size_of(module)
        assert not is_larger, f"larger\n{module}\n{after}"
        found = difference(module, after, 3, options=OPTIONS)
        assert found is None, f"{found}\n{module}\n{after}"
