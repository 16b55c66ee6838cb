"""Small independent kernels as one: limits, reasons, and the same values."""

import numpy as np
from hypothesis import given

from tfc.hlo import Module, builder, evaluate, verify
from tfc.hlo.ir import Computation
from tfc.hlo.shape import F32, S32, Shape
from tfc.passes import Pipeline
from tfc.passes.fusion.fusion import Fusion
from tfc.passes.fusion.horizontal import Horizontal
from tfc.passes.fusion.multi_output import MultiOutput
from tfc.testing import arguments_for, modules
from tfc.testing.compare import flat


def updates(*lengths: int) -> Module:
    """exp(p) for parameters of these lengths."""
    parameters = [builder.parameter(n, Shape(F32, (size,))) for n, size in enumerate(lengths)]
    root = builder.instruction("tuple", [builder.unary("exponential", p) for p in parameters])
    return Module("updates", Computation.make("main", parameters, root))


def kernels(module: Module) -> int:
    return sum(i.opcode in ("fusion", "exponential") for i in module.entry.instructions)


def test_kernels_of_one_kind_are_merged_up_to_the_limits() -> None:
    module = updates(*range(1, 21))
    assert kernels(Horizontal()(module)) == 1
    assert kernels(Horizontal(max_arrays=10)(module)) == 4
    assert kernels(Horizontal(max_instructions=14)(module)) == 10
    assert kernels(Horizontal(max_bytes=80)(module)) == 11
    assert "more than 10 arrays" in str(Horizontal(max_arrays=10).explain(module)[0])


def test_what_needs_another_is_refused() -> None:
    x = builder.parameter(0, Shape(F32, (4,)))
    once = builder.unary("exponential", x)
    twice = builder.unary("exponential", once)
    module = Module("chain", Computation.make("main", [x], twice))
    assert Horizontal()(module) is module
    assert "a path leads from one to the other" in str(Horizontal().explain(module)[0])


@given(modules(14, element_types=(F32, S32)))
def test_random_modules_keep_their_values(module: Module) -> None:
    passes = Pipeline("merged", (Fusion(), MultiOutput(), Horizontal()))
    result = passes.run(module)
    verify(result)
    arguments = arguments_for(module, np.random.default_rng(1), "special")
    for a, b in zip(*(flat(evaluate(m, *arguments)) for m in (module, result)), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
