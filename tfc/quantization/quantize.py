"""tfc.quantize: a function whose products and convolutions multiply 8-bit integers.

q = tfc.quantize(predict, [(x,) for x in batches])
q(x)                # as predict(x), nearly
print(q.report)     # what became of each layer, and what it costs
"""

from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from typing import Any

from tfc.errors import TfcError
from tfc.hlo.ir import Computation
from tfc.jitted import jit
from tfc.options import Options
from tfc.quantization.calibration import Observed
from tfc.quantization.plan import Place, Plan, Scheme
from tfc.quantization.products import Product, find_products
from tfc.quantization.report import Comparison, LayerReport, Report, constant_bytes
from tfc.quantization.tracing import leaves_of, traced, transformed
from tfc.quantization.weights import Storage
from tfc.tracebacks import api_boundary


class Quantized:
    """A function that computes with integers: called, traced, lowered and exported as others are.

    It takes the arguments of the function that it was made of; sizes of the batch may be others
    than those of the calibration.

    report: what was done, and how accurate the results are.
    """

    def __init__(self, function: Callable[..., Any], plan: Plan, report: Report, **choices: Any):
        self.plan, self.report = plan, report
        self._compiled = jit(transformed(function, plan.apply), **choices)
        update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run it, or make it part of the function that is being traced.

        Raises:
            TfcError: the function has other products for these arguments.
        """
        return self._compiled(*args, **named)

    def lower(self, *args: Any, **named: Any) -> Any:
        """Lowered as by `tfc.jit(…).lower`."""
        return self._compiled.lower(*args, **named)

    def __repr__(self) -> str:
        return f"<Quantized {getattr(self, '__name__', 'function')}>"


@api_boundary
def quantize(
    f: Callable[..., Any],
    calibration: Iterable[Any] | None = None,
    *,
    weights: Storage = "int8",
    activations: str | None = "asymmetric",
    per_channel: bool = True,
    percentile: float = 100.0,
    keep: Sequence[str] = (),
    validation: Iterable[Any] | None = None,
    backend: str = "cpu",
    options: Options | None = None,
) -> Quantized:
    """A function whose products and convolutions take 8-bit integers and add up in 32 bits.

    What depends on constants alone is a weight: parameters that are arguments are bound first, with
    functools.partial. What cannot be quantized stays as it is, and the report says why.

    Args:
        f: a function of arrays, plain or made by tfc.jit, or an imported Model.
        calibration: the arguments of typical calls: a tuple for each, or the one argument. The
            ranges of activations are those that they have in these calls.
        weights: "int8", or "f16" where activations are None.
        activations: "asymmetric" for u8 with a zero point, "symmetric" for s8; None leaves them in
            float, so that weights are only stored in fewer bits. That needs no calibration but
            examples, one call's arguments, to trace with.
        per_channel: a scale for each output channel of a weight; else one for all.
        percentile: of the elements of each call, the share that is not cut off, from either side:
            99.9 leaves out rare large ones. 100 takes the least and the greatest.
        keep: the names, in the report, of products that are to stay in float.
        validation: arguments to compare results on; those of the calibration when left out.
        backend, options: as of `tfc.jit`.

    Raises:
        TfcError: there is no calibration or nothing to quantize, a range is not finite, a name of
            `keep` is no product's, or an option is not one of those above.
    """
    scheme = _checked(Scheme(weights, activations, per_channel, percentile, frozenset(keep)))
    if hasattr(calibration, "shape"):
        raise TfcError("calibration is a list of the arguments of calls; put the array into one")
    calls = [_arguments(one) for one in (() if calibration is None else calibration)]
    if not calls:
        raise TfcError("quantize needs the arguments of at least one typical call as calibration")
    choices = {"backend": backend, "options": options}
    first = traced(f, *leaves_of(calls[0], {}))[1]
    products = find_products(first, scheme.keep)
    _check_products(scheme, products)
    plan = Plan(scheme, tuple(p.name for p in products), {})
    errors: dict[Place, tuple[float, float]] = {}
    if activations is not None:
        observed = Observed(plan, products, f, choices)
        plan = Plan(scheme, plan.names, observed.ranges(calls))
        errors = observed.errors(plan, calls)
    compared = calls if validation is None else [_arguments(one) for one in validation]
    layers = tuple(
        plan.layer(n, p, errors) for n, p in enumerate(products) if _refusal(scheme, p) is None
    )
    return _finished(f, plan, layers, products, first, compared, choices)


def _finished(
    f: Callable[..., Any], plan: Plan, layers: tuple[LayerReport, ...],
    products: Sequence[Product], first: Computation, compared: Sequence[Any],
    choices: dict[str, Any],
) -> Quantized:  # fmt: skip
    """The quantized function with its report."""
    before, after = constant_bytes(first), constant_bytes(plan.apply(first))
    reasons = [(p.name, reason) for p in products if (reason := _refusal(plan.scheme, p))]
    report = Report(layers, tuple(reasons), None, before, after)
    exact, made = jit(f, **choices), Quantized(f, plan, report, **choices)
    comparison = Comparison()
    for args in compared:
        comparison.add(exact(*args), made(*args))
    made.report = Report(layers, tuple(reasons), comparison.accuracy, before, after)
    return made


def _checked(scheme: Scheme) -> Scheme:
    """The choices of a user.

    Raises:
        TfcError: they are none, or do not go together.
    """
    if scheme.weights not in ("int8", "f16"):
        raise TfcError(f"weights are 'int8' or 'f16', got {scheme.weights!r}")
    if scheme.activations not in ("asymmetric", "symmetric", None):
        raise TfcError(
            f"activations are 'asymmetric', 'symmetric' or None, got {scheme.activations!r}"
        )
    if scheme.weights == "f16" and scheme.activations is not None:
        raise TfcError("weights of f16 are for activations=None: products of integers need int8")
    if not 50 < scheme.percentile <= 100:
        raise TfcError(f"percentile must be above 50 and at most 100, got {scheme.percentile}")
    return scheme


def _check_products(scheme: Scheme, products: Sequence[Product]) -> None:
    """Check that there is something to do, and that what is to be kept exists.

    Raises:
        TfcError: it is not so.
    """
    names = [p.name for p in products]
    if unknown := [name for name in scheme.keep if name not in names]:
        raise TfcError(f"there is no product '{unknown[0]}' to keep; there are {', '.join(names)}")
    reasons = {p.name: _refusal(scheme, p) for p in products}
    if not any(reason is None for reason in reasons.values()):
        listed = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        why = f": {listed}" if listed else ", as it has no product and no convolution"
        raise TfcError(f"there is nothing to quantize in this function{why}")


def _refusal(scheme: Scheme, product: Product) -> str | None:
    return product.refusal_of(scheme.activations is not None)


def _arguments(one: Any) -> tuple[Any, ...]:
    return one if type(one) is tuple else (one,)
