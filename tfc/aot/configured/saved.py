"""A signature of a SavedModel as a configured graph, by the rules of `saved_model_cli`.

inputs   x       ─► feeds     feed_x       arg_feed_x()
outputs  y       ─► fetches   fetch_y      result_fetch_y()
variables a/b    ─► constants, or those that are named  param_a_b   var_param_a_b()
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tfc.aot.configured.config import Configuration, Feed, Fetch, TensorName, Variable
from tfc.aot.configured.program import held_by, module_between, word
from tfc.aot.interface import Interface
from tfc.errors import ShapeError, TfcError
from tfc.graph.types.dtypes import as_dtype
from tfc.importers.tensorflow.reader import Content
from tfc.importers.tensorflow.reader import Feed as Input
from tfc.importers.tensorflow.savedmodel import SavedModel

Shapes = Mapping[str, Sequence[int]]


def saved_module(
    directory: str,
    tags: str | None = None,
    signature: str | None = None,
    variables_to_feed: str = "",
    shapes: Shapes | None = None,
    batch: int | None = None,
    checkpoint: str | None = None,
    is_initial: bool = False,
) -> Interface:
    """The module of a signature, with the names that its class has.

    Args:
        tags: with commas between them; `serve` when left out.
        variables_to_feed: the nodes of variables that are state of the class, with commas between
            them, or `all`; others are constants.
        shapes: sizes of inputs whose sizes are open in the file.
        batch: the size of first dimensions that are open besides.
        checkpoint: the path, without endings, of a checkpoint to read instead of the model's own.
        is_initial: whether variables that are state begin as what the checkpoint holds; with zeros
            if not.

    Raises:
        TfcError: there is no such model, signature or variable, or it cannot be compiled.
        ShapeError: an input's sizes are open.
    """
    saved = SavedModel(directory, tags.split(",") if tags else None)
    name, inputs, outputs = saved.signature(signature)
    if unknown := sorted(set(shapes or {}) - {feed.name for feed in inputs}):
        known = ", ".join(feed.name for feed in inputs)
        raise ShapeError(f"{directory} has no input '{unknown[0]}'; it takes {known}")
    config = Configuration(
        directory,
        tuple(_feed(feed, shapes or {}, batch) for feed in inputs),
        tuple(Fetch(_id(x.tensor), f"fetch_{word(x.name)}") for x in outputs),
    )
    variables = [
        Variable(node, f"param_{word(node)}", readonly=None)
        for node in _wanted(saved, variables_to_feed)
    ]
    config = replace(config, variables=tuple(variables))
    graph_def, file = saved.meta_graph.graph_def, saved.reader.file
    held = [held_by(graph_def, variable, config, file) for variable in variables]

    def values(content: Content, names: frozenset[str]) -> Mapping[str, np.ndarray]:
        return saved.variables(content, names, checkpoint)

    dtypes = [as_dtype(feed.dtype) for feed in inputs]
    return module_between(saved.reader, config, dtypes, held, word(name), values, is_initial)


def _id(tensor: str) -> TensorName:
    node, _, index = tensor.partition(":")
    return TensorName(node, int(index or 0))


def _feed(found: Input, shapes: Shapes, batch: int | None) -> Feed:
    """A feed with the sizes that the file and the user state.

    Raises:
        ShapeError: one is open, or they contradict each other.
    """
    dims, given = found.dims, shapes.get(found.name)
    fits = given is None or dims is None or (
        len(dims) == len(given) and all(d in (None, n) or n == -1 for d, n in zip(dims, given))
    )  # fmt: skip
    if not fits:
        raise ShapeError(
            f"the input '{found.name}' is {dims} in the file, not {tuple(given or ())}"
        )
    # A size of -1 stays open.
    chosen = dims if given is None else tuple(None if n == -1 else n for n in given)
    if chosen and chosen[0] is None and batch is not None:
        chosen = (batch, *chosen[1:])
    if chosen is None or None in chosen:
        raise ShapeError(
            f"the input '{found.name}' has open sizes: give them by --shape {found.name}=…"
        )
    sizes = tuple(n for n in chosen if n is not None)
    return Feed(_id(found.tensor), sizes, f"feed_{word(found.name)}")


def _wanted(saved: SavedModel, names: str) -> list[str]:
    """The nodes of the variables that are state.

    Raises:
        TfcError: a name is no variable's.
    """
    nodes = saved.meta_graph.graph_def.node
    known = [node.name for node in nodes if node.op in ("VarHandleOp", "VariableV2", "Variable")]
    if names == "all":
        return known
    wanted = [name for name in names.split(",") if name]
    for name in wanted:
        if name not in known:
            raise TfcError(
                f"{saved.reader.file} has no variable '{name}'; it has {', '.join(known) or 'none'}"
            )
    return wanted
