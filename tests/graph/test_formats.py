"""Graph formats other than text, limits of pictures, and messages about missing libraries."""

from __future__ import annotations

import re
import struct
import sys
from itertools import combinations, pairwise
from random import Random
from xml.etree import ElementTree

import pytest
from graph_readers import GraphPage, page_data, read_dot

import hlotool
from hlotool.graph.colors import FAMILIES, HEAT
from hlotool.graph.drawing import draw
from hlotool.graph.graph_options import COLORINGS, GraphError, GraphOptions
from hlotool.graph.layout import arrange
from hlotool.graph.placing import place
from hlotool.graph.to_graph import picture_of

TEXT = """HloModule m

fused {
  a = f32[64] parameter(0)
  ROOT s = f32[64] sine(a)
}
ENTRY e {
  p = f32[64] parameter(0)
  f = f32[64] fusion(p), kind=kLoop, calls=fused, metadata={op_name="layer/sin" source_file="a.py" source_line=3}
  small = f32[1] slice(f), slice={[0:1]}, metadata={source_file="b.py" source_line=4}
  wide = f32[64] broadcast(small), dimensions={0}
  ROOT r = f32[64] add(f, wide)
}
"""
CHAIN = "ENTRY e {{\n  x0 = f32[] parameter(0)\n{}}}\n"


def chain(length: int) -> str:
    lines = [f"  {'ROOT ' if k == length else ''}x{k} = f32[] {('sine', 'cosine')[k * k % 7 % 2]}(x{k - 1})\n" for k in range(1, length + 1)]
    return CHAIN.format("".join(lines))


def doubling(levels: int) -> str:
    """Returns computations that each call the previous one twice."""
    bodies = "".join(
        f"g{k} {{\n  p = f32[] parameter(0)\n  a = f32[] call(p), to_apply=g{k - 1}\n  ROOT b = f32[] call(a), to_apply=g{k - 1}\n}}\n"
        for k in range(1, levels)
    )
    first = "g0 {\n  p = f32[] parameter(0)\n  ROOT n = f32[] negate(p)\n}\n"
    return f"{first}{bodies}ENTRY e {{\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=g{levels - 1}\n}}\n"


def nested(depth: int) -> str:
    bodies = "".join(
        f"g{k} {{\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=g{k - 1}\n}}\n" if k else "g0 {\n  ROOT p = f32[] parameter(0)\n}\n"
        for k in range(depth)
    )
    return f"{bodies}ENTRY e {{\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=g{depth - 1}\n}}\n"


@pytest.fixture
def module():
    return hlotool.parse(TEXT)


def test_png_shows_the_svg_at_twice_its_size(module):
    picture = hlotool.to_graph(module, "png")
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    root = ElementTree.fromstring(hlotool.to_graph(module, "svg"))
    assert struct.unpack(">II", picture[16:24]) == (2 * int(root.attrib["width"]), 2 * int(root.attrib["height"]))


def colors_of(module, color_by: str) -> dict[str, str]:
    """Returns the color of each closed box, keyed by the first line of the box's text."""
    root = ElementTree.fromstring(hlotool.to_graph(module, "svg", GraphOptions(color_by=color_by)))
    space = "{http://www.w3.org/2000/svg}"
    boxes = [group for group in root.iter(f"{space}g") if group.find(f"{space}title") is not None]
    return {str(box.findtext(f"{space}text")): box.find(f"{space}rect").attrib["fill"] for box in boxes}


def test_colors_by_opcode(module):
    colors = colors_of(module, "opcode")
    assert colors["p"] == FAMILIES["input or constant"]
    assert colors["s"] == colors["r"] == FAMILIES["elementwise"]
    assert colors["small"] == colors["wide"] == FAMILIES["data movement"]


def test_colors_by_bytes(module):
    colors = colors_of(module, "bytes")
    # `r` reads two arrays and writes one array, more data than any other instruction.
    assert colors["r"] == HEAT[-1]
    assert colors["p"] == colors["small"] == HEAT[0]


def test_colors_by_flops(module):
    assert colors_of(module, "flops")["r"] == HEAT[-1]


def test_colors_by_source():
    text = TEXT.replace("ROOT s = f32[64] sine(a)", 'ROOT s = f32[64] sine(a), metadata={source_file="a.py"}')
    colors = colors_of(hlotool.parse(text), "source")
    assert colors["s"] != colors["small"] != colors["r"] == colors["p"]


@pytest.mark.parametrize("color_by", COLORINGS)
def test_the_legend_explains_the_colors(module, color_by):
    root = ElementTree.fromstring(hlotool.to_graph(module, "svg", GraphOptions(color_by=color_by)))
    words = [element.text for element in root.findall("{http://www.w3.org/2000/svg}text")]
    expected = {"opcode": "elementwise", "bytes": "up to 768 B", "flops": "up to 64 flops", "source": "b.py"}
    assert expected[color_by] in words


