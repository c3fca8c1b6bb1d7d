"""Random edits of the text of real modules, and small modules around single lines of large ones.

Both paths of the parser read an edited line and must agree on it; running both paths on whole dumps
would take days.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

from compare import differences

from hlotool.errors import HlotoolError, ParseError, Source
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.text.parse.parser import parse_source

__all__ = [
    "CHARACTERS",
    "PIECES",
    "Seed",
    "disagreement",
    "edited",
    "instructions_of_text",
    "random_bytes",
    "seeds_of_module",
    "seeds_of_text",
    "texts_of_cases",
]

CHARACTERS = "{}[](),=:%\"'/* \n\t#.-_0123456789abcdefxyzTSROE<>?~+\\&\r\x0c\x00é"
PIECES = (
    ", ", " = ", "->", "{}", "()", "[]", "/*", "*/", "//", "...", "ROOT ", "ENTRY ", "%", "nan", "inf", "true", "f32[]", "{0}", "s32[2]{0}", "}\n",
    "\n\n", "metadata={}", "sharding={replicated}", "parameter(0)", "constant(", "<=", "1e5", "0x1", "-", "--", ", x=1", "T(8,128)", "\r\n",
    "/*index=5*/", "HloModule ",
)  # fmt: skip
_OPEN_CONSTANT = re.compile(r"\bconstant\((?:(?:[^()\n]|\([^()\n]*+\))*+|.*(?://|/\*).*)$")
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z0-9_.%\-]+|\s+|.', re.DOTALL)


@dataclass(frozen=True)
class Seed:
    """A text whose part between `prefix` and `suffix` is edited."""

    prefix: str
    line: str
    suffix: str


# ---- seeds ------------------------------------------------------------------------------------------------------------


def texts_of_cases(folder: Path) -> list[str]:
    """Returns the modules in the samples and in the case files that hlotool must accept."""
    paths = [*sorted((folder / "text" / "syntax").glob("*.hlo")), *sorted((folder / "text" / "accept").glob("*.hlo"))]
    paths += sorted((folder.parent / "samples").glob("*.hlo"))
    texts = (path.read_text(encoding="utf-8", errors="surrogateescape") for path in paths)
    return [part.partition("// output\n")[0] for text in texts for part in text.split("// -----\n")]


def seeds_of_text(text: str, longest: int = 600) -> list[Seed]:
    """Returns a seed for each line of a small text, with the rest of the text around the line."""
    lines = text.splitlines(keepends=True)
    return [Seed("".join(lines[:k]), line, "".join(lines[k + 1 :])) for k, line in enumerate(lines) if line.strip() and len(line) <= longest]


def seeds_of_module(module: Module, known: set[str], longest: int = 600) -> list[Seed]:
    """Returns the instructions of a module, each in a small module of its own.

    Leaves out instructions that look like one in `known`.
    """
    source = module.source
    assert source is not None, "only parsed modules have lines"
    text, seeds = source.text, []
    for computation in module.computations:
        for x in computation.instructions:
            if x.start < 0 or x.end - x.start > longest:
                continue
            line = text[x.start : x.end].strip("\n")
            form = re.sub(r"[0-9]+", "0", line)
            if form not in known and not x.op.name.startswith("async-"):
                known.add(form)
                seeds.append(_small_module(x, line))
    return seeds


def instructions_of_text(text: str, known: set[str]) -> list[Seed]:
    """Returns the seeds of the module in a text, or no seeds if it does not parse."""
    try:
        return seeds_of_module(parse_source(Source(text)), known)
    except ParseError:
        return []


def _small_module(x: Instruction, line: str) -> Seed:
    """Returns a module with the instruction, parameters as operands, and stubs as callees."""
    needed = list(dict.fromkeys([*x.operands, *x.control_predecessors]))
    percent = "%" if re.match(r"\s*(?:ROOT )?%", line) else ""
    parts = ["HloModule m\n\n"]
    parts += [_stub(called, percent) for called in dict.fromkeys(x.called)]
    parts.append(f"ENTRY {percent}entry {{\n")
    parts += [f"  {percent}{operand.name} = {operand.shape.text} parameter({k})\n" for k, operand in enumerate(needed)]
    if x.op.name == "parameter":
        parts += [f"  {percent}before.{k} = f32[] parameter({k})\n" for k in range(x.immediate)]
    return Seed("".join(parts), line + "\n", f"  {percent}after = f32[] constant(0)\n  {percent}more = f32[] negate({percent}after)\n}}\n")


def _stub(called: Computation, percent: str) -> str:
    parameters = "".join(f"  {percent}p{k} = {p.shape.text} parameter({k})\n" for k, p in enumerate(called.parameters))
    root = f'  ROOT {percent}r = {called.root.shape.text} custom-call(), custom_call_target="stub"\n'
    return f"{percent}{called.name} {{\n{parameters}{root}}}\n\n"


# ---- edits ------------------------------------------------------------------------------------------------------------


def edited(line: str, random: Random, edits: int = 0) -> str:
    """Returns the line after one or two edits, mostly of characters, otherwise of tokens."""
    for _ in range(edits or random.choice((1, 1, 2))):
        line = _edit_characters(line, random) if random.random() < 0.7 else _edit_tokens(line, random)
    return line


def _edit_characters(line: str, random: Random) -> str:
    at = random.randrange(len(line) + 1)
    kind = random.randrange(5)
    if kind == 0:
        return line[:at] + line[at + 1 :]
    if kind == 1:
        return line[:at] + random.choice(CHARACTERS) + line[at:]
    if kind == 2:
        return line[:at] + random.choice(CHARACTERS) + line[at + 1 :]
    if kind == 3:
        return line[:at] + line[at + 1 : at + 2] + line[at : at + 1] + line[at + 2 :]
    return line[:at] + line[at : at + random.randrange(1, 4)] + line[at:]


def _edit_tokens(line: str, random: Random) -> str:
    tokens = _TOKEN.findall(line)
    if not tokens:
        return random.choice(PIECES)
    at = random.randrange(len(tokens))
    kind = random.randrange(5)
    if kind == 0:
        del tokens[at]
    elif kind == 1:
        tokens.insert(at, random.choice(PIECES))
    elif kind == 2:
        tokens[at] = random.choice(PIECES)
    elif kind == 3:
        tokens.insert(at, tokens[random.randrange(len(tokens))])
    else:
        other = random.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def random_bytes(random: Random) -> bytes:
    """Returns random bytes, or pieces of HLO in random order."""
    if random.random() < 0.3:
        return random.randbytes(random.choice((1, 10, 100, 1000)))
    pieces = random.choices((*PIECES, *CHARACTERS, "HloModule m\n", "ENTRY e {\n", "x = ", "add(", "x"), k=random.choice((3, 20, 100)))
    return random.choice(("", "HloModule m\n", "HloModule m\nENTRY e {\n  x = f32[] ")).encode() + "".join(pieces).encode("utf-8", "surrogatepass")


# ---- comparison of the paths ------------------------------------------------------------------------------------------


def disagreement(text: str) -> str | None:
    """Returns the difference between the results of the parser's two paths on a text, or None.

    Exceptions other than ParseError propagate.
    """
    found: list[Module | HlotoolError] = []
    for fast_path in (True, False):
        try:
            found.append(parse_source(Source(text), fast_path=fast_path))
        except ParseError as error:
            found.append(error)
    fast, slow = found
    if isinstance(fast, Module) and isinstance(slow, Module):
        different = differences(fast, slow)
        return f"nodes differ: {different[:3]}" if different else None
    if isinstance(fast, Module) or isinstance(slow, Module):
        refused = slow if isinstance(fast, Module) else fast
        return f"only the {'grammar' if isinstance(fast, Module) else 'fast'} path rejects the text: {refused}"
    lines = sorted((fast.diagnostics[0].line, slow.diagnostics[0].line))
    # In a constant of several lines, the grammar reports the end of a line, and the literal
    # scanner reports the next token or the whole constant.
    if lines[0] != lines[1] and not _OPEN_CONSTANT.search(text.split("\n")[lines[0] - 1]):
        return f"first diagnostics on different lines: fast {fast.diagnostics[0]}, grammar {slow.diagnostics[0]}"
    return None
