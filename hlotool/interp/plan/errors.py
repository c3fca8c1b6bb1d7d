"""Why a module, or one run of it, is left to the reference executor."""

from __future__ import annotations

__all__ = ["CannotPlan", "Mismatch"]


class CannotPlan(Exception):
    """There is no plan for a computation, for example because what is written is not true, or because calls are nested too deeply."""


class Mismatch(Exception):
    """A tuple that a kernel returned has other arrays than its shape says."""
