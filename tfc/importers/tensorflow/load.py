"""from_graphdef and from_savedmodel: a TensorFlow graph as a function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, ShapeError
from tfc.importers.model import Model, Shapes
from tfc.importers.tensorflow.model import TensorFlowModel
from tfc.importers.tensorflow.reader import Content, Feed, Fetch, Reader, VariableArgument
from tfc.importers.tensorflow.savedmodel import SavedModel, is_saved_model
from tfc.importers.tensorflow.sources import graph_def
from tfc.options import Options
from tfc.runtime.collection import paused_collection
from tfc.tracebacks import api_boundary


@api_boundary
@paused_collection()
def from_graphdef(
    source: Any,
    outputs: Sequence[str] | str | None = None,
    inputs: Sequence[str] | str | None = None,
    shapes: Shapes | None = None,
    fixed: Mapping[str, Any] | None = None,
    backend: str = "cpu",
    options: Options | None = None,
) -> Model:
    """The function that a TensorFlow graph is.

    Args:
        source: the path of a file, .pb or .pbtxt, its bytes, or a GraphDef message.
        outputs: names of what it gives, "node" or "node:1"; what no node takes when left out.
        inputs: names of what it takes, in order, which may be any values of the graph; the
            placeholders that the outputs need when left out.
        shapes: sizes of inputs whose sizes are open in the file, {"image": (1, 224, 224, 3)}.
        fixed: values that are decided now, {"training": False}, and are no inputs any more; also of
            placeholders that have a default.
        backend, options: where and how calls are compiled, as for `tfc.jit`.

    Raises:
        ModelFileError: the file is damaged or inconsistent, or has no node of a name.
        ShapeError: `shapes` or `fixed` contradict the file.
        UnsupportedError: a value has a type that there are no arrays of.
        TfcError: the file cannot be read.
    """
    reader = Reader(*graph_def(source))
    fetched = _names(outputs) if outputs is not None else reader.sinks()
    if not fetched:
        raise ModelFileError(f"{reader.file}: no outputs are named")
    reader.limit(fetched)
    fixed = {_named(name): value for name, value in (fixed or {}).items()}
    shapes = {_named(name): value for name, value in (shapes or {}).items()}
    if inputs is not None:
        feeds = [reader.feed(_named(name)) for name in _names(inputs)]
    else:
        feeds = reader.placeholders(fetched, list(fixed))
    known = {feed.tensor for feed in feeds}
    feeds += [reader.feed(name) for name in fixed if name not in known]
    return model_of(
        reader, feeds, [Fetch(name, _named(name)) for name in fetched], shapes=shapes, fixed=fixed,
        backend=backend, options=options,
    )  # fmt: skip


@api_boundary
@paused_collection()
def from_savedmodel(
    directory: Any,
    signature: str | None = None,
    tags: Sequence[str] | str | None = None,
    shapes: Shapes | None = None,
    fixed: Mapping[str, Any] | None = None,
    backend: str = "cpu",
    options: Options | None = None,
    inputs: Sequence[str] | str | None = None,
    outputs: Sequence[str] | str | None = None,
) -> Model:
    """The function that a signature of a TensorFlow SavedModel is.

    Its inputs and outputs are the signature's, in the order of their names; its parameters are the
    variables, by their names.

    Args:
        directory: the path of the folder with saved_model.pb, or of that file.
        signature: its name; `serving_default`, or the only one, when left out.
        tags: of the graph, where there are several: `serve` when left out.
        shapes: sizes of inputs whose sizes are open in the file, {"image": (1, 224, 224, 3)}.
        fixed: values of inputs that are decided now, {"training": False}, and are none any more.
        backend, options: where and how calls are compiled, as for `tfc.jit`.
        inputs, outputs: what it takes and gives instead, in order: names of the signature's own, or
            of any value, one within functions as "call/node" or "call/node:1". So a model that
            begins with text is imported from where it has become numbers.

    Raises:
        ModelFileError: a file is damaged or inconsistent, or has no value of a name.
        ShapeError: `shapes` or `fixed` contradict the file.
        UnsupportedError: an input or output has a type that there are no arrays of; where it
            becomes numbers is said.
        TfcError: the files cannot be read, or have no such signature or tags.
    """
    saved = SavedModel(directory, tags)
    name, feeds, fetches = saved.signature(
        signature,
        None if inputs is None else [_named(x) for x in _names(inputs)],
        None if outputs is None else [_named(x) for x in _names(outputs)],
    )
    return model_of(
        saved.reader, feeds, fetches, variables=saved.variables, name=name, shapes=shapes,
        fixed=fixed, backend=backend, options=options,
    )  # fmt: skip


def holds_saved_model(source: Any) -> bool:
    """Whether a path is that of a SavedModel's folder or file, told by what is in it."""
    return not isinstance(source, bytes) and is_saved_model(source)


def model_of(
    reader: Reader,
    feeds: Sequence[Feed],
    fetches: Sequence[Fetch],
    arguments: Sequence[VariableArgument] = (),
    variables: Callable[[Content], Mapping[str, np.ndarray]] = lambda _: {},
    name: str = "",
    **options: Any,
) -> TensorFlowModel:
    """The part of a graph between feeds and fetches as a function.

    Args:
        reader: `Reader(file, graph_def)`, where `graph_def` is a message of tfc's own schema.
        feeds, fetches: in the order of the function's inputs and outputs.
        arguments: variables that are further inputs, and outputs if they may be written.
        variables: tells the values of others that are needed, by what their handles name.
        name: what the function is called.
        options: shapes, fixed, backend, options: as of `from_graphdef`.

    Raises:
        ModelFileError: the graph is inconsistent, or two feeds are one value.
        ShapeError: a placeholder is needed that is not fed, or an input is not as stated.
    """
    reader.limit([fetch.tensor for fetch in fetches])
    tensors = [feed.tensor for feed in feeds]
    if len(set(tensors)) < len(tensors):
        raise ModelFileError(f"{reader.file}: an input is named twice among {', '.join(tensors)}")
    missing = [f.tensor for f in reader.placeholders([f.tensor for f in fetches], tensors)
               if f.tensor not in tensors]  # fmt: skip
    if missing:
        raise ShapeError(
            f"{reader.file} needs a value for the placeholders {', '.join(missing)}, too: name "
            "them among the inputs"
        )
    content = reader.content(feeds, fetches)
    known = variables(content)
    return TensorFlowModel(content, feeds, fetches, arguments, known, name, **options)


def _names(given: Sequence[str] | str) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _named(name: str) -> str:
    """A name of a value without the :0 that a first result may have."""
    return name.removesuffix(":0")
