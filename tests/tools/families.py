"""Families of modules of any size: each has a function from a size to HLO text, and a size to test.

`scaling.py` measures them. A module of size n is about n times as long as a line, and is valid
unless the name of the family indicates an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["FAMILIES", "FAULTY", "Family"]


class Family(NamedTuple):
    """A function that generates a module of size n, and the smaller of the two sizes to compare."""

    make: Callable[[int], str]
    size: int


def entry(body: str, before: str = "", header: str = "") -> str:
    """Returns a module whose entry has the parameters p (f32[]) and v (f32[4])."""
    start = "  p = f32[] parameter(0)\n  v = f32[4] parameter(1)\n"
    return f"HloModule m{header}\n{before}ENTRY e {{\n{start}{body}\n}}\n"


def rows(template: str, n: int, join: str = "\n") -> str:
    """Repeats the template for each k below n.

    In the template, @k is replaced with k, @n with the next number k + 1, and @d with n - k.
    """
    return join.join(template.replace("@k", str(k)).replace("@n", str(k + 1)).replace("@d", str(n - k)) for k in range(n))


def lines(template: str, before: str = "", header: str = "", after: str = "", first: str = "") -> Callable[[int], str]:
    """Returns a family of entry computations with one line for each k; @N is replaced with n."""

    def make(n: int) -> str:
        return entry(f"{first}\n  {rows(template, n, chr(10) + '  ')}\n  {after}".replace("@N", str(n)), before, header.replace("@N", str(n)))

    return make


def one(template: str, item: str, join: str = ", ", before: str = "", first: str = "") -> Callable[[int], str]:
    """Returns a family of entry computations with one long line.

    @i is replaced with n items, and @N with n.
    """

    def make(n: int) -> str:
        line = template.replace("@i", rows(item, n, join)).replace("@N", str(n))
        return entry(f"{first}\n  ROOT q = {line}".replace("@N", str(n)), before)

    return make


def ones(template: str) -> Callable[[int], str]:
    """Returns a family of entry computations with one line that has a shape of n dimensions.

    In the template, @1 is 1,1,..., @n is 0,1,2,..., @s is [0:1],..., and @x is 1x1x....
    """

    def make(n: int) -> str:
        sizes, numbers = ",".join(["1"] * n), ",".join(map(str, range(n)))
        line = template.replace("@1", sizes).replace("@n", numbers).replace("@x", "x".join(["1"] * n)).replace("@s", ",".join(["[0:1]"] * n))
        return entry("  " + line.replace("@N", str(n)))

    return make


def computations(body: str, after: str = "", entry_body: str = "", header: str = "", call: str = "") -> Callable[[int], str]:
    """Returns a family of modules with n computations; the entry repeats `call`."""

    def make(n: int) -> str:
        calls = rows(f"  {call}", n) if call else ""
        return entry(f"{entry_body}\n{calls}\n  {after}".replace("@N", str(n)), rows(body, n) + "\n", header)

    return make


ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
LESS = "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = pred[] compare(a, b), direction=LT }\n"
ZERO = "zero { a = f32[] parameter(0) ROOT b = f32[] negate(a) }\n"
LOOP = """cond { s = (s32[], f32[4]) parameter(0) k = s32[] get-tuple-element(s), index=0 c = s32[] constant(2) ROOT l = pred[] compare(k, c), direction=LT }
body { s = (s32[], f32[4]) parameter(0) k = s32[] get-tuple-element(s), index=0 o = s32[] constant(1) n = s32[] add(k, o)
  x = f32[4] get-tuple-element(s), index=1 y = f32[4] negate(x) ROOT t = (s32[], f32[4]) tuple(n, y) }
