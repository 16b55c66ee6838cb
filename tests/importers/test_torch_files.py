"""Files of torch.export.save, read without torch, against what torch computes of their programs."""

import io
import json
import os
import pickle
import sys
import zipfile
from collections import OrderedDict
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.aot.formats import read_module, read_program
from tfc.console import Reading
from tfc.errors import ModelFileError, ShapeError, TfcError, UnsupportedError
from tfc.importers.torch.model import TorchModel
from tfc.importers.torch.pt2 import program
from tfc.importers.torch.pt2.functional import functionalized
from tfc.importers.torch.pt2.schema import Ref, read_calls

FILES = Path(__file__).parent / "torch_models"
RNG = np.random.default_rng(7)
NAMES = ["branches", "convolutions", "encoder", "nested", "old", "recurrent", "rewritten",
         "running", "sized", "trained", "written"]  # fmt: skip


def expected(name: str) -> dict[str, np.ndarray]:
    with np.load(FILES / f"{name}.npz") as made:
        return dict(made)


def listed(arrays: dict[str, np.ndarray], kind: str) -> list[np.ndarray]:
    return [arrays[f"{kind} {n}"] for n in range(sum(k.startswith(f"{kind} ") for k in arrays))]


def leaves(value: object) -> list[object]:
    """The leaves of a nested result in order."""
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def arguments(name: str, given: list[np.ndarray]) -> tuple[tuple[object, ...], dict[str, object]]:
    """What a model was called with, nested as it takes it."""
    if name == "nested":
        return ({"ids": given[0]}, [given[1], 2.0]), {"mask": given[3]}
    if name == "written":
        return (given[0],), {"scale": 3}
    return tuple(given), {}


def called(name: str) -> tuple[object, object, dict[str, np.ndarray]]:
    """A model, what it gives, and what is expected of it."""
    wanted = expected("encoder" if name == "old" else name)
    model = tfc.from_torch(FILES / f"{name}.pt2", backend="interpreter")
    args, named = arguments(name, listed(wanted, "in"))
    return model, model(*args, **named), wanted


@pytest.mark.parametrize("name", NAMES)
def test_files_compute_what_torch_does(name: str):
    model, found, wanted = called(name)
    results = listed(wanted, "out")
    assert len(leaves(found)) == len(results)
    for mine, theirs in zip(leaves(found), results):
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, 1e-5, 1e-5)
    for key, value in model.parameters.items():
        if f"after {key}" in wanted:
            np.testing.assert_allclose(value, wanted[f"after {key}"], 1e-5, 1e-6)


def test_no_torch_is_loaded_to_read_a_file():
    before = "torch" in sys.modules
    called("sized")
    assert ("torch" in sys.modules) == before


def test_results_are_nested_as_the_module_returns_them():
    _, found, wanted = called("nested")
    assert type(found).__name__ == "Pair"
    assert type(found.parts) is OrderedDict
    np.testing.assert_allclose(found.total, wanted["out 0"], 1e-5)
    _, (named, _), _ = called("written")
    assert named["scale"] == 3
    assert isinstance(named["others"], list)


def test_tied_weights_are_one_array_and_constants_keep_their_strides():
    model, _, _ = called("nested")
    assert np.shares_memory(model.parameters["tied.weight"], model.parameters["out.weight"])
    np.testing.assert_array_equal(model.parameters["table"], [[1, 5], [2, 6]])


def test_an_open_batch_is_compiled_for_each_size():
    model = tfc.from_torch(FILES / "sized.pt2", backend="interpreter")
    one, other = (np.ones((n, 4, 6), np.float32) for n in (3, 7))
    assert (model(one)[0].shape, model(one)[1], model(other)[1]) == ((3, 4, 3), 6, 14)
    np.testing.assert_allclose(model(one)[0][0] * 4, model(other)[0][0] * 8, 1e-5)
    with pytest.raises(ShapeError, match="open sizes"):
        _ = model.hlo
    assert read_module(str(FILES / "sized.pt2"), Reading(shapes={"x": (2, 4, 6)}))


def test_buffers_are_replaced_at_each_call_and_given_by_step():
    model, _, wanted = called("running")
    (x,) = listed(wanted, "in")
    before = {name: np.copy(model.parameters[name]) for name in model.written}
    assert set(before) == {"1.running_mean", "1.running_var", "1.num_batches_tracked"}
    _, state = model.step(before, x)
    model(x)
    for name, value in state.items():
        np.testing.assert_allclose(model.parameters[name], value, 1e-6)
    assert model.parameters["1.num_batches_tracked"] == 2


