"""Bundles run with their loader alone, on the interpreter through a stand-in for cuda-bindings."""

import ast
import importlib.util
import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import ref

import ml_dtypes
import numpy as np
import pytest
from cuda_bindings import HOPPER, Elsewhere, FakeCuda, in_place, installed
from cuda_descriptors import ENCODER, PIXEL_ENCODER, encode_pixels, encode_tiled

import tfc
import tfc.aot
import tfc.numpy as tnp
from tfc.backends.gpu.assembler import programs
from tfc.errors import TfcError, UnsupportedError
from tfc.testing.ptx.machine import Machine

random = np.random.default_rng(3)
FIBONACCI = np.int32([[1, 1], [1, 0]])
W = random.standard_normal((3, 4)).astype(np.float32)


def classify(x: Any) -> Any:
    return tfc.nn.softmax(x @ W), tnp.sort(x)


def written(folder: Path, function: Any, *args: Any, **named: Any) -> ModuleType:
    """The loader that was written beside a bundle of PTX for one architecture."""
    named = {"architectures": ["sm_80"], **named}
    made = tfc.aot.compile_gpu(function, *args, out=folder / "model", **named)
    spec = importlib.util.spec_from_file_location("model_gpu", made.loader)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def no_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine where ptxas is not installed: bundles have PTX, which the interpreter runs."""

    def find(name: str) -> Path:
        raise UnsupportedError(f"there is no {name}")

    monkeypatch.setattr(programs, "find_program", find)


def altered(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A bundle beside another, whose manifest was changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()
    changed = path.with_name("changed.gpu")
    with zipfile.ZipFile(changed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return changed


@pytest.mark.usefixtures("no_assembler")
def test_a_bundle_computes_what_numpy_says_without_tfc(tmp_path: Path):
    model_gpu = written(tmp_path, classify, "f32[5,3]")
    with installed() as cuda:
        model = model_gpu.load()
        for _ in range(2):
            x = random.standard_normal((5, 3)).astype(np.float32)
            scores, rows = model(x)
            e = np.exp(x.astype(np.float64) @ W)
            np.testing.assert_allclose(scores, e / e.sum(1, keepdims=True), rtol=1e-5)
            np.testing.assert_array_equal(rows, np.sort(x))
        assert model.signature == "(x: f32[5,3]) -> (f32[5,4], f32[5,3])"
        model.close()
        assert cuda.machine.allocated == 0


@pytest.mark.usefixtures("no_assembler")
def test_what_is_put_on_the_device_is_run_again_and_again_as_a_graph(tmp_path: Path):
    model_gpu = written(tmp_path, lambda x, y: (tnp.sort(x) + y, y * 2), "f32[5]", "f32[5]")
    with installed() as cuda:
        model = model_gpu.load()
        x, y = random.standard_normal((2, 5)).astype(np.float32)
        model.put(x, y=y)
        for _ in range(2):
            model.run()
        cuda.calls.clear()
        model.run()
        assert cuda.names() == ["cuCtxSetCurrent", "cuGraphLaunch"]
        model.wait()
        first, second = model.results()
        np.testing.assert_array_equal(first, np.sort(x) + y)
        np.testing.assert_array_equal(second, y * 2)
        model.put(y, x)
        model.run()
        np.testing.assert_array_equal(model.results()[0], np.sort(y) + x)


@pytest.mark.usefixtures("no_assembler")
def test_a_module_whose_arrays_lie_otherwise_takes_and_gives_row_major_ones(tmp_path: Path):
    module = tfc.hlo.parse("""HloModule m
