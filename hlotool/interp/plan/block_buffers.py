"""The buffers of a loop over blocks: a few arrays of the size of a block, which are reused."""

from __future__ import annotations

from hlotool.interp.kernels.conversion import round_to_bfloat16
from hlotool.interp.plan.fusing import Cluster, Keys
from hlotool.interp.plan.operations import Axes, Variable
from hlotool.interp.plan.writer import Writer

__all__ = ["BlockBuffers"]

Kind = tuple[str, Axes]
"""The element type of a buffer, and the axes of the domain that it spans."""


class BlockBuffers:
    """The assignment of a cluster's variables to buffers.

    `kinds` maps the names of buffers to their kinds. A buffer is free again as soon as all
    operations that read its variable have been written. `scratch` maps the names of other arrays
    that all blocks overwrite to their types and sizes.
    """

    def __init__(self, writer: Writer, cluster: Cluster) -> None:
        self.kinds: dict[str, Kind] = {}
        self.scratch: dict[str, tuple[str, int]] = {}
        self._writer = writer
        self._free: dict[Kind, list[str]] = {}
        self._held: dict[Variable, list[str]] = {}
        self._masks: dict[tuple[Variable, Kind], str] = {}
        # Variables that share the block of another variable.
        self._same: dict[Variable, Variable] = {}
        self._users = dict.fromkeys(cluster.results, 0)
        for operation in cluster.operations:
            for source, _ in (variable.view_source for variable in operation.reads):
                if source in self._users:
                    self._users[source] += 1

    def __contains__(self, variable: Variable) -> bool:
        """Returns whether a variable belongs to the cluster."""
        return variable in self._users

    def is_read(self, variable: Variable) -> bool:
        """Returns whether an operation that is not written yet reads a variable of the cluster."""
        return self._users[variable] > 0

    def take(self, element_type: str, axes: Axes) -> str:
        """Returns a free buffer, which stays reserved until it is put back."""
        free = self._free.get((element_type, axes))
        if free:
            return free.pop()
        name = self._writer.local("t")
        self.kinds[name] = element_type, axes
        return name

    def add_scratch(self, dtype: str, count: int) -> str:
        name = self._writer.local("m")
        self.scratch[name] = dtype, count
        return name

    def put_back(self, name: str) -> None:
        self._free.setdefault(self.kinds[name], []).append(name)

    def hold(self, variable: Variable, element_type: str, axes: Axes) -> str:
        """Returns a buffer for a variable, which stays reserved until the variable is released."""
        name = self.take(element_type, axes)
        self._held.setdefault(variable, []).append(name)
        return name

    def mask(self, variable: Variable, element_type: str, axes: Axes) -> tuple[str, bool]:
        """Returns the buffer for a mask of truth values, and whether it is already filled."""
        origin = self._same.get(variable, variable)
        key = origin, (element_type, axes)
        is_known = key in self._masks
        if not is_known:
            self._masks[key] = self.hold(origin, element_type, axes)
        return self._masks[key], is_known

    def round(self, value: str, element_type: str, axes: Axes) -> None:
        """Writes code that rounds a block of f32 numbers in place to a narrower element type."""
        if element_type == "bf16":
            scratch = self.take("u32", axes)
            self._writer.line(f"{self._writer.bind(round_to_bfloat16)}({value}, {scratch})")
        else:
            scratch = self.take(element_type, axes)
            self._writer.line(f"{scratch}[...] = {value}")
            self._writer.line(f"{value}[...] = {scratch}")
        self.put_back(scratch)

    def share(self, variable: Variable, source: Variable) -> None:
        """Makes a variable share the block of another variable."""
        origin = self._same.get(source, source)
        if origin in self._users:
            self._same[variable] = origin
            self._users[origin] += self._users[variable]

    def release(self, keys: Keys) -> None:
        """Records that an operation that reads these variables has been written."""
        for source, _ in keys:
            variable = self._same.get(source, source)
            if variable in self._users:
                self._users[variable] -= 1
                self.release_if_unread(variable)

    def release_if_unread(self, variable: Variable) -> None:
        if not self._users[variable]:
            for name in self._held.pop(variable, ()):
                self.put_back(name)
