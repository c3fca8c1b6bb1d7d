"""Random sequences of edits with the Rewriter.

After each sequence, the Rewriter's use tables are correct, and the printed module parses back to
the same module.
"""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import modules

import hlotool
from hlotool import Rewriter
from hlotool.errors import EditError
from hlotool.ir.equal import differences
from hlotool.ir.model import Instruction, Module
from hlotool.shapes.shape import compatible

# The environment variable HLOTOOL_EDITS sets the number of sequences, for longer runs.
SEQUENCES = int(os.environ.get("HLOTOOL_EDITS", "150"))
MAX_STEPS = 8
Step = Callable[[Rewriter, Random], None]
# Random choices that are listed if a test fails.
CHOICES = st.randoms(use_true_random=False, note_method_calls=True)


def some_instruction(rewriter: Rewriter, random: Random) -> Instruction:
    computation = random.choice(rewriter.module.computations)
    return random.choice(rewriter.instructions(computation))


def replace_uses(rewriter: Rewriter, random: Random) -> None:
    old = some_instruction(rewriter, random)
    owner = rewriter.owner(old)
    order = rewriter.instructions(owner)
    candidates = [x for x in order[: order.index(old)] if compatible(x.shape, old.shape)]
    if candidates:
        rewriter.replace_all_uses(old, random.choice(candidates))


def insert_copy(rewriter: Rewriter, random: Random) -> None:
    x = some_instruction(rewriter, random)
    if x.opcode != "parameter" and not x.opcode.startswith("async"):
        rewriter.insert_copy(x, after=x)


def insert_between(rewriter: Rewriter, random: Random) -> None:
    x = some_instruction(rewriter, random)
    if x.opcode.startswith("async"):
        # Only an async-update or async-done may use an asynchronous value.
        return
    new = rewriter.insert("copy", [x], after=x, shape=x.shape, origin=x)
    if random.random() < 0.5:
        rewriter.replace_all_uses(x, new)


def erase(rewriter: Rewriter, random: Random) -> None:
    x = some_instruction(rewriter, random)
    if rewriter.users(x) or rewriter.is_root(x):
        with pytest.raises(EditError):
            rewriter.erase(x)
    elif x.opcode != "parameter":
        rewriter.erase(x)


def erase_parameter(rewriter: Rewriter, random: Random) -> None:
    parameters = [x for x in rewriter.instructions(rewriter.module.entry) if x.opcode == "parameter"]
    unused = [x for x in parameters if not rewriter.users(x) and not rewriter.is_root(x)]
    if unused:
        rewriter.erase_parameter(random.choice(unused))


def rename(rewriter: Rewriter, random: Random) -> None:
    computations = rewriter.module.computations
    names = {x.name for c in computations for x in rewriter.instructions(c)} | {c.name for c in computations}
    number = next(k for k in count(random.randrange(10)) if names.isdisjoint((f"renamed.{k}", f"computation.{k}")))
    rewriter.rename(some_instruction(rewriter, random), f"renamed.{number}")
    rewriter.rename(random.choice(computations), f"computation.{number}")


def move_down(rewriter: Rewriter, random: Random) -> None:
    x = some_instruction(rewriter, random)
    order = rewriter.instructions(rewriter.owner(x))
    later = order[order.index(x) + 1 :]
    dependents = {*rewriter.users(x), *rewriter.control_successors(x)}
    free = later[: next((k for k, y in enumerate(later) if y in dependents), len(later))]
    if free:
        rewriter.move(x, after=random.choice(free))


def clone_computation(rewriter: Rewriter, random: Random) -> None:
    computation = random.choice([c for c in rewriter.module.computations if c not in rewriter.module.hidden])
    rewriter.clone_computation(computation)


def add_control_edge(rewriter: Rewriter, random: Random) -> None:
    x = some_instruction(rewriter, random)
    order = rewriter.instructions(rewriter.owner(x))
    before = order[: order.index(x)]
    if before:
        rewriter.update(x, attributes={"control-predecessors": tuple(dict.fromkeys((*x.control_predecessors, random.choice(before))))})


def new_root(rewriter: Rewriter, random: Random) -> None:
    if random.random() < 0.3:
        entry = rewriter.module.entry
        rewriter.set_root(rewriter.insert("tuple", [entry.root], into=entry))


STEP_KINDS: tuple[Step, ...] = (
    replace_uses, insert_copy, insert_between, erase, erase_parameter, rename, move_down, clone_computation, add_control_edge, new_root,
)  # fmt: skip


def check_module(module: Module) -> None:
    text = hlotool.to_text(module)
    again = hlotool.parse(text)
    assert list(differences(module, again)) == []
    assert hlotool.to_text(again) == text


@settings(max_examples=SEQUENCES)
@given(modules(12), st.lists(st.tuples(st.sampled_from(STEP_KINDS), st.booleans()), min_size=1, max_size=MAX_STEPS), CHOICES)
def test_edits_keep_the_module_consistent(text: str, steps: list[tuple[Step, bool]], random: Random) -> None:
    # The text must be canonical, since the printer copies unchanged parts from the source.
    module = hlotool.parse(hlotool.to_text(hlotool.parse(text)))
    rewriter = Rewriter(module)
    for step, finishes in steps:
        step(rewriter, random)
        if finishes:
            rewriter.finish()
            check_module(module)
    rewriter.check()
    rewriter.finish()
    check_module(module)
    for same in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert list(differences(module, same)) == []
        assert hlotool.to_text(same) == hlotool.to_text(module)
