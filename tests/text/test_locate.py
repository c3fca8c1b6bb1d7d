"""Locating a part of an instruction: the fast path's regular expression and the grammar agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlotool.errors import ParseError
from hlotool.text.locate import instruction as locate
from hlotool.text.parse.parser import parse_each
from hlotool.text.source.part_names import parse_part_name

HERE = Path(__file__).parents[1]
FILES = sorted([*(HERE / "verify").glob("[a-c]*.hlo"), *(HERE / "ops").glob("[c-d]*.hlo"), *(HERE / "text" / "syntax").glob("[34]*.hlo")])


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in FILES}))
def test_the_expression_and_the_grammar_agree(folder, monkeypatch):
    total = fast = 0
    for path in FILES:
        if path.parent.name != folder:
            continue
        for module in parse_each(path.read_text(encoding="utf-8", errors="surrogateescape"), strict=False):
            assert not isinstance(module, ParseError)
            text = module.source.text
            for x in module.all_instructions():
                if x.start < 0:
                    continue
                positions = [
                    "name",
                    "result",
                    "call of operand 0",
                    "shape",
                    "opcode",
                    "operands",
                    "instruction",
                    *(f"operand {k}" for k in range(len(x.operands) + 1)),
                ]
                positions += [position for name in x.attributes for position in (name, f"{name} value")]
                for position in map(parse_part_name, positions):
                    span = locate._fast_span(text, x.start, x.end, position)
                    total += 1
                    if span is not None:
                        fast += 1
                        with monkeypatch.context() as patch:
                            patch.setattr(locate, "_fast_span", lambda *arguments: None)
                            assert locate.locate(text, x.start, x.end, position) == span, text[x.start : x.end]
    assert fast > total / 2
