"""The server: a table that maps requests of the protocol to functions, on top of pygls.

Quick requests are answered in the order in which they arrive. Slow requests and checks run in
threads. A check begins some time after the last edit, and is dropped if another edit follows, so
that typing never waits for checks.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification

from hlotool.errors import HlotoolError
from hlotool.server import actions, completion, formatting, hints, hover, lenses, navigation, renaming, signatures, symbols, tokens
from hlotool.server.commands import COMMANDS, Command, beginning, execute, page_file, position_of
from hlotool.server.documents import Document
from hlotool.server.framing import MessageReader
from hlotool.server.markup import make_readable
from hlotool.server.session import ClientOptions, Session

__all__ = ["HloServer", "serve"]

Answer = TypeVar("Answer")
# The shortest and the longest time, in seconds, between the last edit and the check of a document.
# This time is longer if the last check took longer.
_MIN_DELAY = 0.2
_MAX_DELAY = 2.0
# Seconds after the last edit until garbage is collected.
_IDLE = 3.0
_GARBAGE = "garbage"


class RequestFailedError(JsonRpcException):
    """Raised if a request cannot be fulfilled; the message gives the reason."""

    CODE = types.LSPErrorCodes.RequestFailed.value


class HloProtocol(LanguageServerProtocol):
    """The protocol of pygls with hlotool's own documents.

    The documents of pygls take 100 ms to apply an edit to a large file.
    """

    _server: HloServer
    _is_initialized = False

    def handle_message(self, message: Any) -> None:
        """Handles a message if the connection is open.

        Before the connection is initialized and after it is shut down, requests are answered with
        an error.
        """
        method = getattr(message, "method", None)
        if method is None or method == types.EXIT:
            super().handle_message(message)
            return
        refusal = self._refusal(method)
        if refusal is None:
            self._is_initialized = True
            super().handle_message(message)
        elif hasattr(message, "id"):
            self._send_response(message.id, None, refusal)

    def _refusal(self, method: str) -> types.ResponseError | None:
        """Returns the reason why a request cannot be answered now; None if it can be."""
        if self._shutdown:
            return types.ResponseError(types.ErrorCodes.InvalidRequest.value, "the server is shutting down")
        if self._is_initialized == (method == types.INITIALIZE):
            if self._is_initialized:
                return types.ResponseError(types.ErrorCodes.InvalidRequest.value, "the server is already initialized")
            return types.ResponseError(types.ErrorCodes.ServerNotInitialized.value, f"'{method}' came before 'initialize'")
        return None

    def _handle_cancel_notification(self, msg_id: int | str) -> None:
        """Cancels a request, and its command, which pygls runs in a task of its own."""
        task = self._server.commands.get(msg_id)
        if task is not None:
            task.cancel()
        super()._handle_cancel_notification(msg_id)

    def answer_invalid(self, error: Exception) -> None:
        """Answers an invalid message, whose id is not known, with an error."""
        is_parsed = not isinstance(error, ValueError | RecursionError | MemoryError)
        code = types.ErrorCodes.InvalidRequest if is_parsed else types.ErrorCodes.ParseError
        reason = "it is not an object with `jsonrpc`" if is_parsed else f"its header has no valid Content-Length, or its body is not JSON ({error})"
        # lsprotocol leaves out an id that is null.
        self._send_data({"jsonrpc": self.VERSION, "id": None, "error": {"code": code.value, "message": f"a message is not valid: {reason}"}})

    def structure_message(self, data: Any) -> Any:
        """Returns a message as an object.

        An invalid request is answered with an error, so that its sender does not wait forever.
        """
        if "jsonrpc" in data and "params" not in data and self.get_message_type(str(data.get("method"))) is None:
            # pygls requires parameters of methods that it does not know.
            data = {**data, "params": None}
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and isinstance(data.get("id"), str | int):
                self._send_response(data["id"], None, self._refusal(str(data["method"])) or error.to_response_error())
            return JsonRPCNotification(method="$/notValid", jsonrpc=self.VERSION, params=None)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Adds a document that the client has opened."""
        item = params.text_document
        self._server.check_later(self._server.session.open(item.uri, item.text, item.version), at_once=True)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Applies an edit."""
        item = params.text_document
        document = self._server.session.change(item.uri, params.content_changes, item.version)
        if document is not None:
            self._server.check_later(document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Removes a document and its diagnostics."""
        self._server.session.close(params.text_document.uri)
        if self._server.pushes:
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))


