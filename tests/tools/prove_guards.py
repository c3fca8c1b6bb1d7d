"""Finds and records programs that show that each guard of a rule or pass is needed.

Usage: `python tests/tools/prove_guards.py [MODULE ...]`. A module is the name of a file in
`hlotool/optimizer/rules` or `passes`, such as `reshape`; the default is all files. Recorded
programs are tried first, so a second run only looks for programs that are still missing. Guards
that no program needs are printed.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys

from proofs.guards import equivalents
from proofs.replay import replay, subjects_of, write_programs
from proofs.search import Search


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="names of files with rules or passes; default: all")
    parser.add_argument("--stages", type=int, default=3, help="number of stages of the search; each stage has many more candidates")
    options = parser.parse_args()
    missing = 0
    for module in subjects_of():
        if not options.modules or module.rpartition(".")[2] in options.modules:
            missing += prove(module, options.stages)
    return int(missing > 0)


def prove(module: str, stages: int) -> int:
    """Records the programs of a module, and returns the number of guards that no program needs."""
    search = Search(module)
    missing = [key for key in search.guards if key not in equivalents(module)]
    for stage in range(stages):
        if missing:
            search.add_candidates(stage)
            gc.collect()
            gc.freeze()
            missing = [key for key in missing if search.find(key) is None]
    programs = search.programs()
    write_programs(module, programs)
    for program in programs:
        if (message := replay(program)) is not None:
            print(f"  {message}, in\n{program}")
    wrong = sum(how == "wrong" for _, how in search.found.values())
    counts = f"{len(programs)} programs, {wrong} guards against wrong results, {len(search.found) - wrong} others, {len(missing)} not needed"
    print(f"{module.rpartition('.')[2]}: {counts}, {sum(os.times()[:4]):.0f} s", flush=True)
    print("".join(f"  not needed: {key}\n" for key in missing), end="", flush=True)
    return len(missing)


if __name__ == "__main__":
    sys.exit(main())
