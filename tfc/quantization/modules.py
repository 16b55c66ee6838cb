"""Weights of a whole program stored in fewer bits, whoever wrote it."""

from tfc.hlo.ir import Module
from tfc.passes.expand.inline import Inline
from tfc.quantization.plan import Plan, Scheme
from tfc.quantization.products import find_products
from tfc.quantization.report import Report, constant_bytes
from tfc.quantization.weights import Storage
from tfc.tracebacks import api_boundary


@api_boundary
def store_weights(
    module: Module, weights: Storage = "int8", *, per_channel: bool = True
) -> tuple[Module, Report]:
    """A module that keeps weights of products and convolutions as s8 with scales, or as f16.

    It takes and gives what the module does. What has no weight stays as it is.

    Args:
        weights, per_channel: as of `tfc.quantize`.

    Raises:
        TfcError: a weight has an element that is NaN or infinite.
    """
    inlined = Inline()(module)
    products = find_products(inlined.entry)
    scheme = Scheme(weights, None, per_channel)
    plan = Plan(scheme, tuple(p.name for p in products), {})
    made = inlined.with_entry(plan.apply(inlined.entry))
    refusals = [(p, p.refusal_of(activations=False)) for p in products]
    layers = tuple(plan.layer(n, p, {}) for n, (p, why) in enumerate(refusals) if why is None)
    in_float = tuple((p.name, why) for p, why in refusals if why is not None)
    sizes = constant_bytes(inlined.entry), constant_bytes(made.entry)
    return made, Report(layers, in_float, None, *sizes)
