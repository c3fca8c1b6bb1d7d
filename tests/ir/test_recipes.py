"""The examples in docs/python.md."""

from __future__ import annotations

import doctest
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_the_recipes_work() -> None:
    result = doctest.testfile(str(GUIDE), module_relative=False)
    assert result.attempted > 25
    assert result.failed == 0
