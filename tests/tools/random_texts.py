"""Random modules with all opcodes, generated from a seed for tests of the text layer.

`hlotool.testing.random_module` generates modules that can be run. The signatures in OPS drive this
generator: they give the number of operands and the kinds of attributes. RECIPES contains the
additional requirements of XLA's parser. Otherwise, shapes need not be consistent, since
neither XLA's parser nor hlotool's parser checks them.

>>> random_text(1).startswith("HloModule")
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from random import Random

from random_text_values import VALUES, array, literal, metadata, shape, sharding

from hlotool.opdefs.base import REQUIRED, OpDef
from hlotool.opdefs.table import OPS
from hlotool.shapes.layout import default_layout
from hlotool.shapes.shape import OPAQUE, TOKEN, Shape, array_shape, tuple_shape

__all__ = ["Generator", "Style", "random_text"]

_STRUCTURAL = frozenset({"parameter", "constant"})
_NEWER = frozenset({("topk", "is_stable"), ("collective-broadcast", "has_dynamic_root"), ("convolution", "algorithm")})
_NEWER_OPCODES = frozenset({"collective-reduce"})
_CALLING = frozenset({"conditional", "async-update", "async-done"}) | {
    name for name, op in OPS.items() if any(spec.kind == "Computation" and spec.default is REQUIRED for spec in op.attributes.values())
}


@dataclass(frozen=True)
class Style:
    """The spelling of a module; the default is XLA's own.

    `newer` adds forms that only newer builds of XLA can read.
    """

    percent: bool = True
    signatures: bool = True
    operand_shapes: bool = False
    comments: bool = False
    newer: bool = False


@dataclass(frozen=True)
class Called:
    """A computation that later computations may call; `is_plain` is true if it makes no calls."""

    name: str
    parameters: tuple[Shape, ...]
    result: Shape
    is_plain: bool


@dataclass(frozen=True)
class Value:
    name: str
    shape: Shape


@dataclass
class Body:
    """A computation under construction."""

    values: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    parameters: list[Value] = field(default_factory=list)


def random_text(seed: int, instructions: int = 12, style: Style = Style()) -> str:
    return Generator(Random(seed), style).module(instructions)


class Generator:
    """Generates one module at a time."""

    def __init__(self, random: Random, style: Style = Style()) -> None:
        self.r = random
        self.style = style
        self.percent = "%" if style.percent else ""
        self.called: list[Called] = []
        # Computations that fusions and async operations call; no other instruction may run them
        # asynchronously.
        self.bound: set[str] = set()
        self.frames = 0
        left_out = _STRUCTURAL if style.newer else _STRUCTURAL | _NEWER_OPCODES
        self.opcodes = [name for name in OPS if name not in left_out]

    # ---- modules ------------------------------------------------------------------------------------------------------

    def module(self, instructions: int) -> str:
        r = self.r
        tables = self._tables() if r.random() < 0.3 else ""
        computations = [self._computation(f"helper.{k}" if k else "helper", r.randint(1, 4)) for k in range(r.randint(1, 3))]
        computations.append(self._computation("main", instructions, entry=True))
        return f"HloModule random{self._header()}\n\n{tables}" + "\n\n".join(computations) + "\n"

    def _header(self) -> str:
        r = self.r
        entry = self.called[-1]
        parts = []
        if r.random() < 0.3:
            parts.append("is_scheduled=true")
        if entry.parameters and r.random() < 0.3:
            outputs = "{0}" if entry.result.is_tuple and entry.result.elements else "{}"
            parts.append(f"input_output_alias={{ {outputs}: (0, {{}}, {r.choice(('may-alias', 'must-alias'))}) }}")
        if entry.parameters and r.random() < 0.2:
            parts.append("buffer_donor={ (0, {}) }")
        if r.random() < 0.5:
            parameters = ", ".join(p.text for p in entry.parameters)
            parts.append(f"entry_computation_layout={{({parameters})->{entry.result.text}}}")
        if r.random() < 0.2:
            parts.append("allow_spmd_sharding_propagation_to_parameters={true,false}")
        if r.random() < 0.2:
            parts.append("allow_spmd_sharding_propagation_to_output={true}")
        for name in ("replica_count", "num_partitions"):
            if r.random() < 0.2:
                parts.append(f"{name}={r.choice((1, 2, 8))}")
        if r.random() < 0.3:
            parts.append(f"frontend_attributes={VALUES['FrontendAttributes'](r)}")
        return "".join(f", {part}" for part in parts)

    def _tables(self) -> str:
        self.frames = self.r.randint(1, 4)
        rows = "\n".join(f"{k} {{file_location_id={k} parent_frame_id={k}}}" for k in range(1, self.frames + 1))
        positions = "\n".join(
            f"{k} {{file_name_id=1 function_name_id=1 line={k} end_line={k} column=1 end_column=9}}" for k in range(1, self.frames + 1)
        )
        return f'FileNames\n1 "a.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n{positions}\n\nStackFrames\n{rows}\n\n\n'

    def _computation(self, name: str, instructions: int, *, entry: bool = False) -> str:
        r, body = self.r, Body()
        for number in range(r.randint(1, 4)):
            of = shape(r)
            body.parameters.append(self.add(body, "parameter", of, f"parameter({number})"))
        for _ in range(instructions):
            self.instruction(body, r.choice(self.opcodes))
        # XLA takes the last instruction of a body as its root if none is marked.
        root = body.values[-1]
        for k in range(len(body.lines) - 1, -1, -1):
            if body.lines[k].startswith(f"  {self.percent}{root.name} = "):
                body.lines[k] = "  ROOT " + body.lines[k][2:]
                break
        is_plain = not any(called.name in line for called in self.called for line in body.lines)
        self.called.append(Called(name, tuple(p.shape for p in body.parameters), root.shape, is_plain))
        signature = ", ".join(f"{p.name}: {p.shape.text_without_layout}" for p in body.parameters)
        signature = f" ({signature}) -> {root.shape.text_without_layout}" if self.style.signatures else ""
        thread = ', execution_thread="side"' if not entry and r.random() < 0.1 else ""
        return f"{'ENTRY ' if entry else ''}{self.percent}{name}{signature} {{\n" + "\n".join(body.lines) + f"\n}}{thread}"

    # ---- instructions -------------------------------------------------------------------------------------------------

    def add(self, body: Body, stem: str, of: Shape, call: str, attributes: str = "", *, annotate: bool = True) -> Value:
        """Writes one line; `call` is the opcode with its operands in parentheses."""
        number = len(body.values)
        value = Value(f"{stem.replace('-', '_')}.{number}" if number else stem.replace("-", "_") + "_", of)
        extra = self._common(body, of, is_parameter=stem == "parameter") if annotate else ""
        end = self.r.choice(("", "", "", "  // note", " /* note */")) if self.style.comments else ""
        body.lines.append(f"  {self.percent}{value.name} = {of.text} {call}{attributes}{extra}{end}")
        body.values.append(value)
        return value

    def _common(self, body: Body, of: Shape, *, is_parameter: bool) -> str:
        r, parts = self.r, []
        if is_parameter and r.random() < 0.1:
            flags = ",".join(r.choice(("true", "false")) for _ in of.leaves())
            parts.append(f"parameter_replication={{{flags}}}")
        if r.random() < 0.15:
            parts.append(f"sharding={sharding(r, of)}")
        if r.random() < 0.1:
            parts.append(f"frontend_attributes={VALUES['FrontendAttributes'](r)}")
        if body.values and r.random() < 0.1:
            names = {v.name: None for v in r.choices(body.values, k=r.choice((1, 1, 2)))}
            parts.append("control-predecessors={" + ", ".join(self.percent + name for name in names) + "}")
        if r.random() < 0.05:
            parts.append(f"statistics={VALUES['Statistics'](r)}")
        if r.random() < 0.05 and not of.is_tuple:
            parts.append('origin={{"p"}}')
        if r.random() < 0.3:
            parts.append(f"metadata={metadata(r, self.frames)}")
        if r.random() < 0.15:
            parts.append(f"backend_config={VALUES['BackendConfig'](r)}")
        return "".join(f", {part}" for part in parts)

    def operands(self, values: list[Value]) -> str:
        """Returns the operands in parentheses, with XLA's index comments."""
        texts = [(v.shape.text + " " if self.style.operand_shapes else "") + self.percent + v.name for v in values]
        return "(" + "".join(("" if k == 0 else ", " if k % 5 else f", /*index={k}*/") + text for k, text in enumerate(texts)) + ")"

    def some(self, body: Body, count: int, where: Callable[[Shape], bool] | None = None) -> list[Value]:
        """Returns values of the body that satisfy `where`, or any values if none does."""
        fitting = [v for v in body.values if where is None or where(v.shape)]
        return [self.r.choice(fitting or body.values) for _ in range(count)]

    def of_shape(self, body: Body, of: Shape) -> Value:
        """Returns a value of exactly this shape, adding one if necessary."""
        found = [v for v in body.values if v.shape == of]
        if found:
            return self.r.choice(found)
        return self.add(body, "made", of, "custom-call()", ', custom_call_target="make"', annotate=False)

    def attributes(self, op: OpDef, skip: frozenset[str] = frozenset()) -> str:
        """Returns the required attributes and some of the others, in printed or random order."""
        parts = []
        for spec in op.attributes.values():
            if spec.name in skip or not (spec.default is REQUIRED or self.r.random() < 0.4):
                continue
            if (op.name, spec.name) in _NEWER and not self.style.newer:
                continue
            if spec.kind == "Computation":
                parts.append(f"{spec.name}={self.percent}{self.r.choice(self.called).name}" if self.called else "")
            elif spec.kind in VALUES:
                parts.append(f"{spec.name}={VALUES[spec.kind](self.r)}")
        if self.r.random() < 0.1:
            self.r.shuffle(parts)
        return "".join(f", {part}" for part in parts if part)

    def instruction(self, body: Body, opcode: str) -> None:
        if not self.called and opcode in _CALLING:
            opcode = "add"
        op = OPS[opcode]
        recipe = RECIPES.get(opcode)
        if recipe is not None:
            recipe(self, body, op)
            return
        count = op.arity if op.arity >= 0 else self.r.choice((1, 2, 3, 6))
        operands = self.some(body, count, lambda s: s.is_array)
        self.add(body, opcode, self.result(operands, op), opcode + self.operands(operands), self.attributes(op))

    def result(self, operands: list[Value], op: OpDef) -> Shape:
        if operands and self.r.random() < 0.5:
            return operands[0].shape
        return array(self.r)


