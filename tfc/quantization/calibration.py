"""What activations are in typical calls: their ranges, and what rounding them does."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfc.errors import TfcError
from tfc.hlo.builder import instruction
from tfc.hlo.ir import Computation, Instruction
from tfc.jitted import jit
from tfc.quantization.plan import Place, Plan, Range
from tfc.quantization.products import Product
from tfc.quantization.tracing import changed_results


class Observed:
    """The activations of the products that are to be quantized, in calls of the function."""

    def __init__(
        self,
        plan: Plan,
        products: Sequence[Product],
        function: Callable[..., Any],
        choices: dict[str, Any],
    ):
        self.plan, self.products = plan, products
        self.places = _places(products)
        self._run = jit(lambda *args: changed_results(function, self._observing, args, {})[1],
                        **choices)  # fmt: skip

    def _observing(self, computation: Computation) -> Computation:
        """The computation that gives the activations in the place of its results."""
        products = self.plan.products(computation)
        values = [products[number].instruction.operands[n] for number, n in self.places]
        root = instruction("tuple", list(dict.fromkeys(values)))
        self._order = _order(values)
        return Computation.make(computation.name, computation.parameters, root, computation.effects)

    def _values(self, calls: Sequence[tuple[Any, ...]]) -> Iterator[dict[Place, np.ndarray]]:
        for args in calls:
            arrays = self._run(*args)
            # Equal values come once; all traces of the function give them in the same order.
            yield {p: np.asarray(arrays[n]) for p, n in zip(self.places, self._order)}

    def ranges(self, calls: Sequence[tuple[Any, ...]]) -> dict[Place, Range]:
        """The least and the greatest value of each activation, or the percentiles of each call.

        Raises:
            TfcError: a value is NaN or infinite.
        """
        found: dict[Place, Range] = {}
        for number, values in enumerate(self._values(calls)):
            for place, array in values.items():
                if not np.isfinite(array).all():
                    name = self.products[place[0]].name
                    raise TfcError(
                        f"{name} cannot be quantized: in call {number} of the calibration what it "
                        "multiplies is NaN or infinite; leave the call out, or keep the product "
                        f"in float by keep=['{name}']"
                    )
                low, high = self._limits(array.astype(np.float32))
                before = found.get(place, (low, high))
                found[place] = min(before[0], low), max(before[1], high)
        return found

    def _limits(self, array: np.ndarray) -> Range:
        share = self.plan.scheme.percentile
        if not array.size:
            return 0.0, 0.0
        if share == 100:
            return float(array.min()), float(array.max())
        low, high = np.percentile(array, [100 - share, share])
        return float(low), float(high)

    def errors(
        self, plan: Plan, calls: Sequence[tuple[Any, ...]]
    ) -> dict[Place, tuple[float, float]]:
        """The sums of squares of activations, and of what integers in their place change."""
        found = dict.fromkeys(self.places, (0.0, 0.0))
        for values in self._values(calls):
            for place, array in values.items():
                affine = plan.affine(self.products[place[0]], place)
                exact = array.astype(np.float64)
                made = affine.dequantized(affine.quantized(array))
                signal, noise = found[place]
                signal += float(np.sum(np.square(exact)))
                found[place] = signal, noise + float(np.sum(np.square(made - exact)))
        return found


def _places(products: Sequence[Product]) -> list[Place]:
    """The activations that become integers."""
    return [
        (number, n)
        for number, product in enumerate(products)
        if product.refusal_of(True) is None
        for n in product.activations
    ]


def _order(values: Sequence[Instruction]) -> list[int]:
    """Which of the different values each is."""
    numbers = {value: n for n, value in enumerate(dict.fromkeys(values))}
    return [numbers[value] for value in values]
