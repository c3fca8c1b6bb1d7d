"""The state of a server between requests: open documents, client options, and the last findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from lsprotocol import types

from hlotool.errors import HlotoolError
from hlotool.server.actions import ActionRequest
from hlotool.server.diagnostics import Finding, checks_for, fading_hints, findings_in, settings_failure, to_diagnostics
from hlotool.server.documents import Document
from hlotool.workspace.presets import PRESETS
from hlotool.workspace.rules import RuleChoice
from hlotool.workspace.settings import forget_settings

__all__ = ["ClientOptions", "Session"]


class ClientOptions(NamedTuple):
    """The options of a client: rules, and a settings file to use for all documents.

    The rules take precedence over rules in settings files. `shows_output` is True if the output of
    commands is shown as messages; clients that show the output themselves turn this option off.
    """

    choice: RuleChoice = RuleChoice()
    config: str | None = None
    shows_output: bool = True

    @classmethod
    def of(cls, values: Any) -> ClientOptions:
        """Returns the options that a client sends when it connects.

        Raises HlotoolError if a rule or a preset does not exist.

        >>> ClientOptions.of({"ignore": ["W001"], "preset": "strict"}).choice.ignore
        ('W001',)
        """
        if not isinstance(values, Mapping):
            return cls()
        names = {}
        for key in ("select", "extendSelect", "ignore"):
            value = values.get(key) or ()
            if not isinstance(value, list | tuple) and value:
                raise HlotoolError(f"'{key}' must be a list of rules, not {value!r}")
            names[key] = tuple(map(str, value))
        preset, config = values.get("preset"), values.get("config")
        if preset is not None and preset not in PRESETS:
            raise HlotoolError(f"there is no preset '{preset}'; use one of {', '.join(PRESETS)}")
        choice = RuleChoice(names["select"], names["extendSelect"], names["ignore"], preset)
        choice.validate()
        return cls(choice, None if config is None else str(config), values.get("showOutput") is not False)


class Session:
    """The state of a server with one client.

    Four fields are True if the client has an ability: `with_snippets` if it can fill in the
    placeholders of completions, `with_markdown` if it can show Markdown, `can_resolve` if it can
    request the edits of an action later, and `can_pull` if it can request findings, and requests
    them again on a refresh.
    """

    def __init__(self, encoding: str = types.PositionEncodingKind.Utf16.value) -> None:
        self.encoding = encoding
        self.with_snippets = False
        self.with_markdown = True
        self.can_resolve = False
        self.can_pull = False
        self.options = ClientOptions()
        self.documents: dict[str, Document] = {}
        self._checked: dict[str, tuple[Document, list[Finding]]] = {}
        # The number of times that the caches of settings have been cleared.
        self._settings_age = 0

    def adapt(self, capabilities: types.ClientCapabilities) -> None:
        """Records the capabilities of a client."""
        text_document = capabilities.text_document or types.TextDocumentClientCapabilities()
        completion, action = text_document.completion, text_document.code_action
        item = completion.completion_item if completion is not None else None
        self.with_snippets = item is not None and bool(item.snippet_support)
        formats = text_document.hover.content_format if text_document.hover is not None else None
        self.with_markdown = formats is None or types.MarkupKind.Markdown in formats
        resolve = action.resolve_support if action is not None else None
        self.can_resolve = resolve is not None and "edit" in resolve.properties
        # Neovim 0.11 requests findings only after edits, not when settings have changed.
        refresh = capabilities.workspace.diagnostics if capabilities.workspace is not None else None
        self.can_pull = text_document.diagnostic is not None and refresh is not None and bool(refresh.refresh_support)

    # ---- documents ------------------------------------------------------------------------------

    def open(self, uri: str, text: str, version: int) -> Document:
        """Adds a document that the client has opened."""
        self.documents[uri] = document = Document(uri, text, version, self.encoding)
        return document

    def change(self, uri: str, changes: Sequence[types.TextDocumentContentChangeEvent], version: int) -> Document | None:
        """Applies an edit, and returns the new version; None for a document that is not open."""
        document = self.documents.get(uri)
        if document is None:
            return None
        self.documents[uri] = document = document.apply_changes(changes, version)
        return document

    def close(self, uri: str) -> None:
        """Removes a document."""
        self.documents.pop(uri, None)
        self._checked.pop(uri, None)

    def is_current(self, document: Document) -> bool:
        """Returns whether this is the latest version of a document that is still open."""
        return self.documents.get(document.uri) is document

    def document_of(self, data: Any) -> Document | None:
        """Returns the document named in the data of an item that the client has sent back."""
        return self.documents.get(str(data.get("uri"))) if isinstance(data, dict) else None

    # ---- checks ---------------------------------------------------------------------------------

    def forget_settings(self) -> None:
        """Clears the caches, so that settings are read again and documents are checked again."""
        self._settings_age += 1
        forget_settings()
        self._checked.clear()

    def known_findings(self, document: Document) -> list[Finding] | None:
        """Returns the findings in this version of a document; None if it has not been checked."""
        checked = self._checked.get(document.uri)
        return checked[1] if checked is not None and checked[0] is document else None

    def findings(self, document: Document, is_cancelled: Callable[[], bool] | None = None) -> list[Finding]:
        """Returns the findings in a document.

        Raises HlotoolError if the settings for the document are invalid.
        """
        known, age = self.known_findings(document), self._settings_age
        if known is not None:
            return known
        is_overtaken = is_cancelled or (lambda: not self.is_current(document))
        found = findings_in(document, checks_for(document.name, self.options.choice, self.options.config), is_overtaken)
        if not is_overtaken() and self.is_current(document) and age == self._settings_age:
            self._checked[document.uri] = document, found
        return found

    def action_request(self, document: Document) -> ActionRequest:
        """Returns the context of code actions for a document, which is checked now if necessary."""
        checks = checks_for(document.name, self.options.choice, self.options.config)
        return ActionRequest(self.findings(document), checks, self.options.config, self.can_resolve)

    def diagnostics(self, document: Document) -> list[types.Diagnostic]:
        """Returns the findings in a document as diagnostics of the protocol."""
        try:
            found = self.findings(document)
        except HlotoolError as error:
            return [settings_failure(document, error)]
        return to_diagnostics(document, found) + fading_hints(document, found)
