"""Fourier transforms: a block has whole rows in shared memory, from the first stage to the last.

    roots      a thread for each k computes exp(-2πi k/n)                        scratch memory
    rows       read rows │ stage of radix r │ stage of radix s │ … │ write rows  shared memory

A stage is Stockham's: butterfly t of n/r takes the elements t, t + n/r, t + 2n/r …, multiplies what
it makes of them by roots, and stores it such that after the last stage all are in order. A row is
read once and written once, whatever its stages.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tfc.backends.gpu.grid import (
    Grid,
    below,
    block_number,
    divided,
    point_of,
    thread_in_block,
    threads_for,
)
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.shared import barrier, shared_arrays, shared_bytes
from tfc.backends.mlir.arithmetic.trigonometry import cos, sin
from tfc.backends.mlir.arithmetic.value import (
    Scalar,
    constant,
    convert,
    imaginary_part,
    make_complex,
    real_part,
    select,
)
from tfc.backends.mlir.elements import Buffer, Elements
from tfc.backends.mlir.kernels import Kernel, sources
from tfc.backends.mlir.loops import for_loop, found_when, when
from tfc.backends.mlir.provider import arith, ir
from tfc.backends.mlir.scratch import load_at, scratch_arrays, store_at
from tfc.backends.mlir.spaces import bind
from tfc.backends.mlir.vectors import add, index_value, multiply
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F64, PRED, U32, ElementType, Shape
from tfc.passes.expand.fft import roots

_RADICES = (8, 7, 5, 4, 3, 2)
_SHARED = 48 << 10  # bytes that every GPU gives a block unasked
_SHORTEST = 16
_AT_ONCE = 1024  # elements of short rows that a block has
_LINE = 128  # bytes, one place of each bank

Complex = tuple[Scalar, Scalar]


def takes_transform(x: Instruction) -> bool:
    """Whether a row of a transform fits, and has factors for which there are butterflies.

    Short ones are a product with one small matrix.
    """
    lengths = x["fft_length"]
    if len(lengths) != 1 or lengths[0] < _SHORTEST or not x.array_shape.size:
        return False
    part = _part_type(x)
    return bool(_radices(lengths[0])) and _memory(part, lengths[0]) <= _SHARED


def _part_type(x: Instruction) -> ElementType:
    """The type of real and imaginary parts."""
    found = x.operands[0].array_shape.element_type
    return found.component if found.is_complex else found


def _radices(size: int) -> list[int]:
    """The radices of a row's stages; none if it has another prime factor, or nothing is to do."""
    found = []
    for radix in _RADICES:
        while size % radix == 0:
            found.append(radix)
            size //= radix
    return found if size == 1 else []


def _memory(part: ElementType, elements: int) -> int:
    """The shared bytes of rows with so many elements: both parts, before and after a stage."""
    return shared_bytes(_arrays(part, elements))


def _arrays(part: ElementType, elements: int) -> list[Shape]:
    return [Shape(part, (_place(part, elements - 1) + 1,))] * 4


def _place(part: ElementType, number: Any) -> Any:
    """Where an element lies: one place further after as many as all banks hold, so that those at
    distances of powers of two are in different ones."""
    line = _LINE // part.dtype.itemsize
    if isinstance(number, int):
        return number + number // line
    return add(number, arith.divui(number, index_value(line)))


def transform_memory(kernel: Kernel) -> Shape | None:
    """The real, then the imaginary parts of all roots of a row's length."""
    return _roots_shape(kernel.root)


def _roots_shape(x: Instruction) -> Shape:
    return Shape(_part_type(x), (2 * x["fft_length"][0],))


