"""Development tasks: `python -m hlotool.dev tables | methods | syntax | coverage FILE... | floors FILE | docs`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from hlotool import dev_docs, dev_methods, dev_syntax
from hlotool.errors import Diagnostic, HlotoolError, ParseError
from hlotool.text.parse.grammar import write_tables
from hlotool.text.parse.parser import parse_all
from hlotool.text.source.files import read_text

__all__ = ["compare", "coverage", "main", "read_tallies"]

_UNKNOWN = ("S012", "S015", "M017")
_TALLY = re.compile(r"^(?P<kind>\S+) +(?P<good>\d+) of (?P<all>\d+) +[\d.]+ %", re.MULTILINE)
Tally = tuple[int, int]


def coverage(paths: Iterable[str]) -> Iterator[str]:
    """Opcodes and attributes in the texts that the op table lacks, one line each, the most frequent first."""
    places: dict[str, list[Diagnostic]] = {}
    for path in paths:
        for diagnostic in _diagnostics(path):
            if diagnostic.code in _UNKNOWN:
                places.setdefault(diagnostic.message, []).append(diagnostic)
    for message, diagnostics in sorted(places.items(), key=lambda item: (-len(item[1]), item[0])):
        first = diagnostics[0]
        yield f"{len(diagnostics):>6}  {message}  ({first.filename}:{first.line})"


def _diagnostics(path: str) -> list[Diagnostic]:
    try:
        return [diagnostic for module in parse_all(read_text(path), path, strict=False) for diagnostic in module.diagnostics]
    except ParseError as error:
        return error.diagnostics


def read_tallies(report: str) -> dict[str, Tally]:
    """The number of cases that pass and the number of all cases, for each kind of check in a conformance report.

    >>> read_tallies("accept      5370 of 5375    99.91 %")
    {'accept': (5370, 5375)}
    """
    return {m["kind"]: (int(m["good"]), int(m["all"])) for m in _TALLY.finditer(report)}


def compare(tallies: dict[str, Tally], floors: dict[str, Tally]) -> list[str]:
    """The checks that have fallen below their floors. Shares are compared, since the number of cases may differ.

    >>> compare({"accept": (9, 10)}, {"accept": (10, 10), "print": (1, 2)})
    ['accept: 9 of 10, the floor is 10 of 10', 'print: not in the report']
    """
    fallen = []
    for kind, (least, of) in floors.items():
        if kind not in tallies:
            fallen.append(f"{kind}: not in the report")
            continue
        good, total = tallies[kind]
        if good * of < least * total:
            fallen.append(f"{kind}: {good} of {total}, the floor is {least} of {of}")
    return fallen


def _floors(path: Path, report: str, *, raise_them: bool) -> int:
    floors = {kind: (least, of) for kind, (least, of) in json.loads(path.read_text(encoding="utf-8")).items()}
    tallies = read_tallies(report)
    fallen = compare(tallies, floors)
    for line in fallen:
        print(line)
    if raise_them and not fallen:
        # Only kinds that are in the file, which decides what counts.
        rows = ",\n".join(f"  {json.dumps(kind)}: {json.dumps(list(tallies[kind]))}" for kind in sorted(floors))
        path.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    print(f"{len(floors) - len(fallen)} of {len(floors)} kinds at or above their floor")
    return 1 if fallen else 0


def _generate(changed: list[str], *, only_check: bool) -> int:
    for name in changed:
        print(name)
    return int(only_check and bool(changed))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hlotool.dev", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tables", help="generate the parse tables of the grammar")
    command = commands.add_parser("coverage", help="list opcodes and attributes in FILEs that the op table lacks")
    command.add_argument("files", nargs="+", metavar="FILE")
    command = commands.add_parser("floors", help="compare a conformance report on standard input with the floors in FILE")
    command.add_argument("file", type=Path, metavar="FILE")
    command.add_argument(
        "--raise", dest="raise_them", action="store_true", help="if none has fallen, write the numbers of the report as the new floors"
    )
    command = commands.add_parser("docs", help="generate docs/operations.md, docs/rules, docs/ops and docs/rewrites from the code")
    command.add_argument("--check", action="store_true", help="write nothing; list the pages that are out of date")
    command = commands.add_parser("methods", help="generate hlotool/builder/generated from the op table; format them then")
    command.add_argument("--check", action="store_true", help="write nothing; list the files that are out of date")
    command = commands.add_parser("syntax", help="generate the syntax files of editors, in editors/, from the grammar")
    command.add_argument("--check", action="store_true", help="write nothing; list the files that are out of date")
    options = parser.parse_args(arguments)
    try:
        if options.command == "tables":
            print(write_tables())
        elif options.command == "coverage":
            for line in coverage(options.files):
                print(line)
        elif options.command == "docs":
            return _generate(dev_docs.stale() if options.check else dev_docs.write(), only_check=options.check)
        elif options.command == "methods":
            return _generate(dev_methods.stale() if options.check else dev_methods.write(), only_check=options.check)
        elif options.command == "syntax":
            return _generate(dev_syntax.stale() if options.check else dev_syntax.write(), only_check=options.check)
        else:
            return _floors(options.file, sys.stdin.read(), raise_them=options.raise_them)
    except HlotoolError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
