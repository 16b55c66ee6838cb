"""Elements: the value of any instruction of a kernel's computation at a symbolic index.

`element(instruction, index)` walks from an instruction towards the kernel's operands. Data movement
only changes the index (through the ops' index maps, which compose and simplify symbolically), an
elementwise op emits its row of the table, an operand is loaded. CPU and GPU share this; they differ
in what gives the index variables their values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.arithmetic.elemental import emit_element
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    constant,
    convert,
    emit,
    from_memory,
    maximum,
    memory_type,
    minimum,
    mlir_type,
    to_memory,
)
from tfc.backends.mlir.provider import arith, ir, memref, scf
from tfc.backends.mlir.vectors import index_operation, index_value
from tfc.errors import InternalError, UnsupportedError
from tfc.hlo.index_maps import Condition, Decided, Index, Piece, possible
from tfc.hlo.index_maps import constant as constant_index
from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import S64, Shape

Indices = tuple[Index, ...]
_WORD = 4  # bytes


@dataclass(frozen=True)
class Buffer:
    """An array in memory: a flat memref of its elements, and the shape that says how they lie."""

    memref: Any
    shape: Shape

    def position(self, index: Sequence[Index]) -> Index:
        """The element's place in memory."""
        position = constant_index(0)
        for i, stride in zip(index, self.shape.strides):
            position = position + i * stride
        return position


def memref_type(shape: Shape) -> Any:
    """The type of the memory of an array: its elements in the order of its layout."""
    return ir.MemRefType.get([shape.storage_size], memory_type(shape.element_type))


