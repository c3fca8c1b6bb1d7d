"""Random instructions that call computations or combine elements.

They complement the instructions in `shapes`. Importing this module registers the functions that
draw them.
"""

from __future__ import annotations

from proofs.dynamic import padded
from proofs.shapes import Program, Sizes, Undrawable, dims, maker, shape

__all__: list[str] = []

_COMBINERS = {"pred": ("and", "or"), "c64": ("add", "multiply")}


def _combiner(p: Program, element_type: str) -> str:
    """Adds a computation that combines two elements, and returns its name."""
    opcode = p.random.choice(_COMBINERS.get(element_type, ("add", "maximum", "minimum", "multiply")))
    name = f"f{len(p.computations)}"
    scalar = f"{element_type}[]"
    p.computations.append(
        f"{name} {{\n  a = {scalar} parameter(0)\n  b = {scalar} parameter(1)\n  ROOT r = {scalar} {opcode}(a, b)\n}}\n\n",
    )
    return name


def _start(p: Program, element_type: str) -> str:
    texts = {"f": ("-inf", "inf", "0", "-0.0", "1"), "b": ("-inf", "inf", "0", "1"), "p": ("true", "false"), "c": ("(0, 0)", "(1, 0)")}
    limits = {"s8": ("-128", "127"), "s32": ("-2147483648", "2147483647"), "u8": ("255",), "u32": ("4294967295",), "s4": ("-8", "7"), "u4": ("15",)}
    choices = texts.get(element_type[0], ("0", "1", *limits.get(element_type, ())))
    return p.add(f"constant({p.random.choice(choices)})", element_type, ()) if p.chance(0.8) else p.leaf(element_type, ())


