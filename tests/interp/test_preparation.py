"""A module is prepared once for all runs, until it is changed in any way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

import hlotool
from hlotool import Module
from hlotool.ir.edit import Rewriter

TEXT = """f { a = f32[4] parameter(0) ROOT b = f32[4] negate(a) }
g { a = f32[4] parameter(0) ROOT b = f32[4] floor(a) }
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] add(x, x)
  z = f32[4] multiply(x, y)
  c = f32[4] constant({1, 2, 3, 4})
  s = f32[4] subtract(y, c)
  k = f32[4] call(s), to_apply=f
  n = f32[4] call(z), to_apply=g
  ROOT r = f32[4] reverse(k), dimensions={0}
}"""
ARGUMENT = np.array([1.5, -2.0, 3.25, 0.5], np.float32)


def other_literal(module: Module) -> None:
    module.entry["c"].immediate = hlotool.parse("ENTRY e { ROOT c = f32[4] constant({5, 6, 7, 8}) }").entry.root.immediate


def assign(field: str, value: Callable[[Module], Any]) -> Callable[[Module], None]:
    return lambda module: setattr(module.entry["s"], field, value(module))


EDITS: dict[str, Callable[[Module], Any]] = {
    "operands": assign("operands", lambda module: (module.entry["z"], module.entry["c"])),
    "op": assign("op", lambda module: module.entry["z"].op),
    "literal": other_literal,
    "root": lambda module: setattr(module.entry, "root", module.entry["z"]),
    "entry": lambda module: setattr(module, "entry", module.computation("f")),
    "op in a callee": lambda module: setattr(module.computation("f").root, "op", module.computation("g").root.op),
    "attributes": lambda module: setattr(module.entry["k"], "attributes", module.entry["n"].attributes),
    "replace": lambda module: Rewriter(module).replace_all_uses(module.entry["y"], module.entry["z"]),
    "set operand": lambda module: Rewriter(module).set_operand(module.entry["s"], 0, module.entry["z"]),
    "update": lambda module: Rewriter(module).update(module.entry["k"], attributes={"to_apply": module.computation("g")}),
    "set root": lambda module: Rewriter(module).set_root(module.entry["z"]),
}


def twice(module: Module) -> None:
    """Edits the same computation twice with one Rewriter; only the second edit matters."""
    rewriter = Rewriter(module)
    rewriter.set_operand(module.entry["s"], 0, module.entry["z"])
    hlotool.evaluate(module, [ARGUMENT], executor="plan")
    rewriter.set_operand(module.entry["s"], 0, module.entry["c"])


EDITS["twice"] = twice


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("executor", ["reference", "plan", "auto"])
def test_runs_after_an_edit_use_the_edited_module(name: str, executor: Literal["reference", "plan", "auto"]) -> None:
    module = hlotool.parse(TEXT)
    compiled = hlotool.compile(module)
    before = [hlotool.evaluate(module, [ARGUMENT], executor=executor) for _ in range(3)][-1]
    EDITS[name](module)
    expected = hlotool.evaluate(hlotool.parse(str(module)), [ARGUMENT], executor="reference")
    assert not np.array_equal(before, expected)
    np.testing.assert_array_equal(hlotool.evaluate(module, [ARGUMENT], executor=executor), expected)
    np.testing.assert_array_equal(compiled(ARGUMENT), expected)
