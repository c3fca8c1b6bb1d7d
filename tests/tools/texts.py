"""Texts that several tests format or optimize."""

from __future__ import annotations

__all__ = ["MESSY", "NEAT", "SEVERAL_ROUNDS"]

MESSY = "HloModule m\nENTRY e {\n  a = f32[2]   parameter( 0 ) // in\n\n\n  ROOT b = f32[2] negate( a )\n}\n"
NEAT = "HloModule m\n\nENTRY e {\n  a = f32[2] parameter(0) // in\n\n  ROOT b = f32[2] negate(a)\n}\n"

# One round of folding and merging leaves something for the next one.
SEVERAL_ROUNDS = """HloModule m

double {
  x = f32[] parameter(0)
  unused = f32[] parameter(1)
  ROOT y = f32[] add(x, x)
}

ENTRY e {
  p = f32[] parameter(0)
  n = f32[] negate(p)
  m = f32[] negate(n)
  a = f32[] call(m, p), to_apply=double
  b = f32[] call(p, m), to_apply=double
  c = f32[] constant(2)
  d = f32[] add(c, c)
  f = f32[] multiply(a, d)
  g = f32[] multiply(d, b)
  ROOT r = f32[] subtract(f, g)
}
"""
