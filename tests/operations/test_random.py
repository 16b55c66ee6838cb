"""Random numbers: XLA's bits exactly, the state of a program, distributions as the rules say."""

import math
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_helpers import floats, ints, refused
from xla_bridge import run_hlo_text

import tfc
from tfc.errors import TraceError
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor
from tfc.hlo import evaluate, parse
from tfc.hlo.builder import constant, instruction, parameter
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.ops.random import INITIAL_STATE, STATE
from tfc.hlo.shape import (
    BF16,
    F16,
    F32,
    F64,
    PRED,
    S8,
    S16,
    S32,
    S64,
    U8,
    U32,
    U64,
    ElementType,
    Shape,
    TupleShape,
)  # fmt: skip
from tfc.passes.expand.expand import Expand

ALGORITHMS = [("rng_three_fry", 2), ("rng_philox", 2), ("rng_philox", 3), ("rng_default", 3)]
DIMS = [(), (1,), (5,), (16,), (0,), (3, 2), (3, 5), (2, 0, 3), (7, 4, 3), (5, 5, 3)]
TOP = (1 << 64) - 1


def bits_module(algorithm: str, size: int, shape: Shape) -> Module:
    """An rng-bit-generator over a state of `size`."""
    state = parameter(0, Shape(U64, (size,)))
    root = instruction("rng-bit-generator", [state], shape=TupleShape((state.shape, shape)),
                       algorithm=algorithm)  # fmt: skip
    return Module("bits", Computation.make("main", [state], root))


def unsigned(value: Any) -> np.ndarray:
    """The bits of an array, as XLA's client gives those of floats and signed integers."""
    return np.asarray(value).reshape(-1).view(f"u{np.asarray(value).dtype.itemsize}")


def same_bits(got: Any, expected: Any) -> None:
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(unsigned(got[1]), unsigned(expected[1]))


@pytest.mark.parametrize("element_type", [U8, S16, U32, F32, S64, F64, BF16], ids=str)
@pytest.mark.parametrize(("algorithm", "size"), ALGORITHMS)
def test_bits_and_the_new_state_are_exactly_xlas(
    algorithm: str, size: int, element_type: ElementType
):
    """A carry out of the low half of the counter included."""
    for number, dims in enumerate(DIMS):
        if number % (1 if element_type == U32 and size == 2 else 4):
            continue  # all shapes for one type, some for the others
        module = bits_module(algorithm, size, Shape(element_type, dims))
        for state in ([3, 9, 5], [TOP - 4, TOP - 1, 7], [8, 1 << 40, TOP]):
            given = np.array(state[:size], np.uint64)
            expected = evaluate(module, given)
            same_bits(evaluate(Expand()(module), given), expected)
            same_bits(run_hlo_text(str(module), given), expected)


@settings(max_examples=6, deadline=None)
@given(
    st.sampled_from(ALGORITHMS), st.sampled_from([U8, S8, F16, U32, S64, F64]),
    st.lists(st.integers(0, 9), max_size=3), st.lists(st.integers(0, TOP), min_size=3, max_size=3),
)  # fmt: skip
def test_compiled_bits_are_those_of_the_reference(
    algorithm: tuple, element_type: ElementType, dims: list, state: list
):
    module = bits_module(*algorithm, Shape(element_type, tuple(dims)))
    given = np.array(state[: algorithm[1]], np.uint64)
    same_bits(tfc.compile(module)(given), evaluate(module, given))


def test_threefry_is_the_published_function():
    """The known answers of its authors' library, for counter and key of zeros and of ones."""
    for words, expected in ((0, (0x6B200159, 0x99BA4EFE)), (TOP, (0x1CB996FC, 0xBB002BE7))):
        module = bits_module("rng_three_fry", 2, Shape(U64))
        bits = int(evaluate(module, np.array([words, words], np.uint64))[1])
        assert (bits & 0xFFFFFFFF, bits >> 32) == expected


