"""Files next to a document, and commands that run in other processes."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from lsprotocol import types

from hlotool.errors import HlotoolError
from hlotool.server import commands, formatting, hover, lenses, navigation, server
from hlotool.server.commands import Invocation, beginning, execute, page_file
from hlotool.server.diagnostics import findings_in, to_diagnostics
from hlotool.server.documents import Document
from hlotool.workspace.rules import RuleChoice
from hlotool.workspace.settings import Settings

TEXT = 'ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT n = f32[4] negate(p), metadata={op_name="n" source_file="FILE" source_line=3}\n}\n'


def test_previous_dumps(tmp_path: Path) -> None:
    names = [f"module_0001.f.000{k}.p.after_{name}.txt" for k, name in ((1, "dce"), (2, "cse"), (3, "dce"))]
    for name in (*names, "module_0002.f.0001.p.after_dce.txt", "module_0001.f.notes"):
        (tmp_path / name).write_text("", encoding="utf-8")
    found = [lenses.previous_dump(str(tmp_path / name)) for name in names]
    assert found == [None, str(tmp_path / names[0]), str(tmp_path / names[1])]
    assert lenses.previous_dump(str(tmp_path / "m.hlo")) is None
    assert lenses.previous_dump(str(tmp_path / "missing" / names[0])) is None
    assert lenses.previous_dump(str(tmp_path / names[0].replace("dce", "other"))) is None
    document = Document((tmp_path / names[1]).as_uri(), TEXT)
    titles = [lens.command.title for lens in lenses.lenses(document) if lens.command is not None]
    assert titles == ["graph", "run", "diff with the previous dump"]
    invocation = commands.COMMANDS["hlotool.diff"].invocation(document, None)
    assert invocation == Invocation(["diff", "--color", "never", "--", str(tmp_path / names[0]), "-"], TEXT, "diff")


@pytest.mark.parametrize(
    ("file", "is_linked"),
    [("model.py", True), ("./model.py", True), ("{folder}/model.py", True), ("other.py", False), ("//host/model.py", False),
     ("\\\\host\\model.py", False), ("a\0b", False)],
)  # fmt: skip
def test_source_files(tmp_path: Path, file: str, is_linked: bool) -> None:
    (tmp_path / "model.py").write_text("", encoding="utf-8")
    document = Document((tmp_path / "m.hlo").as_uri(), "")
    target = f"{(tmp_path / 'model.py').as_uri()}#L3" if is_linked else None
    assert navigation.source_uri(document, file.format(folder=tmp_path), 3) == target


def test_links_and_hover_text_lead_to_source_files(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("", encoding="utf-8")
    uri = f"{(tmp_path / 'model.py').as_uri()}#L3"
    text = TEXT.replace("FILE", "model.py").replace("  ROOT", '  q = f32[4] abs(p), metadata={source_file="other.py"}\n  ROOT')
    document = Document((tmp_path / "m.hlo").as_uri(), text)
    (link,) = navigation.links(document)
    assert (link.target, link.tooltip, str(link.range)) == (uri, "model.py:3", "3:38-3:88")
    shown = [hover.hover(document, types.Position(line, 2)) for line in (2, 3)]
    values = [found.contents.value for found in shown if found is not None and isinstance(found.contents, types.MarkupContent)]
    assert "- at `other.py`" in values[0].split("\n")
    assert f"- at [model.py:3]({uri})" in values[1].split("\n")


def test_the_settings_of_a_folder_apply(tmp_path: Path) -> None:
    (tmp_path / "hlotool.toml").write_text("[fmt]\nwidth = 40\n", encoding="utf-8")
    text = "ENTRY e {\n  ROOT p = f32[4] parameter(0), sharding={replicated}\n}\n"
    document = Document((tmp_path / "m.hlo").as_uri(), text)
    assert len(formatting.format_document(document)) == 1
    assert formatting.format_document(Document("untitled:1", text)) == []
    other = tmp_path / "other.toml"
    other.write_text("", encoding="utf-8")
    assert formatting.format_document(document, str(other)) == []


def run(arguments: list[str], text: str = "", *, returns_page: bool = False) -> str:
    return asyncio.run(execute(Invocation(arguments, text, "title"), returns_page=returns_page))


def test_the_output_of_a_command() -> None:
    # Errors are part of the output, unless a page is wanted.
    assert "S001" in run(["print", "-"], "ENTRY e {")
    with pytest.raises(HlotoolError, match="S001"):
        run(["print", "-"], "ENTRY e {", returns_page=True)


def test_long_output_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_MAX_OUTPUT_LENGTH", 9)
    assert run(["print", "-"], TEXT) == "HloModule\n..."
    monkeypatch.setattr(commands, "_TIMEOUT", 0.001)
    with pytest.raises(HlotoolError, match="the command was stopped after 0 seconds"):
        run(["print", "-"], TEXT)


def test_messages_show_the_beginning_of_the_output() -> None:
    lines = ["x" * 200, "y" * 201, *map(str, range(8))]
    shown = [lines[0], f"{'y' * 200}...", *lines[2:]]
    assert beginning("\n".join(lines)) == "\n".join(shown)
    assert beginning("\n".join([*lines, "more"])).split("\n") == [*shown, "... (the log of the language server has the full output)"]


def test_pages_are_named_after_their_contents(tmp_path: Path) -> None:
    uris = [page_file(page, tmp_path) for page in ("é", "b", "é")]
    assert uris[0] == uris[2] != uris[1]
    assert [path.read_text(encoding="utf-8") for path in sorted(tmp_path.iterdir(), key=lambda path: path.as_uri() == uris[0])] == ["b", "é"]
    assert {path.as_uri() for path in tmp_path.iterdir()} == set(uris)


def test_findings_beyond_the_first_thousand_are_counted() -> None:
    document = Document("file:///m.hlo", TEXT.replace("(p)", "(nothing)"))
    checks = RuleChoice().checks_for("m.hlo", Settings({}, None))
    (finding,) = findings_in(document, checks)
    found = to_diagnostics(document, [finding] * 1002)
    assert len(found) == 1001
    assert found[-1].message == "findings not shown: 2; hlotool verify lists them all"
    assert len(to_diagnostics(document, [finding] * 1000)) == 1000
    assert findings_in(document, checks, lambda: True) == []


@pytest.fixture
def restored() -> Iterator[None]:
    """Restores the settings of the process that a server changes."""
    log = logging.getLogger("pygls")
    handlers, propagates = log.handlers[:], log.propagate
    yield
    gc.enable()
    log.handlers, log.propagate = handlers, propagates


@pytest.mark.usefixtures("restored")
def test_a_server_on_a_port() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    results: list[bool] = []
    thread = Thread(target=lambda: results.append(server.serve("0", port)))
    thread.start()
    connection = None
    for _ in range(200):
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=20)
            break
        except OSError:
            time.sleep(0.02)
    assert connection is not None

    def send(method: str, **rest: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, **rest}).encode()
        connection.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    with connection:
        send("initialize", id=1, params={"processId": None, "rootUri": None, "capabilities": {}})
        assert connection.recv(14) == b"Content-Length"
        assert not gc.isenabled()
        assert not logging.getLogger("pygls").propagate
        send("shutdown", id=2)
        send("exit")
        thread.join(20)
    assert results == [True]
