"""Fuzzes the parser and the formatter for a long time; not run by pytest.

Usage: `python tests/tools/fuzz.py --lines 200000 --bytes 20000 --formats 5000 --seed 1 [--corpus
DIR]`.

Edits lines and checks that both paths of the parser agree on the result, and that they raise no
exception other than ParseError. Mangles modules and checks that the formatter preserves modules
and comments.
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
from collections.abc import Iterator
from pathlib import Path
from random import Random

from mangling import formatting_fault, mangled, random_mangled, width_fault
from mutation import (
    Seed,
    disagreement,
    edited,
    instructions_of_text,
    random_bytes,
    seeds_of_text,
    texts_of_cases,
)
from random_texts import Style, random_text

from hlotool.errors import ParseError
from hlotool.text.parse.parser import parse

HERE = Path(__file__).parents[1]


class Report:
    """Counts the findings and remembers the slowest input."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.counts: Counter[str] = Counter()
        self.slowest = (0.0, "")

    def book(self, kind: str, what: str, text: str) -> None:
        self.counts[kind] += 1
        if self.counts[kind] <= self.most:
            print(f"--- {kind}: {what}\n{smallest(text, kind)!r}\n", flush=True)

    def time(self, seconds: float, text: str) -> None:
        if seconds > self.slowest[0]:
            self.slowest = (seconds, text)


def judged(text: str) -> tuple[str, str]:
    """Returns the kind and the description of a parser fault; both are empty if there is none."""
    try:
        found = disagreement(text)
    except Exception as error:
        return f"exception {type(error).__name__}", traceback.format_exc(limit=-3)
    return (found.partition(":")[0], found) if found else ("", "")


def smallest(text: str, kind: str) -> str:
    """Returns the text without lines and tokens that are not needed to reproduce the finding."""
    for pattern in (r"[^\n]*\n|[^\n]+", r", (?=[a-z_\-]+=)|[^\s,]+|\s+|,"):
        pieces, changed = re.findall(pattern, text), True
        while changed and len(pieces) < 400:
            changed = False
            for k in range(len(pieces) - 1, -1, -1):
                fewer = pieces[:k] + pieces[k + 1 :]
                if judged("".join(fewer))[0] == kind:
                    pieces, changed = fewer, True
        text = "".join(pieces)
    return text


def corpus_seeds(folder: Path, texts: int) -> Iterator[Seed]:
    """Yields lines of the corpus.

    Lines from a sample of the small modules stay in place. The instructions of all modules and
    dumps are placed in small modules of their own; instructions that differ from an earlier one
    only in numbers are left out.
    """
    known: set[str] = set()
    with lzma.open(folder / "parse.jsonl.xz", "rt") as file:
        rows = [json.loads(line) for line in file]
    small = [row["text"] for row in rows if row["label"] == "ok" and len(row["text"]) < 800]
    yield from (seed for text in Random(0).sample(small, min(texts, len(small))) for seed in seeds_of_text(text))
    for text in [row["text"] for row in rows if row["label"] == "ok"]:
        yield from instructions_of_text(text, known)
    for path in sorted((folder / "dumps").glob("*.hlo.xz")):
        with lzma.open(path, "rt") as file:
            yield from instructions_of_text(file.read(), known)


def all_seeds(corpus: Path | None) -> list[Seed]:
    known: set[str] = set()
    seeds: list[Seed] = []
    for text in texts_of_cases(HERE):
        # In larger files, only every fifth line is edited in place. Instructions are edited in
        # small modules, which is faster.
        seeds += seeds_of_text(text) if len(text) < 600 else [*seeds_of_text(text)[::5], *instructions_of_text(text, known)]
    for number in range(100):
        style = Style(percent=number % 2 == 0, signatures=number % 3 > 0, operand_shapes=number % 5 == 0, comments=number % 7 == 0)
        seeds += seeds_of_text(random_text(number, 2, style))
    if corpus is not None:
        seeds += corpus_seeds(corpus, 300)
    return seeds


def fuzz_lines(count: int, seed: int, seeds: list[Seed], report: Report) -> None:
    random = Random(seed)
    for _ in range(count):
        chosen = seeds[random.randrange(len(seeds))]
        text = chosen.prefix + edited(chosen.line, random) + chosen.suffix
        start = time.perf_counter()
        kind, found = judged(text)
        report.time(time.perf_counter() - start, text)
        if kind:
            report.book(kind, found, text)


def fuzz_bytes(count: int, seed: int, report: Report) -> None:
    random = Random(seed)
    for _ in range(count):
        data = random_bytes(random)
        start = time.perf_counter()
        try:
            parse(data)
        except ParseError:
            pass
        except Exception as error:
            report.book(f"exception {type(error).__name__}", traceback.format_exc(limit=-3), data.decode("utf-8", "surrogateescape"))
        report.time(time.perf_counter() - start, repr(data))


def fuzz_formats(count: int, seed: int, texts: list[str], report: Report) -> None:
    """Checks mangled modules: generated modules, alternating with those in `texts`, if any."""
    for number in range(seed * count, (seed + 1) * count):
        random = Random(number)
        start, text = time.perf_counter(), ""
        try:
            if texts and number % 2:
                text = random.choice(texts)
                case = mangled(text, random, comments=random.choice((0, 0.02, 0.1)), spaces=random.choice((0, 0.02, 0.2)), order=number % 4 == 1)
            else:
                case = random_mangled(number)
            text = case.text
            fault = formatting_fault(case) or (width_fault(case.original, random.choice((40, 60, 100))) if number % 5 == 0 else None)
        except Exception as error:
            fault = f"exception {type(error).__name__}: {traceback.format_exc(limit=-3)}"
        if fault:
            report.counts["format"] += 1
            if report.counts["format"] <= report.most:
                print(f"--- format, number {number}: {fault}\n{text!r}\n", flush=True)
        report.time(time.perf_counter() - start, text)


def small_texts(corpus: Path) -> list[str]:
    """Returns the modules of a corpus that are small enough to be mangled quickly."""
    with lzma.open(corpus / "parse.jsonl.xz", "rt") as file:
        rows = [json.loads(line) for line in file]
    return [row["text"] for row in rows if row["label"] == "ok" and len(row["text"]) < 6000]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=2000, help="number of edited lines")
    parser.add_argument("--bytes", type=int, default=500, help="number of byte strings")
    parser.add_argument("--formats", type=int, default=200, help="number of mangled modules")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", type=Path, help="folder with parse.jsonl.xz and dumps/")
    parser.add_argument("--show", type=int, default=5, help="number of findings of each kind to print")
    args = parser.parse_args()
    report, start = Report(args.show), time.perf_counter()
    seeds = all_seeds(args.corpus) if args.lines else []
    print(f"{len(seeds)} lines to edit, {time.perf_counter() - start:.1f} s", flush=True)
    fuzz_lines(args.lines, args.seed, seeds, report)
    fuzz_bytes(args.bytes, args.seed, report)
    fuzz_formats(args.formats, args.seed, small_texts(args.corpus) if args.corpus and args.formats else [], report)
    seconds = time.perf_counter() - start
    print(f"{args.lines} edited lines, {args.bytes} byte strings and {args.formats} mangled modules, seed {args.seed}: {seconds:.1f} s")
    print(f"slowest: {report.slowest[0] * 1000:.1f} ms: {report.slowest[1][:2000]!r}")
    print(f"findings: {dict(report.counts) or 'none'}")
    return 1 if report.counts else 0


if __name__ == "__main__":
    sys.exit(main())
