"""Checks sessions with the language server: messages of a client, and the responses to them.

A session is a transcript (see `checks.transcripts`). Its steps are:

* `open NAME` opens the document `file:///NAME.hlo`, whose text is in the continued lines.
  `use NAME` makes later steps refer to it again. `close` and `save` are notifications about it.
* `change AREA "text"` replaces an area, any number of them; `change "text"` replaces the document.
* `METHOD WORDS` sends a request or a notification. Without a slash, the method begins with
  `textDocument/`, and the document is added to its parameters. The other parameters are positions,
  areas and `name=JSON`.
* `resolve METHOD WORDS` sends an item of the last result: the one whose title, label or number is
  given. Call hierarchies have the item as a parameter.
* `async METHOD WORDS` does not wait for the response; `answer` does.
* `await METHOD` waits for a notification or a request of the server, and shows its parameters.
* `send JSON` and `bytes JSON` send any message or any bytes, and `bytes` may contain escapes.
* `initialize {...}`, as the first step, sets `capabilities` and `initializationOptions`; other
  sessions have a client that requests findings. `connect` opens a connection without it.
* `end` closes the connection, and shows whether the client has requested a shutdown.

A position is LINE:COLUMN, LINE:WORD for the first place of a word in a line, LINE:WORD+2 for an
offset in it, or LINE:$ for the end of the line. An area is POSITION..POSITION. Numbers count from 1.
"""

from __future__ import annotations

import json
import os
import re
import select
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from case_files import Case

from checks.common import Mismatch, same
from checks.transcripts import Step, read_steps, transcript
from hlotool.server import server
from hlotool.server.tokens import LEGEND

__all__ = ["conversed", "session_text"]

Json = Any
_TIMEOUT = 20.0
_CAPABILITIES = {"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": True}}}
_NOTIFICATIONS = ("textDocument/did", "workspace/did", "initialized", "exit", "$/", "notebookDocument/did")
_WORD = re.compile(r'(?P<name>[A-Za-z]+)=|(?P<text>["\[{])|(?P<plain>\S+)')
_POSITION = re.compile(r"(?P<line>-?\d+):(?P<at>\S+?)(?:\+(?P<shift>\d+))?\Z")
_DEFAULTS: dict[str, Json] = {
    "textDocument/codeAction": {"context": {"diagnostics": []}},
    "textDocument/references": {"context": {"includeDeclaration": True}},
    "textDocument/formatting": {"options": {"tabSize": 2, "insertSpaces": True}},
    "textDocument/rangeFormatting": {"options": {"tabSize": 2, "insertSpaces": True}},
    "textDocument/onTypeFormatting": {"options": {"tabSize": 2, "insertSpaces": True}},
}
# Of longer lists, only the first and the last items are shown.
_MAX_ITEMS = 16
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def conversed(path: Path, case: Case) -> None:
    same(case.text, session_text(path, case), "the session differs")


def session_text(path: Path, case: Case) -> str:
    """Returns the session with the responses of the server."""
    steps = list(read_steps(case.text))
    client = _Client()
    try:
        if not steps[0].line.startswith(("initialize", "connect")):
            client.initialize({"capabilities": _CAPABILITIES})
        answers = [client.answer(step) for step in steps]
        answers[-1] = [*answers[-1], *client.leave()]
    finally:
        client.close()
    return transcript(case.text, answers)


