"""Kernels: which instruction becomes one, and what it does around the elements.

A kernel computes the value of one instruction (a fusion, or an op left by itself) from operand
buffers into result buffers. Its body is written once for every backend: the backend supplies
`Loops`, which runs a body for each point of a space (a loop nest on CPU, a grid on GPU), and the
elements come from `elements.py`.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

from tfc.backends.mlir.arithmetic.value import Scalar, constant, convert
from tfc.backends.mlir.elements import Buffer, Elements, Indices, memref_type
from tfc.backends.mlir.loops import LoopBody, for_loop
from tfc.backends.mlir.provider import ir
from tfc.backends.mlir.spaces import (
    Space,
    access_positions,
    bind,
    loop_space,
    make_space,
    merge_loops,
    pieces,
)
from tfc.hlo.index_maps import Index, variable
from tfc.hlo.ir import Attributes, Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.ops.contraction import dot_dimensions, free_dimensions
from tfc.hlo.ops.sum_types import kernel_sum_type
from tfc.hlo.shape import PRED, U8, Shape, TupleShape, leaves
from tfc.hlo.structure import structure
from tfc.hlo.traits import Cost
from tfc.passes.analysis.aliases import is_alias
from tfc.passes.analysis.called import kernel_loop
from tfc.passes.analysis.products import product_in, root_index

Body = Callable[[Sequence[Any]], None]


class Loops(Protocol):
    """What a backend gives a kernel: a way to run a body for each point of a space."""

    @property
    def flat(self) -> bool:
        """Whether a space of one dimension is run best, as by a grid."""
        ...

    def each(self, sizes: Sequence[int], body: Body) -> None:
        """Emit code that runs `body` with every combination of indices, in any order."""
        ...

    def store(self, work: "Stores", points: Sequence[Any]) -> None:
        """Emit the loops of `work`, but for those whose points are given: they are outermost."""
        ...


@dataclass(frozen=True)
class Kernel:
    """What one kernel computes: a computation from operand arrays to result arrays.

    `operands` are the instructions whose values it reads, in the order of the computation's
    parameters; `key` is equal for kernels whose code is the same. `in_place` says which operands
    lie where a result does, as pairs of their numbers: these are no arguments of the kernel, since
    the result's buffer stands for both. `panels` says which operands lie in panels of how many
    columns, as a backend's tiles read them, rather than in their layouts.
    """

    computation: Computation
    operands: tuple[Instruction, ...]
    results: tuple[Shape, ...]
    in_place: tuple[tuple[int, int], ...] = ()
    panels: tuple[tuple[int, int], ...] = ()

    @property
    def root(self) -> Instruction:
        """The instruction whose value the kernel stores."""
        return self.computation.root

    @property
    def values(self) -> tuple[Instruction, ...]:
        """The instructions whose values the kernel stores: the root, or the parts of its tuple."""
        return self.root.operands if self.root.opcode == "tuple" else (self.root,)

    @cached_property
    def product(self) -> Instruction | None:
        """The dot or convolution that is part of the kernel, or all of it."""
        return product_in(self.computation)

    @cached_property
    def loop(self) -> Instruction | None:
        """The while that the kernel runs as a whole, if it does."""
        return kernel_loop(self.computation)

    @property
    def opcode(self) -> str:
        """What its function is called after."""
        return self.root.opcode if self.loop is None else "while"

    @property
    def operand_shapes(self) -> tuple[Shape, ...]:
        """The shapes of the operand buffers, with the layouts they have in memory."""
        return tuple(o.array_shape for o in self.operands)

    @cached_property
    def key(self) -> Hashable:
        """Structure without names and metadata."""
        shapes = self.operand_shapes, self.results
        return structure(self.computation), *shapes, self.in_place, self.panels

    @property
    def arguments(self) -> list[int]:
        """The numbers of the operands that are arguments."""
        inside = {operand for operand, _ in self.in_place}
        return [n for n in range(len(self.operands)) if n not in inside]

    def buffers(self, memrefs: Sequence[Any]) -> list[Buffer]:
        """The buffers of the operands and then the results, of a function's arguments."""
        arguments = self.arguments
        held = dict(zip(arguments, memrefs))
        results = memrefs[len(arguments) :]
        held.update((operand, results[result]) for operand, result in self.in_place)
        operands = [Buffer(held[n], shape) for n, shape in enumerate(self.operand_shapes)]
        return operands + [Buffer(m, shape) for m, shape in zip(results, self.results)]

    def overwrites(self, operand: Instruction) -> bool:
        """True if a parameter of the computation lies where a result does."""
        return any(self.computation.parameters[n] is operand for n, _ in self.in_place)


