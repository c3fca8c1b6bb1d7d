"""Checks the reported differences of randomly edited modules; not run by pytest.

Usage: `python tests/tools/fuzz_differ.py --count 500 --seed 1 [FILE ...]`.

The modules come from tests/programs, from generators (some of them repetitive), from the given
files (HLO or JSON lines with a field `text`), and from the folder HLOTOOL_CORPUS. Each module is
edited once, 10 times and 200 times, renamed, and, unless it is scheduled, reordered. The difference
must report every edit with its kind, and nothing else, unless there is an explanation that costs no
more than the edits.

A module must not differ from itself, and must differ from its renamed copy only in names. The
reverse difference must have the same categories. Patches must turn one module into the other, even
if its names differ.

`--faults` runs modules with one wrong part, which the comparison of runs must identify.
`--hash-seeds` compares the output of processes with different hash seeds. `--linear` measures the
time on growing modules.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from edit_modules import Edited, edit_module, renamed, reordered
from patching import patch_faults
from repetitive import repetitive_module
from sources import texts_of

import hlotool
from hlotool.differ.delta import Delta
from hlotool.differ.matching.costs import Costs
from hlotool.differ.matching.pairs import Pairs
from hlotool.differ.semantic import semantic_difference
from hlotool.errors import HlotoolError
from hlotool.ir.model import Module
from hlotool.testing import random_module

PROGRAMS = Path(__file__).parent.parent / "programs"
COUNTS = (1, 1, 1, 10, 200)
MANY = 10
"""The number of edits above which explanations are judged less strictly.

