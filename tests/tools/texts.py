"""Texts that several tests format."""

from __future__ import annotations

__all__ = ["MESSY", "NEAT"]

MESSY = "HloModule m\nENTRY e {\n  a = f32[2]   parameter( 0 ) // in\n\n\n  ROOT b = f32[2] negate( a )\n}\n"
NEAT = "HloModule m\n\nENTRY e {\n  a = f32[2] parameter(0) // in\n\n  ROOT b = f32[2] negate(a)\n}\n"
