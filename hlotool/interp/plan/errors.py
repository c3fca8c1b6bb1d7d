"""Exceptions for modules and runs that are left to the reference executor."""

from __future__ import annotations

__all__ = ["CannotPlan", "Mismatch"]


class CannotPlan(Exception):
    """Raised if a computation has no plan.

    For example, its declared shapes may be wrong, or its calls may be nested too deeply.
    """


class Mismatch(Exception):
    """Raised if generated code does not match the values of a run.

    Either a kernel has returned a tuple whose arrays differ from its declared shape, which is a
    fault of the module, or the code itself is wrong. In the first case, the message is empty.
    """
