"""The tasks of `python -m hlotool.dev`."""

from __future__ import annotations

import io
import json

import pytest

from hlotool.dev import tasks
from hlotool.text.parse import grammar

REPORT = "  FAIL print x: 'why'\n\naccept    9 of 10    90.00 %\nprint     3 of 4     75.00 %\nskewed    1 of 2     50.00 %  (not scored)\n"


def test_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tasks, "write_tables", lambda: grammar.write_tables(tmp_path / "hlo.tables"))
    assert tasks.main(["tables"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/hlo.tables\n"
    assert (tmp_path / "hlo.tables").read_bytes().count(b" lark ") == 1


def test_coverage_lists_the_opcodes_missing_from_the_table(tmp_path, capsys):
    path = tmp_path / "m.hlo"
    path.write_text("HloModule m, zork=1\nENTRY e {\n  a = f32[] parameter(0)\n  b = f32[] negate(a), hue=3\n  ROOT c = f32[] negat(b)\n}\n")
    assert tasks.main(["coverage", str(path), str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"     2  'negate' has no attribute 'hue'  ({path}:4)",
        f"     2  a module has no attribute 'zork'  ({path}:1)",
        f"     2  unknown opcode 'negat'  ({path}:5)",
    ]


def test_coverage_of_a_missing_file(tmp_path, capsys):
    assert tasks.main(["coverage", str(tmp_path / "missing")]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize(("floor", "code"), [([9, 10], 0), ([90, 100], 0), ([91, 100], 1), ([10, 10], 1)])
def test_floors(tmp_path, monkeypatch, capsys, floor, code):
    path = tmp_path / "floors.json"
    path.write_text(json.dumps({"accept": floor}))
    monkeypatch.setattr("sys.stdin", io.StringIO(REPORT))
    assert tasks.main(["floors", str(path)]) == code
    assert ("the floor is" in capsys.readouterr().out) == bool(code)


def test_floors_are_raised_on_request(tmp_path, monkeypatch):
    path = tmp_path / "floors.json"
    path.write_text('{"accept": [1, 10], "print": [1, 4]}')
    monkeypatch.setattr("sys.stdin", io.StringIO(REPORT))
    assert tasks.main(["floors", "--raise", str(path)]) == 0
    assert json.loads(path.read_text()) == {"accept": [9, 10], "print": [3, 4]}
    monkeypatch.setattr("sys.stdin", io.StringIO(REPORT.replace("9 of 10", "8 of 10")))
    assert tasks.main(["floors", "--raise", str(path)]) == 1
    assert json.loads(path.read_text())["accept"] == [9, 10]


def test_generated_pages_are_up_to_date(capsys):
    """Checks generated pages; if this fails, run `python -m hlotool.dev docs` or `make docs`."""
    assert tasks.main(["docs", "--check"]) == 0, capsys.readouterr().out
