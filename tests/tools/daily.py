"""Runs the fuzzers and the mutation tests for a limited time, with different seeds every day.

Usage: `python tests/tools/daily.py --minutes 6`. Seeds are derived from the date. Every command is
printed with its seed before it runs, so running that command again reproduces a finding. Fuzzers
run one after the other until the time is up, in parallel with the mutation tests.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

HERE = Path(__file__).parent

FUZZERS: tuple[tuple[str, ...], ...] = (
    ("fuzz.py", "--lines", "1500", "--bytes", "500", "--formats", "150"),
    ("fuzz_verify.py", "--count", "4000"),
    ("fuzz_ops.py", "--count", "4000", "--without-xla"),
    ("scaling.py", "--sample", "12"),
    ("fuzz_modules.py", "--count", "900"),
    ("break_guards.py", "--count", "20"),
    ("fuzz_differ.py", "--count", "20", "--faults", "6", "--linear"),
    ("fuzz_commands.py", "--count", "250"),
    ("fuzz_server.py", "--count", "40"),
)
"""The fuzzers, each with an amount of work that takes less than a minute."""

AREAS = {
    "analysis": "fuzz_modules.py",
    "builder": "fuzz_commands.py",
    "cli": "fuzz_commands.py",
    "differ": "fuzz_differ.py",
    "graph": "fuzz_commands.py",
    "interp": "fuzz_modules.py",
    "ir": "fuzz_modules.py",
    "literals": "fuzz_ops.py",
    "opdefs": "fuzz_verify.py",
    "optimizer": "fuzz_modules.py",
    "server": "fuzz_server.py",
    "shapes": "fuzz_verify.py",
    "syntax": "fuzz_server.py",
    "testing": "fuzz_modules.py",
    "text": "fuzz.py",
    "verifier": "fuzz_verify.py",
    "workspace": "fuzz_commands.py",
}
"""A fuzzer for each package of hlotool.

Two packages have none: `frameworks` needs the frameworks, and `dev` reads no input from users.
"""

MUTATED = (
    "interp.engine.binding",
    "interp.engine.obstacles",
    "interp.engine.order",
    "interp.engine.ownership",
    "interp.engine.program",
    "ir.clone",
    "ir.edit",
    "ir.edit_instructions",
    "ir.edit_state",
    "ir.equal",
    "ir.header",
    "ir.make",
    "ir.model",
    "ir.names",
    "ir.notes",
    "ir.order",
    "ir.uses",
    "ir.walk",
    "analysis.aliasing",
    "analysis.async_chains",
    "analysis.callgraph",
    "analysis.collectives",
    "analysis.effects",
    "analysis.liveness",
    "analysis.loops",
    "analysis.schedule",
    "analysis.simplify",
    "analysis.sizes",
    "analysis.transfers",
    "analysis.users",
    "analysis.value_numbers",
    "shapes.dtype",
    "shapes.json_text",
    "shapes.layout",
    "literals.literal",
    "shapes.memory",
    "shapes.metadata",
    "shapes.positions",
    "shapes.replica_groups",
    "shapes.sharding",
    "shapes.strings",
    "shapes.tiles",
    "shapes.values",
)
"""Modules in which tests notice every mutation; a random sample of the mutations is tried."""

NOTICING = (
    "tests/analysis",
    "tests/devices/partitions.hlo",
    "tests/interp",
    "tests/ir",
    "tests/ops/out-of-range.hlo",
    "tests/ops/set-dimension-size.hlo",
    "tests/shapes",
    "tests/verify",
    "tests/test_public_api.py",
    "tests/text/accept",
    "hlotool",
)
"""The tests that may notice a mutation; running all of them takes minutes."""

MUTATED_RULES = (
    "optimizer.constants",
    "optimizer.context",
    "optimizer.dimensions",
    "optimizer.inlining",
    "optimizer.patterns",
    "optimizer.registry",
    "optimizer.rules.arithmetic",
    "optimizer.rules.broadcast",
    "optimizer.rules.calls",
    "optimizer.rules.collectives",
    "optimizer.rules.concatenate",
    "optimizer.rules.conditional",
    "optimizer.rules.dynamic_dimensions",
    "optimizer.rules.dynamic_slice",
    "optimizer.rules.empty_operands",
    "optimizer.rules.gather_scatter",
    "optimizer.rules.iota",
    "optimizer.rules.logic",
    "optimizer.rules.pad",
    "optimizer.rules.rearranged_operands",
    "optimizer.rules.reductions",
    "optimizer.rules.reshape",
    "optimizer.rules.slice",
    "optimizer.rules.sort",
    "optimizer.rules.transpose",
    "optimizer.rules.while_loops",
    "optimizer.pattern_rewriter",
    "optimizer.tuple_edits",
    "optimizer.work",
)
"""Modules with rewrite rules and their helpers, in which tests also notice every mutation."""

NOTICING_RULES = (
    "tests/optimizer/*.hlo",
    "tests/optimizer/test_bisection.py",
    "tests/optimizer/test_limits.py",
    "tests/optimizer/test_loading.py",
    "tests/optimizer/test_pass_lists.py",
    "tests/optimizer/test_rules_alone.py",
    "tests/optimizer/test_special_shapes.py",
    "tests/optimizer/test_why_not.py",
    "hlotool/optimizer",
)


def commands(seed: int) -> Iterator[list[str]]:
    """Yields the commands of the fuzzers, endlessly."""
    for number in count():
        name, *options = FUZZERS[number % len(FUZZERS)]
        yield [sys.executable, str(HERE / name), *options, "--seed", str(seed + number)]


def start(command: Sequence[str]) -> subprocess.Popen[str]:
    print("$", *command, flush=True)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process: subprocess.Popen[str], name: str) -> bool:
    """Prints a command's output, or the last line if it succeeded. Returns whether it failed."""
    output, _ = process.communicate()
    failed = process.returncode != 0
    lines = output.strip().splitlines()
    print(f"== {name}: {'FAILED' if failed else 'ok'}", *(lines if failed else lines[-1:]), sep="\n  ", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=6, help="time limit for the whole run")
    parser.add_argument("--seed", type=int, default=int(datetime.now(UTC).strftime("%Y%m%d00")), help="seed; default: the date")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    # Rewrite rules are mutated every other day.
    modules, tests = ((MUTATED, NOTICING), (MUTATED_RULES, NOTICING_RULES))[options.seed // 100 % 2]
    mutate = [sys.executable, str(HERE / "mutate.py"), *modules, "--seed", str(options.seed), "--jobs", "1", "--seconds", "5", "--tests", *tests]
    # Tries mutations in random order until all are done or the time is up.
    mutations = start([*mutate, "--sample", "1000000", "--minutes", str(0.9 * options.minutes)])
    failed = False
    for command in commands(options.seed):
        if time.monotonic() > end - min(60, 20 * options.minutes):
            break
        failed |= finish(start(command), Path(command[1]).name)
    failed |= finish(mutations, "mutate.py")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
