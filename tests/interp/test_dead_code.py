"""Dead code that fails: both executors stop with an error, even if nothing uses the result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from case_files import read_cases
from executors import LIMITS, outcome
from looped import compiled_loops

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Module

OPS_FOLDER = Path(__file__).parent.parent / "ops"


def dead_cases(path: Path) -> list[Module]:
    """Returns the cases of an opcode, each with a new root, so that nothing uses the old root."""
    modules = []
    for case in read_cases(path):
        try:
            module = hlotool.parse(case.text, strict=False)
        except HlotoolError:
            continue
        with Rewriter(module) as rewriter:
            rewriter.set_root(rewriter.insert("after-all", into=module.entry))
        modules.append(module)
    return modules


@pytest.mark.parametrize("path", sorted(OPS_FOLDER.glob("*.hlo")), ids=lambda path: path.stem)
def test_dead_operations(path: Path) -> None:
    for module in dead_cases(path):
        try:
            arguments = random_arguments(module, 1)
        except (HlotoolError, KeyError, ValueError):
            # A module with errors may have parameters that no array matches.
            continue
        failures = [bool(outcome(module, arguments, executor, LIMITS)[1]) for executor in ("reference", "plan")]
        assert failures[0] == failures[1], str(module)


FAILING = {
    "a product with one": """d = f32[<=2] set-dimension-size(x, n), dimensions={0} c = f32[] constant(1)
      b = f32[<=2] broadcast(c), dimensions={} q = f32[<=2] multiply(d, b)""",
    "constants": """z = s32[] constant(0) d = f32[<=2] set-dimension-size(x, z), dimensions={0} k = s32[] constant(2)
      u = f32[<=2] set-dimension-size(d, k), dimensions={0}""",
    "constants alone": """z = s32[] constant(0) c = f32[2] constant({1, 2}) d = f32[<=2] set-dimension-size(c, z), dimensions={0}
      k = s32[] constant(2) u = f32[<=2] set-dimension-size(d, k), dimensions={0}""",
    "a size": "d = f32[<=2] set-dimension-size(x, m), dimensions={0}",
    "a state": "k = u64[6] iota(), iota_dimension=0 y = (u64[6], u32[2]) rng-bit-generator(k), algorithm=rng_philox",
    "positions": """a = f32[1,4] constant({{1, 2, 3, 4}}) v = f32[2,2] constant({{1, 2}, {3, 4}}) p = s8[2,2] constant({{0, 9}, {1, 0}})
      y = f32[1,2] convolution(a, v, p), dim_labels=bf_io->bf, sparsity_config={rhs={sparsity=1x2 dimension=0 stride=1 idx=2}}""",
    "a loop without an end": "w = f32[2] while(x), condition=always, body=same",
    "a computation": "w = f32[2] map(x), dimensions={0}, to_apply=rejected",
}
ALONE = """always { p = f32[2] parameter(0) ROOT t = pred[] constant(true) }
  same { p = f32[2] parameter(0) ROOT r = f32[2] negate(p) }
  rejected { p = f32[] parameter(0) n = s32[] constant(3) b = f32[2] broadcast(p), dimensions={}
    d = f32[<=2] set-dimension-size(b, n), dimensions={0} ROOT r = f32[] negate(p) }
"""
PARAMETERS = "x = f32[2] parameter(0) n = s32[] parameter(1) m = s32[] parameter(2)"
# A chain that is too long to be inlined twice, so its computation becomes a function.
CHAIN = "a0 = f32[2] exponential(x) " + " ".join(f"a{k} = f32[2] add(a{k - 1}, x)" for k in range(1, 80))
POSITIONS = {
    "the entry": f"{ALONE}ENTRY e {{ {PARAMETERS} $ ROOT r = f32[2] negate(x) }}",
    "a call": f"{ALONE}f {{ {PARAMETERS} $ ROOT r = f32[2] negate(x) }} ENTRY e {{ {PARAMETERS} ROOT c = f32[2] call(x, n, m), to_apply=f }}",
    "a dead call": f"""{ALONE}f {{ {PARAMETERS} $ ROOT r = f32[2] negate(x) }}
      ENTRY e {{ {PARAMETERS} c = f32[2] call(x, n, m), to_apply=f ROOT r = f32[2] negate(x) }}""",
    "dead calls of a long computation": f"""{ALONE}f {{ {PARAMETERS} $ {CHAIN}
      ROOT r = f32[2] negate(a79) }}
      ENTRY e {{ {PARAMETERS} c = f32[2] call(x, n, m), to_apply=f d = f32[2] call(x, m, n), to_apply=f ROOT r = f32[2] negate(x) }}""",
    "a loop": f"""{ALONE}step {{ s = (s32[], f32[2], s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0
        x = f32[2] get-tuple-element(s), index=1 n = s32[] get-tuple-element(s), index=2 m = s32[] get-tuple-element(s), index=3
        $ one = s32[] constant(1) j = s32[] add(i, one) ROOT t = (s32[], f32[2], s32[], s32[]) tuple(j, x, n, m) }}
      more {{ s = (s32[], f32[2], s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 l = s32[] constant(4)
        ROOT c = pred[] compare(i, l), direction=LT }}
      ENTRY e {{ {PARAMETERS} zero = s32[] constant(0) s = (s32[], f32[2], s32[], s32[]) tuple(zero, x, n, m)
        ROOT w = (s32[], f32[2], s32[], s32[]) while(s), condition=more, body=step }}""",
}


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("failing", FAILING)
def test_failing_code(failing: str, position: str) -> None:
    module = hlotool.parse(POSITIONS[position].replace("$", FAILING[failing]))
    arguments = [np.ones(2, np.float32), np.int32(0), np.int32(3)]
    messages = {outcome(module, arguments, executor, LIMITS)[1] for executor in ("reference", "plan")}
    with compiled_loops(with_llvm=False):
        messages.add(outcome(module, arguments, "plan", LIMITS)[1])
    assert len(messages) == 1
    assert "error[R0" in messages.pop()


def test_effects_of_dead_calls() -> None:
    """Checks that a computation sends data to the host even if nothing uses the call's result."""
    text = f"""f {{ x = f32[2] parameter(0) t = token[] after-all() o = token[] outfeed(x, t), outfeed_shape=f32[2]
        {CHAIN} ROOT r = f32[2] negate(a79) }}
      ENTRY e {{ x = f32[2] parameter(0) y = f32[2] negate(x) c = f32[2] call(y), to_apply=f d = f32[2] call(x), to_apply=f
        ROOT r = f32[2] add(x, x) }}"""
    sent = []
    for executor in ("reference", "plan"):
        queues = hlotool.HostQueues()
        hlotool.evaluate(hlotool.parse(text), [np.ones(2, np.float32)], executor=executor, options=hlotool.RunOptions(queues=queues))
        sent.append([np.asarray(value).tolist() for value in queues.outfeed])
    assert sent == [[[-1.0, -1.0], [1.0, 1.0]]] * 2
