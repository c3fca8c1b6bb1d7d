"""Development tasks: api, tables, methods, syntax, coverage FILE..., floors FILE, docs.

Run them with `python -m hlotool.dev TASK`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hlotool.dev import api, docs, methods, syntax
from hlotool.dev.coverage import coverage
from hlotool.dev.floors import check_floors
from hlotool.errors import HlotoolError
from hlotool.text.parse.grammar import write_tables

__all__ = ["main"]


def _generate(changed: list[str], *, only_check: bool) -> int:
    for name in changed:
        print(name)
    return int(only_check and bool(changed))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hlotool.dev", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tables", help="generate the parse tables of the grammar")
    command = commands.add_parser("coverage", help="search FILEs for opcodes and attributes that the op table lacks")
    command.add_argument("files", nargs="+", metavar="FILE")
    command = commands.add_parser("floors", help="compare a conformance report on standard input with the floors in FILE")
    command.add_argument("file", type=Path, metavar="FILE")
    command.add_argument(
        "--raise", dest="update", action="store_true", help="if no check has fallen, write the numbers of the report as the new floors"
    )
    command = commands.add_parser("docs", help="generate docs/operations.md, docs/rules, docs/ops and docs/rewrites from the code")
    command.add_argument("--check", action="store_true", help="write nothing; list the pages that are out of date")
    command = commands.add_parser("methods", help="generate hlotool/builder/generated from the op table; format the files afterwards")
    command.add_argument("--check", action="store_true", help="write nothing; list the files that are out of date")
    command = commands.add_parser("syntax", help="generate the editors' syntax files in editors/ from the grammar")
    command.add_argument("--check", action="store_true", help="write nothing; list the files that are out of date")
    commands.add_parser("api", help="record the public API in tests/public_api.txt; changes must be in the changelog first")
    options = parser.parse_args(arguments)
    try:
        if options.command == "tables":
            print(write_tables())
        elif options.command == "api":
            print(api.write())
        elif options.command == "coverage":
            for line in coverage(options.files):
                print(line)
        elif options.command == "docs":
            return _generate(docs.stale() if options.check else docs.write(), only_check=options.check)
        elif options.command == "methods":
            return _generate(methods.stale() if options.check else methods.write(), only_check=options.check)
        elif options.command == "syntax":
            return _generate(syntax.stale() if options.check else syntax.write(), only_check=options.check)
        else:
            return check_floors(options.file, sys.stdin.read(), update=options.update)
    except HlotoolError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0
