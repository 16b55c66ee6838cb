"""Numbers and arguments by name go the quick way, and mean there what they mean on the long one."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.backends.cpu.runtime import entry_table
from tfc.errors import ShapeError, TraceError

X = np.arange(3, dtype=np.float32)


@pytest.fixture(params=["quick", "long"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Calls with the quick entry, and without any."""
    if request.param == "long":
        monkeypatch.setattr(entry_table, "_entry_code", lambda: None)
    return request.param


NUMBERS: dict[str, Any] = {
    "float": 2.5, "int": 3, "negative int": -3, "bool": True, "false": False, "complex": 2 + 1j,
    "infinity": float("inf"), "largest": 2**63 - 1, "smallest": -(2**63),
    "numpy float32": np.float32(2.5), "numpy float64": np.float64(2.5), "numpy int8": np.int8(-3),
    "numpy bool": np.bool_(True), "numpy half": np.float16(2), "numpy complex": np.complex64(1j),
    "array": np.array(2.5), "array of int8": np.array(3, np.int8),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_means_the_same_whichever_way_it_goes(name: str, way: str):
    given = NUMBERS[name]

    def function(x: Any, y: Any) -> Any:
        return x * y, y

    with np.errstate(invalid="ignore"):
        want = X * given if not isinstance(given, complex) else X * np.complex64(given)
    compiled = tfc.jit(function)
    for args, named in [((X, given), {}), ((X,), {"y": given}), ((), {"y": given, "x": X})]:
        for _ in range(3):
            product, same = compiled(*args, **named)
            assert product.dtype == np.asarray(want).dtype
            assert same.dtype == np.asarray(given).dtype
            np.testing.assert_array_equal(same, given)
            np.testing.assert_allclose(product, want, rtol=1e-6)


def test_calls_take_turns_without_mixing_up():
    """What a weak number is compiled for takes no array, nor one kind of number another."""
    f = tfc.jit(lambda x, y: x * y)
    kinds = [(2.5, "f4"), (np.array(2.5), "f8"), (3, "f4"), (np.float32(2), "f4"), (True, "f4"),
             (np.float64(2), "f8"), (np.array(3), "f8"), (np.int8(3), "f4"), (1, "f4")]  # fmt: skip
    for _ in range(3):
        for number, dtype in kinds:
            got = f(X, number)
            assert got.dtype == dtype, number
            np.testing.assert_array_equal(got, X * float(number))


def test_numbers_go_the_quick_way():
    f = tfc.jit(lambda x, y=1, *, scale=1.0: x * y * scale)
    for args, named in [
        ((X, 2.5), {}), ((X, 2), {}), ((X, True), {}), ((X, np.float32(2)), {}),
        ((X,), {"scale": 2.0}), ((X,), {"scale": X, "y": 2}), ((), {"x": X}),
    ]:  # fmt: skip
        f(*args, **named)
        assert f._quick[0](*args, **named) is not NotImplemented


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((X, 2), {}), ((X, np.array(2.5)), {}), ((X, True), {}), ((X, np.float64(2.5)), {}),
        ((X,), {"y": 2.5}), ((X,), {}), ((X, 2.5), {"y": 2.5}), ((X, 2.5, 2.5), {}),
        ((X, "2"), {}), ((X, None), {}), ((X, [2.5]), {}), ((X, 2**70), {}),
    ],
)  # fmt: skip
def test_what_is_compiled_for_a_float_declines_all_else(args: Any, named: Any):
    f = tfc.jit(lambda x, y: x * y)
    f(X, 2.5)
    (entry,) = f._quick
    assert entry(*args, **named) is NotImplemented
    assert entry(X, 1e300) is not NotImplemented


def test_names_are_looked_up_in_any_order_and_must_be_all():
    f = tfc.jit(lambda x, *, a, b: x + a - b)
    f(X, a=1.0, b=X)
    (entry,) = f._quick
    np.testing.assert_array_equal(entry(X, b=X, a=3.0), np.full(3, 3.0))
    for named in (
        {"a": 1.0},
        {"a": 1.0, "c": X},
        {"a": X, "b": 1.0},
        {},
        {"a": 1.0, "b": X, "c": X},
    ):
        assert entry(X, **named) is NotImplemented
    with pytest.raises(TraceError, match="missing a required"):
        f(X, a=1.0)


def test_static_arguments_by_name_are_compared():
    f = tfc.jit(lambda x, n: x * n, static_argnames="n")
    for n in (2, 3, 2, 3.0, True):
        got = f(X, n=n)
        np.testing.assert_array_equal(got, X * n)
    assert f.cache_size() == 4


def test_a_lowered_function_is_called_without_its_static_arguments(way: str):
    compiled = tfc.jit(lambda x, n, y: x * n + y, static_argnums=1).lower(X, 3, X).compile()
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X, X), 4 * X)
        with pytest.raises(ShapeError, match="compiled for arguments of structure"):
            compiled(X, 3, X)


def test_a_lowered_function_takes_numbers_for_the_dtype_it_is_compiled_for(way: str):
    compiled = tfc.jit(lambda x, y: x * y).lower(X, 2.5).compile()
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X, 3), 3 * X)
        with pytest.raises(ShapeError, match="argument 1"):
            compiled(X, np.float32(3))


class Model:
    def __init__(self, scale: float):
        self.scale = scale

    @partial(tfc.jit, static_argnums=0)
    def step(self, x: Any) -> Any:
        """Scaled."""
        return x * self.scale


def test_a_method_is_lowered_for_its_object():
    two: Any = Model(2)
    three: Any = Model(3)
    for model in (two, three):
        np.testing.assert_array_equal(model.step(X), model.scale * X)
        np.testing.assert_array_equal(model.step.lower(X).compile()(X), model.scale * X)
    assert two.step == two.step
    assert two.step != three.step
    assert len({two.step, two.step, three.step}) == 2
    assert two.step.__self__ is two
    assert two.step.__name__ == "step"
    got = tfc.grad(lambda x: tnp.sum(two.step(x)))(np.ones(2))
    np.testing.assert_array_equal(got, [2, 2])
