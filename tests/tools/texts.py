"""Modules that several tests format, optimize or open in an editor."""

from __future__ import annotations

__all__ = ["MESSY", "NEAT", "ROW_SUMS", "SEVERAL_ROUNDS"]

MESSY = "HloModule m\nENTRY e {\n  a = f32[2]   parameter( 0 ) // in\n\n\n  ROOT b = f32[2] negate( a )\n}\n"
NEAT = "HloModule m\n\nENTRY e {\n  a = f32[2] parameter(0) // in\n\n  ROOT b = f32[2] negate(a)\n}\n"

# After one round of folding and merging, another round finds more.
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

# One instruction is unused.
ROW_SUMS = """HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY e {
  x = f32[4,8] parameter(0)
  zero = f32[] constant(0)
  s = f32[4] reduce(x, zero), dimensions={1}, to_apply=add
  dead = f32[4] negate(s)
  ROOT r = f32[4] exponential(s)
}
"""
