"""Files and a module for the tests of highlighters."""

from __future__ import annotations

from pathlib import Path

__all__ = ["TEXT", "TEXTS"]

ROOT = Path(__file__).resolve().parents[2]
# The files that parse, including one for each part of the syntax.
TEXTS = sorted([*ROOT.glob("samples/**/*.hlo"), *ROOT.glob("tests/text/syntax/*.hlo")])
# A module with tokens of every kind.
TEXT = """HloModule jit_f, is_scheduled=true, unknown={A, 1}, entry_computation_layout={(f32[2]{0:T(8)S(1)})->f32[2]{0}}
// a comment
%add (x.1: f32[], y: f32[]) -> f32[] {
  x.1 = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT s = f32[] add(x.1, %y), metadata={op_name="a" source_line=3}
}

ENTRY e {
  p = f32[2]{0} parameter(0)
  c = f32[2] constant({1.5, nan}), backend_config={"k":[1,"v // no comment"]}
  z = f32[] constant(0)
  r = f32[] reduce(f32[2] p, z), dimensions={0}, to_apply=%add, control-predecessors={c}
  ROOT t = pred[] compare(r, z), direction=LT, frontend_attributes={a="b",c={"d":1}}
}
"""