class _Connection:
    """A connection with a server that runs in a thread of this process."""

    def __init__(self) -> None:
        self.server = server.HloServer("0")
        sent, self._write = os.pipe()
        self._read, received = os.pipe()
        self._streams = [os.fdopen(sent, "rb"), os.fdopen(received, "wb")]
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()
        self.count = 0
        self.buffer = b""
        self.is_open = True
        self.notes: list[Json] = []
        self.reply: Json = {"result": {"success": True}}

    def _serve(self) -> None:
        reader, writer = self._streams
        server._start(self.server, reader, writer)  # type: ignore[arg-type]
        with suppress(OSError, ValueError):
            writer.close()

    def close(self) -> None:
        """Closes the connection, and waits for the server."""
        if self.is_open:
            self.is_open = False
            os.close(self._write)
            self._thread.join(_TIMEOUT)
            os.close(self._read)
            for stream in self._streams:
                with suppress(OSError, ValueError):
                    stream.close()

    # ---- messages -----------------------------------------------------------------------------

    def send(self, message: Json) -> None:
        body = json.dumps(message).encode()
        self.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._write, data) :]

    def receive(self) -> Json:
        """Returns the next message of the server."""
        while True:
            head, mark, rest = self.buffer.partition(b"\r\n\r\n")
            if mark:
                size = int(head.split(b"Content-Length:")[1].split(b"\r\n")[0])
                if len(rest) >= size:
                    self.buffer = rest[size:]
                    message = json.loads(rest[:size])
                    if message.get("jsonrpc") != "2.0":
                        raise Mismatch(f"the message has no version: {message}")
                    return message
            if not select.select([self._read], [], [], _TIMEOUT)[0]:
                raise Mismatch(f"no message for {_TIMEOUT:.0f} seconds")
            data = os.read(self._read, 1 << 16)
            if not data:
                raise Mismatch("the server has closed the connection")
            self.buffer += data

    def response(self) -> Json:
        """Returns the next response; stores notifications, and answers requests of the server."""
        while True:
            message = self.receive()
            if "method" not in message:
                return message
            self._note(message)

    def _note(self, message: Json) -> None:
        self.notes.append(message)
        if "id" in message:
            self.send({"jsonrpc": "2.0", "id": message["id"], **self.reply})

    def start(self, method: str, params: Json) -> None:
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method}
        self.send(message if params is None else {**message, "params": params})

    def request(self, method: str, params: Json) -> Json:
        self.start(method, params)
        return self.response()


