"""Fuzzes the verifier for a long time; not run by pytest.

Usage: `python tests/tools/fuzz_verify.py --count 50000 --seed 1 [--corpus DIR] [--outputs DIR]
[--xla]`.

Edits valid modules (`module_edits`) and checks that each edited module is either valid or reported
with an error that has a position, that no other exception is raised, and that no small module takes
a long time. With
--xla, XLA's parser and verifier judge the same modules, and the verdicts must agree; STRICTER lists
the errors for which hlotool is stricter on purpose.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from random import Random

from module_edits import KINDS, case_seeds, edited, inferred, is_valid, scheduled
from random_texts import Style, random_text
from xla_oracle import Xla, XlaError

import hlotool
from hlotool.analysis.callgraph import reachable
from hlotool.errors import Diagnostic, ParseError
from hlotool.text.parse.parser import parse
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text
from hlotool.verifier.engine import verify

HERE = Path(__file__).parents[1]
PRINTED = replace(PrintOptions.xla_default(), print_large_constants=True)
# XLA is known to abort on gaps between parameter numbers and on unexpected types of device IDs, and
# starting a new worker takes seconds.
_FATAL = frozenset({"S021", "T086"})
SLOW = 2.0
CASCADE = 3

STRICTER = {
    # XLA's text parser silently repairs or drops these. It drops superfluous operands. It also
    # drops inline operands that have no shape and too few operands of their own.
    "S013": "(?:dot|rng-bit-generator|collective-broadcast)' takes|takes [0-9]+ operands?, found",
    "S020": "\\.anon'",  # a parameter among the operands of an inline operand
    "S002": "",  # an undefined operand with the name of an opcode
    "S027": "", "A028": "is used before it is defined",  # the same operand, if it is defined later
    "A020": "",  # the shape written for a send
    "A021": "",  # the shape written for a recv-done
    "S017": "must be positive",  # tiles of size 0
    # These fail only in a backend or when the module's proto is reloaded, or make XLA write out of
    # bounds.
    "A005": "'async-start' has 0",
    "A008": "", "A011": "", "C018": "", "C030": "", "L019": "", "M007": "", "M016": "", "M018": "",
    "C012": "",  # operands of a fusion that its computation does not take
    "L002": "", "L003": "", "L004": "",  # rejected when the proto is reloaded
    "L006": "",  # rejected by the verifiers for CPUs and GPUs
    "P002": "", "P003": "",  # only for collective-broadcast; for other opcodes, reloading such groups aborts
    "P001": "",  # only for collective-broadcast
    "P018": "",
    "P030": "not a permutation", "P039": "must be positive",
    "L017": "", "L031": "",  # transfers for which the backends have no instruction
    "P019": "", "P020": "", "P021": "", "P022": "", "P026": "",
    "P024": "",  # XLA repeats a sharding without braces for all elements of a tuple, as it does in old modules
    "T102": "is returned",  # a buffer that is written after the root has returned it
    "T007": "shift-",
    "T018": "", "T076": "", "T096": "",
    "T082": "",  # only for elementwise ops
    "P017": "got pred", "T090": "size operand",
}  # fmt: skip
"""Errors that XLA's text parser and verifier do not find: codes, and patterns in the messages."""

