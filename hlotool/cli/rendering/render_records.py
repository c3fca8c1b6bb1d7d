"""Diagnostics for programs, with one record for each finding.

The formats are several kinds of JSON, and annotations for GitHub. Reports that need all findings at
once are in `render_reports`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from hlotool.cli.output import visible
from hlotool.cli.rendering.render import Style
from hlotool.errors import Diagnostic
from hlotool.workspace.findings import FileFinding

__all__ = ["fingerprint", "github", "gitlab", "json_array", "json_lines", "null", "rdjson", "record_of"]

_FIELDS = (
    "filename", "line", "column", "end_line", "end_column", "code", "name", "severity", "message", "hint", "notes", "computation", "instruction",
    "op_name", "source_file", "source_line", "others",
)  # fmt: skip


def record_of(d: Diagnostic) -> dict[str, Any]:
    """Returns the fields of a diagnostic.

    The edits of a fix consist of offsets into the file and replacement strings.
    """
    record: dict[str, Any] = {field: getattr(d, field) for field in _FIELDS}
    fix = d.fix
    record["fix"] = None if fix is None else {"title": fix.title, "is_safe": fix.is_safe, "edits": [edit._asdict() for edit in fix.edits]}
    return record


def fingerprint(d: Diagnostic) -> str:
    """Returns a hash of file, code, computation, instruction and message.

    The hash does not depend on line numbers.

    >>> fingerprint(Diagnostic("T003", "result-shape", "error", "m", line=1)) == fingerprint(Diagnostic("T003", "result-shape", "error", "m", line=9))
    True
    """
    identity = "\0".join((d.filename, d.code, d.computation or "", d.instruction or "", d.message))
    return hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _dumps(value: Any) -> str:
    return json.dumps(value)


def _array(records: Iterable[Any]) -> Iterator[str]:
    before = "[\n"
    for record in records:
        yield f"{before}  {_dumps(record)}"
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def json_array(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Returns the pieces of a JSON array with one object per line."""
    return _array(record_of(finding.diagnostic) for finding in findings)


def json_lines(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Yields one JSON object per line."""
    for finding in findings:
        yield _dumps(record_of(finding.diagnostic)) + "\n"


def null(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Yields nothing, for users who only need the exit code."""
    for _ in findings:
        pass
    yield from ()


# ---- GitHub ------------------------------------------------------------------------------------


def github(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Yields annotations for GitHub Actions."""
    for finding in findings:
        d = finding.diagnostic
        level = {"error": "error", "warning": "warning"}.get(d.severity, "notice")
        location = f"file={_property(d.filename)},line={d.line},endLine={d.end_line},col={d.column},endColumn={d.end_column}"
        message = d.message + "".join(f"\n{note}" for note in d.notes) + (f"\nhint: {d.hint}" if d.hint else "")
        yield f"::{level} {location},title={_property(f'{d.code} {d.name}')}::{_data(message)}\n"


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return visible(escaped)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# ---- others ------------------------------------------------------------------------------------


def gitlab(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Returns the pieces of a code quality report for GitLab."""
    seen: Counter[str] = Counter()
    severities = {"error": "major", "warning": "minor"}

    def records() -> Iterator[dict[str, Any]]:
        for finding in findings:
            d = finding.diagnostic
            identity = fingerprint(d)
            seen[identity] += 1
            # GitLab rejects reports in which a fingerprint occurs twice.
            unique = identity if seen[identity] == 1 else hashlib.sha256(f"{identity} {seen[identity]}".encode()).hexdigest()[:32]
            yield {
                "description": f"{d.name}: {d.message}",
                "check_name": d.code,
                "fingerprint": unique,
                "severity": severities.get(d.severity, "info"),
                "location": {"path": d.filename, "lines": {"begin": d.line}},
            }

    return _array(records())


def rdjson(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Yields diagnostics in the format of reviewdog, which counts columns in bytes."""
    yield '{"source": {"name": "hlotool"}, "diagnostics": [\n'
    before = ""
    for finding in findings:
        d = finding.diagnostic
        end = {"line": d.end_line, "column": _byte_column(finding.line, d.end_column) if d.end_line == d.line else d.end_column}
        record = {
            "message": f"{d.name}: {d.message}" + (f"\nhint: {d.hint}" if d.hint else ""),
            "location": {"path": d.filename, "range": {"start": {"line": d.line, "column": _byte_column(finding.line, d.column)}, "end": end}},
            "severity": {"error": "ERROR", "warning": "WARNING"}.get(d.severity, "INFO"),
            "code": {"value": d.code},
        }
        yield f"{before}  {_dumps(record)}"
        before = ",\n"
    yield "\n]}\n" if before else "]}\n"


def _byte_column(line: str, column: int) -> int:
    before = line[: column - 1]
    return column if before.isascii() else len(before.encode("utf-8", "surrogateescape")) + column - len(before)
