"""Programs on a GPU that call outside functions: with arrays there, on the host, and feeds."""

import ctypes
import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from cuda_bindings import installed

import tfc
import tfc.aot
from tfc.backends.gpu.driver import using
from tfc.backends.gpu.driver.with_cuda_bindings import open_driver
from tfc.errors import UnsupportedError
from tfc.hlo.text.parser import parse
from tfc.runtime.functions import GpuBuffer
from tfc.testing.ptx.driver import InterpretedDriver

CALL = """ENTRY e {
  x = f32[3] parameter(0)
  y = f32[3] add(x, x)
  c = (f32[3], s32[]) custom-call(y), custom_call_target="NAME", backend_config="some words"
  a = f32[3] get-tuple-element(c), index=0
  n = s32[] get-tuple-element(c), index=1
  b = f32[3] negate(a)
  ROOT r = (f32[3], s32[]) tuple(b, n)
}"""


@pytest.fixture
def device() -> Iterator[InterpretedDriver]:
    with using(InterpretedDriver()) as driver:
        assert isinstance(driver, InterpretedDriver)
        yield driver


def test_a_python_function_is_called_with_buffers_of_the_device(device: InterpretedDriver):
    streams: list[int] = []

    def scaled(stream: int, y: GpuBuffer, a: GpuBuffer, n: GpuBuffer) -> None:
        streams.append(stream)
        host = np.empty(y.shape, y.dtype)
        device.read(host, y.address)
        device.write(a.address, host * 10)
        device.write(n.address, np.int32(len(streams)))
        assert a.__cuda_array_interface__["shape"] == (3,)

    tfc.register_custom_call("scaled on gpu", scaled, platform="gpu")
    executable = tfc.compile(parse(CALL.replace("NAME", "scaled on gpu")), backend="gpu")
    for number in range(1, 4):
        a, n = executable(np.float32([1, 2, 3]))
        np.testing.assert_array_equal(np.asarray(a), [-20, -40, -60])
        assert int(n) == number
    assert streams == [device.stream_address] * 3


def test_in_any_thread_a_function_finds_the_context_and_has_the_stream_to_itself():
    seen: list[tuple[list[str], bool]] = []
    with installed() as cuda, using(open_driver()) as driver, ThreadPoolExecutor(2) as pool:

        def first(stream: int, x: GpuBuffer, y: GpuBuffer) -> None:
            # Another thread would record what is asked of the stream now.
            is_free = pool.submit(driver.turn.acquire, blocking=False).result()
            seen.append((cuda.names(), is_free))
            driver.copy(y.address, x.address, 12)

        tfc.register_custom_call("first of all", first, platform="gpu")
        executable = tfc.compile(parse("""ENTRY e {
  x = f32[3] parameter(0)
  ROOT c = f32[3] custom-call(x), custom_call_target="first of all"
}"""), backend="gpu")  # fmt: skip
        x = tfc.device_put(np.float32([1, 2, 3]))
        executable(x)
        cuda.calls.clear()
        (y,) = pool.submit(executable, x).result()
        np.testing.assert_array_equal(np.asarray(y), [1, 2, 3])
        assert seen[-1] == (["cuCtxSetCurrent"], False)
        gc.collect()


def test_native_code_is_called_as_xla_calls_it(device: InterpretedDriver):
    texts: list[bytes] = []

    def native(stream: int | None, buffers: Any, opaque: bytes, length: int) -> None:
        texts.append(ctypes.string_at(opaque, length))
        device.copy(buffers[1], buffers[0], 12)
        device.write(buffers[2], np.int32(7))

    kind = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_size_t
    )
    tfc.register_custom_call("native on gpu", kind(native), platform="CUDA")
    executable = tfc.compile(parse(CALL.replace("NAME", "native on gpu")), backend="gpu")
    a, n = executable(np.float32([1, 2, 3]))
    np.testing.assert_array_equal(np.asarray(a), [-2, -4, -6])
    assert (int(n), texts) == (7, [b"some words"])


def test_a_function_of_host_arrays_does_where_there_is_none_for_gpus(device: InterpretedDriver):
    tfc.register_custom_call("on host", lambda y: (y * 3, np.int32(5)))
    executable = tfc.compile(parse(CALL.replace("NAME", "on host")), backend="gpu")
    a, n = executable(np.float32([1, 2, 3]))
    np.testing.assert_array_equal(np.asarray(a), [-6, -12, -18])
    assert int(n) == 5
    with pytest.raises(UnsupportedError, match="platforms 'cpu' and 'gpu' only"):
        tfc.register_custom_call("on host", lambda y: y, platform="tpu")


def test_feeds_are_read_and_written_in_the_middle_of_a_program(device: InterpretedDriver):
    executable = tfc.compile(parse("""ENTRY e {
  x = f32[3] parameter(0)
  t = token[] after-all()
  i = (f32[3], token[]) infeed(t)
  v = f32[3] get-tuple-element(i), index=0
  u = token[] get-tuple-element(i), index=1
  s = f32[3] add(v, x)
  o = token[] outfeed(s, u), outfeed_shape=f32[3]
  ROOT r = f32[3] multiply(s, s)
}"""), backend="gpu")  # fmt: skip
    for k in range(3):
        tfc.transfer_to_infeed(np.float32([1, 2, 3]))
        (result,) = executable(np.full(3, k, np.float32))
        np.testing.assert_array_equal(tfc.transfer_from_outfeed("f32[3]"), np.arange(1, 4) + k)
        np.testing.assert_array_equal(np.asarray(result), (np.arange(1, 4) + k) ** 2)
