"""Which driver runs GPU programs: that of NVIDIA's cuda-bindings, else PyCUDA's.

Both do the same, but cuda-bindings have graphs, which launch a program at once. Of several GPUs a
process of a job has the one of its own number among the processes of its host.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

from tfc.backends.gpu.driver.interface import Driver
from tfc.errors import DriverError

# Bindings by the module that makes them usable: (what must be importable, whose driver it is).
_BINDINGS = (
    ("cuda.bindings", "tfc.backends.gpu.driver.with_cuda_bindings"),
    ("pycuda", "tfc.backends.gpu.driver.with_pycuda"),
)
_lock = threading.Lock()
_chosen: list[Driver] = []


def current_driver() -> Driver:
    """The driver that programs run with.

    Raises:
        DriverError: there is no binding, no driver, or no GPU.
    """
    with _lock:
        if not _chosen:
            _chosen.append(_found())
        return _chosen[-1]


def opened_driver() -> Driver | None:
    """The driver that programs run with if it was asked for before, without a lock."""
    try:
        return _chosen[-1]
    except IndexError:
        return None


@contextmanager
def using(driver: Driver) -> Iterator[Driver]:
    """Run the programs that are compiled meanwhile with another driver."""
    with _lock:
        _chosen.append(driver)
    try:
        yield driver
    finally:
        with _lock:
            _chosen.remove(driver)


def _found() -> Driver:
    for binding, module in _BINDINGS:
        if _is_there(binding):
            return import_module(module).open_driver()
    raise DriverError(
        "programs for the GPU need a binding to NVIDIA's driver: install tfc[cuda], which is "
        "cuda-bindings, or PyCUDA; without a GPU, use backend='cpu' or take as_text('ptx')"
    )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
