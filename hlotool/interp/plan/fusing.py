"""Fuses operations of a region into clusters, which are computed block by block.

Intermediate values of a cluster stay in the cache as blocks, and are never written to memory as
whole arrays.

A cluster consists of elementwise operations on arrays of one shape (the domain), broadcasts into
the domain, reductions along its last dimensions, and operations on the results of these reductions.
In a cluster, a variable spans some of the axes of the domain and has size 1 along the others.
Dimensions of size 1 are not axes, so reshapes that add or remove such dimensions do not separate
clusters. Most broadcasts are surrounded by such reshapes.

An operation that cannot be in a cluster is a barrier between the operations that it depends on and
the operations that depend on it. Levels count the barriers. All operations of a cluster have the
same level, so no path leads out of a cluster and back into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from math import prod

from hlotool.interp.plan.forms import Form, Reduction
from hlotool.interp.plan.operations import Axes, Operation, Region, Variable, counted_dimension, long_dimensions
from hlotool.shapes.shape import Shape

__all__ = ["MIN_DOMAIN_SIZE", "Cluster", "Forms", "Keys", "schedule"]

Forms = Callable[[Operation], Form | Reduction | None]
Keys = Sequence[tuple[Variable, Axes]]
"""The operands of an operation in a cluster.

The operands are variables of the cluster or from outside, each with the axes that it spans.
"""

MIN_DOMAIN_SIZE = 1 << 14
"""Minimum number of elements for which blocks are worth their overhead."""
_MAX_ROW_LENGTH = 1 << 18
"""Maximum number of elements of a row that is reduced within a block."""


class Cluster:
    """Operations over one domain, in order.

    `axes` maps each variable to the axes that it spans; `inner` is the first axis that is reduced.
    """

    __slots__ = ("axes", "dimensions", "forms", "inner", "operations")

    def __init__(self, dimensions: tuple[int, ...]) -> None:
        self.dimensions = dimensions
        self.operations: list[Operation] = []
        self.forms: dict[Operation, Form | Reduction] = {}
        self.axes: dict[Variable, Axes] = {}
        self.inner = len(dimensions)

    @property
    def reads(self) -> Iterator[Variable]:
        """The variables from outside that the cluster reads.

        Broadcasts are represented by their sources. Iotas are excluded, since blocks compute them.
        """
        own = {result for operation in self.operations for result in operation.results}
        for operation in self.operations:
            for variable in operation.reads:
                source, _ = variable.view_source
                if source not in own and (counted_dimension(source) is None or isinstance(self.forms[operation], Reduction)):
                    yield source

    def keys(self, operation: Operation) -> Keys:
        """Returns each operand's source, with the axes of the domain that it spans."""
        (result,) = operation.results
        form = self.forms[operation]
        keys = []
        for operand in operation.reads:
            source, axes = operand.view_source
            if source in self.axes:
                keys.append((source, self.axes[source]))
            elif isinstance(form, Reduction):
                keys.append((source, tuple(range(len(self.dimensions))) if operand.shape.dimensions else ()))
            else:
                spanned = self.axes[result]
                keys.append((source, tuple([spanned[k] for k in axes])))
        return keys

    def chunked_axis(self, most: int) -> int:
        """Returns the axis that is divided into blocks of at most `most` elements.

        Each block has a single index along the axes before it, and all elements along those after
        it.
        """
        axis = 0
        while axis < self.inner - 1 and prod(self.dimensions[axis + 1 :]) > most:
            axis += 1
        return axis

    @property
    def results(self) -> tuple[Variable, ...]:
        return tuple([result for operation in self.operations for result in operation.results])


def schedule(region: Region, forms: Forms) -> list[Operation | Cluster]:
    """Returns the operations in a valid order, with clusters in place of their operations."""
    if all(prod(result.shape.dimensions) < MIN_DOMAIN_SIZE for operation in region.operations for result in operation.results):
        return list(region.operations)
    return _order(_Clustering(region, forms).items())


