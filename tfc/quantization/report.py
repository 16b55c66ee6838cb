"""What quantization did: layer by layer, what it costs in accuracy, what it saves in size."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.frontend import tree
from tfc.hlo.ir import Computation, callees_first
from tfc.quantization.affine import signal_to_noise


@dataclass(frozen=True)
class LayerReport:
    """A product or convolution whose operands are stored or multiplied as 8-bit integers or f16.

    ranges, scales, zero_points: of each activation that is integers.
    weight_scales: the smallest and the largest scale of the weight; None if it has none.
    activation_error, weight_error: signal to noise in dB, from what rounding and saturation do to
        the operands; None where there is no such operand.
    """

    name: str
    opcode: str
    source: str
    ranges: tuple[tuple[float, float], ...]
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    weight_scales: tuple[float, float] | None
    activation_error: float | None
    weight_error: float | None

    def __str__(self) -> str:
        parts = [
            f"{low:.4g} … {high:.4g} (scale {scale:.4g}, zero {zero})"
            for (low, high), scale, zero in zip(self.ranges, self.scales, self.zero_points)
        ]
        if self.weight_scales:
            parts.append("weight scales {:.3g} … {:.3g}".format(*self.weight_scales))
        errors = [("activations", self.activation_error), ("weight", self.weight_error)]
        parts += [f"{what} {error:.1f} dB" for what, error in errors if error is not None]
        return f"{self.name}: {', '.join(parts)}"


@dataclass(frozen=True)
class Accuracy:
    """How far results are from those in float, over all arguments that were tried.

    sqnr: signal to noise of all float results in dB.
    max_difference: the largest difference of an element.
    top1: of the rows of the first result with several columns, the share whose largest element is
        at the same place; None if there is no such result.
    count: how many calls were compared.
    """

    sqnr: float
    max_difference: float
    top1: float | None
    count: int


@dataclass(frozen=True)
class Report:
    """What `quantize` did.

    in_float: the name of each product that stays in float, and why.
    accuracy: None if there was nothing to compare on.
    bytes_before, bytes_after: of the program's constants.
    """

    layers: tuple[LayerReport, ...]
    in_float: tuple[tuple[str, str], ...]
    accuracy: Accuracy | None
    bytes_before: int
    bytes_after: int

    def __str__(self) -> str:
        lines = [str(layer) for layer in self.layers]
        lines += [f"{name} stays in float: {reason}" for name, reason in self.in_float]
        ratio = self.bytes_after / max(self.bytes_before, 1)
        lines.append(f"constants: {self.bytes_before} bytes -> {self.bytes_after} ({ratio:.0%})")
        if self.accuracy is not None:
            found = self.accuracy
            text = f"{found.sqnr:.1f} dB, largest difference {found.max_difference:.3g}"
            if found.top1 is not None:
                text += f", the same top-1 in {found.top1:.1%}"
            lines.append(f"accuracy over {found.count} calls: {text}")
        return "\n".join(lines)


def constant_bytes(entry: Computation) -> int:
    """The bytes of a program's constants, equal ones counted once."""
    found = {
        x["literal"]: x["literal"].array.nbytes
        for computation in callees_first(entry)
        for x in computation.instructions
        if x.opcode == "constant"
    }
    return sum(found.values())


@dataclass
class Comparison:
    """Sums over pairs of results."""

    signal: float = 0.0
    noise: float = 0.0
    largest: float = 0.0
    rows: int = 0
    agreeing: int = 0
    count: int = 0

    def add(self, wanted: Any, got: Any) -> None:
        """Take in the results of one call."""
        pairs = [*zip(_floats(wanted), _floats(got))]
        for exact, made in pairs:
            difference = made - exact
            self.signal += float(np.sum(np.square(exact)))
            self.noise += float(np.sum(np.square(difference)))
            self.largest = max(self.largest, float(np.max(np.abs(difference), initial=0)))
        ranked = next((p for p in pairs if p[0].ndim >= 1 and p[0].shape[-1] > 1), None)
        if ranked is not None:
            same = np.equal(*(np.argmax(v, -1) for v in ranked))
            self.rows, self.agreeing = self.rows + same.size, self.agreeing + int(same.sum())
        self.count += 1

    @property
    def accuracy(self) -> Accuracy | None:
        """What the sums say; None for no calls."""
        if not self.count:
            return None
        top1 = self.agreeing / self.rows if self.rows else None
        sqnr = signal_to_noise(self.signal, self.noise)
        return Accuracy(sqnr, self.largest, top1, self.count)


def _floats(results: Any) -> Iterable[np.ndarray]:
    arrays = [np.asarray(leaf) for leaf in tree.flatten(results)[0]]
    return [a.astype(np.float64) for a in arrays if a.dtype.kind not in "biuc"]