def test_philox_is_the_published_function():
    """The known answers of its authors' library, for counter and key of zeros and of ones."""
    zeros = (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    module = bits_module("rng_philox", 3, Shape(U32, (4,)))
    for words, expected in ((0, zeros), (TOP, ones)):
        _, bits = evaluate(module, np.array([words] * 3, np.uint64))
        np.testing.assert_array_equal(bits, np.array(expected, np.uint32))


def state_of(size: int) -> Instruction:
    return constant(np.zeros(size, np.uint64))


def bits(state: Instruction, *shapes: Shape, algorithm: str = "rng_philox") -> Instruction:
    return instruction("rng-bit-generator", [state], shape=TupleShape((state.shape, *shapes)),
                       algorithm=algorithm)  # fmt: skip


def test_a_state_or_a_result_that_does_not_fit_is_refused():
    good = Shape(U32, (3,))
    with refused(r"a state of u64\[2\] for rng_three_fry, got u64\[3\]"):
        bits(state_of(3), good, algorithm="rng_three_fry")
    with refused(r"a state of u64\[2\] or u64\[3\] for rng_philox, got u64\[4\]"):
        bits(state_of(4), good)
    with refused(r"a state of u64\[2\] or u64\[3\] for rng_philox, got s32\[2\]"):
        bits(ints([0, 0]), good)
    with refused("an algorithm rng_default rng_three_fry rng_philox, got mersenne"):
        bits(state_of(2), good, algorithm="mersenne")
    with refused("its result to be stated as the state and an array"):
        bits(state_of(2))
    with refused(r"bits of an integer or float type, got pred\[3\]"):
        bits(state_of(2), Shape(PRED, (3,)))


# --- the state of a program ---------------------------------------------------------------------

STATES = """
HloModule states

ENTRY main {
  first = u64[2] rng-get-and-update-state(), delta=9223372036854775807
  second = u64[2] rng-get-and-update-state(), delta=9223372036854775807
  ROOT both = (u64[2], u64[2]) tuple(first, second)
}"""


def as_integer(state: np.ndarray) -> int:
    return int(state[0]) + (int(state[1]) << 64)


def test_equal_draws_of_a_program_are_not_merged_and_its_state_outlasts_the_call():
    run, delta = tfc.compile(parse(STATES)), (1 << 63) - 1
    for call in range(3):
        got = sorted(as_integer(s) for s in run())
        assert got == [INITIAL_STATE + (2 * call + k) * delta for k in range(2)]


def test_each_program_begins_with_the_same_state():
    first, second = (tfc.compile(parse(STATES))() for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_the_reference_advances_its_state_by_delta():
    first, second = evaluate(parse(STATES))
    assert as_integer(second) - as_integer(first) == (1 << 63) - 1


def test_concurrent_calls_get_states_of_their_own():
    root = instruction("rng-get-and-update-state", [], shape=STATE, delta=1)
    run = tfc.compile(Module("m", Computation.make("main", [], root)))
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.extend(as_integer(run()[0]) for _ in range(50)))
               for _ in range(4)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(INITIAL_STATE, INITIAL_STATE + 200))


def test_a_state_of_another_shape_or_a_negative_step_is_refused():
    with refused(r"rng-get-and-update-state requires the result u64\[2\], got u64\[3\]"):
        instruction("rng-get-and-update-state", [], shape=Shape(U64, (3,)), delta=1)
    with refused("a delta that is not negative, got -1"):
        instruction("rng-get-and-update-state", [], shape=STATE, delta=-1)


# --- distributions ------------------------------------------------------------------------------


def draw(kind: str, low: Any, high: Any, shape: Shape) -> list[np.ndarray]:
    """Numbers from the reference, and from two calls of the compiled program."""
    ends = [constant(v, shape.element_type) for v in (low, high)]
    root = instruction("rng", ends, shape=shape, distribution=kind)
    module = Module("m", Computation.make("main", [], root))
    run = tfc.compile(module)
    numbers = [evaluate(parse(str(module))), run()[0], run()[0]]
    assert all((n.dtype, n.shape) == (shape.element_type.dtype, shape.dims) for n in numbers)
    return numbers


def assert_distributed(numbers: np.ndarray, cumulative: Any, slack: float = 0.0) -> None:
    """Kolmogorov and Smirnov's test, at one in a million for numbers without ties."""
    ordered = np.sort(numbers.astype(np.float64).reshape(-1))
    expected = np.array([cumulative(x) for x in ordered])
    count = len(ordered)
    steps = np.arange(count + 1) / count
    distance = max(np.max(expected - steps[:-1]), np.max(steps[1:] - expected))
    assert distance < 2.7 / math.sqrt(count) + slack


