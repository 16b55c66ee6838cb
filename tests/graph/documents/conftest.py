"""How the programs of `examples/documents` are run: with an empty graph, in each mode."""

import pytest
from document_programs import MODES, PROGRAMS, config_of

import tfc.graph as tf


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    """Programs import one another as they do where they lie, and begin with an empty graph."""
    monkeypatch.syspath_prepend(str(PROGRAMS))
    with tf.Graph().as_default():
        yield


@pytest.fixture(params=MODES)
def config(request):
    """How sessions run: compiled and not, on each backend."""
    return config_of(request.param)
