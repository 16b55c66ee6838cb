"""How the programs of `examples/documents` are run: with an empty graph, in each mode."""

from pathlib import Path

import pytest

import tfc.graph as tf

FOLDER = Path(__file__).parents[3] / "examples" / "documents"
MODES = {"cpu": ("cpu", 1), "jit off": ("cpu", -1), "interpreter": ("interpreter", 1)}


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    """Programs import one another as they do where they lie, and begin with an empty graph."""
    monkeypatch.syspath_prepend(str(FOLDER))
    with tf.Graph().as_default():
        yield


@pytest.fixture(params=MODES)
def config(request):
    """How sessions run: compiled and not, on each backend."""
    made = tf.ConfigProto()
    made.backend, made.graph_options.optimizer_options.global_jit_level = MODES[request.param]
    return made
