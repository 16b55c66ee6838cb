"""Pictures of programs: layouts without overlaps, dumps as text, Graphviz and pages, all valid."""

import re
import shutil
import subprocess
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from markup import Markup, external_references

from tfc.cli import tfc as command
from tfc.errors import TfcError
from tfc.hlo.text.parser import parse
from tfc.options import Options
from tfc.passes import default_pipeline
from tfc.passes.pipeline import dump
from tfc.tools.pictures.dot import graph_dot
from tfc.tools.pictures.graph import module_graph
from tfc.tools.pictures.graph_svg import MOST_NODES, graph_svg
from tfc.tools.pictures.layered import layered
from tfc.tools.pictures.page import module_page

SOFTMAX = str(Path(__file__).parents[2] / "examples" / "softmax.hlo")
FUSED = """HloModule fused

add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
part {
  p = f32[4,8] parameter(0)
  c = f32[] constant(0.5)
  e = f32[4,8] exponential(p)
  ROOT r = f32[4] reduce(e, c), dimensions={1}, to_apply=add
}
ENTRY main {
  x = f32[4,8] parameter(0)
  s = f32[4] fusion(x), kind=kInput, calls=part
  k = f32[4] constant({1, 2, 3, 4})
  ROOT y = f32[4] add(s, k), metadata={op_name="a\\"b<c>&"}
}"""


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
    count = draw(st.integers(1, 25))
    sizes = [(draw(st.floats(5, 90)), draw(st.floats(5, 60))) for _ in range(count)]
    pairs = list(combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=40)) if pairs else []
    return sizes, edges


@given(graphs())
def test_boxes_are_apart_and_edges_go_down_from_box_to_box(graph) -> None:
    sizes, edges = graph
    layout = layered(sizes, edges)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(layout.corners, sizes)]
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for x, y, right, bottom in boxes:
        assert -1e-6 <= x <= right <= layout.width + 1e-6
        assert -1e-6 <= y <= bottom <= layout.height + 1e-6
    for (source, target), path in zip(edges, layout.paths):
        assert path[0][1] == pytest.approx(boxes[source][3])
        assert path[-1][1] == pytest.approx(boxes[target][1])
        assert boxes[source][0] <= path[0][0] <= boxes[source][2]
        assert boxes[target][0] <= path[-1][0] <= boxes[target][2]
        heights = [y for _, y in path]
        assert heights == sorted(heights)


def test_layouts_are_straight_where_that_is_possible():
    chain = layered([(20, 10)] * 4, [(0, 1), (1, 2), (2, 3)])
    assert len({x for x, _ in chain.corners}) == 1
    fork = layered([(20, 10)] * 3, [(0, 1), (0, 2)])
    (top, _), (left, _), (right, _) = fork.corners
    assert top == pytest.approx((left + right) / 2)
    assert layered([], []).corners == ()


def test_the_graph_shows_what_fusions_contain_and_scalars_with_their_users():
    graph = module_graph(parse(FUSED))
    assert [n.name for n in graph.nodes] == ["x", "s", "k", "y"]
    (inner,) = graph.nodes[1].parts
    assert [n.lines[0] for n in inner.nodes] == ["p", "exponential", "reduce add {1} 0.5"]
    assert inner.edges == ((0, 1), (1, 2))
    assert (graph.size, graph.depth, graph.root, inner.parameters) == (7, 2, 3, (0,))
    assert [n.category for n in graph.nodes] == [
        "parameter", "reduction", "constant", "elementwise",
    ]  # fmt: skip


def test_the_picture_names_every_instruction():
    graph = module_graph(parse(FUSED))
    picture = ElementTree.fromstring(graph_svg(graph, "t<1>") or "")
    groups = [g for g in picture.iter("{http://www.w3.org/2000/svg}g") if "data-name" in g.attrib]
    assert [g.attrib["data-name"] for g in groups] == ["x", "s", "p", "e", "r", "k", "y"]
    clusters = [g.attrib["data-name"] for g in groups if "cluster" in g.attrib["class"].split()]
    assert clusters == ["s"]


