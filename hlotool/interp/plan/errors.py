"""Why a module, or one run of it, is left to the reference executor."""

from __future__ import annotations

__all__ = ["CannotPlan", "Mismatch"]


class CannotPlan(Exception):
    """There is no plan for a computation, for example because what is written is not true, or because calls are nested too deeply."""


class Mismatch(Exception):
    """The code does not fit what it is applied to: a kernel has returned a tuple of other arrays than its shape says, or the code is wrong.

    The message is empty in the first case, which is a fault of the module.
    """
