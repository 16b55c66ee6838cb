"""Hypothesis strategies: shapes, single instructions of every op, and well-typed random modules.

`modules()` grows a module instruction by instruction over a pool of values, so that it shrinks to
few instructions; `instructions_of(opcode)` makes one instruction over leaves. `arguments_for` draws
arrays for a module's parameters.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, postorder
from tfc.hlo.op import OPS
from tfc.hlo.shape import (
    BF16,
    F16,
    F32,
    F64,
    PRED,
    S8,
    S32,
    S64,
    U8,
    U32,
    AnyShape,
    ElementType,
    Shape,
    TupleShape,
)

ELEMENT_TYPES = (F32, S32, PRED, F64, BF16, F16, S8, U8, U32, S64)
ELEMENTWISE = tuple(op.name for op in OPS.values() if op.elementwise)
STATIC = ("broadcast", "reshape", "transpose", "reverse", "slice", "concatenate", "pad", "copy")
MOVEMENT = (*STATIC, "dynamic-slice", "dynamic-update-slice", "gather")
CONTRACTION = ("dot", "reduce")
INDEXED = ("scatter",)
CONTROL = ("tuple", "call", "fusion", "while", "conditional")
OPCODES = (*MOVEMENT, *INDEXED, *CONTRACTION, *CONTROL, *ELEMENTWISE, "iota", "constant")
# Exact in any order of evaluation for small whole numbers, contraction to FMA included.
# XLA's CPU compiler crashes on some dynamic slices without elements, so these stay out.
EXACT = (*STATIC, *CONTRACTION, "iota", "constant", "add", "subtract", "negate", "abs", "maximum",
         "minimum", "compare", "select", "clamp", "and", "or", "xor", "not", "tuple",
         "call", "fusion", "while", "conditional")  # fmt: skip
_REDUCERS = {"pred": ("and", "or"), "float": ("add", "maximum", "minimum")}
_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-40, 3e38, -2.5, 1e-3)

Draw = Callable[[st.SearchStrategy[Any]], Any]


def sizes(zero: bool = True) -> st.SearchStrategy[int]:
    """Dimension sizes: small, with ones and (rarely) zeros, where most mistakes lie."""
    return st.sampled_from([2, 3, 1, 4, 5, *([0] if zero else [])])


@st.composite
def shapes(
    draw: Draw, element_types: Sequence[ElementType] = (F32,), max_rank: int = 4, zero: bool = True
) -> Shape:
    """Array shapes of rank 0 to `max_rank` in the default layout."""
    dims = draw(st.lists(sizes(zero), max_size=max_rank))
    return Shape(draw(st.sampled_from(element_types)), tuple(dims))


def random_array(shape: Shape, rng: np.random.Generator, kind: str = "normal") -> np.ndarray:
    """Values for a shape: "normal" floats, "whole" numbers in -4..4, or "special" mixed in."""
    element_type, dims = shape.element_type, shape.dims
    if element_type.kind == "pred":
        return rng.integers(0, 2, dims).astype(bool)
    low = 0 if element_type.kind == "unsigned" else -4
    if element_type.is_integer or kind == "whole":
        return rng.integers(low, 5, dims).astype(element_type.dtype)
    values = rng.normal(size=dims)
    if kind == "special":
        values = np.where(rng.random(dims) < 0.4, rng.choice(_SPECIAL, dims), values)
    with np.errstate(over="ignore"):
        return values.astype(element_type.dtype)


def arguments_for(module: Module, rng: np.random.Generator, kind: str = "normal") -> list[Any]:
    """One value for each of the entry's parameters; see `random_array` for the kinds."""

    def value(shape: AnyShape) -> Any:
        if isinstance(shape, TupleShape):
            return tuple(value(s) for s in shape.elements)
        return random_array(shape, rng, kind)

    return [value(p.shape) for p in module.entry.parameters]


