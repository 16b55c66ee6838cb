"""Compiles one scalar function into a loop over arrays, so that tests can run and inspect it."""

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from tfc.backends.llvm.compilation import compile_ir, lower_to_llvm, to_llvm_ir
from tfc.backends.mlir.arithmetic.value import Scalar, from_memory, memory_type, to_memory
from tfc.backends.mlir.provider import arith, func, ir, memref, new_context, scf
from tfc.backends.target import Target
from tfc.hlo.shape import ElementType

# The bare-pointer convention wants static shapes; the loop's bound is what counts.
_ANY_LENGTH = 1 << 40


class Kernel:
    """A compiled loop `out[i] = function(a[i], b[i], …)`.

    `llvm_ir` is the optimised LLVM IR.
    """

    def __init__(
        self,
        function: Callable[..., Scalar],
        operands: list[ElementType],
        result: ElementType,
        target: Target,
    ):
        compiled = compile_ir(loop_ir(function, operands, result), target)
        self.llvm_ir = compiled.llvm_ir
        self._result = result
        self._code = compiled.load()
        pointers = [ctypes.c_void_p] * (len(operands) + 1)
        signature = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)
        self._entry = signature(self._code.address("kernel"))

    def __call__(self, *arrays: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Runs the loop over contiguous 1-D arrays of the operands' types."""
        arrays = tuple(np.ascontiguousarray(a) for a in arrays)
        out = np.empty(arrays[0].shape, self._result.dtype) if out is None else out
        self._entry(*[a.ctypes.data for a in arrays], out.ctypes.data, arrays[0].size)
        return out


@cache
def compile_kernel(
    function: Callable[..., Scalar],
    *operands: ElementType,
    result: ElementType | None = None,
    target: Target | None = None,
) -> Kernel:
    """The kernel of a function of Scalars; the result's type defaults to the first operand's."""
    return Kernel(function, list(operands), result or operands[0], target or Target.host())


def loop_ir(
    function: Callable[..., Scalar], operands: list[ElementType], result: ElementType
) -> str:
    """LLVM IR text of the loop, as made for any target."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            _build(function, operands, result)
        return to_llvm_ir(lower_to_llvm(module))


def _build(
    function: Callable[..., Scalar], operands: list[ElementType], result: ElementType
) -> None:
    """The function `kernel(a*, b*, …, out*, n)` at the insertion point."""
    arrays = [ir.MemRefType.get([_ANY_LENGTH], memory_type(t)) for t in [*operands, result]]
    index = ir.IndexType.get()
    kernel = func.FuncOp("kernel", ([*arrays, index], []))
    no_alias = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    kernel.arg_attrs = [no_alias] * len(arrays) + [ir.DictAttr.get({})]
    block = kernel.add_entry_block()
    with ir.InsertionPoint(block):
        *sources, target, length = block.arguments
        zero, one = arith.constant(index, 0), arith.constant(index, 1)
        loop = scf.ForOp(zero, length, one)
        with ir.InsertionPoint(loop.body):
            i = loop.induction_variable
            scalars = [from_memory(memref.load(s, [i]), t) for s, t in zip(sources, operands)]
            memref.store(to_memory(function(*scalars)), target, [i])
            scf.YieldOp([])
        func.ReturnOp([])