@maker("reduce")
def reduce(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    source, gone = list(sizes), []
    style = p.random.choice(((1,), (2, 3), (1, 2, 3), (0, 1, 2)))
    for _ in range(p.random.choice((0, 1, 1, 2))):
        k = p.random.randint(0, len(source))
        source.insert(k, p.random.choice(style))
        gone = [d + (d >= k) for d in gone] + [k]
    if not sizes and "reshape" in p.wanted:
        gone = list(range(len(source)))
    function = _combiner(p, element_type)
    operand = _nested_reduce(p, element_type, tuple(source), function) if "reduce" in p.wanted and depth else None
    operand = operand or p.operand(element_type, tuple(source), depth)
    return p.add(f"reduce({operand}, {_start(p, element_type)}), dimensions={dims(sorted(gone))}, to_apply={function}", element_type, sizes)


def _nested_reduce(p: Program, element_type: str, sizes: Sizes, function: str) -> str:
    k = p.random.randint(0, len(sizes))
    source = p.operand(element_type, (*sizes[:k], p.random.choice((1, 2, 3)), *sizes[k:]), 0)
    other = function if p.chance(0.8) else _combiner(p, element_type)
    return p.add(f"reduce({source}, {_start(p, element_type)}), dimensions={{{k}}}, to_apply={other}", element_type, sizes)


@maker("dot")
def dot(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if element_type == "pred":
        raise Undrawable
    batch = p.random.randint(0, min(1, len(sizes)))
    free = p.random.randint(batch, len(sizes))
    contracted = tuple(p.random.choice((0, 1, 2, 3)) for _ in range(p.random.choice((0, 1, 1, 2))))
    lhs, rhs = (*sizes[:free], *contracted), (*sizes[:batch], *sizes[free:], *contracted)
    names = [p.operand(element_type, s, depth) for s in (lhs, rhs)]
    left, right = (range(len(s) - len(contracted), len(s)) for s in (lhs, rhs))
    text = f"dot({', '.join(names)}), lhs_contracting_dims={dims(left)}, rhs_contracting_dims={dims(right)}"
    text += f", lhs_batch_dims={dims(range(batch))}, rhs_batch_dims={dims(range(batch))}" if batch else ""
    return p.add(text, element_type, sizes)


@maker("convolution")
def convolution(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    batch, features, width, size = (p.random.choice((0, 1, 2)), p.random.choice((1, 2)), p.random.choice((0, 1, 3)), p.random.choice((0, 1, 2)))
    channels = p.random.choice((0, 1, 2))
    low = p.random.choice((0, 1, 2))
    result = max(width + low + 1 - size + 1, 0) if size else width + low + 1 + 1
    if element_type == "pred" or not size:
        raise Undrawable
    names = [p.leaf(element_type, (batch, channels, width)), p.leaf(element_type, (features, channels, size))]
    text = f"convolution({', '.join(names)}), window={{size={size} pad={low}_1}}, dim_labels=bf0_oi0->bf0"
    return p.add(text, element_type, (batch, features, result))


@maker("gather")
def gather(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    """Gathers a slice along the first dimension of an array, or the whole array, for each index."""
    count, rest = (sizes[0], sizes[1:]) if sizes else (1, ())
    if not sizes:
        raise Undrawable
    whole, collapsed = p.chance(0.6), p.chance(0.5)
    if not collapsed and not rest:
        raise Undrawable
    source = (1 if collapsed and whole else 4, *rest) if collapsed else rest if whole else (rest[0] + 2, *rest[1:])
    slices = (1, *rest) if collapsed else rest
    operand = p.operand(element_type, source, depth) if p.chance(0.5) else p.make("constant", element_type, source, 0)
    offsets = range(1, len(sizes))
    text = (
        f"gather({operand}, {p.leaf('s32', (count,))}), offset_dims={dims(offsets)}, collapsed_slice_dims={dims([0] if collapsed else [])}, "
        f"start_index_map={{0}}, index_vector_dim=1, slice_sizes={dims(slices)}"
    )
    return p.add(text, element_type, sizes)


@maker("scatter")
def scatter(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if not sizes:
        raise Undrawable
    count = p.random.choice((0, 0, 1, 2))
    names = [p.operand(element_type, sizes, depth), p.leaf("s32", (count,)), p.parameter(element_type, (count, *sizes[1:]))]
    text = (
        f"scatter({', '.join(names)}), update_window_dims={dims(range(1, len(sizes)))}, inserted_window_dims={{0}}, "
        f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={_combiner(p, element_type)}"
    )
    return p.add(text, element_type, sizes)


@maker("sort")
def sort(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if not sizes or element_type == "c64":
        raise Undrawable
    k, two = p.random.randrange(len(sizes)), p.chance(0.4)
    sizes = (*sizes[:k], p.random.choice((0, 1, 1, 2)), *sizes[k + 1 :])
    others = ("f32", "s32")[: 1 if two else 0]
    name, lines = f"f{len(p.computations)}", []
    for number, of in enumerate(x for t in (element_type, *others) for x in (t, t)):
        lines.append(f"  p{number} = {of}[] parameter({number})\n")
    p.computations.append(f"{name} {{\n{''.join(lines)}  ROOT r = pred[] compare(p0, p1), direction=LT\n}}\n\n")
    operands = [p.operand(t, sizes, depth) for t in (element_type, *others)]
    result = f"({', '.join(shape(t, sizes) for t in (element_type, *others))})" if two else element_type
    return p.add(f"sort({', '.join(operands)}), dimensions={{{k}}}, to_apply={name}", result, () if two else sizes)


# ---- tuples and computations ------------------------------------------------------------------------------------------------


def _group(p: Program, shapes: list[tuple[str, Sizes]], depth: int) -> str:
    names = [p.operand(*s, depth) for s in shapes]
    return p.add(f"tuple({', '.join(names)})", _tuple(shapes), ())


def _tuple(shapes: list[tuple[str, Sizes]]) -> str:
    return f"({', '.join(shape(*s) for s in shapes)})"


def _two(p: Program, element_type: str, sizes: Sizes) -> list[tuple[str, Sizes]]:
    """Returns the shapes of a pair: the given shape, and a second shape that is often equal."""
    return [(element_type, sizes), (element_type, sizes) if p.chance(0.6) else (p.type(), p.sizes())]


def _body(p: Program, lines: list[str]) -> str:
    name = f"f{len(p.computations)}"
    p.computations.append(f"{name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n\n")
    return name


@maker("tuple")
def tuple_(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    shapes = _two(p, element_type, sizes)
    group = p.parameter(_tuple(shapes), ())
    order = (0, 1) if p.chance(0.7) else (1, 0)
    names = [p.add(f"get-tuple-element({group}), index={k}", *shapes[k], layout=False) for k in order]
    return p.add(f"tuple({', '.join(names)})", _tuple([shapes[k] for k in order]), ())


@maker("get-tuple-element")
def get_tuple_element(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if "custom-call" in p.wanted:
        sizes = p.sizes(p.random.choice((1, 2, 3)))
        results, _ = padded(p, element_type, sizes, p.random.randrange(len(sizes)))
        return p.add(f"get-tuple-element({results}), index={p.random.randint(1, len(sizes))}", "s32", (), layout=False)
    shapes = _two(p, element_type, sizes)
    source = p.random.choice((_group, _call_of_pair, _conditional_of_pair, _loop_of_pair))
    return p.add(f"get-tuple-element({source(p, shapes, depth)}), index=0", element_type, sizes, layout=False)


def _pair_lines(p: Program, shapes: list[tuple[str, Sizes]]) -> list[str]:
    """Returns the lines of a computation that takes a pair and returns one.

    The elements are unchanged, changed, exchanged, or replaced with constants.
    """
    lines = [f"p = {_tuple(shapes)} parameter(0)", *(f"e{k} = {shape(*s)} get-tuple-element(p), index={k}" for k, s in enumerate(shapes))]
    names = ["e0", "e1"]
    if shapes[0] == shapes[1] and p.chance(0.4):
        names.reverse()
    if p.chance(0.3) and not shapes[0][1] and shapes[0][0] in ("s32", "f32"):
        lines.append(f"c = {shape(*shapes[0])} constant({p.random.choice('12')})")
        names[0] = "c"
    if p.chance(0.5) and shapes[1][0] not in ("pred", "u8", "u4", "u32"):
        lines.append(f"n = {shape(*shapes[1])} negate({names[1]})")
        names[1] = "n"
    return [*lines, f"ROOT t = {_tuple(shapes)} tuple({', '.join(names)})"]


def _call_of_pair(p: Program, shapes: list[tuple[str, Sizes]], depth: int) -> str:
    lines = [
        line.replace("get-tuple-element(p), index=", "parameter(") + ")" if " get-tuple" in line else line for line in _pair_lines(p, shapes)[1:]
    ]
    names = [p.operand(*s, depth) for s in shapes]
    return p.add(f"call({', '.join(names)}), to_apply={_body(p, lines)}", _tuple(shapes), ())


def _conditional_of_pair(p: Program, shapes: list[tuple[str, Sizes]], depth: int) -> str:
    return _conditional(p, _tuple(shapes), lambda: _body(p, _pair_lines(p, shapes)), lambda: _group(p, shapes, 0))


def _conditional(p: Program, result: str, branch: object, operand: object) -> str:
    assert callable(branch)
    assert callable(operand)
    of_pred = p.chance(0.5)
    count = 2 if of_pred else p.random.choice((1, 2, 3))
    branches, operands = [branch()], [operand()]
    for _ in range(count - 1):
        branches.append(branches[0] if p.chance(0.4) else branch())
        operands.append(operands[0] if p.chance(0.5) else operand())
    kind = "pred" if of_pred else "s32"
    selector = p.scalar(kind, p.random.choice((0, 1, 2, 3, -1))) if p.chance(0.4) else p.leaf(kind, ())
    names = f"true_computation={branches[0]}, false_computation={branches[-1]}" if of_pred else f"branch_computations={{{', '.join(branches)}}}"
    return p.add(f"conditional({', '.join([selector, *operands])}), {names}", result, ())


@maker("conditional")
def conditional(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    text = shape(element_type, sizes)
    opcodes = ("copy", "not") if element_type[0] in "psu" else ("copy", "negate")
    return _conditional(
        p,
        f"({text})",
        lambda: _body(p, [f"a = {text} parameter(0)", f"b = {text} {p.random.choice(opcodes)}(a)", f"ROOT t = ({text}) tuple(b)"]),
        lambda: p.operand(element_type, sizes, 0),
    )


def _loop_of_pair(p: Program, shapes: list[tuple[str, Sizes]], depth: int) -> str:
    """Adds a loop of a few iterations whose state is a pair and a counter."""
    state = [*shapes, ("s32", ())]
    text = _tuple(state)
    count = p.random.choice((0, 0, 1, 1, 2, 3))
    lines = [line.replace(_tuple(shapes), text) for line in _pair_lines(p, shapes)]
    last = lines.pop().removesuffix(")") + ", next)"
    step = p.random.choice((1, 1, 2))
    lines += ["i = s32[] get-tuple-element(p), index=2", f"one = s32[] constant({step})", "next = s32[] add(i, one)", last]
    body = _body(p, lines)
    limit = [f"p = {text} parameter(0)", "i = s32[] get-tuple-element(p), index=2", f"n = s32[] constant({count})"]
    condition = _body(p, [*limit, "ROOT c = pred[] compare(i, n), direction=LT"])
    start = p.scalar("s32", 0) if p.chance(0.85) else p.scalar("s32", 1)
    names = [*(p.operand(*s, 0) for s in shapes), start]
    first = p.add(f"tuple({', '.join(names)})", text, ())
    return p.add(f"while({first}), condition={condition}, body={body}", text, ())


@maker("while")
def loop(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    return _loop_of_pair(p, _two(p, element_type, sizes), depth)


@maker("call", "fusion")
def call(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    text = shape(element_type, sizes)
    opcode = "not" if element_type[0] in "psu" else "negate"
    lines = [f"a = {text} parameter(0)", f"b = {text} parameter(1)", f"c = {text} {opcode}(a)"]
    root = p.random.choice("abc")
    lines = [("ROOT " if line[0] == root else "") + line for line in lines if line[0] != "c" or root == "c"]
    names = [p.operand(element_type, sizes, depth) for _ in range(2)]
    return p.add(f"call({', '.join(names)}), to_apply={_body(p, lines)}", element_type, sizes)


@maker("map")
def map_(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if element_type[0] not in "fs":
        raise Undrawable
    text = f"{element_type}[]"
    lines = [f"a = {text} parameter(0)", f"b = {text} parameter(1)"]
    known = ["a", "b"]
    for k in range(p.random.choice((1, 1, 2, 3))):
        one, two = p.random.choice(known), known[-1]
        if p.chance(0.3):
            lines.append(f"c{k} = {text} constant({p.random.choice('0123')})")
            one = f"c{k}"
        lines.append(f"v{k} = {text} {p.random.choice(('add', 'multiply', 'maximum', 'subtract'))}({one}, {two})")
        known.append(f"v{k}")
    lines[-1] = f"ROOT {lines[-1]}"
    names = [p.operand(element_type, sizes, depth) for _ in range(2)]
    return p.add(f"map({', '.join(names)}), dimensions={dims(range(len(sizes)))}, to_apply={_body(p, lines)}", element_type, sizes)


# ---- collectives ------------------------------------------------------------------------------------------------------------


@maker("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-broadcast")
def collective(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    if not sizes:
        raise Undrawable
    opcode = p.random.choice(("all-reduce", "all-gather", "reduce-scatter", "all-to-all"))
    k = p.random.randrange(len(sizes))
    attributes = {
        "all-reduce": lambda: f"to_apply={_combiner(p, element_type)}",
        "all-gather": lambda: f"dimensions={{{k}}}",
        "reduce-scatter": lambda: f"dimensions={{{k}}}, to_apply={_combiner(p, element_type)}",
        "all-to-all": lambda: f"dimensions={{{k}}}",
    }[opcode]()
    return p.add(f"{opcode}({p.operand(element_type, sizes, depth)}), replica_groups={{{{0}}}}, {attributes}", element_type, sizes)


@maker("collective-permute")
def collective_permute(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    p.header = p.random.choice((", replica_count=2", ", replica_count=2", ", replica_count=3", ""))
    pairs = p.random.choice(("{0,0},{1,1}", "{1,1},{0,0}", "{0,1},{1,0}", "{0,0}", "{0,0},{1,1},{2,2}"))
    return p.add(f"collective-permute({p.operand(element_type, sizes, depth)}), source_target_pairs={{{pairs}}}", element_type, sizes)
