"""What makes sums right where windows reach beyond the array.

There is no product there, where a tile has one with zero: they differ if the kernel is infinite or
NaN there, and then the sum is NaN. So a sum that is NaN is made again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.backends.gpu.convolutions.phases import Phase
from tfc.backends.gpu.parts import Work
from tfc.backends.gpu.products.finishing import Mend
from tfc.backends.mlir.arithmetic.value import Scalar, constant, mlir_type
from tfc.backends.mlir.elements import Elements
from tfc.backends.mlir.kernels import Kernel, add_product, nest, sources
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.windows import guarded
from tfc.hlo.index_maps import variable


def mending(kernel: Kernel, phase: Phase) -> Callable[[Work, Any], Mend] | None:
    """(work, group) -> what makes the sums of a phase right; None if none may be wrong."""
    if phase.is_inside or not phase.spec.sums.is_float:
        return None

    def mend(work: Work, group: Any) -> Mend:
        def mended(row: Any, column: Any, total: Scalar) -> Scalar:
            return _unless_nan(total, lambda: total, lambda: again(row, column))

        def again(row: Any, column: Any) -> Scalar:
            return _sum(kernel, phase, work, {"b": group, "i": row, "j": column})

        return mended

    return mend


def _unless_nan(tested: Scalar, number: Callable[[], Scalar], nan: Callable[[], Scalar]) -> Scalar:
    """One value where a float is a number, and another where it is NaN."""
    fork = scf.IfOp(tested.ne(tested).value, [mlir_type(tested.element_type)], has_else=True)
    for block, value in ((fork.then_block, nan), (fork.else_block, number)):
        with ir.InsertionPoint(block):
            scf.yield_([value().value])
    return Scalar(fork.result, tested.element_type)


def _sum(kernel: Kernel, phase: Phase, work: Work, at: dict[str, Any]) -> Scalar:
    """The sum of the products that there are, one by one until it is NaN."""
    product, spec = kernel.product, phase.spec
    assert product is not None
    array, inside = phase.array_place()
    window = phase.window_place("j")
    left, right = product.operands

    def step(scope: Elements, total: Sequence[Scalar]) -> Sequence[Scalar]:
        def add(there: Elements) -> list[Scalar]:
            factors = there.element(left, array), there.element(right, window)
            return [add_product(total[0], *factors)]

        def further() -> Scalar:
            return guarded(scope, inside, add, total)[0]

        return [_unless_nan(total[0], further, lambda: total[0])]

    outer = Elements(sources(work.kernel, work.buffers), at)
    sums = [constant(spec.sums, 0)]
    return nest(outer, [variable("p", spec.k)], [spec.k], sums, step)[0]
