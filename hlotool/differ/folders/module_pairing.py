"""Pairs the modules of two folders by content, regardless of dump numbers and file names.

Modules with the same hash are paired first, then the most similar ones. Similarity is estimated
from sketches, which take 512 bytes per module, regardless of its size. Two sketches yield an
estimate of the fraction of instructions that their modules share (MinHash: Broder, "On the
resemblance and containment of documents", 1997).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from hlotool.differ.canonical import CanonicalForm
from hlotool.differ.folders.dumps import dump_name
from hlotool.ir.model import Module
from hlotool.ir.walk import shown_computations

__all__ = ["Pairing", "Sketch", "pair_up", "sketch"]

_HASHES = 64
# Modules that share a smaller fraction of their instructions are not paired, unless their names
# match.
_MIN_SIMILARITY = 0.3
# The bonuses for equal names, which are added to a similarity between 0 and 1.
_SAME_FILE = 0.2
_SAME_STAGE = 0.1
_SAME_MODULE = 0.05
# The largest number of candidates considered for a module.
_MAX_CANDIDATES = 32
_ROUNDS = 8
# The number of comparisons in a batch.
_BATCH = 1 << 22


class Sketch(NamedTuple):
    """A summary of a module that is not in memory.

    `label` is the name of the module's file, relative to the folder. `signature` has two parts: the
    first covers whole instructions; the second covers only opcodes and the opcodes of operands,
    which stay the same if shapes change. `text` is a digest of the module's text, or empty if the
    text is unknown.
    """

    label: str
    module: str
    instructions: int
    hash: str
    signature: bytes
    text: str = ""


class Pairing(NamedTuple):
    """The indices of paired modules and of modules that only one side has, in file order."""

    pairs: list[tuple[int, int]]
    left_only: list[int]
    right_only: list[int]


def sketch(module: Module, label: str) -> Sketch:
    """Returns the sketch of a module.

    >>> import hlotool
    >>> first = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> second = hlotool.parse("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] negate(x) }")
    >>> sketch(first, "a.hlo").hash == sketch(second, "b.hlo").hash
    True
    """
    form = CanonicalForm(module)
    instructions = list(form.module.all_instructions())
    exact = (form.contents[x] for x in instructions)
    structure = (" ".join([x.op.name, *[operand.op.name for operand in x.operands]]) for x in instructions)
    signature = np.concatenate([_signature(exact), _signature(structure)]).tobytes()
    count = sum(len(computation.instructions) for computation in shown_computations(module))
    return Sketch(label, module.name, count, form.hash, signature)


def _signature(features: Iterable[str]) -> np.ndarray[Any, Any]:
    """Returns the minimum of each of `_HASHES` hash functions over all features.

    The fraction of equal values in two signatures estimates the fraction of shared features.
    """
    numbers = []
    for feature, count in Counter(features).items():
        first = int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
        # A feature that occurs twice counts as two features.
        numbers += [first + occurrence * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF for occurrence in range(count)]
    values = np.array(numbers, np.uint64)
    seeds = np.arange(1, _HASHES + 1, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95)
    return (np.array([_mixed(values ^ seed).min() for seed in seeds], np.uint64) >> np.uint64(32)).astype(np.uint32)


def _mixed(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Applies the finalizer of SplitMix64, which makes every bit depend on all other bits."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


# ---- pairing -----------------------------------------------------------------------------------


def pair_up(left: Sequence[Sketch], right: Sequence[Sketch]) -> Pairing:
    """Pairs modules: equal ones first, then the most similar ones, then the rest by name.

    If several modules are equally similar, the names of files and modules decide, then the order.

    >>> import hlotool
    >>> modules = [hlotool.parse(f"ENTRY e {{ p = f32[8] parameter(0) ROOT r = f32[8] {opcode}(p) }}") for opcode in ("sine", "tanh", "abs")]
    >>> before = [sketch(modules[0], "0001.hlo"), sketch(modules[1], "0002.hlo")]
    >>> after = [sketch(modules[1], "0001.hlo"), sketch(modules[0], "0002.hlo"), sketch(modules[2], "0003.hlo")]
    >>> pair_up(before, after)
    Pairing(pairs=[(0, 1), (1, 0)], left_only=[], right_only=[2])
    """
    pairer = _Pairer(left, right)
    pairer.pair_equal()
    for _ in range(_ROUNDS):
        if not pairer.pair_similar():
            break
    pairer.pair_by_name()
    partner = pairer.partner
    return Pairing(sorted(partner.items()), [a for a in range(len(left)) if a not in partner], sorted(pairer.free))


def _file(sketch: Sketch) -> Hashable:
    """Returns the name of a module's file; for a dump, the parts of the name except for numbers."""
    name = dump_name(sketch.label)
    return sketch.label if name is None else (str(PurePath(sketch.label).parent), name.module, name.phase, name.pipeline, name.stage)