"""
STATE = "  i = s32[] constant(0)\n  w0 = (s32[], f32[4]) tuple(i, v)"


def nested(opening: str, inner: str, closing: str) -> Callable[[int], str]:
    """Returns a family with n opening parts, the inner part, and n closing parts."""
    return lambda n: entry("  q = " + opening * n + inner + closing * n)


def state(n: int) -> str:
    """Returns a loop over a tuple of n + 1 elements; its body copies all but the first."""
    shape = "(s32[], " + ", ".join(["f32[4]"] * n) + ")"
    takes = rows("  x@k = f32[4] get-tuple-element(s), index=@n", n)
    body = (
        f"body {{\n  s = {shape} parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n  o = s32[] constant(1)\n  n = s32[] add(k, o)\n{takes}\n"
    )
    body += f"  ROOT r = {shape} tuple(n, {rows('x@k', n, ', ')})\n}}\n"
    condition = f"cond {{\n  s = {shape} parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n  c = s32[] constant(2)\n"
    condition += "  ROOT l = pred[] compare(k, c), direction=LT\n}\n"
    last = f"  i = s32[] constant(0)\n  t = {shape} tuple(i, {rows('v', n, ', ')})\n  ROOT w = {shape} while(t), condition=cond, body=body"
    return entry(last, body + condition)


def tuple_parameter(n: int) -> str:
    """Returns a module with a parameter that is a tuple of n arrays, all of them used."""
    shape = f"({', '.join(['f32[2]'] * n)})"
    takes = rows("  x@k = f32[2] get-tuple-element(s), index=@k", n)
    return f"HloModule m\nENTRY e {{\n  s = {shape} parameter(0)\n{takes}\n  ROOT r = {shape} tuple({rows('x@k', n, ', ')})\n}}\n"


def tuple_parameter_through_calls(n: int) -> str:
    """Returns a module that passes a tuple of n arrays to a called computation."""
    shape = f"({', '.join(['f32[2]'] * n)})"
    takes = rows("  x@k = f32[2] get-tuple-element(s), index=@k", n)
    body = f"f {{\n  s = {shape} parameter(0)\n{takes}\n  ROOT r = {shape} tuple({rows('x@k', n, ', ')})\n}}\n"
    return f"HloModule m\n{body}ENTRY e {{\n  s = {shape} parameter(0)\n  ROOT r = {shape} call(s), to_apply=f\n}}\n"


def parameters(n: int) -> str:
    takes = rows("  x@k = f32[2] parameter(@k)", n)
    return f"HloModule m\nENTRY e {{\n{takes}\n  ROOT r = tuple({rows('x@k', n, ', ')})\n}}\n"


def nested_loops(n: int) -> str:
    """Returns n nested loops of one iteration each."""
    shape = "(pred[])"
    text = f"c {{ s = {shape} parameter(0) ROOT g = pred[] get-tuple-element(s), index=0 }}\n"
    text += f"b0 {{ s = {shape} parameter(0) f = pred[] constant(false) ROOT r = {shape} tuple(f) }}\n"
    text += rows(
        f"b@n {{ s = {shape} parameter(0) w = {shape} while(s), condition=c, body=b@k f = pred[] constant(false) ROOT r = {shape} tuple(f) }}", n
    )
    return entry(f"  t = pred[] constant(true)\n  s = {shape} tuple(t)\n  ROOT w = {shape} while(s), condition=c, body=b{n}", text + "\n")


def call_chain(opcode: str, attribute: str) -> Callable[[int], str]:
    """Returns a family of computations that each call the previous one."""

    def make(n: int) -> str:
        bodies = rows(f"f.@n {{ a = f32[] parameter(0) ROOT b = f32[] {opcode}(a), {attribute}=f.@k }}", n)
        return entry(f"  ROOT q = f32[] {opcode}(p), {attribute}=f.{n}", f"f.0 {{ a = f32[] parameter(0) ROOT b = f32[] negate(a) }}\n{bodies}\n")

    return make


def reversed_chain(n: int) -> str:
    """Returns instructions in reverse order: all operands are defined later, which is an error."""
    return entry(rows("  x@d = f32[] negate(x@X)", n).replace("@X", "0") + "\n  x0 = f32[] negate(p)")


def forward_references(n: int) -> str:
    return entry("\n".join(f"  x{k} = f32[] negate(x{k + 1})" for k in range(n)) + f"\n  x{n} = f32[] negate(p)")


def with_frames(names: str, positions: str, frames: str, n: int) -> str:
    """Returns a module with n instructions, each in a stack frame of its own.

    `names`, `positions` and `frames` are the rows of the tables of stack frames.
    """
    tables = f'FileNames\n{names}\n\nFunctionNames\n1 "f"\n\nFileLocations\n{positions}\n\nStackFrames\n{frames}\n\n'
    body = rows("  x@n = f32[] negate(p), metadata={stack_frame_id=@n}", n)
    return f"HloModule m\n\n{tables}\nENTRY e {{\n  p = f32[] parameter(0)\n{body}\n}}\n"


def stack_frames(n: int) -> str:
    position = "1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=2}"
    return with_frames('1 "a.py"', position, rows("@n {file_location_id=1 parent_frame_id=@k}", n), n)


def file_names(n: int) -> str:
    positions = rows("@n {file_name_id=@n function_name_id=1 line=1 end_line=1 column=1 end_column=2}", n)
    return with_frames(rows('@n "file@k.py"', n), positions, rows("@n {file_location_id=@n parent_frame_id=@n}", n), n)


def scheduled(n: int) -> str:
    body = rows("  x@n = f32[4]{0} negate(x@k)", n)
    return f"HloModule m, is_scheduled=true\n\nENTRY %e {{\n  x0 = f32[4]{{0}} parameter(0)\n{body}\n}}\n"


def scheduled_live(n: int) -> str:
    """Returns a schedule in which all values live until the end."""
    body = rows("  x@k = f32[4]{0} negate(p)", n)
    shape = ", ".join(["f32[4]{0}"] * n)
    return f"HloModule m, is_scheduled=true\n\nENTRY %e {{\n  p = f32[4]{{0}} parameter(0)\n{body}\n  ROOT t = ({shape}) tuple({rows('x@k', n, ', ')})\n}}\n"


def aliases(n: int) -> str:
    shape = ", ".join(["f32[2]"] * n)
    pairs = rows("{@k}: (@k, {}, may-alias)", n, ", ")
    return f"HloModule m, input_output_alias={{ {pairs} }}\nENTRY e {{\n{rows('  x@k = f32[2] parameter(@k)', n)}\n  ROOT r = ({shape}) tuple({rows('x@k', n, ', ')})\n}}\n"


def donors(n: int) -> str:
    pairs = rows("(@k, {})", n, ", ")
    return f"HloModule m, buffer_donor={{ {pairs} }}\nENTRY e {{\n{rows('  x@k = f32[2] parameter(@k)', n)}\n  ROOT r = f32[2] negate(x0)\n}}\n"


def entry_layout(n: int) -> str:
    shapes = ", ".join(["f32[2]{0}"] * n)
    return (
        f"HloModule m, entry_computation_layout={{({shapes})->f32[2]{{0}}}}\nENTRY e {{\n{rows('  x@k = f32[2]{0} parameter(@k)', n)}\n"
        "  ROOT r = f32[2]{0} negate(x0)\n}\n"
    )


def modules(n: int) -> str:
    return "\n// -----\n".join(["HloModule m\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n"] * n)


def conditional(n: int) -> str:
    branches = rows("f.@k { a = f32[] parameter(0) ROOT b = f32[] negate(a) }", n)
    line = f"  i = s32[] constant(0)\n  ROOT c = f32[] conditional(i, {rows('p', n, ', ')}), branch_computations={{{rows('f.@k', n, ', ')}}}"
    return entry(line, branches + "\n")


def variadic_reduce(n: int) -> str:
    shapes = ", ".join(["f32[]"] * n)
    head = rows("a@k = f32[] parameter(@k)", n) + "\n" + "\n".join(f"b{k} = f32[] parameter({n + k})" for k in range(n))
    body = f"f {{\n{head}\n{rows('r@k = f32[] add(a@k, b@k)', n)}\nROOT t = ({shapes}) tuple({rows('r@k', n, ', ')})\n}}\n"
    return entry(f"  ROOT r = ({shapes}) reduce({rows('v', n, ', ')}, {rows('p', n, ', ')}), dimensions={{0}}, to_apply=f", body)


def variadic_sort(n: int) -> str:
    shapes = ", ".join(["f32[4]"] * n)
    head = rows("a@k = f32[] parameter(@k)", 2 * n)
    body = f"f {{\n{head}\nROOT t = pred[] compare(a0, a1), direction=LT\n}}\n"
    return entry(f"  ROOT r = ({shapes}) sort({rows('v', n, ', ')}), dimensions={{0}}, to_apply=f", body)


def map_operands(n: int) -> str:
    body = f"f {{\n{rows('a@k = f32[] parameter(@k)', n)}\nROOT t = f32[] negate(a0)\n}}\n"
    return entry(f"  ROOT r = f32[4] map({rows('v', n, ', ')}), dimensions={{0}}, to_apply=f", body)


def fusion_parameters(n: int) -> str:
    body = f"f {{\n{rows('a@k = f32[4] parameter(@k)', n)}\nROOT t = f32[4] negate(a0)\n}}\n"
    return entry(f"  ROOT r = f32[4] fusion({rows('v', n, ', ')}), kind=kLoop, calls=f", body)


def array_lines(template: str) -> Callable[[int], str]:
    """Returns a family of entry computations with one instruction on arrays of n elements."""
    return lambda n: entry(template.replace("@N", str(n)), ADD + LESS)


def indices(n: int) -> str:
    return "{" + ",".join(f"{{{k}}}" for k in range(n)) + "}"


def unique_scatter(n: int) -> str:
    line = f"  i = s32[{n},1] parameter(2)\n  a = f32[{n}] broadcast(p), dimensions={{}}\n  ROOT s = f32[{n}] scatter(a, i, a), to_apply=add, "
    line += "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true"
    return entry(line, ADD)


def gather(n: int) -> str:
    line = f"  i = s32[{n},1] parameter(2)\n  a = f32[{n}] broadcast(p), dimensions={{}}\n  ROOT s = f32[{n}] gather(a, i), "
    return entry(line + "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}")


def same_attributes(n: int) -> str:
    """Returns instructions with findings that are suppressed one by one."""
    return entry(rows("  x@k = f32[5] negate(v) // hlotool: ignore[T003]", n))


def off_and_on(n: int) -> str:
    return entry(rows("  // hlotool: off[T003]\n  x@k = f32[5] negate(v)\n  // hlotool: on[T003]", n))


def off_only(n: int) -> str:
    return entry(rows("  // hlotool: off[T003]\n  x@k = f32[5] negate(v)", n))


def send_recv(n: int) -> str:
    one_pair = """  a@k = token[] after-all()
  start@k = (f32[], u32[], token[]) send(p, a@k), channel_id=@n, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  d@k = token[] send-done(start@k), channel_id=@n
  r@k = (f32[], u32[], token[]) recv(a@k), channel_id=@n, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  e@k = (f32[], token[]) recv-done(r@k), channel_id=@n"""
    return entry(rows(one_pair, n))


# ---- modules that the optimizer simplifies ----------------------------------------------------------------------------


def loops_of_their_own(n: int) -> str:
    """Returns a chain of loops, each with its own computations."""
    bodies = rows(LOOP.replace("cond {", "cond@k {").replace("body {", "body@k {").replace("constant(2)", "constant(@n)"), n)
    return entry(
        STATE.replace("constant(0)", "parameter(2)") + "\n" + rows("  w@n = (s32[], f32[4]) while(w@k), condition=cond@k, body=body@k", n), bodies
    )


def state_of_constants(n: int) -> str:
    """Returns a loop over a tuple of n constants, all of which the body reads."""
    shape = "(s32[], " + ", ".join(["s32[]"] * n) + ")"
    reads = rows("  x@n = s32[] get-tuple-element(s), index=@n\n  y@n = s32[] add(y@k, x@n)", n)
    body = f"body {{\n  s = {shape} parameter(0)\n  y0 = s32[] get-tuple-element(s), index=0\n{reads}\n"
    body += f"  ROOT r = {shape} tuple(y{n}, {', '.join(f'x{k}' for k in range(1, n + 1))})\n}}\n"
    condition = f"cond {{\n  s = {shape} parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n  l = s32[] constant(2)\n"
    condition += "  ROOT r = pred[] compare(k, l), direction=LT\n}\n"
    start = rows("  n@k = s32[] constant(@k)", n) + f"\n  i = s32[] parameter(2)\n  t = {shape} tuple(i, {rows('n@k', n, ', ')})\n"
    return entry(f"{start}  w = {shape} while(t), condition=cond, body=body\n  ROOT g = s32[] get-tuple-element(w), index=0", body + condition)


def branches_of_one_conditional(constant: str) -> Callable[[int], str]:
    """Returns a family of conditionals whose branches all contain `constant`.

    `@` in the constant is replaced with the number of the branch.
    """

    def make(n: int) -> str:
        branches = "".join(
            f"branch{k} {{ a = f32[4] parameter(0) c = s32[2] constant({constant.replace('@', str(k))}) b = f32[4] sine(a) "
            f"ROOT t = (f32[4], s32[2]) tuple(b, c) }}\n"
            for k in range(n)
        )
        called = ", ".join(f"branch{k}" for k in range(n))
        operands = ", ".join(["p"] * n)
        return (
            f"{branches}ENTRY e {{\n  i = s32[] parameter(0)\n  p = f32[4] parameter(1)\n"
            f"  ROOT r = (f32[4], s32[2]) conditional(i, {operands}), branch_computations={{{called}}}\n}}\n"
        )

    return make


def conditionals_of_their_own(n: int) -> str:
    """Returns a chain of conditionals, each with its own branches."""
    branches = rows("on@k { a = f32[] parameter(0) ROOT b = f32[] sine(a) }\noff@k { a = f32[] parameter(0) ROOT b = f32[] cosine(a) }", n)
    chain = rows("  x@n = f32[] conditional(c, x@k, x@k), true_computation=on@k, false_computation=off@k", n)
    return entry(f"  c = pred[] parameter(2)\n  x0 = f32[] negate(p)\n{chain}", branches + "\n")


def unused_parameters(n: int) -> str:
    """Returns computations that each call the previous one, with one of two arguments unused."""
    bodies = rows("g@n { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] negate(b) ROOT d = f32[] call(a, c), to_apply=g@k }", n)
    return entry(
        f"  ROOT q = f32[] call(p, p), to_apply=g{n}", f"g0 {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT d = f32[] sine(a) }}\n{bodies}\n"
    )


def equal_arguments(n: int) -> str:
    """Returns two calls with n equal arguments each."""
    body = f"f {{\n{rows('  a@k = f32[] parameter(@k)', n)}\n  d0 = f32[] negate(a0)\n{rows('  d@n = f32[] subtract(d@k, a@k)', n)}\n  ROOT t = f32[] sine(d{n})\n}}\n"
    calls = f"  q = f32[] sine(p)\n  r = f32[] call({rows('p', n, ', ')}), to_apply=f\n  s = f32[] call({rows('q', n, ', ')}), to_apply=f"
    return entry(f"{calls}\n  ROOT t = f32[] add(r, s)", body)


def tuple_of_copies(n: int) -> str:
    """Returns a tuple whose operands are replaced one after the other."""
    return entry(
        rows("  k@k = f32[] constant(@k)\n  x@k = f32[] add(p, k@k)\n  y@k = f32[] copy(x@k)", n) + f"\n  ROOT t = tuple({rows('y@k', n, ', ')})"
    )


def elements_of_a_known_tuple(n: int) -> str:
    known = rows("  k@k = f32[] constant(@k)", n) + f"\n  t = tuple({rows('k@k', n, ', ')})\n"
    return entry(
        known + rows("  g@k = f32[] get-tuple-element(t), index=@k\n  h@k = f32[] negate(g@k)", n) + f"\n  ROOT r = tuple({rows('h@k', n, ', ')})"
    )


MIX = "mix { a = f32[] parameter(0) z = f32[] parameter(1) b = f32[] sine(a) c = f32[] cosine(b) d = f32[] tanh(c) ROOT e = f32[] exponential(d) }\n"

FAMILIES: dict[str, Family] = {
    # ---- instructions and their order
    "chain": Family(lines("x@n = f32[] negate(x@k)", first="  x0 = f32[] negate(p)"), 500),
    "chain of doublings": Family(lines("x@n = f32[] add(x@k, x@k)", first="  x0 = f32[] negate(p)"), 500),
    "ladder": Family(lines("x@n = f32[] add(x@k, y@k)\n  y@n = f32[] subtract(x@k, y@k)", first="  x0 = f32[] negate(p)\n  y0 = f32[] negate(x0)"), 300),
    "users of one value": Family(lines("x@k = f32[] negate(p)"), 500),
    "different users of one value": Family(lines("k@k = f32[] constant(@k)\n  x@k = f32[] add(p, k@k)"), 300),
    "users of one value, and all of them used": Family(lambda n: entry(rows("  x@k = f32[] negate(p)", n) + f"\n  ROOT t = tuple({rows('x@k', n, ', ')})"), 500),
    "chain in one line": Family(lambda n: entry(rows("x@n = f32[] negate(x@k)", n, " ")).replace("x0)", "p)", 1), 200),
    "reversed chain": Family(reversed_chain, 500),
    "forward references": Family(forward_references, 500),
    "undefined operands": Family(lines("x@k = f32[] negate(z@k)"), 200),
    "undefined operands with near names": Family(lines("name.@k = f32[] negate(nmae.@k)"), 250),
    "undefined operands of one instruction": Family(one("tuple(@i)", "z@k"), 500),
    "operands of other computations": Family(lambda n: entry(rows("  x@k = f32[] negate(y@k)", n), "f {\n" + rows("  y@k = f32[] parameter(@k)", n) + "\n}\n"), 300),
    "undefined computations": Family(lines("x@k = f32[] call(p), to_apply=f.@k"), 500),
    "undefined computations with near names": Family(computations("name.@k { a = f32[] parameter(0) ROOT b = f32[] negate(a) }", call="x@k = f32[] call(p), to_apply=nmae.@k"), 100),
    "undefined control predecessors": Family(lines("x@k = f32[] negate(p), control-predecessors={z@k}"), 300),
    "unknown opcodes": Family(lines("x@k = f32[] opcode@k(p)"), 100),
    "unknown attributes": Family(lines("x@k = f32[] negate(p), attribute@k=1"), 300),
    "wrong shapes": Family(lines("x@k = f32[5] negate(v)"), 500),
    "wrong shapes in one line": Family(lambda n: entry(rows("x@k = f32[5] negate(v)", n, " ")), 500),
    "wrong shapes in a chain": Family(lines("x@n = f32[@n] negate(x@k)", first="  x0 = f32[4] negate(v)"), 1000),
    "broken lines": Family(lines("x@k = f32[ negate(p"), 300),
    "broken line": Family(lambda n: entry(rows("x@k = f32[ negate(p)", n, " ")), 300),
    "repeated names": Family(lines("x = f32[] negate(p)"), 300),
    "names with numbers": Family(lines("x.@k = f32[] negate(p)\n  y.@k.clone = f32[] negate(x.@k)"), 300),
    "long names": Family(lambda n: entry(f"  {'x' * n} = f32[] negate(p)\n  ROOT q = f32[] negate({'x' * n})"), 50_000),
    "duplicates": Family(lines("x@k = f32[4] add(v, v)"), 500),
    "dead code": Family(lines("x@n = f32[] negate(x@k)", first="  x0 = f32[] negate(p)", after="ROOT r = f32[] negate(p)"), 500),
    "dead values": Family(lines("x@k = f32[] negate(p)", after="ROOT r = f32[] negate(p)"), 500),
    "identities": Family(lines("x@n = f32[] negate(y@k)\n  y@n = f32[] negate(x@n)", first="  y0 = f32[] negate(p)"), 300),
    "reshapes": Family(lines("x@n = f32[2,2] reshape(y@k)\n  y@n = f32[4] reshape(x@n)", first="  y0 = f32[4] negate(v)"), 300),
    "transposes": Family(lines("x@n = f32[2,2] transpose(x@k), dimensions={1,0}", first="  x0 = f32[2,2] reshape(v)"), 300),
    "copies": Family(lines("x@n = f32[4] copy(x@k)", first="  x0 = f32[4] copy(v)"), 300),
    "bitcasts": Family(lines("x@n = f32[4] bitcast(x@k)", first="  x0 = f32[4] bitcast(v)"), 300),
    "converts": Family(lines("x@n = bf16[4] convert(y@k)\n  y@n = f32[4] convert(x@n)", first="  y0 = f32[4] negate(v)"), 300),
    "broadcasts": Family(lines("x@k = f32[4,@n] broadcast(v), dimensions={0}"), 100),
    "slices": Family(lines("x@k = f32[2] slice(v), slice={[1:3]}"), 300),
    "updates": Family(
        lines("x@n = f32[4] dynamic-update-slice(x@k, u, i)", first="  i = s32[] constant(1)\n  u = f32[2] slice(v), slice={[0:2]}\n  x0 = f32[4] copy(v)"), 200
    ),
    "selects": Family(lines("x@n = f32[] select(c, x@k, p)", first="  c = pred[] constant(true)\n  x0 = f32[] negate(p)"), 300),
    "dots": Family(lines("x@n = f32[2,2] dot(x@k, x@k), lhs_contracting_dims={1}, rhs_contracting_dims={0}", first="  x0 = f32[2,2] reshape(v)"), 200),
    "reduces": Family(lines("x@k = f32[] reduce(v, p), dimensions={0}, to_apply=add", ADD), 200),
    "sorts": Family(lines("x@n = f32[4] sort(x@k), dimensions={0}, to_apply=less", LESS, first="  x0 = f32[4] negate(v)"), 100),
    "concatenates": Family(lines("x@k = f32[8] concatenate(v, v), dimensions={0}"), 300),
    "constants": Family(lines("k@k = f32[] constant(@k)"), 500),
    "equal constants": Family(lines("k@k = f32[] constant(1)"), 500),
    "iotas": Family(lines("k@k = s32[4] iota(), iota_dimension=0"), 500),
    "random numbers": Family(lines("x@k = f32[4] rng(p, q), distribution=rng_uniform", first="  q = f32[] negate(p)"), 200),
    "generator states": Family(
        lines("b@n = (u64[2], u32[2]) rng-bit-generator(g@k), algorithm=rng_three_fry\n  g@n = u64[2] get-tuple-element(b@n), index=0", first="  g0 = u64[2] constant({1, 2})"),
        100,
    ),
    "dynamic sizes": Family(lines("x@n = f32[<=4] set-dimension-size(v, s), dimensions={0}", first="  s = s32[] constant(2)"), 200),
    "tokens": Family(lines("t@n = token[] after-all(t@k)", first="  t0 = token[] after-all()"), 500),
    "tokens of one instruction": Family(lambda n: entry(rows("  t@k = token[] after-all()", n) + f"\n  ROOT t = token[] after-all({rows('t@k', n, ', ')})"), 500),
    "added dependencies": Family(lines("x@n = f32[] add-dependency(x@k, t)", first="  t = token[] after-all()\n  x0 = f32[] negate(p)"), 300),
    "outfeeds": Family(lines("t@n = token[] outfeed(p, t@k), outfeed_shape=f32[]", first="  t0 = token[] after-all()"), 200),
    "infeeds": Family(lines("i@n = (f32[], token[]) infeed(t@k)\n  t@n = token[] get-tuple-element(i@n), index=1", first="  t0 = token[] after-all()"), 200),
    "barriers": Family(lines("x@n = f32[] opt-barrier(x@k)", first="  x0 = f32[] negate(p)"), 300),
    "domains": Family(lines("x@n = f32[] domain(x@k), domain={kind=\"sharding\", entry={replicated}, exit={maximal device=0}}", first="  x0 = f32[] negate(p)"), 200),
    "custom calls": Family(lines('x@k = f32[] custom-call(p), custom_call_target="t@k"'), 300),
    "control predecessors": Family(lines("x@n = f32[] negate(p), control-predecessors={x@k}", first="  x0 = f32[] negate(p)"), 300),
    "control predecessors of one instruction": Family(lambda n: entry(rows("  x@k = f32[] negate(p)", n) + f"\n  ROOT r = f32[] negate(p), control-predecessors={{{rows('x@k', n, ', ')}}}"), 300),
    "successors of one instruction": Family(lines("x@k = f32[] negate(p), control-predecessors={q}", first="  q = f32[] negate(p)"), 300),
    # ---- tuples
    "operands": Family(one("tuple(@i)", "p"), 500),
    "tuple parameter": Family(tuple_parameter, 300),
    "tuple parameter of a call": Family(tuple_parameter_through_calls, 300),
    "parameters": Family(parameters, 300),
    "elements of an inferred tuple": Family(lambda n: entry(f"  t = tuple({rows('p', n, ', ')})\n" + rows("  g@k = f32[] get-tuple-element(t), index=@k", n)), 300),
    "tuples of tuples": Family(lines("t@n = tuple(t@k)", first="  t0 = tuple(p)"), 30),
    "tuples of one tuple": Family(lambda n: entry(f"  t = tuple({rows('p', n, ', ')})\n  x = tuple(t, t, t, t)\n  ROOT g = get-tuple-element(x), index=2"), 300),
    "nested tuple shape": Family(lambda n: entry("  q = " + "(" * n + "f32[2]{0}" + ")" * n + " parameter(2)"), 1000),
    "elements in nested tuples": Family(lambda n: entry("  t0 = " + "(" * n + "f32[2]{0}" + ")" * n + " parameter(2)\n" + rows("  t@n = get-tuple-element(t@k), index=0", n)), 30),
    "loop state": Family(state, 200),
    "result elements": Family(lambda n: entry(rows("  x@k = f32[4] negate(v)", n) + f"\n  ROOT t = ({', '.join(['f32[4]'] * n)}) tuple({rows('x@k', n, ', ')})"), 300),
    # ---- computations
    "computations": Family(computations("f.@k { a = f32[] parameter(0) ROOT b = f32[] negate(a) }"), 300),
    "computations of one name": Family(computations("f { a = f32[] parameter(0) ROOT b = f32[] negate(a) }"), 300),
    "computations called once": Family(computations("f.@k { a = f32[] parameter(0) ROOT b = f32[] negate(a) }", call="x@k = f32[] call(p), to_apply=f.@k"), 200),
    "calls of one computation": Family(lines("x@k = f32[] call(p), to_apply=zero", ZERO), 300),
    "call chain": Family(call_chain("call", "to_apply"), 200),
    "fusion chain": Family(call_chain("fusion", "kind=kLoop, calls"), 200),
    "map chain": Family(call_chain("map", "dimensions={}, to_apply"), 100),
    "fusions": Family(lines("x@k = f32[] fusion(p), kind=kLoop, calls=zero", ZERO), 300),
    "fusions of their own": Family(computations("f.@k { a = f32[] parameter(0) ROOT b = f32[] negate(a) }", call="x@k = f32[] fusion(p), kind=kLoop, calls=f.@k"), 200),
    "loops": Family(lines("w@n = (s32[], f32[4]) while(w@k), condition=cond, body=body", LOOP, first=STATE), 50),
    "nested loops": Family(nested_loops, 50),
    "branches": Family(conditional, 200),
    "conditionals": Family(lines("x@k = f32[] conditional(c, p, p), true_computation=zero, false_computation=zero", ZERO, first="  c = pred[] constant(true)"), 200),
    "fusions that become smaller": Family(computations("f.@k { a = f32[] parameter(0) b = f32[] negate(a) c = f32[] negate(b) ROOT d = f32[] sine(c) }", entry_body="  x0 = f32[] cosine(p)", call="x@n = f32[] fusion(x@k), kind=kLoop, calls=f.@k"), 1000),
    "reducers": Family(computations("f.@k { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }", call="x@k = f32[] reduce(v, p), dimensions={0}, to_apply=f.@k"), 200),
    "reduce of many arrays": Family(variadic_reduce, 50),
    "sort of many arrays": Family(variadic_sort, 50),
    "map of many arrays": Family(map_operands, 100),
    "fusion parameters": Family(fusion_parameters, 200),
    "inline computations": Family(nested("call(p), to_apply={ p = f32[] parameter(0) q = ", "f32[] negate(p)", " }"), 25),
    "modules": Family(modules, 200),
    # ---- modules that the optimizer simplifies
    "loops of their own": Family(loops_of_their_own, 100),
    "loop state of constants": Family(state_of_constants, 500),
    "conditionals of their own": Family(conditionals_of_their_own, 300),
    "equal branches": Family(branches_of_one_conditional("{1, 2}"), 500),
    "different branches": Family(branches_of_one_conditional("{1, @}"), 500),
    "unused parameters": Family(unused_parameters, 500),
    "equal arguments": Family(equal_arguments, 500),
    "calls with an unused argument": Family(lines("x@n = f32[] call(x@k, p), to_apply=mix", MIX, first="  x0 = f32[] negate(p)"), 500),
    "computations without a caller": Family(computations("g@k { a = f32[] parameter(0) b = f32[] sine(a) ROOT c = f32[] cosine(b) }"), 120),
    "computations with one caller": Family(computations("g@k { a = f32[] parameter(0) b = f32[] sine(a) ROOT c = f32[] cosine(b) }", call="x@k = f32[] call(p), to_apply=g@k"), 120),
    "tuple of copies": Family(tuple_of_copies, 500),
    "elements of a known tuple": Family(elements_of_a_known_tuple, 500),
    # ---- dimensions
    "broadcast of n dimensions": Family(ones("x = f32[@1] parameter(2)\n  ROOT q = f32[@1] broadcast(x), dimensions={@n}"), 500),
    "broadcast to n dimensions": Family(ones("ROOT q = f32[@1] broadcast(p), dimensions={}"), 500),
    "transpose of n dimensions": Family(ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = f32[@1] transpose(x), dimensions={@n}"), 500),
    "reverse of n dimensions": Family(ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = f32[@1] reverse(x), dimensions={@n}"), 500),
    "reduce of n dimensions": Family(lambda n: ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = f32[] reduce(x, p), dimensions={@n}, to_apply=add")(n).replace("HloModule m\n", f"HloModule m\n{ADD}"), 1000),
    "slice of n dimensions": Family(ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = f32[@1] slice(x), slice={@s}"), 500),
    "reshape of n dimensions": Family(ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = f32[] reshape(x)"), 500),
    "pad of n dimensions": Family(lambda n: ones(f"x = f32[@1] broadcast(p), dimensions={{}}\n  ROOT q = f32[@1] pad(x, p), padding={'x'.join(['0_0'] * n)}")(n), 500),
    "bitcast of n dimensions": Family(ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = f32[1,@1] bitcast(x)"), 500),
    "window of n dimensions": Family(lambda n: ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = f32[@1] reduce-window(x, p), window={size=@x}, to_apply=add")(n).replace("HloModule m\n", f"HloModule m\n{ADD}"), 300),
    "dot of n dimensions": Family(ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = f32[@1] dot(x, x), lhs_batch_dims={@n}, rhs_batch_dims={@n}, lhs_contracting_dims={}, rhs_contracting_dims={}"), 300),
    "sharding of n dimensions": Family(ones("x = f32[@1] broadcast(p), dimensions={}, sharding={devices=[@1,2]0,1 last_tile_dim_replicate}"), 300),
    "layout of n dimensions": Family(ones("ROOT q = f32[@1]{@n} parameter(2)"), 500),
    "indices of n dimensions": Family(lambda n: ones(f"x = f32[@1] broadcast(p), dimensions={{}}\n  i = s32[] constant(0)\n  ROOT q = f32[@1] dynamic-slice(x, {', '.join(['i'] * n)}), dynamic_slice_sizes={{@1}}")(n), 300),
    "gather of n dimensions": Family(lambda n: ones(f"x = f32[@1] broadcast(p), dimensions={{}}\n  i = s32[1,{n}] parameter(2)\n  ROOT q = f32[1,@1] gather(x, i), offset_dims={{{','.join(map(str, range(1, n + 1)))}}}, collapsed_slice_dims={{}}, start_index_map={{@n}}, index_vector_dim=1, slice_sizes={{@1}}")(n), 1200),
    "iota of n dimensions": Family(ones("ROOT q = f32[@1] iota(), iota_dimension=0"), 500),
    "compare of n dimensions": Family(ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = pred[@1] compare(x, x), direction=EQ"), 500),
    "convert of n dimensions": Family(ones("x = f32[@1] broadcast(p), dimensions={}\n  ROOT q = bf16[@1] convert(x)"), 500),
    "concatenate of many arrays": Family(lambda n: entry(f"  ROOT q = f32[{4 * n}] concatenate({rows('v', n, ', ')}), dimensions={{0}}"), 300),
    # ---- arrays
    "numbers": Family(lambda n: entry(f"  ROOT q = f32[{n}] constant({{{', '.join(map(str, range(n)))}}})"), 5_000),
    "booleans": Family(lambda n: entry(f"  ROOT q = pred[{n}] constant({{{', '.join(['1'] * n)}}})"), 5_000),
    "numbers in rows": Family(lambda n: entry(f"  ROOT q = f32[{n},1] constant({{{', '.join(['{1}'] * n)}}})"), 3_000),
    "tuple literal": Family(lambda n: entry(f"  ROOT q = ({', '.join(['f32[]'] * n)}) constant(({', '.join(['1'] * n)}))"), 500),
    "elements": Family(array_lines("  x = f32[@N] broadcast(p), dimensions={}\n  ROOT q = f32[@N] negate(x)"), 50_000),
    "sorted elements": Family(array_lines("  x = f32[@N] parameter(2)\n  ROOT q = f32[@N] sort(x), dimensions={0}, to_apply=less"), 5_000),
    "reduced elements": Family(array_lines("  x = f32[@N] parameter(2)\n  ROOT q = f32[] reduce(x, p), dimensions={0}, to_apply=add"), 50_000),
    "window elements": Family(array_lines("  x = f32[@N] parameter(2)\n  ROOT q = f32[@N] reduce-window(x, p), window={size=3 pad=1_1}, to_apply=add"), 20_000),
    "scattered elements": Family(unique_scatter, 2_000),
    "gathered elements": Family(gather, 5_000),
    "cumulative elements": Family(lambda n: entry(f"  x = f32[{n}] parameter(2)\n  ROOT q = f32[{n}] reduce-window(x, p), window={{size={n} pad={n - 1}_0}}, to_apply=add", ADD), 300),
    "narrow elements": Family(array_lines("  x = f8e4m3fn[@N] parameter(2)\n  ROOT q = f8e4m3fn[@N] negate(x)"), 20_000),
    "complex elements": Family(array_lines("  x = c64[@N] parameter(2)\n  ROOT q = c64[@N] exponential(x)"), 20_000),
    # ---- attributes and headers
    "attributes": Family(lambda n: entry("  q = f32[] negate(p), frontend_attributes={" + rows('a@k="@k"', n, ",") + "}"), 300),
    "backend configuration": Family(lambda n: entry("  q = f32[] negate(p), backend_config={" + rows('"a@k":"@k"', n, ",") + "}"), 500),
    "nested backend configuration": Family(lambda n: entry("  q = f32[] negate(p), backend_config={" + '"a":{' * n + "}" * n + "}"), 300),
    "metadata": Family(lines('x@k = f32[] negate(p), metadata={op_type="t@k" op_name="a/b/c@k" source_file="f.py" source_line=@k}'), 300),
    "equal metadata": Family(lines('x@k = f32[] negate(p), metadata={op_name="a/b/c" source_file="f.py" source_line=3}'), 300),
    "shardings": Family(lines("x@k = f32[4] negate(v), sharding={devices=[4]0,1,2,3}"), 300),
    "tuple sharding": Family(lambda n: entry(f"  q = ({', '.join(['f32[]'] * n)}) tuple({rows('p', n, ', ')}), sharding={{{', '.join(['{replicated}'] * n)}}}"), 300),
    "devices": Family(lambda n: entry(f"  q = f32[{n}] parameter(2), sharding={{devices=[{n}]{','.join(map(str, range(n)))}}}"), 1000),
    "metadata of shardings": Family(lambda n: entry("  q = f32[4] negate(v), sharding={replicated metadata={" + rows('{op_name="a@k"}', n, ", ") + "}}"), 200),
    "replica groups": Family(lambda n: entry(f"  ROOT q = f32[] all-reduce(p), replica_groups={indices(n)}, to_apply=add", ADD), 500),
    "replica group": Family(lambda n: entry(f"  ROOT q = f32[] all-reduce(p), replica_groups={{{{{','.join(map(str, range(n)))}}}}}, to_apply=add", ADD), 500),
    "source and target pairs": Family(lambda n: entry("  ROOT q = f32[] collective-permute(p), source_target_pairs={" + rows("{@k,@n}", n, ",") + "}"), 500),
    "collectives": Family(lines("x@k = f32[] all-reduce(p), channel_id=@n, replica_groups={}, to_apply=add", ADD), 200),
    "collective chain": Family(lines("x@n = f32[] all-reduce(x@k), channel_id=@n, replica_groups={}, to_apply=add", ADD, first="  x0 = f32[] negate(p)"), 200),
    "asynchronous collectives": Family(lines("start@k = f32[] all-reduce-start(p), replica_groups={}, to_apply=add\n  d@k = f32[] all-reduce-done(start@k)", ADD), 200),
    "overlapping collectives": Family(lambda n: entry(rows("  start@k = f32[] all-reduce-start(p), replica_groups={}, to_apply=add", n) + "\n" + rows("  d@k = f32[] all-reduce-done(start@k)", n), ADD), 200),
    "asynchronous operations": Family(lines("start@k = ((f32[]), f32[], s32[]) async-start(p), calls=zero\n  d@k = f32[] async-done(start@k)", ZERO), 200),
    "asynchronous updates": Family(lines("up@n = ((f32[]), f32[], s32[]) async-update(up@k)", ZERO, first="  up0 = ((f32[]), f32[], s32[]) async-start(p), calls=zero", after="d = f32[] async-done(up@N)"), 200),
    "asynchronous copies": Family(lines("start@k = (f32[4], f32[4], u32[]) copy-start(v)\n  d@k = f32[4] copy-done(start@k)"), 200),
    "sends and receives": Family(send_recv, 100),
    "aliases": Family(aliases, 300),
    "donors": Family(donors, 300),
    "entry layout": Family(entry_layout, 300),
    "origins": Family(lines('x@k = f32[] negate(p), origin={{"a@k"}}'), 300),
    "origin of many elements": Family(lambda n: entry(f"  q = ({', '.join(['f32[]'] * n)}) tuple({rows('p', n, ', ')}), origin={{({rows('{%qa@k%q}', n, ', ')})}}".replace("%q", '"')), 300),
    "tiles": Family(lambda n: entry("  q = f32[4]{0:T(" + ")(".join(["2"] * n) + ")} parameter(2)"), 500),
    "output aliases": Family(lambda n: entry(f'  q = ({", ".join(["f32[]"] * n)}) custom-call({rows("p", n, ", ")}), custom_call_target="t", output_to_operand_aliasing={{{rows("{@k}: (@k, {})", n, ", ")}}}'), 300),
    "stack frames": Family(stack_frames, 200),
    "file names": Family(file_names, 200),
    "schedule": Family(scheduled, 300),
    "schedule with long lives": Family(scheduled_live, 300),
    # ---- comments and marks
    "comments": Family(lines("/* a */ x@k = f32[] negate(p) // b"), 300),
    "comments in one line": Family(lambda n: entry("  q = f32[] " + "/* a */ " * n + "negate(p)"), 1000),
    "ignored findings": Family(same_attributes, 300),
    "ignored findings in one line": Family(lambda n: entry(rows("x@k = f32[5] negate(v) /* hlotool: ignore[T003] */", n, " ")), 200),
    "ignored by the line above": Family(lines("// hlotool: ignore-next[T003]\n  x@k = f32[5] negate(v)"), 300),
    "ignored in the file": Family(lines("// hlotool: ignore-file[T003]\n  x@k = f32[5] negate(v)"), 300),
    "off and on": Family(off_and_on, 200),
    "off": Family(off_only, 200),
    "on": Family(lines("// hlotool: on[T003]\n  x@k = f32[5] negate(v)"), 200),
    "unused marks": Family(lines("x@k = f32[4] negate(v) // hlotool: ignore[T003]"), 300),
    "doubled tuples": Family(lines("t@n = tuple(t@k, t@k)", first="  t0 = tuple(p)"), 20),
    "codes of one mark": Family(lambda n: entry("  q = f32[] negate(p) // hlotool: ignore[" + rows("T@k", n, ",") + "]"), 500),
    "formatting off and on": Family(lines("// hlotool: fmt off\n  x@k  =  f32[] negate(p)\n  // hlotool: fmt on"), 300),
    "formatting skipped": Family(lines("x@k  =  f32[] negate(p)  // hlotool: fmt skip"), 300),
    "unformatted lines": Family(lines("x@k  =  f32[]   negate( p ) ,metadata={ op_name='a' }"), 300),
    "unformatted line": Family(lambda n: entry(rows("x@k  =  f32[]   negate( p )", n, " ")), 300),
    "unordered attributes": Family(lines("x@k = f32[] negate(p), metadata={op_name=\"a\"}, sharding={replicated}"), 300),
    "log prefixes": Family(lambda n: "".join(f"I0101 12:00:00.000000 1 file.cc:1] {line}\n" for line in entry(rows("  x@k = f32[] negate(p)", n)).splitlines()), 300),
    "carriage returns": Family(lambda n: entry(rows("  x@k = f32[] negate(p)", n)).replace("\n", "\r\n"), 300),
    "empty lines": Family(lines("x@k = f32[] negate(p)\n\n\n"), 300),
}  # fmt: skip

FAULTY = frozenset({
    "broken line", "broken lines", "computations of one name", "doubled tuples", "forward references", "operands of other computations",
    "repeated names", "reversed chain", "undefined computations", "undefined computations with near names", "undefined control predecessors",
    "undefined operands", "undefined operands of one instruction", "undefined operands with near names", "unknown attributes", "unknown opcodes",
})  # fmt: skip
"""The families of modules that do not parse.

If a module of another family did not parse, only the time until the error would be measured.
"""
