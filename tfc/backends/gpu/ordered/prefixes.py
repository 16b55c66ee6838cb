"""Running totals whose order of combining is free: which kernels have them, and of what.

    after[p] = before[p] ∘ element[p],   before[p + 1] = after[p],   before[0] = init

A cumulative reduce-window has them always. A scan has them where each of its carried values is
combined, by an operation that gives the same bits in any grouping, with what does not depend on
carried values; what it stacks may then be computed from the total before a step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.backends.mlir.accumulations import combination
from tfc.backends.mlir.arithmetic.elemental import emit_element
from tfc.backends.mlir.arithmetic.value import Scalar
from tfc.backends.mlir.elements import Buffer, Elements, Indices
from tfc.backends.mlir.kernels import Kernel
from tfc.backends.mlir.loops import when
from tfc.backends.mlir.scalar_computation import emit_scalar, emit_scalar_computation
from tfc.hlo.ir import Computation, Instruction, postorder
from tfc.hlo.op import op_named
from tfc.hlo.ops.mapped import is_pointwise_scan, scan_parts
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import ElementType, Shape

Scalars = Sequence[Scalar]
_EXACT = ("pred", "signed", "unsigned")
_CHEAP = 3  # instructions of a computation that may be emitted many times


@dataclass(frozen=True)
class Line:
    """What is walked along, known before there is any code.

    shape: the array that is walked over, in the layout that says in which order.
    dimension, reverse: along which dimension, and whether from its end.
    types: of the totals.
    cheap: whether to combine takes a few instructions.
    """

    shape: Shape
    dimension: int
    reverse: bool
    types: tuple[ElementType, ...]
    cheap: bool

    @property
    def length(self) -> int:
        """The number of steps."""
        return self.shape.dims[self.dimension]

    @property
    def order(self) -> list[int]:
        """The other dimensions, major first."""
        return [d for d in self.shape.layout.minor_to_major[::-1] if d != self.dimension]

    @property
    def count(self) -> int:
        """How many lines there are."""
        return self.shape.size // max(self.length, 1)

    def place(self, index: Indices) -> Indices:
        """Where in the array a step is, given its number as the index along the dimension."""
        if not self.reverse:
            return tuple(index)
        last = self.length - 1
        return tuple(last - i if d == self.dimension else i for d, i in enumerate(index))


@dataclass(frozen=True)
class Prefixes:
    """What a kernel does at each place, given by functions of (scope, index of the array …).

    init: the total before the first element.
    element: what a place adds to the total.
    combine: totals of two stretches of which the second follows the first.
    exclusive: whether `store` takes the total before the place, else the one with it.
    store: (scope, index, total, whether it is the last place) stores what the place gives.
    """

    init: Callable[[Elements, Indices], Scalars]
    element: Callable[[Elements, Indices], Scalars]
    combine: Callable[[Scalars, Scalars], Scalars]
    exclusive: bool
    store: Callable[[Elements, Indices, Scalars, Any], None]


def line_of(kernel: Kernel) -> Line | None:
    """The line of a kernel of running totals; None if the kernel is of another kind."""
    root = kernel.root
    types = tuple(s.element_type for s in kernel.results)
    if root.opcode == "reduce-window":
        running = window_of(root).cumulative(root.operands[0].array_shape.dims)
        cheap = _is_cheap(root["to_apply"])
        return Line(kernel.results[0], *running, types, cheap) if running else None
    if root.opcode != "scan" or not is_pointwise_scan(root) or not _added(root):
        return None
    _, outputs, dimension = scan_parts(root)
    shape = kernel.results[0] if outputs else root.operands[0].array_shape
    reverse = root.attributes.get("is_reverse", False)
    return Line(shape, dimension, reverse, types[outputs:], _is_cheap(root["to_apply"]))


def _is_cheap(computation: Computation) -> bool:
    return len(computation.instructions) - len(computation.parameters) <= _CHEAP


def _added(root: Instruction) -> list[tuple[str, Instruction]]:
    """For each carried value of a scan the operation, and what it combines the value with."""
    count, outputs, _ = scan_parts(root)
    step = root["to_apply"]
    carried = step.parameters[count:]
    leaves = step.root.operands if step.root.opcode == "tuple" else (step.root,)
    found = []
    for own, new in zip(carried, leaves[outputs:]):
        others = [o for o in new.operands if o is not own]
        if not op_named(new.opcode).folds or len(others) != 1 or len(new.operands) != 2:
            return []
        exact = new.array_shape.element_type.kind in _EXACT or new.opcode in ("maximum", "minimum")
        free = not set(carried) & set(postorder(others))
        if not free or not (exact or root.attributes.get("is_associative", False)):
            return []
        found.append((new.opcode, others[0]))
    return found


def prefixes_of(kernel: Kernel, buffers: Sequence[Buffer]) -> Prefixes:
    """What a kernel that has a line does at each place."""
    return (_of_window if kernel.root.opcode == "reduce-window" else _of_scan)(kernel, buffers)


def _of_window(kernel: Kernel, buffers: Sequence[Buffer]) -> Prefixes:
    root, line = kernel.root, line_of(kernel)
    count = len(root.operands) // 2
    operands, inits, results = root.operands[:count], root.operands[count:], buffers[-count:]
    combine, _ = combination(root["to_apply"])

    def together(first: Scalars, second: Scalars) -> Scalars:
        # In reverse what follows stands on the left: all stay in the order of the array.
        return combine(second, first) if line and line.reverse else combine(first, second)

    def store(scope: Elements, at: Indices, totals: Scalars, _: Any) -> None:
        for total, result in zip(totals, results):
            scope.store(total, result, at)

    return Prefixes(
        lambda scope, _: [scope.element(i, ()) for i in inits],
        lambda scope, at: [scope.element(o, at) for o in operands],
        together, False, store,
    )  # fmt: skip


def _of_scan(kernel: Kernel, buffers: Sequence[Buffer]) -> Prefixes:
    root = kernel.root
    count, outputs, dimension = scan_parts(root)
    step, inputs, inits = root["to_apply"], root.operands[:count], root.operands[count:]
    results = buffers[len(kernel.operands) :]
    added = _added(root)
    new = (step.root.operands if step.root.opcode == "tuple" else (step.root,))[outputs:]

    def inside(at: Indices) -> Indices:
        return at[:dimension] + at[dimension + 1 :]

    def init(scope: Elements, at: Indices) -> Scalars:
        return [scope.element(i, inside(at)) for i in inits]

    def element(scope: Elements, at: Indices) -> Scalars:
        # The carried values are not looked at; any scalars of their types stand for them.
        given = [*(scope.element(i, at) for i in inputs), *init(scope, at)]
        return [emit_scalar(step, given, value) for _, value in added]

    def combine(first: Scalars, second: Scalars) -> Scalars:
        return [emit_element(i, x, y) for i, x, y in zip(new, first, second)]

    def store(scope: Elements, at: Indices, before: Scalars, is_last: Any) -> None:
        made = emit_scalar_computation(step, [*(scope.element(i, at) for i in inputs), *before])
        for value, result in zip(made, results[:outputs]):
            scope.store(value, result, at)

        def keep() -> None:
            inner = scope.with_variables()
            for value, carry in zip(made[outputs:], results[outputs:]):
                inner.store(value, carry, inside(at))

        when(is_last, keep)

    return Prefixes(init, element, combine, True, store)
