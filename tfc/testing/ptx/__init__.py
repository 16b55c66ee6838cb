"""A machine that runs PTX with NumPy, for tests: it checks what a GPU would not tell.

    from tfc.testing.ptx import Machine

    machine = Machine()
    x = machine.allocate(4 * 1000)
    machine.write(x, np.arange(1000, dtype=np.float32))
    module = machine.load(ptx)
    report = machine.launch(module["kernel"], (4,), (256,), [x, np.int32(1000)])
    machine.read(x, 4 * 1000).view(np.float32)

A text (`text`) is cut into segments by `flow`, which puts calls in place; `program` decodes each
instruction once, by the tables of the families (`instructions`), into a closure for many threads;
`scheduling` runs batches of blocks, whose threads and memory are in `state`. Bulk copies and
products of warpgroups run beside the threads: their bytes come, and their registers are free, as
late as what the threads wait for allows. `assembler` asks NVIDIA's own whether it takes a text.
"""

from tfc.testing.ptx.machine import Kernel, Machine, Module
from tfc.testing.ptx.state.faults import Fault, UnknownInstructionError
from tfc.testing.ptx.state.report import Report

__all__ = ["Fault", "Kernel", "Machine", "Module", "Report", "UnknownInstructionError"]
