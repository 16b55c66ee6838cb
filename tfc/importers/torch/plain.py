"""Which exported graphs can be read as they are, without torch's rewriting.

That rewriting takes most of the time that an import takes, and is needed where a graph writes to
arrays that something else sees, trains, has graphs within it, or operators without a row.
"""

import operator
from importlib import import_module
from typing import Any

from tfc.importers.torch.operators import ATEN
from tfc.importers.torch.reader import functional, name_of
from tfc.importers.torch.table import COMPOSITE

torch: Any = import_module("torch")

# Where operators are told that a module is trained, or which share to drop.
_TRAINS = {
    "batch_norm.default": (5, "training"), "dropout.default": (2, "train"),
    "scaled_dot_product_attention.default": (4, "dropout_p"), "rrelu.default": (3, "training"),
    "instance_norm.default": (5, "use_input_stats"), "lstm.input": (6, "train"),
    "gru.input": (6, "train"), "rnn_tanh.input": (6, "train"), "rnn_relu.input": (6, "train"),
    "feature_dropout.default": (2, "train"), "alpha_dropout.default": (2, "train"),
    "feature_alpha_dropout.default": (2, "train"),
    "_native_batch_norm_legit_functional.default": (5, "training"),
}  # fmt: skip
# Operators whose result is in memory of its own, whatever their arguments.
_FRESH = (
    "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "addmm.default", "matmul.default",
    "linear.default", "conv1d.default", "conv2d.default", "conv3d.default",
    "conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input",
    "batch_norm.default", "group_norm.default", "layer_norm.default", "cat.default",
    "relu.default", "max_pool2d.default",
)  # fmt: skip


def is_plain(module: Any) -> bool:
    """Whether a graph of torch.fx can be read as it is."""
    places = {node: place for place, node in enumerate(module.graph.nodes)}
    return all(_is_plain(node, places) for node in module.graph.nodes)


def _is_plain(node: Any, places: dict[Any, int]) -> bool:
    if node.op == "get_attr":
        found = operator.attrgetter(node.target)(node.graph.owning_module)
        return not isinstance(found, torch.fx.GraphModule)
    if node.op != "call_function" or not hasattr(node.target, "_schema"):
        return True
    if node.target._schema.is_mutable:
        return _writes_unseen(node, places)
    name = name_of(node.target)
    if name.startswith("_assert") or not node.users:
        return True
    place, key = _TRAINS.get(name, (len(node.args), ""))
    trains = any(node.args[place : place + 1]) or node.kwargs.get(key)
    return (name in ATEN or name in COMPOSITE) and not trains


def _writes_unseen(node: Any, places: dict[Any, int]) -> bool:
    """Whether a node writes to what nothing else sees: then its result is all that matters.

    What it writes to is a result of its own memory, used by nothing after it, and before it only
    by what takes no view of it.
    """
    name = name_of(node.target)
    target = node.args[0]
    if not name.partition(".")[0].endswith("_") or functional(name) not in ATEN:
        return False
    if node.kwargs or not isinstance(target, torch.fx.Node) or target.op != "call_function":
        return False
    return _is_fresh(target) and all(
        user is node or (_is_fresh(user) and places[user] < places[node]) for user in target.users
    )


def _is_fresh(node: Any) -> bool:
    """Whether what a node gives is in memory that no other value shares, or none that is used."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    return name_of(node.target) in _FRESH or schema.is_mutable