LAXER = (
    # Newer builds allow operands after the kernel.
    re.compile(r"expects 2 operands, but has [3-9]\d* operands\n.* convolution\("),
    # The number of bytes of a tiled array depends on the target.
    re.compile(r"(?:Bitcast cannot have different shape sizes|Expected aliased input .* to have the same size).*:T\("),
    # Compilers for TPUs assign memory spaces to operands without updating the bodies of fusions and
    # asynchronous operations.
    re.compile(r"(?:Shape mismatch between parameter|async-start expects the async shape).*S\("),
    # An asynchronous computation on another thread may have more than one operation, as in the
    # output of compilers for the sparse cores of TPUs.
    re.compile(r"Asynchronous computation \S+ expected to contain only the root and parameter instructions"),
    # Compilers for TPUs give different tiles and memory spaces to outputs that share memory with
    # operands.
    re.compile(r"Different aliasing shapes: .*[:TS]\("),
    re.compile(r"Expected instruction to have shape equal to .*[:TS]\(.*\n.*dynamic-update-slice\("),
    # Reported only by older builds, in which updates could not bind more operands than their start;
    # later builds do not compare contexts.
    re.compile(r"AsyncUpdate expects the op shape to be the same as the operand shape"),
    # Later builds allow tuples and similar instructions between a start and its done.
    re.compile(r"The consumer of a \S+ instruction needs to be one of \(.*found (?:tuple|get-tuple-element|opt-barrier|while|call|conditional)"),
    # XLA's loader forgets the layouts of ENTRY if the header has device counts but no layouts.
    re.compile(r"should be compatible to (?:the )?one specified in module's entry computation layout"),
)
"""Errors that XLA reports, but that hlotool intentionally does not report."""


@dataclass(frozen=True)
class Verdict:
    """hlotool's result for a text: the errors, the time it took, and a fault, if any."""

    errors: tuple[Diagnostic, ...]
    parsed: bool
    seconds: float
    fault: str = ""


def verdict(text: str, modes: hlotool.VerifyModes) -> Verdict:
    """Runs all rules and lints on a text.

    A fault is any exception except ParseError, or a diagnostic without a position.
    """
    start, parsed = time.perf_counter(), False
    try:
        module = parse(text)
        parsed = True
        found: Sequence[Diagnostic] = verify(module, modes, select=["ALL"])
    except ParseError as error:
        found = error.diagnostics
    except Exception as error:
        return Verdict((), parsed, 0, f"exception {type(error).__name__}: {traceback.format_exc(limit=-4)}")
    errors = tuple(d for d in found if d.severity == "error")
    return Verdict(errors, parsed, time.perf_counter() - start, _fault(found) or ("" if parsed or errors else "the parser reported no error"))


def _fault(found: Sequence[Diagnostic]) -> str:
    for d in found:
        if not d.message or (d.end_line, d.end_column) <= (d.line, d.column) or d.line < 1 or d.column < 1:
            return f"diagnostic without position or message: {d}"
    return ""


def xla_verdict(xla: Xla, text: str, modes: hlotool.VerifyModes, *, twice: bool = True) -> str:
    """Returns the complaint of XLA's parser or verifier, or an empty string for a valid module.

    With `twice`, a text that kills the worker is tried again.
    """
    switches: tuple[str, ...] = tuple(name for name in ("layout_sensitive", "layouts_kept", "allow_mixed_precision") if getattr(modes, name))
    for is_fresh in (False, True):
        try:
            said = xla.verified(text, *switches)
        except XlaError as error:
            if twice and error.kind == "died" and not is_fresh:
                # An earlier text may have corrupted the memory of the worker that died.
                continue
            return f"{error.kind}: {error}"
        return f"verifier: {said}" if said else ""
    return ""


def is_read_alike(xla: Xla, text: str) -> bool:
    """Returns whether XLA and hlotool parse a text as the same module.

    XLA silently drops inline operands without a shape.
    """
    try:
        return xla.parse(text).strip() == to_text(parse(text), PRINTED).strip()
    except XlaError:
        return False


