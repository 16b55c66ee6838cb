"""x[key] and x.at[key] of traced Tensors are NumPy's for random keys of every form."""

from typing import Any

import numpy as np
import pytest

import tfc

RNG = np.random.default_rng(5)
SHAPES = [(5,), (3, 4), (4, 1, 3), (2, 3, 4, 2), (0, 3), ()]


def a_bound(size: int) -> int | None:
    return None if RNG.random() < 0.3 else int(RNG.integers(-size - 3, size + 4))


def a_slice(size: int) -> slice:
    step = None if RNG.random() < 0.4 else int(RNG.choice([-3, -2, -1, 1, 2, 5]))
    return slice(a_bound(size), a_bound(size), step)


def an_array(size: int, dims: tuple[int, ...]) -> np.ndarray:
    dtype = RNG.choice(["i1", "i4", "i8", "u1", "u4", "u8"])
    low = 0 if dtype[0] == "u" else -size
    return RNG.integers(low, size, dims).astype(dtype)


def a_part(sizes: list[int], dims: tuple[int, ...], advanced: bool) -> tuple[Any, int]:
    """An entry of a key for the dimensions that come next, and for how many of them it is."""
    size, choice = sizes[0], RNG.random()
    if choice < 0.35 or not size:
        return a_slice(size), 1
    if choice < 0.55 or not advanced:
        return int(RNG.integers(-size, size)), 1
    if choice < 0.62:
        return np.array(RNG.integers(-size, size)), 1
    if choice < 0.7 and dims == (2,):
        count = int(RNG.integers(1, len(sizes) + 1))
        mask = np.zeros(sizes[:count], bool)
        if mask.size >= 2:
            mask.ravel()[RNG.choice(mask.size, 2, replace=False)] = True
            return mask, count
    shape = dims[int(RNG.integers(0, len(dims) + 1)) :]
    found = an_array(size, tuple(n if RNG.random() < 0.8 else 1 for n in shape))
    return (found.tolist() if RNG.random() < 0.2 else found), 1


def a_key(shape: tuple[int, ...]) -> Any:
    """A key of all forms that NumPy takes for an array of this shape."""
    dims = ((2,), (3, 2), (2, 1), (0,))[RNG.choice(4, p=[0.5, 0.2, 0.2, 0.1])]
    advanced = RNG.random() < 0.6
    parts: list[Any] = []
    left, wanted = list(shape), int(RNG.integers(0, len(shape) + 1))
    dots = RNG.random() < 0.4
    while wanted > 0:
        if dots and RNG.random() < 0.3:
            parts.append(Ellipsis)
            left, dots = left[len(left) - wanted :], False
        if RNG.random() < 0.15:
            parts.append(None)
        part, count = a_part(left[:wanted], dims, advanced)
        parts.append(part)
        left, wanted = left[count:], wanted - count
    if dots:
        parts.append(Ellipsis)
    if advanced and RNG.random() < 0.1:
        parts.insert(int(RNG.integers(0, len(parts) + 1)), bool(RNG.random() < 0.7))
    if len(parts) == 1 and RNG.random() < 0.5:
        return parts[0]
    return tuple(parts)


def some_keys(shape: tuple[int, ...], count: int) -> list[Any]:
    """Random keys that NumPy takes."""
    found: list[Any] = []
    while len(found) < count:
        key = a_key(shape)
        try:
            numbers(shape)[key]
        except IndexError:  # arrays that do not broadcast together
            continue
        found.append(key)
    return found


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(1.0, 1 + int(np.prod(shape))).reshape(shape)


def with_arrays(key: Any, replace: Any) -> Any:
    """The key with `replace` of its integers and arrays of integers."""
    parts = key if isinstance(key, tuple) else (key,)
    made = tuple(
        replace(p) if (isinstance(p, np.ndarray) and p.dtype != bool) or type(p) is int else p
        for p in parts
    )
    return made if isinstance(key, tuple) else made[0]


def traced_places(key: Any) -> tuple[list[Any], Any]:
    """The integers and arrays of a key, and the key with their numbers in order in their place."""
    found: list[Any] = []

    def take(part: Any) -> "Slot":
        found.append(np.asarray(part))
        return Slot(len(found) - 1)

    return found, with_arrays(key, take)


class Slot:
    """Where an argument of the traced function goes in a key."""

    def __init__(self, number: int):
        self.number = number


def filled(key: Any, arguments: Any) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    made = tuple(arguments[p.number] if isinstance(p, Slot) else p for p in parts)
    return made if isinstance(key, tuple) else made[0]


