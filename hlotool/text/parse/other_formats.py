"""Recognizes input that is not HLO, such as MLIR, programs, JSON, XLA's reports and binary data.

Each row of the table has a format and a regular expression for its beginning. Text that begins with
HloModule is never examined.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hlotool.text.source.trivia import skip_trivia

__all__ = ["OtherFormat", "accompanies_dump", "describe_other_format"]

_DIFF_HINT = "apply it to a file, or delete its headers and `-` lines and remove the leading `+` from the others"
_JAX_HINT = 'print HLO instead; in JAX: jax.jit(f).lower(x).as_text(dialect="hlo")'
_DUMP_HINT = "dump HLO as text, with XLA_FLAGS=--xla_dump_to=FOLDER --xla_dump_hlo_as_text"
_COMPANION_HINT = "the dump folder also contains the module, in a file whose name ends with optimizations.txt"


class OtherFormat(NamedTuple):
    """A format other than HLO: its name, a pattern for its beginning, and a hint for the user."""

    name: str
    beginning: re.Pattern[str]
    hint: str


def _row(name: str, beginning: str, hint: str) -> OtherFormat:
    return OtherFormat(name, re.compile(beginning), hint)


# The text after the opening brace of a computation: a comment, or an instruction whose shape or
# opcode has a bracket.
_HLO_BODY = r"\s*+(?://|/\*|ROOT[ \t]|[\w.%\-]++[ \t]*+=\s*+(?:\(|[a-z][a-z0-9\-]*+[\[(]))"

_FORMATS = (
    _row(
        "MLIR, such as StableHLO",
        r"(?:builtin\.)?module(?:[ \t]+@[^\s{]+)?(?:[ \t]+attributes\b|[ \t]*\{\s*(?:\}|//|#|%|\"|(?:func|stablehlo|mhlo|sdy|vhlo|ml_program|\w+\.)))"
        r"|func(?:\.func)?[ \t]+(?:public[ \t]+|private[ \t]+)?@|#[A-Za-z_]\w*[ \t]*=|#loc\b|\"builtin\.module\""
        r"|%\w+(?::\d+)?[ \t]*=[ \t]*\"?(?:stablehlo|mhlo|chlo|func|arith)\.",
        _JAX_HINT,
    ),
    _row("MLIR bytecode", r"ML\udcefR", _JAX_HINT),
    _row("a jaxpr", r"(?:let[ \t]+\w+ = )?\{[ \t]*lambda\b", _JAX_HINT),
    _row(
        "Python",
        r"#![^\n]*python|(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+[\w.*]+|def[ \t]+\w+\(|class[ \t]+\w+[(:]"
        r"|@\w[\w.]*(?:\(|\s*\n)|(?:r|b|f)?\"\"\"|if __name__",
        f'{_DUMP_HINT}, or, in JAX, print jax.jit(f).lower(x).as_text(dialect="hlo")',
    ),
    _row("C or C++", r"#[ \t]*(?:include|define|pragma|ifndef|ifdef)\b|namespace[ \t]+\w|using[ \t]+namespace", _DUMP_HINT),
    _row("JSON", r"\{\s*(?:\}\s*\Z|\"(?:[^\"\\\n]|\\.)*\"\s*:)|\[\s*(?:\]\s*\Z|[{\"\[]|-?\d)", _DUMP_HINT),
    _row("HTML or XML", r"<(?:!DOCTYPE|!--|\?xml|html|svg|[a-z]+[ >])", _DUMP_HINT),
    _row("LLVM IR", r"; ModuleID =|source_filename = \"|target (?:datalayout|triple) = \"", _COMPANION_HINT),
    _row("PTX", r"\.version[ \t]+\d", _COMPANION_HINT),
    _row("a Graphviz graph", rf"(?:strict[ \t]+)?digraph(?:[ \t]++[\w\"][^\n{{]*+)?\s*+\{{(?!{_HLO_BODY})", _COMPANION_HINT),
    _row("an XLA buffer assignment", r"BufferAssignment:", _COMPANION_HINT),
    _row("an XLA memory report", r"Total bytes used:|Memory Space: |HloLiveRange[ \t]*\(max\b|Allocated buffers:", _COMPANION_HINT),
    _row(
        "a protocol buffer in text format",
        r"(?:hlo_module|computations|node|hlo)[ \t]*:?[ \t]*\{\s*(?:name|id|hlo_module|computations|op|attr)[ \t]*[:{]|name: \"",
        _DUMP_HINT,
    ),
    _row("a diff", r"diff --git |--- [^\n]*\n\+\+\+ |Index: ", _DIFF_HINT),
    _row("a Python error message", r"Traceback \(most recent call last\)", _DUMP_HINT),
    _row("a zip archive", r"PK[\x03\x05]", "unpack it first"),
)
# The number of characters that are searched for binary data.
_PREFIX_LENGTH = 1024
# Characters that are rare in text: control characters, and bytes that are not UTF-8.
_BINARY_CHARACTERS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\udc80-\udcff]")
# The maximum fraction of such characters in text.
_MAX_BINARY_FRACTION = 0.02
_BINARY = OtherFormat("binary data, perhaps a serialized module", _BINARY_CHARACTERS, _DUMP_HINT)


def describe_other_format(text: str, *, may_be_binary: bool = True) -> OtherFormat | None:
    """Returns the format of text that does not begin with HloModule, or None if it may be HLO.

    Comments and metadata of HLO may contain bytes that are not UTF-8, so `may_be_binary` is False
    if the text begins like a computation.

    >>> describe_other_format("module @jit_f attributes {mhlo.num_partitions = 1 : i32} {").name
    'MLIR, such as StableHLO'
    >>> describe_other_format("ENTRY e { ROOT p = f32[] parameter(0) }") is None
    True
    """
    beginning = text[:_PREFIX_LENGTH]
    if may_be_binary and len(_BINARY_CHARACTERS.findall(beginning)) > _MAX_BINARY_FRACTION * len(beginning):
        return next((row for row in _FORMATS if row.beginning.match(text)), _BINARY)
    at = skip_trivia(text, 0)
    return next((row for row in _FORMATS if row.beginning.match(text, at)), None)


def accompanies_dump(text: str) -> bool:
    """Returns whether the text is a report or generated code that XLA writes next to module dumps.

    >>> accompanies_dump("BufferAssignment:"), accompanies_dump("import jax")
    (True, False)
    """
    described = describe_other_format(text)
    return described is not None and described.hint == _COMPANION_HINT
