"""Generated source: its lines, the names of variables, and the objects that it refers to.

No text from a module becomes part of the source, except in comments, where names are escaped.
Constants, shapes and functions are bound to names such as `k3`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from hlotool.interp.plan.operations import Variable
from hlotool.ir.model import Instruction

__all__ = ["Lines", "Writer"]


class Lines:
    """Lines of source, and the instruction to blame for each."""

    __slots__ = ("blamed", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.blamed: list[Instruction | None] = []


class Writer:
    """The source of one function.

    >>> writer = Writer()
    >>> name = writer.bind((2, 3))
    >>> writer.line(f"x = {name}")
    >>> with writer.block("while True:"):
    ...     writer.line("break")
    >>> print(writer.text)
    x = k0
    while True:
        break
    """

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}
        self.current: Instruction | None = None
        self.waits = False
        """True if the function is a generator, because its device may have to wait."""
        self._lines = Lines()
        self._indent = ""
        self._names: dict[Variable, str] = {}
        self._bound: dict[int | tuple[int, ...], str] = {}
        self._count = 0

    @property
    def text(self) -> str:
        return "\n".join(self._lines.texts)

    @property
    def blamed(self) -> list[Instruction | None]:
        """The instruction to blame for each line."""
        return self._lines.blamed

    def line(self, text: str) -> None:
        """Adds a line, for which `current` is to blame."""
        self._lines.texts.append(self._indent + text)
        self._lines.blamed.append(self.current)

    def finish(self, run: str) -> str:
        """Returns the expression for the value that a generator returns."""
        return f"(yield from {run})" if self.waits else f"finish({run})"

    @contextmanager
    def divert(self) -> Iterator[Lines]:
        """Diverts the lines added inside of the context to a Lines object, for `extend`."""
        outer, indent = self._lines, self._indent
        self._lines, self._indent = Lines(), ""
        try:
            yield self._lines
        finally:
            self._lines, self._indent = outer, indent

    def extend(self, lines: Lines) -> None:
        """Adds diverted lines."""
        self._lines.texts += [self._indent + text for text in lines.texts]
        self._lines.blamed += lines.blamed

    def comment(self, instruction: Instruction) -> None:
        """Adds a comment that names an instruction, which is to blame for the next lines."""
        self.current = instruction
        self.line(f"# {ascii(instruction.name)[1:-1][:200]} = {ascii(instruction.opcode)[1:-1]}")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Writes `head`, with the lines added inside as its body."""
        self.line(head)
        outer = self._indent
        self._indent += "    "
        count = len(self._lines.texts)
        yield
        if len(self._lines.texts) == count:
            self.line("pass")
        self._indent = outer

    @contextmanager
    def blocks(self, heads: Sequence[str]) -> Iterator[None]:
        """Writes nested blocks."""
        with ExitStack() as stack:
            for head in heads:
                stack.enter_context(self.block(head))
            yield

    def bind(self, value: Any, name: str | None = None) -> str:
        """Returns the name of an object in the source, which is `name` if that is free."""
        # Equal dimensions may be one object or several, depending on what has been read before.
        key = value if type(value) is tuple and all(type(number) is int for number in value) else id(value)
        known = self._bound.get(key)
        if known is not None:
            return known
        if name is None or self.namespace.get(name, value) is not value:
            name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        self._bound[key] = name
        return name

    def local(self, prefix: str = "t") -> str:
        """Returns a name for a new local variable."""
        self._count += 1
        return f"{prefix}{self._count}"

    def name(self, variable: Variable) -> str:
        """Returns the expression for a variable: its local name, or the name of its constant."""
        known = self._names.get(variable)
        if known is None:
            if variable.constant is not None:
                value = variable.constant[()] if variable.is_scalar else variable.constant
                # The writer keeps bound objects alive, so that their ids stay unique.
                known = self.bind(value)
            else:
                known = self.local("v")
            self._names[variable] = known
        return known

    def rename(self, variable: Variable, name: str) -> None:
        """Assigns an existing name to a variable."""
        self._names[variable] = name
