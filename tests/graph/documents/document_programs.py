"""Programs of `examples/documents`, run, and what tests ask of their numbers."""

import copy
import importlib

import numpy as np


def run(name, config=None, **sizes):
    """What a program gives under a config."""
    return importlib.import_module(name).run(copy.deepcopy(config), **sizes)


def close(found, expected, **tolerance):
    """Check that numbers are those expected, up to rounding."""
    np.testing.assert_allclose(found, expected, **{"rtol": 1e-6, **tolerance})


def is_compiled(config):
    """Whether clusters of operations are compiled."""
    return config.graph_options.optimizer_options.global_jit_level > 0
