"""The gradients of batch normalization, and of random numbers: none flows through them.

That of training is batch-norm-grad (BNG-2), which itself has none.
"""

from math import prod

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import Cotangent, nondifferentiable, vjp
from tfc.frontend.operations import full_like, operation
from tfc.frontend.tensor import Tensor


def _spread(vector: Tensor, x: Tensor, feature: int) -> Tensor:
    """A vector of features in the shape of x."""
    return ops.broadcast(vector, x.shape, [feature])


@vjp("batch-norm-training")
def _training(g: Cotangent, y: Tensor, x: Tensor, scale: Tensor, offset: Tensor) -> list[Cotangent]:
    assert isinstance(g, list), "training gives a tuple"
    grad_output, grad_mean, grad_variance = (
        part if isinstance(part, Tensor) else full_like(0, like)
        for part, like in zip(g, (x, scale, scale))
    )
    attributes = y.instruction.attributes
    feature = attributes["feature_index"]
    _, mean, variance = ops.elements(y)
    found = operation("batch-norm-grad", x, scale, mean, variance, grad_output, **attributes)
    grad_x, grad_scale, grad_offset = ops.elements(found)
    count = max(prod(x.shape) // max(x.shape[feature], 1), 1)
    centred = x - _spread(mean, x, feature)
    grad_x = grad_x + _spread(grad_mean / count, x, feature)
    grad_x = grad_x + _spread(grad_variance * 2 / count, x, feature) * centred
    return [grad_x, grad_scale, grad_offset]


@vjp("batch-norm-inference")
def _inference(
    g: Tensor, y: Tensor, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor
) -> list[Cotangent]:
    feature = y.instruction["feature_index"]
    others = [d for d in range(x.ndim) if d != feature]
    guarded = variance + full_like(np.float32(y.instruction["epsilon"]), variance)
    inverse = operation("rsqrt", guarded)
    grad_x = g * _spread(scale * inverse, x, feature)
    grad_scale = ops.reduce_sum(g * (x - _spread(mean, x, feature)), others) * inverse
    grad_offset = ops.reduce_sum(g, others)
    grad_mean = -(scale * inverse) * grad_offset
    grad_variance = full_like(-0.5, scale) * grad_scale * scale / guarded
    return [grad_x, grad_scale, grad_offset, grad_mean, grad_variance]


@vjp("batch-norm-grad")
def _grad(*_: Tensor) -> list[Cotangent]:
    raise TraceError(
        "batch-norm-grad has no gradient: write the normalization with mean and var instead, "
        "which can be differentiated twice"
    )


@vjp("rng")
def _rng(*_: Tensor) -> list[Cotangent]:
    raise TraceError(
        "rng has no gradient by its parameters: draw from a fixed distribution, and scale and "
        "shift what it gives"
    )


nondifferentiable("rng-bit-generator", "rng-get-and-update-state")