def test_files_are_differentiated_by_their_parameters():
    model, _, wanted = called("sized")
    (x,) = listed(wanted, "in")

    def loss(parameters: dict[str, np.ndarray]) -> object:
        return tnp.sum(model.function(parameters, x)[0])

    slopes = tfc.jit(tfc.grad(loss))(dict(model.parameters))
    each = np.broadcast_to(np.arange(4.0)[None, :] / 3, (2, 4)).reshape(-1)
    np.testing.assert_allclose(slopes["line.bias"], [each.sum()] * 3, 1e-5)
    wanted_slope = np.outer(np.ones(3), each @ x.reshape(8, 6))
    np.testing.assert_allclose(slopes["line.weight"], wanted_slope, 1e-4)


def test_commands_take_files_without_torch():
    model = read_program(str(FILES / "convolutions.pt2"))
    assert model.operators()["aten.conv2d.default"] == 1
    assert model.unsupported() == set()
    found = tfc.compile(model.hlo)(expected("convolutions")["in 0"])[0]
    np.testing.assert_allclose(found, expected("convolutions")["out 0"], 1e-5, 1e-5)
    assert read_program(str(FILES / "branches.pt2")).operators()["higher_order.cond"] == 1


# --- files that are put together ------------------------------------------------------------------


def parts_of(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(FILES / f"{name}.pt2") as archive:
        return {entry: archive.read(entry) for entry in archive.namelist()}


def packed(parts: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in parts.items():
            archive.writestr(entry, content)
    return made.getvalue()


def with_json(name: str, ending: str, change: object) -> bytes:
    """A file of which one part is changed."""
    parts = parts_of(name)
    entry = next(n for n in parts if n.endswith(ending))
    stated = json.loads(parts[entry])
    change(stated)  # type: ignore[operator]
    return packed({**parts, entry: json.dumps(stated).encode()})


def nodes_of(stated: dict) -> list[dict]:
    return stated["graph_module"]["graph"]["nodes"]


def test_operators_without_a_row_are_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch):
    def change(stated: dict) -> None:
        nodes_of(stated)[0]["target"] = "torch.ops.aten.fancy.default"
        nodes_of(stated)[1]["target"] = "torch.ops.mine.other.default"

    content = with_json("convolutions", "model.json", change)
    monkeypatch.setattr("tfc.importers.torch.load.find_spec", lambda name: None)
    with pytest.raises(
        UnsupportedError, match=r"aten\.fancy\.default \(1 .*mine\.other\.default.*where torch is"
    ):
        tfc.from_torch(content)


def test_writes_to_arguments_are_refused(monkeypatch: pytest.MonkeyPatch):
    def change(stated: dict) -> None:
        sine = {"name": "self", "arg": {"as_tensor": {"name": "src"}}, "kind": 1}
        nodes_of(stated)[0].update(target="torch.ops.aten.sin_.default", inputs=[sine])

    content = with_json("encoder", "model.json", change)
    monkeypatch.setattr("tfc.importers.torch.load.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"writes to its arguments \(src\)"):
        tfc.from_torch(content)


def test_other_files_of_torch_are_refused_with_what_to_do(tmp_path: Path):
    for parts, message in (
        ({"m/constants.pkl": b"", "m/data.pkl": b""}, "TorchScript"),
        ({"m/data.pkl": b"", "m/data/0": b""}, "load its state_dict"),
        ({"m/data/aotinductor/model/a.so": b""}, "native code"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            read(packed(parts))
    for content in (b"", b"no archive", b"PK\x03\x04", packed({}), packed({"a": b"b"}),
                    packed({"m/models/model.json": b"{}"}),
                    packed({"m/models/model.json": b"[" * 100_000})):  # fmt: skip
        with pytest.raises(ModelFileError):
            tfc.from_torch(content)
    with pytest.raises(TfcError, match="there is no file"):
        tfc.from_torch(tmp_path / "missing.pt2")


def read(content: bytes) -> program.Program:
    """The program of a file, read by tfc alone even where torch is installed."""
    return program.read_program(content, "the file")


class Hostile:
    """What runs a function of its maker's choice when it is unpickled."""

    folder = ""

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def test_pickles_in_files_run_nothing(tmp_path: Path):
    hostile = Hostile()
    hostile.folder = str(tmp_path / "made")
    text = pickle.dumps({"weight": hostile}, 2)
    weights = packed({"archive/data.pkl": text, "archive/data/0": bytes(8)})
    old = parts_of("old")
    with pytest.raises(UnsupportedError, match=r"posix\.mkdir.*run code when they are read"):
        read(packed({**old, "serialized_state_dict.pt": weights}))
    parts = parts_of("branches")
    root = next(iter(parts)).partition("/")[0]
    with pytest.raises(UnsupportedError, match="run code when they are read"):
        read(packed({**parts, f"{root}/data/weights/model.pt": weights}))

    def change(stated: dict) -> None:
        next(iter(stated["config"].values()))["use_pickle"] = True

    with pytest.raises(UnsupportedError, match="pickled weights"):
        read(with_json("sized", "model_weights_config.json", change))
    assert not (tmp_path / "made").exists()


def test_arrays_beyond_their_storage_are_refused():
    def change_by(key: str, value: object) -> object:
        def change(stated: dict) -> None:
            next(iter(stated["config"].values()))["tensor_meta"][key] = value

        return change

    for key, value in (
        ("sizes", [{"as_int": 1 << 40}, {"as_int": 6}]),
        ("strides", [{"as_int": 0}, {"as_int": 1 << 40}]),
        ("strides", [{"as_int": -6}, {"as_int": 1}]),
        ("storage_offset", {"as_int": 1}), ("storage_offset", {"as_int": -1}),
    ):  # fmt: skip
        with pytest.raises(ModelFileError, match="larger than its storage"):
            read(with_json("sized", "model_weights_config.json", change_by(key, value)))


def test_a_file_that_grows_without_measure_is_refused():
    parts = parts_of("sized")
    entry = next(n for n in parts if n.endswith("weight_0"))
    with pytest.raises(ModelFileError, match="cannot be as large"):
        read(packed({**parts, entry: bytes(1 << 27)}))


# --- writes and views -----------------------------------------------------------------------------


def meta(sizes: list[int], strides: list[int]) -> dict:
    return {"dtype": 7, "sizes": [{"as_int": n} for n in sizes],
            "strides": [{"as_int": n} for n in strides]}  # fmt: skip


def node(target: str, out: str, *args: object) -> dict:
    """A call whose arguments are names of arrays, numbers or lists of numbers."""
    kinds = {str: lambda a: {"as_tensor": {"name": a}}, int: lambda a: {"as_int": a},
             list: lambda a: {"as_ints": a}}  # fmt: skip
    inputs = [{"name": "", "arg": kinds[type(a)](a), "kind": 1} for a in args]
    outputs = [{"as_tensor": {"name": out}}]
    return {"target": f"torch.ops.aten.{target}", "name": out, "inputs": inputs, "outputs": outputs}


def pure(nodes: list[dict], values: dict, outputs: list[str]) -> object:
    """The pure calls of a program of one input, x."""
    graph = {"inputs": [{"as_tensor": {"name": "x"}}], "nodes": nodes, "tensor_values": values,
             "outputs": [{"as_tensor": {"name": n}} for n in outputs]}  # fmt: skip
    return functionalized(read_calls(graph, "program"), frozenset())


def test_a_program_without_writes_stays_as_it_is():
    nodes = [node("neg.default", "y", "x"), node("t.default", "z", "y")]
    values = {"x": meta([2, 3], [3, 1]), "y": meta([2, 3], [3, 1]), "z": meta([3, 2], [1, 3])}
    found = pure(nodes, values, ["z"])
    assert [(c.op, c.args, c.outputs) for c in found.calls.calls] == [
        ("neg.default", [Ref("x")], ["y"]), ("t.default", [Ref("y")], ["z"])]  # fmt: skip


def test_a_write_through_a_view_gives_the_array_a_new_value():
    nodes = [node("neg.default", "y", "x"), node("t.default", "z", "y"),
             node("sin_.default", "w", "z"), node("sum.default", "s", "y")]  # fmt: skip
    values = {"y": meta([2, 3], [3, 1]), "z": meta([3, 2], [1, 3])}
    found = pure(nodes, values, ["s"])
    *_, sine, through, total = found.calls.calls
    assert (sine.op, sine.args) == ("sin.default", [Ref("z")])
    assert (through.domain, through.op) == ("tfc", "write_through")
    assert through.args[:3] == [Ref("y"), Ref(sine.outputs[0]), "t.default"]
    assert total.args == [Ref(through.outputs[0])]


def test_a_reshape_is_a_view_only_where_memory_allows_it():
    for strides, is_view in (([3, 1], True), ([1, 2], False)):
        nodes = [node("neg.default", "y", "x"), node("reshape.default", "z", "y", [6]),
                 node("sin_.default", "w", "z")]  # fmt: skip
        found = pure(nodes, {"y": meta([2, 3], strides), "z": meta([6], [1])}, ["y", "w"])
        assert (found.calls.outputs[0] != Ref("y")) == is_view


# --- damaged files --------------------------------------------------------------------------------


def damaged(content: bytes) -> bytes:
    """The bytes cut off, with a few others in place, or with a part of them doubled or gone."""
    kind, place = RNG.integers(4), int(RNG.integers(len(content)))
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + content[place + int(RNG.integers(1, 40)) :]
    if kind == 2:
        return content[:place] + content[max(0, place - 30) :]
    found = bytearray(content)
    for _ in range(int(RNG.integers(1, 6))):
        found[int(RNG.integers(len(found)))] = int(RNG.integers(256))
    return bytes(found)


WORDS = (None, True, -1, 0, 1, 2, 7, 1 << 40, -(1 << 70), 1e300, "Infinity", "x", "", [], [[]], {},
         {"as_int": 3}, {"as_none": True}, {"as_tensor": {"name": "x"}}, {"as_ints": [1 << 40]},
         {"as_string": "reflect"}, "torch.ops.aten.sin_.default", "_operator.mul")  # fmt: skip


def mutate(stated: object) -> None:
    """Exchange a few values of JSON, or take some away."""
    for _ in range(int(RNG.integers(1, 4))):
        at = stated
        for _ in range(14):
            keys = list(at) if isinstance(at, dict) else range(len(at))  # type: ignore[arg-type]
            if not keys:
                break
            key = keys[int(RNG.integers(len(keys)))]
            inner = at[key]  # type: ignore[index]
            if not isinstance(inner, (dict, list)) or RNG.random() < 0.1:
                if RNG.random() < 0.1:
                    del at[key]  # type: ignore[attr-defined]
                else:
                    at[key] = deepcopy(WORDS[int(RNG.integers(len(WORDS)))])  # type: ignore[index]
                break
            at = inner


def survives(content: bytes) -> None:
    """Import and lower a file: it works, or raises an error of tfc's."""
    with suppress(TfcError):
        made = read(content)
        model = TorchModel("the file", made)
        shapes = {p.name: tuple(d if isinstance(d, int) and d < 64 else 3 for d in p.dims or ())
                  for p in model.inputs}  # fmt: skip
        _ = TorchModel("the file", made, shapes).hlo


def check_mutants(count: int) -> None:
    names = [name for name in NAMES if name != "recurrent"]
    for number in range(count):
        name = names[number % len(names)]
        content = (FILES / f"{name}.pt2").read_bytes()
        survives(damaged(content))
        endings = ("program.json",) if name == "old" else ("model.json", "weights_config.json")
        survives(with_json(name, endings[number % len(endings)], mutate))


def test_a_few_damaged_files_are_refused_or_work():
    check_mutants(30)


@pytest.mark.slow
def test_many_damaged_files_are_refused_or_work():
    check_mutants(1000)


def test_what_only_training_draws_is_refused():
    flash = "_scaled_dot_product_flash_attention_for_cpu.default"
    for op, given, before in (("scaled_dot_product_attention.default", 3, 1), (flash, 3, 0),
                              ("rrelu.default", 1, 0)):  # fmt: skip

        def change(stated: dict, op: str = op, given: int = given, before: int = before) -> None:
            call = next(call for call in nodes_of(stated) if "gelu" in call["target"])
            array = call["inputs"][0]
            numbers = [{"name": "", "arg": {"as_float": 0.5}, "kind": 1},
                       {"name": "", "arg": {"as_float": 0.6}, "kind": 1},
                       {"name": "", "arg": {"as_bool": True}, "kind": 1}]  # fmt: skip
            none = {"name": "", "arg": {"as_none": True}, "kind": 1}
            given_too = [none] * before + (numbers[:1] if given == 3 else numbers)
            call.update(target=f"torch.ops.aten.{op}", inputs=[array] * given + given_too)

        model = TorchModel("the file", read(with_json("encoder", "model.json", change)))
        with pytest.raises(UnsupportedError, match=r"call \.eval\(\) before the export"):
            _ = model.hlo
