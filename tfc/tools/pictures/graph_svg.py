"""A graph as SVG: layered boxes, those of a fusion inside the box of the fusion."""

from html import escape

from tfc.tools.pictures.graph import Graph, Node
from tfc.tools.pictures.layered import Placement, Point, layered
from tfc.tools.pictures.svg import document, element, text

MOST_NODES = 400  # beyond these a picture is no help
_LINE, _CHARACTER, _PAD = 15.0, 6.7, 8.0
_TITLE = 2 * _LINE + 8  # of a box with others inside
_ROUND = 5


def graph_svg(graph: Graph, title: str, standalone: bool = True) -> str | None:
    """The picture, or None if there are more than MOST_NODES."""
    if graph.size > MOST_NODES:
        return None
    width, height, body = _drawn(graph)
    description = f"{graph.size} instructions of {graph.name}"
    moved = element("g", *body, transform=f"translate({_PAD:g} {_PAD:g})")
    return document(
        [moved], width + 2 * _PAD, height + 2 * _PAD, title, description, standalone, "graph"
    )


def _drawn(graph: Graph) -> tuple[float, float, list[str]]:
    """(width, height, elements) of a graph whose corner is at the origin."""
    inner = {n: [_drawn(part) for part in node.parts] for n, node in enumerate(graph.nodes)}
    sizes = [_size(node, inner[n]) for n, node in enumerate(graph.nodes)]
    layout = layered(sizes, graph.edges)
    body = [_edge(path) for path in layout.paths]
    body += [
        _box(node, layout.corners[n], sizes[n], inner[n], n == graph.root)
        for n, node in enumerate(graph.nodes)
    ]
    return (*_extent(layout), body)


def _extent(layout: Placement) -> tuple[float, float]:
    return max(layout.width, 1.0), max(layout.height, 1.0)


_Part = tuple[float, float, list[str]]


def _size(node: Node, parts: list[_Part]) -> tuple[float, float]:
    width = max(len(line) for line in node.lines) * _CHARACTER + 2 * _PAD
    if not parts:
        return width, len(node.lines) * _LINE + _PAD
    inside = sum(w + _PAD for w, _, _ in parts) + _PAD
    return max(width, inside), _TITLE + max(h for _, h, _ in parts) + 2 * _PAD


def _box(
    node: Node, corner: Point, size: tuple[float, float], parts: list[_Part], is_root: bool
) -> str:
    (x, y), (width, height) = corner, size
    made = [
        element("title", escape(node.hint)),
        element("rect", x=x, y=y, width=width, height=height, rx=_ROUND,
                fill=f"var(--{node.category})", fill_opacity=0.3 if parts else None),
    ]  # fmt: skip
    if parts:
        made += [
            text(x + _PAD, y + _LINE + 1, node.lines[0], class_="head"),
            text(x + _PAD, y + 2 * _LINE, node.lines[1], class_="soft"),
        ]
        at = x + _PAD
        for part_width, _, body in parts:
            place = f"translate({at:.1f} {y + _TITLE + _PAD:.1f})"
            made.append(element("g", *body, transform=place))
            at += part_width + _PAD
    else:
        for n, line in enumerate(node.lines):
            made.append(
                text(x + width / 2, y + _LINE * (n + 1) - 1, line, text_anchor="middle",
                     class_="soft" if n else None)
            )  # fmt: skip
    kinds = " ".join(["node", *(["cluster"] if parts else []), *(["root"] if is_root else [])])
    return element("g", *made, class_=kinds, data_name=node.name)


def _edge(path: tuple[Point, ...]) -> str:
    """A curve that leaves and arrives upright."""
    (x, y), rest = path[0], path[1:]
    steps = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        if abs(to_x - x) < 0.5:
            steps.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            middle = (y + to_y) / 2
            steps.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return element("path", d="".join(steps), class_="edge")


GRAPH_STYLE = (
    ".graph .edge{fill:none;stroke:var(--edge);stroke-width:1.2}"
    ".graph rect{stroke:var(--edge);stroke-width:.8}"
    ".graph .cluster>rect{stroke-width:1.4;stroke:var(--soft)}"
    ".graph .root>rect{stroke:var(--accent);stroke-width:2}"
    ".graph .head{font-weight:600}"
)
