"""Optimizer rewrites as fixes for lints, used by `verifier.fixing`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from hlotool.errors import Edit
from hlotool.verifier.fixing import FindingContext

__all__ = ["rewrite_edits"]


def rewrite_edits(finding: FindingContext, names: Sequence[str]) -> Iterable[Edit]:
    """Returns the edits that apply one of the named rewrites to the instruction of a finding."""
    # Imported on use, since few findings need the optimizer, and with it NumPy.
    edits: Iterable[Edit] = import_module("hlotool.optimizer.lint_fixes").rewrite_edits(finding, names)
    return edits
