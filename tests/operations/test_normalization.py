"""Batch normalization: the rules BNT, BNI and BNG, XLA's values, the expansion, gradients."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check
from spec_helpers import refused
from xla_bridge import run_hlo_text

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import ParseError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.operations import operation
from tfc.hlo import evaluate, parse
from tfc.hlo.builder import instruction, parameter
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import BF16, F16, F32, F64, S32, ElementType, Shape
from tfc.passes.expand.expand import Expand

RNG = np.random.default_rng(0)
VECTORS = {"training": 2, "inference": 4, "grad": 3}
SHAPES = [((3, 4, 5), 1), ((6, 2), 0), ((4, 3, 2, 2), 3), ((5,), 0), ((0, 3), 1), ((3, 0), 1)]


def module_of(
    kind: str, element_type: ElementType, dims: tuple[int, ...], feature: int,
    epsilon: float = 1e-3,
) -> Module:  # fmt: skip
    """One batch-norm op over parameters."""
    vector = Shape(element_type, (dims[feature],))
    shapes = [Shape(element_type, dims), *[vector] * VECTORS[kind]]
    if kind == "grad":
        shapes.append(shapes[0])
    parameters = [parameter(i, s) for i, s in enumerate(shapes)]
    root = instruction(f"batch-norm-{kind}", parameters, epsilon=epsilon, feature_index=feature)
    return Module("m", Computation.make("main", parameters, root))


def arguments(module: Module) -> list[np.ndarray]:
    """Positive numbers, so that any of the vectors may be a variance."""
    shapes = [p.array_shape for p in module.entry.parameters]
    return [np.abs(RNG.normal(size=s.dims)).astype(s.element_type.dtype) for s in shapes]


def all_close(got: Any, expected: Any, tolerance: float) -> None:
    pairs = zip(*(v if isinstance(v, (tuple, list)) else (v,) for v in (got, expected)))
    for a, b in pairs:
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        wide = a.astype(np.float64), b.astype(np.float64)
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dims", "feature"), SHAPES)
def test_spec_bnt1_bnt2_moments_are_over_all_other_dimensions(dims: tuple, feature: int):
    module = module_of("training", F64, dims, feature)
    values = arguments(module)
    _, mean, variance = evaluate(module, *values)
    others = tuple(d for d in range(len(dims)) if d != feature)
    if values[0].size:
        np.testing.assert_allclose(mean, values[0].mean(others), rtol=1e-12)
        np.testing.assert_allclose(variance, values[0].var(others), rtol=1e-12, atol=1e-15)


def test_spec_bnt3_values_are_scaled_and_shifted_after_normalizing():
    x = np.array([[1, 10], [3, 30]], np.float32)
    module = module_of("training", F32, (2, 2), 1, 0.0)
    result, mean, variance = evaluate(module, x, np.float32([2, 3]), np.float32([5, 7]))
    np.testing.assert_array_equal(mean, [2, 20])
    np.testing.assert_array_equal(variance, [1, 100])
    np.testing.assert_array_equal(result, [[3, 4], [7, 10]])


def test_spec_bnt4_a_constant_feature_gives_the_offset_or_with_no_epsilon_nan():
    x, ones = np.full((3, 2), 7, np.float32), np.ones(2, np.float32)
    for epsilon, expected in ((1e-3, 5), (0.0, np.nan)):
        module = module_of("training", F32, (3, 2), 1, epsilon)
        for run in (lambda *a, m=module: evaluate(m, *a), tfc.compile(module)):
            np.testing.assert_array_equal(run(x, ones, ones * 5)[0], np.full((3, 2), expected))


def test_spec_bni1_inference_takes_the_moments_given():
    module = module_of("inference", F32, (2, 1), 1, 0.0)
    given = [np.float32([v]) for v in (2, 5, 1, 4)]
    np.testing.assert_array_equal(evaluate(module, np.float32([[3], [1]]), *given), [[7], [5]])


@pytest.mark.parametrize("element_type", [F32, F64], ids=str)
def test_spec_bni2_training_is_inference_with_the_moments_of_the_batch(element_type: ElementType):
    train = module_of("training", element_type, (4, 3, 2), 1)
    infer = module_of("inference", element_type, (4, 3, 2), 1)
    x, scale, offset = arguments(train)
    result, mean, variance = evaluate(train, x, scale, offset)
    all_close(evaluate(infer, x, scale, offset, mean, variance), result, 1e-5)


@pytest.mark.parametrize(("dims", "feature"), [((5, 2), 0), ((5, 2), 1), *(
    ((3, 4, 5, 2), d) for d in range(4))])  # fmt: skip
def test_spec_bng1_bng2_gradients_are_those_of_training(dims: tuple, feature: int):
    """Against the written out normalization, differentiated by finite differences."""
    others = tuple(d for d in range(len(dims)) if d != feature)
    spread = [n if d == feature else 1 for d, n in enumerate(dims)]
    module = module_of("grad", F64, dims, feature)
    x, scale, _, _, weight = arguments(module)
    mean, variance = x.mean(others), x.var(others)

    def value(x: np.ndarray, scale: np.ndarray) -> float:
        centred = x - x.mean(others, keepdims=True)
        normal = centred / np.sqrt(x.var(others, keepdims=True) + 1e-3)
        return float((normal * scale.reshape(spread) * weight).sum())

    got = evaluate(module, x, scale, mean, variance, weight)
    for position, argument in enumerate((x, scale)):
        for index in list(np.ndindex(argument.shape))[:12]:
            step = np.zeros_like(argument)
            step[index] = 1e-5
            moved = [[x + s * step, scale] if position == 0 else [x, scale + s * step]
                     for s in (1, -1)]  # fmt: skip
            slope = (value(*moved[0]) - value(*moved[1])) / 2e-5
            np.testing.assert_allclose(got[position][index], slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[2], weight.sum(others), rtol=1e-12)


@pytest.mark.parametrize("element_type", [F32, F64, F16, BF16], ids=str)
@pytest.mark.parametrize("kind", VECTORS)
def test_expansion_cpu_and_xla_agree_with_the_reference(kind: str, element_type: ElementType):
    tolerance = {F32: 2e-5, F64: 1e-12, F16: 5e-3, BF16: 4e-2}[element_type]
    for dims, feature in SHAPES:
        module = module_of(kind, element_type, dims, feature, 0.25)
        values = arguments(module)
        expected = evaluate(module, *values)
        all_close(evaluate(Expand()(module), *values), expected, tolerance)
        got = tfc.compile(module)(*values)
        all_close(got if len(got) > 1 else got[0], expected, tolerance)
        if np.prod(dims) and element_type in (F32, F64):
            all_close(run_hlo_text(str(module), *values), expected, 10 * tolerance)


def test_moments_of_data_far_from_zero_keep_their_digits():
    x = (np.arange(12).reshape(6, 2) + 40000).astype(np.float32)
    module = module_of("training", F32, (6, 2), 1)
    _, _, variance = tfc.compile(module)(x, np.ones(2, np.float32), np.ones(2, np.float32))
    np.testing.assert_allclose(variance, x.astype(np.float64).var(0), rtol=1e-6)


@pytest.mark.parametrize(("kind", "rule"), [("training", "BNT-1"), ("inference", "BNI-3"),
                                            ("grad", "BNG-1")])  # fmt: skip
def test_spec_bni3_shapes_that_do_not_fit_are_refused(kind: str, rule: str):
    with refused(rf"batch-norm-{kind} requires a feature_index within 0..1, got -1 \({rule}\)"):
        module_of(kind, F32, (2, 3), -1)
    module = module_of(kind, F32, (2, 3), 1)
    x, _, *rest = module.entry.parameters
    wrong = parameter(0, Shape(F32, (2,)))
    with refused(rf"requires vectors f32\[3\] for the features of f32\[2,3\].*\({rule}\)"):
        instruction(f"batch-norm-{kind}", [x, wrong, *rest], **module.entry.root.attributes)
    with refused("requires operands of type float"):
        module_of(kind, S32, (2, 3), 1)
    with refused("requires a finite epsilon, got inf"):
        module_of(kind, F32, (2, 3), 1, float("inf"))


def test_gradient_of_another_shape_is_refused():
    *others, _ = module_of("grad", F32, (2, 3), 1).entry.parameters
    with refused(r"a grad_output of the operand's shape, got f32\[2,3\] and f32\[3,2\] \(BNG-1\)"):
        instruction("batch-norm-grad", [*others, parameter(4, Shape(F32, (3, 2)))],
                    epsilon=0.1, feature_index=1)  # fmt: skip


@pytest.mark.parametrize("text", ["0.001", "1e-05", "0", "0.00123456789", "-2.5", "3.4e+38"])
def test_epsilon_is_printed_as_xla_does_unless_that_is_another_number(text: str):
    module = module_of("inference", F32, (2, 3), 1, float(text))
    again = parse(str(module))
    assert str(again) == str(module)
    assert np.float32(again.entry.root["epsilon"]) == np.float32(text)
    with pytest.raises(ParseError, match="expected a number, got 'x"):
        parse(str(module).replace("epsilon=", "epsilon=x"))


def test_frontend_normalizes_outside_and_inside_of_a_trace():
    x = RNG.normal(size=(4, 3, 5))
    scale, offset = RNG.normal(size=3), RNG.normal(size=3)
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    wide = [v[:, None] for v in (scale, offset, mean, variance)]
    expected = wide[0] * (x - wide[2]) / np.sqrt(wide[3] + 1e-5) + wide[1]
    for run in (lambda f: f, tfc.jit):
        result, got_mean, got_variance = run(
            lambda *a: nn.batch_norm_training(*a, data_format="NCW")
        )(x, scale, offset)
        np.testing.assert_allclose(result, expected, rtol=1e-9)
        np.testing.assert_allclose(got_mean, mean, rtol=1e-9)
        np.testing.assert_allclose(got_variance, variance, rtol=1e-9)
        result = run(lambda *a: nn.batch_norm_inference(*a, data_format="NCW"))(
            x, scale, offset, mean, variance
        )
        np.testing.assert_allclose(result, expected, rtol=1e-9)


@pytest.mark.parametrize("feature", [0, 1])
def test_gradients_agree_with_finite_differences(feature: int):
    x = RNG.normal(size=(3, 4))
    vectors = [np.abs(RNG.normal(size=x.shape[feature])) for _ in range(4)]
    named = {"epsilon": 0.1, "feature_index": feature}

    def training(*operands):
        return tuple(ops.elements(operation("batch-norm-training", *operands, **named)))

    check(training, x, *vectors[:2])
    check(lambda *o: operation("batch-norm-inference", *o, **named), x, *vectors)


def test_a_second_derivative_of_training_is_refused():
    def loss(x):
        return tnp.sum(nn.batch_norm_training(x, np.ones(2), np.zeros(2))[0] ** 3)

    with pytest.raises(TraceError, match="batch-norm-grad has no gradient: write"):
        tfc.grad(lambda x: tnp.sum(tfc.grad(loss)(x)))(RNG.normal(size=(3, 2)))
