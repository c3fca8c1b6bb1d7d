"""Breaks random guards of rules and passes, and checks that the recorded proofs notice each change.

Usage: `python tests/tools/break_guards.py --count 40 --seed 7`.

Each guard is broken in a separate process: a condition becomes always true or always false, loses a
part, or is off by one. The proofs notice the change if one of the programs recorded for the same
file is then rewritten differently or incorrectly.
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
from random import Random

from code_changes import CannotMutate, loaded_functions
from proofs.guards import Guard, apart, equivalents, guards_of
from proofs.replay import Program, read_programs, replay, subjects_of

_SECONDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="number of guards to break, one at a time; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="seed for choosing guards")
    parser.add_argument("--equivalent", action="store_true", help="break only the guards that are listed as making no difference")
    options = parser.parse_args()
    guards = [guard for module in subjects_of() for key, guard in guards_of(module).items() if (key in equivalents(module)) == options.equivalent]
    chosen = Random(options.seed).sample(guards, min(options.count, len(guards))) if options.count else guards
    programs = {module: read_programs(module) for module in subjects_of()}
    for program in (program for some in programs.values() for program in some[:1]):
        replay(program)
    functions = loaded_functions()
    gc.freeze()
    noticed = 0
    for guard in chosen:
        is_noticed = not apart(lambda guard=guard: _replayed(guard, functions, programs[guard.home]))  # type: ignore[misc]
        noticed += is_noticed
        print(f"{'noticed' if is_noticed else 'NOT NOTICED'}: {guard.mutation.location}", flush=True)
    print(f"{noticed} of {len(chosen)} broken guards were noticed")
    return int(noticed < len(chosen))


def _replayed(guard: Guard, functions: dict[str, list[object]], programs: list[Program]) -> None:
    """Replays programs with a broken guard.

    Raises AssertionError if the result of a program is not the recorded one. If a program runs too
    long, a timer ends the process.
    """
    try:
        guard.break_it(functions)  # type: ignore[arg-type]
    except CannotMutate:
        return
    for program in programs:
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        message = replay(program)
        assert message is None, message


if __name__ == "__main__":
    sys.exit(main())
