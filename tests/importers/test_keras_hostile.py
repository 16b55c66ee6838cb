"""Damaged and hostile Keras files: an error of tfc's, in little time and memory, never a crash."""

import io
import json
import zipfile
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import h5py
import numpy as np
import pytest
from keras_files import chain, old_file, zipped

import tfc
from tfc.errors import ModelFileError, TfcError
from tfc.importers.keras.weights import SERVICE

FILES = Path(__file__).parent / "keras_models"
RNG = np.random.default_rng(5)
DENSE = chain(("Dense", {"units": 2, "use_bias": False, "batch_input_shape": [None, 4]}))
KERNEL = {"dense_0": [("kernel", np.ones((4, 2), np.float32))]}


def damaged(content: bytes, generator: np.random.Generator) -> bytes:
    """The bytes cut off, with a few others in place, or with a part of them doubled or gone."""
    kind = generator.integers(6)
    place = int(generator.integers(len(content)))
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + content[place + int(generator.integers(1, 40)) :]
    if kind == 2:
        return content[:place] + content[max(0, place - 30) :]
    found = bytearray(content)
    for _ in range(int(generator.integers(1, 6))):
        # Structures lie between the weights all over an HDF5 file, and at its beginning.
        most = 3000 if generator.random() < 0.5 else len(found)
        found[int(generator.integers(min(most, len(found))))] = int(generator.integers(256))
    return bytes(found)


WORDS = (None, True, -1, 0, 1, 1 << 40, -(1 << 70), 1e300, "", "same", "x", [], [[]], {},
         {"class_name": "Dense", "config": {}}, {"class_name": 3}, ["x", 0, 0])  # fmt: skip


def mutated(config: object, generator: np.random.Generator) -> object:
    """A config with a few of its values exchanged or gone."""
    made = json.loads(json.dumps(config))
    for _ in range(int(generator.integers(1, 4))):
        at = made
        for _ in range(int(generator.integers(1, 12))):
            keys = list(at) if isinstance(at, dict) else range(len(at))
            if not keys:
                break
            key = keys[int(generator.integers(len(keys)))]
            inner = at[key]
            if not isinstance(inner, (dict, list)) or generator.random() < 0.1:
                if isinstance(at, dict) and generator.random() < 0.2:
                    del at[key]
                else:
                    at[key] = deepcopy(WORDS[int(generator.integers(len(WORDS)))])
                break
            at = inner
    return made


def survives(content: bytes) -> None:
    """Import and lower a file: it works, or raises an error of tfc's."""
    with suppress(TfcError):
        model = tfc.from_keras(content)
        shapes = {p.name: tuple(d if isinstance(d, int) and d < 64 else 3 for d in p.dims or ())
                  for p in model.inputs}  # fmt: skip
        _ = tfc.from_keras(content, shapes=shapes).hlo


