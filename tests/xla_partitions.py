"""XLA's partitioner as an oracle: runs pickled modules with shardings on four devices of a host.

A process of its own, as the number of devices is fixed when JAX starts: `answers` starts it, with
(text, arrays) for each module, and gives what `run` says of each.
"""

import os
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import numpy as np

_hlo: Any = import_module("jaxlib._hlo")
sharding_impls: Any = import_module("jax._src.sharding_impls")
xla_client: Any = import_module("jax._src.lib").xla_client


def filled_up(array: np.ndarray, sharding: Any) -> np.ndarray:
    """An array with zeros behind, so that its parts are as long as XLA has them."""
    if sharding.is_replicated():
        return array
    parts = sharding.tile_assignment_dimensions()[: array.ndim]
    return np.pad(array, [(0, -n % t) for n, t in zip(array.shape, parts)])


def run(text: str, arrays: list[np.ndarray], folder: Path) -> Any:
    """What each device makes of each result, the shardings of arguments and results, and the text
    of the partitioned module; or what XLA says."""
    known = set(folder.rglob("*.txt"))
    try:
        module = _hlo.hlo_module_from_text(text)
        computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
        program = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
        options = xla_client.CompileOptions()
        build = options.executable_build_options
        build.num_replicas, build.num_partitions = 1, 4
        build.use_spmd_partitioning, build.use_shardy_partitioner = True, False
        build.device_assignment = xla_client.DeviceAssignment.create(np.arange(4)[None])
        devices = xla_client.DeviceList(tuple(jax.devices("cpu")))
        client = jax.devices("cpu")[0].client
        executable = client.compile_and_load(program, devices, options)
        stated, made = (
            [xla_client.HloSharding.from_proto(s) for s in found]
            for found in (executable.get_parameter_shardings(), executable.get_output_shardings())
        )
        given = [
            jax.device_put(filled_up(a, s), sharding_impls.GSPMDSharding(devices, s))
            for a, s in zip(arrays, stated, strict=True)
        ]
        results = executable.execute_sharded(given).disassemble_into_single_device_arrays()
        parts = [[np.asarray(a) for a in result] for result in results]
        (dump,) = set(folder.rglob("*after_spmd-partitioning*")) - known
        text = dump.read_text()
        return parts, list(map(str, stated)), list(map(str, made)), text
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def answers(requests: list[tuple[str, list[np.ndarray]]], folder: Path) -> list[Any]:
    """What XLA makes of each module on four devices; it dumps to a folder that is empty."""
    flags = (
        "--xla_force_host_platform_device_count=4 --xla_dump_hlo_as_text "
        f"--xla_dump_hlo_pass_re=spmd-partitioning --xla_dump_to={folder}"
    )
    done = subprocess.run(
        [sys.executable, __file__, str(folder)], input=pickle.dumps(requests), check=True,
        stdout=subprocess.PIPE, env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        timeout=300,
    )  # fmt: skip
    return pickle.loads(done.stdout)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    made = [run(*request, Path(sys.argv[1])) for request in pickle.load(sys.stdin.buffer)]
    sys.stdout.buffer.write(pickle.dumps(made))