class Report:
    """Counts findings by kind, and prints the first few of each kind."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.counts: Counter[str] = Counter()
        self.messages: Counter[int] = Counter()
        self.judged: Counter[str] = Counter()
        self.inferred: Counter[str] = Counter()
        self.slowest = (0.0, "")

    def book(self, kind: str, what: str, text: str) -> None:
        self.counts[kind] += 1
        if self.counts[kind] <= self.most:
            print(f"--- {kind}: {what}\n{text}\n", flush=True)

    def judge(self, found: Verdict, said: str, text: str) -> None:
        """Compares the verdicts of hlotool and XLA."""
        ours = sorted({d.code for d in found.errors})
        if bool(ours) == bool(said):
            self.judged["both reject" if said else "both accept"] += 1
        elif ours and all(d.code in STRICTER and re.search(STRICTER[d.code], d.message) for d in found.errors):
            self.judged["stricter on purpose"] += 1
        elif not ours and any(form.search(said) for form in LAXER):
            self.judged["laxer on purpose"] += 1
        elif ours:
            self.judged["only hlotool rejects"] += 1
            self.book(f"only hlotool rejects, {ours[0]}", str(found.errors[0]), text)
        else:
            self.judged["only XLA rejects"] += 1
            self.book(f"only XLA rejects, {_opening(said)}", said, text)


def _opening(said: str) -> str:
    words = said.replace("during context [Unknown]: ", "").split()
    return " ".join(word for word in words if word.isalpha() or word.endswith(":"))[:60]


def corpus_texts(folder: Path, longest: int = 3000) -> list[str]:
    """Returns those small modules of a corpus that XLA's tests consider valid."""
    with lzma.open(folder / "verify.jsonl.xz", "rt") as file:
        rows = [json.loads(line) for line in file]
    texts = [row["text"] for row in rows if row["expected"] == "valid" and not row["skew"] and len(row["text"]) < longest]
    return [text for text in dict.fromkeys(texts) if is_valid(text)]


def output_texts(folder: Path, longest: int = 12000) -> list[str]:
    """Returns the computations in the outputs of compilers (`*.after.txt.xz`).

    Each becomes a module of its own, together with the computations that it calls.
    """
    texts: dict[str, None] = {}
    for path in sorted(folder.glob("*/*.after.txt.xz")):
        module = parse(lzma.decompress(path.read_bytes()))
        for computation in module.computations:
            if computation.start >= 0:
                texts[_alone(module, computation)] = None
    return [text for text in texts if len(text) < longest and is_valid(text)]


def _alone(module: hlotool.Module, computation: hlotool.Computation) -> str:
    """Returns a computation as the entry of a module, in the order of the schedule."""
    source = module.source.text if module.source is not None else ""
    needed = reachable([computation])
    parts = [source[c.start : c.end] for c in module.computations if c in needed and c is not computation and c.start >= 0]
    main = source[computation.start : computation.end].removeprefix("ENTRY ")
    return "\n\n".join(["HloModule piece, is_scheduled=true", *parts, f"ENTRY {main}"]) + "\n"


def all_seeds(corpus: Path | None) -> list[str]:
    seeds = case_seeds(HERE)
    for number in range(300):
        style = Style(percent=number % 2 == 0, signatures=number % 3 > 0, operand_shapes=number % 5 == 0)
        text = random_text(number, 1 + number % 3, style)
        if is_valid(text):
            seeds.append(text)
    seeds += corpus_texts(corpus) if corpus else []
    return seeds + [text for text in map(scheduled, seeds[::3]) if is_valid(text)]


def fuzz_inference(count: int, seed: int, seeds: list[str], report: Report, xla: Xla) -> None:
    """Checks shape inference on edited modules from which a shape has been removed.

    hlotool must reject the same modules as XLA's parser, and must print the same inferred shapes.
    """
    random, done = Random(seed), 0
    while done < count:
        chosen = random.choice(seeds)
        text = inferred(chosen if random.random() < 0.2 else edited(chosen, random) or chosen, random)
        if text is None or not _FATAL.isdisjoint(d.code for d in error_diagnostics(text)):
            continue
        done += 1
        ours, refusal = "", ""
        try:
            ours = to_text(parse(text), PRINTED)
        except ParseError as error:
            refusal = str(error)
        try:
            theirs = xla.parse(text)
        except XlaError as error:
            if refusal:
                report.inferred["both reject"] += 1
            elif any(form.search(str(error)) for form in LAXER):
                report.inferred["laxer on purpose"] += 1
            else:
                report.inferred["only XLA rejects"] += 1
                report.book(f"inference: only XLA rejects, {_opening(str(error))}", str(error), text)
            continue
        if refusal and any(d.code in STRICTER and re.search(STRICTER[d.code], d.message) for d in error_diagnostics(text)):
            report.inferred["stricter on purpose"] += 1
        elif refusal:
            report.inferred["only hlotool rejects"] += 1
            report.book("inference: only hlotool rejects", refusal, text)
        elif ours.strip() != theirs.strip():
            report.inferred["differ"] += 1
            report.book("inference: printed texts differ", _first_difference(ours, theirs), text)
        else:
            report.inferred["both infer the same"] += 1


