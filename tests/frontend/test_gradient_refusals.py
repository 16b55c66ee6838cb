"""What differentiation refuses: a sentence that says what it requires and what it got."""

import numpy as np
import pytest

import tfc
from tfc.errors import TraceError

REFUSALS = [
    (lambda: tfc.grad(lambda x: x)(2), r"requires floating-point arguments, got s64\[\] for arg"),
    (lambda: tfc.grad(lambda x: x * 2)(np.ones(3)), r"result is a float scalar, got f64\[3\]"),
    (lambda: tfc.grad(lambda x: x > 1)(2.0), r"float scalar, got pred\[\]"),
    (lambda: tfc.grad(lambda x: (x, x))(2.0), "float scalar, got <class 'tuple'>"),
    (lambda: tfc.grad(lambda x: x, has_aux=True)(2.0), r"returns \(value, aux\)"),
    (lambda: tfc.grad(lambda x: x, 1)(2.0), "argnums must be among the 1 positional arguments"),
    (lambda: tfc.vjp(lambda x: x, 2.0)[1]([1.0]), "must have the result's structure"),
    (lambda: tfc.vjp(lambda x: x, 2.0)[1](np.ones(2)), r"cotangent of result must be f64\[\], got"),
    (lambda: tfc.jit(tfc.grad(lambda x: tfc.while_loop(lambda v: v < 9, lambda v: v * x, x)))(2.0),
     "use tfc.fori_loop between Python numbers"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_what_is_refused(number):
    function, message = REFUSALS[number]
    with pytest.raises(TraceError, match=message):
        function()