def kernel_of(instruction: Instruction) -> Kernel:
    """The kernel that computes an instruction; its scalar constants become part of the code."""
    results = tuple(leaves(instruction.shape))
    if instruction.opcode == "fusion":
        return Kernel(instruction["calls"], instruction.operands, results)
    operands = instruction.operands
    # Tiled kernels read both operands from memory, each by itself.
    separate = instruction.opcode in ("dot", "convolution")
    if not separate:
        operands = tuple(dict.fromkeys(o for o in operands if not is_inline_constant(o)))
    parameters = [
        Instruction("parameter", (), o.shape, Attributes(number=n), f"p{n}")
        for n, o in enumerate(operands)
    ]
    if separate:
        root = instruction.with_(operands=tuple(parameters))
    else:
        inner = dict(zip(operands, parameters))
        root = instruction.with_(operands=tuple(inner.get(o, o) for o in instruction.operands))
    return Kernel(Computation.make(instruction.opcode, parameters, root), operands, results)


def is_inline_constant(instruction: Instruction) -> bool:
    """True for constants that are written into code rather than read from memory."""
    return instruction.opcode == "constant" and instruction["literal"].is_splat()


def is_silent(instruction: Instruction) -> bool:
    """True for instructions without code of their own: their values lie in buffers already."""
    return op_named(instruction.opcode).cost is Cost.FREE or is_alias(instruction)


def buffer_types(kernel: Kernel) -> list[Any]:
    """The memref types of a kernel's arguments and results: flat, with static sizes."""
    shapes = [kernel.operands[n].array_shape for n in kernel.arguments]
    return [memref_type(s) for s in (*shapes, *kernel.results)]


def byte_types(kernel: Kernel) -> list[Any]:
    """The same as memory of bytes, for code that puts arrays of several types there."""
    shapes = [kernel.operands[n].array_shape for n in kernel.arguments]
    return [memref_type(Shape(U8, (s.byte_size,))) for s in (*shapes, *kernel.results)]


@dataclass(frozen=True)
class Stores:
    """Several values of a kernel that one pass over their elements stores.

    first_free: the number of the outermost loop of the space whose points belong together.
    """

    kernel: Kernel
    inputs: Mapping[Instruction, Buffer | Scalar]
    space: Space
    values: Sequence[Instruction]
    results: Sequence[Buffer]
    first_free: int = 0

    def elements(self, scope: Elements) -> list[Scalar]:
        """One element of each value: all of them before any is stored, as a result may lie where
        an operand does."""
        return [scope.element(value, self.space.index) for value in self.values]

    def emit_each(self, loops: Loops, points: Sequence[Any]) -> None:
        """Store element after element, in the loops from number `len(points)` on."""

        def body(rest: Sequence[Any]) -> None:
            scope = Elements(self.inputs, self.space.bind([*points, *rest]))
            for element, result in zip(self.elements(scope), self.results):
                scope.store(element, result, self.space.index)

        loops.each(self.space.sizes[len(points) :], body)