# ---- layouts --------------------------------------------------------------------------------------------------------


def random_edges(random: Random, count: int) -> list[tuple[int, int]]:
    """Returns random edges: most are short, as in modules; some connect an item to itself."""
    edges = [(max(0, k - 1 - int(random.expovariate(0.3))), k) for k in range(1, count) for _ in range(random.choice([0, 1, 1, 2, 3]))]
    return [*edges, *((random.randrange(count), random.randrange(count)) for _ in range(count // 8)), *((0, k) for k in range(1, count, 9))]


@pytest.mark.parametrize("seed", range(60))
def test_items_in_a_row_do_not_overlap(seed):
    random = Random(seed)
    count = random.choice([2, 5, 20, 60, 150])
    edges = random_edges(random, count)
    rows, columns, bends = arrange(count, edges)
    for (row, x), (other_row, y) in pairwise(sorted(zip(rows, columns, strict=True))):
        assert row != other_row or y - x > 0.999
    for a, b in edges:
        assert a == b or rows[min(a, b)] < rows[max(a, b)]
    for (a, b), points in bends.items():
        assert len(points) == rows[b] - rows[a] - 1


@pytest.mark.parametrize("seed", range(20))
def test_boxes_of_any_size_do_not_overlap(seed):
    random = Random(seed)
    count = random.choice([2, 5, 20, 60])
    arrangement = arrange(count, random_edges(random, count))
    sizes = [(random.choice([10.0, 80.0, 900.0]), random.choice([10.0, 400.0])) for _ in range(count)]
    centers, width, height, _ = place(arrangement, sizes)
    boxes = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(centers, sizes, strict=True)]
    assert all(left > -0.01 and top > -0.01 and right < width + 0.01 and bottom < height + 0.01 for left, top, right, bottom in boxes)
    for a, b in combinations(boxes, 2):
        assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]


# ---- limits ---------------------------------------------------------------------------------------------------------


def test_groups_are_expanded_while_there_is_space():
    module = hlotool.parse(chain(1000))
    assert picture_of(module, GraphOptions()).closed_boxes <= 100
    assert picture_of(module, GraphOptions(expand="all")).closed_boxes == 1001


@pytest.mark.parametrize("format_name", ["svg", "png"])
def test_too_large_for_a_picture(format_name):
    with pytest.raises(GraphError, match=r"a picture of 6,001 boxes is too large for svg and png, .*; use the html format, or show less"):
        hlotool.to_graph(hlotool.parse(chain(6000)), format_name, GraphOptions(expand="all"))


def test_too_many_pixels_for_png():
    with pytest.raises(GraphError, match=r"pixels is too large for png; use the format svg or html, or show less"):
        hlotool.to_graph(hlotool.parse(wide(4000)), "png", GraphOptions(expand="all"))


def wide(count: int) -> str:
    """Returns a module of irregular instructions whose long names make the picture large."""
    lines = [f"  {'x' * 60}{k} = f32[] {('sine', 'cosine', 'tanh')[k * k % 11 % 3]}({'x' * 60}{max(k - 5, 0)})\n" for k in range(1, count)]
    names = ", ".join(f"{'x' * 60}{k}" for k in range(count))
    shapes = ", ".join(["f32[]"] * count)
    return f"ENTRY e {{\n  {'x' * 60}0 = f32[] parameter(0)\n{''.join(lines)}  ROOT t = ({shapes}) tuple({names})\n}}\n"


def test_computations_that_each_call_the_previous_one_twice():
    module = hlotool.parse(doubling(40))
    assert hlotool.to_graph(module, "svg").count("<path") > 1
    assert len(page_data(hlotool.to_graph(module))["computations"]) == 41
    with pytest.raises(GraphError, match=r"more than 200,000 boxes; show less with --expand auto, "):
        hlotool.to_graph(module, "dot", GraphOptions(expand="all"))


def test_deep_calls():
    """Draws calls that are nested more deeply than Python can recurse."""
    module = hlotool.parse(nested(3000))
    boxes, groups, _ = read_dot(hlotool.to_graph(module, "dot", GraphOptions(expand="all")))
    assert (len(boxes), len(groups)) == (3001, 6000)
    assert draw(picture_of(module, GraphOptions(expand="all"))).height > 3000
    assert len(page_data(hlotool.to_graph(module))["computations"]) == 3001


def test_many_parameters():
    """Draws many parameters, which have no operands and are as regular as layers."""
    count = 600
    shapes, names = ", ".join(["f32[]"] * count), ", ".join(f"p{k}" for k in range(count))
    parameters = "".join(f"  p{k} = f32[] parameter({k})\n" for k in range(count))
    data = page_data(hlotool.to_graph(hlotool.parse(f"ENTRY e {{\n{parameters}  ROOT t = ({shapes}) tuple({names})\n}}\n")))
    assert len(data["instructions"]["name"]) == count + 1
    assert max(map(len, data["groups"]["items"])) <= 160


def test_around_many_users():
    text = "ENTRY e {\n  p = f32[] parameter(0)\n" + "".join(f"  x{k} = f32[] sine(p)\n" for k in range(500)) + "  ROOT r = f32[] abs(p)\n}\n"
    data = page_data(hlotool.to_graph(hlotool.parse(text), "html", GraphOptions(around="p", depth=1)))
    assert len(data["instructions"]["name"]) == 502
    assert max(map(len, data["groups"]["items"])) <= 160


@pytest.mark.parametrize("missing", ["igraph", "resvg_py"])
def test_missing_library(monkeypatch, module, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(GraphError, match=r"pip install 'hlotool\[graph\]'"):
        hlotool.to_graph(module, "png")
    assert hlotool.to_graph(module, "dot").startswith("digraph")
    assert hlotool.to_graph(module, "mermaid").startswith("flowchart")


def test_unknown_words():
    module = hlotool.parse(TEXT)
    with pytest.raises(GraphError, match=r"there is no format 'svgz'; did you mean 'svg'\?"):
        hlotool.to_graph(module, "svgz")
    with pytest.raises(GraphError, match="there is no expansion 'some'; choose one of auto, all, none"):
        hlotool.to_graph(module, "svg", GraphOptions(expand="some"))


# ---- the HTML page --------------------------------------------------------------------------------------------------


def test_page_loads_nothing(module):
    page = GraphPage(hlotool.to_graph(module))
    assert page.loaded == []
    assert page.scripts == 2


def test_page_has_text_costs_and_positions(module):
    data = page_data(hlotool.to_graph(module))
    table = data["instructions"]
    k = table["name"].index("f")
    assert table["text"][k] == "f = f32[64]{0} fusion(p), kind=kLoop, calls=fused"
    assert [table["name"][j] for j in table["operands"][k]] == ["p"]
    assert (table["bytes"][k], table["flops"][table["name"].index("r")]) == (512, 64)
    assert (data["sources"][table["source"][k]][0], table["sourceLine"][k]) == ("a.py", 3)
    assert data["scopes"][table["scope"][k]] == "layer/sin"
    assert (table["line"][k], table["column"][k]) == (9, 3)
    assert [data["groups"]["title"][body] for body in table["bodies"][str(k)]] == ["fused"]


def test_script_of_the_page_finds_its_elements_and_data(module):
    """Checks that the script refers only to elements and data that the page has."""
    text = hlotool.to_graph(module)
    page, script = GraphPage(text), text.rpartition("<script>")[2]
    assert set(re.findall(r'byId\("(\w+)"\)', script)) <= set(page.ids)
    data = page_data(text)
    direct = set(re.findall(r"(?<!\w)(?<!\w\.)data\.(\w+)", script)) | set(re.findall(r"structure\.data\.(\w+)", script))
    unpacked = {name.strip() for names in re.findall(r"const \{([^}]*)\} = (?:structure\.)?data;", script) for name in names.split(",")}
    assert direct | unpacked == data.keys()
    assert set(re.findall(r"\bgroups\.(\w+)", script)) == data["groups"].keys()
    assert set(re.findall(r"\bmetrics\.(\w+)", script)) | {"margin", "line"} == data["metrics"].keys()


@pytest.mark.parametrize(
    ("options", "shown", "named"),
    [
        (GraphOptions(around="f", depth=1), {"p", "f", "a", "s", "small", "r"}, {"f"}),
        (GraphOptions(path=("p", "wide")), {"p", "f", "a", "s", "small", "wide"}, {"p", "wide"}),
        (GraphOptions(computation="fused"), {"a", "s"}, set()),
    ],
)
def test_page_of_a_part(module, options, shown, named):
    data = page_data(hlotool.to_graph(module, "html", options))
    names = data["instructions"]["name"]
    assert set(names) == shown
    assert {names[k] for k in data["named"]} == named


def test_page_of_20000_instructions():
    """Checks that no group has too many items to read and that the page is not too large."""
    text = chain(20_000)
    page = hlotool.to_graph(hlotool.parse(text))
    assert max(map(len, page_data(page)["groups"]["items"])) <= 160
    assert len(page) < 12 * len(text)
