"""The GPU's choice of code for each kernel: the parts that it runs as."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tfc.backends.gpu.attention.gradient_spec import gradient_in
from tfc.backends.gpu.attention.gradients import gradient_parts
from tfc.backends.gpu.attention.kernels import attention_parts, partial_means
from tfc.backends.gpu.attention.warpgroup_gradients import warpgroup_gradient_parts
from tfc.backends.gpu.attention.warpgroups import warpgroup_attention_parts
from tfc.backends.gpu.convolutions.kernels import (
    convolution_parts,
    convolution_sums,
    warpgroup_convolution_parts,
)
from tfc.backends.gpu.driver.architectures import has_warpgroups
from tfc.backends.gpu.element_loops import loop_parts
from tfc.backends.gpu.grid import Grid
from tfc.backends.gpu.movement.transposes import transposing_parts
from tfc.backends.gpu.movement.vectors import vector_parts
from tfc.backends.gpu.ordered.scans import running_totals, scan_kernel_parts
from tfc.backends.gpu.ordered.updates import state_parts, update_parts
from tfc.backends.gpu.parts import Part, Work
from tfc.backends.gpu.products.kernels import product_parts
from tfc.backends.gpu.products.persistent import product_sums, warpgroup_parts
from tfc.backends.gpu.rows.reductions import partial_totals, reduce_parts
from tfc.backends.gpu.rows.row_kernels import row_parts
from tfc.backends.gpu.sorting.scatters import scatter_memory, scatter_parts
from tfc.backends.gpu.sorting.selections import selection_memory, selection_parts
from tfc.backends.gpu.sorting.sorts import sort_memory, sort_parts
from tfc.backends.gpu.transforms import transform_memory, transform_parts
from tfc.backends.gpu.triangular.factors import cholesky_memory, cholesky_parts
from tfc.backends.gpu.triangular.systems import solve_memory, solve_parts
from tfc.backends.gpu.windows import reduce_window_parts, select_and_scatter_parts
from tfc.backends.mlir.bodies import emit_body
from tfc.backends.mlir.kernels import Kernel, kernel_of
from tfc.backends.mlir.scratch import scratch_shape
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape
from tfc.passes.attention.forward import attention_in


@dataclass(frozen=True)
class Form:
    """How a root, or a product with what is around it, becomes code that is more than one loop.

    parts: the functions; None where one loop is as good.
    scratch: an array of memory that they share besides, if they need it.
    by_warpgroups: the functions for GPUs with warpgroups and clusters; None where those of others
        are as good.
    """

    parts: Callable[[Kernel], list[Part] | None]
    scratch: Callable[[Kernel], Shape | None] = lambda _: None
    by_warpgroups: Callable[[Kernel], list[Part] | None] | None = None


FORMS: dict[str, Form] = {
    "attention": Form(attention_parts, partial_means, warpgroup_attention_parts),
    "gradient": Form(gradient_parts, by_warpgroups=warpgroup_gradient_parts),
    "dot": Form(product_parts, product_sums, warpgroup_parts),
    "convolution": Form(convolution_parts, convolution_sums, warpgroup_convolution_parts),
    "reduce": Form(reduce_parts, partial_totals, partial(reduce_parts, in_clusters=True)),
    "tuple": Form(reduce_parts, partial_totals, partial(reduce_parts, in_clusters=True)),
    "scatter": Form(scatter_parts, scatter_memory),
    "sort": Form(sort_parts, sort_memory),
    "topk": Form(selection_parts, selection_memory),
    "fft": Form(transform_parts, transform_memory),
    "cholesky": Form(cholesky_parts, cholesky_memory),
    "triangular-solve": Form(solve_parts, solve_memory),
    "rng-get-and-update-state": Form(state_parts),
    "reduce-window": Form(reduce_window_parts, running_totals),
    "select-and-scatter": Form(select_and_scatter_parts),
    "scan": Form(scan_kernel_parts, running_totals),
    "dynamic-update-slice": Form(update_parts),
}


def parts_of(kernel: Kernel, architecture: str) -> list[Part]:
    """The functions of a kernel for an architecture, in the order in which they run."""
    if kernel.loop is not None:
        return loop_parts(kernel)
    form = _form(kernel)
    parts = row_parts(kernel) if kernel.product is None else None
    if form is not None and parts is None:
        if form.by_warpgroups is not None and has_warpgroups(architecture):
            parts = form.by_warpgroups(kernel)
        parts = parts or form.parts(kernel)
    elif parts is None:
        parts = transposing_parts(kernel)
    if parts is None and (form is None or kernel.root.opcode == "tuple"):
        parts = vector_parts(kernel)
    if parts is None:
        parts = [Part(_emit_points, max(s.size for s in kernel.results))]
    return parts


def _form(kernel: Kernel) -> Form | None:
    """The form of attention or its gradient, else of the product in a kernel, else of its root."""
    one = kernel.root.opcode != "tuple"  # attention for its gradient leaves statistics, too
    if one and attention_in(kernel.computation) is not None:
        return FORMS["attention"]
    if gradient_in(kernel.computation) is not None:
        return FORMS["gradient"]
    return FORMS.get((kernel.product or kernel.root).opcode)


def _emit_points(work: Work) -> None:
    emit_body(work.kernel, work.buffers, Grid())


def scratch_bytes(instruction: Instruction) -> int:
    """The bytes of scratch memory that the kernel of an instruction needs."""
    shape = scratch_array(kernel_of(instruction))
    return 0 if shape is None else shape.byte_size


def scratch_array(kernel: Kernel) -> Shape | None:
    """The bytes of scratch memory of a kernel, if it needs any."""
    if kernel.loop is not None:
        return None
    form = _form(kernel)
    array = form.scratch(kernel) if form is not None else None
    return scratch_shape([array]) if array is not None else None
