"""Calls of functions outside of the code: custom calls, and operations that the host runs.

    y = f32[3] custom-call(x, t), custom_call_target="f"

    func @NAME.call.0(%x: memref<2xf32>, %y: memref<3xf32>) -> i32 {
      in = [address of x, null]                        pointer tables on the stack
      call @"custom_call.f"(address of y, in)
      return 0 }

What is called has the form void target(void* out, void** in), or returns an int32 that is not 0
after a failure; see tfc.runtime.functions. What is bound to arrays is called by the interpreter of
bytecode itself (runtime/bound_calls.py). Code loaded into this process gets the addresses when it
is loaded; an object file refers to the target's own name, which the user links.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from typing import Literal as OneOf

from tfc.backends.cpu.runtime.bound_calls import bound_call_symbols, bound_site
from tfc.backends.host_calls import bound_in_place, host_function, is_call
from tfc.backends.mlir.kernels import memref_type
from tfc.backends.mlir.provider import arith, func, ir, llvm, memref
from tfc.errors import UnsupportedError
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.shape import AnyShape, Shape, TupleShape, leaves
from tfc.hlo.specs import spec_of
from tfc.passes.analysis.called import control_computations
from tfc.runtime.arrays import ArraySpec
from tfc.runtime.functions import (
    address_of_callback,
    callback,
    callback_title,
    custom_call_target,
    is_callback,
)

# Where the code will be: in this process, in an object file, or nowhere but on the screen.
Place = OneOf["process", "object", "text"]
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Callee:
    """A function that the code calls.

    can_fail: it returns an int32, 0 if all is well; otherwise nothing.
    is_bound: it is the site of what Python binds (runtime/bound_calls.py), not a function.
    address: where it is, for code in this process; `kept` is what must live as long as the code.
    """

    symbol: str
    can_fail: bool = False
    is_bound: bool = False
    address: int = 0
    kept: Any = field(default=None, compare=False)


def callees(module: Module, place: Place) -> dict[Instruction, Callee]:
    """What each call among the steps of a module calls.

    Raises:
        UnsupportedError: a target is not registered, or cannot be reached from an object file.
    """
    control = control_computations(module)
    steps = [i for c in module.computations if c in control for i in c.instructions]
    calls = [i for i in steps if is_call(i)]
    make = {"process": _in_process, "object": _in_object, "text": _in_text}[place]
    return {instruction: make(instruction, number) for number, instruction in enumerate(calls)}


def _in_process(instruction: Instruction, number: int) -> Callee:
    if instruction.opcode == "custom-call":
        target = custom_call_target(instruction["custom_call_target"])
        if target.function is None:
            return Callee(f"custom_call.{target.name}", address=target.address, kept=target)
    symbol, bind = _host_symbol(instruction, number), bound_in_place(instruction)
    operands, result = call_operands(instruction), call_result(instruction)
    if bind is not None:
        given = [s for o in operands for s in _array_specs(o.shape)]
        address, kept = bound_site(bind, given, _array_specs(result))
        return Callee(symbol, is_bound=True, address=address, kept=kept)
    specs = tuple(spec_of(o.shape) for o in operands)
    run = callback(host_function(instruction), specs, spec_of(result))
    return Callee(symbol, True, address=address_of_callback(run), kept=run)


def _array_specs(shape: AnyShape) -> list[ArraySpec]:
    specs = [spec_of(s) for s in leaves(shape)]
    return [s for s in specs if isinstance(s, ArraySpec)]


def _in_object(instruction: Instruction, number: int) -> Callee:
    if instruction.opcode != "custom-call":
        raise UnsupportedError(
            f"{instruction.opcode} {_label(instruction)} needs the Python process that runs the "
            "program, so it cannot be compiled ahead of time; pass what it reads and writes as "
            "arguments and results"
        )
    target = instruction["custom_call_target"]
    if is_callback(target):
        raise UnsupportedError(
            f"{callback_title(target)} runs in the Python process that traced it, so "
            f"{_label(instruction)} cannot be compiled ahead of time; compute it with tfc.numpy, "
            "or pass its result as an argument"
        )
    if not _SYMBOL.fullmatch(target):
        raise UnsupportedError(
            f"the custom call target '{target}' must be the name of a C function to be linked"
        )
    return Callee(target)


def _label(instruction: Instruction) -> str:
    """What a user knows an instruction by: the node that it was made of, or its own name."""
    made = instruction.metadata
    return f"'{made.op_name if made is not None and made.op_name else instruction.name}'"


def _in_text(instruction: Instruction, number: int) -> Callee:
    if instruction.opcode == "custom-call":
        return Callee(f"custom_call.{instruction['custom_call_target']}")
    symbol, is_bound = _host_symbol(instruction, number), bound_in_place(instruction) is not None
    return Callee(symbol, not is_bound, is_bound)


def _host_symbol(instruction: Instruction, number: int) -> str:
    return f"host.{number}.{instruction.opcode}".replace("-", "_")


def emit_call(name: str, instruction: Instruction, callee: Callee) -> Any:
    """Emit a function of the arrays of the operands and of the result; it returns the status."""
    types = [memref_type(s) for s in _call_shapes(instruction)]
    status = ir.IntegerType.get_signless(32)
    function = func.FuncOp(name, (types, [status]), visibility="private")
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        buffers = iter(block.arguments)
        operands = [_pointer(o.shape, buffers) for o in call_operands(instruction)]
        passed = [_pointer(call_result(instruction), buffers), _table(operands)]
        made = func.CallOp([status] if callee.can_fail else [], callee.symbol, passed)
        func.return_([made.result if callee.can_fail else arith.constant(status, 0)])
    return function


def declare(callee: Callee) -> None:
    """Declare the function that a call calls."""
    pointer, status = _pointer_type(), ir.IntegerType.get_signless(32)
    kind = ([pointer, pointer], [status] if callee.can_fail else [])
    func.FuncOp(callee.symbol, kind, visibility="private")


def _call_shapes(instruction: Instruction) -> list[Shape]:
    """The arrays that a call reads and writes, in order."""
    given = [o.shape for o in call_operands(instruction)]
    return [s for shape in (*given, call_result(instruction)) for s in leaves(shape)]


def call_operands(instruction: Instruction) -> tuple[Instruction, ...]:
    """What a call is given: the end of what was begun needs nothing."""
    return () if instruction.opcode == "async-done" else instruction.operands


def call_result(instruction: Instruction) -> AnyShape:
    """The shape of what a call writes: the last leaves of the instruction's.

    What is begun has its operands as leaves, too, and its result is there when it is ended.
    """
    if instruction.opcode == "async-done":
        return TupleShape(())
    if instruction.opcode == "async-start":
        assert isinstance(instruction.shape, TupleShape)
        return instruction.shape.elements[1]
    return instruction.shape


def _pointer_type() -> Any:
    return ir.Type.parse("!llvm.ptr")


def _pointer(shape: AnyShape, buffers: Iterator[Any]) -> Any:
    """The address of a value: of an array's memory, or of a table for a tuple's elements."""
    if not isinstance(shape, Shape):
        return _table([_pointer(e, buffers) for e in shape.elements])
    index = memref.extract_aligned_pointer_as_index(next(buffers))
    number = arith.index_cast(ir.IntegerType.get_signless(64), index)
    return llvm.inttoptr(_pointer_type(), number)


def _table(pointers: Sequence[Any]) -> Any:
    """An array of pointers on the stack; null if there are none."""
    pointer = _pointer_type()
    if not pointers:
        return llvm.mlir_zero(pointer)
    count = arith.constant(ir.IntegerType.get_signless(64), len(pointers))
    table = llvm.alloca(pointer, count, ir.TypeAttr.get(pointer))
    for number, value in enumerate(pointers):
        place = llvm.getelementptr(pointer, table, [], [number], ir.TypeAttr.get(pointer), 0)
        llvm.store(value, place)
    return table


def symbols(found: Mapping[Instruction, Callee]) -> dict[str, int]:
    """The addresses of what is called, by symbol."""
    named = {c.symbol: c.address for c in found.values()}
    return named | (bound_call_symbols() if any(c.is_bound for c in found.values()) else {})
