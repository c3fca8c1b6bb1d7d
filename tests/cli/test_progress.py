"""The progress bar for many files, whose columns do not depend on the file names."""

from __future__ import annotations

import io
import re

import pytest

from hlotool.cli import progress as module


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [80, 60, 132])
@pytest.mark.parametrize("title", ["Formatting", "jit_a_module_with_a_very_long_name.of.a.step"])
@pytest.mark.parametrize("name", ["a.hlo", "dumps/" * 40 + "module_0001.txt", "\x1b[31m" * 30, "名" * 90, "[bold]" * 30], ids=range(5))
def test_bar_percentage_and_count_are_always_shown(monkeypatch: pytest.MonkeyPatch, name: str, title: str, width: int) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(module, "_DELAY", 0.0)
    for variable, value in (("COLUMNS", str(width)), ("TERM", "xterm"), ("NO_COLOR", "1")):
        monkeypatch.setenv(variable, value)
    with module.progress(1200, title) as advance:
        for _ in range(600):
            advance(name)
    lines = re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()))
    shown = [line for line in lines if "600/1200" in line]
    assert shown
    for line in shown:
        assert "━" * (9 if width >= 80 else 1) in line
        assert " 50% " in line
        assert "…" not in line
    if name == "a.hlo" and width >= 80:
        assert any("a.hlo" in line for line in shown)
