"""Reports about a whole run: SARIF, JUnit XML and a table in Markdown.

Formats with one record for each finding are in `render_records`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import hlotool
from hlotool.cli.explain import explain
from hlotool.cli.output import visible
from hlotool.cli.rendering.render import Style
from hlotool.cli.rendering.render_records import fingerprint
from hlotool.codes import CODE_NAMES, severity_of, summary_of
from hlotool.errors import Diagnostic, Edit
from hlotool.verifier.explanations import RuleExplanation, explain_rule, page_of
from hlotool.workspace.findings import FileFinding

__all__ = ["junit", "markdown", "sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Yields SARIF 2.1.0: one run, with the rules that have findings."""
    diagnostics = [finding.diagnostic for finding in findings]
    codes = sorted({d.code for d in diagnostics})
    rules = [
        {
            "id": code,
            "name": CODE_NAMES.get(code, code),
            "shortDescription": {"text": summary_of(code)},
            "fullDescription": {"text": _full_description(explain_rule(code))},
            "helpUri": page_of(code),
            "help": {"text": explain(code, "text"), "markdown": explain(code, "markdown")},
            "defaultConfiguration": {"level": _level(severity_of(code))},
        }
        for code in codes
    ]
    indices = {code: k for k, code in enumerate(codes)}
    seen: Counter[str] = Counter()
    results = []
    for d in diagnostics:
        identity = fingerprint(d)
        seen[identity] += 1
        results.append(_result(d, indices[d.code], f"{identity}:{seen[identity]}"))
    driver = {"name": "hlotool", "version": hlotool.__version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    yield json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _full_description(rule: RuleExplanation) -> str:
    return " ".join(part[:1].upper() + part[1:].rstrip(".") + "." for part in (rule.summary, rule.why) if part)


def _level(severity: str) -> str:
    return {"error": "error", "warning": "warning"}.get(severity, "note")


def _result(d: Diagnostic, rule_index: int, identity: str) -> dict[str, Any]:
    uri = quote(d.filename.encode("utf-8", "surrogateescape"))
    region = {"startLine": d.line, "startColumn": d.column, "endLine": d.end_line, "endColumn": d.end_column}
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
    if d.computation:
        name = f"{d.computation}/{d.instruction}" if d.instruction else d.computation
        location["logicalLocations"] = [{"name": d.instruction or d.computation, "fullyQualifiedName": name}]
    lines = [d.message, *d.notes, *([f"hint: {d.hint}"] if d.hint else [])]
    result: dict[str, Any] = {
        "ruleId": d.code,
        "ruleIndex": rule_index,
        "level": _level(d.severity),
        "message": {"text": "\n".join(lines)},
        "locations": [location],
        "partialFingerprints": {"hlotool/v1": identity},
    }
    if d.fix is not None:
        changes = [{"artifactLocation": {"uri": uri}, "replacements": [_replacement(edit) for edit in d.fix.edits]}]
        result["fixes"] = [{"description": {"text": d.fix.title}, "artifactChanges": changes}]
    return result


def _replacement(edit: Edit) -> dict[str, Any]:
    return {"deletedRegion": {"charOffset": edit.start, "charLength": edit.end - edit.start}, "insertedContent": {"text": edit.text}}


def junit(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Yields JUnit XML with a test suite for each file.

    A suite has a failed test for each error or warning, and a skipped test for each finding of
    severity `info`. A suite without findings has one test that passes.
    """
    files: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        files.setdefault(finding.diagnostic.filename, []).append(finding.diagnostic)
    # The list of files is complete once all findings have been read. Files are in the order of the
    # command line.
    files = {name: files.get(name, []) for name in dict.fromkeys([*style.files, *files])}
    suites = Element("testsuites", name="hlotool")
    totals: Counter[str] = Counter()
    for name, diagnostics in files.items():
        suite = SubElement(suites, "testsuite", name=_xml(name))
        counts = Counter(tests=max(1, len(diagnostics)), skipped=sum(d.severity == "info" for d in diagnostics), errors=0)
        counts["failures"] = len(diagnostics) - counts["skipped"]
        totals.update(counts)
        for attribute in ("tests", "failures", "errors", "skipped"):
            suite.set(attribute, str(counts[attribute]))
        if not diagnostics:
            SubElement(suite, "testcase", name="no findings", classname=_xml(name))
        for d in diagnostics:
            case = SubElement(suite, "testcase", name=_xml(f"{d.code} {d.name} at {d.line}:{d.column}"), classname=_xml(name))
            if d.severity == "info":
                SubElement(case, "skipped", message=_xml(d.message))
                continue
            failure = SubElement(case, "failure", type=d.severity, message=_xml(d.message))
            lines = [str(d), *(f"note: {note}" for note in d.notes), *([f"hint: {d.hint}"] if d.hint else [])]
            failure.text = "\n".join(map(_xml, lines))
    for attribute in ("tests", "failures", "errors", "skipped"):
        suites.set(attribute, str(totals[attribute]))
    indent(suites)
    yield '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suites, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Escapes the characters that are not allowed in XML."""
    return visible(text).encode("utf-8", "backslashreplace").decode()


def markdown(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Yields a Markdown table, for comments on pull requests and for job summaries."""
    is_first = True
    for finding in findings:
        d = finding.diagnostic
        if is_first:
            yield "| location | severity | rule | message |\n|---|---|---|---|\n"
            is_first = False
        hint = f"<br>{_cell(d.hint)}" if d.hint else ""
        yield f"| {_cell(f'{d.filename}:{d.line}:{d.column}')} | {d.severity} | {d.code} {d.name} | {_cell(d.message)}{hint} |\n"
    if is_first:
        yield "No findings.\n"


_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def _cell(text: str) -> str:
    return visible(text).translate(_SPECIAL)
