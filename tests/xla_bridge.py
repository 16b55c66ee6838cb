"""XLA as a second oracle: parse, print and run HLO text through the jaxlib that tests depend on."""

import atexit
import multiprocessing
import os
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jaxlib import _hlo
from jaxlib.mlir import ir as jax_ir
from oracles import PROGRAMS, OracleCrash

# Element types that the CPU client takes as arguments and gives back as they are.
RUNNABLE = ("pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64",
            "f16", "bf16", "f32", "f64")  # fmt: skip

NEWER_SPELLINGS = {
    r"\border=TOTAL\b": "type=TOTALORDER",
    r", has_dynamic_root=false": "",
    r"(topk\(.*), is_stable=true": r"\1",
    r"\bsingle_device\[": "maximal_mesh[",
    r"\bunreduced metadata=\{[^}]*\}": "unreduced",
    r'\borigin=\{\(\),\[""\]\}': "origin={[synthetic_call]}",
}


def xla_parse(text: str) -> Any:
    """XLA's HloModule of a text; raises what XLA raises if it refuses."""
    return _hlo.hlo_module_from_text(text)


def xla_print(module: Any) -> str:
    """XLA's long form of a module, constants in full, layout tables and all.

    What newer versions spell otherwise is given as XLA 0.10 of JAX prints it.
    """
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    text = module.to_string(options)
    for newer, older in NEWER_SPELLINGS.items():
        text = re.sub(newer, older, text)
    return text


@lru_cache(maxsize=256)
def _compiled(text: str) -> tuple[Any, bool]:
    """The loaded executable, and whether the result is a tuple."""
    computation = xla_client.XlaComputation(xla_parse(text).as_serialized_hlo_module_proto())
    program = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    client = jax.devices("cpu")[0].client
    devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
    is_tuple = computation.program_shape().result_shape().is_tuple()
    return client.compile_and_load(program, devices), is_tuple


def run_hlo_text(text: str, *arrays: Any) -> Any:
    """What XLA's CPU backend computes for a text: an array, or a tuple for a tuple-shaped root.

    Args:
        text: HLO text whose entry has array parameters and an array or a flat tuple as result.
        arrays: one NumPy array for each parameter, of its type and dimensions.
    """
    executable, is_tuple = _compiled(text)
    with jax.enable_x64(True):
        buffers = [jax.device_put(np.asarray(a), jax.devices("cpu")[0]) for a in arrays]
        results = [np.asarray(r) for r in executable.execute(buffers)]
    return tuple(results) if is_tuple else results[0]


def run_stablehlo_text(text: str, *arrays: Any) -> list[np.ndarray]:
    """What XLA's CPU backend computes for a StableHLO program: the results of its @main."""
    client = jax.devices("cpu")[0].client
    with mlir.make_ir_context(), jax_ir.Location.unknown():
        program = jax_ir.Module.parse(text)
        devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
        executable = client.compile_and_load(program, devices)
    with jax.enable_x64(True):
        buffers = [jax.device_put(np.asarray(a), jax.devices("cpu")[0]) for a in arrays]
        return [np.asarray(r) for r in executable.execute(buffers)]


def run_hlo_text_apart(text: str, *arrays: Any) -> Any:
    """As `run_hlo_text`, in another process: XLA's CPU compiler aborts on some valid programs.

    Raises:
        OracleCrash: it did, or an internal check of it failed.
        RuntimeError: XLA refused the program.
    """
    return apart(run_hlo_text, text, arrays)


def run_stablehlo_text_apart(text: str, *arrays: Any) -> list[np.ndarray]:
    """As `run_stablehlo_text`, in another process.

    Raises:
        OracleCrash: XLA aborted, or an internal check of it failed.
        RuntimeError: XLA refused the program.
    """
    return apart(run_stablehlo_text, text, arrays)


def apart(run: Callable[..., Any], text: str, arrays: Sequence[Any]) -> Any:
    """`run(text, *arrays)` in a process of its own, kept for further calls.

    Raises:
        OracleCrash: the process ended, or an internal check of XLA failed.
        RuntimeError: what `run` raised.
    """
    process, connection = _worker()
    PROGRAMS["asked"] += 1
    try:
        connection.send((run, text, arrays))
        result, error = connection.recv()
    except (EOFError, BrokenPipeError, ConnectionResetError) as gone:
        process.join()
        _worker.cache_clear()
        PROGRAMS["crashed"] += 1
        raise OracleCrash(f"exit code {process.exitcode}") from gone
    if error is not None:
        broken = "INTERNAL:" in error or "Failed after" in error  # a pass, not the program
        PROGRAMS["crashed"] += broken
        raise (OracleCrash if broken else RuntimeError)(error)
    return result


@cache
def _worker() -> tuple[Any, Any]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    atexit.register(process.kill)
    return process, ours


def _serve(connection: Any) -> None:
    """Run what comes over a connection until it closes."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)  # an abort of XLA prints its stack
    while True:
        try:
            run, text, arrays = connection.recv()
        except EOFError:
            return
        try:
            connection.send((run(text, *arrays), None))
        except Exception as error:
            connection.send((None, f"{type(error).__name__}: {error}"))