class Elements:
    """Emits elements at the current insertion point, each (instruction, index) once a scope.

    Args:
        sources: for the computation's parameters, the buffer or the scalar that each one is.
        variables: the values of the index variables, of type `index`.
    """

    def __init__(
        self, sources: Mapping[Instruction, Buffer | Scalar], variables: Mapping[str, Any]
    ):
        self._sources = sources
        self._variables = dict(variables)
        self._elements: dict[tuple[Instruction, Indices], Scalar] = {}
        self._indices: dict[Index, Any] = {}
        self._decided: Decided = {}

    def with_variables(self, **variables: Any) -> "Elements":
        """A scope inside this one, with further index variables.

        It starts with what is already emitted, and nothing emitted in it is seen outside: its
        insertion point may be in a loop or a branch.
        """
        inner = Elements(self._sources, {**self._variables, **variables})
        inner._elements = dict(self._elements)
        inner._indices = dict(self._indices)
        inner._decided = self._decided
        return inner

    def where(self, decided: Decided) -> "Elements":
        """A scope inside this one, where conditions are known to hold, or not to."""
        inner = self.with_variables()
        inner._decided = {**self._decided, **decided}
        return inner

    def with_value(self, instruction: Instruction, value: Scalar) -> "Elements":
        """A scope inside this one, in which the instruction's wanted element has a value."""
        inner = self.with_variables()
        inner._sources = {**self._sources, instruction: value}
        return inner

    def inside(self, sources: Mapping[Instruction, Buffer | Scalar]) -> "Elements":
        """The elements of another computation at the same point."""
        return Elements(sources, self._variables)

    def know(self, instruction: Instruction, index: Indices, value: Scalar) -> None:
        """Give the value of `instruction` at `index`, so that no code is emitted for it."""
        self._elements[instruction, index] = value

    def element(self, instruction: Instruction, index: Indices) -> Scalar:
        """The value of `instruction` at `index`.

        Raises:
            UnsupportedError: an op has no emission as part of a kernel.
        """
        if not instruction.array_shape.rank:
            index = ()
        key = (instruction, index)
        if key not in self._elements:
            self._elements[key] = self._emit(instruction, index)
        return self._elements[key]

    def _emit(self, instruction: Instruction, index: Indices) -> Scalar:
        source = self._sources.get(instruction)
        if source is not None:
            return source if isinstance(source, Scalar) else self.load(source, index)
        op = op_named(instruction.opcode)
        if op.index_map is not None:
            return self._move(
                instruction, possible(op.index_map(instruction, index), self._decided)
            )
        if op.elementwise:
            return emit_element(
                instruction, *(self.element(o, index) for o in instruction.operands)
            )
        element_type = instruction.array_shape.element_type
        match instruction.opcode:
            case "constant" if instruction["literal"].is_splat():
                return constant(element_type, instruction["literal"].array.reshape(-1)[0])
            case "iota":
                counted = self.index_value(index[instruction["iota_dimension"]])
                wide = Scalar(arith.index_cast(mlir_type(S64), counted), S64)
                return convert(wide, element_type)
        raise UnsupportedError(f"'{instruction.opcode}' cannot be part of a kernel")

    def _move(self, instruction: Instruction, pieces: list[Piece]) -> Scalar:
        """The first of the possible pieces whose conditions hold."""
        piece, rest = pieces[0], pieces[1:]
        operand = instruction.operands[piece.operand]
        if not rest:
            return self.element(operand, piece.index)
        # A branch, not a select: the operand must not be read outside of its bounds.
        element_type = instruction.array_shape.element_type
        chosen = scf.IfOp(self.holds(piece.conditions), [mlir_type(element_type)], has_else=True)
        with ir.InsertionPoint(chosen.then_block):
            scf.yield_([self.with_variables().element(operand, piece.index).value])
        with ir.InsertionPoint(chosen.else_block):
            scf.yield_([self.with_variables()._move(instruction, rest).value])
        return Scalar(chosen.results[0], element_type)

    def holds(self, conditions: Sequence[Condition]) -> Any:
        """An i1: every condition holds."""
        tests = []
        for condition in conditions:
            value = self.index_value(condition.index)
            if condition.index.low < condition.low:
                low = self.index_value(constant_index(condition.low))
                tests.append(arith.cmpi(arith.CmpIPredicate.sge, value, low))
            if condition.index.high >= condition.high:
                high = self.index_value(constant_index(condition.high))
                tests.append(arith.cmpi(arith.CmpIPredicate.slt, value, high))
        result = tests[0]
        for test in tests[1:]:
            result = arith.andi(result, test)
        return result

    def index_value(self, index: Index) -> Any:
        """An `index` value: the expression computed from the variables."""
        if index not in self._indices:
            self._indices[index] = self._compute(index)
        return self._indices[index]

    def _compute(self, index: Index) -> Any:
        match index.kind:
            case "variable":
                if index.name not in self._variables:
                    raise InternalError(f"index variable {index.name} has no value here")
                return self._variables[index.name]
            case "constant":
                return index_value(index.value)
            case "element":
                return self._element_index(index)
            case "add":
                total = self.index_value(index.terms[0])
                for term in index.terms[1:]:
                    total = index_operation("addi", total, self.index_value(term))
                return total
        assert index.left is not None
        left, right = self.index_value(index.left), self.index_value(constant_index(index.value))
        if index.kind == "mul":
            return index_operation("muli", left, right)
        # Unsigned division is the cheaper one; it needs operands that are never negative.
        if index.left.low < 0:
            biased = -(index.left.low // index.value) * index.value
            shifted = self.index_value(index.left + biased)
            if index.kind == "mod":
                return index_operation("remui", shifted, right)
            quotient = index_operation("divui", shifted, right)
            back = self.index_value(constant_index(biased // index.value))
            return index_operation("subi", quotient, back)
        return index_operation("divui" if index.kind == "floordiv" else "remui", left, right)

    def _element_index(self, index: Index) -> Any:
        """An array's element as an index, clamped to its range."""
        assert index.source is not None
        value = self.element(*index.source)
        low, high = value.element_type.limits
        # Only bounds that the element's type can cross need a test.
        if low < index.low:
            value = maximum(value, index.low)
        if high > index.high:
            value = minimum(value, index.high)
        cast = arith.index_cast if value.element_type.kind == "signed" else arith.index_castui
        return cast(ir.IndexType.get(), value.value)

    def load(self, buffer: Buffer, index: Indices) -> Scalar:
        """An element of an array in memory."""
        position = self.index_value(buffer.position(index))
        loaded = emit("memref.load", buffer.memref.type.element_type, [buffer.memref, position])
        return from_memory(loaded, buffer.shape.element_type)

    def load_together(self, buffer: Buffer, position: Any, count: int) -> list[Scalar]:
        """Neighbours in memory by one access, from a position (of type `index`) on that is a
        multiple of their number."""
        memory, element_type = buffer.memref.type.element_type, buffer.shape.element_type
        size = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count * element_type.bytes)
        if element_type.bytes == 1 and count >= _WORD:
            parts = _bytes_together(buffer, position, count, size)
        else:
            kind = ir.VectorType.get([count], memory)
            together = emit("vector.load", kind, [buffer.memref, position], alignment=size)
            parts = _parts(together, count)
        return [from_memory(part, element_type) for part in parts]

    def store_together(self, values: Sequence[Scalar], buffer: Buffer, index: Indices) -> None:
        """Set neighbours in memory by one access, from an element on that lies at a multiple of
        their size."""
        position = self.index_value(buffer.position(index))
        elements = [to_memory(value) for value in values]
        kind = ir.VectorType.get([len(elements)], elements[0].type)
        together = ir.Operation.create("vector.from_elements", [kind], elements).result
        size = len(values) * buffer.shape.element_type.bytes
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size)
        operands = [together, buffer.memref, position]
        ir.Operation.create("vector.store", [], operands, {"alignment": alignment})

    def store(self, value: Scalar, buffer: Buffer, index: Indices) -> None:
        """Set an element of an array in memory."""
        position = self.index_value(buffer.position(index))
        ir.Operation.create("memref.store", [], [to_memory(value), buffer.memref, position])


def _parts(together: Any, count: int) -> list[Any]:
    """The elements of a vector."""
    places = [ir.DenseI64ArrayAttr.get([k]) for k in range(count)]
    kind = together.type.element_type
    return [emit("vector.extract", kind, [together], static_position=p) for p in places]


def _bytes_together(buffer: Buffer, position: Any, count: int, size: Any) -> list[Any]:
    """Neighbours of a byte each, read as words: of a vector of bytes LLVM makes accesses of one."""
    word = ir.IntegerType.get_signless(32)
    words = ir.MemRefType.get([buffer.shape.storage_size // _WORD], word)
    view = memref.view(words, buffer.memref, index_value(0), [])
    kind = ir.VectorType.get([count // _WORD], word)
    at = index_operation("divui", position, index_value(_WORD))
    found = _parts(emit("vector.load", kind, [view, at], alignment=size), count // _WORD)
    moved = [emit("arith.constant", word, [], value=ir.IntegerAttr.get(word, 8 * k))
             for k in range(_WORD)]  # fmt: skip
    shifted = [emit("arith.shrui", word, [x, by]) for x in found for by in moved]
    return [emit("arith.trunci", ir.IntegerType.get_signless(8), [x]) for x in shifted]