def emit_elementwise(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
    """A kernel whose root is elementwise or data movement: one element stored at each point."""
    store_elements(kernel, buffers, kernel.root, buffers[-1], loops)


def store_elements(
    kernel: Kernel, buffers: Sequence[Buffer], value: Instruction, result: Buffer, loops: Loops
) -> None:
    """Store every element of an instruction of the kernel's computation into a buffer."""
    store_together(kernel, buffers, [value], [result], loops)


def store_together(
    kernel: Kernel,
    buffers: Sequence[Buffer],
    values: Sequence[Instruction],
    results: Sequence[Buffer],
    loops: Loops,
) -> None:
    """Store several instructions of the same dimensions and layout, an element of each at a time.

    Loops without conditions run fastest: each piece of a concatenate, and the edges of a pad, have
    loops of their own, inside those over the dimensions that are outer to them.
    """
    first, root = results[0], several(values)
    dims, order = first.shape.dims, first.shape.layout.minor_to_major[::-1]
    parameters = kernel.computation.parameters
    whole = [[(0, size)] for size in dims]
    ranges = whole if loops.flat else pieces(parameters, root, dims)
    # The last dimension in pieces: the loops from here on belong to one piece.
    last = max((p for p, d in enumerate(order) if len(ranges[d]) > 1), default=0)

    def outer(position: int, box: dict[int, tuple[int, int]], points: list[Any]) -> None:
        for low, high in ranges[order[position]]:
            inner = {**box, order[position]: (low, high)}
            if position < last:
                loops.each(
                    [high - low], lambda p, inner=inner: outer(position + 1, inner, [*points, *p])
                )
            else:
                leaf(inner, points)

    def leaf(box: dict[int, tuple[int, int]], points: list[Any]) -> None:
        part = [box.get(d, (0, size)) for d, size in enumerate(dims)]
        if loops.flat:
            space = make_space(dims, [order])
        else:
            space = merge_loops(
                dims, order, range(1, last + 1),
                lambda index: access_positions(parameters, root, index), first.position, part,
            )  # fmt: skip
        loops.store(Stores(kernel, sources(kernel, buffers), space, values, results, last), points)

    if order:
        outer(0, {}, [])
    else:
        leaf({}, [])


def several(values: Sequence[Instruction]) -> Instruction:
    """A tuple of instructions."""
    return Instruction("tuple", tuple(values), TupleShape(tuple(v.shape for v in values)))


def sources(kernel: Kernel, buffers: Sequence[Buffer]) -> dict[Instruction, Buffer | Scalar]:
    """The buffer of each of the kernel's parameters."""
    return dict(zip(kernel.computation.parameters, buffers))


def emit_dot(kernel: Kernel, buffers: Sequence[Buffer], loops: Loops) -> None:
    """A dot as one sum for each result element: any element type, any dimension numbers.

    Floats accumulate in f32 or f64. This is the form for element types without a tiled kernel.
    """
    root, space = product_space(kernel, loops)
    lhs, rhs = root.operands
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = dot_dimensions(root.attributes)
    sizes = [lhs.array_shape.dims[d] for d in lhs_contracting]
    reduced = [variable(f"k{n}", size) for n, size in enumerate(sizes)]
    lhs_free = free_dimensions(lhs.array_shape.rank, lhs_batch, lhs_contracting)
    rhs_free = free_dimensions(rhs.array_shape.rank, rhs_batch, rhs_contracting)
    batch, rest = space.index[: len(lhs_batch)], space.index[len(lhs_batch) :]
    lhs_index = _place([(lhs_batch, batch), (lhs_free, rest), (lhs_contracting, reduced)])
    rhs_index = _place(
        [(rhs_batch, batch), (rhs_free, rest[len(lhs_free) :]), (rhs_contracting, reduced)]
    )
    stored = root.array_shape.element_type
    wide = kernel_sum_type(stored, [o.array_shape.element_type for o in root.operands])
    at = root_index(kernel.computation, space.index)

    def body(points: Sequence[Any]) -> None:
        outer = Elements(sources(kernel, buffers), space.bind(points))

        def step(inner: Elements, total: Sequence[Scalar]) -> Sequence[Scalar]:
            x, y = inner.element(lhs, lhs_index), inner.element(rhs, rhs_index)
            return [add_product(total[0], x, y)]

        (total,) = nest(outer, reduced, sizes, [constant(wide, 0)], step)
        finish_element(kernel, buffers, outer, convert(total, stored), at)

    loops.each(space.sizes, body)


def product_space(kernel: Kernel, loops: Loops) -> tuple[Instruction, Space]:
    """The product of a kernel, and loops over its elements."""
    product = kernel.product
    assert product is not None
    sums = Buffer(None, product.array_shape)
    return product, loop_space(kernel.computation, product, sums, flat=loops.flat, elements=False)


def finish_element(
    kernel: Kernel, buffers: Sequence[Buffer], scope: Elements, total: Scalar, index: Indices
) -> None:
    """Store the results' elements at an index, which are made from an element of the product.

    All are made before any is stored, as a result may lie where an operand does.
    """
    assert kernel.product is not None
    scope = scope.with_value(kernel.product, total)
    elements = [scope.element(value, index) for value in kernel.values]
    for element, result in zip(elements, buffers[-len(elements) :]):
        scope.store(element, result, index)


def add_product(total: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """The sum with one more product, in the sum's type; of pred, whether any pair is true."""
    wide = total.element_type
    product = multiply_freely(convert(x, wide), convert(y, wide))
    return total | product if wide is PRED else add_freely(total, product)


def _place(parts: Sequence[tuple[Sequence[int], Sequence[Any]]]) -> Indices:
    """An index whose given dimensions have the given values; extra values are ignored."""
    placed = {d: i for dimensions, index in parts for d, i in zip(dimensions, index)}
    return tuple(placed[d] for d in range(len(placed)))


class Scope(Protocol):
    """What gives elements at a point: `Elements`, or those of several points."""

    def with_variables(self, **variables: Any) -> Self:
        """The same with further index variables."""
        ...


SomeScope = TypeVar("SomeScope", bound=Scope)
Step = Callable[[SomeScope, Sequence[Scalar]], Sequence[Scalar]]
LoopForm = Callable[[int, LoopBody, Sequence[Scalar]], Sequence[Scalar]]


def plain_loop(size: int, body: LoopBody, carried: Sequence[Scalar]) -> Sequence[Scalar]:
    """One loop over 0 … size-1."""
    return for_loop(0, size, 1, body, carried)


def nest(
    scope: SomeScope,
    variables: Sequence[Index],
    sizes: Sequence[int],
    start: Sequence[Scalar],
    step: Step[SomeScope],
    innermost: LoopForm = plain_loop,
) -> Sequence[Scalar]:
    """Sequential loops, the last variable fastest, that carry scalars through `step`.

    Args:
        innermost: what makes the last of the loops.
    """
    if not variables:
        return step(scope, start)

    def body(point: Any, carried: Sequence[Scalar]) -> Sequence[Scalar]:
        inner = scope.with_variables(**bind(variables[:1], [point]))
        return nest(inner, variables[1:], sizes[1:], carried, step, innermost)

    form = innermost if len(variables) == 1 else plain_loop
    return form(sizes[0], body, start)


def add_freely(x: Scalar, y: Scalar) -> Scalar:
    """x + y of a sum whose order is free: LLVM may split it over vector lanes (RED-3), and fuse it
    with the products of a dot."""
    if x.element_type.kind not in ("float", "complex"):
        return x + y
    return _reassociable("arith.addf" if x.element_type.is_float else "complex.add", x, y)


def multiply_freely(x: Scalar, y: Scalar) -> Scalar:
    """x * y of a product whose order is free."""
    if x.element_type.kind not in ("float", "complex"):
        return x * y
    return _reassociable("arith.mulf" if x.element_type.is_float else "complex.mul", x, y)


def of_any_zero(name: str, x: Scalar, y: Scalar) -> Scalar:
    """A maximum or minimum of floats, by its name in MLIR; a zero may have either sign."""
    return _flagged(name, "nsz", x, y)


def _reassociable(name: str, x: Scalar, y: Scalar) -> Scalar:
    return _flagged(name, "reassoc,contract", x, y)


def _flagged(name: str, allowed: str, x: Scalar, y: Scalar) -> Scalar:
    flags = {"fastmath": ir.Attribute.parse(f"#arith.fastmath<{allowed}>")}
    made = ir.Operation.create(name, [x.value.type], [x.value, y.value], flags)
    return Scalar(made.result, x.element_type)
