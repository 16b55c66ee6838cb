"""Kernels of PTX for tests of the interpreter, from the instructions that matter."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.testing.ptx import Machine, Report

HEADER = ".version 8.6\n.target sm_80\n.address_size 64\n"
_REGISTERS = """    .reg .pred %p<32>;
    .reg .b16 %h<64>;
    .reg .b32 %r<64>;
    .reg .f32 %f<64>;
    .reg .b64 %d<64>;
    .reg .f64 %g<32>;
"""
_BITS = {1: "b8", 2: "b16", 4: "b32", 8: "b64"}
_OF_SIZE = {1: "h", 2: "h", 4: "r", 8: "d"}


def kernel(body: str, parameters: int, name: str = "kernel") -> str:
    """A kernel whose pointers are in %d0, %d1 …, the thread's number in %r0, 4 times it in %d60."""
    declared = ", ".join(f".param .u64 {name}_{n}" for n in range(parameters))
    loads = "".join(f"    ld.param.u64 %d{n}, [{name}_{n}];\n" for n in range(parameters))
    return f""".visible .entry {name}({declared})
{{
{_REGISTERS}{loads}    mov.u32 %r60, %ctaid.x;
    mov.u32 %r61, %ntid.x;
    mov.u32 %r62, %tid.x;
    mad.lo.s32 %r0, %r60, %r61, %r62;
    mul.wide.u32 %d60, %r0, 4;
{body}
    ret;
}}
"""


def run(
    text: str,
    arrays: Sequence[np.ndarray],
    block: int = 32,
    grid: int = 1,
    shared: int = 0,
    name: str = "kernel",
    budget: int = 100_000,
) -> tuple[list[np.ndarray], Report]:
    """Launch a kernel of a text on copies of arrays; those of type object have no values yet.

    Returns:
        The arrays afterwards, and what the launch did.
    """
    machine = Machine(1 << 22, budget)
    addresses = []
    for array in arrays:
        addresses.append(machine.allocate(array.nbytes))
        if not is_new(array):
            machine.write(addresses[-1], array)
    report = machine.launch(machine.load(text)[name], (grid,), (block,), addresses, shared)
    after = []
    for address, array in zip(addresses, arrays):
        after.append(machine.read(address, array.nbytes).view(array.dtype).reshape(array.shape))
    return after, report


class New(np.ndarray):
    """An array whose values the machine is not given."""


def new(count: int, dtype: Any) -> np.ndarray:
    """An array for results."""
    return np.zeros(count, dtype).view(New)


def is_new(array: np.ndarray) -> bool:
    """Whether an array is for results."""
    return isinstance(array, New)


def elementwise(
    instruction: str, result: Any, operands: Sequence[np.dtype], name: str = "kernel"
) -> str:
    """A kernel that does an instruction with a thread's elements.

    Args:
        instruction: with $0 for the result and $1 … for the operands.
    """
    lines = []
    for number, dtype in enumerate([result, *operands]):
        size = np.dtype(dtype).itemsize
        register = f"%{_OF_SIZE[size]}{number + 10}"
        lines.append(f"    mul.wide.u32 %d{number + 30}, %r0, {size};")
        lines.append(f"    add.u64 %d{number + 30}, %d{number + 30}, %d{number};")
        if number:
            lines.append(f"    ld.global.{_BITS[size]} {register}, [%d{number + 30}];")
        instruction = instruction.replace(f"${number}", register)
    size = np.dtype(result).itemsize
    lines.append(f"    {instruction};")
    lines.append(f"    st.global.{_BITS[size]} [%d30], %{_OF_SIZE[size]}10;")
    return kernel("\n".join(lines), 1 + len(operands), name)


def apply(instruction: str, result: Any, *operands: np.ndarray) -> np.ndarray:
    """What an instruction gives for each element."""
    text = HEADER + elementwise(instruction, result, [o.dtype for o in operands])
    count = len(operands[0])
    assert count % 32 == 0
    after, _ = run(text, [new(count, result), *operands], block=32, grid=count // 32)
    return np.asarray(after[0])
