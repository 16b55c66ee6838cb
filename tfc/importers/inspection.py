"""What a model consists of, as text: inputs, outputs, operators with counts, parameters."""

from collections import Counter

from tfc.importers.graph import all_nodes
from tfc.importers.model import Model


def inspection(model: Model) -> str:
    """A description of a model, with what of it is not supported."""
    graphs = [model.graph, *(function.graph for function in model.functions.values())]
    nodes = list(all_nodes(graphs))
    counts: Counter[str] = Counter(node.label for node in nodes)
    unsupported = {
        node.label
        for node in nodes
        if (node.domain, node.op) not in model.functions and model.table.find(node) is None
    }
    numbers = sum(array.size for array in model.parameters.values())
    size = sum(array.nbytes for array in model.parameters.values())
    lines = [f"{model.file}: {model.graph.name}", "inputs:"]
    lines += [f"  {port}" for port in model.inputs]
    lines += ["outputs:", *(f"  {port}" for port in model.outputs)]
    lines.append(f"operators ({len(nodes)} nodes):")
    for label, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        mark = "  not supported" if label in unsupported else ""
        lines.append(f"  {count:6} {label}{mark}")
    lines.append(f"parameters: {len(model.parameters)} arrays, {numbers} numbers, {size} bytes")
    if unsupported:
        lines.append(f"not supported: {', '.join(sorted(unsupported))}")
    return "\n".join(lines)