# ---- requirements of XLA's parser beyond a signature ------------------------------------------------------------------

Recipe = Callable[[Generator, Body, OpDef], None]
RECIPES: dict[str, Recipe] = {}


def _recipe(*opcodes: str) -> Callable[[Recipe], Recipe]:
    def wrap(function: Recipe) -> Recipe:
        for opcode in opcodes:
            RECIPES[opcode] = function
        return function

    return wrap


@_recipe("all-reduce", "all-reduce-start", "reduce-scatter", "all-gather", "all-gather-start")
def _global_ids(g: Generator, body: Body, op: OpDef) -> None:
    operands = g.some(body, g.r.choice((1, 2, 6)), lambda s: s.is_array)
    attributes = g.attributes(op, frozenset({"use_global_device_ids", "channel_id"}))
    if g.r.random() < 0.4:
        attributes = f", channel_id={g.r.choice((1, 2))}" + attributes + g.r.choice(("", ", use_global_device_ids=true"))
    g.add(body, op.name, g.result(operands, op), op.name + g.operands(operands), attributes)


@_recipe("collective-permute", "collective-permute-start")
def _permute(g: Generator, body: Body, op: OpDef) -> None:
    in_place = g.r.random() < 0.3
    operands = g.some(body, 4 if in_place else 1, lambda s: s.is_array)
    attributes = g.attributes(op, frozenset({"slice_sizes"})) + (", slice_sizes={{1,2}}" if in_place else "")
    g.add(body, op.name, array(g.r), op.name + g.operands(operands), attributes)