class HloServer(LanguageServer):
    """A language server for HLO.

    `pushes` is True if the server sends diagnostics on its own initiative, because the client does
    not request them.
    """

    def __init__(self, version: str) -> None:
        super().__init__("hlotool", version, protocol_cls=HloProtocol)
        self.session = Session()
        self.pushes = True
        self.is_done = False
        # The tasks of the commands that are running, by the id of the request.
        self.commands: dict[int | str, asyncio.Task[Any]] = {}
        # With two workers, a check need not wait for the edits of an action, which may take a long
        # time to compute.
        self._checks = ThreadPoolExecutor(max_workers=2, thread_name_prefix="check")
        self._last_checks: dict[str, Future[list[types.Diagnostic]]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._delay = _MIN_DELAY
        # The folder of the HTML pages that have been opened.
        self._pages: tempfile.TemporaryDirectory[str] | None = None
        _register(self)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Sends an error outside of requests to the client's log, or answers an invalid message."""
        if source is JsonRpcException:
            cast("HloProtocol", self.protocol).answer_invalid(error)
            return
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, f"hlotool: {type(error).__name__}: {error}"))

    # ---- checks ---------------------------------------------------------------------------------

    def check_later(self, document: Document, *, at_once: bool = False) -> None:
        """Checks a document and reports the findings, unless an edit comes first.

        Garbage is collected when the user pauses.
        """
        loop = asyncio.get_running_loop()
        self._start_timer(_GARBAGE, loop.call_later(_IDLE, gc.collect))
        if self.pushes:
            self._start_timer(document.uri, loop.call_later(0.0 if at_once else self._delay, self._check, document))

    def _start_timer(self, name: str, timer: asyncio.TimerHandle) -> None:
        """Registers a timer, and cancels the previous timer with this name."""
        last = self._timers.get(name)
        if last is not None:
            last.cancel()
        self._timers[name] = timer

    def _check(self, document: Document) -> None:
        self._timers.pop(document.uri, None)
        loop = asyncio.get_running_loop()

        def publish(check: Future[list[types.Diagnostic]]) -> None:
            loop.call_soon_threadsafe(self._publish, document, check)

        self._last_checks[document.uri] = last = self._checks.submit(self._timed_diagnostics, document)
        last.add_done_callback(publish)

    async def in_thread(self, function: Callable[[Document], Answer], document: Document) -> Answer:
        """Calls a function with a document in a thread, and returns the result.

        The thread is one of those that run checks, since the function may need the findings.
        """
        return await asyncio.wrap_future(self._checks.submit(function, document))

    def _timed_diagnostics(self, document: Document) -> list[types.Diagnostic]:
        if not self.session.is_current(document):
            return []
        start = perf_counter()
        found = self.session.diagnostics(document)
        self._delay = min(_MAX_DELAY, max(_MIN_DELAY, 2 * (perf_counter() - start)))
        return found

    def _publish(self, document: Document, check: Future[list[types.Diagnostic]]) -> None:
        if self._last_checks.get(document.uri) is not check:
            # A newer check has begun, since the settings have changed.
            return
        del self._last_checks[document.uri]
        error = check.exception()
        if error is not None and self.session.is_current(document):
            self.report_server_error(error if isinstance(error, Exception) else RuntimeError(str(error)), None)
        elif self.session.is_current(document):
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, check.result(), document.version))

    def check_all(self) -> None:
        """Reads settings files again, and checks all open documents."""
        self.session.forget_settings()
        for document in self.session.documents.values():
            self.check_later(document)
        if not self.pushes:
            self.workspace_diagnostic_refresh(None)

    # ---- output of commands ---------------------------------------------------------------------

    def log(self, text: str) -> str:
        """Writes `text` to the client's log, shows its first lines as a message, and returns it."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, text))
        if self.session.options.shows_output:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Info, beginning(text)))
        return text

    async def open_page(self, page: str) -> str:
        """Has the client open an HTML page in a browser, and returns the URI of the page.

        If the client cannot open it, logs and returns a message with the URI.
        """
        self._pages = self._pages or tempfile.TemporaryDirectory(prefix="hlotool-")
        uri = page_file(page, Path(self._pages.name))
        window = self.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            # A client that cannot open the page may also respond with an error.
            with suppress(JsonRpcException):
                shown = await self.window_show_document_async(types.ShowDocumentParams(uri, external=True))
                if shown.success:
                    return uri
        return self.log(f"the picture is in {uri}")

    def shutdown(self) -> None:
        """Ends the server."""
        for timer in self._timers.values():
            timer.cancel()
        self._checks.shutdown(wait=False, cancel_futures=True)
        if self._pages is not None:
            self._pages.cleanup()
        super().shutdown()  # type: ignore[no-untyped-call]


# ---- the table ---------------------------------------------------------------------------------


class Request(NamedTuple):
    """A request about a document: its method, the function that answers it, and its options.

    If `in_thread` is True, the request may take a long time, and other requests are answered
    meanwhile. Answers that are only shown come from the view of a document, which is available at
    once. Answers that change a document wait until the document has been read.
    """

    method: str
    answer: Callable[[Session, Document, Any], Any]
    options: Any = None
    in_thread: bool = False


_REQUESTS: tuple[Request, ...] = (
    Request(types.TEXT_DOCUMENT_FORMATTING, lambda s, d, p: formatting.format_document(d, s.options.config), in_thread=True),
    Request(types.TEXT_DOCUMENT_RANGE_FORMATTING, lambda s, d, p: formatting.format_range(d, p.range, s.options.config), in_thread=True),
    Request(
        types.TEXT_DOCUMENT_ON_TYPE_FORMATTING,
        lambda s, d, p: formatting.format_on_type(d, p.position, p.ch, s.options.config),
        types.DocumentOnTypeFormattingOptions("\n", ["}"]),
        in_thread=True,
    ),
    Request(types.TEXT_DOCUMENT_DEFINITION, lambda s, d, p: navigation.definition(d.view, p.position)),
    Request(
        types.TEXT_DOCUMENT_REFERENCES,
        lambda s, d, p: navigation.reference_locations(d.view, p.position, include_declaration=p.context.include_declaration),
    ),
    Request(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, lambda s, d, p: navigation.highlights(d.view, p.position)),
    Request(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, lambda s, d, p: _as_list(navigation.call_item(d.view, p.position))),
    Request(types.TEXT_DOCUMENT_DOCUMENT_LINK, lambda s, d, p: navigation.links(d.view), types.DocumentLinkOptions()),
    Request(types.TEXT_DOCUMENT_PREPARE_RENAME, lambda s, d, p: renaming.prepare_rename(d, p.position)),
    Request(
        types.TEXT_DOCUMENT_RENAME,
        lambda s, d, p: renaming.rename(d, p.position, p.new_name),
        types.RenameOptions(prepare_provider=True),
    ),
    Request(types.TEXT_DOCUMENT_HOVER, lambda s, d, p: make_readable(hover.hover(d.view, p.position), with_markdown=s.with_markdown)),
    Request(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, lambda s, d, p: symbols.document_symbols(d.view)),
    Request(types.TEXT_DOCUMENT_FOLDING_RANGE, lambda s, d, p: symbols.folding_ranges(d.view)),
    Request(
        types.TEXT_DOCUMENT_COMPLETION,
        lambda s, d, p: completion.complete(d, p.position, with_snippets=s.with_snippets),
        types.CompletionOptions(trigger_characters=["%", "(", ",", "=", "{", "[", " "], resolve_provider=True),
    ),
    Request(
        types.TEXT_DOCUMENT_SIGNATURE_HELP,
        lambda s, d, p: make_readable(signatures.signature(d, p.position), with_markdown=s.with_markdown),
        types.SignatureHelpOptions(trigger_characters=["(", ","]),
    ),
    Request(types.TEXT_DOCUMENT_INLAY_HINT, lambda s, d, p: hints.hints(d.view, p.range)),
    Request(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lambda s, d, p: tokens.tokens(d), tokens.LEGEND),
    Request(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, lambda s, d, p: tokens.tokens(d, p.range), tokens.LEGEND),
    Request(types.TEXT_DOCUMENT_CODE_LENS, lambda s, d, p: lenses.lenses(d.view), types.CodeLensOptions(resolve_provider=True)),
    Request(types.TEXT_DOCUMENT_SELECTION_RANGE, lambda s, d, p: symbols.selection_ranges(d.view, p.positions)),
)
"""The requests about an open document."""


def _as_list(value: Any) -> list[Any] | None:
    return None if value is None else [value]


def _guard(function: Callable[..., Any]) -> Callable[..., Any]:
    """Converts the exceptions of a function to errors of the protocol, without tracebacks."""

    def answer(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except JsonRpcException:
            raise
        except HlotoolError as error:
            raise RequestFailedError(str(error)) from None
        except Exception as error:
            raise JsonRpcException(f"a bug in hlotool: {type(error).__name__}: {error}") from None

    return answer


def _guard_coroutine(function: Callable[..., Any]) -> Callable[..., Any]:
    """Converts the exceptions of a coroutine function to errors, like `_guarded`."""

    async def answer(*arguments: Any) -> Any:
        try:
            return await function(*arguments)
        except (JsonRpcException, asyncio.CancelledError):
            raise
        except HlotoolError as error:
            raise RequestFailedError(str(error)) from None
        except Exception as error:
            raise JsonRpcException(f"a bug in hlotool: {type(error).__name__}: {error}") from None

    return answer


def _document_handler(server: HloServer, request: Request) -> Callable[[Any], Any]:
    def answer(params: Any) -> Any:
        document = server.session.documents.get(params.text_document.uri)
        return None if document is None else request.answer(server.session, document, params)

    return answer


def _threaded_document_handler(server: HloServer, request: Request) -> Callable[[Any], Any]:
    async def answer(params: Any) -> Any:
        document = server.session.documents.get(params.text_document.uri)
        return None if document is None else await server.in_thread(lambda d: request.answer(server.session, d, params), document)

    return answer


def _register(server: HloServer) -> None:
    """Registers all requests with pygls."""
    for request in _REQUESTS:
        make, guard = (_threaded_document_handler, _guard_coroutine) if request.in_thread else (_document_handler, _guard)
        server.feature(request.method, request.options)(guard(make(server, request)))
    for method, function, options in _other_requests(server):
        server.feature(method, options)(_guard_coroutine(function) if asyncio.iscoroutinefunction(function) else _guard(function))
    for name, command in COMMANDS.items():
        server.command(name)(_command(server, command))


def _command(server: HloServer, command: Command) -> Callable[..., Any]:
    async def run(*arguments: Any) -> Any:
        document = server.session.documents.get(str(arguments[0])) if arguments else None
        if document is None:
            raise HlotoolError("the document is not open")
        position = position_of(arguments[1] if len(arguments) > 1 else None)
        number, task = server.protocol.msg_id, asyncio.current_task()
        assert number is not None
        assert task is not None
        server.commands[number] = task
        try:
            invocation = await server.in_thread(lambda d: command.invocation(d, position), document)
            output = await execute(invocation, returns_page=command.answer != "log")
        finally:
            del server.commands[number]
        if command.answer == "page":
            return {"title": invocation.title, "html": output}
        return await server.open_page(output) if command.answer == "open" else server.log(output)

    return _guard_coroutine(run)


Row = tuple[str, Callable[..., Any], Any]
"""A method of the protocol, the function that answers it, and its registration options."""


def _other_requests(server: HloServer) -> Iterator[Row]:
    """Yields the requests and notifications that do not refer to one open document.

    Requests that wait for the findings in a document are included, too.
    """
    yield from _connection_requests(server)
    yield from _finding_requests(server)
    yield from _item_requests(server)


def _connection_requests(server: HloServer) -> Iterator[Row]:
    session = server.session

    def initialize(params: types.InitializeParams) -> None:
        session.adapt(params.capabilities)
        session.encoding = str(getattr(server.workspace.position_encoding, "value", server.workspace.position_encoding))
        server.pushes = not session.can_pull
        if server.pushes:
            # If this request remained, a client that can request findings would get them twice.
            server.protocol.fm.features.pop(types.TEXT_DOCUMENT_DIAGNOSTIC, None)
        try:
            session.options = ClientOptions.of(params.initialization_options)
        except HlotoolError as error:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"hlotool: {error}"))

    def settings_changed(params: Any) -> None:
        server.check_all()

    def shut_down(params: Any) -> None:
        server.is_done = True

    yield types.INITIALIZE, initialize, None
    yield types.WORKSPACE_DID_CHANGE_CONFIGURATION, settings_changed, None
    yield types.WORKSPACE_DID_CHANGE_WATCHED_FILES, settings_changed, None
    yield types.TEXT_DOCUMENT_DID_SAVE, settings_changed, None
    yield types.SHUTDOWN, shut_down, None


def _finding_requests(server: HloServer) -> Iterator[Row]:
    session = server.session

    async def diagnostic(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport | None:
        document = session.documents.get(params.text_document.uri)
        items = [] if document is None else await server.in_thread(session.diagnostics, document)
        return types.RelatedFullDocumentDiagnosticReport(items=items)

    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        document = session.documents.get(params.text_document.uri)
        if document is None:
            return None
        return await server.in_thread(lambda d: actions.actions(d, params.range, params.context, session.action_request(d)), document)

    async def resolve_action(action: types.CodeAction) -> types.CodeAction:
        document = session.document_of(action.data)
        if document is None:
            return actions.resolve(None, action, actions.ActionRequest([], None))
        return await server.in_thread(lambda d: actions.resolve(d, action, session.action_request(d)), document)

    pull = types.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False, identifier="hlotool")
    yield types.TEXT_DOCUMENT_DIAGNOSTIC, diagnostic, pull
    yield types.TEXT_DOCUMENT_CODE_ACTION, code_actions, types.CodeActionOptions(list(actions.KINDS), resolve_provider=True)
    yield types.CODE_ACTION_RESOLVE, resolve_action, None


def _item_requests(server: HloServer) -> Iterator[Row]:
    session = server.session

    def view_of_item(params: Any) -> Document | None:
        document = session.documents.get(params.item.uri)
        return None if document is None else document.view

    def incoming(params: types.CallHierarchyIncomingCallsParams) -> Any:
        document = view_of_item(params)
        return None if document is None else navigation.incoming_calls(document, params.item)

    def outgoing(params: types.CallHierarchyOutgoingCallsParams) -> Any:
        document = view_of_item(params)
        return None if document is None else navigation.outgoing_calls(document, params.item)

    def search(params: types.WorkspaceSymbolParams) -> Any:
        return symbols.workspace_symbols([document.view for document in session.documents.values()], params.query)

    yield types.CODE_LENS_RESOLVE, lambda lens: lenses.resolve(session.document_of(lens.data), lens), None
    yield types.COMPLETION_ITEM_RESOLVE, lambda item: make_readable(completion.describe(item), with_markdown=session.with_markdown), None
    yield types.CALL_HIERARCHY_INCOMING_CALLS, incoming, None
    yield types.CALL_HIERARCHY_OUTGOING_CALLS, outgoing, None
    yield types.WORKSPACE_SYMBOL, search, None


def serve(version: str, port: int | None = None) -> bool:
    """Serves one client until it disconnects. Returns whether the client requested a shutdown.

    The connection uses standard input and output, or a port of this computer.
    """
    log = logging.getLogger("pygls")
    # Tracebacks of pygls are not for users; the responses contain the errors.
    if not os.environ.get("HLOTOOL_DEBUG"):
        log.addHandler(logging.NullHandler())
        log.propagate = False
    # Garbage collection would block a user who is typing. Most objects that edits leave behind
    # are freed without it.
    gc.disable()
    server = HloServer(version)
    if port is None:
        # pygls closes its streams, but the process may write more when it exits.
        _start(server, os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    else:
        with socket.create_server(("127.0.0.1", port)) as listener:
            connection = listener.accept()[0]
        with connection, connection.makefile("rb") as reader, connection.makefile("wb") as writer:
            _start(server, reader, writer)
    return server.is_done


def _start(server: HloServer, reader: BinaryIO, writer: BinaryIO) -> None:
    server.start_io(cast("BinaryIO", MessageReader(reader)), writer)
