"""What becomes of each product of a program, and the program that it makes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from tfc.errors import TfcError
from tfc.hlo.ir import Computation, Instruction
from tfc.quantization.affine import Affine, affine_of, signal_to_noise
from tfc.quantization.products import Product, find_products
from tfc.quantization.report import LayerReport
from tfc.quantization.rewriting import (
    Form,
    Integers,
    Weight,
    integer_product,
    quantized_weight,
    rewritten,
)
from tfc.quantization.weights import Storage, stored_weights

Range = tuple[float, float]
Place = tuple[int, int]  # the number of a product, and of one of its operands


@dataclass(frozen=True)
class Scheme:
    """How to quantize: what users choose, see `quantize`."""

    weights: Storage = "int8"
    activations: str | None = "asymmetric"
    per_channel: bool = True
    percentile: float = 100.0
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """The products of a program, whatever the size of its batch, and the ranges of what they take.

    names: of all products, in order.
    ranges: of the activations of those that become products of integers.
    """

    scheme: Scheme
    names: tuple[str, ...]
    ranges: dict[Place, Range]

    def products(self, computation: Computation) -> list[Product]:
        """The products of a computation for which the plan was made.

        Raises:
            TfcError: it has others, as the function takes another way for these arguments.
        """
        found = find_products(computation, self.scheme.keep)
        if tuple(p.name for p in found) != self.names:
            raise TfcError(
                f"the function has {len(found)} products for these arguments and "
                f"{len(self.names)} for those of the calibration; quantize it for these, too"
            )
        return found

    def affine(self, product: Product, place: Place) -> Affine:
        """How an activation is integers; where both operands are activations, 0 stands for 0."""
        symmetric = self.scheme.activations == "symmetric" or len(product.activations) == 2
        return affine_of(*self.ranges[place], symmetric=symmetric)

    def operands(self, number: int, product: Product) -> list[Affine | Weight]:
        """What stands for the operands of a product.

        Raises:
            TfcError: a range or a weight is not finite.
        """
        with _naming(product):
            return [
                self.affine(product, (number, n))
                if weight is None
                else quantized_weight(product, n, per_channel=self.scheme.per_channel)
                for n, weight in enumerate(product.weights)
            ]

    def apply(self, computation: Computation) -> Computation:
        """The computation with products of integers, or weights stored as such."""
        forms: dict[Instruction, Form] = {}
        integers = Integers()
        for number, product in enumerate(self.products(computation)):
            if product.refusal_of(self.scheme.activations is not None) is not None:
                continue
            forms[product.instruction] = self._form(number, product, integers)
        return rewritten(computation, forms)

    def _form(self, number: int, product: Product, integers: Integers) -> Form:
        if self.scheme.activations is not None:
            operands = self.operands(number, product)
            return lambda x: integer_product(x, operands, integers)
        stored = self._stored(product)

        def form(x: Instruction) -> Instruction:
            found = [stored[n][0] if n in stored else o for n, o in enumerate(x.operands)]
            return x.with_(operands=tuple(found))

        return form

    def _stored(self, product: Product) -> dict[int, tuple[Instruction, np.ndarray]]:
        with _naming(product):
            return stored_weights(product, self.scheme.weights, per_channel=self.scheme.per_channel)

    def layer(
        self, number: int, product: Product, errors: dict[Place, tuple[float, float]]
    ) -> LayerReport:
        """What is reported of a product.

        Args:
            errors: the sums of squares of activations and of what rounding does to them.
        """
        report = LayerReport(
            product.name, product.instruction.opcode, product.source, (), (), (), None, None, None
        )
        number_of_weight = next((n for n, w in enumerate(product.weights) if w is not None), None)
        if number_of_weight is not None:
            report = replace(report, **self._of_weight(product, number_of_weight))
        if self.scheme.activations is None:
            return report
        places = [(number, n) for n in product.activations]
        found = [self.affine(product, place) for place in places]
        sums = [sum(errors[place][k] for place in places) for k in range(2)]
        return replace(
            report,
            ranges=tuple(self.ranges[place] for place in places),
            scales=tuple(float(a.scale) for a in found),
            zero_points=tuple(a.zero_point for a in found),
            activation_error=signal_to_noise(sums[0], sums[1]),
        )

    def _of_weight(self, product: Product, number: int) -> dict[str, object]:
        """The scales of a weight and what its storage does to it."""
        value, per_channel = product.weights[number], self.scheme.per_channel
        assert value is not None
        made = self._stored(product)[number][1]
        exact = value.astype(np.float64)
        noise = float(np.sum(np.square(made.astype(np.float64) - exact)))
        scales = None
        if self.scheme.weights == "int8":
            found = quantized_weight(product, number, per_channel=per_channel).scales
            scales = float(found.min()), float(found.max())
        error = signal_to_noise(float(np.sum(np.square(exact))), noise)
        return {"weight_scales": scales, "weight_error": error}


@contextmanager
def _naming(product: Product) -> Iterator[None]:
    """Say in errors which product it is about."""
    try:
        yield
    except TfcError as error:
        raise TfcError(f"{product.name} cannot be quantized: {error}") from None