@_recipe("partition-id", "replica-id")
def _id(g: Generator, body: Body, op: OpDef) -> None:
    g.add(body, op.name, array_shape("u32"), f"{op.name}()")


@_recipe("after-all")
def _after_all(g: Generator, body: Body, op: OpDef) -> None:
    tokens = [v for v in body.values if v.shape == TOKEN]
    g.add(body, op.name, TOKEN, op.name + g.operands(tokens[:6]))


@_recipe("add-dependency")
def _add_dependency(g: Generator, body: Body, op: OpDef) -> None:
    (operand,) = g.some(body, 1)
    g.add(body, op.name, operand.shape, op.name + g.operands([operand, g.of_shape(body, TOKEN)]))


def _in_flight(of: Shape) -> Shape:
    return tuple_shape((of, array_shape("u32"), TOKEN))


@_recipe("send", "recv")
def _start_transfer(g: Generator, body: Body, op: OpDef) -> None:
    token, (data,) = g.of_shape(body, TOKEN), g.some(body, 1, lambda s: s.is_array)
    operands = [data, token] if op.name == "send" else [token]
    host = g.r.choice(("", ", is_host_transfer=true"))
    start = g.add(body, op.name, _in_flight(data.shape), op.name + g.operands(operands), f", channel_id=1{host}", annotate=False)
    done = TOKEN if op.name == "send" else tuple_shape((data.shape, TOKEN))
    g.add(body, f"{op.name}-done", done, f"{op.name}-done" + g.operands([start]), f", channel_id=1{host}", annotate=False)