class _Clustering:
    def __init__(self, region: Region, forms: Forms) -> None:
        self.region = region
        self.forms = forms
        self.level: dict[Variable, int] = {}
        self.cluster: dict[Variable, int] = {}
        self.clusters: list[Cluster] = []
        # The number of the cluster that each cluster has been merged into, or its own number.
        self.merged: list[int] = []
        self.cluster_number: dict[Operation, int] = {}
        for operation in region.operations:
            self._add(operation)

    def items(self) -> list[Operation | Cluster]:
        """Returns the worthwhile clusters, and the operations outside of them.

        The items are in the order of their last operations.
        """
        for operation in self.region.operations:
            if operation in self.cluster_number:
                self.clusters[self._root(self.cluster_number[operation])].operations.append(operation)
        items: list[Operation | Cluster] = []
        for operation in self.region.operations:
            cluster = self.clusters[self._root(self.cluster_number[operation])] if operation in self.cluster_number else None
            if cluster is None or not _is_worthwhile(cluster):
                items.append(operation)
            elif operation is cluster.operations[-1]:
                items.append(cluster)
        return items

    def _root(self, number: int) -> int:
        while self.merged[number] != number:
            number = self.merged[number]
        return number

    def _add(self, operation: Operation) -> None:
        form = self.forms(operation)
        if isinstance(form, Form) and self._add_elementwise(operation, form):
            return
        if isinstance(form, Reduction) and self._add_reduction(operation, form):
            return
        # A barrier, after all operations that it depends on.
        level = max((self._level_after(variable) for variable in operation.reads), default=0)
        if len(operation.results) == 1 and (source := operation.results[0].view_source[0]) is not operation.results[0]:
            # Users of a view read its source.
            level = self.level.get(source, 0)
        self.level.update(dict.fromkeys(operation.results, level))

    def _level_after(self, variable: Variable) -> int:
        source, _ = variable.view_source
        return self.level.get(source, 0) + (source in self.cluster)

    def _add_elementwise(self, operation: Operation, form: Form) -> bool:
        (result,) = operation.results
        own = result.shape.dimensions
        if any(variable.shape.dimensions not in (own, ()) for variable in operation.reads):
            return False
        sources = [variable.view_source for variable in operation.reads]
        sizes = long_sizes(result.shape)
        full = tuple(range(len(sizes)))
        level = max((self.level.get(source, 0) for source, _ in sources), default=0)
        latest = [(source, axes) for source, axes in sources if source in self.cluster and self.level[source] == level]
        joined = self._common_axes(latest, sizes)
        if joined is None:
            if prod(sizes) < MIN_DOMAIN_SIZE:
                return False
            self._join(operation, form, level + bool(latest), sizes, full, [])
        else:
            self._join(operation, form, level, self._cluster_of(latest[0][0]).dimensions, joined, [source for source, _ in latest])
        return True

    def _common_axes(self, latest: list[tuple[Variable, Axes]], sizes: tuple[int, ...]) -> Axes | None:
        """Returns the axes of a result in the domain that the latest operands share.

        Returns None if the operands do not share a domain, if there are no operands, or if the
        sizes do not match.
        """
        domains = {self._cluster_of(source).dimensions for source, _ in latest}
        if len(domains) != 1:
            return None
        (domain,) = domains
        spans = [(self._cluster_of(source).axes[source], axes) for source, axes in latest]
        whole = tuple(range(len(sizes)))
        candidates = [span for span, axes in spans if axes == whole]
        found = candidates[0] if candidates else tuple(range(len(domain)))
        if tuple([domain[k] for k in found]) != sizes:
            return None
        return found if all(span == tuple([found[k] for k in axes]) for span, axes in spans) else None

    def _add_reduction(self, operation: Operation, form: Reduction) -> bool:
        (operand,) = operation.operands[0]
        source, axes = operand.view_source
        sizes = long_sizes(operand.shape)
        whole = tuple(range(len(sizes)))
        if axes != whole:
            return False
        cluster = self._cluster_of(source) if source in self.cluster else None
        domain = sizes if cluster is None else cluster.dimensions
        spanned = whole if cluster is None else cluster.axes[source]
        numbers = {k: number for number, k in enumerate(long_dimensions(operand.shape))}
        reduced = [spanned[numbers[k]] for k in form.axes if k in numbers]
        inner = min(reduced)
        if inner == 0 or prod(domain) < MIN_DOMAIN_SIZE or prod(domain[inner:]) > _MAX_ROW_LENGTH:
            return False
        kept = tuple([k for k in spanned if k not in reduced])
        self._join(operation, form, self.level.get(source, 0), domain, kept, [source] if cluster is not None else [], inner)
        return True

    def _cluster_of(self, variable: Variable) -> Cluster:
        return self.clusters[self._root(self.cluster[variable])]

    def _join(
        self, operation: Operation, form: Form | Reduction, level: int, domain: Axes, axes: Axes, members: list[Variable], inner: int | None = None
    ) -> None:
        """Adds an operation to the clusters of its operands `members`, merging the clusters."""
        roots = list(dict.fromkeys(self._root(self.cluster[member]) for member in members))
        if not roots:
            roots = [len(self.clusters)]
            self.clusters.append(Cluster(domain))
            self.merged.append(roots[0])
        cluster = self.clusters[roots[0]]
        for other in roots[1:]:
            self.merged[other] = roots[0]
            cluster.axes.update(self.clusters[other].axes)
            cluster.forms.update(self.clusters[other].forms)
            cluster.inner = min(cluster.inner, self.clusters[other].inner)
        (result,) = operation.results
        cluster.axes[result] = axes
        cluster.forms[operation] = form
        if inner is not None:
            cluster.inner = min(cluster.inner, inner)
        self.cluster_number[operation] = self.cluster[result] = roots[0]
        self.level[result] = level


def _is_worthwhile(cluster: Cluster) -> bool:
    return len(cluster.operations) > 1 or any(isinstance(form, Form) and form.rounds for form in cluster.forms.values())


def long_sizes(shape: Shape) -> tuple[int, ...]:
    """Returns the dimension sizes other than 1."""
    return tuple([size for size in shape.dimensions if size != 1])


# ---- order -------------------------------------------------------------------------------------


def _order(items: list[Operation | Cluster]) -> list[Operation | Cluster]:
    """Returns the items with operands before their users, and otherwise in their original order.

    Operations with effects keep their order.
    """
    makers = {result: k for k, item in enumerate(items) for result in item.results}
    needs: list[set[int]] = []
    users: list[list[int]] = [[] for _ in items]
    last_effect = None
    for k, item in enumerate(items):
        before = {makers[variable] for variable in item.reads if variable in makers} - {k}
        if isinstance(item, Operation) and not item.is_pure:
            if last_effect is not None:
                before.add(last_effect)
            last_effect = k
        needs.append(before)
        for other in before:
            users[other].append(k)
    ready = [k for k, before in enumerate(needs) if not before]
    order: list[Operation | Cluster] = []
    while ready:
        k = heappop(ready)
        order.append(items[k])
        for user in users[k]:
            needs[user].discard(k)
            if not needs[user]:
                heappush(ready, user)
    assert len(order) == len(items), "operations of clusters depend on each other in a cycle"
    return order
