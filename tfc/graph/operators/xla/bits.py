"""XLA's random bits, and numbers that these round."""

from typing import Any

import numpy as np

import tfc.frontend.operations as ops
from tfc.errors import UnsupportedError
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.graph.operators.random.seeds import check_algorithm
from tfc.graph.operators.registry import known_numbers, operator
from tfc.graph.types.dtypes import as_dtype
from tfc.hlo.shape import Shape, TupleShape, element_type_of

_ALGORITHMS = {1: "rng_philox", 2: "rng_three_fry", 3: "rng_default"}


def _bits(state: Any, algorithm: str, shape: Shape) -> list[Any]:
    """The state behind them, and random bits."""
    tensor = as_tensor(state)
    both = TupleShape((tensor.array_shape, shape))
    return ops.elements(
        ops.operation("rng-bit-generator", tensor, algorithm=algorithm, shape=both)
    )  # fmt: skip


@operator("XlaRngBitGenerator", types="- - Tshape", known=(0, 2))
def random_bits(algorithm: Any, initial_state: Any, shape: Any, dtype: Any = np.uint64) -> Any:
    """(the state behind them, random bits) of a generator's state."""
    (number,) = known_numbers(algorithm, "the number of a generator")
    if number not in _ALGORITHMS:
        raise UnsupportedError(f"random bits are of generators 1 to 3, got {number}")
    dims = known_numbers(shape, "the shape of random bits")
    result = Shape(element_type_of(as_dtype(dtype).dtype), dims)

    return evaluable(lambda state: _bits(state, _ALGORITHMS[number], result))(initial_state)


@operator("StochasticCastToInt", types="Tin - - -", hints=(3,))
def rounded_by_chance(input: Any, key: Any, counter: Any, alg: Any, *, Tout: Any) -> Any:
    """Each number as one of the two integers next to it, by chance the nearer one more often."""
    check_algorithm(alg)
    width = 8 * input.dtype.itemsize
    drawn = element_type_of(np.dtype(f"uint{max(width, 32)}"))

    def rounded(x: Any, *parts: Any) -> Any:
        tensor = as_tensor(x)
        state = ops.concatenate([*map(as_tensor, parts)], 0)
        _, chance = _bits(state, "rng_philox", Shape(drawn, tensor.shape))
        if width < 32:
            highest = chance >> np.uint32(32 - width)
            chance = ops.convert(highest, element_type_of(np.dtype(f"uint{width}")))
        shape = Shape(element_type_of(as_dtype(Tout).dtype), tensor.shape)
        return ops.operation("stochastic-convert", tensor, chance, shape=shape)

    return evaluable(rounded)(input, key, counter)