@_recipe("send-done", "recv-done")
def _done_transfer(g: Generator, body: Body, op: OpDef) -> None:
    _start_transfer(g, body, OPS[op.name.removesuffix("-done")])


@_recipe("infeed")
def _infeed(g: Generator, body: Body, op: OpDef) -> None:
    g.add(body, op.name, tuple_shape((array(g.r), TOKEN)), op.name + g.operands([g.of_shape(body, TOKEN)]), g.attributes(op))


@_recipe("outfeed")
def _outfeed(g: Generator, body: Body, op: OpDef) -> None:
    (data,) = g.some(body, 1, lambda s: s.is_array)
    g.add(body, op.name, TOKEN, op.name + g.operands([data, g.of_shape(body, TOKEN)]), g.attributes(op))


@_recipe("tuple")
def _tuple(g: Generator, body: Body, op: OpDef) -> None:
    operands = g.some(body, g.r.choice((0, 1, 2, 6, 12)))
    g.add(body, op.name, tuple_shape(v.shape for v in operands), op.name + g.operands(operands))


@_recipe("get-tuple-element")
def _get_tuple_element(g: Generator, body: Body, op: OpDef) -> None:
    of = g.of_shape(body, tuple_shape((array(g.r), array(g.r))))
    index = g.r.choice((0, 1))
    g.add(body, op.name, of.shape.elements[index], op.name + g.operands([of]), f", index={index}")


@_recipe("call", "map", "fusion", "reduce", "reduce-window", "scan", "sort", "scatter", "select-and-scatter")
def _calling(g: Generator, body: Body, op: OpDef) -> None:
    counts = {"map": 2, "reduce": 2, "reduce-window": 2, "sort": 1, "scatter": 3, "select-and-scatter": 3}
    callee = g.r.choice(g.called)
    if op.name == "fusion":
        if callee.name in g.bound:
            return
        g.bound.add(callee.name)
    count = counts.get(op.name)
    operands = [g.of_shape(body, p) for p in callee.parameters] if count is None else g.some(body, count, lambda s: s.is_array)
    result = callee.result if count is None else array(g.r)
    name = "calls" if op.name == "fusion" else "to_apply"
    called = f", {name}={g.percent}{callee.name}" if name in op.attributes else ""
    attributes = g.attributes(op, frozenset({name, "num_carries"})) + (", num_carries=1" if op.name == "scan" else "")
    g.add(body, op.name, result, op.name + g.operands(operands), attributes + called)


@_recipe("while")
def _while(g: Generator, body: Body, op: OpDef) -> None:
    (init,) = g.some(body, 1)
    first, second = g.r.choice(g.called).name, g.r.choice(g.called).name
    g.add(body, op.name, init.shape, op.name + g.operands([init]), f", condition={g.percent}{first}, body={g.percent}{second}")


@_recipe("conditional")
def _conditional(g: Generator, body: Body, op: OpDef) -> None:
    kind = g.r.choice(("pred", "s32"))
    selector = g.of_shape(body, array_shape(kind))
    branches = [g.r.choice(g.called) for _ in range(2 if kind == "pred" else g.r.choice((1, 2, 3)))]
    names = [g.percent + branch.name for branch in branches]
    by_name = f", true_computation={names[0]}, false_computation={names[-1]}"
    attributes = by_name if kind == "pred" else f", branch_computations={{{', '.join(names)}}}"
    operands = [selector, *g.some(body, len(branches))]
    g.add(body, op.name, branches[0].result, op.name + g.operands(operands), attributes)


@_recipe("custom-call")
def _custom_call(g: Generator, body: Body, op: OpDef) -> None:
    operands = g.some(body, g.r.choice((0, 1, 2, 6)), lambda s: s.is_array)
    skipped = frozenset({"called_computations", "to_apply", "operand_layout_constraints", "operand_precision", "output_to_operand_aliasing"})
    attributes = g.attributes(op, skipped)
    if operands and g.r.random() < 0.3:
        shapes = (v.shape.with_layout(default_layout(v.shape.rank)) if v.shape.is_array else v.shape for v in operands)
        attributes += ", operand_layout_constraints={" + ", ".join(s.text for s in shapes) + "}"
    if g.called and g.r.random() < 0.3:
        callee = g.r.choice(g.called)
        # No later instruction may run such a computation asynchronously.
        g.bound.add(callee.name)
        attributes += f", called_computations={{{g.percent}{callee.name}}}"
    g.add(body, op.name, shape(g.r), op.name + g.operands(operands), attributes)