def check(got: Any, want: np.ndarray, key: Any) -> None:
    assert np.shape(got) == np.shape(want), key
    np.testing.assert_array_equal(got, want, err_msg=repr(key))


def run_reads(backend: str, shape: tuple[int, ...], count: int) -> None:
    x, keys = numbers(shape), some_keys(shape, count)
    want = [x[key] for key in keys]
    got = tfc.jit(lambda x: [x[key] for key in keys], backend=backend)(x)
    for g, w, key in zip(got, want, keys):
        check(g, w, key)
    slots = [traced_places(key) for key in keys]
    run = tfc.jit(
        lambda x, places: [x[filled(k, p)] for (_, k), p in zip(slots, places)], backend=backend
    )
    for g, w, key in zip(run(x, [s[0] for s in slots]), want, keys):
        check(g, w, key)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reading_random_keys_is_numpys(shape: tuple[int, ...]):
    """The same keys once known and once with all of their integers traced."""
    run_reads("interpreter", shape, 80)


@pytest.mark.parametrize("shape", SHAPES[2:4], ids=str)
def test_reading_random_keys_in_compiled_code_is_numpys(shape: tuple[int, ...]):
    run_reads("cpu", shape, 10)


WRITES: dict[str, Any] = {
    "add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum,
    "subtract": np.subtract,
}  # fmt: skip


def written(x: np.ndarray, key: Any, name: str, values: np.ndarray) -> np.ndarray:
    """What NumPy makes of the array, with repeated places taken in turn."""
    made = x.copy()
    if name == "set":
        made[key] = values
    else:
        # ufunc.at reads beyond values that it has to broadcast along the first dimension.
        WRITES[name].at(made, key, np.broadcast_to(values, x[key].shape).copy())
    return made


def for_ufunc_at(key: Any) -> Any:
    """NumPy's ufunc.at does not take lists and lone booleans everywhere."""
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(np.asarray(p, np.int64) if isinstance(p, list) else p for p in parts)


def run_writes(backend: str, shape: tuple[int, ...], count: int) -> None:
    x = numbers(shape)
    keys = [for_ufunc_at(key) for key in some_keys(shape, count)]
    keys = [key for key in keys if not any(isinstance(part, bool) for part in key)]
    names = [["set", *WRITES][i % 6] for i in range(len(keys))]
    values = [values_for(x[key].shape, name) for key, name in zip(keys, names)]
    want = [written(x, k, n, v) for k, n, v in zip(keys, names, values)]
    slots = [traced_places(key) for key in keys]

    def run(x: Any, places: Any, values: Any) -> Any:
        known = [getattr(x.at[k], n)(v) for k, n, v in zip(keys, names, values)]
        traced = [
            getattr(x.at[filled(k, p)], n)(v)
            for (_, k), p, n, v in zip(slots, places, names, values)
        ]
        return known, traced

    known, traced = tfc.jit(run, backend=backend)(x, [s[0] for s in slots], values)
    for number, w in enumerate(want):
        for got in (known[number], traced[number]):
            check(got, w, (keys[number], names[number]))


def values_for(shape: tuple[int, ...], name: str) -> np.ndarray:
    """Values that broadcast to a shape; the same everywhere where one place may be set twice."""
    if name == "set":
        return np.array(-7.0)
    kept = shape[int(RNG.integers(0, len(shape) + 1)) :]
    return RNG.integers(-3, 20, [n if RNG.random() < 0.8 else 1 for n in kept]).astype(float)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_writing_at_random_keys_is_numpys(shape: tuple[int, ...]):
    run_writes("interpreter", shape, 60)


@pytest.mark.parametrize("shape", SHAPES[2:4], ids=str)
def test_writing_at_random_keys_in_compiled_code_is_numpys(shape: tuple[int, ...]):
    run_writes("cpu", shape, 12)


def test_the_gradient_goes_to_the_elements_that_are_read_also_beyond_the_bounds():
    x = np.arange(4.0)
    for places, read in (([1, 7], [1, 3]), ([-9, 2], [0, 2]), (7, 3), (-9, 0)):
        want = np.zeros(4)
        np.add.at(want, read, 2)
        keys = np.array(places)
        assert np.array_equal(tfc.jit(lambda x, i: x[i])(x, keys), x[read])
        assert np.array_equal(tfc.jit(tfc.grad(lambda x, i: (x[i] * 2).sum()))(x, keys), want)
    filled = tfc.jit(tfc.grad(lambda x, i: x.at[i].get(mode="fill", fill_value=0).sum()))
    assert np.array_equal(filled(x, np.array([1, 7])), [0, 1, 0, 0])