def transform_parts(kernel: Kernel) -> list[Part]:
    """The roots, and a block for each few rows."""
    x = kernel.root
    size, part = x["fft_length"][0], _part_type(x)
    batch = prod(x.array_shape.dims[:-1])
    rows = _rows_at_once(part, size, batch)
    return [
        Part(_emit_roots, size),
        Part(_emit_rows, -(-batch // rows), True, threads=_threads(rows * size),
             shared=_memory(part, rows * size), wide=(0, 1)),
    ]  # fmt: skip


def _rows_at_once(part: ElementType, size: int, batch: int) -> int:
    rows = max(min(batch, _AT_ONCE // size), 1)
    while _memory(part, rows * size) > _SHARED:
        rows -= 1
    return rows


def _threads(elements: int) -> int:
    return threads_for(1 << (elements // 4).bit_length())


def _emit_roots(work: Work) -> None:
    """A thread for each root, in f64: an eighth of the circle, turned and mirrored."""
    size = work.root["fft_length"][0]
    (table,) = scratch_arrays(work.scratch, [_roots_shape(work.root)])
    forward = work.root["fft_type"] in ("FFT", "RFFT")

    def root(points: Sequence[Any]) -> None:
        (k,) = points
        octant, rest = divided(multiply(k, 8), index_value(size))
        is_odd = arith.cmpi(
            arith.CmpIPredicate.ne, arith.remui(octant, index_value(2)), index_value(0)
        )
        rest = arith.select(is_odd, arith.subi(index_value(size), rest), rest)
        angle = _as_f64(rest) * (_PI / 4 / size)
        near, far = cos(angle), sin(angle)
        # Octants 1, 2, 5, 6 exchange cosine and sine.
        swapped = _in(octant, (1, 2, 5, 6))
        cosine, sine = select(swapped, far, near), select(swapped, near, far)
        cosine = select(_in(octant, (2, 3, 4, 5)), -cosine, cosine)
        sine = select(_in(octant, (4, 5, 6, 7) if not forward else (0, 1, 2, 3)), -sine, sine)
        part = table.shape.element_type
        store_at(convert(cosine, part), table, k)
        store_at(convert(sine, part), table, add(k, size))

    Grid().each([size], root)


_PI = 3.141592653589793


def _as_f64(number: Any) -> Scalar:
    narrow = arith.index_cast(ir.IntegerType.get_signless(32), number)
    return convert(Scalar(narrow, U32), F64)


def _in(number: Any, several: Sequence[int]) -> Scalar:
    """Whether a value of type `index` is one of several numbers."""
    tests = [arith.cmpi(arith.CmpIPredicate.eq, number, index_value(n)) for n in several]
    found = tests[0]
    for test in tests[1:]:
        found = arith.ori(found, test)
    return Scalar(found, PRED)


def _emit_rows(work: Work) -> None:
    _Rows(work).emit()


class _Rows:
    """The code of a block."""

    def __init__(self, work: Work):
        self.work, x = work, work.root
        self.kind, (self.size,) = x["fft_type"], x["fft_length"]
        self.dims = x.array_shape.dims
        self.batch = prod(self.dims[:-1])
        self.part = _part_type(x)
        self.rows = _rows_at_once(self.part, self.size, self.batch)
        self.threads = _threads(self.rows * self.size)
        self.forward = self.kind in ("FFT", "RFFT")
        (self.table,) = scratch_arrays(work.scratch, [_roots_shape(x)])
        memory = shared_arrays(_arrays(self.part, self.rows * self.size))
        self.memories = memory[:2], memory[2:]
        self.index: list[Index] = [variable(f"b{d}", n) for d, n in enumerate(self.dims[:-1])]

    def emit(self) -> None:
        """Read the rows, carry out the stages, write the rows."""
        source, target = self.memories
        self._each(self.rows * self.size, lambda number: self._read(number, source))
        done = 1
        for radix in _radices(self.size):
            barrier()
            stage = self._stage(radix, done, source, target)
            self._each(self.rows * self.size // radix, stage)
            source, target, done = target, source, done * radix
        barrier()
        width = self.dims[-1]
        self._each(self.rows * width, lambda number: self._write(number, source))

    def _each(self, count: int, body: Callable[[Any], None]) -> None:
        """`body` for numbers below a count, which the threads of the block take in turn."""
        if count <= self.threads:
            when(below(thread_in_block(), count), lambda: body(thread_in_block()))
            return

        def one(number: Any, _: Any) -> list[Scalar]:
            body(number)
            return []

        for_loop(thread_in_block(), count, self.threads, one)

    def _row(self, within_block: Any) -> tuple[Any, Any]:
        """The number of a row, and whether there is one."""
        row = add(multiply(block_number(), self.rows), within_block)
        return row, below(row, self.batch)

    def _scope(self, row: Any) -> Elements:
        points = point_of(row, self.dims[:-1])
        return Elements(sources(self.work.kernel, self.work.buffers), bind(self.index, points))

    def _read(self, number: Any, memory: Sequence[Buffer]) -> None:
        """Bring an element of a row; zeros where there is no row."""
        within_block, place = divided(number, index_value(self.size))
        row, is_there = self._row(within_block)
        operand = self.work.root.operands[0]
        width = operand.array_shape.dims[-1]

        def element() -> list[Scalar]:
            at, is_mirrored = place, None
            if self.kind == "IRFFT":
                is_mirrored = arith.cmpi(arith.CmpIPredicate.uge, place, index_value(width))
                at = arith.select(is_mirrored, arith.subi(index_value(self.size), place), place)
            last = variable("i", width)
            here = self._scope(row).with_variables(**bind([last], [at]))
            value = here.element(operand, (*self.index, last))
            if not value.element_type.is_complex:
                return [value, constant(self.part, 0)]
            real, imaginary = real_part(value), imaginary_part(value)
            if is_mirrored is not None:
                imaginary = select(Scalar(is_mirrored, PRED), -imaginary, imaginary)
                # Elements that are their own mirror images are taken for real.
                own = _in(place, (0, self.size // 2) if self.size % 2 == 0 else (0,))
                imaginary = select(own, 0.0, imaginary)
            return [real, imaginary]

        found = found_when(is_there, element, [constant(self.part, 0)] * 2)
        for value, buffer in zip(found, memory):
            store_at(value, buffer, _place(self.part, number))

    def _stage(
        self, radix: int, done: int, source: Sequence[Buffer], target: Sequence[Buffer]
    ) -> Callable[[Any], None]:
        """A butterfly of a stage, `done` being the product of the radices before."""
        count, rest = self.size // radix, self.size // radix // done

        def butterfly(number: Any) -> None:
            row, t = divided(number, index_value(count))
            start = multiply(row, self.size)
            j, k = divided(t, index_value(done))
            places = [_place(self.part, add(start, add(t, c * count))) for c in range(radix)]
            values = [(load_at(source[0], p), load_at(source[1], p)) for p in places]
            for b, value in enumerate(_transformed(values, self.forward)):
                if b and rest > 1:
                    turned = multiply(multiply(j, b), done)
                    value = _product(
                        value,
                        (load_at(self.table, turned), load_at(self.table, add(turned, self.size))),
                    )
                made = add(start, add(multiply(add(multiply(j, radix), b), done), k))
                at = _place(self.part, made)
                for part, buffer in zip(value, target):
                    store_at(part, buffer, at)

        return butterfly

    def _write(self, number: Any, memory: Sequence[Buffer]) -> None:
        """Store an element of a row's result."""
        width = self.dims[-1]
        within_block, place = divided(number, index_value(width))
        row, is_there = self._row(within_block)

        def store() -> None:
            at = _place(self.part, add(multiply(within_block, self.size), place))
            real, imaginary = (load_at(buffer, at) for buffer in memory)
            if not self.forward:
                real, imaginary = real * (1 / self.size), imaginary * (1 / self.size)
            last = variable("i", width)
            here = self._scope(row).with_variables(**bind([last], [place]))
            value = real if self.kind == "IRFFT" else make_complex(real, imaginary)
            here.store(value, self.work.buffers[-1], (*self.index, last))

        when(is_there, store)


def _transformed(values: Sequence[Complex], forward: bool) -> list[Complex]:
    """The transform of a few numbers: of even and odd ones by halves, else term by term."""
    size = len(values)
    if size == 1:
        return list(values)
    turns = [complex(r) if forward else complex(r).conjugate() for r in _exact_roots(size)]
    if size % 2 == 0:
        even, odd = (_transformed(values[n::2], forward) for n in (0, 1))
        turned = [_turned(o, turns[k]) for k, o in enumerate(odd)]
        sums = [(e[0] + o[0], e[1] + o[1]) for e, o in zip(even, turned)]
        differences = [(e[0] - o[0], e[1] - o[1]) for e, o in zip(even, turned)]
        return sums + differences
    made = []
    for b in range(size):
        real, imaginary = values[0]
        for c in range(1, size):
            term = _turned(values[c], turns[b * c % size])
            real, imaginary = real + term[0], imaginary + term[1]
        made.append((real, imaginary))
    return made


def _exact_roots(size: int) -> list[complex]:
    return list(roots(np.arange(size), size))


def _turned(value: Complex, root: complex) -> Complex:
    """The product with a root of unity."""
    real, imaginary = value
    if root == 1:
        return value
    if root == -1:
        return -real, -imaginary
    if root == -1j:
        return imaginary, -real
    if root == 1j:
        return -imaginary, real
    return (
        real * root.real - imaginary * root.imag,
        real * root.imag + imaginary * root.real,
    )


def _product(x: Complex, y: Complex) -> Complex:
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]
