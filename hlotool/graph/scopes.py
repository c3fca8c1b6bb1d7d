"""Grouping of instructions by the scopes in their metadata.

An instruction with `op_name="layer_3/attention/dot_general"` belongs to `attention` inside
`layer_3`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hlotool.graph.groups import Group, make_group
from hlotool.ir.model import Instruction
from hlotool.shapes.metadata import decode_metadata

__all__ = ["group_by_scope", "mask_numbers"]

Scope = tuple[str, ...]

_NUMBER = re.compile(r"[0-9]+")
_MIN_SCOPE_SIZE = 3
"""The minimum number of instructions in a scope that becomes a group."""
_MIN_LAYERS = 3
_MAX_SCOPE_LENGTH = 24
"""The maximum depth of scopes; instructions nested more deeply belong to the last level."""


def group_by_scope(instructions: Sequence[Instruction]) -> list[Instruction | Group]:
    """Returns the instructions, with those of each scope in a group.

    Groups whose names differ only in their numbers are layers, which are combined into one group.
    An instruction without a scope belongs to the common scope of its users, if there is one.
    """
    scopes = _scopes(instructions)
    folders: dict[Scope, dict[Instruction | Scope, None]] = {(): {}}
    sizes: dict[Scope, int] = {}
    for x in instructions:
        scope = scopes[x]
        for depth in range(len(scope) + 1):
            sizes[scope[:depth]] = sizes.get(scope[:depth], 0) + 1
    for x in instructions:
        scope = scopes[x]
        while scope and sizes[scope] < _MIN_SCOPE_SIZE:
            scope = scope[:-1]
        for depth in range(len(scope)):
            folders.setdefault(scope[:depth], {})[scope[: depth + 1]] = None
        folders.setdefault(scope, {})[x] = None
    contents: dict[Scope, Sequence[Instruction | Group]] = {}
    # Inner scopes come before the scopes that contain them.
    for scope in sorted(folders, key=len, reverse=True):
        items = [item if isinstance(item, Instruction) else _group(item[len(scope) :], contents.pop(item)) for item in folders[scope]]
        contents[scope] = _combine_layers(items)
    return _unwrap(list(contents[()]))


def _scopes(instructions: Sequence[Instruction]) -> dict[Instruction, Scope]:
    """Returns the scope of each instruction.

    The scope is the part of `op_name` before the last slash. If that part is empty, or if an
    instruction has no operands, its scope is the common prefix of its users' scopes.
    """
    decoded: dict[str, Scope] = {}
    scopes: dict[Instruction, Scope] = {}
    of_users: dict[Instruction, Scope] = {}
    for x in reversed(instructions):
        text = x.metadata_text
        scope: Scope = ()
        if text is not None and x.operands:
            if text not in decoded:
                decoded[text] = tuple(filter(None, decode_metadata(text).op_name.split("/")[:-1]))[:_MAX_SCOPE_LENGTH]
            scope = decoded[text]
        scopes[x] = scope = scope or of_users.get(x, ())
        for operand in x.operands:
            of_users[operand] = _common(of_users.get(operand, scope), scope)
    return scopes


def _common(a: Scope, b: Scope) -> Scope:
    count = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        count += 1
    return a[:count]


def _group(title: Scope, items: Sequence[Instruction | Group]) -> Group:
    """Returns the group of a scope; a scope that contains only another scope is merged with it."""
    name = "/".join(title)
    if len(items) == 1 and isinstance(items[0], Group) and items[0].kind == "scope":
        return make_group(f"{name}/{items[0].title}", "scope", items[0].items)
    return make_group(name, "scope", items)


def _unwrap(items: list[Instruction | Group]) -> list[Instruction | Group]:
    """Replaces an outer scope that contains most of the items with its contents."""
    while True:
        groups = [item for item in items if isinstance(item, Group)]
        if len(groups) != 1 or groups[0].kind != "scope" or len(items) > len(groups[0].items):
            return items
        (group,) = groups
        k = items.index(group)
        items = [*items[:k], *group.items, *items[k + 1 :]]


def mask_numbers(title: str) -> str:
    """Returns the title with each number replaced by a star.

    >>> mask_numbers("decoder_block_12/norm1")
    'decoder_block_*/norm*'
    """
    return _NUMBER.sub("*", title)


def _combine_layers(items: Sequence[Instruction | Group]) -> Sequence[Instruction | Group]:
    """Returns the items; groups whose names differ only in their numbers are combined into one."""
    similar: dict[str, list[Group]] = {}
    for item in items:
        if isinstance(item, Group) and item.kind == "scope":
            similar.setdefault(mask_numbers(item.title), []).append(item)
    layers: dict[Group, Group] = {}
    for title, groups in similar.items():
        if "*" in title and _MIN_LAYERS <= len(groups) < len(items):
            groups.sort(key=_numbers)
            layers.update(dict.fromkeys(groups, make_group(f"{title}, {len(groups)} layers", "layers", groups)))
    return list(dict.fromkeys(_layer_of(layers, item) for item in items)) if layers else items


def _layer_of(layers: Mapping[Group, Group], item: Instruction | Group) -> Instruction | Group:
    return layers.get(item, item) if isinstance(item, Group) else item


def _numbers(group: Group) -> list[int]:
    return [int(number[:18]) for number in _NUMBER.findall(group.title)]