class _Client(_Connection):
    """A client that runs the steps of a session."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[str] = []
        self.last: Json = None
        self.name = ""
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.encoding = "utf-16"

    def leave(self) -> list[str]:
        """Ends the session if the script has not ended it. Returns unexpected messages."""
        if not self.is_open:
            return []
        # pygls also logs the errors in responses.
        logged = [note for note in self.notes if any(error in (note.get("params") or {}).get("message", "") for error in self.errors)]
        kept = [note for note in self.notes if note["method"] != "textDocument/publishDiagnostics" and note not in logged]
        with suppress(BrokenPipeError):
            self.request("shutdown", None)
            self.send({"jsonrpc": "2.0", "method": "exit"})
        return [f"also {note['method']} {json.dumps(note['params'])}" for note in kept]

    def initialize(self, params: Json) -> Json:
        response = self.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}, **params})
        self.encoding = response["result"]["capabilities"]["positionEncoding"]
        self.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
        return response

    # ---- steps --------------------------------------------------------------------------------

    def answer(self, step: Step) -> list[str]:
        """Performs a step, and returns the response as lines, or the mistake in the step."""
        try:
            return self.step(step)
        except Mismatch as mismatch:
            return [f"mistake: {mismatch}"]

    def step(self, step: Step) -> list[str]:
        """Performs a step, and returns the response as lines."""
        word, _, rest = step.line.partition(" ")
        special = getattr(self, f"do_{word}", None)
        if special is not None:
            lines: list[str] = special(rest, step.more)
            return lines
        method, params = self._message(word, rest)
        if method.startswith(_NOTIFICATIONS):
            self.send({"jsonrpc": "2.0", "method": method, "params": params})
            return []
        return self._shown(self.request(method, params))

    def _message(self, word: str, rest: str) -> tuple[str, Json]:
        is_plain = word in {"shutdown", "exit"} or ("/" in word and not word.startswith("semanticTokens"))
        method = word if is_plain else f"textDocument/{word}"
        params: Json = {} if is_plain else {"textDocument": {"uri": self.uri}}
        params = {**params, **_DEFAULTS.get(method, {})}
        positions = []
        for name, value in self._words(rest):
            if name:
                params[name] = value
            elif isinstance(value, dict) and "start" in value:
                params["range"] = value
            else:
                positions.append(value)
        if method == "textDocument/selectionRange":
            params["positions"] = positions
        elif positions:
            (params["position"],) = positions
        return method, params if params or "/" in method else None

    def _words(self, rest: str) -> list[tuple[str, Json]]:
        """Returns the parameters of a step: pairs of a name, which may be empty, and a value."""
        found, at = [], 0
        while match := _WORD.match(rest, at):
            if match["plain"] is not None:
                start, mark, end = match["plain"].partition("..")
                position = self._position(start)
                found.append(("", {"start": position, "end": self._position(end)} if mark else position))
                at = match.end()
            else:
                value, at = json.JSONDecoder().raw_decode(rest, match.end() if match["name"] else match.start())
                found.append((match["name"] or "", value))
            at += len(rest[at:]) - len(rest[at:].lstrip())
        return found

    @property
    def uri(self) -> str:
        return f"file:///{self.name}.hlo"

    def _position(self, word: str) -> Json:
        match = _POSITION.match(word)
        if match is None:
            raise Mismatch(f"'{word}' is not a position")
        number, at = int(match["line"]) - 1, match["at"]
        lines = re.split(r"\r\n|\n|\r", self.texts.get(self.name, ""))
        line = lines[number] if 0 <= number < len(lines) else ""
        if at.isdecimal():
            return {"line": number, "character": int(at) - 1}
        index = len(line) if at == "$" else line.find(at)
        if index < 0:
            raise Mismatch(f"line {number + 1} does not contain '{at}'")
        codec, width = _CODECS[self.encoding]
        return {"line": number, "character": len(line[: index + int(match["shift"] or 0)].encode(codec)) // width}

    def _offset(self, position: Json) -> int:
        text = self.texts[self.name]
        starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]
        if position["line"] >= len(starts):
            return len(text)
        codec, width = _CODECS[self.encoding]
        line = re.split(r"\r\n|\n|\r", text[starts[position["line"]] :])[0]
        return starts[position["line"]] + len(line.encode(codec)[: position["character"] * width].decode(codec, "ignore"))

    def do_initialize(self, rest: str, more: tuple[str, ...]) -> list[str]:
        response = self.initialize(json.loads(rest or "{}"))
        return [] if rest else self._shown(response)

    def do_connect(self, rest: str, more: tuple[str, ...]) -> list[str]:
        return []

    def do_open(self, rest: str, more: tuple[str, ...]) -> list[str]:
        self.name = rest
        self.texts[rest], self.versions[rest] = "\n".join([*more, ""]), 1
        item = {"uri": self.uri, "languageId": "hlo", "version": 1, "text": self.texts[rest]}
        self.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})
        return []

    def do_use(self, rest: str, more: tuple[str, ...]) -> list[str]:
        self.name = rest
        return []

    def do_change(self, rest: str, more: tuple[str, ...]) -> list[str]:
        changes, area = [], None
        # Each area refers to the text after the previous change.
        for word in re.findall(r'"(?:[^"\\]|\\.)*"|\S+', rest):
            if not word.startswith('"'):
                area = dict(zip(("start", "end"), map(self._position, word.split("..")), strict=True))
                continue
            text, old = json.loads(word), self.texts[self.name]
            if area is None:
                self.texts[self.name] = text
            else:
                low, high = sorted((self._offset(area["start"]), self._offset(area["end"])))
                self.texts[self.name] = old[:low] + text + old[high:]
            changes.append({"text": text} if area is None else {"range": area, "text": text})
            area = None
        self.versions[self.name] += 1
        document = {"uri": self.uri, "version": self.versions[self.name]}
        params = {"textDocument": document, "contentChanges": changes}
        self.send({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params})
        return []

    def do_close(self, rest: str, more: tuple[str, ...]) -> list[str]:
        self.send({"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": self.uri}}})
        return []

    def do_save(self, rest: str, more: tuple[str, ...]) -> list[str]:
        self.send({"jsonrpc": "2.0", "method": "textDocument/didSave", "params": {"textDocument": {"uri": self.uri}}})
        return []

    def do_resolve(self, rest: str, more: tuple[str, ...]) -> list[str]:
        method, _, wanted = rest.partition(" ")
        items = self.last["items"] if isinstance(self.last, dict) else self.last
        if wanted.isdecimal():
            item = items[int(wanted)] if int(wanted) < len(items) else None
        else:
            item = next((item for item in items if wanted in (item.get("title"), item.get("label"))), None)
        if item is None:
            raise Mismatch(f"there is no item '{wanted}'")
        kept = self.last
        lines = self._shown(self.request(method, {"item": item} if method.startswith("callHierarchy") else item))
        self.last = kept
        return lines

    def do_async(self, rest: str, more: tuple[str, ...]) -> list[str]:
        word, _, rest = rest.partition(" ")
        self.start(*self._message(word, rest))
        return []

    def do_answer(self, rest: str, more: tuple[str, ...]) -> list[str]:
        return self._shown(self.response())

    def do_await(self, rest: str, more: tuple[str, ...]) -> list[str]:
        while not any(note["method"] == rest for note in self.notes):
            self._note(self.receive())
        note = next(note for note in self.notes if note["method"] == rest)
        self.notes.remove(note)
        return self._rendered(note.get("params"))

    def do_reply(self, rest: str, more: tuple[str, ...]) -> list[str]:
        self.reply = json.loads(rest)
        return []

    def do_send(self, rest: str, more: tuple[str, ...]) -> list[str]:
        self.send(json.loads(rest))
        return self._shown(self.response())

    def do_bytes(self, rest: str, more: tuple[str, ...]) -> list[str]:
        self.write(json.loads(rest).encode("latin-1"))
        return self._shown(self.response())

    def do_end(self, rest: str, more: tuple[str, ...]) -> list[str]:
        self.close()
        return [f"shutdown requested: {self.server.is_done}"]

    # ---- responses as lines -------------------------------------------------------------------

    def _shown(self, response: Json) -> list[str]:
        if "error" in response:
            self.errors.append(response["error"]["message"])
            number = "" if response.get("id") == self.count else f" (id {json.dumps(response.get('id'))})"
            return [f"error {response['error']['code']}{number}: {response['error']['message']}"]
        self.last = response["result"]
        return self._rendered(self.last)

    def _rendered(self, value: Json) -> list[str]:
        """Returns lines that show a value; ranges are shown with their text."""
        if isinstance(value, list):
            lines = []
            shown = value if len(value) <= _MAX_ITEMS else [*value[: _MAX_ITEMS // 2], *value[-_MAX_ITEMS // 2 :]]
            for item in shown:
                first, *rest = self._rendered(item)
                lines += [f"- {first}", *(f"  {line}".rstrip() for line in rest)]
            return [*lines, *[f"({len(value)} items)"] * (shown is not value)] or ["[]"]
        if not isinstance(value, dict):
            return self._scalar(value)
        if value.keys() == {"line", "character"}:
            return [f"{value['line'] + 1}:{value['character'] + 1}"]
        if value.keys() == {"start", "end"}:
            return [self._area(value)]
        if value.keys() == {"data"} and isinstance(value["data"], list):
            return self._tokens(value["data"]) or ["no tokens"]
        parts = [(key, self._rendered(part)) for key, part in value.items()]
        if all(len(part) == 1 for _, part in parts) and sum(len(key) + len(part[0]) + 3 for key, part in parts) < 130:
            return [f"{{{', '.join(f'{key}: {part[0]}' for key, part in parts)}}}"]
        lines = []
        for key, part in parts:
            lines += [f"{key}: {part[0]}"] if len(part) == 1 else [f"{key}:", *(f"  {line}".rstrip() for line in part)]
        return lines

    def _scalar(self, value: Json) -> list[str]:
        if isinstance(value, str) and value.startswith("file:///"):
            return [value.removeprefix("file:///").removesuffix(".hlo")]
        if isinstance(value, str) and "\n" in value.rstrip("\n"):
            return [f"| {line}".rstrip() for line in value.split("\n")]
        return [json.dumps(value, ensure_ascii=False)]

    def _area(self, area: Json) -> str:
        start, end = ({key: number + 1 for key, number in area[side].items()} for side in ("start", "end"))
        if start["line"] != end["line"]:
            return f"{start['line']}:{start['character']}-{end['line']}:{end['character']}"
        text = self.texts.get(self.name, "")[self._offset(area["start"]) : self._offset(area["end"])] if self.name in self.texts else ""
        return f"{start['line']}:{start['character']}-{end['character']}" + f" {text if text.isprintable() else ascii(text)}" * bool(text)

    def _tokens(self, data: list[int]) -> list[str]:
        lines, line, column = [], 0, 0
        for down, right, length, kind, modifiers in zip(*[iter(data)] * 5, strict=True):
            line, column = line + down, right if down else column + right
            words = [LEGEND.token_types[kind], *(name for bit, name in enumerate(LEGEND.token_modifiers) if modifiers >> bit & 1)]
            position = {"line": line, "character": column}
            lines.append(f"{self._area({'start': position, 'end': {**position, 'character': column + length}})}: {' '.join(words)}")
        return lines
