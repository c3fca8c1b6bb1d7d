"""Random instructions with given result shapes, for rules that rearrange elements.

For each opcode, a function draws operands and attributes such that the result has a given element
type and given sizes; the operands are drawn in the same way. The programs contain sizes 0 and 1,
scalars, negative and interior padding, strides, operands that occur twice, constants, iotas,
non-default layouts, and narrow and complex element types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random

from hlotool.opdefs.table import OPS
from hlotool.optimizer.registry import Rule

__all__ = ["MAKERS", "Program", "Undrawable", "program_for"]

TYPES = ("f32", "s32", "pred", "f16", "s8", "u8", "bf16", "f8e5m2", "u4", "s4", "c64", "f64", "u32")
# If an operand should have one of these types, another of them may be used instead.
_MIXED = ("f32", "bf16", "f16")
Sizes = tuple[int, ...]


class Undrawable(Exception):
    """Raised if no instruction with the drawn opcode can have the required result; draw again."""


class Program:
    """A module under construction; `wanted` lists preferred opcodes for operands of the root."""

    def __init__(self, random: Random, wanted: Sequence[str] = ()) -> None:
        self.random = random
        self.wanted = wanted
        self.root = ""
        self.header = ""
        self.lines: list[str] = []
        self.computations: list[str] = []
        self.parameters = 0
        self.values: dict[tuple[str, Sizes], list[str]] = {}
        self.types: dict[str, tuple[str, Sizes]] = {}

    # ---- drawing ----

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, choices: Sequence[object]) -> object:
        if not choices:
            raise Undrawable
        return self.random.choice(choices)

    def sizes(self, rank: int | None = None, most: int = 60) -> Sizes:
        while True:
            count = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)) if rank is None else rank
            sizes = tuple(self.random.choice((1, 1, 2, 2, 3, 3, 4, 5, 6)) if self.chance(0.97) else 0 for _ in range(count))
            if prod(sizes) <= most:
                return sizes

    def type(self) -> str:
        return self.random.choice(TYPES[:2]) if self.chance(0.6) else self.random.choice(TYPES)

    def shuffled(self, items: Sequence[int]) -> list[int]:
        return self.random.sample(list(items), len(items))

    # ---- instructions ----

    def add(self, text: str, element_type: str, sizes: Sizes, *, layout: bool = True) -> str:
        """Adds an instruction, occasionally with a non-default layout, and returns the new name."""
        name = f"x{len(self.types)}"
        order = ""
        if layout and len(sizes) > 1 and self.chance(0.05):
            order = "{" + ",".join(map(str, self.shuffled(range(len(sizes))))) + self.random.choice(("", "", ":T(2,128)", ":S(1)")) + "}"
        self.lines.append(f"  {name} = {shape(element_type, sizes)}{order} {text}")
        self.types[name] = element_type, sizes
        self.values.setdefault((element_type, sizes), []).append(name)
        return name

    def parameter(self, element_type: str, sizes: Sizes) -> str:
        """Adds a parameter, and returns its name."""
        self.parameters += 1
        return self.add(f"parameter({self.parameters - 1})", element_type, sizes, layout=False)

    def scalar(self, element_type: str, number: int | None = None) -> str:
        """Adds a constant, and returns its name."""
        value = self.random.choice((0, 1, 2, 3, 0, 1, 7)) if number is None else number
        text = ("true" if value % 2 else "false") if element_type == "pred" else f"({value}, 0)" if element_type[0] == "c" else str(value)
        return self.add(f"constant({text})", element_type, ())

    def leaf(self, element_type: str, sizes: Sizes) -> str:
        """Returns an existing value, a new parameter, a constant, a broadcast, or an iota."""
        known = self.values.get((element_type, sizes), [])
        if known and self.chance(0.4):
            return self.random.choice(known)
        if self.chance(0.65):
            return self.parameter(element_type, sizes)
        return self.make(self.random.choice(("constant", "iota", "broadcast")), element_type, sizes, 0)

    def operand(self, element_type: str, sizes: Sizes, depth: int) -> str:
        """Returns an operand, preferably with one of the wanted opcodes."""
        if element_type in _MIXED and self.chance(0.03):
            element_type = self.random.choice(_MIXED)
        if depth <= 0:
            return self.leaf(element_type, sizes)
        known = self.values.get((element_type, sizes), [])
        if known and self.chance(0.15):
            return self.random.choice(known)
        for _ in range(4):
            if self.wanted and self.chance(0.8 if depth < 2 else 0.6):
                opcode = self.random.choice(self.wanted)
            elif self.chance(0.4 if depth < 2 else 0.1):
                return self.leaf(element_type, sizes)
            else:
                opcode = self.random.choice((self.root, *_COMMON) if self.root else _COMMON)
            try:
                return self.make(opcode, element_type, sizes, depth - 1)
            except Undrawable:
                continue
        return self.leaf(element_type, sizes)

    def make(self, opcode: str, element_type: str, sizes: Sizes, depth: int) -> str:
        """Adds an instruction with this opcode and result, or raises Undrawable."""
        maker = MAKERS.get(opcode)
        if maker is not None:
            return maker(self, element_type, sizes, depth)
        if opcode in _EXACT:
            return elementwise(self, opcode, element_type, sizes, depth)
        raise Undrawable

    def text(self, root: str) -> str:
        lines = [line.replace(f"  {root} =", f"  ROOT {root} =") if line.startswith(f"  {root} =") else line for line in self.lines]
        return f"HloModule m{self.header}\n\n" + "".join(self.computations) + "ENTRY e {\n" + "\n".join(lines) + "\n}\n"


def shape(element_type: str, sizes: Sizes) -> str:
    """Returns the text of a shape; `element_type` may already be a complete shape."""
    return element_type if "[" in element_type or element_type.startswith("(") else f"{element_type}[{','.join(map(str, sizes))}]"


def dims(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def program_for(rule: Rule, seed: int) -> str:
    """Returns a module whose root is an instruction that the rule may replace.

    If possible, the operands have the opcodes that the rule looks for.
    """
    random = Random(f"{rule.name} {seed}")
    wanted = tuple(op.name for op in rule.operands)
    opcodes = [opcode for opcode in rule.opcodes if opcode in MAKERS or opcode in _EXACT]
    for _ in range(50):
        program = Program(random, sorted(wanted) or _COMMON)
        if not opcodes:
            raise Undrawable
        try:
            program.root = random.choice(opcodes)
            root = program.make(program.root, program.type(), program.sizes(), random.choice((1, 1, 2, 2)))
        except Undrawable:
            continue
        if random.random() < 0.15:
            _add_user(program, root)
            root = f"x{len(program.types) - 1}"
        return program.text(root)
    raise Undrawable


def _add_user(program: Program, root: str) -> None:
    """Adds a tuple of the root and a random value, so that this value has an additional user."""
    names = [root, program.random.choice(list(program.types))]
    types = [shape(*program.types[name]) for name in names]
    program.add(f"tuple({', '.join(names)})", f"({', '.join(types)})", ())


# ---- opcodes ----------------------------------------------------------------------------------------------------------------

Maker = Callable[[Program, str, Sizes, int], str]
MAKERS: dict[str, Maker] = {}


def maker(*opcodes: str) -> Callable[[Maker], Maker]:
    def wrap(function: Maker) -> Maker:
        MAKERS.update(dict.fromkeys(opcodes, function))
        return function

    return wrap


_COMMON = (
    "broadcast", "reshape", "transpose", "reverse", "slice", "pad", "concatenate", "copy", "negate", "add", "constant", "iota", "dynamic-slice",
    "select", "convert",
)  # fmt: skip

# NumPy's functions for other opcodes, such as cosine, may round an element differently depending on
# its position in the array.
_EXACT = tuple("abs add and ceil divide floor maximum minimum multiply negate not or popcnt shift-left sign subtract xor".split())


def elementwise(p: Program, opcode: str, element_type: str, sizes: Sizes, depth: int) -> str:
    """Adds an operation on arrays of one type; MAKERS handles operands of several types."""
    names = [p.operand(element_type, sizes, depth) for _ in range(OPS[opcode].arity)]
    return p.add(f"{opcode}({', '.join(names)})", element_type, sizes)


@maker("compare")
def compare(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    of = p.type()
    direction = p.pick(("EQ", "NE") if of == "c64" else ("EQ", "NE", "LT", "GE", "LE", "GT"))
    names = [p.operand(of, sizes, depth), p.make("constant", of, sizes, 0) if p.chance(0.4) else p.operand(of, sizes, depth)]
    return p.add(f"compare({names[0]}, {names[1]}), direction={direction}", "pred", sizes)


@maker("select")
def select(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    chosen = p.operand("pred", () if p.chance(0.3) else sizes, depth)
    names = [p.operand(element_type, sizes, depth) for _ in range(2)]
    return p.add(f"select({chosen}, {names[0]}, {names[1]})", element_type, sizes)


@maker("clamp")
def clamp(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    limits = [p.operand(element_type, () if p.chance(0.4) else sizes, depth) for _ in range(2)]
    return p.add(f"clamp({limits[0]}, {p.operand(element_type, sizes, depth)}, {limits[1]})", element_type, sizes)


@maker("convert")
def convert(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    return p.add(f"convert({p.operand(p.type(), sizes, depth)})", element_type, sizes)


@maker("remainder")
def remainder(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    divisor = p.make("constant", element_type, sizes, 0) if p.chance(0.7) else p.operand(element_type, sizes, depth)
    return p.add(f"remainder({p.operand(element_type, sizes, depth)}, {divisor})", element_type, sizes)


@maker("reduce-precision")
def reduce_precision(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    return p.add(f"reduce-precision({p.operand('f32', sizes, depth)}), exponent_bits=5, mantissa_bits=10", "f32", sizes)


@maker("is-finite")
def is_finite(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    return p.add(f"is-finite({p.operand('f32', sizes, depth)})", "pred", sizes)


@maker("constant")
def constant(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if p.chance(0.3) and element_type[0] in "suf" and 0 not in sizes and sizes:
        number = p.random.choice((0, 1)) if p.chance(0.7) else None
        sizes = (70, *sizes[1:]) if p.root == "constant" and not p.types else sizes
        return p.add(f"constant({_nested(p, sizes, number)})", element_type, sizes)
    scalar = p.scalar(element_type)
    return scalar if not sizes else p.add(f"broadcast({scalar}), dimensions={{}}", element_type, sizes)


def _nested(p: Program, sizes: Sizes, number: int | None) -> str:
    if not sizes:
        return str(p.random.choice((0, 1, 2, 3)) if number is None else number)
    return "{" + ", ".join(_nested(p, sizes[1:], number) for _ in range(sizes[0])) + "}"


@maker("iota")
def iota(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if element_type == "pred" or not sizes:
        raise Undrawable
    return p.add(f"iota(), iota_dimension={p.random.randrange(len(sizes))}", element_type, sizes)


@maker("broadcast")
def broadcast(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    kept = [k for k in range(len(sizes)) if p.chance(0.5)]
    kept = kept if p.chance(0.8) else p.shuffled(kept)
    return p.add(f"broadcast({p.operand(element_type, tuple(sizes[k] for k in kept), depth)}), dimensions={dims(kept)}", element_type, sizes)


@maker("reshape", "bitcast")
def reshape(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    name = p.operand(element_type, _same_count(p, sizes), depth)
    opcode = "bitcast" if "bitcast" in (p.root, *p.wanted) or (depth and p.chance(0.1)) else "reshape"
    return p.add(f"{opcode}({name})", element_type, sizes)


def _same_count(p: Program, sizes: Sizes) -> Sizes:
    """Returns sizes with the same product, with dimensions added, removed, merged or split."""
    result = list(sizes)
    for _ in range(p.random.choice((1, 1, 2, 3))):
        choice = p.random.choice("aarrms")
        if choice == "a":
            result.insert(p.random.randint(0, len(result)), 1)
        elif choice == "r" and 1 in result:
            result.remove(1)
        elif choice == "m" and len(result) > 1:
            k = p.random.randrange(len(result) - 1)
            result[k : k + 2] = [result[k] * result[k + 1]]
        elif choice == "s" and any(size in (4, 6) for size in result):
            k = next(k for k, size in enumerate(result) if size in (4, 6))
            result[k : k + 1] = [2, result[k] // 2]
    return tuple(result)


@maker("copy")
def copy(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    return p.add(f"copy({p.operand(element_type, sizes, depth)})", element_type, sizes)


@maker("transpose")
def transpose(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    order = p.shuffled(range(len(sizes)))
    source = [0] * len(sizes)
    for k, position in enumerate(order):
        source[position] = sizes[k]
    return p.add(f"transpose({p.operand(element_type, tuple(source), depth)}), dimensions={dims(order)}", element_type, sizes)


@maker("reverse")
def reverse(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    reversed_dimensions = [k for k in range(len(sizes)) if p.chance(0.6)] or ([0] if sizes else [])
    return p.add(f"reverse({p.operand(element_type, sizes, depth)}), dimensions={dims(reversed_dimensions)}", element_type, sizes)


@maker("slice")
def slice_(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    source, ranges = [], []
    for size in sizes:
        start, stride = p.random.choice((0, 0, 0, 1, 2)), p.random.choice((1, 1, 1, 2, 3))
        limit = start + (size - 1) * stride + 1 if size else start
        limit += p.random.randrange(stride) if size else 0
        source.append(limit + p.random.choice((0, 0, 0, 1, 3)))
        ranges.append(f"[{start}:{limit}:{stride}]")
    if prod(source) > 400:
        raise Undrawable
    inner = (
        p.make("reshape", element_type, tuple(source), 0) if p.root == "reshape" and p.chance(0.5) else p.operand(element_type, tuple(source), depth)
    )
    return p.add(f"slice({inner}), slice={{{', '.join(ranges)}}}", element_type, sizes)


@maker("pad")
def pad(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if not sizes:
        raise Undrawable
    source, parts = [], []
    negative = p.chance(0.3)
    for size in sizes:
        low, high = (p.random.choice((0, 0, -1, -2) if negative else (0, 0, 1, 2, -1)) for _ in range(2))
        interior = p.random.choice((0, 0, 0, 0, 1, 2))
        inside = size - low - high
        if inside < 0 or (inside and (inside - 1) % (interior + 1)):
            low, high, interior, inside = 0, 0, 0, size
        source.append((inside - 1) // (interior + 1) + 1 if inside else 0)
        parts.append(f"{low}_{high}_{interior}")
    value = p.operand(element_type, (), 0) if p.chance(0.5) else p.scalar(element_type)
    if p.chance(0.3):
        known = list(p.values.get((element_type, ()), [])) or [value]
        value = p.random.choice(known)
    return p.add(f"pad({p.operand(element_type, tuple(source), depth)}, {value}), padding={'x'.join(parts)}", element_type, sizes)


@maker("concatenate")
def concatenate(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if not sizes:
        raise Undrawable
    k, left, names = p.random.randrange(len(sizes)), sizes[0], []
    left = sizes[k]
    pieces = []
    while left or not pieces:
        size = p.random.randint(0 if p.chance(0.1) else min(1, left), left)
        pieces.append(size)
        left -= size
    parts = [(*sizes[:k], size, *sizes[k + 1 :]) for size in pieces]
    if p.chance(0.3) and p.wanted is _COMMON:
        opcode = "negate" if element_type[0] in "fsc" else "not"
        names = [p.make("not" if element_type == "pred" else opcode, element_type, part, 0) for part in parts]
    elif "slice" in p.wanted and p.chance(0.6):
        names = _neighbors(p, element_type, sizes, k, pieces, depth)
    elif p.chance(0.5):
        opcode = p.random.choice(list(p.wanted))
        names = [p.make(opcode, element_type, part, 0) for part in parts]
    elif p.chance(0.4):
        scalar = p.leaf(element_type, ())
        names = [
            p.add(f"broadcast({scalar}), dimensions={{}}", element_type, part) if p.chance(0.6) else p.parameter(element_type, part) for part in parts
        ]
    else:
        names = [p.operand(element_type, part, depth) for part in parts]
    if len(set(pieces)) == 1 and p.chance(0.2):
        names = [names[0]] * len(names)
    return p.add(f"concatenate({', '.join(names)}), dimensions={{{k}}}", element_type, sizes)


def _neighbors(p: Program, element_type: str, sizes: Sizes, k: int, pieces: Sequence[int], depth: int) -> list[str]:
    """Adds slices of one array, which are usually adjacent, and returns the names of the slices."""
    start, stride = p.random.choice((0, 0, 1)), p.random.choice((1, 1, 2))
    source = p.operand(element_type, (*sizes[:k], start + sizes[k] * stride + 1, *sizes[k + 1 :]), 0)
    names, at = [], start
    for size in pieces:
        ranges = [f"[0:{other}]" for other in sizes]
        limit = at + (size - 1) * stride + 1 if size else at
        ranges[k] = f"[{at}:{limit}:{stride}]"
        names.append(p.add(f"slice({source}), slice={{{', '.join(ranges)}}}", element_type, (*sizes[:k], size, *sizes[k + 1 :])))
        at += size * stride + (0 if p.chance(0.9) else 1 - stride)
    return names


def _index(p: Program) -> str:
    return p.scalar("s32", p.random.choice((0, 0, 0, 1, 2, -1, 100))) if p.chance(0.6) else p.leaf("s32", ())


@maker("dynamic-slice")
def dynamic_slice(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    source = tuple(size + p.random.choice((0, 0, 1, 2)) for size in sizes)
    starts = [_index(p) for _ in sizes]
    if "dynamic-update-slice" in p.wanted and depth > 0 and p.chance(0.8):
        array, update = (p.operand(element_type, s, 0) for s in (source, sizes))
        operand = p.add(f"dynamic-update-slice({', '.join([array, update, *starts])})", element_type, source)
    else:
        operand = p.operand(element_type, source, depth)
    return p.add(f"dynamic-slice({', '.join([operand, *starts])}), dynamic_slice_sizes={dims(sizes)}", element_type, sizes)


@maker("dynamic-update-slice")
def dynamic_update_slice(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    part = tuple(size if p.chance(0.5) else p.random.randint(0 if p.chance(0.1) else min(1, size), size) for size in sizes)
    starts = [_index(p) for _ in sizes]
    operand = p.operand(element_type, sizes, depth)
    if "dynamic-update-slice" in p.wanted and p.chance(0.8):
        operand = p.add(f"dynamic-update-slice({', '.join([operand, p.operand(element_type, part, 0), *starts])})", element_type, sizes)
    return p.add(f"dynamic-update-slice({', '.join([operand, p.operand(element_type, part, depth), *starts])})", element_type, sizes)