ENTRY e {
  x = f32[4,2]{0,1} parameter(0)
  ROOT y = f32[4,2]{0,1} negate(x)
}""")
    model_gpu = written(tmp_path, module)
    x = random.standard_normal((4, 2)).astype(np.float32)
    with installed():
        np.testing.assert_array_equal(model_gpu.load()(x), -x)


def test_the_loader_needs_only_python_and_numpy(tmp_path: Path):
    made = tfc.aot.compile_gpu(lambda x: x + 1, "f32[3]", out=tmp_path / "m")
    tree = ast.parse(made.loader.read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - set(sys.stdlib_module_names) == {"numpy"}


@pytest.mark.usefixtures("no_assembler")
def test_loops_branches_and_arguments_by_name(tmp_path: Path):
    def collatz(n: Any, way: Any) -> Any:
        def body(state: Any) -> Any:
            n, count = state
            # Turned, so that threads wait for each other and a turn is launches.
            return tnp.where(n % 2 == 0, n // 2, 3 * n + 1)[::-1], count + 1

        steps = tfc.while_loop(lambda s: s[0][0] != 1, body, (tnp.stack([n, n]), 0))[1]
        return tfc.switch(way, [lambda x: x, lambda x: -x, lambda x: x * 100], steps)

    model_gpu = written(tmp_path, collatz, "s32[]", "s32[]")
    with installed():
        model = model_gpu.load()
        # From 3 it takes 7 steps, from 1 none; a way that there is not is the last one.
        for n, way, expected in ((3, 0, 7), (3, 1, -7), (3, 2, 700), (1, 0, 0), (3, 9, 700)):
            assert int(model(np.int32(n), way=np.int32(way))) == expected
        with pytest.raises(TypeError, match="expected arrays for"):
            model(np.int32(1), when=np.int32(0))


@pytest.mark.usefixtures("no_assembler")
def test_a_loop_of_known_length_is_recorded(tmp_path: Path):
    def function(x: Any) -> Any:
        return tfc.fori_loop(0, 9, lambda i, x: x @ FIBONACCI, x)

    model_gpu = written(tmp_path, function, "s32[2]")
    x = np.int32([3, 5])
    expected = x @ np.linalg.matrix_power(FIBONACCI, 9)
    with installed() as cuda:
        model = model_gpu.load()
        np.testing.assert_array_equal(model(x), expected)
        model.put(x)
        model.run()
        model.run()
        cuda.calls.clear()
        model.run()
        assert cuda.names() == ["cuCtxSetCurrent", "cuGraphLaunch"]
        np.testing.assert_array_equal(model.results(), expected)


@pytest.mark.usefixtures("no_assembler")
def test_arrays_on_the_device_are_read_where_they_lie_unless_they_are_written(tmp_path: Path):
    f = tfc.jit(lambda x, y: (x.at[1].set(5.0), y * 2), donate_argnums=0)
    model_gpu = written(tmp_path, f, "f32[3]", "f32[3]")

    class OnDevice:
        def __init__(self, machine: Machine, values: Any, offset: int = 0):
            self.array = np.float32(values)
            self.address = machine.allocate(self.array.nbytes + offset) + offset
            machine.write(self.address, self.array)
            self.__cuda_array_interface__ = {
                "shape": self.array.shape, "typestr": "<f4", "data": (self.address, False),
                "version": 3, "strides": None, "stream": 77,
            }  # fmt: skip

    with installed() as cuda:
        model = model_gpu.load()
        x, y = (OnDevice(cuda.machine, v) for v in ([1, 2, 3], [4, 5, 6]))
        first, second = model(x, y)
        np.testing.assert_array_equal(first, [1, 5, 3])
        np.testing.assert_array_equal(second, [8, 10, 12])
        kept = cuda.machine.read(x.address, 12).view(np.float32)
        np.testing.assert_array_equal(kept, x.array)
        tail = OnDevice(cuda.machine, [0, 4, 5, 6])
        tail.__cuda_array_interface__["data"] = (tail.address + 4, False)
        tail.__cuda_array_interface__["shape"] = (3,)
        np.testing.assert_array_equal(model(x, tail)[1], [8, 10, 12])
        assert ("cuStreamSynchronize", (77,)) in cuda.calls  # who writes it may not be done
        between = OnDevice(cuda.machine, [7, 8, 9], offset=4)  # is copied to where kernels read
        np.testing.assert_array_equal(model(x, between)[1], [14, 16, 18])
        assert "cuMemcpyHtoDAsync" not in cuda.names()[cuda.names().index("cuLaunchKernel") :]


@pytest.mark.usefixtures("no_assembler")
def test_a_program_for_which_there_is_no_memory_gives_back_what_it_took(tmp_path: Path):
    model_gpu = written(tmp_path, lambda x: x * 2, "f32[3]")
    with installed() as cuda:
        answers = iter([0, 0, 0, 2])  # the fourth array is one too many
        allocate = cuda.machine.allocate
        cuda.replaced["cuMemAlloc"] = lambda size: (next(answers), allocate(size))
        with pytest.raises(model_gpu.DriverError, match="out of memory"):
            model_gpu.load()
        names = cuda.names()
    assert names.count("cuMemFree") == 3
    assert names.count("cuModuleUnload") == 1


@pytest.mark.usefixtures("no_assembler")
def test_what_is_put_lives_until_something_else_is_and_closing_gives_all_back(tmp_path: Path):
    model_gpu = written(tmp_path, lambda x: (x * 2, tnp.sort(x)), "f32[3]")
    with installed() as cuda:
        model = model_gpu.load()
        x = np.float32([3, 1, 2])
        there = Elsewhere(cuda, x)
        alive = ref(there)
        model.put(there)
        assert ("cuStreamSynchronize", (1,)) in cuda.calls  # it names no stream
        del there
        for _ in range(3):
            model.run()
        assert alive() is not None  # `run` reads it
        model.put(x)
        assert alive() is None
        for _ in range(2):
            model.run()
        names = cuda.names()
        assert names.count("cuGraphInstantiate") == names.count("cuGraphDestroy") == 2
        assert names.count("cuGraphExecDestroy") == 1
        model.close()
        model.close()
        assert cuda.names().count("cuGraphExecDestroy") == 2
        assert cuda.names().count("cuModuleUnload") == 1
        for use in (model.run, model.results, model.wait, lambda: model(x), lambda: model.put(x)):
            cuda.calls.clear()
            with pytest.raises(ValueError, match="the program was closed"):
                use()
            assert cuda.calls == []


@pytest.mark.usefixtures("no_assembler")
def test_arguments_that_do_not_fit_are_refused_in_a_sentence(tmp_path: Path):
    model_gpu = written(tmp_path, lambda x: x + 1, "bf16[2,3]")
    with installed():
        model = model_gpu.load()
        with pytest.raises(ValueError, match=r"argument x must be bfloat16\[2, 3\], got float32"):
            model(np.zeros((2, 3), np.float32))
        with pytest.raises(TypeError, match="got 0 by place"):
            model()


def test_machine_code_comes_first_and_ptx_where_the_driver_refuses_it(tmp_path: Path):
    model_gpu = written(tmp_path, lambda x: x * 2, "f32[3]", architectures=["sm_90a", "sm_80"])
    archive = zipfile.ZipFile(tmp_path / "model.gpu")
    manifest = json.loads(archive.read("manifest.json"))
    kinds = [[(c["architecture"], c["kind"]) for c in p["code"]] for p in manifest["programs"]]
    assert kinds == [[("sm_80", "cubin"), ("sm_80", "ptx")], [("sm_90a", "cubin")]]
    with installed() as cuda:
        np.testing.assert_array_equal(model_gpu.load()(np.float32([1, 2, 3])), [2, 4, 6])
    loaded = [given[0] for name, given in cuda.calls if name == "cuModuleLoadData"]
    assert [code.startswith(b"\x7fELF") for code in loaded] == [True, False]
    message = r"no code for a GPU of compute capability 7\.5: .* sm_80, sm_90a"
    old = FakeCuda({75: 7, 76: 5})
    with installed(old), pytest.raises(model_gpu.BundleError, match=message):
        model_gpu.load()


def test_what_is_missing_is_said_in_a_sentence(tmp_path: Path):
    model_gpu = written(tmp_path, lambda x: x * 2, "f32[3]")
    absent: Any = dict.fromkeys(["cuda.bindings.driver", "pycuda.driver"])
    with (
        in_place(absent),
        pytest.raises(model_gpu.DriverError, match="pip install cuda-bindings"),
    ):
        model_gpu.load()
    fake = FakeCuda()
    fake.failing["cuInit"] = 100
    with installed(fake), pytest.raises(model_gpu.DriverError, match="no CUDA-capable device"):
        model_gpu.load()
    with installed(), pytest.raises(model_gpu.DriverError, match="no GPU 3: the driver finds 1"):
        model_gpu.load(device=3)
    with pytest.raises(model_gpu.BundleError, match=r"cannot read .*other\.gpu"):
        model_gpu.load(tmp_path / "other.gpu")


DAMAGES: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda m: m.update(format=9), "its format is 9"),
    (lambda m: m.pop("programs"), "it has no 'programs'"),
    (lambda m: m["programs"][0].update(arena=-1), "expected a size, got -1"),
    (lambda m: m["parameters"][0].update(bytes=1 << 40), "which is not its size"),
    (lambda m: m["programs"][0]["steps"][0]["buffers"][0].__setitem__(2, 4), "outside of the mem"),
    (lambda m: m["programs"][0]["steps"][0].update(kind="shell"), "knows no step 'shell'"),
    (lambda m: m["programs"][0]["steps"][0].update(blocks=[0, 1, 1]), "is run by"),
    (lambda m: m["programs"][0]["code"][0].update(member="../x"), "damaged"),
    (lambda m: m["programs"][0]["code"][0].update(sha256="0"), "was changed"),
    (lambda m: m["programs"][0]["code"][0].update(architecture="x"), "no architecture 'x'"),
    (lambda m: m.update(programs=7), "not iterable"),
    (lambda m: m.update(aliases=[[0, 9]]), "index"),
    (lambda m: m.pop("signature"), "it has no 'signature'"),
    (lambda m: m["parameters"][0].pop("name"), "it has no 'name'"),
    (lambda m: m.update(donated=[[]]), "expected a size, got "),
    (lambda m: m.update(donated=[1]), "donated that there is not"),
    (lambda m: m["programs"][0]["code"][0].pop("sha256"), "it has no 'sha256'"),
    (lambda m: m["programs"][0]["code"][0].update(bytes=None), "expected a size, got None"),
    (lambda m: m["programs"][0]["constants"].update(member=[]), "expected a text, got "),
]


def warpgroups(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The loader of a product that goes by warpgroups, and descriptors as the interpreter has."""
    named = {"architectures": ["sm_90a"]}
    model_gpu = written(folder, lambda x, y: x @ y, "bf16[64,32]", "bf16[32,64]", **named)
    describing_as_the_interpreter(model_gpu, monkeypatch)
    return model_gpu


