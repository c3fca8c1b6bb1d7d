"""Entry points of the parser, which detect the form of the text and report all errors at once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from hlotool.collection import no_garbage_collection
from hlotool.errors import Diagnostic, ParseError, Source
from hlotool.ir.model import Module, set_field
from hlotool.ir.names import unique_names
from hlotool.shapes.shape import ProgramShape, with_default_order
from hlotool.text.parse.builder import MAX_DIAGNOSTICS, ModuleBuilder
from hlotool.text.parse.driver import parse_with_recovery
from hlotool.text.parse.fast_path import FastPath
from hlotool.text.parse.other_formats import describe_other_format
from hlotool.text.parse.session import ParseSession
from hlotool.text.source.tokens import NAME
from hlotool.text.source.trivia import TRIVIA

__all__ = [
    "Part",
    "as_text",
    "decode_text",
    "form_of",
    "has_log_prefixes",
    "parse",
    "parse_all",
    "parse_each",
    "parse_file",
    "parse_source",
    "parts_of",
    "read_source",
]

# The same test as XLA's: the first token is HloModule or ENTRY, or the second is a brace.
_MODULE = re.compile(rf"{TRIVIA}HloModule(?![A-Za-z0-9_.\-:=])")
_HEADERLESS = re.compile(rf"{TRIVIA}(?:ENTRY(?![A-Za-z0-9_.\-:=])|%?{NAME}:?{TRIVIA}\{{)")
_SEPARATOR = re.compile(r"^// -----[^\n]*(?:\n|\Z)", re.MULTILINE)
# Surrogates that decoding never produces. All other surrogates are surrogate escapes of bytes that
# are not UTF-8.
_LONE_SURROGATE = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")
# The prefix that glog, Abseil or TensorFlow writes before each line of a dump in a log.
_LOG_PREFIX = re.compile(r"^(?:[IWEF]\d{4} \d\d:\d\d:[\d.]+ +\d+|\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+: [IWEF](?: +\d+)?) +[^\]\s]+:\d+\] ?", re.MULTILINE)


def parse(text: str | bytes, filename: str = "<string>", *, strict: bool = True, legacy: bool = False) -> Module:
    """Parses text that contains one module.

    Bytes are decoded as UTF-8. Raises ParseError if XLA would reject the text; the exception's
    `diagnostics` attribute lists all errors. No other exception is raised. With `strict=False`,
    unknown opcodes and attributes are kept, any text yields a module, and all diagnostics are in
    `module.diagnostics`. With `legacy=True`, old spellings that earlier versions of XLA wrote are
    also accepted, and `module.diagnostics` contains a warning for each of these spellings.

    >>> parse("ENTRY e { ROOT p = f32[2] parameter(0) }").entry.root.shape.text
    'f32[2]{0}'
    """
    return parse_source(Source(decode_text(text), filename), strict=strict, legacy=legacy)


def parse_file(path: str | os.PathLike[str], *, strict: bool = True, legacy: bool = False) -> Module:
    """Parses a file, which may be compressed with gzip, xz or, with the `zstd` extra, Zstandard.

    Raises ParseError like `parse`, and HlotoolError if the file cannot be read.
    """
    # Importing the decompressors takes longer than a small parse.
    read_text = import_module("hlotool.text.source.files").read_text
    return parse(read_text(path), os.fspath(path), strict=strict, legacy=legacy)


def parse_all(text: str | bytes, filename: str = "<string>", *, strict: bool = True, legacy: bool = False) -> list[Module]:
    """Parses text with several modules separated by `// -----` lines.

    Line numbers count from the start of the whole text. Raises ParseError with the errors of all
    modules.

    >>> [module.name for module in parse_all("a { ROOT p = f32[] parameter(0) }\\n// -----\\nb { ROOT p = f32[] parameter(0) }")]
    ['module_a', 'module_b']
    """
    modules: list[Module] = []
    errors = []
    for part in parse_each(text, filename, strict=strict, legacy=legacy):
        if isinstance(part, ParseError):
            errors += part.diagnostics
        else:
            modules.append(part)
    if errors:
        raise ParseError(errors)
    return modules


def parse_each(text: str | bytes, filename: str = "<string>", *, strict: bool = True, legacy: bool = False) -> Iterator[Module | ParseError]:
    """Yields the modules that `parse_all` would return, one at a time.

    Yields a ParseError for a module that does not parse, and continues with the next one.
    """
    for part in parts_of(decode_text(text), filename):
        if part.is_separator:
            continue
        try:
            yield parse_source(part.source, strict=strict, legacy=legacy)
        except ParseError as error:
            yield error


class Part(NamedTuple):
    """One of several modules in the same file, or a separator; `start` is its offset.

    A separator is a `// -----` line, or whitespace next to such a line.
    """

    source: Source
    start: int
    is_separator: bool


def parts_of(whole: str, filename: str) -> list[Part]:
    """Splits a whole file into its modules and the separators between them.

    Joined together, the parts are the whole file. Lines of each part are numbered as in the file.

    >>> [part.source.text for part in parts_of("HloModule a\\n// -----\\nHloModule b\\n", "<string>")]
    ['HloModule a\\n', '// -----\\n', 'HloModule b\\n']
    """
    parts: list[Part] = []
    at, line = 0, 1
    cuts = [(m.start(), m.end()) for m in _SEPARATOR.finditer(whole)] if "// -----" in whole else []
    for start, end in [*cuts, (len(whole), len(whole))]:
        for low, high, is_separator in ((at, start, False), (start, end, True)):
            text = whole[low:high]
            if text or not cuts:
                parts.append(Part(Source(text, filename, line), low, is_separator or bool(cuts and not text.strip())))
            line += text.count("\n")
            if not cuts:
                return parts
        at = end
    return parts


def parse_source(source: Source, *, strict: bool = True, legacy: bool = False, fast_path: bool = True) -> Module:
    """Parses a source like `parse`; with `fast_path=False`, uses only the grammar path."""
    return read_source(source, strict=strict, legacy=legacy, fast_path=fast_path)[0]


def read_source(
    source: Source, *, strict: bool = True, legacy: bool = False, fast_path: bool = True, known: FastPath | None = None
) -> tuple[Module, FastPath | None]:
    """Parses a source like `parse_source`, and also returns the fast path.

    The caches of the fast path hold the values of the text's parts. `known` is the fast path from
    the parse of a similar source; its values are reused.
    """
    warnings: list[Diagnostic] = []
    if legacy:
        # Imported on use, since it is rarely needed.
        source, warnings = import_module("hlotool.text.legacy.rewrite").modernize(source)
    builder = ModuleBuilder(source, strict=strict)
    path = FastPath(builder) if fast_path else None
    session = ParseSession(builder, path, source.text)
    if path is not None:
        path.attach(session, known)
    with no_garbage_collection():
        form = form_of(source.text)
        other = describe_other_format(source.text, may_be_binary=form == "single_instruction") if form != "module" else None
        if other is not None:
            _report_other_format(session, f"this is {other.name}, not HLO text", other.hint)
        elif form == "single_instruction":
            _parse_single_instruction(session)
        else:
            parse_with_recovery(session, form, MAX_DIAGNOSTICS)
        if path is not None and path.earlier is not None:
            if builder.has_clashes and path.earlier.taken:
                # Computations will be renamed, but computations of another module must not be.
                return read_source(source, strict=strict, fast_path=fast_path)
            path.earlier = None
        module = builder.finish(len(source.text))
    _check_recovery_modules(builder, fast_path=fast_path)
    diagnostics = builder.diagnostics
    diagnostics.sort(key=lambda d: (d.line, d.column))
    module.notes.fast_count = path.count if path is not None else 0
    if builder.has_errors:
        diagnostics[:] = import_module("hlotool.text.parse.hints").add_hints(source, diagnostics, is_instruction=form == "single_instruction")
        if strict:
            raise ParseError([d for d in diagnostics if d.severity == "error"])
    if warnings:
        diagnostics[:] = sorted([*diagnostics, *warnings], key=lambda d: (d.line, d.column))
    return module, path


def _report_other_format(session: ParseSession, message: str, hint: str) -> None:
    """Reports that the text is not HLO; the resulting module is empty."""
    builder = session.builder
    builder.open_computation(None, 0, is_entry=True)
    builder.report("S049", 0, message, hint)
    builder.close_computation(0, len(session.text), inline=True)


def form_of(text: str) -> str:
    """Returns the start rule for the whole text: `module`, `headerless` or `single_instruction`.

    >>> [form_of(text) for text in ("HloModule m", "ENTRY e {", "f32[2] negate(f32[2] p)")]
    ['module', 'headerless', 'single_instruction']
    """
    if _MODULE.match(text):
        return "module"
    return "headerless" if _HEADERLESS.match(text) else "single_instruction"


def _check_recovery_modules(builder: ModuleBuilder, *, fast_path: bool) -> None:
    """Reports modules in an origin recovery table that do not parse.

    The printer must be able to parse them.
    """
    for row in builder.module.attributes.get("origin_recovery_table", ()):
        if row.module is None:
            continue
        try:
            parse_source(Source(row.module), fast_path=fast_path)
        except ParseError as error:
            first = error.diagnostics[0]
            message = f"the recovery module of {row.new.name or 'a row'}: line {first.line}: {first.message}"
            builder.report(first.code, builder.module.attribute_starts.get("origin_recovery_table", 0), message)


def _parse_single_instruction(session: ParseSession) -> None:
    """Parses text that is a single instruction.

    Like XLA, wraps it in a scheduled module and a computation, both called `_`.
    """
    builder = session.builder
    builder.single_instruction = True
    builder.open_computation(None, 0, is_entry=True)
    builder.module.attributes["is_scheduled"] = True
    parse_with_recovery(session, "single_instruction", MAX_DIAGNOSTICS)
    if builder.scopes:
        # Inline bodies are also called `_`, and come first.
        builder.close_computation(len(session.text), len(session.text), inline=True)
    if not builder.has_errors and builder.module.computations:
        _name_entry_first(builder.module)


def _name_entry_first(module: Module) -> None:
    """Renames computations and instructions as XLA does.

    The instruction's computation is named before inline bodies, and all arrays in the entry layout
    get the default dimension order.
    """
    entry = module.computations[-1]
    for computation in module.computations:
        computation.name = "_" if computation not in module.hidden else computation.name
    names, computation_names = unique_names(module, first=entry)
    for computation in module.computations:
        computation.name = computation_names[computation]
        for x in computation.instructions:
            set_field(x, "name", names[x])
    shape = entry.program_shape
    layout = ProgramShape(tuple(with_default_order(p) for p in shape.parameters), with_default_order(shape.result))
    module.attributes["entry_computation_layout"] = layout


def decode_text(text: str | bytes) -> str:
    """Decodes text like `as_text`, and replaces log prefixes with spaces.

    >>> decode_text("\\ufeffHloModule m".encode())
    'HloModule m'
    """
    text = as_text(text)
    if _LOG_PREFIX.match(text):
        # With spaces in place of the prefixes, columns stay the same as in the file.
        text = _LOG_PREFIX.sub(lambda match: " " * len(match[0]), text)
    return text


def as_text(text: str | bytes) -> str:
    """Decodes UTF-8 and removes the byte-order mark; other bytes become surrogate escapes."""
    if isinstance(text, bytes | bytearray):
        text = bytes(text).decode("utf-8", "surrogateescape")
    elif not text.isascii():
        text = _LONE_SURROGATE.sub(_surrogate_bytes, text)
    return text.removeprefix("\ufeff")


def has_log_prefixes(text: str) -> bool:
    """Returns whether the text begins with a log prefix; `decode_text` replaces such prefixes."""
    return _LOG_PREFIX.match(text) is not None


def _surrogate_bytes(match: re.Match[str]) -> str:
    return match[0].encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
