"""A module as a page of its own: the graph, and its text below."""

from html import escape

from tfc.hlo.ir import Module
from tfc.tools.pictures.graph import Graph, module_graph
from tfc.tools.pictures.graph_svg import GRAPH_STYLE, MOST_NODES, graph_svg
from tfc.tools.pictures.svg import FONT, STYLE

_MOST_TEXT = 400_000  # characters
_STYLE = (
    f"body{{margin:0;padding:20px;background:var(--paper);color:var(--ink);font-family:{FONT}}}"
    "h1{font-size:20px;margin:0 0 4px}p{color:var(--soft);margin:0 0 16px}"
    ".frame{overflow:auto;border:1px solid var(--line);border-radius:8px;padding:8px}"
    "pre{overflow:auto;background:var(--panel);padding:12px;border-radius:8px;font-size:12px}"
)


def html_document(title: str, style: str, body: str, script: str = "") -> str:
    """A page that needs nothing beside itself."""
    code = f"<script>{script}</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head>\n"
        f"<body>{body}{code}</body></html>\n"
    )


def module_page(module: Module, title: str) -> str:
    """The page of a module; its text is that of `str`, cut off where it is very long."""
    graph = module_graph(module)
    shown = str(module)
    if len(shown) > _MOST_TEXT:
        shown = f"{shown[:_MOST_TEXT]}\n… {len(shown) - _MOST_TEXT} more characters"
    body = (
        f"<h1>{escape(title)}</h1><p>{graph.size} instructions</p>"
        f'<div class="frame">{graph_or_list(graph, title)}</div><pre>{escape(shown)}</pre>'
    )
    return html_document(title, GRAPH_STYLE + _STYLE, body)


def graph_or_list(graph: Graph, title: str) -> str:
    """The picture of a graph, or a list of its instructions if they are too many to draw."""
    picture = graph_svg(graph, title, standalone=False)
    if picture is not None:
        return picture
    most = 10 * MOST_NODES
    lines = "".join(
        f"<li><code>{escape(node.hint[:200])}</code></li>" for node in graph.nodes[:most]
    )
    left_out = f" The first {most} of the entry:" if len(graph.nodes) > most else " The entry:"
    return (
        f'<p class="note">{graph.size} instructions are too many to draw; up to {MOST_NODES} are '
        f'drawn.{left_out}</p><ol class="list">{lines}</ol>'
    )