class _Grower:
    """Makes instructions over a pool of those made before."""

    def __init__(self, draw: Draw, element_types: Sequence[ElementType], max_rank: int, zero: bool):
        self.draw, self.element_types = draw, tuple(element_types)
        self.max_rank, self.zero = max_rank, zero
        self.pool: list[Instruction] = []
        self.parameters: list[Instruction] = []

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self, items: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(items)))

    def leaf(self, shape: Shape) -> Instruction:
        """A parameter, a constant or an iota of that shape."""
        choice = self.integer(0, 3)
        if choice == 0 and shape.rank and shape.element_type.kind != "pred":
            return self.add(builder.iota(shape, self.integer(0, shape.rank - 1)))
        if choice == 1:
            rng = np.random.default_rng(self.integer(0, 99))
            return self.add(builder.constant(random_array(shape, rng, "whole")))
        self.parameters.append(builder.parameter(len(self.parameters), shape))
        return self.add(self.parameters[-1])

    def add(self, made: Instruction) -> Instruction:
        self.pool.append(made)
        return made

    def type_of(self, kinds: frozenset[str]) -> ElementType:
        return self.pick([t for t in self.element_types if t.kind in kinds])

    def operand(self, kinds: frozenset[str], min_rank: int = 0) -> Instruction:
        """A value of one of those kinds: from the pool if there is one, or new."""
        found = [i for i in self.pool if isinstance(i.shape, Shape)
                 and i.shape.element_type.kind in kinds and i.shape.rank >= min_rank
                 and i.shape.size <= 256]  # fmt: skip
        if found and self.integer(0, 3):
            return self.pick(found)
        dims = st.lists(sizes(self.zero), min_size=min_rank, max_size=self.max_rank)
        return self.leaf(Shape(self.type_of(kinds), tuple(self.draw(dims))))

    def like(self, shape: Shape) -> Instruction:
        """A value of that shape: from the pool if there is one, or new."""
        found = [i for i in self.pool if i.shape == shape]
        return self.pick(found) if found and self.integer(0, 3) else self.leaf(shape)

    def scalar(self, element_type: ElementType) -> Instruction:
        return self.like(Shape(element_type))

    def make(self, opcode: str) -> Instruction:
        special = getattr(self, "_" + opcode.replace("-", "_"), None)
        if special is not None:
            return self.add(special())
        op = OPS[opcode]
        first = self.operand(op.domain or ANY)
        rest = [self.like(first.array_shape) for _ in range((op.arity or 1) - 1)]
        return self.add(builder.instruction(opcode, [first, *rest]))

    def _constant(self) -> Instruction:
        return self.leaf(self.draw(shapes(self.element_types, self.max_rank, self.zero)))

    def _iota(self) -> Instruction:
        dims = self.draw(st.lists(sizes(self.zero), min_size=1, max_size=max(self.max_rank, 1)))
        shape = Shape(self.type_of(ANY - {"pred"}), tuple(dims))
        return builder.iota(shape, self.integer(0, shape.rank - 1))

    def _compare(self) -> Instruction:
        first = self.operand(ANY)
        direction = self.pick(["EQ", "NE", "GE", "GT", "LE", "LT"])
        return builder.compare(direction, first, self.like(first.array_shape))

    def _select(self) -> Instruction:
        first = self.operand(ANY)
        dims = first.array_shape.dims if self.integer(0, 1) else ()
        pred = self.like(Shape(PRED, dims))
        return builder.instruction("select", [pred, first, self.like(first.array_shape)])

    def _clamp(self) -> Instruction:
        middle = self.operand(OPS["clamp"].domain)
        shape = middle.array_shape
        ends = [self.like(shape if self.integer(0, 1) else Shape(shape.element_type))
                for _ in range(2)]  # fmt: skip
        return builder.instruction("clamp", [ends[0], middle, ends[1]])

    def _retype(self, opcode: str, to: Callable[[ElementType, ElementType], bool]) -> Instruction:
        x = self.operand(ANY)
        shape = x.array_shape
        target = self.pick([t for t in self.element_types if to(shape.element_type, t)])
        return builder.instruction(opcode, [x], shape=Shape(target, shape.dims))

    def _convert(self) -> Instruction:
        return self._retype("convert", lambda a, b: True)

    def _bitcast_convert(self) -> Instruction:
        return self._retype(
            "bitcast-convert",
            lambda a, b: a == b or (a.bits == b.bits and "pred" not in (a.kind, b.kind)),
        )

    def _broadcast(self) -> Instruction:
        x = self.operand(ANY)
        rank = x.array_shape.rank + self.integer(0, 2)
        chosen = sorted(self.draw(st.permutations(range(rank)))[: x.array_shape.rank])
        dims = [self.draw(sizes(self.zero)) for _ in range(rank)]
        for d, n in zip(chosen, x.array_shape.dims):
            dims[d] = n
        return builder.broadcast(x, dims, chosen)

    def _reshape(self) -> Instruction:
        x = self.operand(ANY)
        dims = list(self.draw(st.permutations(x.array_shape.dims)))
        if len(dims) > 1 and self.integer(0, 1):
            dims[:2] = [dims[0] * dims[1]]
        dims.insert(self.integer(0, len(dims)), 1)
        for at, n in enumerate(dims):
            if n == 4 and self.integer(0, 1):
                dims[at : at + 1] = [2, 2]
                break
        return builder.reshape(x, dims)

    def _transpose(self) -> Instruction:
        x = self.operand(ANY)
        permutation = tuple(self.draw(st.permutations(range(x.array_shape.rank))))
        return builder.instruction("transpose", [x], dimensions=permutation)

    def _some_dimensions(self, rank: int) -> tuple[int, ...]:
        return tuple(d for d in range(rank) if self.integer(0, 1))

    def _reverse(self) -> Instruction:
        x = self.operand(ANY)
        dimensions = self._some_dimensions(x.array_shape.rank)
        return builder.instruction("reverse", [x], dimensions=dimensions)

    def _slice(self) -> Instruction:
        x, bounds = self.operand(ANY), []
        for n in x.array_shape.dims:
            start = self.integer(0, n)
            bounds.append((start, self.integer(start, n), self.integer(1, 3)))
        return builder.instruction("slice", [x], slice=tuple(bounds))

    def _starts(self, rank: int) -> list[Instruction]:
        """Scalar start indices for a dynamic slice, in bounds or not."""
        element_type = self.pick([t for t in self.element_types if t.is_integer] or [S32])
        return [self.scalar(element_type) for _ in range(rank)]

    def _dynamic_slice(self) -> Instruction:
        x = self.operand(ANY, min_rank=1)  # XLA's own forms need one
        sizes = tuple(self.integer(0 if self.zero else min(n, 1), n) for n in x.array_shape.dims)
        return builder.instruction(
            "dynamic-slice", [x, *self._starts(x.array_shape.rank)], dynamic_slice_sizes=sizes
        )

    def _dynamic_update_slice(self) -> Instruction:
        x = self.operand(ANY, min_rank=1)  # XLA's own forms need one
        dims = tuple(self.integer(0 if self.zero else min(n, 1), n) for n in x.array_shape.dims)
        update = self.like(Shape(x.array_shape.element_type, dims))
        return builder.instruction(
            "dynamic-update-slice", [x, update, *self._starts(x.array_shape.rank)]
        )

    def _indices(self, components: int) -> tuple[Instruction, int]:
        """Start indices of a number of components, and the dimension that holds them."""
        element_type = self.pick([t for t in self.element_types if t.is_integer] or [S32])
        batch = [self.draw(sizes(self.zero)) for _ in range(self.integer(0, 2))]
        vector = self.integer(0, len(batch))
        dims = [*batch[:vector], components, *batch[vector:]]
        if components == 1 and self.integer(0, 1):
            vector, dims = len(batch), batch
        return self.like(Shape(element_type, tuple(dims))), vector

    def _windows(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which operand dimensions start indices name, and which windows leave out."""
        named = self.draw(st.permutations(range(rank)))[: self.integer(0, rank)]
        return tuple(named), self._some_dimensions(rank)

    def _gather(self) -> Instruction:
        x = self.operand(ANY)
        dims = x.array_shape.dims
        named, dropped = self._windows(len(dims))
        dropped = tuple(sorted(d for d in dropped if dims[d]))
        indices, vector = self._indices(len(named))
        low = 0 if self.zero else 1
        slices = [1 if d in dropped else self.integer(min(low, n), n) for d, n in enumerate(dims)]
        batch = indices.array_shape.rank - (vector < indices.array_shape.rank)
        kept = len(dims) - len(dropped)
        places = sorted(self.draw(st.permutations(range(batch + kept)))[:kept])
        return builder.instruction(
            "gather", [x, indices], offset_dims=tuple(places), collapsed_slice_dims=dropped,
            start_index_map=named, index_vector_dim=vector, slice_sizes=tuple(slices),
        )  # fmt: skip

    def _scatter(self) -> Instruction:
        x = self.operand(ANY - {"pred"})
        dims = x.array_shape.dims
        named, dropped = self._windows(len(dims))
        dropped = tuple(sorted(dropped))
        indices, vector = self._indices(len(named))
        batch = [n for d, n in enumerate(indices.array_shape.dims) if d != vector]
        inside = [self.integer(0, n) for d, n in enumerate(dims) if d not in dropped]
        rank = len(batch) + len(inside)
        places = sorted(self.draw(st.permutations(range(rank)))[: len(inside)])
        windows, others = iter(inside), iter(batch)
        update = tuple(next(windows if d in places else others) for d in range(rank))
        return builder.instruction(
            "scatter", [x, indices, self.like(Shape(x.array_shape.element_type, update))],
            update_window_dims=tuple(places), inserted_window_dims=dropped,
            scatter_dims_to_operand_dims=named, index_vector_dim=vector,
            to_apply=builder.scalar_computation("add", x.array_shape.element_type),
        )  # fmt: skip

    def _concatenate(self) -> Instruction:
        x = self.operand(ANY, min_rank=1)
        shape, parts = x.array_shape, [x]
        dimension = self.integer(0, shape.rank - 1)
        for _ in range(self.integer(0, 2)):
            dims = list(shape.dims)
            dims[dimension] = self.draw(sizes(self.zero))
            parts.append(self.like(Shape(shape.element_type, tuple(dims))))
        return builder.instruction("concatenate", parts, dimensions=(dimension,))

    def _pad(self) -> Instruction:
        x, padding = self.operand(ANY, min_rank=1), []  # XLA has no text for a scalar's padding
        for n in x.array_shape.dims:
            low, high, interior = self.integer(-2, 3), self.integer(-2, 3), self.integer(0, 2)
            size = n + max(n - 1, 0) * interior + low + high
            padding.append((low, high - min(size, 0), interior))
        value = self.scalar(x.array_shape.element_type)
        return builder.instruction("pad", [x, value], padding=tuple(padding))

    def _reduce(self) -> Instruction:
        x = self.operand(ANY)
        element_type = x.array_shape.element_type
        reducer = self.pick(_REDUCERS.get(element_type.kind, ("add", "maximum", "and", "xor")))
        init = _identity(reducer, element_type)
        dimensions = self._some_dimensions(x.array_shape.rank)
        return builder.reduce(
            x, init, dimensions, builder.scalar_computation(reducer, element_type)
        )

    def _dot(self) -> Instruction:
        lhs = self.operand(ANY)
        dims = lhs.array_shape.dims
        roles = [self.pick("bkf") for _ in dims]
        batch = tuple(d for d, r in enumerate(roles) if r == "b")
        contracting = tuple(d for d, r in enumerate(roles) if r == "k")
        free = [self.draw(sizes(self.zero)) for _ in range(self.integer(0, 1))]
        # The right operand's dimensions in any order: batch numbers need not come first.
        wanted = [*batch, *contracting, *(-1 - i for i in range(len(free)))]
        order = self.draw(st.permutations(wanted))
        other = tuple(dims[d] if d >= 0 else free[-1 - d] for d in order)
        rhs = self.like(Shape(lhs.array_shape.element_type, other))
        return builder.instruction(
            "dot", [lhs, rhs], lhs_batch_dims=batch, lhs_contracting_dims=contracting,
            rhs_batch_dims=tuple(order.index(d) for d in batch),
            rhs_contracting_dims=tuple(order.index(d) for d in contracting),
        )  # fmt: skip

    def _tuple(self) -> Instruction:
        elements = [self.operand(ANY) for _ in range(self.integer(1, 3))]
        made = self.add(builder.instruction("tuple", elements))
        return builder.instruction(
            "get-tuple-element", [made], index=self.integer(0, len(elements) - 1)
        )

    def _function(self, shape: Shape) -> Computation:
        """x -> copy, reverse or x∘x of one shape."""
        x = builder.parameter(0, shape, "x")
        match self.integer(0, 2):
            case 0:
                result = builder.instruction("copy", [x])
            case 1:
                result = builder.instruction("reverse", [x], dimensions=tuple(range(shape.rank)))
            case _:
                result = builder.instruction("maximum", [x, x])
        return Computation.make("function", [x], result)

    def _call(self) -> Instruction:
        x = self.operand(ANY)
        return builder.instruction("call", [x], to_apply=self._function(x.array_shape))

    def _fusion(self) -> Instruction:
        x = self.operand(ANY)
        calls = self._function(x.array_shape)
        return builder.instruction("fusion", [x], shape=x.shape, kind="kLoop", calls=calls)

    def _conditional(self) -> Instruction:
        x = self.operand(ANY)
        branches = [self._function(x.array_shape) for _ in range(2)]
        if self.integer(0, 1):
            index = self.scalar(S32)
            return builder.instruction(
                "conditional", [index, x, x], branch_computations=tuple(branches)
            )
        return builder.instruction(
            "conditional", [self.scalar(PRED), x, x],
            true_computation=branches[0], false_computation=branches[1],
        )  # fmt: skip

    def _while(self) -> Instruction:
        x = self.operand(ANY)
        zero = builder.constant(0, S32)
        init = builder.instruction("tuple", [zero, x])
        state = builder.parameter(0, init.shape, "state")
        count, value = (
            builder.instruction("get-tuple-element", [state], index=i) for i in range(2)
        )
        test = builder.compare("LT", count, builder.constant(self.integer(0, 3), S32))
        step = builder.binary("add", count, builder.constant(1, S32))
        called = builder.instruction("call", [value], to_apply=self._function(x.array_shape))
        body = Computation.make("body", [state], builder.instruction("tuple", [step, called]))
        loop = builder.instruction(
            "while", [init], condition=Computation.make("condition", [state], test), body=body
        )
        return builder.instruction("get-tuple-element", [loop], index=1)


ANY = frozenset({"pred", "signed", "unsigned", "float"})


def _identity(reducer: str, element_type: ElementType) -> Instruction:
    dtype = element_type.dtype
    match reducer:
        case "add" | "or" | "xor":
            value: Any = 0
        case "and":
            value = True if element_type.kind == "pred" else -1
        case _:
            sign = -1 if reducer == "maximum" else 1
            value = sign * np.inf
            if element_type.is_integer:
                limits = np.iinfo(dtype)
                value = limits.min if reducer == "maximum" else limits.max
    return builder.constant(np.array(value).astype(dtype))


def available(opcodes: Sequence[str], element_types: Sequence[ElementType]) -> list[str]:
    """The opcodes that have a meaning for at least one of the element types."""
    kinds = {t.kind for t in element_types}
    return [o for o in opcodes if not OPS[o].domain or OPS[o].domain & kinds]


@st.composite
def modules(
    draw: Draw,
    max_instructions: int = 10,
    element_types: Sequence[ElementType] = (F32, S32, PRED),
    opcodes: Sequence[str] = OPCODES,
    max_rank: int = 3,
    zero: bool = True,
) -> Module:
    """A well-typed module of about `max_instructions` at most.

    The root is a tuple of all values that nothing else uses, or the last one; what it then does
    not need is dead code, which is kept.

    Args:
        opcodes: the ops to draw from; those without a meaning for `element_types` are left out.
        zero: whether dimensions of size zero occur.
    """
    grower = _Grower(draw, element_types, max_rank, zero)
    # Movement, contractions and control come as often as the many elementwise ops.
    usable = [o for o in available(opcodes, element_types)
              for _ in range(1 if OPS[o].elementwise else 3)]  # fmt: skip
    for opcode in draw(st.lists(st.sampled_from(usable), min_size=1, max_size=max_instructions)):
        grower.make(opcode)
    root = grower.pool[-1]
    if draw(st.integers(0, 2)):
        used = {o for i in grower.pool for o in i.operands}
        results = [i for i in grower.pool if i not in used]
        root = builder.instruction("tuple", results) if len(results) > 1 else results[0]
    order = postorder([*grower.parameters, *grower.pool, root])
    return Module("random", Computation("main", tuple(grower.parameters), tuple(order), root))


@st.composite
def instructions_of(
    draw: Draw, opcode: str, element_types: Sequence[ElementType] = ELEMENT_TYPES
) -> Module:
    """A module whose root is one instruction of an op, over parameters and constants."""
    grower = _Grower(draw, element_types, 3, True)
    root = grower.make(opcode)
    return Module("single", Computation.make("main", grower.parameters, root))
