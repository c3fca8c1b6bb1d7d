"""A client of the language server protocol.

It sends plain JSON to the standard input of `hlotool lsp`, and reads the responses.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["Client", "RequestError"]

Json = Any
_CAPABILITIES: Json = {"textDocument": {"publishDiagnostics": {"relatedInformation": True, "tagSupport": {"valueSet": [1, 2]}}}}


class RequestError(Exception):
    """Raised if the response to a request is an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class Client:
    """A connection to a new server process.

    A wait that takes longer than `timeout` seconds raises queue.Empty.
    """

    def __init__(
        self,
        timeout: float = 60.0,
        capabilities: Json = _CAPABILITIES,
        options: Json = None,
        folder: Path | None = None,
        program: Sequence[str] = ("-m", "hlotool"),
        is_initialized: bool = True,
    ) -> None:
        self.timeout = timeout
        command = [sys.executable, *program, "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        self.answers: queue.Queue[Json] = queue.Queue()
        self.notifications: queue.Queue[Json] = queue.Queue()
        self.count = 0
        self.sending = threading.Lock()
        # The response to the server's own requests, for example to open a web page.
        self.reply: Json = {"result": {"success": True}}
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.options = options
        self.asked_capabilities = capabilities
        if is_initialized:
            self.initialize()

    def initialize(self) -> None:
        """Initializes the session."""
        params = {"processId": None, "rootUri": None, "capabilities": self.asked_capabilities, "initializationOptions": self.options}
        self.capabilities = self.request("initialize", params)["capabilities"]
        self.notify("initialized", {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            assert self.close() == ""
            return
        self.process.kill()
        self._finish()

    def close(self) -> str:
        """Stops the server, and returns the contents of its standard error."""
        self.request("shutdown", None)
        self.notify("exit", None)
        code, said = self._finish()
        assert code == 0
        return said

    def leave(self) -> int:
        """Closes the connection without a message, and returns the server's exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self._finish()[0]

    def _finish(self) -> tuple[int, str]:
        """Returns the exit code of the server and the contents of its standard error."""
        code = self.process.wait(self.timeout)
        self.reader.join(self.timeout)
        assert self.process.stderr is not None
        said = self.process.stderr.read().decode()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code, said

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            if not line.startswith(b"Content-Length:"):
                continue
            size = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            message = json.loads(stream.read(size))
            if "method" not in message:
                self.answers.put(message)
            else:
                self.notifications.put(message)
                if "id" in message:
                    self.send({"jsonrpc": "2.0", "id": message["id"], **self.reply})

    def send(self, message: Json) -> None:
        """Sends any value as a message."""
        self.send_bytes(json.dumps(message).encode())

    def send_bytes(self, body: bytes) -> None:
        """Sends bytes as the body of a message."""
        assert self.process.stdin is not None
        with self.sending:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()

    def notify(self, method: str, params: Json) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Json) -> Json:
        """Returns the result of a request. Raises RequestError if the response is an error."""
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        if params is None:
            del message["params"]
        self.send(message)
        answer = self.answers.get(timeout=self.timeout)
        assert answer["id"] == self.count
        if "error" in answer:
            raise RequestError(answer["error"])
        return answer["result"]

    # ---- documents ----------------------------------------------------------------------------------------------------

    def open(self, uri: str, text: str, version: int = 1) -> None:
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "hlo", "version": version, "text": text}})

    def change(self, uri: str, version: int, *changes: Json) -> None:
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)})

    def about(self, method: str, uri: str, **params: Json) -> Json:
        """Returns the result of the request `textDocument/METHOD` for a document."""
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, **params})

    def diagnostics(self, uri: str, version: int | None) -> Json:
        """Returns the diagnostics that the server publishes for a version of a document.

        After the document has been closed, the version is None.
        """
        while True:
            message = self.notifications.get(timeout=self.timeout)
            params = message.get("params") or {}
            if message["method"] == "textDocument/publishDiagnostics" and params["uri"] == uri and params.get("version") == version:
                return params["diagnostics"]
