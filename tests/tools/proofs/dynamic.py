"""Random instructions on arrays of dynamic size. Importing this module registers them."""

from __future__ import annotations

from proofs.shapes import Program, Sizes, maker, shape

__all__: list[str] = []


def _bounded(element_type: str, sizes: Sizes, k: int) -> str:
    return f"{element_type}[{','.join(('<=' if j == k else '') + str(n) for j, n in enumerate(sizes))}]"


def _size(p: Program, most: int) -> str:
    return p.scalar("s32", p.random.randint(0, most)) if p.chance(0.6) else p.leaf("s32", ())


def _set(p: Program, element_type: str, sizes: Sizes, k: int) -> str:
    source = p.leaf(element_type, sizes)
    return p.add(f"set-dimension-size({source}, {_size(p, sizes[k])}), dimensions={{{k}}}", _bounded(element_type, sizes, k), ())


def _kept(p: Program, name: str, element_type: str, sizes: Sizes, k: int) -> str:
    """Returns the array, or a new array of the same sizes that is computed from it."""
    if element_type == "pred" or p.chance(0.5):
        return name
    return p.add(f"{p.random.choice(('negate', 'copy'))}({name})", _bounded(element_type, sizes, k), ())


def _drawn(p: Program) -> tuple[Sizes, int]:
    sizes = p.sizes(p.random.choice((1, 2, 3)))
    return sizes, p.random.randrange(len(sizes))


@maker("set-dimension-size")
def set_dimension_size(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    sizes, k = _drawn(p)
    first = _set(p, element_type, sizes, k)
    kept = _kept(p, first, element_type, sizes, k)
    size = p.add(f"get-dimension-size({first}), dimensions={{{k}}}", "s32", ()) if "get-dimension-size" in p.wanted else _size(p, sizes[k])
    return p.add(f"set-dimension-size({kept}, {size}), dimensions={{{k}}}", _bounded(element_type, sizes, k), ())


@maker("get-dimension-size")
def get_dimension_size(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    sizes, k = _drawn(p)
    name = p.leaf(element_type, sizes)
    if p.chance(0.8):
        name = _kept(p, _set(p, element_type, sizes, k), element_type, sizes, k)
        k = k if p.chance(0.7) else p.random.randrange(len(sizes))
    return p.add(f"get-dimension-size({name}), dimensions={{{k}}}", "s32", ())


def padded(p: Program, element_type: str, sizes: Sizes, k: int) -> tuple[str, str]:
    """Returns the results of PadToStatic, and the array that it pads."""
    name = _kept(p, _set(p, element_type, sizes, k), element_type, sizes, k)
    results = ", ".join([shape(element_type, sizes), *["s32[]"] * len(sizes)])
    return p.add(f'custom-call({name}), custom_call_target="PadToStatic"', f"({results})", ()), name


@maker("custom-call")
def slice_to_dynamic(p: Program, element_type: str, sizes: Sizes, depth: int) -> str:
    sizes, k = _drawn(p)
    results, _ = padded(p, element_type, sizes, k)
    parts = [p.add(f"get-tuple-element({results}), index=0", element_type, sizes, layout=False)]
    parts += [p.add(f"get-tuple-element({results}), index={j}", "s32", (), layout=False) for j in range(1, len(sizes) + 1)]
    return p.add(f'custom-call({", ".join(parts)}), custom_call_target="SliceToDynamic"', _bounded(element_type, sizes, k), ())
