"""Near misses: slightly edited cases stay valid, compute the same results, and do not grow.

These tests find guards that are missing from a rule. The edits introduce sizes of 0 and 1, other
element types, dynamic sizes, other operands and attributes, and more users of each value.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from case_files import read_cases
from held import with_bytes
from near_misses import near_misses

import hlotool
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.optimizer.checking import difference
from hlotool.optimizer.registry import all_rules

HERE = Path(__file__).parent
TOPICS = sorted({entry.topic for entry in all_rules().values() if entry.is_built_in})
TRIES = 16
OPTIONS = RunOptions(max_iterations=100)
# Additional costs of operations that may replace several other operations.
_MORE = {"gather": 1, "map": 10}
_COMMENT = re.compile(r"^//[^\n]*\n", re.MULTILINE)
CASES = [
    (path.stem, number, _COMMENT.sub("", case.text))
    for path in sorted(HERE.glob("*.hlo"))
    if path.stem in TOPICS
    for number, case in enumerate(read_cases(path), 1)
    if "// fast-math" not in case.text
]


def size_of(module: Module) -> int:
    """Returns the number of arrays that are computed.

    Scalars, and arrays broadcast from one scalar, are free.
    """
    computed = [x for x in module.all_instructions() if x.shape.is_array and x.shape.dimensions]
    spread = [x for x in computed if x.op.name in ("broadcast", "reshape") and not x.operands[0].shape.dimensions]
    return len(computed) - len(spread) + sum(_MORE.get(x.op.name, 0) for x in computed)


@pytest.mark.parametrize(("topic", "number", "text"), CASES, ids=lambda value: str(value) if not isinstance(value, str) or "\n" not in value else "")
def test_near_misses(topic: str, number: int, text: str) -> None:
    for k, module in enumerate(near_misses(text, Random(f"{topic} {number}"), TRIES)):
        module = with_bytes(module) if k % 2 else module
        after = hlotool.optimize(module, topic)
        assert not after.report.is_stopped, f"{after.report.remarks}\n{module}"
        known = {d.code for d in hlotool.verify(module)}
        errors = [d for d in hlotool.verify(after) if d.severity == "error" and d.code not in known]
        assert not errors, f"{errors[0]}\n{module}\n{after}"
        assert hlotool.to_text(hlotool.optimize(after, topic)) == hlotool.to_text(after), f"a second run changes the module\n{module}\n{after}"
        # Reshapes that are moved to their users are merged with other reshapes there.
        is_larger = size_of(after) > size_of(module) and size_of(hlotool.optimize(module, "algsimp")) > size_of(module)
        assert not is_larger, f"the result is larger\n{module}\n{after}"
        found = difference(module, after, 3, options=OPTIONS)
        assert found is None, f"{found}\n{module}\n{after}"
