"""Calls outside of traces: NumPy's own function where it means the same, else compiled once."""

import contextlib
import itertools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy_rows
import numpy_samples as samples
import pytest
import test_numpy_values as values
from numpy.testing import assert_allclose, assert_array_equal

import tfc
import tfc.numpy as tnp
from tfc import compiler, eager
from tfc.errors import ShapeError, TfcError, TraceError
from tfc.frontend import numpys_own
from tfc.runtime.calls import calls
from tfc.testing.evaluated_calls import evaluate

pytestmark = pytest.mark.eager

rng = np.random.default_rng(11)
DTYPES = [np.dtype(c) for c in "?bhilBHILefdFD"]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the modules that are compiled during a test, by programs of its own."""
    names: list[str] = []
    compile_module = compiler.compile

    def counting(module: Any, *args: Any, **named: Any) -> Any:
        names.append(module.name)
        return compile_module(module, *args, **named)

    monkeypatch.setattr(compiler, "compile", counting)
    monkeypatch.setattr(eager, "_programs", eager._Bounded(8, eager._Program))
    monkeypatch.setattr(eager, "_calls", eager._Bounded(8, eager._Call))
    return names


class _General(Exception):
    """A call went the general way."""


def general(*_: Any) -> Any:
    raise _General


def both(
    call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[np.ndarray], list[np.ndarray]] | None:
    """What NumPy's function and the traced one give; None for a call that is not NumPy's."""
    with monkeypatch.context() as patch:
        patch.setattr(calls, "run", general)
        try:
            got = numpy_rows.flat(call())
        except _General:
            return None
        patch.setattr(calls, "run", evaluate)
        patch.setattr(calls, "uses_numpy", False)
        return got, numpy_rows.flat(call())


def wrong_results(found: Any, row: numpy_rows.Row) -> Iterator[str]:
    got, want = found
    if len(got) != len(want):
        yield f"gives {len(got)} results, not {len(want)}"
    for x, y in zip(got, want):
        assert type(x) is np.ndarray
        if (text := numpy_rows.difference(x, y, row, False)) is not None:
            yield text


@pytest.mark.parametrize("name", values.ROWS)
def test_where_numpys_function_is_called_it_gives_what_the_traced_one_gives(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    """Shape, dtype and values, over all dtypes and nasty values."""
    row, wrong = values.ROWS[name], []
    for dtype in DTYPES:
        for operands in row.operands(dtype):
            try:
                found = both(lambda: row.call(tnp, *operands), monkeypatch)  # noqa: B023
            except TfcError as error:
                wrong.append(f"{dtype}: NumPy takes what tfc refuses: {error}")
                continue
            if found is not None:
                wrong += [f"{dtype} {w}" for w in wrong_results(found, row)]
    assert not wrong


UNCOVERED = ("linspace", "quantile")  # options of their samples, which go the general way


def own_samples() -> Iterator[tuple[str, list[samples.Sample]]]:
    """The samples of functions that have a row, by name."""
    for name in sorted({s.name for s in samples.SAMPLES}):
        if getattr(tnp, name).__name__ in numpys_own.ROWS:
            yield name, [s for s in samples.SAMPLES if s.name == name]


@pytest.mark.parametrize(("name", "found"), [pytest.param(*s, id=s[0]) for s in own_samples()])
def test_samples_give_the_same_by_numpy_and_by_tracing(
    name: str, found: list[samples.Sample], monkeypatch: pytest.MonkeyPatch
):
    """Over all dtypes, whichever the sample is for: NumPy takes nothing that tracing refuses."""
    wrong, reached = [], 0
    for dtype, sample in itertools.product(DTYPES, found):
        arrays = sample.arrays(rng, dtype)
        try:
            results = both(lambda: sample.call(tnp, *arrays), monkeypatch)  # noqa: B023
        except (TfcError, TypeError, ValueError) as error:
            with monkeypatch.context() as patch:
                patch.setattr(calls, "run", general)
                with contextlib.suppress(Exception):
                    sample.call(tnp, *arrays)
                    wrong.append(f"{dtype}: NumPy takes what tfc refuses: {error}")
            continue
        reached += results is not None
        for got, want in zip(*results, strict=True) if results is not None else ():
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            bound = 1e-12 if got.dtype in (np.float64, np.complex128) else 1e-5
            assert_allclose(got, want, rtol=max(bound, 2e-3 * (got.itemsize == 2)), atol=10 * bound)
    assert not wrong
    assert reached or name in UNCOVERED, "no call is NumPy's"


def small(dtype: np.dtype, *shape: int) -> np.ndarray:
    return numpy_rows.ordinary(dtype, *shape)


NUMBERS = (True, 2, -1, 300, 0.5, 2.0, np.float32(2), np.int8(3), np.float64(1.5))
LOOSE = numpy_rows.Row(lambda *_: None, numbers_only=True, equal_zeros=True)


@pytest.mark.parametrize("name", [n for n, r in numpys_own.ROWS.items() if r.operands == 2])
def test_operands_of_two_types_meet_in_numpy_as_in_traces(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    function, wrong = getattr(tnp, name), []
    for dtype in DTYPES:
        x = np.sort(small(dtype, 3))
        others = [*(small(other, 3) for other in DTYPES), *NUMBERS]
        pairs = [(x, y) for y in others] + [(y, x) for y in NUMBERS]
        for pair in pairs:
            try:
                found = both(lambda: function(*pair), monkeypatch)  # noqa: B023
            except TraceError as error:
                if "power" not in str(error) and "negative" not in str(error):
                    wrong.append(f"{pair}: {error}")
                continue
            except ShapeError as error:
                wrong.append(f"{pair}: NumPy takes what tfc refuses: {error}")
                continue
            if found is not None:
                wrong += [f"{pair} {w}" for w in wrong_results(found, LOOSE)]
    assert not wrong


F, X = np.arange(3, dtype=np.float32), np.arange(6.0, dtype=np.float32).reshape(2, 3)
CALLS = {
    "where of numbers": lambda: tnp.where(np.array([True, False, True]), F, -1),
    "where of types": lambda: tnp.where(np.array([True, False, True]), F, small(DTYPES[3], 3)),
    "clip": lambda: [tnp.clip(F, -1, 300), tnp.clip(F, min=1), tnp.clip(F, None, F[::-1])],
    "take": lambda: [tnp.take(X, i, 1) for i in (0, -1, [0, 2], np.array([[0, -1]]))],
    "axes": lambda: [tnp.sum(X, (0, 1)), tnp.sum(X, -1, keepdims=True), tnp.max(X, axis=())],
    "arange": lambda: [tnp.arange(*a) for a in ((5,), (2, 5), (9, 2, -3), (3, None, 2), (5, 2))],
    "linspace": lambda: [tnp.linspace(0, 1, 5), tnp.linspace(0.0, 3, 4, endpoint=False)],
    "eye": lambda: [tnp.eye(3), tnp.eye(3, 4, -1, np.int32), tnp.tri(2, 3, 1)],
    "zeros": lambda: [tnp.zeros(3), tnp.ones((2, 3), "float32"), tnp.full((2,), 1.5, np.float16)],
    "reshape": lambda: [tnp.reshape(X, 6), tnp.reshape(X, (3, -1)), tnp.reshape(X[:0], (0, 2))],
    "three dimensions": lambda: [
        f(np.arange(24.0).reshape(2, 3, 4))
        for f in (tnp.triu, tnp.tril, tnp.matrix_transpose, tnp.fliplr, tnp.ravel)
    ],
    "products": lambda: [tnp.matmul(X, F), tnp.dot(F, F), tnp.dot(X, 2 * X.T), tnp.inner(X, F),
                         tnp.tensordot(X, X, 2), tnp.matmul(np.ones((4, 2, 3)), X.T)],
    "sort": lambda: [tnp.sort(np.tile([0.0, -0.0, np.nan, -1, 1], 2000)),
                     tnp.sort(np.tile([0.0, -0.0], 9), descending=False),
                     tnp.argsort(np.tile([2, 0, 1], 30))],
    "stack": lambda: [tnp.stack([F, F], 1), tnp.concatenate((X, X[:1])), tnp.hstack([F, F])],
    "roll": lambda: [tnp.roll(X, 1), tnp.roll(X, (1, -2), (0, 1)), tnp.tile(X, (2, 1, 2))],
    "split": lambda: [*tnp.split(F, 3), *tnp.divmod(F, 2), *tnp.split(X, [1, 2], axis=1)],
    "quantile": lambda: [tnp.quantile(X, 0.3, axis=0), tnp.percentile(X, 70.0), tnp.median(X, 1)],
    "moved": lambda: [tnp.moveaxis(X, 0, -1), tnp.swapaxes(X, 0, 1), tnp.expand_dims(X, (0, -1))],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_options_mean_the_same_to_numpy(name: str, monkeypatch: pytest.MonkeyPatch):
    found = both(CALLS[name], monkeypatch)
    assert found is not None
    assert not list(wrong_results(found, LOOSE))


REFUSED = {
    "sum": (np.float64(3.0), 0), "reshape": (X, (4, 2)), "round": (X, 400), "tril": (F,),
    "maximum": (np.zeros(3, np.uint8), -1), "sin": (X, X),
    "add": (X, np.ones(4)), "matmul": (X, X), "zeros": (-1,), "concatenate": ([X, F],),
    "argmax": (X[:0],), "expand_dims": (X, (0, 0)), "where": ([True], np.zeros(1, "u1"), -1),
    "sort": (np.zeros((2, 2)), 7), "take": (X, 0, 9),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_in_traces_is_refused_in_the_same_words(name: str):
    function = getattr(tnp, name)
    with pytest.raises((TfcError, TypeError)) as caught:
        function(*REFUSED[name])
    with pytest.raises(type(caught.value)) as traced:
        tfc.jit(lambda: function(*REFUSED[name]))()
    assert str(caught.value) == str(traced.value)


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype(np.float32),
        pytest.param(np.dtype(np.int32), marks=pytest.mark.slow),
        pytest.param(numpy_rows.BFLOAT16, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_every_function_gives_outside_of_traces_what_it_means(
    dtype: np.dtype, monkeypatch: pytest.MonkeyPatch
):
    """By whichever way: compared with the reference evaluator."""
    wrong = []
    for name, row in values.ROWS.items():
        try:
            operands = next(iter(row.operands(dtype)))
            got = numpy_rows.flat(row.call(tnp, *operands))
        except (TfcError, StopIteration):
            continue  # compared by the table's own test, or not of this dtype
        with monkeypatch.context() as patch:
            patch.setattr(calls, "run", evaluate)
            patch.setattr(calls, "uses_numpy", False)
            want = numpy_rows.flat(row.call(tnp, *operands))
        wrong += [f"{name} {w}" for w in wrong_results((got, want), LOOSE)]
    assert not wrong


def test_a_function_of_tfcs_own_is_compiled_once_for_each_signature(compiled: list[str]):
    x = np.linspace(-1, 1, 7).astype(np.float32)
    first = tnp.erf(x)
    assert_array_equal(tnp.erf(x), first)
    assert len(compiled) == 1
    assert_allclose(tnp.erf(x[::-1]), first[::-1])
    assert len(compiled) == 1
    tnp.erf(x[:3])
    assert len(compiled) == 2


def test_a_program_that_is_the_same_again_is_not_compiled_again(compiled: list[str]):
    rng = np.random.default_rng(3)
    data, w = rng.normal(size=(5, 3)), rng.normal(size=3)
    for step in range(3):
        # Another function, other arrays in it, another number: the same steps.
        shift, rate = data + step, step / 4
        got = tfc.grad(lambda w, r: tnp.sum(tnp.tanh(shift @ w) * r))(w, rate)  # noqa: B023
        assert_allclose(got, rate * (1 - np.tanh(shift @ w) ** 2) @ shift, rtol=1e-9, atol=1e-12)
    assert len(compiled) == 1


def test_an_array_counts_as_it_was_when_it_was_used():
    def function(w: Any) -> Any:
        buffer = np.ones(3)
        first = tnp.sum(w * buffer)
        buffer += 1
        return first + 10 * tnp.sum(w * buffer)

    value, found = tfc.value_and_grad(function)(np.ones(3))
    assert value == 63
    assert_array_equal(found, np.full(3, 21.0))


def test_arrays_of_inner_traces_are_arguments_too():
    step, limit = np.array([2.0, 3.0]), np.array(20.0)

    def run() -> Any:
        return tfc.while_loop(lambda s: tnp.sum(s) < limit, lambda s: s + step, np.zeros(2))

    assert_array_equal(run(), [8, 12])
    limit += 10
    assert_array_equal(run(), [12, 18])
    chosen = tfc.cond(limit > 1, lambda x: x * step, lambda x: x, np.ones(2))
    assert_array_equal(chosen, step)


def test_programs_that_are_not_used_are_forgotten(compiled: list[str]):
    for size in range(1, 12):
        tnp.erf(np.ones(size, np.float32))
    count = len(compiled)
    tnp.erf(np.ones(11, np.float32))
    assert len(compiled) == count
    tnp.erf(np.ones(1, np.float32))
    assert len(compiled) == count + 1


def test_threads_that_call_at_once_compile_once(compiled: list[str]):
    results: list[np.ndarray] = []
    start = threading.Barrier(6)

    def work() -> None:
        start.wait()
        results.append(tfc.grad(lambda x: tnp.sum(tnp.erf(x) * x))(np.linspace(0, 1, 5)))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1
    assert len(results) == 6
    assert all((r == results[0]).all() for r in results)


def test_a_function_that_needs_the_values_gets_them(compiled: list[str]):
    counts: Any = np.array([3, 2])
    assert tnp.zeros(counts).shape == (3, 2)
    assert tnp.zeros(counts + 1).shape == (4, 3)


def test_results_that_are_there_already_are_not_compiled(compiled: list[str]):
    x = np.arange(3, dtype=ml_dtypes.bfloat16)
    got = tnp.positive(x)
    assert got is not x
    assert not np.shares_memory(got, x)
    assert_array_equal(got, x)
    assert tfc.stop_gradient(2).dtype == np.int64
    assert compiled == []


def test_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zeros = np.zeros(3, np.float32)
        assert_array_equal(tnp.log(zeros), [-np.inf] * 3)
        assert np.isnan(tnp.divide(zeros, zeros)).all()
        assert np.isnan(tnp.mean(zeros[:0]))
        with pytest.raises(RuntimeWarning):
            np.log(zeros)  # NumPy's own settings are as they were


def test_the_evaluator_is_not_used(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any) -> Any:
        raise AssertionError("evaluated")

    monkeypatch.setattr("tfc.hlo.evaluation.evaluator.evaluate_computation", refuse)
    x = np.arange(9, dtype=ml_dtypes.bfloat16)
    assert tnp.cumsum(x)[-1] == 36
    assert tfc.nn.softmax(x).dtype == x.dtype
    assert tfc.grad(lambda x: tnp.sum(x**2))(np.ones(2)).tolist() == [2, 2]
    assert tfc.random.uniform(tfc.random.key(1), 3).shape == (3,)