def with_config(content: bytes, config: object) -> bytes:
    """A .keras file with another config."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["config.json"] = json.dumps(config).encode()
    return zipped(**parts)


def check_mutants(name: str, count: int) -> None:
    content = (FILES / f"{name}.keras").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        config = json.loads(archive.read("config.json"))
    old = (FILES / f"{name}.h5").read_bytes()
    for _ in range(count):
        survives(damaged(content, RNG))
        survives(damaged(old, RNG))
        survives(with_config(content, mutated(config, RNG)))


@pytest.mark.parametrize("name", ["nested_partly", "rnn_stack_LSTM"])
def test_a_few_damaged_files_of_each_kind_are_refused_or_work(name: str):
    check_mutants(name, 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["masked_biLSTM_return_sequences", "masked_mha", "op_getitem",
                                  "nested_partly"])  # fmt: skip
def test_many_damaged_files_are_refused_or_work(name: str):
    check_mutants(name, 500)


def test_what_is_no_model_is_refused():
    for content in (b"", b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"hello", zipped(readme="x"),
                    zipped(config__json="{"), zipped(config__json="[" * 100000)):  # fmt: skip
        with pytest.raises(ModelFileError):
            tfc.from_keras(content)


def test_weights_alone_are_refused_with_what_to_do():
    made = io.BytesIO()
    with h5py.File(made, "w") as file:
        file["dense/kernel:0"] = np.ones(3)
    with pytest.raises(ModelFileError, match=r"save it with model\.save"):
        tfc.from_keras(made.getvalue())


def test_a_zip_file_that_grows_without_measure_is_refused():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", json.dumps(DENSE))
        archive.writestr("model.weights.h5", bytes(1 << 27))
    with pytest.raises(ModelFileError, match="cannot be true"):
        tfc.from_keras(made.getvalue())


def test_names_that_lead_elsewhere_are_never_followed(tmp_path: Path):
    content = zipped(**{"../../escaped": b"x", "config.json": json.dumps(DENSE)})
    with pytest.raises(ModelFileError, match=r"no model\.weights\.h5"):
        tfc.from_keras(content)
    assert not list(tmp_path.parent.rglob("escaped"))


def file_with(add: object) -> bytes:
    """An .h5 file of a Dense layer, to which something is added."""
    made = io.BytesIO(old_file(DENSE, KERNEL))
    with h5py.File(made, "a") as file:
        add(file)  # type: ignore[operator]
    return made.getvalue()


def test_arrays_that_are_larger_than_the_file_are_refused_before_they_are_read():
    content = file_with(lambda file: file.create_dataset(
        "model_weights/big", (1 << 40,), "f4", chunks=(1 << 20,), compression="gzip"))  # fmt: skip
    with pytest.raises(ModelFileError, match="much larger than the file"):
        tfc.from_keras(content)


def test_links_to_other_files_are_refused(tmp_path: Path):
    other = tmp_path / "secret.h5"
    with h5py.File(other, "w") as file:
        file["x"] = np.arange(3)

    def link(file: h5py.File) -> None:
        file["model_weights/out"] = h5py.ExternalLink(str(other), "x")

    def raw(file: h5py.File) -> None:
        file.create_dataset("model_weights/raw", (3,), "f4", external=[(str(other), 0, 12)])

    for add, message in ((link, "a link to elsewhere"), (raw, "in another file")):
        with pytest.raises(ModelFileError, match=message):
            tfc.from_keras(file_with(add))


def test_groups_that_are_within_themselves_are_refused():
    def turn(file: h5py.File) -> None:
        file["model_weights/again"] = file["model_weights"]

    with pytest.raises(ModelFileError, match="without end"):
        tfc.from_keras(file_with(turn))


def test_a_model_within_itself_and_layers_that_wait_for_each_other_are_refused():
    config = DENSE
    for _ in range(50):
        config = {"class_name": "Sequential", "config": {"name": "s", "layers": [config]}}
    with pytest.raises(ModelFileError, match="deep"):
        tfc.from_keras(old_file(config, {}))
    entries = [{"class_name": "Dropout", "name": name, "config": {"name": name, "rate": 0.5},
                "inbound_nodes": [[[other, 0, 0, {}]]]}
               for name, other in (("a", "b"), ("b", "a"))]  # fmt: skip
    circle = {"class_name": "Model", "config": {
        "name": "m", "layers": entries, "input_layers": [],
        "output_layers": [["a", 0, 0]]}}  # fmt: skip
    with pytest.raises(ModelFileError, match="which nothing computes before it"):
        tfc.from_keras(old_file(circle, {}))


def test_a_process_that_a_file_ends_is_replaced():
    content = old_file(DENSE, KERNEL)
    x = np.ones((1, 4), np.float32)
    np.testing.assert_array_equal(tfc.from_keras(content, backend="interpreter")(x), [[4, 4]])
    before = SERVICE.identity()
    SERVICE.stop()
    np.testing.assert_array_equal(tfc.from_keras(content, backend="interpreter")(x), [[4, 4]])
    assert SERVICE.identity() not in (None, before)
