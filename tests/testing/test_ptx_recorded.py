"""The PTX interpreter runs another compiler's kernels: it means what GPUs mean.

Triton, whose kernels run on GPUs, made the texts of `recorded`, which use what tfc's do: tensor
cores by warps and by warpgroups, boxes, clusters, atomics. Results are compared with NumPy's.
"""

import json
import re
from collections.abc import Sequence
from math import erf, log2
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tfc.testing.ptx import Machine
from tfc.testing.ptx.state.tensor_maps import Pixels, TensorMap, encode

random = np.random.default_rng(11)
RECORDED = Path(__file__).parent / "recorded"
DTYPES: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp32": np.float32, "fp64": np.float64,
    "i8": np.int8, "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
}  # fmt: skip
_SWIZZLES = (0, 32, 64, 128)
f16, f32, f64, bf16 = np.float16, np.float32, np.float64, ml_dtypes.bfloat16
i32, i64 = np.int32, np.int64


def run(
    name: str, grid: Sequence[int], arrays: Sequence[np.ndarray], *rest: Any,
    pixels: Pixels | None = None,
) -> Any:  # fmt: skip
    """Launch a recorded kernel on copies of arrays, and give what they hold afterwards.

    Kernels with boxes take for each array its map, its dimensions and its strides in elements.

    Args:
        pixels: the window of the first array, if the kernel copies pixels of that.
    """
    text = (RECORDED / f"{name}.ptx").read_text()
    about = json.loads(text.partition("\n")[0][2:])
    # Triton makes new barriers known to copies by the barrier of the block; a fence is asked for.
    text = re.sub(r"(mbarrier\.init[^;]*;)", r"\1 fence.mbarrier_init.release.cluster;", text)
    machine = Machine(1 << 26, 1_000_000)
    addresses = [machine.allocate(array.nbytes) for array in arrays]
    arguments: list[Any] = []
    for number, (address, array) in enumerate(zip(addresses, arrays)):
        machine.write(address, array)
        if about["boxes"]:
            box, swizzle = about["boxes"][number]
            strides = array.strides[-2::-1]
            tensor = TensorMap(address, array.itemsize, array.shape[::-1], strides,
                               tuple(box[::-1]), _SWIZZLES[swizzle],
                               pixels if number == 0 else None)  # fmt: skip
            arguments += [encode(tensor), *(i32(extent) for extent in array.shape[-len(box) :])]
            arguments += [stride // array.itemsize for stride in array.strides[-len(box) :]]
        else:
            arguments.append(address)
    kernel = machine.load(text)[about["kernel"]]
    # The last two are Triton's own: memory that these kernels do not use.
    arguments += [*rest, 0, 0]
    machine.launch(kernel, grid, (about["threads"],), arguments, about["shared"])
    return [machine.read(address, array.nbytes).view(array.dtype).reshape(array.shape)
            for address, array in zip(addresses, arrays)]  # fmt: skip


def _whole(dtype: Any, *shape: int) -> np.ndarray:
    """Whole numbers small enough that all sums of products of them are exact."""
    return random.integers(-4, 5, shape).astype(dtype)


def _times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(f64) @ b.astype(f64)


def _names(start: str) -> list[str]:
    return sorted(path.stem for path in RECORDED.glob(f"{start}_*.ptx"))


@pytest.mark.parametrize("name", _names("product"))
def test_products_on_tensor_cores(name: str):
    _, kind, (a_down, b_down), _ = name.split("_")
    dtype = DTYPES[kind]
    m, n, k = 128, 64, 3 * {"fp64": 16, "fp32": 32, "fp16": 64, "bf16": 64}.get(kind, 128)
    a, b = _whole(dtype, m, k), _whole(dtype, k, n)
    lying = [a if a_down == "0" else np.ascontiguousarray(a.T)]
    lying += [b if b_down == "0" else np.ascontiguousarray(b.T)]
    c = np.zeros((m, n), {"i8": i32, "fp64": f64}.get(kind, f32))
    *_, got = run(name, (2, 2), [*lying, c], i32(m), i32(k), i32(n))
    np.testing.assert_array_equal(got, _times(a, b))


def test_boxes_of_three_dimensions():
    a, b, c = _whole(f16, 2, 128, 96), _whole(f16, 2, 128, 96), np.zeros((2, 128, 128), f16)
    *_, got = run("batched_sm90", (2, 2, 2), [a, b, c], i32(96))
    np.testing.assert_array_equal(got, _times(a, b.swapaxes(1, 2)))


def test_boxes_of_four_dimensions():
    a, b = _whole(f16, 2, 128, 3, 192), _whole(f16, 2, 192, 3, 128)
    c = np.full((2, 128, 3, 128), 7, f16)
    *_, got = run("headed_sm90", (2, 2, 2), [a, b, c], i32(192))
    np.testing.assert_array_equal(got[:, :, 1], _times(a[:, :, 1], b[:, :, 1]))
    assert (got[:, :, ::2] == 7).all()


@pytest.mark.parametrize(
    ("name", "blocks"),
    [pytest.param("persistent_sm90", 3, marks=pytest.mark.slow), ("pairs_sm90", 4)],
)
def test_blocks_and_clusters_that_go_from_tile_to_tile(name: str, blocks: int):
    a, b, c = _whole(bf16, 256, 192), _whole(bf16, 192, 192), np.zeros((256, 192), bf16)
    *_, got = run(name, (blocks,), [a, b, c], i32(256), i32(192), i32(192))
    np.testing.assert_array_equal(got, _times(a, b.T).astype(bf16))


def test_a_warp_that_loads_and_a_warpgroup_that_multiplies():
    a, b, c = _whole(f16, 128, 320), _whole(f16, 64, 320), np.zeros((128, 64), f16)
    *_, got = run("divided_sm90", (2, 1), [a, b, c], i32(320))
    np.testing.assert_array_equal(got, _times(a, b.T))


def test_a_box_that_both_blocks_of_a_cluster_get():
    a, b, c = _whole(f16, 128, 192), _whole(f16, 64, 192), np.zeros((128, 64), f16)
    *_, got = run("shared_sm90", (2,), [a, b, c], i32(192))
    np.testing.assert_array_equal(got, _times(a, b.T))


# Of the kernel, between its places, of the padding before and behind, and between results.
IMAGES = [((3, 3), (1, 1), (1, 1), 1), ((3, 2), (2, 1), (1, 2), 2), ((1, 4), (1, 3), (0, 0), 3)]


@pytest.mark.parametrize(("sizes", "between", "padding", "step"), IMAGES)
def test_pixels_of_images(
    sizes: tuple[int, int], between: tuple[int, int], padding: tuple[int, int], step: int
):
    """A convolution and the gradient of its kernel, whose pixels are copied one after the other."""
    low, high = padding
    x = _whole(f16, 3, 11, 14, 128)
    padded = np.pad(x, ((0, 0), padding, padding, (0, 0)))
    spans = [(size - 1) * by + 1 for size, by in zip(sizes, between)]
    height, width = ((n - span) // step + 1 for n, span in zip(padded.shape[1:3], spans))
    places = [(j * between[0], i * between[1]) for j in range(sizes[0]) for i in range(sizes[1])]
    # For each place of the kernel, the pixels that results meet there.
    met = np.stack([
        padded[:, y : y + (height - 1) * step + 1 : step, x : x + (width - 1) * step + 1 : step]
        for y, x in places
    ]).reshape(len(places), -1, 128)  # fmt: skip
    down, right = (high - span + 1 for span in spans)
    window = Pixels((-low, -low), (right, down), (step, step))
    numbers = [i32(n) for n in (height, width, step, low, between[1], between[0], sizes[1])]
    blocks = -(-met.shape[1] // 64)

    kernel, made = _whole(f16, len(places) * 128, 64), np.zeros((met.shape[1], 64), f16)
    arrays = [x, kernel, made]
    *_, got = run("convolved_sm90", (blocks,), arrays, *numbers, i32(2), i32(len(kernel)),
                  pixels=window)  # fmt: skip
    want = np.sum([*map(_times, met, kernel.reshape(-1, 128, 64))], 0)
    np.testing.assert_array_equal(got, want.astype(f16))

    g, made = _whole(f16, met.shape[1], 64), np.zeros((len(places) * 64, 64), f16)
    *_, got = run("kernel_gradient_sm90", (len(places),), [x, g, made], *numbers, i32(len(g)),
                  pixels=window)  # fmt: skip
    want = [_times(pixels[:, :64].T, g) for pixels in met]
    np.testing.assert_array_equal(got, np.concatenate(want).astype(f16))


@pytest.mark.parametrize("name", _names("attention"))
def test_attention(name: str):
    _, kind, causal, _ = name.split("_")
    heads, n, size = 2, 192, 32
    q, k, v = (random.normal(size=(heads, n, size)).astype(DTYPES[kind]) for _ in range(3))
    scale = size**-0.5
    out = np.zeros((heads, n, size), f32)
    *_, got = run(name, (n // 64, heads), [q, k, v, out], i32(n), f32(scale * log2(np.e)))
    scores = _times(q, k.swapaxes(1, 2)) * scale
    if causal == "1":
        scores = np.where(np.tri(n, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ v.astype(f64)
    np.testing.assert_allclose(got, want, 0, 2e-3 if kind == "fp16" else 2e-2)


def test_rows():
    x = random.normal(size=(6, 1000)).astype(f32)
    _, got, places = run("rows_sm90", (6,), [x, np.zeros_like(x), np.zeros(6, i32)], i32(1000))
    weights = np.exp(x.astype(f64) - x.max(-1, keepdims=True).astype(f64))
    want = weights / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(got, want, 2e-6)
    np.testing.assert_array_equal(places, x.argmax(-1))


def test_scans_sorts_and_histograms():
    x = random.integers(-1000, 1000, (16, 32)).astype(i32)
    zeros = np.zeros_like(x)
    given = [x, zeros, zeros, zeros, np.zeros(64, i32)]
    _, across, up, ordered, counts = run("scans_sm90", (1,), given)
    np.testing.assert_array_equal(across, x.cumsum(1))
    np.testing.assert_array_equal(up, x[::-1].cumsum(0)[::-1])
    np.testing.assert_array_equal(ordered, np.sort(x, 1))
    np.testing.assert_array_equal(counts, np.bincount((x & 63).ravel(), minlength=64))


def test_atomics():
    x = random.integers(-1000, 1000, 1000).astype(i32)
    least, most = np.iinfo(i32).min, np.iinfo(i32).max
    given = [x, np.zeros(16, f32), np.full(16, least, i32), np.full(16, most, i32),
             np.zeros(16, i64), np.full(16, most, i32)]  # fmt: skip
    _, *got = run("atomics_sm90", (4,), given, i32(1000))
    for key in range(16):
        with_key = x[x & 15 == key]
        sums, highest, lowest, whole, one = (result[key] for result in got)
        assert sums == whole == with_key.sum()
        assert (lowest, highest) == (with_key.min(), with_key.max())
        assert one in with_key


def _philox(seed: int, counter: np.ndarray) -> np.ndarray:
    """The first word of Philox-4x32-10 (Salmon et al. 2011), of counters with three zeros."""
    low = np.uint64(0xFFFFFFFF)
    words = [counter.astype(np.uint64), *(np.zeros(counter.shape, np.uint64) for _ in range(3))]
    keys = [seed, 0]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        shift = np.uint64(32)
        words = [
            second >> shift ^ words[1] ^ np.uint64(keys[0]), second & low,
            first >> shift ^ words[3] ^ np.uint64(keys[1]), first & low,
        ]  # fmt: skip
        keys = [(key + step) % 2**32 for key, step in zip(keys, (0x9E3779B9, 0xBB67AE85))]
    return words[0]


def test_functions_of_numbers():
    x, y = random.normal(size=(2, 1000)).astype(f32)
    i = random.integers(0, 2**31 - 1, 1000).astype(i32)
    given = [x, y, np.zeros(1000, f32), i, np.zeros(1000, i32)]
    _, _, floats, _, integers = run("numbers_sm90", (4,), given, i32(1000))
    a, b = x.astype(f64), y.astype(f64)
    size = np.abs(b) + 1
    want = np.exp(a) + np.log(size) + np.sqrt(np.abs(a)) + 1 / np.sqrt(size) + a / b
    want += np.array([erf(v) for v in a]) + np.floor(a) + np.ceil(b) + a * b + a
    np.testing.assert_allclose(floats, want, 2e-6, 2e-6)
    high = (i.astype(np.uint64) * _philox(7, i) >> np.uint64(32)).astype(i64)
    made = high + i // 7 - i % 5 + np.clip(x, -1, 1).astype(i64)
    np.testing.assert_array_equal(integers, made.astype(np.uint32).view(i32))
