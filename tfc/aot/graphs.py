"""TensorFlow graphs with a configuration, as what a class is made of.

tfc.aot.compile(tfc.aot.read_graph("matmul.pb", "matmul.config.pbtxt"), cpp_class="MatMul")
"""

from pathlib import Path
from typing import TYPE_CHECKING

from tfc.aot.interface import Interface
from tfc.errors import TfcError
from tfc.runtime.later import later
from tfc.tracebacks import api_boundary

if TYPE_CHECKING:
    from tfc.aot.configured import config as configs
    from tfc.aot.configured import program
    from tfc.graph.files import messages
else:
    configs = later("tfc.aot.configured.config")
    program = later("tfc.aot.configured.program")
    messages = later("tfc.graph.files.messages")

SUFFIXES = (".pb", ".pbtxt")


@api_boundary
def read_graph(graph: str, config: str) -> Interface:
    """The fetches of a configuration as a function of its feeds and variables.

    Args:
        graph: a file of a GraphDef: text if its name ends with .pbtxt, else binary.
        config: a file of a tf2xla.Config, likewise.

    Raises:
        TfcError: a file cannot be read or parsed, or they do not go together.
        UnsupportedError: the graph has an operation that cannot be compiled.
    """
    stated = configs.read_configuration(config)
    found = messages.read("GraphDef", graph)
    if not found.node:
        raise TfcError(f"{graph} is no GraphDef, or one without nodes")
    return program.configured_module(found, stated, graph)


def fetch_nodes(config: str) -> str:
    """The nodes that a configuration fetches, as `--dump_fetch_nodes` prints them."""
    return ",".join(fetch.id.node for fetch in configs.read_configuration(config).fetches)


def is_graph(path: str) -> bool:
    """Whether a file is a GraphDef by its name."""
    return Path(path).suffix in SUFFIXES
