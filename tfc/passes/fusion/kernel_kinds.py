"""What kinds of kernels a backend has code for: how fusion asks its target.

A pass that forms one of them runs only for backends that have it, so the HLO after the passes is
what the backend emits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tfc.hlo.ir import Instruction
from tfc.passes.analysis.row_plan import RowPlan
from tfc.passes.attention.forward import Attention
from tfc.passes.attention.scores import Scores


@dataclass(frozen=True)
class KernelKinds:
    """Kinds of kernels beyond one loop that makes one array from elements of others.

    rows: reductions along rows together with what is computed from them (softmax), a row at a time.
    longest_row: the most elements of such a row; 0 for any.
    takes_longer_row: whether a longer row with such a plan is taken all the same.
    row_steps: reductions are made as several steps of a row where that is faster (the place of a
        maximum, sums of few long rows).
    epilogues: a dot or convolution together with the elementwise operations on its result.
    epilogue_results: several results of a dot with such operations.
    narrow_products: products of narrow numbers that are widened first, wherever they lie; and who
        reads such numbers widens them, so that none is in memory wider than it is.
    instructions_a_byte: how many instructions take as long as moving a byte, where that is to
        decide what kernels compute again rather than read; 0 for the prices of a CPU.
    splits_products: products of f32 whose algorithm permits it are sums of products of bf16.
    byte_products: products and convolutions of 8-bit integers, several at once.
    several_results: one loop that stores more than one array, and one pass of several reductions.
    reducing_stores: reductions whose pass stores what it goes through, too.
    whole_loops: a while with all its iterations, where these are short.
    element_loops: a while whose turns make each element by itself, as one loop in each thread.
    launch_overhead: loops in sequence; starting a kernel takes so long that small ones are merged.
    selections: topk of few elements of long rows, without sorting the rows; a sort of which no more
        is read becomes one.
    equal_once: equal kernels as one function, so that few different ones are compiled sooner.
    begins_collectives: a collective is begun, and waited for after other kernels.
    reduces_in_transit: whether what carries out collectives reduces elements of a type by an
        operation of that name; others are gathered, and reduced by kernels. Without an answer
        collectives are as the program has them.
    takes_layouts: whether the kernel of a dot or convolution that is fast reads its operands and
        writes its result in the layouts that these have; without an answer all stay row-major.
    takes_sums_together: whether the kernel of a dot or convolution is faster because what is summed
        lies together in its operands, as copies of them do; without an answer they are read as they
        lie.
    takes_attention: whether there is a kernel for an attention, or kernels for its gradient, that
        have no array of all scores; without an answer its parts are kernels.
    takes_transform: whether there is a kernel for an fft of one dimension, the last; without an
        answer it becomes matrix products.
    takes_edges: whether the kernel of a select-and-scatter, or of a slice of one, pads its operand
        and takes the slice on the way.
    """

    rows: bool = False
    longest_row: int = 0
    takes_longer_row: Callable[[RowPlan], bool] | None = None
    row_steps: bool = False
    epilogues: bool = False
    epilogue_results: bool = False
    narrow_products: bool = False
    instructions_a_byte: int = 0
    splits_products: bool = False
    byte_products: bool = False
    several_results: bool = False
    reducing_stores: bool = False
    whole_loops: bool = False
    element_loops: bool = False
    launch_overhead: bool = False
    selections: bool = False
    equal_once: bool = False
    begins_collectives: bool = False
    reduces_in_transit: Callable[[str, np.dtype], bool] | None = None
    takes_layouts: Callable[[Instruction], bool] | None = None
    takes_sums_together: Callable[[Instruction], bool] | None = None
    takes_attention: Callable[[Attention | Scores], bool] | None = None
    takes_transform: Callable[[Instruction], bool] | None = None
    takes_edges: Callable[[Instruction], bool] | None = None


LOOPS_ONLY = KernelKinds()
