"""Kernels of PTX for tests of what runs beside the threads: barriers, copies of boxes, maps."""

from collections.abc import Sequence

import numpy as np
from ptx_kernels import kernel

from tfc.testing.ptx import Machine, Report
from tfc.testing.ptx.state.tensor_maps import TensorMap, encode

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
u8 = np.uint8

SHARED = """    .shared .align 1024 .b8 tile[40960];
    .shared .align 8 .b64 full;
    mov.u32 %r20, tile;
    mov.u32 %r21, full;
    setp.eq.u32 %p1, %r62, 0;
"""
BEGIN = (
    SHARED
    + """    @%p1 mbarrier.init.shared::cta.b64 [%r21], 1;
    fence.mbarrier_init.release.cluster;
    bar.sync 0;
"""
)
WAIT = """wait{0}: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r21], {1};
    @!%p2 bra wait{0};
"""
BOX = (
    "cp.async.bulk.tensor.{0}d.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[{1}], [{2}, {{{3}}}], [%r21];"
)
ACQUIRE = "    fence.proxy.tensormap::generic.acquire.sys [{}], 128;\n"


def launch(
    body: str,
    arrays: Sequence[np.ndarray | TensorMap],
    block: int = 128,
    budget: int = 20_000,
    name: str = "kernel",
) -> tuple[list[np.ndarray], Report]:
    """Run a kernel on copies of arrays, whose values afterwards are returned.

    A map stands for its descriptor; its address is the number of the array that it is of.
    """
    machine = Machine(1 << 22, budget)
    addresses: list[int] = []
    for array in arrays:
        if isinstance(array, TensorMap):
            held = np.frombuffer(encode(_placed(array, addresses)), u8)
        else:
            held = array
        addresses.append(machine.allocate(held.nbytes))
        machine.write(addresses[-1], held)
    text = HEADER + kernel(body, len(arrays), name)
    report = machine.launch(machine.load(text)[name], (1,), (block,), addresses)
    after = [machine.read(a, x.nbytes).view(x.dtype).reshape(x.shape)
             for a, x in zip(addresses, arrays) if not isinstance(x, TensorMap)]  # fmt: skip
    return after, report


def _placed(tensor: TensorMap, addresses: list[int]) -> TensorMap:
    return TensorMap(addresses[tensor.address], *list(vars(tensor).values())[1:])


def map_of(number: int, array: np.ndarray, box: Sequence[int], swizzle: int = 0) -> TensorMap:
    """The map of a row-major array; boxes have the outermost dimension first."""
    return TensorMap(number, array.itemsize, array.shape[::-1], array.strides[-2::-1],
                     tuple(box[::-1]), swizzle)  # fmt: skip
