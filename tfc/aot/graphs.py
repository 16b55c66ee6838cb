"""TensorFlow graphs with a configuration, as what a class is made of.

tfc.aot.compile(tfc.aot.read_graph("matmul.pb", "matmul.config.pbtxt"), cpp_class="MatMul")
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfc.aot.interface import Interface
from tfc.errors import TfcError
from tfc.runtime.later import later
from tfc.tracebacks import api_boundary

if TYPE_CHECKING:
    from tfc.aot.configured import config as configs
    from tfc.aot.configured import program, saved
    from tfc.graph.files import messages
else:
    configs = later("tfc.aot.configured.config")
    program = later("tfc.aot.configured.program")
    saved = later("tfc.aot.configured.saved")
    messages = later("tfc.graph.files.messages")

SUFFIXES = (".pb", ".pbtxt")


@api_boundary
def read_saved_model(
    directory: str,
    tags: str | None = None,
    signature: str | None = None,
    variables_to_feed: str = "",
    shapes: Mapping[str, Sequence[int]] | None = None,
    batch: int | None = None,
    checkpoint: str | None = None,
    initial_values: bool = False,
) -> Interface:
    """A signature of a SavedModel as a class has it, by the names of saved_model_cli.

    Args:
        tags: with commas between them; `serve` when left out.
        signature: `serving_default`, or the only one, when left out.
        variables_to_feed: the nodes of variables that are state of the class, with commas between
            them, or `all`; others are constants, and changes of them are lost.
        shapes: sizes of inputs whose sizes are open in the file.
        batch: the size of first dimensions that are open besides.
        checkpoint: the path, without endings, of a checkpoint to read instead of the model's own.
        initial_values: whether state begins as what the checkpoint holds, rather than with zeros.

    Raises:
        TfcError: there is no such model, signature or variable, or it cannot be compiled.
    """
    return saved.saved_module(
        directory, tags, signature, variables_to_feed, shapes, batch, checkpoint, initial_values
    )  # fmt: skip


@api_boundary
def read_graph(
    graph: str,
    config: str,
    batch: int | None = None,
    checkpoint: str | None = None,
    initial_values: bool = False,
) -> Interface:
    """The fetches of a configuration as a function of its feeds and variables.

    Args:
        graph: a file of a GraphDef: text if its name ends with .pbtxt, else binary.
        config: a file of a tf2xla.Config, likewise.
        batch: the size of first dimensions of feeds that are stated as -1.
        checkpoint: the path, without endings, of a checkpoint with the graph's variables: those
            that the configuration does not state become constants.
        initial_values: whether the others begin as what it holds, rather than with zeros.

    Raises:
        TfcError: a file cannot be read or parsed, or they do not go together.
        UnsupportedError: the graph has an operation that cannot be compiled.
    """
    stated = configs.read_configuration(config, batch)
    found = messages.read("GraphDef", graph)
    if not found.node:
        raise TfcError(f"{graph} is no GraphDef, or one without nodes")
    return program.configured_module(found, stated, graph, checkpoint, initial_values)


def fetch_nodes(config: str) -> str:
    """The nodes that a configuration fetches, as `--dump_fetch_nodes` prints them."""
    return ",".join(fetch.id.node for fetch in configs.read_configuration(config).fetches)


def is_saved_model(path: str) -> bool:
    """Whether a folder holds a SavedModel."""
    return any((Path(path) / f"saved_model{suffix}").is_file() for suffix in SUFFIXES)


def is_graph(path: str) -> bool:
    """Whether a file is a GraphDef by its name."""
    return Path(path).suffix in SUFFIXES