def error_diagnostics(text: str) -> Sequence[Diagnostic]:
    try:
        parse(text)
    except ParseError as error:
        return error.diagnostics
    return ()


def _first_difference(ours: str, theirs: str) -> str:
    pairs = zip_longest(ours.strip().splitlines(), theirs.strip().splitlines(), fillvalue="")
    return next((f"hlotool {a!r}\nXLA     {b!r}" for a, b in pairs if a != b), "")


def fuzz(count: int, seed: int, seeds: list[str], kinds: list[str], report: Report, xla: Xla | None, *, is_output: bool = False) -> None:
    """Checks edited modules.

    In the outputs of compilers, ops may change layouts; `is_output` allows that here, too.
    """
    random = Random(seed)
    done = 0
    while done < count:
        text = edited(random.choice(seeds), random, random.choice(kinds) if kinds else None)
        if text is None:
            continue
        done += 1
        is_sensitive, is_mixed = random.random() < 0.5, random.random() < 0.5
        modes = hlotool.VerifyModes(layout_sensitive=is_sensitive, layouts_kept=is_sensitive and not is_output, allow_mixed_precision=is_mixed)
        found = verdict(text, modes)
        if found.fault:
            report.book(found.fault.partition(":")[0], found.fault, text)
        if found.seconds > report.slowest[0]:
            report.slowest = (found.seconds, text)
        if found.seconds > SLOW:
            report.book("slow", f"{found.seconds:.1f} s", text)
        report.messages[len(found.errors)] += 1
        if len(found.errors) > CASCADE:
            report.book("cascade", "\n".join(map(str, found.errors[:6])), text)
        if xla is not None and _FATAL.isdisjoint(d.code for d in found.errors):
            said = xla_verdict(xla, text, modes, twice=not found.errors)
            report.judge(found, said, f"// {modes}\n{text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="number of edited modules")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", type=Path, help="folder with verify.jsonl.xz")
    parser.add_argument("--outputs", type=Path, help="folder with outputs of compilers, */*.after.txt.xz; edit only these")
    parser.add_argument("--xla", action="store_true", help="compare with XLA's verdicts; HLOTOOL_XLA_PYTHON names an interpreter with jaxlib")
    parser.add_argument("--kinds", nargs="*", choices=sorted(KINDS), default=[], help="use only edits of these kinds")
    parser.add_argument("--show", type=int, default=3, help="number of findings of each kind to print")
    args = parser.parse_args()
    report, start = Report(args.show), time.perf_counter()
    xla = Xla(timeout=20) if args.xla else None
    seeds = output_texts(args.outputs) if args.outputs else all_seeds(args.corpus)
    if xla is not None:
        seeds = [text for text in seeds if is_read_alike(xla, text) and not xla_verdict(xla, text, hlotool.VerifyModes(allow_mixed_precision=True))]
    print(f"{len(seeds)} modules to edit, {time.perf_counter() - start:.1f} s", flush=True)
    fuzz(args.count, args.seed, seeds, args.kinds, report, xla, is_output=args.outputs is not None)
    if xla is not None and not args.kinds and not args.outputs:
        fuzz_inference(args.count // 3, args.seed, seeds, report, xla)
    print(f"{args.count} edited modules, seed {args.seed}: {time.perf_counter() - start:.1f} s; slowest {report.slowest[0] * 1000:.0f} ms")
    print(f"errors each: {dict(sorted(report.messages.items()))}")
    if xla is not None:
        xla.close()
        print(f"judged with XLA: {dict(report.judged)}")
        print(f"inferred by XLA: {dict(report.inferred)}")
    for kind, number in report.counts.most_common():
        print(f"{number:6} {kind}")
    return 1 if set(report.counts) - {"cascade"} else 0


if __name__ == "__main__":
    sys.exit(main())
