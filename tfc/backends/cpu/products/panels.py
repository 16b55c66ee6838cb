"""Constants in panels: arranged once, when a program is made, as tiles read them.

    columns of a product's right operand, or    panel of 3 columns   a0 b0 c0 a1 b1 c1 a2 b2 c2 …
    features of a convolution's kernel:
    a0 b0 c0 d0 …
    a1 b1 c1 d1 …                               the next one         d0 …
    …

Elsewhere a kernel packs its operand so at every call (see packing.py). A constant stays in its
place, of the same size, in one form: so all that read it must be tiles that want the same one.
"""

from dataclasses import dataclass, replace

import numpy as np

from tfc.backends.mlir.kernels import Kernel


@dataclass(frozen=True)
class PanelForm:
    """What is put into panels: an array of `batch` matrices, `depth` × `columns` each.

    strides: of the batch, the depth and the columns in the constant's own layout.
    width: columns of a panel, a divisor of `columns`.
    """

    batch: int
    depth: int
    columns: int
    strides: tuple[int, int, int]
    width: int

    def arrange(self, elements: np.ndarray) -> None:
        """Put a constant's elements, flat in memory, into panels."""
        batch, down, across = (s * elements.itemsize for s in self.strides)
        shape = (self.batch, self.columns // self.width, self.depth, self.width)
        strides = (batch, across * self.width, down, across)
        source = np.lib.stride_tricks.as_strided(elements.copy(), shape, strides, writeable=False)
        elements.reshape(shape)[...] = source


def panel_width(kernel: Kernel) -> int:
    """The columns of the panels in which the right operand of a kernel's product lies, or 0."""
    assert kernel.product is not None
    right = kernel.product.operands[1]
    return next((w for n, w in kernel.panels if kernel.computation.parameters[n] is right), 0)


def with_panels(kernel: Kernel, form: PanelForm) -> Kernel:
    """A kernel whose product's right operand lies in panels."""
    number = right_operand(kernel)
    assert number is not None
    return replace(kernel, panels=((number, form.width),))


def right_operand(kernel: Kernel) -> int | None:
    """The number of the operand that only a kernel's product reads, as its right one, if any."""
    if kernel.product is None:
        return None
    left, right = kernel.product.operands
    readers = kernel.computation.users[right]
    if right.opcode != "parameter" or left is right or list(readers) != [kernel.product]:
        return None
    number = kernel.computation.parameters.index(right)
    once = kernel.operands.count(kernel.operands[number]) == 1
    return number if once and right is not kernel.root else None
