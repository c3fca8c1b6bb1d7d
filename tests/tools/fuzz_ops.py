"""Compares operations with XLA; not run by pytest.

Usage: `HLOTOOL_XLA_PYTHON=... python tests/tools/fuzz_ops.py --count 20000 --seed 1 [--only gather
--only sort]`.

Draws instances of operations, computes many at once in one module with hlotool and with XLA, and
checks that integers agree bit for bit and floats up to rounding. After a disagreement, instances
are drawn until a small one disagrees; it is shown with its module, its operands and both results.
With --without-xla, for machines without XLA, each instance must give the same bits whether it
runs alone or together with others.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from random import Random
from typing import Any

import numpy as np
from every_value import instances_of_every_value
from instances import FAMILIES, Instance, module_of, random_instance
from op_agreement import first_disagreement
from xla_limits import is_comparable
from xla_oracle import Xla, XlaError

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.arrays.values import leaves

BATCH = 40
SMALLER = (1, 2, 4, 8, 16)


class Verdict:
    """The verdict on one instance.

    `kind` is "agrees", "differs", "refused" (by hlotool), "raised" or "not by XLA".
    """

    def __init__(self, instance: Instance, kind: str, reason: str = "") -> None:
        self.instance = instance
        self.kind = kind
        self.reason = reason

    @property
    def signature(self) -> tuple[str, ...]:
        """The properties that are equal in findings that count as one."""
        return self.kind, self.instance.label, *self.instance.types, self.reason.partition(":")[0] if self.kind != "differs" else ""


def our_leaves(instances: Sequence[Instance]) -> list[Any]:
    module = hlotool.parse(module_of(instances))
    errors = [d for d in hlotool.verify(module) if d.severity == "error"]
    if errors:
        raise ValueError(f"the verifier finds {errors[0]}")
    return list(leaves(hlotool.evaluate(module, [a for x in instances for a in x.arrays])))


def judged(instances: Sequence[Instance], xla: Xla | None) -> list[Verdict]:
    """Returns verdicts on instances.

    The instances run together if hlotool and XLA can compute them together; otherwise, each half
    runs separately.
    """
    if xla is None:
        return judged_alone(instances)
    try:
        theirs = xla.run(module_of(instances), [a for x in instances for a in x.arrays])
    except XlaError as error:
        if len(instances) == 1:
            return [Verdict(instances[0], "not by XLA", f"{error.kind}: {str(error).strip()}")]
        return _in_halves(instances, xla)
    try:
        ours = our_leaves(instances)
    except Exception as error:
        if len(instances) == 1:
            is_ours = isinstance(error, HlotoolError)
            return [Verdict(instances[0], "refused" if is_ours else "raised", f"{type(error).__name__}: {error}")]
        return _in_halves(instances, xla)
    return list(_compared(instances, ours, theirs))


def judged_alone(instances: Sequence[Instance]) -> list[Verdict]:
    """Returns verdicts without XLA: runs each instance alone, and together with the others."""
    verdicts, alone, kept = [], list[list[Any]](), list[Instance]()
    for x in instances:
        try:
            alone.append(our_leaves([x]))
            kept.append(x)
        except Exception as error:
            # Without XLA, it is not known whether XLA would reject the instance, too.
            is_ours = isinstance(error, HlotoolError | ValueError)
            verdicts.append(Verdict(x, "not by XLA" if is_ours else "raised", f"{type(error).__name__}: {error}"))
    together = our_leaves(kept) if kept else []
    at = 0
    for x, ours in zip(kept, alone, strict=True):
        same = all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(ours, together[at : at + x.leaves], strict=True))
        verdicts.append(Verdict(x, "agrees" if same else "differs", "" if same else "alone and among others"))
        at += x.leaves
    return verdicts


def _in_halves(instances: Sequence[Instance], xla: Xla) -> list[Verdict]:
    middle = len(instances) // 2
    return judged(instances[:middle], xla) + judged(instances[middle:], xla)


def _compared(instances: Sequence[Instance], ours: list[Any], theirs: list[Any]) -> list[Verdict]:
    verdicts, at = [], 0
    for x in instances:
        found = ""
        for leaf in range(x.leaves):
            found = found or first_disagreement(ours[at], theirs[at], x.tolerance(leaf))
            at += 1
        verdicts.append(Verdict(x, "differs" if found else "agrees", found))
    return verdicts


def smaller(verdict: Verdict, xla: Xla | None, seed: int) -> Verdict:
    """Returns the smallest finding of the same kind among new instances with fewer elements."""
    best = verdict
    for most in SMALLER:
        random = Random(seed)
        drawn = [x for x in (random_instance(random, [verdict.instance.family], most) for _ in range(400)) if xla is None or is_comparable(x)]
        alike = [x for x in drawn if x.label == verdict.instance.label and Verdict(x, verdict.kind).signature[:2] == verdict.signature[:2]]
        same_types = [x for x in alike if Verdict(x, verdict.kind).signature[2:-1] == verdict.signature[2:-1]]
        found = [v for k in range(0, len(same_types), BATCH) for v in judged(same_types[k : k + BATCH], xla) if v.signature == verdict.signature]
        if found:
            best = min([*found, best], key=lambda v: v.instance.size)
            break
    return best


def show(verdict: Verdict) -> None:
    x = verdict.instance
    print(f"\n--- {' '.join(verdict.signature)}\n{verdict.reason[:1500]}")
    print(module_of([x]).replace("i0_", ""))
    for number, array in enumerate(x.arrays):
        print(f"  p{number} = {np.array2string(array, threshold=60, max_line_width=150)}")


def batches(count: int, seed: int, only: Sequence[str], *, with_xla: bool) -> Iterator[list[Instance]]:
    random = Random(seed)
    for first in range(0, count, BATCH):
        drawn = [random_instance(random, only) for _ in range(min(BATCH, count - first))]
        yield [x for x in drawn if is_comparable(x)] if with_xla else drawn


def every_value() -> Iterator[list[Instance]]:
    for instance in instances_of_every_value():
        instance.family = instance.label
        yield [instance]


def _short(reason: str) -> str:
    return " ".join(reason.split())[:160]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], choices=list(FAMILIES), help="family to draw from; repeatable")
    parser.add_argument("--most", type=int, default=20, help="number of findings to show")
    parser.add_argument("--every-value", action="store_true", help="test every value of elementwise operations instead of random instances")
    parser.add_argument("--without-xla", action="store_true", help="without XLA, compare each instance's results when run alone and with others")
    parser.add_argument("--no-reduce", action="store_true", help="show findings without looking for smaller ones")
    options = parser.parse_args()
    start, done = time.monotonic(), 0
    counts: dict[str, Counter[str]] = {}
    findings: dict[tuple[str, ...], Verdict] = {}
    numbers: Counter[tuple[str, ...]] = Counter()
    with nullcontext() if options.without_xla else Xla() as xla:
        for batch in every_value() if options.every_value else batches(options.count, options.seed, options.only, with_xla=not options.without_xla):
            for verdict in judged(batch, xla):
                counts.setdefault(verdict.instance.family, Counter())[verdict.kind] += 1
                if verdict.kind != "agrees":
                    numbers[verdict.signature] += 1
                    known = findings.get(verdict.signature)
                    if known is None:
                        print(f"{' '.join(verdict.signature)[:100]}  {_short(verdict.reason)}", flush=True)
                    if known is None or verdict.instance.size < known.instance.size:
                        findings[verdict.signature] = verdict
            done += len(batch)
            if done % (25 * BATCH) == 0:
                print(f"{done} instances, {time.monotonic() - start:.0f} s, {len(findings)} kinds of findings", flush=True)
        for signature, count in numbers.most_common():
            print(f"{count:5d}  {' '.join(signature)[:100]}  {_short(findings[signature].reason)}")
        for signature, _ in [item for item in numbers.most_common() if item[0][0] != "not by XLA"][: options.most]:
            show(findings[signature] if options.no_reduce or options.every_value else smaller(findings[signature], xla, options.seed))
    kinds = ("agrees", "differs", "refused", "raised", "not by XLA")
    print(f"\n{'family':22}" + "".join(f"{kind:>12}" for kind in kinds))
    for name, of_family in sorted(counts.items()):
        print(f"{name:22}" + "".join(f"{of_family[kind]:12d}" for kind in kinds))
    total: Counter[str] = sum(counts.values(), Counter())
    print(f"{'all':22}" + "".join(f"{total[kind]:12d}" for kind in kinds))
    return int(any(total[kind] for kind in ("differs", "refused", "raised")))


if __name__ == "__main__":
    raise SystemExit(main())
