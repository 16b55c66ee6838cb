"""A transformer layer divided by shardings beside the same by hand with shard_map, as a ratio.

    mpiexec -n 2 python -m benchmarks.partitioned      each rank a partition
    python -m benchmarks.partitioned                   two threads

The layer is that of examples/tensor_parallel.py with more rows, forward and its gradient. Both take
turns in one run, and the least time of each counts.
"""

import runpy
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tfc

_EXAMPLE = Path(__file__).parents[1] / "examples" / "tensor_parallel.py"
_SIZES = {"BATCH": 4, "LENGTH": 128, "WIDTH": 256, "HEADS": 8, "HEAD": 32, "HIDDEN": 1024}
_ROUNDS = 60


def programs(devices: int) -> dict[str, dict[str, Callable[..., Any]]]:
    """By what is computed, both forms, which take weights and rows."""
    example = runpy.run_path(str(_EXAMPLE))
    example["layer"].__globals__.update(_SIZES)
    forms = example["forms"](devices)
    slopes = {name: tfc.grad(partial(example["loss"], run)) for name, run in forms.items()}
    return {"layer": forms, "gradient": slopes}


def arguments() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Weights and rows, the same in every process."""
    example, rng = runpy.run_path(str(_EXAMPLE)), np.random.default_rng(0)
    example["weights"].__globals__.update(_SIZES)
    dims = [_SIZES[name] for name in ("BATCH", "LENGTH", "WIDTH")]
    return example["weights"](rng), rng.normal(size=dims).astype(np.float32)


def least(forms: dict[str, Callable[..., Any]], given: tuple[Any, ...]) -> dict[str, float]:
    """The least seconds of each form."""
    compiled = {name: tfc.jit(run).lower(*given).compile() for name, run in forms.items()}
    found: dict[str, float] = {}
    for number in range(_ROUNDS + 1):
        for name, run in compiled.items():
            tfc.distributed.barrier()
            begin = time.perf_counter()
            run(*given)
            if number:
                found[name] = min(found.get(name, np.inf), time.perf_counter() - begin)
    return found


def main() -> int:
    """Print a line for each program."""
    tfc.distributed.initialize()
    devices = max(tfc.distributed.process_count(), 2)
    for title, forms in programs(devices).items():
        found = least(forms, arguments())
        if tfc.distributed.process_index() == 0:
            by_hand, divided = found["shard_map"] * 1e3, found["shardings"] * 1e3
            print(
                f"{title:9} {devices} devices: by hand {by_hand:.2f} ms, by shardings "
                f"{divided:.2f} ms, ratio {divided / by_hand:.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
