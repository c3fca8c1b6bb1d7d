"""The server as editors see it: a process that reads messages from its standard input."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from graph_readers import page_data
from lsp_client import Client, RequestError
from texts import ROW_SUMS as TEXT

from hlotool.server.session import Session
from hlotool.text.source.files import read_text

URI = "file:///m.hlo"
FIX_ALL = "source.fixAll.hlotool"
AT_S = {"line": 11, "character": 2}
AT_OPCODE = {"line": 11, "character": 14}
AT_ADD = {"line": 11, "character": 56}
EVERYTHING = {"start": {"line": 0, "character": 0}, "end": {"line": 15, "character": 0}}
LINE = {"start": {"line": 12, "character": 4}, "end": {"line": 12, "character": 4}}
NAME_OF_DEAD = {"start": {"line": 12, "character": 2}, "end": {"line": 12, "character": 6}}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client() as client:
        client.open(URI, TEXT)
        yield client


@pytest.fixture(scope="module")
def able() -> Iterator[Client]:
    """Yields a client with more capabilities than `client`."""
    text_document = {"diagnostic": {}, "codeAction": {"resolveSupport": {"properties": ["edit"]}}}
    workspace = {"diagnostics": {"refreshSupport": True}}
    with Client(capabilities={"textDocument": text_document, "workspace": workspace, "general": {"positionEncodings": ["utf-8"]}}) as client:
        yield client


def test_findings_are_pushed_with_tags_and_links(client: Client) -> None:
    uri = "file:///pushed.hlo"
    client.open(uri, TEXT, version=7)
    (finding,) = client.diagnostics(uri, 7)
    assert finding["code"] == "W001"
    assert finding["tags"] == [1]
    assert finding["codeDescription"]["href"].startswith("https://")
    client.change(uri, 8, {"range": NAME_OF_DEAD, "text": "x"})
    (finding,) = client.diagnostics(uri, 8)
    assert finding["code"] == "S003"
    assert finding["relatedInformation"][0]["location"]["range"]["start"] == {"line": 9, "character": 2}
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.diagnostics(uri, None) == []


def test_all_dead_code_is_faded_out(client: Client) -> None:
    uri = "file:///faded.hlo"
    text = TEXT.replace("  ROOT r", "  other = f32[4] cosine(s)\n  ROOT r").replace(
        "HloModule m\n", "HloModule m\nf {\n  ROOT p = f32[] parameter(0)\n}\n"
    )
    text = text.replace("\nf {", "\ng {\n  ROOT p = f32[] parameter(0)\n}\nf {")
    client.open(uri, text)
    found = [(d["code"], d["severity"], d["tags"], d["range"]["start"]["line"]) for d in client.diagnostics(uri, 1)]
    assert [(code, severity, tags) for code, severity, tags, _ in found] == [("W003", 2, [1]), ("W001", 2, [1]), ("W003", 4, [1]), ("W001", 4, [1])]
    lines = text.splitlines()
    assert [lines[line].split()[0] for *_, line in found] == ["g", "dead", "f", "other"]


def test_findings_are_pulled(able: Client) -> None:
    able.open(URI, TEXT)
    report = able.about("diagnostic", URI)
    assert [finding["code"] for finding in report["items"]] == ["W001"]
    assert report["kind"] == "full"
    assert able.about("diagnostic", "file:///unknown.hlo")["items"] == []
    # Other tests use this client, too; their messages may still be in the queue.
    assert "textDocument/publishDiagnostics" not in {message["method"] for message in able.notifications.queue}


def test_findings_are_pushed_to_a_client_without_refresh() -> None:
    with Client(capabilities={"textDocument": {"diagnostic": {}}}) as client:
        assert "diagnosticProvider" not in client.capabilities
        client.open(URI, TEXT)
        assert [finding["code"] for finding in client.diagnostics(URI, 1)] == ["W001"]


def test_findings_with_outdated_settings_are_not_cached() -> None:
    session = Session()
    document = session.open(URI, TEXT, 1)

    def settings_change_meanwhile() -> bool:
        session.forget_settings()
        return False

    assert session.findings(document, settings_change_meanwhile)
    assert session.known_findings(document) is None
    assert session.findings(document)
    assert session.known_findings(document) is not None


REQUESTS: list[tuple[str, dict[str, Any], Any]] = [
    ("hover", {"position": AT_S}, lambda r: "reduce" in r["contents"]["value"]),
    ("definition", {"position": AT_ADD}, lambda r: r["range"]["start"] == {"line": 2, "character": 0}),
    ("references", {"position": AT_S, "context": {"includeDeclaration": True}}, lambda r: len(r) == 3),
    ("references", {"position": AT_S, "context": {"includeDeclaration": False}}, lambda r: len(r) == 2),
    ("documentHighlight", {"position": AT_S}, lambda r: [h["kind"] for h in r] == [3, 2, 2]),
    ("documentSymbol", {}, lambda r: [(s["name"], len(s["children"])) for s in r] == [("add", 3), ("e", 5)]),
    ("foldingRange", {}, lambda r: [(f["startLine"], f["endLine"]) for f in r] == [(2, 5), (8, 13)]),
    ("selectionRange", {"positions": [AT_S, AT_ADD]}, lambda r: len(r) == 2 and "parent" in r[0]),
    ("prepareRename", {"position": AT_S}, lambda r: r["placeholder"] == "s"),
    ("rename", {"position": AT_S, "newName": "total"}, lambda r: len(r["changes"][URI]) == 3),
    ("formatting", {"options": {"tabSize": 2, "insertSpaces": True}}, lambda r: r == []),
    ("rangeFormatting", {"range": LINE, "options": {"tabSize": 2, "insertSpaces": True}}, lambda r: r == []),
    ("onTypeFormatting", {"position": AT_S, "ch": "\n", "options": {"tabSize": 2, "insertSpaces": True}}, lambda r: r == []),
    ("completion", {"position": AT_OPCODE}, lambda r: "reduce" in {item["label"] for item in r["items"]}),
    ("signatureHelp", {"position": {"line": 11, "character": 22}}, lambda r: r["signatures"][0]["label"].startswith("reduce(")),
    ("inlayHint", {"range": EVERYTHING}, lambda r: r == []),
    ("semanticTokens/full", {}, lambda r: len(r["data"]) > 100),
    ("semanticTokens/range", {"range": LINE}, lambda r: len(r["data"]) == 0 or len(r["data"]) % 5 == 0),
    ("codeLens", {}, lambda r: r[0]["command"]["title"] == "called once"),
    ("documentLink", {}, lambda r: r == []),
    ("codeAction", {"range": LINE, "context": {"diagnostics": []}}, lambda r: "Suppress W001 on this line" in {a["title"] for a in r}),
    (
        "codeAction",
        {"range": LINE, "context": {"diagnostics": [], "only": ["source.fixAll"]}},
        lambda r: [a["kind"] for a in r] == [FIX_ALL],
    ),
]


@pytest.mark.parametrize(("method", "params", "holds"), REQUESTS, ids=[f"{k}-{row[0]}" for k, row in enumerate(REQUESTS)])
def test_requests_about_a_text(client: Client, method: str, params: dict[str, Any], holds: Any) -> None:
    answer = client.about(method, URI, **params)
    assert holds(answer), answer


@pytest.mark.parametrize(("method", "params"), [row[:2] for row in REQUESTS], ids=[f"{k}-{row[0]}" for k, row in enumerate(REQUESTS)])
def test_requests_about_an_unknown_text_have_no_result(client: Client, method: str, params: dict[str, Any]) -> None:
    assert client.about(method, "file:///unknown.hlo", **params) is None


def test_calls(client: Client) -> None:
    (item,) = client.about("prepareCallHierarchy", URI, position=AT_ADD)
    assert item["name"] == "add"
    (call,) = client.request("callHierarchy/incomingCalls", {"item": item})
    assert call["from"]["name"] == "e"
    (called,) = client.request("callHierarchy/outgoingCalls", {"item": call["from"]})
    assert called["to"]["name"] == "add"


def test_workspace_symbols(client: Client) -> None:
    assert {symbol["name"] for symbol in client.request("workspace/symbol", {"query": "dea"})} == {"dead"}


def test_lenses_and_completion_items_are_resolved_later(client: Client) -> None:
    lens = next(lens for lens in client.about("codeLens", URI) if "command" not in lens)
    assert "8 instructions" in client.request("codeLens/resolve", lens)["command"]["title"]
    items = client.about("completion", URI, position=AT_OPCODE)["items"]
    item = next(item for item in items if item["label"] == "reduce")
    assert "Reduces" in client.request("completionItem/resolve", item)["documentation"]["value"]


def test_edits_of_actions_are_resolved_later(able: Client) -> None:
    uri = "file:///later.hlo"
    able.open(uri, TEXT)
    found = able.about("codeAction", uri, range=LINE, context={"diagnostics": []})
    action = next(action for action in found if action["title"] == "Remove all dead code")
    assert "edit" not in action
    edits = able.request("codeAction/resolve", action)["edit"]["changes"][uri]
    assert edits == [{"range": {"start": {"line": 12, "character": 0}, "end": {"line": 13, "character": 0}}, "newText": ""}]
    able.change(uri, 2, {"text": TEXT})
    with pytest.raises(RequestError, match="has changed"):
        able.request("codeAction/resolve", action)


def test_texts_without_markdown() -> None:
    """Checks plain text, which Eglot requests if it has no mode for Markdown."""
    with Client(capabilities={"textDocument": {"hover": {"contentFormat": ["plaintext"]}}}) as client:
        client.open(URI, TEXT)
        shown = client.about("hover", URI, position=AT_OPCODE)["contents"]
        assert shown["kind"] == "plaintext"
        assert shown["value"].startswith("reduce\n\nReduces")
        assert "\nr = f32[3] reduce(f32[2,3] x, f32[] zero), dimensions={0}, to_apply=add\n" in shown["value"]
        assert "\nto_apply  name of a computation  required\n" in shown["value"]
        assert "\ns = f32[4] reduce of e\n" in shown["value"]
        help_ = client.about("signatureHelp", URI, position={"line": 11, "character": 22})
        assert help_["signatures"][0]["documentation"]["kind"] == "plaintext"
        item = next(item for item in client.about("completion", URI, position=AT_OPCODE)["items"] if item["label"] == "reduce")
        assert client.request("completionItem/resolve", item)["documentation"]["value"].startswith("reduce\n\nReduces")


def test_sorting_is_offered_only_for_unsorted_attributes(able: Client) -> None:
    uri = "file:///sorted.hlo"
    able.open(uri, TEXT.replace("dimensions={1}, to_apply=add", "to_apply=add, dimensions={1}"))
    titles = [
        [action["title"] for action in able.about("codeAction", uri, range={"start": at, "end": at}, context={"diagnostics": []})]
        for at in (AT_S, {"line": 13, "character": 8})
    ]
    assert ["Sort attributes as XLA does" in found for found in titles] == [True, False]


def test_an_impossible_rename_reports_the_reason(client: Client) -> None:
    with pytest.raises(RequestError, match="is already called 'zero'"):
        client.about("rename", URI, position=AT_S, newName="zero")


def test_a_module_is_run(client: Client) -> None:
    output = client.request("workspace/executeCommand", {"command": "hlotool.run", "arguments": [URI]})
    assert "f32[4]" in output
    with pytest.raises(RequestError, match="not open"):
        client.request("workspace/executeCommand", {"command": "hlotool.run", "arguments": ["file:///unknown.hlo"]})


@pytest.mark.parametrize("shows", [True, False])
def test_the_output_of_a_command_is_shown(shows: bool) -> None:
    with Client(options={"showOutput": shows}) as client:
        client.open(URI, TEXT)
        client.diagnostics(URI, 1)
        output = client.request("workspace/executeCommand", {"command": "hlotool.run", "arguments": [URI]})
        messages = [client.notifications.get(timeout=client.timeout) for _ in range(1 + shows)]
        expected = [("window/logMessage", output), ("window/showMessage", output.rstrip("\n"))]
        assert [(message["method"], message["params"]["message"]) for message in messages] == expected[: 1 + shows]
        assert client.notifications.empty()


def test_a_dump_is_compared_with_the_previous_one(client: Client, tmp_path: Path) -> None:
    before, after = (tmp_path / f"module_0001.f.000{k}.p.after_{name}.txt" for k, name in ((1, "dce"), (2, "cse")))
    before.write_text(TEXT.replace("exponential", "sine"), encoding="utf-8")
    after.write_text(TEXT, encoding="utf-8")
    client.open(after.as_uri(), TEXT)
    titles = [lens["command"]["title"] for lens in client.about("codeLens", after.as_uri()) if "command" in lens]
    assert "diff with the previous dump" in titles
    output = client.request("workspace/executeCommand", {"command": "hlotool.diff", "arguments": [after.as_uri()]})
    assert "sine" in output
    assert "exponential" in output


def graph(client: Client, *arguments: Any, command: str = "graph") -> Any:
    return client.request("workspace/executeCommand", {"command": f"hlotool.{command}", "arguments": list(arguments)})


def test_a_computation_is_shown_as_a_picture(client: Client) -> None:
    uri = "file:///several.hlo"
    client.open(uri, f"{TEXT}// -----\n{TEXT.replace('HloModule m', 'HloModule n')}")
    page = graph(client, uri, {"line": 20, "character": 2})
    assert page["title"] == "add in several.hlo"
    data = page_data(page["html"])
    table = data["instructions"]
    assert (data["module"], data["groups"]["title"][data["root"]]) == ("n", "add")
    # The instruction at the cursor is shown first, and lines are numbered in the whole document.
    (k,) = data["named"]
    assert (table["name"][k], table["line"][k]) == ("b", 21)
    assert page_data(graph(client, uri)["html"])["module"] == "m"


def test_texts_and_positions_without_a_picture(client: Client) -> None:
    uri = "file:///none.hlo"
    client.open(uri, "HloModule m\nENTRY e { ROOT p = f32[] parameter(0) + }\n")
    with pytest.raises(RequestError, match="found '\\+'"):
        graph(client, uri)
    with pytest.raises(RequestError, match="expected a position"):
        graph(client, uri, "line 3")
    client.open("file:///empty.hlo", "\n")
    for arguments in ((), ({"line": 0, "character": 0},)):
        with pytest.raises(RequestError, match="there is no module here"):
            graph(client, "file:///empty.hlo", *arguments)


def test_an_editor_is_asked_to_open_a_picture(client: Client) -> None:
    said = graph(client, URI, AT_S, command="showGraph")
    assert said.startswith("the picture is in file:")
    with Client(capabilities={"window": {"showDocument": {"support": True}}}) as browsing:
        browsing.open(URI, TEXT)
        uri = graph(browsing, URI, AT_S, command="showGraph")
        path = Path(url2pathname(urlsplit(uri).path))
        assert page_data(path.read_text(encoding="utf-8"))["module"] == "m"
        request = next(message for message in iter(browsing.notifications.get, None) if message["method"] == "window/showDocument")
        assert request["params"] == {"uri": uri, "external": True}
        for reply in ({"result": {"success": False}}, {"error": {"code": -32603, "message": "no browser"}}):
            browsing.reply = reply
            assert graph(browsing, URI, AT_S, command="showGraph").startswith("the picture is in file:")
    assert not path.exists()


def test_sources_are_linked(client: Client, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("", encoding="utf-8")
    text = TEXT.replace("exponential(s)", 'exponential(s), metadata={source_file="model.py" source_line=3}')
    uri = (tmp_path / "m.hlo").as_uri()
    client.open(uri, text)
    (link,) = client.about("documentLink", uri)
    assert link["target"] == f"{(tmp_path / 'model.py').as_uri()}#L3"


def test_settings_files_and_options_choose_rules(tmp_path: Path) -> None:
    uri = (tmp_path / "m.hlo").as_uri()
    settings = tmp_path / "hlotool.toml"
    settings.write_text('[lint]\nextend-select = ["W016"]\n', encoding="utf-8")
    with Client(options={"ignore": ["W001"]}) as client:
        client.open(uri, TEXT)
        assert {finding["code"] for finding in client.diagnostics(uri, 1)} == {"W016"}
        settings.write_text("", encoding="utf-8")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": settings.as_uri(), "type": 2}]})
        assert client.diagnostics(uri, 1) == []
        settings.write_text("lint = 3", encoding="utf-8")
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        (finding,) = client.diagnostics(uri, 1)
        assert "hlotool.toml" in finding["message"]
        with pytest.raises(RequestError, match=r"hlotool\.toml"):
            client.about("codeAction", uri, range=LINE, context={"diagnostics": []})


def test_invalid_options_are_reported() -> None:
    with Client(options={"preset": "strictest"}) as client:
        assert "no preset 'strictest'" in client.notifications.get(timeout=client.timeout)["params"]["message"]


TEXTS = {
    "empty": "",
    "blank": " \n\n",
    "binary": "\0\1\2\0HloModule\0",
    "carriage returns": TEXT.replace("\n", "\r\n"),
    "old carriage returns": TEXT.replace("\n", "\r"),
    "not ASCII": TEXT.replace("sum", "é😀"),
    "half typed": TEXT[:200],
    "surrogates": TEXT[:100] + "\ud800" + TEXT[100:],
    "marked order": "\ufeff" + TEXT,
    "several modules": TEXT + "// -----\n" + TEXT,
    "one instruction": "f32[2] add(f32[2] x, f32[2] y)",
    "another format": '{"name": "module"}',
    "nested": "ENTRY e { ROOT c = f32[] call(), to_apply=" + "{ ROOT c = f32[] call(), to_apply=" * 300,
}


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_and_any_position_gets_a_response(client: Client, name: str) -> None:
    uri = f"file:///{name.replace(' ', '_')}.hlo"
    client.open(uri, TEXTS[name])
    positions = [{"line": line, "character": column} for line, column in ((0, 0), (0, 99999), (3, 7), (11, 20), (99999, 0))]
    for method, params, _ in REQUESTS:
        for position in positions:
            changed = {key: position if key == "position" else value for key, value in params.items()}
            if method == "rename":
                # Not every position has a name to rename, but each request gets a response.
                with suppress(RequestError):
                    client.about(method, uri, **changed)
            else:
                client.about(method, uri, **changed)
    client.change(uri, 2, {"range": {"start": positions[1], "end": positions[4]}, "text": "x"})
    client.about("documentSymbol", uri)


BELOW = {"textDocument": {"uri": URI}, "position": {"line": -1, "character": 0}}
NO_NUMBER = {"textDocument": {"uri": URI}, "position": {"line": "a", "character": 0}}
WRONG: list[Any] = [
    {"jsonrpc": "2.0", "id": 900, "method": "textDocument/hover", "params": {}},
    {"jsonrpc": "2.0", "id": 900, "method": "textDocument/hover", "params": BELOW},
    {"jsonrpc": "2.0", "id": 900, "method": "textDocument/hover", "params": NO_NUMBER},
    {"jsonrpc": "2.0", "id": 900, "method": "no/such/method", "params": {}},
    {"jsonrpc": "2.0", "id": 900, "method": "workspace/executeCommand", "params": {"command": "nothing"}},
    {"jsonrpc": "2.0", "id": 900, "method": "codeLens/resolve", "params": {"range": LINE, "data": {"uri": 3, "module": "x"}}},
]


@pytest.mark.parametrize("message", WRONG[:-1], ids=[str(row["method"]) + str(k) for k, row in enumerate(WRONG[:-1])])
def test_an_invalid_request_gets_an_error(client: Client, message: Any) -> None:
    client.send(message)
    answer = client.answers.get(timeout=client.timeout)
    assert answer["id"] == 900
    assert answer["error"]["code"] < 0
    assert "Traceback" not in str(answer)


def test_the_server_survives_invalid_messages() -> None:
    with Client() as client:
        for body in (b"{", b"[]", b"3", b"null", b'"x"', b"\xff\xfe", b"{}", b"[" * 5000, b'{"jsonrpc": "1.0"}'):
            client.send_bytes(body)
        # These bodies are not JSON; the others are JSON but not valid messages.
        codes = {b"{": -32700, b"\xff\xfe": -32700, b"[" * 5000: -32700}
        for body in (b"{", b"[]", b"3", b"null", b'"x"', b"\xff\xfe", b"{}", b"[" * 5000):
            answer = client.answers.get(timeout=client.timeout)
            assert (answer["id"], answer["error"]["code"]) == (None, codes.get(body, -32600))
        client.notify("no/such/notification", {})
        client.notify("textDocument/didChange", {"textDocument": {"uri": "file:///unknown.hlo", "version": 1}, "contentChanges": []})
        client.notify("textDocument/didChange", {"textDocument": 3})
        client.notify("$/cancelRequest", {"id": 12345})
        client.send(WRONG[-1])
        assert client.answers.get(timeout=client.timeout)["result"]["command"]["title"] == ""
        client.open(URI, TEXT)
        assert client.about("hover", URI, position=AT_S) is not None


def test_edits_supersede_checks(client: Client) -> None:
    """Checks that only the last of many versions is reported; requests still get responses."""
    uri = "file:///overtaken.hlo"
    client.open(uri, TEXT)
    client.diagnostics(uri, 1)
    for version in range(2, 60):
        client.change(uri, version, {"range": {"start": AT_S, "end": AT_S}, "text": "x"})
        if version % 20 == 0:
            assert client.about("documentSymbol", uri)
    message = client.notifications.get(timeout=client.timeout)
    while message["params"].get("uri") != uri:
        message = client.notifications.get(timeout=client.timeout)
    assert message["params"]["version"] == 59
    assert [finding["code"] for finding in message["params"]["diagnostics"]] == ["S002"]


def test_positions_in_another_encoding(able: Client) -> None:
    uri = "file:///encoded.hlo"
    assert able.capabilities["positionEncoding"] == "utf-8"
    able.open(uri, TEXT.replace("  s = f32[4] reduce", "  /* é😀 */ s = f32[4] reduce"))
    found = able.about("definition", uri, position={"line": 13, "character": 30})
    assert found["range"]["start"] == {"line": 11, "character": 15}


def test_a_closed_connection_ends_the_server() -> None:
    assert Client().leave() == 1


HOVER = {"textDocument": {"uri": URI}, "position": AT_S}


def error_code(client: Client, method: str, params: Any) -> int:
    with pytest.raises(RequestError) as refused:
        client.request(method, params)
    return int(refused.value.code)


def test_requests_before_initialize_and_after_shutdown_are_refused() -> None:
    client = Client(is_initialized=False)
    assert error_code(client, "textDocument/hover", HOVER) == -32002
    assert error_code(client, "textDocument/hover", {}) == -32002
    assert error_code(client, "no/such/method", {}) == -32002
    assert error_code(client, "shutdown", None) == -32002
    client.notify("textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "hlo", "version": 1, "text": TEXT}})
    client.initialize()
    assert client.request("textDocument/hover", HOVER) is None
    assert error_code(client, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}) == -32600
    client.open(URI, TEXT)
    assert client.request("textDocument/hover", HOVER) is not None
    client.request("shutdown", None)
    for method, params in (("textDocument/hover", HOVER), ("textDocument/hover", {}), ("no/such/method", {}), ("shutdown", None)):
        assert error_code(client, method, params) == -32600
    client.notify("exit", None)
    assert client.leave() == 0


@pytest.mark.parametrize("is_initialized", [True, False])
def test_exit_without_shutdown(is_initialized: bool) -> None:
    client = Client(is_initialized=is_initialized)
    client.notify("exit", None)
    assert client.leave() == 1


@pytest.mark.parametrize(
    "header",
    [b"Content-Length: abc\r\n", b"Content-Length: -5\r\n", b"Content-Length: 99999999999999999\r\n", b"Content-Length:\r\n", b"X: y\r\n",
     b"Content-Length: " + b"9" * 5000 + b"\r\n", b"\x00\xff\r\n"],
)  # fmt: skip
def test_an_invalid_header_gets_an_error(header: bytes) -> None:
    with Client() as client:
        body = b'{"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover", "params": {}}'
        for rest in (body, b""):
            assert client.process.stdin is not None
            client.process.stdin.write(header + b"\r\n" + rest)
            client.process.stdin.flush()
            answer = client.answers.get(timeout=client.timeout)
            assert (answer["id"], answer["error"]["code"]) == (None, -32700)
            # The next message begins directly after the header.
            assert error_code(client, "no/such/method", {}) == -32601


def test_headers_of_other_forms() -> None:
    with Client() as client:
        body = b'{"jsonrpc": "2.0", "id": 7, "method": "no/such/method", "params": {}}'
        for header in (
            b"content-length:%d\r\n",
            b"Content-Type: x\r\nContent-Length:  %d \r\n",
            b"Content-Length: %d\nContent-Type: x\n",
            b"\r\nContent-Length: %d\r\n",
        ):
            assert client.process.stdin is not None
            client.process.stdin.write(header % len(body) + (b"\n" if b"\r" not in header else b"\r\n") + body)
            client.process.stdin.flush()
            assert client.answers.get(timeout=client.timeout)["id"] == 7


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_a_closed_stream_ends_the_server(stream: str) -> None:
    shell = {"stdin": "<&-", "stdout": ">&-"}[stream]
    command = ["sh", "-c", f'exec "$0" -m hlotool lsp {shell}', sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.PIPE if stream == "stdout" else None)
    name = {"stdin": "input", "stdout": "output"}[stream]
    assert (done.returncode, done.stderr) == (2, f"hlotool: standard {name} is closed; editors speak to the server over it\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server(number: signal.Signals) -> None:
    """Ends a server with a signal while the connection is open, as some editors do."""
    client = Client()
    client.open(URI, TEXT)
    client.diagnostics(URI, 1)
    client.process.send_signal(number)
    assert client.process.wait(20) == 128 + number
    assert client.leave() == 128 + number


INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}'


@contextmanager
def served_over_a_port() -> Iterator[tuple[socket.socket, subprocess.Popen[bytes]]]:
    """Yields a connection to a server that listens on a port, and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "hlotool", "lsp", "--tcp", str(port)])
    try:
        for _ in range(200):
            try:
                connection = socket.create_connection(("127.0.0.1", port), timeout=20)
                break
            except OSError:
                time.sleep(0.05)
        with connection:
            yield connection, process
    finally:
        process.kill()
        process.wait()


