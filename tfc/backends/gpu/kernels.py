"""The GPU's choice of code for each kernel: the parts that it runs as."""

from collections.abc import Callable
from dataclasses import dataclass

from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.ordered import scan_parts_of, scatter_parts, state_parts, update_parts
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.kernels import partial_sums, product_parts
from tfc.backends.gpu.sorts import numbers_shape, sort_parts
from tfc.backends.gpu.triangular import cholesky_parts, computed_shape, solve_parts
from tfc.backends.gpu.windows import reduce_window_parts, select_and_scatter_parts
from tfc.backends.mlir.bodies import emit_body
from tfc.backends.mlir.kernels import Kernel, kernel_of
from tfc.backends.mlir.scratch import scratch_shape
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape


@dataclass(frozen=True)
class Form:
    """How a root that needs more than one loop becomes code.

    parts: the functions.
    scratch: an array of memory that they share besides.
    """

    parts: Callable[[Kernel], list[Part]]
    scratch: Callable[[Instruction], Shape] | None = None


FORMS: dict[str, Form] = {
    "scatter": Form(scatter_parts),
    "sort": Form(sort_parts, numbers_shape),
    "cholesky": Form(cholesky_parts, computed_shape),
    "triangular-solve": Form(solve_parts, computed_shape),
    "rng-get-and-update-state": Form(state_parts),
    "reduce-window": Form(reduce_window_parts),
    "select-and-scatter": Form(select_and_scatter_parts),
    "scan": Form(scan_parts_of),
    "dynamic-update-slice": Form(update_parts),
}


@dataclass(frozen=True)
class ProductForm:
    """How a kernel with a dot or convolution, and what is around it, becomes code.

    parts: the functions; None if the plain form is better, or the only one.
    scratch: an array of memory that they share besides, if they do.
    """

    parts: Callable[[Kernel], list[Part] | None]
    scratch: Callable[[Kernel], Shape | None]


PRODUCT_FORMS: dict[str, ProductForm] = {
    "dot": ProductForm(product_parts, partial_sums),
}


def parts_of(kernel: Kernel) -> list[Part]:
    """The functions of a kernel, in the order in which they run."""
    product = kernel.product and PRODUCT_FORMS.get(kernel.product.opcode)
    parts = product.parts(kernel) if product else None
    if parts is not None:
        return parts
    form = FORMS.get(kernel.root.opcode) if kernel.product is None else None
    if form is not None:
        return form.parts(kernel)
    return [Part(_emit_points, max(s.size for s in kernel.results))]


def _emit_points(work: Work) -> None:
    emit_body(work.kernel, work.buffers, Grid())


def scratch_bytes(instruction: Instruction) -> int:
    """The bytes of scratch memory that the kernel of an instruction needs."""
    shape = scratch_array(kernel_of(instruction))
    return 0 if shape is None else shape.byte_size


def scratch_array(kernel: Kernel) -> Shape | None:
    """The bytes of scratch memory of a kernel, if it needs any."""
    if kernel.product is not None:
        product = PRODUCT_FORMS.get(kernel.product.opcode)
        array = product.scratch(kernel) if product else None
    else:
        form = FORMS.get(kernel.root.opcode)
        array = form.scratch(kernel.root) if form and form.scratch else None
    return scratch_shape([array]) if array else None
