"""Edits of a document: the server's state is the same as for a newly opened document."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path

import fuzz_server
import pytest
from fuzz_server import edited_at_random, random_change, sample_texts
from lsprotocol import types

from hlotool.errors import HlotoolError
from hlotool.server import documents, hover, navigation, symbols
from hlotool.server.commands import Invocation, execute
from hlotool.server.documents import Document
from hlotool.text.source.files import read_text

_SEQUENCES = 80
_CORPUS = os.environ.get("HLOTOOL_CORPUS")


@pytest.mark.parametrize("first", range(0, _SEQUENCES, 20))
@pytest.mark.parametrize("least_shifted", [0, 300_000])
def test_samples_edited_at_random(first: int, least_shifted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MIN_SHIFTED", least_shifted)
    texts = sample_texts()
    for seed in range(first, first + 20):
        assert edited_at_random(texts, seed, edits=5) == 5


def test_positions_before_a_text_has_been_read() -> None:
    """Checks that unedited characters map to their positions in the current text."""
    chance = random.Random(1)
    for _ in range(200):
        base = Document("file:///m.hlo", chance.choice(sample_texts()))
        assert base.modules
        now = base
        for version in range(chance.randrange(1, 6)):
            change = random_change(now, chance)
            if isinstance(change, types.TextDocumentContentChangePartial):
                now = now.apply_changes([change], version)
        span = now._edited_range
        if span is None:
            continue
        for offset in range(len(base.text)):
            if not span.start <= offset < span.end:
                assert now.text[span.new_offset(offset)] == base.text[offset]
                assert span.old_offset(span.new_offset(offset)) == offset


_VERSIONS = """
import gc
import weakref

from fuzz_server import sample_texts
from lsprotocol import types

from hlotool.server.diagnostics import findings_in
from hlotool.server.commands import Invocation, execute
from hlotool.server.documents import Document
from hlotool.workspace.rules import RuleChoice
from hlotool.workspace.settings import Settings

checks = RuleChoice().checks_for("m.hlo", Settings({}, None))
for new in ("", "x", "(", "\\n// -----\\n"):
    document = Document("file:///m.hlo", "\\n// -----\\n".join(sample_texts()))
    gc.collect()
    gc.disable()
    for version in range(2, 6):
        findings_in(document, checks)
        before = [weakref.ref(part) for part in document.modules]
        middle = document.lines.position(len(document.text) // 2)
        document = document.apply_changes([types.TextDocumentContentChangePartial(types.Range(middle, middle), new)], version)
        now = set(document.modules)
        kept = [part() for part in before if part() not in {None, *now}]
        assert not kept, (new, version, kept)
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    owned = [value for value in gc.garbage if type(value).__module__.partition(".")[0] == "hlotool"]
    assert not owned, (new, len(owned), owned[:3])
    gc.garbage.clear()
    gc.enable()
"""


def test_unused_versions_are_freed() -> None:
    """Checks that versions are freed without the garbage collector, which runs only in pauses.

    The check runs in a new process, which has no garbage from other tests.
    """
    tools = Path(fuzz_server.__file__).parent
    result = subprocess.run(
        [sys.executable, "-c", _VERSIONS], env={**os.environ, "PYTHONPATH": str(tools)}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_a_large_text_is_shown_before_it_has_been_read() -> None:
    body = "".join(f"f{k} {{\n  p = f32[4] parameter(0)\n  ROOT n = f32[4] negate(p)\n}}\n\n" for k in range(6000))
    text = f"HloModule m\n\n{body}ENTRY e {{\n  x = f32[4] parameter(0)\n  ROOT c = f32[4] call(x), to_apply=f5\n}}\n"
    document = Document("file:///m.hlo", text)
    assert len(document.modules) == 1
    line = text.count("\n", 0, text.index("f5 {"))
    start, end = types.Position(line, 2), types.Position(line + 1, 0)
    changed = document.apply_changes([types.TextDocumentContentChangePartial(types.Range(start, end), " (\n\n\n")], 2)
    assert not changed.is_read
    view = changed.view
    last = text.count("\n") + 2
    called = navigation.definition(view, types.Position(last - 2, 36))
    assert called is not None
    assert called.range == types.Range(types.Position(line, 0), types.Position(line, 2))
    shown = hover.hover(view, types.Position(last - 3, 2))
    assert shown is not None
    assert shown.range == types.Range(types.Position(last - 3, 2), types.Position(last - 3, 3))
    assert symbols.document_symbols(view)[-1].range.start.line == last - 4
    assert not changed.is_read


if _CORPUS:

    @pytest.mark.parametrize("path", sorted((Path(_CORPUS) / "dumps").glob("*.hlo.xz")), ids=lambda path: path.name)
    def test_dumps_edited_at_random(path: Path) -> None:
        text = read_text(path)
        if len(text) < 1_000_000:
            assert edited_at_random([text], 0, edits=3) == 3


def test_a_picture_that_cannot_be_drawn_is_an_error():
    with pytest.raises(HlotoolError, match="expected '=', found the end"):
        asyncio.run(execute(Invocation(["graph", "-", "--format", "html"], "nothing", ""), returns_page=True))
