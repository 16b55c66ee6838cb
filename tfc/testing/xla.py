"""XLA as a second oracle of HLO text, through jaxlib, where that is installed."""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import numpy as np

from tfc.testing.apart import Say

# What jaxlib offers to JAX alone.
_hlo: Any = import_module("jaxlib._hlo")
xla_client: Any = import_module("jax._src.lib").xla_client
# XLA folds constants to other values than its code computes, looks at few bits of an exponent, has
# generators of its own, and takes updates without an index to be as large as where they go.
DIFFERS = frozenset({
    "atan2", "count-leading-zeros", "power", "rng-bit-generator", "scatter", "stochastic-convert",
})  # fmt: skip


def run_text(request: tuple[str, Sequence[np.ndarray]], say: Say) -> list[np.ndarray] | str:
    """What XLA's CPU backend computes for a text, or why it does not take it.

    Args:
        request: HLO text whose entry has array parameters and an array or a flat tuple as result,
            and an array for each parameter.
    """
    text, arrays = request
    say("xla")
    try:
        module = _hlo.hlo_module_from_text(text)
        computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
        program = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
        client = jax.devices("cpu")[0].client
        devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
        executable = client.compile_and_load(program, devices)
        with jax.enable_x64(True):
            buffers = [jax.device_put(np.asarray(a), jax.devices("cpu")[0]) for a in arrays]
            return [np.asarray(r) for r in executable.execute(buffers)]
    except Exception as error:  # whatever it is, it is XLA's
        return f"{type(error).__name__}: {error}".partition("\n")[0]
