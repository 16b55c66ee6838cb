"""Random programs along rows: what row fusion is for, and things that it must not take for it."""

import numpy as np

from tfc.hlo import Module, builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import BF16, F16, F32, F64, PRED, S32, ElementType, Shape

UNARY = ("negate", "abs", "exponential", "tanh", "logistic", "sqrt", "sign")
BINARY = ("add", "subtract", "multiply", "maximum", "divide")
FLOATS = (F32, F64, BF16, F16)


class RowProgram:
    """Grows a program over arrays of rows (`full`), of one value for each row (`row`), and others.

    Everything is of one float type, and positive enough that few results are NaN.
    """

    def __init__(self, rng: np.random.Generator, element_type: ElementType):
        self.rng, self.type = rng, element_type
        kept = [int(n) for n in rng.integers(1, 5, rng.integers(0, 3))]
        removed = [int(n) for n in rng.choice([1, 2, 3, 7, 8, 16, 33, 65], rng.integers(1, 3))]
        if rng.random() < 0.05:
            removed = [5000]  # longer than a sum is taken in one piece
        self.dims, self.rank = (*kept, *removed), len(kept)
        self.parameters: list[Instruction] = []
        self.full = [self.parameter(self.dims), self.parameter(self.dims)]
        self.row: list[Instruction] = []

    def parameter(self, dims: tuple[int, ...], element_type: ElementType | None = None):
        shape = Shape(element_type or self.type, dims)
        self.parameters.append(builder.parameter(len(self.parameters), shape))
        return self.parameters[-1]

    def pick(self, some: list[Instruction]) -> Instruction:
        return some[max(self.rng.integers(len(some)), self.rng.integers(len(some)))]

    def reduce(self) -> None:
        """A reduction of each row; of a sum, f32 halves overflow late."""
        x, dimensions = self.pick(self.full), range(self.rank, len(self.dims))
        opcode = str(self.rng.choice(["add", "maximum", "minimum", "argmax"]))
        if opcode == "argmax":
            self.argmax(x)
            return
        init = {"add": 0.0, "maximum": -np.inf, "minimum": np.inf}[opcode]
        computation = builder.scalar_computation(opcode, self.type)
        constant = builder.constant(init, self.type)
        self.row.append(builder.reduce(x, constant, list(dimensions), computation))

    def argmax(self, x: Instruction) -> None:
        last = len(self.dims) - 1
        place = builder.iota(Shape(S32, self.dims), last)
        inits = [builder.constant(-np.inf, self.type), builder.constant(0, S32)]
        reduce = builder.instruction(
            "reduce", [x, place, *inits], dimensions=tuple(range(self.rank, last + 1)),
            to_apply=later_maximum(self.type),
        )  # fmt: skip
        values = [builder.instruction("get-tuple-element", [reduce], index=n) for n in range(2)]
        self.row += [values[0], builder.convert(values[1], self.type)]

    def elementwise(self, some: list[Instruction]) -> None:
        kind = self.rng.integers(4)
        x, y = self.pick(some), self.pick(some)
        if kind == 0:
            some.append(builder.unary(str(self.rng.choice(UNARY)), x))
        elif kind == 1:
            condition = builder.compare("LT", x, y)
            some.append(builder.instruction("select", [condition, x, y]))
        elif kind == 2:
            other = builder.convert(x, self.rng.choice(np.array([F32, F64, BF16], object)))
            some.append(builder.convert(other, self.type))
        else:
            some.append(builder.binary(str(self.rng.choice(BINARY)), x, y))

    def repeat(self) -> None:
        """A value of rows, a vector along rows, or a mask for some dimensions, repeated."""
        kind = self.rng.integers(4)
        if kind == 0 or not self.row:
            chosen = sorted(d for d in range(len(self.dims)) if self.rng.random() < 0.5)
            x = self.parameter(tuple(self.dims[d] for d in chosen))
            self.full.append(builder.broadcast(x, self.dims, chosen))
            return
        x = self.pick(self.row)
        if kind == 1:  # as keepdims=True is written
            x = builder.reshape(x, (*self.dims[: self.rank], *[1] * (len(self.dims) - self.rank)))
            x = builder.unary("negate", x)
            x = builder.reshape(x, self.dims[: self.rank])
        self.full.append(builder.broadcast(x, self.dims, range(self.rank)))

    def pick_element(self) -> None:
        """One element of each row: at a fixed place, or at a place that the data says."""
        x, dims = self.pick(self.full), self.dims
        if self.rng.random() < 0.5:
            at = [int(self.rng.integers(d)) for d in dims[self.rank :]]
            bounds = [(0, d, 1) for d in dims[: self.rank]] + [(i, i + 1, 1) for i in at]
            picked = builder.instruction("slice", [x], slice=tuple(bounds))
            self.row.append(builder.reshape(picked, dims[: self.rank]))
            return
        batch, last = tuple(range(self.rank)), len(dims) - 1
        indices = self.parameter((*dims[: self.rank], len(dims) - self.rank), S32)
        removed = tuple(range(self.rank, last + 1))
        picked = builder.instruction(
            "gather", [x, indices], offset_dims=(), collapsed_slice_dims=removed,
            start_index_map=removed, operand_batching_dims=batch,
            start_indices_batching_dims=batch, index_vector_dim=self.rank,
            slice_sizes=(1,) * len(dims),
        )  # fmt: skip
        self.row.append(picked)

    def rearrange(self) -> None:
        """Movement of full arrays, some of which keeps rows and some of which does not."""
        x, kind = self.pick(self.full), self.rng.integers(4)
        if kind == 0:
            flat = builder.reshape(x, (int(np.prod(self.dims)),))
            self.full.append(builder.reshape(builder.unary("negate", flat), self.dims))
        elif kind == 1:
            dimensions = (int(self.rng.integers(len(self.dims))),)
            self.full.append(builder.instruction("reverse", [x], dimensions=dimensions))
        elif kind == 2:
            order = tuple(int(d) for d in self.rng.permutation(len(self.dims)))
            back = tuple(int(d) for d in np.argsort(order))
            moved = builder.instruction("transpose", [x], dimensions=order)
            moved = builder.unary("tanh", moved)
            self.full.append(builder.instruction("transpose", [moved], dimensions=back))
        else:  # a reduction along other dimensions, which must not become part of the rows
            d = int(self.rng.integers(len(self.dims)))
            rest = [n for n in range(len(self.dims)) if n != d]
            total = builder.reduce(
                x, builder.constant(-np.inf, self.type), [d],
                builder.scalar_computation("maximum", self.type),
            )  # fmt: skip
            self.full.append(builder.broadcast(total, self.dims, rest))

    def grow(self, steps: int) -> Module:
        """The program after so many random steps, with some of its values as results."""
        for _ in range(steps):
            step = self.rng.random()
            if step < 0.2 or not self.row:
                self.reduce()
            elif step < 0.45:
                self.repeat()
            elif step < 0.7:
                self.elementwise(self.full)
            elif step < 0.8:
                self.elementwise(self.row)
            elif step < 0.9:
                self.rearrange()
            else:
                self.pick_element()
        results = [self.full[-1], self.row[-1]]
        results += [v for v in (*self.full, *self.row) if self.rng.random() < 0.1]
        root = builder.instruction("tuple", list(dict.fromkeys(results)))
        return Module("rows", Computation.make("main", self.parameters, root))