def _stage(sketch: Sketch) -> Hashable:
    """Returns the pass after which a dump was written; for any other file, its name."""
    name = dump_name(sketch.label)
    return sketch.label if name is None else (name.phase, name.pipeline, name.stage)


def _module(sketch: Sketch) -> Hashable:
    return sketch.module


def _name_at_stage(sketch: Sketch) -> Hashable:
    """Returns the name of a module and, if its file is a dump, the pass."""
    return sketch.module, None if dump_name(sketch.label) is None else _stage(sketch)


def _no_name(sketch: Sketch) -> Hashable:
    return None


def _text_and_hash(sketch: Sketch) -> Hashable:
    return sketch.text, sketch.hash


def _hash(sketch: Sketch) -> Hashable:
    return sketch.hash


def _contents_and_name(contents_of: Callable[[Sketch], Hashable], name_of: Callable[[Sketch], Hashable], sketch: Sketch) -> Hashable:
    return contents_of(sketch), name_of(sketch)


_NAMES_OR_NONE = (_file, _stage, _module, _no_name)
_NAMES = ((_file, _SAME_FILE), (_stage, _SAME_STAGE), (_module, _SAME_MODULE))


class _Pairer:
    """The pairs so far, and the modules on the right without a counterpart."""

    def __init__(self, left: Sequence[Sketch], right: Sequence[Sketch]) -> None:
        self.left = left
        self.right = right
        self.partner: dict[int, int] = {}
        self.free = dict.fromkeys(range(len(right)))

    def _pair(self, a: int, b: int) -> None:
        self.partner[a] = b
        del self.free[b]

    def _rest(self) -> list[int]:
        return [a for a in range(len(self.left)) if a not in self.partner]

    def pair_equal(self) -> None:
        """Pairs modules with the same text, then those with the same hash.

        Among these, modules with equal names are paired first.
        """
        for contents_of in (_text_and_hash, _hash):
            for name_of in _NAMES_OR_NONE:
                self._pair_by(partial(_contents_and_name, contents_of, name_of))

    def pair_by_name(self) -> None:
        """Pairs modules in files of the same name, then those with a unique name at their stage."""
        self._pair_by(_file)
        self._pair_by(_name_at_stage, only_unique=True)

    def _pair_by(self, key_of: Callable[[Sketch], Hashable], *, only_unique: bool = False) -> None:
        """Pairs modules with equal keys, in order.

        With `only_unique`, pairs only modules whose key is unique on both sides.
        """
        groups: dict[Hashable, list[int]] = {}
        for b in reversed(self.free):
            groups.setdefault(key_of(self.right[b]), []).append(b)
        counts = Counter(key_of(self.left[a]) for a in self._rest())
        for a in self._rest():
            key = key_of(self.left[a])
            if only_unique and (counts[key] > 1 or len(groups.get(key, ())) != 1):
                continue
            numbers = groups.get(key)
            if numbers:
                self._pair(a, numbers.pop())

    def pair_similar(self) -> bool:
        """Pairs similar modules, the most similar first. Returns whether it found any."""
        rest, free = self._rest(), list(self.free)
        if not rest or not free:
            return False
        before = len(self.partner)
        for _, a, b in sorted(_candidates([self.left[a] for a in rest], [self.right[b] for b in free])):
            if rest[a] not in self.partner and free[b] in self.free:
                self._pair(rest[a], free[b])
        return len(self.partner) > before


def _candidates(left: Sequence[Sketch], right: Sequence[Sketch]) -> Iterator[tuple[float, int, int]]:
    """Yields pairs of similar modules as `(score, left, right)`; smaller scores are better.

    Each module on the left is in at most `_MAX_CANDIDATES` pairs.
    """
    first, second = (np.frombuffer(b"".join(sketch.signature for sketch in side), np.uint32).reshape(len(side), -1) for side in (left, right))
    names = []
    for name_of, bonus in _NAMES:
        codes: dict[Hashable, int] = {}
        rows, columns = (np.array([codes.setdefault(name_of(sketch), len(codes)) for sketch in side]) for side in (left, right))
        names.append((rows, columns, bonus))
    position = np.arange(len(right)) / len(right)
    step = max(1, _BATCH // second.size)
    for start in range(0, len(left), step):
        batch = slice(start, start + step)
        similarity = (first[batch, None, :] == second[None, :, :]).mean(axis=2)
        score = similarity.copy()
        for rows, columns, bonus in names:
            score += bonus * (rows[batch, None] == columns[None, :])
        # Among equal candidates, prefer the one closest to the same relative position.
        score -= 1e-6 * np.abs(position[None, :] - (np.arange(start, start + len(score)) / len(left))[:, None])
        score[similarity < _MIN_SIMILARITY] = -1
        best = np.argsort(-score, axis=1, kind="stable")[:, :_MAX_CANDIDATES]
        for row, columns in enumerate(best.tolist()):
            yield from ((-float(score[row, column]), start + row, column) for column in columns if score[row, column] > 0)