@pytest.mark.parametrize("element_type", [F16, BF16, F32, F64], ids=str)
def test_spec_rn1_normal_numbers_have_the_mean_and_deviation_given(element_type: ElementType):
    slack = {F16: 2e-3, BF16: 2e-2}.get(element_type, 0.0)  # what rounding makes equal
    for numbers in draw("rng_normal", 3, 2, Shape(element_type, (60, 50))):
        assert_distributed(numbers, lambda x: (1 + math.erf((x - 3) / 2 / math.sqrt(2))) / 2, slack)


@pytest.mark.parametrize("element_type", [F16, BF16, F32, F64], ids=str)
def test_spec_ru1_uniform_floats_fill_the_interval_without_its_end(element_type: ElementType):
    slack = {F16: 2e-3, BF16: 2e-2}.get(element_type, 0.0)
    for numbers in draw("rng_uniform", -1, 3, Shape(element_type, (3000,))):
        assert (numbers >= -1).all()
        assert (numbers < 3).all()
        assert_distributed(numbers, lambda x: (x + 1) / 4, slack)


@pytest.mark.parametrize("element_type", [S8, U8, S32, U32, S64, U64], ids=str)
def test_spec_ru1_uniform_integers_take_every_value_below_the_end(element_type: ElementType):
    low = -3 if element_type.kind == "signed" else 2
    for numbers in draw("rng_uniform", low, low + 7, Shape(element_type, (7000,))):
        values, counts = np.unique(numbers, return_counts=True)
        np.testing.assert_array_equal(values, np.arange(low, low + 7))
        assert ((counts - 1000) ** 2 / 1000).sum() < 45  # chi square of 6 degrees: one in 10^7
    whole = np.iinfo(element_type.dtype)
    for numbers in draw("rng_uniform", whole.min, whole.max, Shape(element_type, (2000,))):
        middle = whole.min + (whole.max - whole.min) // 2
        assert 850 < np.count_nonzero(numbers > middle) < 1150


@pytest.mark.parametrize(("element_type", "low", "high"), [
    (F32, 2.0, 2.0), (F32, 3.0, -1.0), (S32, 5, 5), (S32, 5, -2), (U8, 9, 2)], ids=str)  # fmt: skip
def test_an_empty_interval_gives_its_beginning(element_type: ElementType, low: Any, high: Any):
    for numbers in draw("rng_uniform", low, high, Shape(element_type, (4,))):
        np.testing.assert_array_equal(numbers, np.full(4, low, element_type.dtype))


def test_the_end_is_not_reached_by_rounding():
    for numbers in draw("rng_uniform", 1.0, np.float32(1) + np.finfo(np.float32).eps,
                        Shape(F32, (1000,))):  # fmt: skip
        np.testing.assert_array_equal(numbers, np.ones(1000, np.float32))


def test_two_draws_of_one_program_differ():
    def both():
        ends = as_tensor(np.float32(0)), as_tensor(np.float32(1))
        return [operation("rng", *ends, shape=Shape(F32, (64,)), distribution="rng_uniform")
                for _ in range(2)]  # fmt: skip

    first, second = tfc.jit(both)()
    assert not np.array_equal(first, second)


def test_spec_ru1_rn1_types_that_do_not_fit_are_refused():
    def rng(low: Instruction, high: Instruction, shape: Shape, kind: str) -> Instruction:
        return instruction("rng", [low, high], shape=shape, distribution=kind)

    with refused(r"two scalars of its result's type f32, got f32\[\] and s32\[\] \(RU-1\)"):
        rng(floats(0), ints(1), Shape(F32), "rng_uniform")
    with refused(r"two scalars of its result's type f32, got f32\[1\] and f32\[\] \(RN-1\)"):
        rng(floats([0]), floats(1), Shape(F32), "rng_normal")
    with refused("rng requires operands of type float, got s32"):
        rng(ints(0), ints(1), Shape(S32), "rng_normal")
    with refused("a distribution rng_uniform rng_normal, got rng_cauchy"):
        rng(floats(0), floats(1), Shape(F32), "rng_cauchy")


def test_numbers_have_no_gradient_by_their_parameters():
    def drawn(x):
        return operation("rng", x, x, shape=Shape(F64), distribution="rng_normal")

    with pytest.raises(TraceError, match="rng has no gradient by its parameters: draw"):
        tfc.grad(drawn)(np.float64(1))