def describing_as_the_interpreter(loader: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a loader get descriptors as the interpreter has them."""
    encoders = {
        "cuTensorMapEncodeTiled": ENCODER(encode_tiled),
        "cuTensorMapEncodeIm2col": PIXEL_ENCODER(encode_pixels),
    }
    monkeypatch.setattr(loader, "_encoder", encoders.__getitem__)


@pytest.mark.usefixtures("no_assembler", "by_warpgroups")
def test_products_go_by_warpgroups_whose_descriptors_the_driver_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model_gpu = warpgroups(tmp_path, monkeypatch)
    x, y = (
        random.integers(-3, 4, dims).astype(ml_dtypes.bfloat16) for dims in ((64, 32), (32, 64))
    )
    expected = (x.astype(np.float32) @ y.astype(np.float32)).astype(ml_dtypes.bfloat16)
    with installed(FakeCuda(HOPPER)) as cuda:
        model = model_gpu.load()
        np.testing.assert_array_equal(model(x, y), expected)
        model.put(y.T.copy(), x.T.copy())
        for _ in range(3):
            model.run()
        assert cuda.names()[-1] == "cuGraphLaunch"
        np.testing.assert_array_equal(model.results(), expected.T)


@pytest.mark.usefixtures("no_assembler", "by_warpgroups")
def test_descriptors_that_cannot_be_made_are_an_error_of_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model_gpu = warpgroups(tmp_path, monkeypatch)

    def first(manifest: dict[str, Any]) -> Any:
        return manifest["programs"][0]["steps"][0]["boxes"][0]

    damages: list[tuple[Callable[[dict[str, Any]], object], str]] = [
        (lambda m: first(m)[1]["dims"].__setitem__(1, 65), "outside of their buffer"),
        (lambda m: first(m)[1].update(strides=[]), "no such boxes"),
        (lambda m: first(m)[1].update(itemsize=3), "no such boxes"),
        (lambda m: first(m).__setitem__(0, 9), "index"),
    ]
    x = np.zeros((64, 32), ml_dtypes.bfloat16)
    with installed(FakeCuda(HOPPER)):
        for change, message in damages:
            with pytest.raises(model_gpu.BundleError, match=message):
                model_gpu.load(altered(tmp_path / "model.gpu", change))
        model = model_gpu.load()
        refusing = ENCODER(lambda *_: 1)
        monkeypatch.setattr(model_gpu, "_encoder", lambda _: refusing)
        with pytest.raises(model_gpu.DriverError, match=r"cuTensorMapEncodeTiled .* error 1"):
            model(x, x.T)


@pytest.mark.usefixtures("no_assembler", "by_warpgroups")
def test_convolutions_copy_pixels_by_descriptors_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def function(x: Any, k: Any) -> Any:
        made = {"data_format": "NHWC", "kernel_format": "HWIO"}
        return tfc.nn.conv(x, k, (1, 2), "SAME", preferred_element_type="float32", **made)

    shapes = (4, 5, 9, 64), (3, 3, 64, 64)
    texts = [f"bf16[{','.join(map(str, dims))}]" for dims in shapes]
    model_gpu = written(tmp_path, function, *texts, architectures=["sm_90a"])
    describing_as_the_interpreter(model_gpu, monkeypatch)
    x, k = (random.integers(-3, 4, dims).astype(ml_dtypes.bfloat16) for dims in shapes)

    def pixels(manifest: dict[str, Any]) -> Any:
        return manifest["programs"][0]["steps"][0]["boxes"][0][1]

    damages: list[Callable[[dict[str, Any]], object]] = [
        lambda m: pixels(m).update(pixels=[[-1, -1], [0, 0], [0, 1]]),
        lambda m: pixels(m).update(pixels=[[-1], [0, 0], [1, 1]]),
        lambda m: pixels(m).update(pixels=None),
    ]
    with installed(FakeCuda(HOPPER)):
        np.testing.assert_array_equal(model_gpu.load()(x, k), tfc.jit(function)(x, k))
        for change in damages:
            with pytest.raises(model_gpu.BundleError, match="no such boxes"):
                model_gpu.load(altered(tmp_path / "model.gpu", change))


@pytest.mark.usefixtures("no_assembler")
def test_a_damaged_manifest_is_an_error_of_one_sentence(tmp_path: Path):
    model_gpu = written(tmp_path, lambda x: x * 2, "f32[3]")
    for change, message in DAMAGES:
        changed = altered(tmp_path / "model.gpu", change)
        with installed(), pytest.raises(model_gpu.BundleError, match=message):
            model_gpu.load(changed)


@pytest.mark.usefixtures("no_assembler")
def test_damaged_bytes_never_give_anything_but_an_error_or_the_right_result(tmp_path: Path):
    model_gpu = written(tmp_path, lambda x: x * 2, "f32[3]")
    whole = (tmp_path / "model.gpu").read_bytes()
    drawn = np.random.default_rng(1)
    x = np.float32([1, 2, 3])
    for _ in range(30):
        data = bytearray(whole)
        place = int(drawn.integers(len(data)))
        match drawn.integers(3):
            case 0:
                data[place] ^= 1 << int(drawn.integers(8))
            case 1:
                del data[place:]
            case _:
                data[place:place] = bytes(drawn.integers(0, 256, 5).astype(np.uint8))
        (tmp_path / "model.gpu").write_bytes(bytes(data))
        with installed():
            try:
                result = model_gpu.load()(x)
            except model_gpu.BundleError:
                continue
            np.testing.assert_array_equal(result, x * 2)


def test_what_python_runs_is_refused_by_name(tmp_path: Path):
    def function(x: Any) -> Any:
        return tfc.pure_callback(lambda y: y, tfc.ShapeDtypeStruct((3,), np.float32), x)

    with pytest.raises(UnsupportedError, match=r"custom-call.* which a program for GPUs"):
        tfc.aot.compile_gpu(function, "f32[3]", out=tmp_path / "m")
    with pytest.raises(TfcError, match="written as sm_80 or later"):
        tfc.aot.compile_gpu(lambda x: x, "f32[3]", out=tmp_path / "m", architectures=["sm_70"])
    assert list(tmp_path.iterdir()) == []


def test_the_same_program_gives_the_same_bytes(tmp_path: Path):
    made = [
        tfc.aot.compile_gpu(lambda x: x + 1, "f32[3]", out=tmp_path / n, architectures=["sm_80"])
        for n in "ab"
    ]
    assert made[0].bundle.read_bytes() == made[1].bundle.read_bytes()
    assert zipfile.ZipFile(io.BytesIO(made[0].bundle.read_bytes())).testzip() is None