def test_over_a_port() -> None:
    with served_over_a_port() as (connection, _):
        connection.sendall(b"Content-Length: %d\r\n\r\n" % len(INITIALIZE) + INITIALIZE)
        assert connection.recv(14) == b"Content-Length"
        connection.sendall(b"Content-Length: x\r\n\r\n")
        received = b""
        while b"-32700" not in received:
            received += connection.recv(1 << 16)
        assert received.endswith(b"}}")


def test_requests_of_browsers_are_not_answered() -> None:
    # Any web page can make a browser send this request. If a referrer that looks like a header were
    # read as a header, the web page could send several messages.
    head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nReferer: http://example.org/Content-Length:%d\r\n\r\n" % len(INITIALIZE)
    with served_over_a_port() as (connection, process):
        connection.sendall(head + INITIALIZE)
        with suppress(ConnectionResetError):
            assert connection.recv(1 << 16) == b""
        assert process.wait(20) in (1, 2)


def test_without_pygls_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('no pygls', name='pygls')", encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from hlotool.cli.main import run; sys.exit(run(['lsp']))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 2
    assert "pip install 'hlotool[lsp]'" in result.stderr
    assert "Traceback" not in result.stderr


DUMPS = sorted((Path(os.environ.get("HLOTOOL_CORPUS") or "/nonexistent") / "dumps").glob("*.hlo.xz"))

if DUMPS:

    @pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name)
    def test_requests_about_dumps(client: Client, path: Path) -> None:
        text = read_text(path)
        uri = f"file:///{path.name}"
        client.open(uri, text)
        assert client.about("documentSymbol", uri)
        line = text.count("\n") * 2 // 3
        position = {"line": line, "character": 4}
        screen = {"start": position, "end": {"line": line + 60, "character": 0}}
        for method, params, _ in REQUESTS:
            if "only" in params.get("context", {}):
                # This request tries all fixes for the findings in a dump, which takes minutes.
                continue
            positions = {"position": position, "positions": [position], "range": screen}
            with suppress(RequestError):
                client.about(method, uri, **{key: positions.get(key, value) for key, value in params.items()})
        assert isinstance(client.diagnostics(uri, 1), list)
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
