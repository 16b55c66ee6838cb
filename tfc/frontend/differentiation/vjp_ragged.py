"""The gradient of ragged dot: that of the plain operations that it stands for."""

from tfc.frontend.differentiation.reverse import Cotangent, backward, forward, vjp
from tfc.frontend.tensor import Tensor
from tfc.hlo import builder
from tfc.hlo.ir import Computation
from tfc.hlo.ops.ragged_expansion import expand_ragged_dot


@vjp("ragged-dot")
def _ragged_dot(g: Tensor, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    parameters = [builder.parameter(n, o.array_shape) for n, o in enumerate(operands)]
    root = expand_ragged_dot(y.instruction.with_(operands=tuple(parameters)))
    plain = Computation.make("ragged", parameters, root)
    return backward(plain, forward(plain, operands), g, plain.parameters)
