"""Facts about opcodes are stated once, in the op table, and used by every engine."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hlotool
from hlotool.opdefs import traits
from hlotool.opdefs.algebra import NO_ALGEBRA
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ASSOCIATIVE, COLLECTIVE, COMMUTATIVE, EFFECT, ELEMENTWISE, IDEMPOTENT, INVOLUTION, with_implied

PACKAGE = Path(hlotool.__file__).parent
SCRIPT = Path(__file__).parent / "tools" / "made_up_ops.py"

# ---- opcodes that are not in XLA -------------------------------------------------------------------------------------

EXPECTED: dict[str, Any] = {
    # An elementwise opcode, commutative and idempotent, with zero as its identity for integers.
    "values": [3, 2, 9, 4, 5, 6, 7, 8],
    "identities": ["W019 a", "W019 c", "W019 f"],
    "same value": ["p", "a", None],
    "foldable": ["W021 f"],
    "kept layouts": ["L008 a"],
    # A view, which costs nothing, and an opcode with a new value each time it runs.
    "repeated": ["W005 d"],
    "value numbers": [1, 1, 2],
    "named": ["W016 c"],
    "bytes of a view": [12_000, 16_000],
    "bytes in a run": [12_000, 16_000],
    "thrown": 55.0,
    "domain": ["positive: operand of 'log' r"],
    # An asynchronous start and its done.
    "pairs": [],
    "wrong pairs": ["A013 s", "A015 d"],
    "spans": [["s", "d"]],
    "nothing between": ["A030 d"],
    "in flight": ["A034 s"],
    "dead": [],
    "effects": ["s", "d"],
    # The operand, the received data, and the sum.
    "bytes in flight": 96,
    # Collectives.
    "channels": ["P018 s"],
    "idle groups": ["P033 s"],
    "synchronous": ["W023 y", "W023 s"],
    "one channel": ["P032 s"],
    "in a fusion": ["C043 y"],
}


@cache
def answers() -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("what", EXPECTED)
def test_a_new_opcode_is_known_to_every_engine(what: str) -> None:
    assert answers()[what] == EXPECTED[what]


def test_all_answers_are_checked() -> None:
    assert answers().keys() == EXPECTED.keys()


# ---- the table -------------------------------------------------------------------------------------------------------


def test_every_trait_is_documented_and_used() -> None:
    tree = ast.parse(Path(traits.__file__).read_text(encoding="utf-8"))
    documented = set()
    for statement, following in zip(tree.body, tree.body[1:], strict=False):
        is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(statement, ast.Assign) and is_text:
            documented |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    names = {name for name in traits.__all__ if name.isupper()}
    assert documented == names
    used = {trait for op in OPS.values() for trait in op.traits}
    assert {getattr(traits, name) for name in names} == used


def test_relations_are_consistent() -> None:
    for op in OPS.values():
        if op.done_of is not None:
            assert OPS[op.done_of].done == op.name
        if op.start_of is not None:
            assert OPS[op.start_of].start == op.name
            assert op.done is not None
            assert (COLLECTIVE in op.traits) == (COLLECTIVE in OPS[op.start_of].traits)
        if op.effect_if is not None:
            assert op.effect_if in op.attributes
            assert EFFECT not in op.traits
        if op.algebra.on_pred is not None:
            assert op.algebra.on_pred in OPS


def test_algebra_belongs_to_elementwise_opcodes_of_suitable_arity() -> None:
    for op in OPS.values():
        if op.algebra is not NO_ALGEBRA or not op.traits.isdisjoint((COMMUTATIVE, ASSOCIATIVE)):
            assert ELEMENTWISE in op.traits
            assert op.arity == 2
        if INVOLUTION in op.traits:
            assert op.arity == 1
        if IDEMPOTENT in op.traits:
            assert op.arity in (1, 2)


def test_implied_traits_are_present() -> None:
    assert with_implied([COLLECTIVE]) <= OPS["all-to-all"].traits
    assert with_implied([ELEMENTWISE]) <= OPS["add"].traits
    # The shared set is immutable.
    assert isinstance(with_implied([]), frozenset)


# ---- facts are stated once -------------------------------------------------------------------------------------------

# Lists of fewer opcodes are allowed: a rule may be about two opcodes, which is not a general fact.
MAX_TOGETHER = 3


def opcode_lists(path: Path) -> list[str]:
    """Returns the sets, lists and strings in which a module lists several opcodes.

    Dictionaries whose keys are opcodes are not included, since they state other facts.
    """
    positions = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        parts = node.elts if isinstance(node, ast.Set | ast.List | ast.Tuple) else [node] if isinstance(node, ast.Constant) else []
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        words = [word for text in texts for word in text.split()]
        is_list = len(words) >= (2 if isinstance(node, ast.Set) else MAX_TOGETHER)
        if is_list and all(word in OPS for word in words) and len(texts) == len(parts):
            positions.append(f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}: {' '.join(words)}")
    return positions


@pytest.mark.parametrize("part", sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")} - {"opdefs"}))
def test_opcodes_are_not_listed_outside_their_table(part: str) -> None:
    paths = [PACKAGE / part] if part.endswith(".py") else sorted((PACKAGE / part).rglob("*.py"))
    positions = [position for path in paths for position in opcode_lists(path)]
    # The analysis of domains handles exactly these three binary opcodes.
    assert [position for position in positions if not position.endswith("add subtract multiply")] == []
