"""Arrays go to other libraries and come back in the same memory, by DLPack's capsules."""

import ctypes
import gc

import ml_dtypes
import numpy as np
import pytest

from tfc.errors import UnsupportedError
from tfc.runtime import dlpack


class Exported:
    """An array that NumPy takes through tfc's capsule."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **_: object) -> object:
        place = self.array.ctypes.data
        return dlpack.export(place, self.array.dtype, self.array.shape, (dlpack.CPU, 0), self.array)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (dlpack.CPU, 0)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_numpy_reads_an_exported_array_in_its_memory(dtype: str):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    taken = np.from_dlpack(Exported(array))
    assert taken.ctypes.data == array.ctypes.data
    np.testing.assert_array_equal(taken, array)


def test_an_array_lives_until_who_took_it_lets_it_go():
    array = np.zeros(5)
    before = len(dlpack._exported)
    taken = np.from_dlpack(Exported(array))
    assert len(dlpack._exported) == before + 1
    del taken
    gc.collect()
    assert len(dlpack._exported) == before
    capsule = Exported(array).__dlpack__()
    assert len(dlpack._exported) == before + 1
    del capsule  # nobody took it
    assert len(dlpack._exported) == before


def test_what_numpy_exports_is_taken():
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    taken = dlpack.take(array.__dlpack__())
    assert (taken.address, taken.dtype, taken.dims) == (array.ctypes.data, array.dtype, (2, 3))
    taken.let_go()


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_types_that_numpy_lacks_come_back_as_they_went(dtype: type):
    array = np.zeros((2, 2), dtype)
    taken = dlpack.take(Exported(array).__dlpack__())
    assert taken.dtype == array.dtype
    taken.let_go()


@pytest.mark.parametrize("dims", [(3, 0), (0, 3), (0,), (2, 0, 4)])
def test_an_array_of_no_elements_may_have_any_strides(dims: tuple[int, ...]):
    for array in (np.zeros(dims), np.zeros(dims[::-1]).T):
        taken = dlpack.take(array.__dlpack__())
        assert taken.dims == dims
        taken.let_go()


def test_what_cannot_be_taken_is_refused():
    with pytest.raises(UnsupportedError, match="row-major"):
        dlpack.take(np.zeros((2, 3)).T.__dlpack__())
    with pytest.raises(UnsupportedError, match="capsule that nobody has taken"):
        dlpack.take(3)
    halves = np.zeros(3, np.complex64).__dlpack__()
    pointer = dlpack._pointer(ctypes.c_void_p(id(halves)), b"dltensor")
    dlpack._Managed.from_address(pointer).tensor.type.bits = 32
    with pytest.raises(UnsupportedError, match="type 5 with 32 bits and 1 lanes has no counter"):
        dlpack.take(halves)
    capsule = np.zeros(3).__dlpack__()
    dlpack.take(capsule).let_go()
    with pytest.raises(UnsupportedError, match="capsule that nobody has taken"):
        dlpack.take(capsule)
    with pytest.raises(UnsupportedError, match="no element type"):
        dlpack.export(0, np.dtype(ml_dtypes.int4), (2,), (dlpack.CPU, 0), None)