def later_maximum(element_type: ElementType) -> Computation:
    """(value, place) of the larger of two, of the one at the lower place if they are equal."""
    shapes = [Shape(element_type), Shape(S32)] * 2
    a, i, b, j = parameters = [builder.parameter(n, s) for n, s in enumerate(shapes)]
    nan = builder.compare("NE", a, a)
    first = builder.binary("or", builder.compare("GT", a, b), nan)
    tie = builder.binary("and", builder.compare("EQ", a, b), builder.compare("LT", i, j))
    both_nan = builder.binary("and", nan, builder.compare("NE", b, b))
    second = builder.binary("and", first, builder.binary("or", builder.compare("LT", i, j),
                            builder.instruction("not", [both_nan])))  # fmt: skip
    keep = builder.binary("or", second, tie)
    root = builder.instruction("tuple", [
        builder.instruction("select", [keep, a, b]), builder.instruction("select", [keep, i, j]),
    ])  # fmt: skip
    return Computation.make("later_maximum", parameters, root)


def row_program(seed: int, element_type: ElementType = F32, steps: int = 14) -> Module:
    """A random program; equal seeds give equal programs."""
    return RowProgram(np.random.default_rng(seed), element_type).grow(steps)


__all__ = ["FLOATS", "PRED", "RowProgram", "later_maximum", "row_program"]