@_recipe("async-start", "async-update", "async-done")
def _async(g: Generator, body: Body, op: OpDef) -> None:
    callee = g.r.choice(g.called)
    if callee.name in g.bound or not callee.is_plain:
        g.instruction(body, "copy")
        return
    g.bound.add(callee.name)
    operands = [g.of_shape(body, p) for p in callee.parameters]
    state = tuple_shape((tuple_shape(callee.parameters), callee.result, *((array_shape("u32"),) if g.r.random() < 0.7 else ())))
    thread = g.r.choice(("", ', async_execution_thread="side"'))
    start = g.add(body, "async-start", state, "async-start" + g.operands(operands), f"{thread}, calls={g.percent}{callee.name}", annotate=False)
    if g.r.random() < 0.5:
        start = g.add(body, "async-update", state, "async-update" + g.operands([start]), annotate=False)
    g.add(body, "async-done", callee.result, "async-done" + g.operands([start]), annotate=False)


@_recipe("reshape", "dynamic-reshape")
def _reshape(g: Generator, body: Body, op: OpDef) -> None:
    (operand,) = g.some(body, 1, lambda s: s.is_array and not s.dynamic)
    if not operand.shape.is_array or operand.shape.dynamic:
        operand = g.of_shape(body, array_shape("f32", (2, 3)))
    size = prod(operand.shape.dimensions)
    of = array_shape(operand.shape.element_type, g.r.choice(((size,), (1, size), operand.shape.dimensions)))
    sizes = g.some(body, of.rank, lambda s: s.is_array) if op.name == "dynamic-reshape" else []
    g.add(body, op.name, of, op.name + g.operands([operand, *sizes]), g.attributes(op))


@_recipe("dynamic-slice", "dynamic-update-slice")
def _dynamic_slice(g: Generator, body: Body, op: OpDef) -> None:
    operand = g.of_shape(body, array(g.r, g.r.choice((1, 2, 3)), odd=False))
    index = g.of_shape(body, array_shape("s32"))
    update = g.some(body, 1, lambda s: s.is_array) if op.name == "dynamic-update-slice" else []
    g.add(body, op.name, operand.shape, op.name + g.operands([operand, *update, *[index] * operand.shape.rank]), g.attributes(op))


@_recipe("broadcast")
def _broadcast(g: Generator, body: Body, op: OpDef) -> None:
    (operand,) = g.some(body, 1, lambda s: s.is_array)
    dimensions = VALUES["Dims"](g.r)
    g.add(body, op.name, array(g.r), op.name + g.operands([operand]), f", dimensions={dimensions}")


@_recipe("convolution")
def _convolution(g: Generator, body: Body, op: OpDef) -> None:
    operands = g.some(body, 2, lambda s: s.is_array)
    g.add(body, op.name, array(g.r), op.name + g.operands(operands), g.attributes(op))


@_recipe("compare", "copy")
def _on_arrays(g: Generator, body: Body, op: OpDef) -> None:
    operand = g.of_shape(body, array(g.r))
    g.add(body, op.name, array(g.r, kind="pred"), op.name + g.operands([operand] * op.arity), g.attributes(op))


@_recipe("bitcast", "opt-barrier", "domain")
def _on_anything(g: Generator, body: Body, op: OpDef) -> None:
    (operand,) = g.some(body, 1, lambda s: s != OPAQUE)
    g.add(body, op.name, operand.shape, op.name + g.operands([operand]), g.attributes(op))


@_recipe("iota")
def _iota(g: Generator, body: Body, op: OpDef) -> None:
    # Constants are not drawn as a separate opcode; they are generated together with iotas.
    g.add(body, op.name, array(g.r), "iota()", g.attributes(op))
    small = array(g.r, g.r.choice((0, 1, 2)), odd=False)
    if prod(small.dimensions) > 64:
        small = array_shape(small.element_type, (3,))
    of = tuple_shape((small, array_shape("s32"))) if g.r.random() < 0.1 else small
    g.add(body, "constant", of, f"constant({literal(g.r, of)})")
