"""The windows that slide over an array, as loops visit them."""

from collections.abc import Sequence

from tfc.backends.mlir.spaces import make_space
from tfc.backends.mlir.windows import along
from tfc.hlo.attributes.window import Window
from tfc.hlo.index_maps import variable


class SlidingWindows:
    """Loops over the windows and their elements, and where these are in the array.

    Args:
        dims: the array's sizes.
        counts: the number of windows along each dimension.
        order: the dimensions, outermost first.
        fast: the dimension of `order` that has no loop in `space`, but the variable `neighbour`.

    Attributes:
        at: which window, as variables of `space`, and `neighbour`.
        offsets: the variables that say which element of the window.
        index: where that is in the array.
        conditions: for each dimension, when it is inside; `every_condition`, along all.
    """

    def __init__(
        self,
        window: Window,
        dims: Sequence[int],
        counts: Sequence[int],
        order: Sequence[int],
        fast: int | None,
    ):
        self.window = window
        self.space = make_space(counts, [[d] for d in order if d != fast], "o")
        self.neighbour = variable("i", 1 if fast is None else counts[fast])
        self.at = tuple(
            self.neighbour if d == fast else index for d, index in enumerate(self.space.index)
        )
        self.offsets = [variable(f"k{d}", n) for d, n in enumerate(window.size)]
        each = zip(window.dimensions, dims, self.at, self.offsets)
        places = [along(d, n, at, k) for d, n, at, k in each]
        self.index = tuple(place for place, _ in places)
        self.conditions = [conditions for _, conditions in places]
        self.every_condition = [c for conditions in self.conditions for c in conditions]