They may cost up to a tenth more than the edits, and may differ in the reverse direction.
"""

_OPPOSITES = {"inserted": "deleted", "deleted": "inserted"}
# These changes follow from other changes, and may be missing from the report.
_FOLLOWING = frozenset({"operands", "attributes"})


def modules(files: list[Path], random: Random) -> Iterator[tuple[str, str]]:
    """Yields modules endlessly, each as its name and its text."""
    paths = [*sorted(PROGRAMS.glob("*.hlo")), *files]
    corpus = os.environ.get("HLOTOOL_CORPUS")
    lists = [path for path in sorted(Path(corpus).glob("run.jsonl.xz")) if path.is_file()] if corpus else []
    texts = [(path.name, text) for path in [*paths, *lists] for text in texts_of(path) if len(text) < 400_000]
    while True:
        choice = random.random()
        if choice < 0.15:
            seed, size = random.randrange(1 << 30), random.randint(2, 24)
            yield f"repetitive_module(Random({seed}), {size})", repetitive_module(Random(seed), size)
        elif choice < 0.3:
            seed, size = random.randrange(1 << 30), random.randint(3, 60)
            yield f"random_module({seed}, size={size})", str(random_module(seed, size=size))
        else:
            yield random.choice(texts)


# ---- checks -----------------------------------------------------------------------------------------------------------


def faults(edited: Edited, delta: Delta, outcomes: Counter[str]) -> Iterator[str]:
    """Yields the faults of a reported difference."""
    true = _true_pairs(edited, delta)
    costs = [Costs(delta.graph, pairs).total() for pairs in (delta.pairs, true)]
    if costs[0] > costs[1] + 1e-9:
        # If most of a module has changed, finding the best explanation takes too long.
        outcomes["costs more than the edits"] += 1
        if len(edited.edits) < MANY or costs[0] > 1.1 * costs[1] + 3:
            yield f"the explanation costs {costs[0]:g}, but the edits cost only {costs[1]:g}"
        return
    if delta.pairs.partner != true.partner or delta.pairs.computations != true.computations:
        outcomes["another explanation"] += 1
        return
    outcomes["as edited"] += 1
    yield from _wrong_kinds(edited, delta)


def _true_pairs(edited: Edited, delta: Delta) -> Pairs:
    graph = delta.graph
    pairs = Pairs(graph)
    for left, right in edited.partner.items():
        pairs.join(left, graph.split + right)
    for left, right in edited.computations.items():
        pairs.join_computations(left, graph.computation_split + right)
    return pairs


def _wrong_kinds(edited: Edited, delta: Delta) -> Iterator[str]:
    """Yields missing and superfluous kinds of changes; requires that the pairs match the edits."""
    told = Counter((change["kind"], node, change.get("key")) for node, changes in delta.changed.items() for change in changes)
    told.update((change["kind"], -1, change.get("key")) for change in delta.header)
    told.update(("root", computation, None) for computation in delta.new_roots)
    wanted: Counter[tuple[str, int, str | None]] = Counter()
    optional: set[tuple[str, int]] = set()
    for edit in edited.edits:
        if edit.kind.endswith("?"):
            optional.add((edit.kind[:-1], edit.left))
        elif edit.kind not in ("inserted", "deleted"):
            wanted[edit.kind, edit.left, edit.key] += 1
        if edit.kind in ("opcode", "shape", "element_type"):
            optional |= {(kind, edit.left) for kind in ("attributes", "called", "constants", "layout")}
    for kind, node, key in sorted((told - wanted).elements(), key=repr):
        # Several changed operands of an instruction count as one change, and `layout` has its own
        # keys.
        if (kind, node) in optional or (kind, node, None) in wanted or (kind == "header" and key == "entry_computation_layout"):
            continue
        yield f"reports {kind} {key or ''} of {delta.graph.nodes[node].name if node >= 0 else 'the module'}, which did not change"
    # If operands are both exchanged and replaced, the difference reports the exchange.
    optional |= {("commuted", node) for kind, node in optional if kind == "operands"}
    named = {(kind, node) for kind, node, _ in told}
    for kind, node, key in sorted(wanted, key=repr):
        if (kind, node) not in named and (kind, node) not in optional:
            yield f"does not report {kind} {key or ''} of {delta.graph.nodes[node].name if node >= 0 else 'the module'}"
    # With other edits, the copied computation may have been edited, so that it is no longer a copy.
    regions = {*edited.regions} if len(edited.edits) == sum(edit.kind.endswith("?") for edit in edited.edits) else set()
    for kind in sorted(regions - {region["kind"] for region in delta.to_dict()["regions"]}):
        yield f"does not report that a computation was {kind}"


def self_faults(module: Module, random: Random) -> Iterator[str]:
    same = hlotool.diff(module, module)
    if same or same.inserted:
        yield f"the module differs from itself: {same.categories}"
    other = renamed(module, random)
    delta = hlotool.diff(module, other)
    if delta.categories != ("names",):
        yield f"the renamed module differs in {delta.categories}"
    if hlotool.diff(module, other, ignore=["names"]):
        yield "the renamed module differs in more than names"


def swapped_faults(edited: Edited, delta: Delta) -> Iterator[str]:
    swapped = hlotool.diff(edited.module, edited.original)
    wanted = sorted(_OPPOSITES.get(kind, kind) for kind in delta.categories)
    counts = [Counter(change["kind"] for changes in d.changed.values() for change in changes) for d in (delta, swapped)]
    if [*swapped.categories] != wanted and len(edited.edits) < MANY:
        yield f"in the reverse direction, the categories are {', '.join(swapped.categories)}, not {', '.join(wanted)}"
    elif len(edited.edits) >= MANY:
        return
    elif counts[0] != counts[1] or len(delta.inserted) != len(swapped.deleted) or len(delta.deleted) != len(swapped.inserted):
        yield f"in the reverse direction, the counts are {dict(counts[1])}, not {dict(counts[0])}"


def check(name: str, text: str, random: Random, outcomes: Counter[str]) -> Iterator[str]:
    try:
        # A Rewriter removes invalid parts of a header, and printing adds defaults; these
        # changes are not edits.
        module = hlotool.parse(hlotool.to_text(renamed(hlotool.parse(text), random)))
    except HlotoolError:
        outcomes["does not parse"] += 1
        return
    for fault in self_faults(module, random):
        yield f"{name}: {fault}"
    for count in COUNTS:
        edited = edit_module(module, count, random)
        if edited is None:
            outcomes["not edited"] += 1
            continue
        edited = reordered(edited, random)
        edited.module = renamed(edited.module, random)
        delta = hlotool.diff(module, edited.module)
        what = ", ".join(sorted({edit.kind for edit in edited.edits})) if count == 1 else f"{count} edits"
        for fault in (*faults(edited, delta, outcomes), *swapped_faults(edited, delta), *patch_faults(delta, random)):
            yield f"{name}, {what}: {fault}"


# ---- meaning ----------------------------------------------------------------------------------------------------------


def unnamed_faults(count: int, seed: int) -> Iterator[str]:
    """Yields wrong constants, attributes and operands that a comparison of runs does not identify.

    Tries `count` edits that change a value.
    """
    random = Random(seed)
    named = Counter[str]()
    for name, text in modules([], random):
        if named.total() == count:
            break
        # Each kind of edit is tried equally often.
        kind = ("constants", "attributes", "operands")[named.total() % 3]
        try:
            module = hlotool.parse(text)
        except HlotoolError:
            continue
        edited = None if name.startswith("random_module") else edit_module(module, 1, random, [kind])
        if edited is None or any(d.severity == "error" for d in hlotool.verify(edited.module)):
            continue
        result = semantic_difference(module, renamed(edited.module, random), runs=4)
        if not result and result.first is None:
            continue
        fault = list(module.all_instructions())[edited.edits[0].left]
        named[kind] += 1
        if result.first is None or result.first.left[1] != fault.name:
            yield f"{name}: the wrong {kind} of {fault.name} are not identified: {result.text}"
    print(f"runs of modules with wrong parts: {dict(named)}")


# ---- determinism and time ---------------------------------------------------------------------------------------------


def digest(count: int, seed: int) -> str:
    """Returns a hash of the JSON documents of some differences."""
    random = Random(seed)
    result = hashlib.sha256()
    for (_, text), _ in zip(modules([], random), range(count), strict=False):
        edited = edit_module(hlotool.parse(text), 10, random)
        if edited is not None:
            result.update(json.dumps(hlotool.diff(edited.original, renamed(edited.module, random)).to_dict()).encode())
    return result.hexdigest()


def hash_seed_faults(count: int, seed: int) -> Iterator[str]:
    digests = []
    for hash_seed in ("0", "1", "77"):
        command = [sys.executable, __file__, "--digest", str(count), "--seed", str(seed)]
        run = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=False)
        digests.append(run.stdout.strip() or run.stderr)
    if len(set(digests)) > 1:
        yield f"the documents depend on the hash seed: {digests}"


def layers(count: int, changed: int = -1) -> str:
    """Returns a long chain of layers that are equal except for layer `changed`."""
    lines = ["HloModule layers", "ENTRY e {", "  x0 = f32[8,8] parameter(0)", "  w = f32[8,8] parameter(1)"]
    for k in range(count):
        lines.append(f"  d{k} = f32[8,8] dot(x{k}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")
        lines.append(f"  t{k} = f32[8,8] {'sine' if k == changed else 'tanh'}(d{k})")
        lines.append(f"  {'ROOT ' if k == count - 1 else ''}x{k + 1} = f32[8,8] add(t{k}, x{k})")
    return "\n".join([*lines, "}"])


def linear_faults() -> Iterator[str]:
    """Yields a fault if four times as many layers take more than six times as long."""
    times = []
    for count in (1000, 4000):
        left, right = hlotool.parse(layers(count)), renamed(hlotool.parse(layers(count, count // 2)), Random(1))
        start = time.process_time()
        delta = hlotool.diff(left, right)
        delta.to_dict()
        hlotool.apply_patch(left, delta.to_patch())
        times.append(time.process_time() - start)
    print(f"1,000 layers {times[0]:.2f} s, 4,000 layers {times[1]:.2f} s")
    if times[1] > 6 * times[0]:
        yield f"4 times as many layers take {times[1] / times[0]:.1f} times as long"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="HLO files, or files of JSON lines with a `text` field")
    parser.add_argument("--count", type=int, default=100, help="number of modules, each edited several times")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hash-seeds", action="store_true", help="also compare processes with different hash seeds")
    parser.add_argument("--faults", type=int, default=0, help="number of modules with a wrong part, which a comparison of runs must identify")
    parser.add_argument("--linear", action="store_true", help="also measure the time on growing modules")
    parser.add_argument("--digest", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.digest is not None:
        print(digest(options.digest, options.seed))
        return 0
    outcomes: Counter[str] = Counter()
    number_of_faults = 0
    random = Random(options.seed)
    found = (fault for (name, text), _ in zip(modules(options.files, random), range(options.count), strict=False)
             for fault in check(name, text, random, outcomes))  # fmt: skip
    for fault in found:
        number_of_faults += 1
        print(fault, flush=True)
    for fault in (
        *unnamed_faults(options.faults, options.seed),
        *(hash_seed_faults(20, options.seed) if options.hash_seeds else ()),
        *(linear_faults() if options.linear else ()),
    ):
        number_of_faults += 1
        print(fault, flush=True)
    print(f"{dict(outcomes)}, faults: {number_of_faults}")
    return int(number_of_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
