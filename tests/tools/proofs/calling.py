"""Random programs for passes: loops, conditionals, calls and fusions.

Their operands and results may be equal, constant or unused. Features that passes must respect are
included now and then: side effects, control dependencies, shardings, backend configurations, shared
computations, and roots that are not the last instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

__all__ = ["program_for_pass"]

_SHAPES = ("f32[]", "s32[]", "f32[4]", "f32[4]", "f32[2,2]")
_UNARY = ("negate", "abs", "copy")
_BINARY = ("add", "multiply", "subtract", "maximum")
_NOTES = (", sharding={replicated}", ', metadata={op_name="a"}', ', frontend_attributes={k="1"}', ', backend_config={"k":"1"}')


class _Module:
    """The computations written so far."""

    def __init__(self, random: Random, subject: str) -> None:
        self.random = random
        self.subject = subject
        self.texts: list[str] = []
        self.functions: list[tuple[str, list[str], str]] = []

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability


class _Body:
    """A computation under construction: its lines, and the shape of each name."""

    def __init__(self, module: _Module, depth: int) -> None:
        self.module, self.random, self.depth = module, module.random, depth
        self.lines: list[str] = []
        self.shapes: dict[str, str] = {}
        self.prefix = f"{'abcdefgh'[len(module.texts) % 8]}{len(module.texts)}_"

    def add(self, shape: str, text: str, *, is_plain: bool = False) -> str:
        name = f"{self.prefix}{len(self.lines)}"
        if not is_plain and self.module.chance(0.03) and self.lines:
            earlier = self.random.choice(list(self.shapes))
            text += f", control-predecessors={{{earlier}}}"
        elif not is_plain and self.module.chance(0.03):
            note = self.random.choice(_NOTES)
            text += note.replace("{replicated}", "{" + ", ".join(["{replicated}"] * (shape.count("[") or 1)) + "}") if shape[0] == "(" else note
        self.lines.append(f"{name} = {shape} {text}")
        self.shapes[name] = shape
        return name

    def value(self, shape: str) -> str:
        """Returns an existing value with this shape, or a new constant."""
        known = [name for name, other in self.shapes.items() if other == shape]
        if known and self.module.chance(0.85):
            return self.random.choice(known)
        return self.constant(shape)

    def constant(self, shape: str) -> str:
        number = self.random.choice("0122")
        if shape in ("f32[]", "s32[]") or self.module.chance(0.5):
            texts = {"f32[4]": f"{{{number}, 1, 2, 3}}", "f32[2,2]": f"{{{{{number}, 1}}, {{2, 3}}}}"}
            return self.add(shape, f"constant({texts.get(shape, number)})")
        return self.add(shape, f"broadcast({self.constant('f32[]')}), dimensions={{}}")

    def some(self, count: int, *, is_fused: bool = False) -> None:
        """Adds random operations; operations in a fusion have no side effects."""
        for _ in range(count):
            shape, choice = self.random.choice(_SHAPES), self.random.random() * (0.73 if is_fused else 1)
            if choice < 0.3:
                self.add(shape, f"{self.random.choice(_UNARY)}({self.value(shape)})")
            elif choice < 0.65:
                self.add(shape, f"{self.random.choice(_BINARY)}({self.value(shape)}, {self.value(shape)})")
            elif choice < 0.73 and shape[0] == "f":
                self.add(shape, f"{self.random.choice(('cosine', 'exponential'))}({self.value(shape)})")
            elif choice < 0.78:
                token = self.add("token[]", "after-all()", is_plain=True)
                self.add("token[]", f"outfeed({self.value(shape)}, {token}), outfeed_shape={shape}")
            elif choice < 0.81 and shape[0] == "f":
                limits = f"{self.value('f32[]')}, {self.value('f32[]')}"
                self.add(shape, f"rng({limits}), distribution=rng_uniform")
            elif choice < 0.86 and shape == "f32[4]":
                self.add(shape, "iota(), iota_dimension=0")
            elif choice < 0.9:
                self.add("f32[4]", f"reshape({self.value('f32[2,2]')})")
            elif self.depth and choice < 0.95:
                _STRUCTURES[self.random.choice(("call", "fusion", "conditional"))](self)

    def finish(self, name: str, root: str) -> str:
        """Writes the computation and returns its name; the root need not be the last line."""
        lines = [f"  {'ROOT ' if line.startswith(f'{root} = ') else ''}{line}\n" for line in self.lines]
        head = "ENTRY " if name == "main" else ""
        self.module.texts.append(f"{head}{name} {{\n{''.join(lines)}}}\n\n")
        return name

    def group(self, names: list[str], *, is_plain: bool = False) -> str:
        return self.add(_tuple([self.shapes[name] for name in names]), f"tuple({', '.join(names)})", is_plain=is_plain)

    def take(self, group: str, shapes: list[str], share: float) -> dict[int, str]:
        """Extracts some elements of a tuple, and occasionally extracts one of them twice."""
        taken = {}
        for k, shape in enumerate(shapes):
            if self.module.chance(share):
                taken[k] = self.add(shape, f"get-tuple-element({group}), index={k}")
                if self.module.chance(0.1):
                    taken[k] = self.add(shape, f"get-tuple-element({group}), index={k}")
        return taken


def _tuple(shapes: list[str]) -> str:
    return f"({', '.join(shapes)})"


def _name(module: _Module) -> str:
    return f"f{len(module.texts)}"


def _function(module: _Module, shapes: list[str], depth: int, *, results: list[str] | None, is_fused: bool) -> tuple[str, str]:
    """Writes a computation with parameters of these shapes; returns its name and result shape.

    The result is a tuple with the shapes in `results`, or any array or tuple if `results` is None.
    The computation of a fusion returns all values that it does not use itself.
    """
    body = _Body(module, depth)
    numbers = list(range(len(shapes)))
    module.random.shuffle(numbers)
    for number in numbers if module.chance(0.3) else sorted(numbers):
        body.add(shapes[number], f"parameter({number})")
    body.some(module.random.choice((0, 1, 2, 3, 4)), is_fused=is_fused)
    unused = [name for name in body.shapes if not any(f"{name}{end}" in line for line in body.lines for end in ",)}")]
    if is_fused:
        root = unused[0] if len(unused) == 1 else body.group(unused, is_plain=True)
    elif results is None:
        root = body.random.choice(list(body.shapes))
        if body.shapes[root][0] == "t":
            root = body.value("f32[]")
    else:
        root = body.group([body.value(shape) for shape in results])
    text_shape = body.shapes[root]
    return body.finish(_name(module), root), text_shape


def _arguments(body: _Body, shapes: list[str]) -> list[str]:
    names = [body.value(shape) for shape in shapes]
    for k, shape in enumerate(shapes):
        if body.module.chance(0.25):
            names[k] = next((name for name, other in zip(names, shapes, strict=True) if other == shape), names[k])
        elif body.module.chance(0.2):
            names[k] = body.constant(shape)
    return names


def _calls(body: _Body, opcode: str) -> None:
    module, random = body.module, body.random
    if module.functions and module.chance(0.4):
        function, shapes, result = random.choice(module.functions)
    else:
        shapes = random.choices(_SHAPES, k=random.choice((1, 2, 2, 3)))
        results = random.choices(_SHAPES, k=random.choice((1, 2, 3))) if module.chance(0.6) else None
        function, result = _function(module, shapes, body.depth - 1, results=results, is_fused=opcode == "fusion")
        if opcode == "call" and module.chance(0.5):
            module.functions.append((function, shapes, result))
    attribute = "to_apply" if opcode == "call" else "kind=kLoop, calls"
    for _ in range(random.choice((1, 1, 2)) if opcode == "call" else 1):
        name = body.add(result, f"{opcode}({', '.join(_arguments(body, shapes))}), {attribute}={function}")
        if result[0] == "(":
            body.take(name, _elements(result), random.choice((0.5, 1)))


def _elements(shape: str) -> list[str]:
    return [part.replace(" ", ",") for part in shape[1:-1].replace("2,2", "2 2").split(", ")]


def _conditional(body: _Body) -> None:
    module, random = body.module, body.random
    is_pred = module.chance(0.6)
    results = random.choices(_SHAPES, k=random.choice((1, 2, 3)))
    names, operands = [], []
    for _ in range(2 if is_pred else random.choice((1, 2, 3))):
        shapes = random.choices(_SHAPES, k=random.choice((1, 2, 3)))
        branch = _Body(module, body.depth - 1)
        if module.chance(0.7):
            group = branch.add(_tuple(shapes), "parameter(0)", is_plain=True)
            branch.take(group, shapes, 0.8)
            operands.append(body.group(_arguments(body, shapes)) if module.chance(0.8) or not operands else operands[-1])
        else:
            branch.add(shapes[0], "parameter(0)", is_plain=True)
            operands.append(body.value(shapes[0]))
        branch.some(random.choice((0, 1, 2)))
        names.append(branch.finish(_name(module), branch.group([branch.value(shape) for shape in results])))
    choice = body.value("s32[]")
    if is_pred:
        choice = body.add("pred[]", f"compare({choice}, {body.constant('s32[]')}), direction=LT", is_plain=True)
        computations = f"true_computation={names[0]}, false_computation={names[-1]}"
    else:
        computations = f"branch_computations={{{', '.join(names)}}}"
    name = body.add(_tuple(results), f"conditional({', '.join([choice, *operands])}), {computations}")
    body.take(name, results, random.choice((0.3, 0.6, 1)))


def _while(body: _Body) -> None:
    module, random = body.module, body.random
    shapes = ["s32[]", *random.choices(_SHAPES, k=random.choice((1, 2, 3, 4)))]
    inner = _Body(module, body.depth - 1)
    group = inner.add(_tuple(shapes), "parameter(0)", is_plain=not module.chance(0.1))
    taken = inner.take(group, shapes, 0.9)
    counter = taken.get(0) or inner.add("s32[]", f"get-tuple-element({group}), index=0", is_plain=True)
    if module.subject == "hoist":
        # Adds operations on an element of the state, which `hoist` may move.
        for k in [k for k in taken if shapes[k][0] == "f" and module.chance(0.6)]:
            others = [taken[j] for j in taken if shapes[j] == shapes[k]]
            operands = random.choice((taken[k], f"{taken[k]}, {random.choice(others)}"))
            result = inner.add(shapes[k], f"{'divide' if ',' in operands else 'cosine'}({operands})")
            inner.add(shapes[k], f"add({result}, {inner.value(shapes[k])})", is_plain=True)
    inner.some(random.choice((0, 1, 2, 3)) if module.subject != "hoist" else random.choice((0, 0, 1)))
    one = inner.add("s32[]", f"constant({random.choice('112')})", is_plain=True)
    following = [inner.add("s32[]", f"add({counter}, {one})", is_plain=True)]
    for k, shape in list(enumerate(shapes))[1:]:
        following.append(taken[k] if k in taken and module.chance(0.7 if module.subject == "hoist" else 0.5) else inner.value(shape))
    name = inner.finish(_name(module), inner.group(following))
    test = _Body(module, 0)
    group = test.add(_tuple(shapes), "parameter(0)", is_plain=not module.chance(0.1))
    taken = test.take(group, shapes, 0.3)
    first = taken.get(0) or test.add("s32[]", f"get-tuple-element({group}), index=0", is_plain=True)
    limit = test.add("s32[]", f"constant({random.choice('0123345')})", is_plain=True)
    if module.chance(0.15):
        limit = test.value("s32[]")
    test.some(random.choice((0, 0, 1)))
    condition = test.finish(_name(module), test.add("pred[]", f"compare({first}, {limit}), direction=LT", is_plain=True))
    start = _arguments(body, shapes)
    start[0] = body.add("s32[]", f"constant({random.choice('0001')})", is_plain=True) if module.chance(0.9) else start[0]
    loop = body.add(_tuple(shapes), f"while({body.group(start)}), condition={condition}, body={name}")
    body.take(loop, shapes, random.choice((0.3, 0.6, 1)))


_STRUCTURES: dict[str, Callable[[_Body], None]] = {
    "call": lambda body: _calls(body, "call"),
    "fusion": lambda body: _calls(body, "fusion"),
    "conditional": _conditional,
    "while": _while,
    "none": lambda body: body.some(4),
}
_OF_PASS = {
    "arguments": ("call", "fusion"), "conditionals": ("conditional",), "cse": ("none", "call"), "dce": ("call", "fusion", "none", "while"),
    "dedup": ("call", "call", "fusion"), "defuse": ("fusion",), "fold": ("none", "call", "while", "conditional"), "hoist": ("while",),
    "inline": ("call",), "loops": ("while",), "unroll": ("while",), "annotate": ("while",),
}  # fmt: skip


def program_for_pass(name: str, seed: int) -> str:
    """Returns a module with structures that a pass transforms."""
    random = Random(f"{name} {seed}")
    module = _Module(random, name)
    entry = _Body(module, 2)
    for number in range(3):
        entry.add(random.choice(_SHAPES), f"parameter({number})", is_plain=True)
    entry.some(random.choice((0, 1, 2)))
    for _ in range(random.choice((1, 1, 2))):
        _STRUCTURES[random.choice(_OF_PASS.get(name, ("none",)))](entry)
    entry.some(random.choice((0, 0, 2)))
    values = [value for value, shape in entry.shapes.items() if shape[0] in "fsp("]
    chosen = random.sample(values[-6:], min(len(values), random.choice((1, 2, 3))))
    if random.random() < 0.1:
        root = values[-1]
    else:
        root = entry.group(chosen, is_plain=True)
    entry.finish("main", root)
    header = "HloModule m" + random.choice(("", "", "", "", ", is_scheduled=true"))
    text = f"{header}\n\n" + "".join(module.texts)
    if name == "dedup":
        text = _doubled(text, random)
    return text.rstrip("\n") + "\n"


def _doubled(text: str, random: Random) -> str:
    """Adds a copy of one of the computations to the text, and may let a caller call the copy."""
    parts = text.split("\n\n")
    number = random.randrange(1, len(parts) - 1) if len(parts) > 2 else 0
    if not number or not parts[number].startswith("f"):
        return text
    old = parts[number].split(" ", 1)[0]
    parts.insert(number, parts[number].replace(f"{old} {{", f"{old}b {{", 1))
    at = parts[-1].rfind(f"={old}\n")
    parts[-1] = parts[-1] if at < 0 else parts[-1][:at] + f"={old}b\n" + parts[-1][at + len(old) + 2 :]
    return "\n\n".join(parts)
