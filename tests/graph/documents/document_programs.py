"""Programs of `examples/documents`, run, and what tests ask of their numbers."""

import copy
import importlib
from pathlib import Path

import numpy as np

import tfc.graph as tf

MODES = {"cpu": ("cpu", 1), "jit off": ("cpu", -1), "interpreter": ("interpreter", 1)}
TESTS = Path(__file__).parent
PROGRAMS = TESTS.parents[2] / "examples" / "documents"
TABLE = TESTS.parents[2] / "docs" / "graph.md"


def config_of(mode):
    """How sessions run in one of the modes."""
    made = tf.ConfigProto()
    made.backend, made.graph_options.optimizer_options.global_jit_level = MODES[mode]
    return made


def run(name, config=None, **sizes):
    """What a program gives under a config."""
    return importlib.import_module(name).run(copy.deepcopy(config), **sizes)


def close(found, expected, **tolerance):
    """Check that numbers are those expected, up to rounding."""
    np.testing.assert_allclose(found, expected, **{"rtol": 1e-6, **tolerance})


def is_compiled(config):
    """Whether clusters of operations are compiled."""
    return config.graph_options.optimizer_options.global_jit_level > 0
