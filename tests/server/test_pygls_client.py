"""The server as a pygls client sees it.

The client decodes every response as the type that the protocol requires, so a test fails if a
response does not have that type.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient
from texts import ROW_SUMS

from hlotool.server.positions import LineTable

URI = "file:///m.hlo"
THIS = types.TextDocumentIdentifier(URI)
AT_S, AT_ADD, AFTER_OPCODE = types.Position(11, 2), types.Position(11, 58), types.Position(11, 17)
WORD_DEAD = types.Range(types.Position(12, 2), types.Position(12, 6))
TEXT = ROW_SUMS.replace("f32[4] reduce", "f32[4]   reduce")
CAPABILITIES = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
        code_action=types.CodeActionClientCapabilities(resolve_support=types.ClientCodeActionResolveOptions(["edit"])),
    )
)


def conversation(interact: Callable[[LanguageClient, types.PublishDiagnosticsParams], Awaitable[None]]) -> None:
    """Opens the text in a new server, waits for the findings, and calls `interact`.

    Afterward, the server must exit by itself.
    """
    client = LanguageClient("client", "1")

    async def talk() -> None:
        published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        def receive(params: types.PublishDiagnosticsParams) -> None:
            published.put_nowait(params)

        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(receive)
        await client.start_io(sys.executable, "-m", "hlotool", "lsp")
        hello = await client.initialize_async(types.InitializeParams(CAPABILITIES))
        assert hello.server_info is not None
        assert hello.server_info.name == "hlotool"
        client.initialized(types.InitializedParams())
        client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "hlo", 3, TEXT)))
        await interact(client, await published.get())
        await client.shutdown_async(None)
        client.exit(None)
        assert client._server is not None
        assert await client._server.wait() == 0
        await client.stop()  # type: ignore[no-untyped-call]  # pygls gives it no types

    asyncio.run(asyncio.wait_for(talk(), 60))


def edited(edits: Iterable[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]) -> str:
    """Returns the text after the edits."""
    lines = LineTable(TEXT)
    text = TEXT
    for start, end, new in sorted(((*lines.span(edit.range), getattr(edit, "new_text", "")) for edit in edits), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def test_findings_and_their_fixes() -> None:
    async def interact(client: LanguageClient, published: types.PublishDiagnosticsParams) -> None:
        (finding,) = published.diagnostics
        assert (published.version, finding.code, finding.range) == (3, "W001", WORD_DEAD)
        context = types.CodeActionContext(published.diagnostics)
        found = await client.text_document_code_action_async(types.CodeActionParams(THIS, WORD_DEAD, context))
        (action,) = (a for a in found or () if isinstance(a, types.CodeAction) and a.title == "Remove all dead code")
        assert action.edit is None
        resolved = await client.code_action_resolve_async(action)
        assert resolved.edit is not None
        assert resolved.edit.changes is not None
        assert edited(resolved.edit.changes[URI]) == TEXT.replace("  dead = f32[4] negate(s)\n", "")

    conversation(interact)


def test_changes_of_the_text() -> None:
    async def interact(client: LanguageClient, published: types.PublishDiagnosticsParams) -> None:
        layout = types.FormattingOptions(tab_size=2, insert_spaces=True)
        edits = await client.text_document_formatting_async(types.DocumentFormattingParams(THIS, layout))
        assert edited(edits or ()) == TEXT.replace("f32[4]   reduce", "f32[4] reduce")
        renamed = await client.text_document_rename_async(types.RenameParams(THIS, AT_S, "total"))
        assert renamed is not None
        assert renamed.changes is not None
        assert edited(renamed.changes[URI]) == TEXT.replace("  s =", "  total =").replace("(s)", "(total)")
        with pytest.raises(JsonRpcException, match="is already called 'zero'"):
            await client.text_document_rename_async(types.RenameParams(THIS, AT_S, "zero"))

    conversation(interact)


def test_requests_about_the_text() -> None:
    async def interact(client: LanguageClient, published: types.PublishDiagnosticsParams) -> None:
        definition = await client.text_document_definition_async(types.DefinitionParams(THIS, AT_ADD))
        assert isinstance(definition, types.Location)
        assert definition.range.start == types.Position(2, 0)
        context = types.ReferenceContext(include_declaration=True)
        uses = await client.text_document_references_async(types.ReferenceParams(context, THIS, AT_S))
        assert [use.range.start.line for use in uses or ()] == [11, 12, 13]
        shown = await client.text_document_hover_async(types.HoverParams(THIS, AFTER_OPCODE))
        assert shown is not None
        assert isinstance(shown.contents, types.MarkupContent)
        assert "reduce" in shown.contents.value
        offered = await client.text_document_completion_async(types.CompletionParams(THIS, AFTER_OPCODE))
        assert isinstance(offered, types.CompletionList)
        item = next(item for item in offered.items if item.label == "reduce")
        # Without a filter text, Neovim shows items that do not match the typed text, and Kate adds
        # a second parenthesis.
        assert item.filter_text == "reduce"
        assert item.text_edit is not None
        assert item.text_edit.new_text == "reduce"
        described = await client.completion_item_resolve_async(item)
        assert isinstance(described.documentation, types.MarkupContent)
        output: Any = await client.workspace_execute_command_async(types.ExecuteCommandParams("hlotool.run", [URI]))
        assert "f32[4]" in output

    conversation(interact)
