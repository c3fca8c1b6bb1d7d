"""Random modules with array sizes that are known only at run time, some of them out of range."""

from __future__ import annotations

from random import Random

__all__ = ["random_sizes_text"]

_ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
_PARAMETERS = ["x = f32[5]", "y = f32[5]", "n = s32[]", "m = s32[]"]
_STATE = "(s32[], f32[5], f32[5], s32[], s32[])"


class _Body:
    """The lines of a computation with the parameters x, y, n and m.

    Its values are arrays with five elements, arrays with at most five elements, and numbers.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.fixed, self.dynamic, self.numbers = ["x", "y"], list[str](), ["n", "m"]
        for _ in range(random.randint(2, 9)):
            self._add()

    def _new(self, shape: str, expression: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {shape} {expression}")
        return name

    def _add(self) -> None:
        pick, kind = self.random.choice, self.random.random()
        if kind < 0.35 or not self.dynamic:
            operand = pick([*self.fixed, *self.dynamic])
            self.dynamic.append(self._new("f32[<=5]", f"set-dimension-size({operand}, {pick(self.numbers)}), dimensions={{0}}"))
        elif kind < 0.5:
            self.dynamic.append(self._new("f32[<=5]", f"{pick(('negate', 'exponential'))}({pick(self.dynamic)})"))
        elif kind < 0.6:
            self.dynamic.append(self._new("f32[<=5]", f"add({pick(self.dynamic)}, {pick(self.dynamic)})"))
        elif kind < 0.75:
            self.numbers.append(self._new("s32[]", f"get-dimension-size({pick(self.dynamic)}), dimensions={{0}}"))
        elif kind < 0.85:
            total = self._new("f32[]", f"reduce({pick(self.dynamic)}, {self._new('f32[]', 'constant(0)')}), dimensions={{0}}, to_apply=add")
            self.fixed.append(self._new("f32[5]", f"broadcast({total}), dimensions={{}}"))
        elif kind < 0.92:
            self.numbers.append(self._new("s32[]", f"add({pick(self.numbers)}, {pick(self.numbers)})"))
        else:
            self.fixed.append(self._new("f32[5]", f"set-dimension-size({pick(self.dynamic)}, {self._new('s32[]', 'constant(5)')}), dimensions={{0}}"))


def random_sizes_text(random: Random) -> str:
    """Returns a module with many unused values.

    The parameters are x and y (f32[5]), and n and m (s32[]). The values are in the entry, in a
    called computation, or in the body of a loop.
    """
    body = _Body(random)
    lines = "".join(f"  {line}\n" for line in body.lines)
    parameters = "".join(f"  {parameter} parameter({k})\n" for k, parameter in enumerate(_PARAMETERS))
    shape, result = random.choice([("f32[5]", body.fixed), ("f32[<=5]", body.dynamic), ("s32[]", body.numbers)])
    root = f"  ROOT root = ({shape}) tuple({random.choice(result)})\n"
    position = random.choice(("entry", "call", "loop"))
    if position == "entry":
        return f"{_ADD}ENTRY e {{\n{parameters}{lines}{root}}}\n"
    if position == "call":
        return f"{_ADD}f {{\n{parameters}{lines}{root}}}\nENTRY e {{\n{parameters}  ROOT r = ({shape}) call(x, y, n, m), to_apply=f\n}}\n"
    taken = "".join(f"  {parameter} get-tuple-element(s), index={k}\n" for k, parameter in enumerate(["i = s32[]", *_PARAMETERS]))
    next_state = f"tuple(next, {random.choice(body.fixed)}, y, {random.choice(body.numbers)}, m)"
    return f"""{_ADD}step {{
  s = {_STATE} parameter(0)
{taken}{lines}  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = {_STATE} {next_state}
}}
more {{
  s = {_STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  limit = s32[] constant(3)
  ROOT more = pred[] compare(i, limit), direction=LT
}}
ENTRY e {{
{parameters}  zero = s32[] constant(0)
  s = {_STATE} tuple(zero, x, y, n, m)
  ROOT w = {_STATE} while(s), condition=more, body=step
}}
"""