def long_module(count: int):
    lines = [f"x{n} = f32[4] negate(x{n - 1})" for n in range(1, count)]
    return parse("ENTRY e { x0 = f32[4] parameter(0)\n" + "\n".join(lines) + "\n}")


def test_what_is_too_large_to_draw_is_a_list():
    assert graph_svg(module_graph(long_module(MOST_NODES)), "t") is not None
    large = long_module(MOST_NODES + 1)
    assert graph_svg(module_graph(large), "t") is None
    page = module_page(large, "large")
    Markup(page)
    assert f"{MOST_NODES + 1} instructions are too many to draw" in page
    assert "negate(%x399)" in page
    assert len(module_page(long_module(20_000), "larger")) < 2_000_000


def test_nesting_of_any_depth_can_be_drawn():
    texts = ["c0 { x = f32[] parameter(0) ROOT y = f32[] negate(x) }"]
    texts += [
        f"c{n} {{ x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=c{n - 1} }}"
        for n in range(1, 500)
    ]
    module = parse("\n".join([*texts[:-1], f"ENTRY {texts[-1]}"]))
    assert module_graph(module).depth <= 9
    Markup(module_page(module, "deep"))


def braces_match(dot: str) -> bool:
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", dot)
    return '"' not in bare and bare.count("{") == bare.count("}")


def test_graphviz_text_is_escaped_and_clustered():
    dot = graph_dot(module_graph(parse(FUSED)), 'a "title" \\ {')
    assert braces_match(dot)
    assert dot.count("subgraph cluster_") == 2
    assert "reduce add {1} 0.5" in dot
    assert dot.count("->") == 3 + 2 + 1
    if shutil.which("dot"):
        drawn = subprocess.run(
            ["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True
        )
        ElementTree.fromstring(drawn.stdout)


def test_pages_are_whole_and_fetch_nothing():
    page = module_page(parse(FUSED), "a<b>")
    markup = Markup(page)
    assert external_references(page) == []
    assert "a<b>" in "".join(markup.texts)
    assert "prefers-color-scheme:dark" in page
    assert len(markup.all("svg")) == 1


def test_dumps_have_the_forms_that_are_asked_for(tmp_path: Path):
    options = Options(dump_dir=str(tmp_path), dump_as=("text", "dot", "html"))
    default_pipeline().run(parse(Path(SOFTMAX).read_text()), options)
    stems = {p.stem for p in tmp_path.iterdir()}
    assert "00.input" in stems
    for stem in stems:
        assert {p.suffix for p in tmp_path.glob(f"{stem}.*")} == {".hlo", ".dot", ".html"}
        assert braces_match((tmp_path / f"{stem}.dot").read_text())
        Markup((tmp_path / f"{stem}.html").read_text())
    with pytest.raises(TfcError, match="no form 'pdf' of a dump; there are text, dot, html"):
        dump(parse(FUSED), tmp_path / "x.hlo", ("pdf",))


def test_each_text_dump_can_be_run_and_optimised_again(tmp_path: Path):
    def run(*arguments: str) -> str:
        made = CliRunner().invoke(command, arguments)
        assert made.exit_code == 0, made.output
        return made.stdout.partition("compiled in")[0]

    arguments = ["--passes", "simplify,cse,fusion", "--dump-dir", str(tmp_path)]
    result = run("opt", SOFTMAX, *arguments, "--dump-as", "text,html")
    expected = run("run", SOFTMAX, "--seed", "3")
    dumps = sorted(tmp_path.glob("*.hlo"))
    assert len(dumps) >= 2
    for path in dumps:
        assert run("run", str(path), "--seed", "3") == expected
    assert run("opt", str(dumps[0]), "--passes", "simplify,cse,fusion") == result
    assert "// before 03.fusion" in CliRunner().invoke(
        command, ["opt", SOFTMAX, "--passes", "simplify,cse,fusion", "--print-before-all"]
    ).stderr  # fmt: skip
