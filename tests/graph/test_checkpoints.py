"""Checkpoints: TensorFlow's files written and read; subsets, names, numbers kept; damage."""

import struct
from contextlib import suppress

import numpy as np
import pytest

import tfc.graph as tf
from tfc.graph import errors
from tfc.graph.files.checkpoints import CheckpointReader, write_checkpoint
from tfc.graph.files.crc import crc32c, masked
from tfc.graph.files.messages import message
from tfc.graph.files.snappy import decompressed
from tfc.graph.files.table import table_from_bytes, table_to_bytes


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def started():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def bit_by_bit(content):
    state = 0xFFFFFFFF
    for byte in content:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def test_checksums_are_crc_32c():
    assert crc32c(b"123456789") == 0xE3069283
    content = np.random.default_rng(0).bytes(20011)
    assert crc32c(content) == bit_by_bit(content)


def test_the_files_are_those_of_the_format(tmp_path):
    """Read here by their description, with none of tfc's code but the messages."""
    write_checkpoint(tmp_path / "m", {"b/w": np.float32([[1, 2], [3, 4]]), "b/v": np.int64(7)})
    index = (tmp_path / "m.index").read_bytes()
    assert struct.unpack("<Q", index[-8:])[0] == 0xDB4775248B80FB57
    block = index[: index.index(struct.pack("<II", 0, 1))]
    shared, rest, size = block[:3]
    assert (shared, rest) == (0, 0)
    header = message("BundleHeaderProto").FromString(block[3 : 3 + size])
    assert (header.num_shards, header.endianness, header.version.producer) == (1, 0, 1)
    place = 3 + size
    shared, rest, size = block[place : place + 3]
    assert (shared, block[place + 3 : place + 3 + rest]) == (0, b"b/v")
    place += 3 + rest + size
    shared, rest, size = block[place : place + 3]
    assert (shared, block[place + 3 : place + 3 + rest]) == (2, b"w")
    entry = message("BundleEntryProto").FromString(block[place + 3 + rest :][:size])
    assert (entry.dtype, entry.offset, entry.size) == (1, 8, 16)
    data = (tmp_path / "m.data-00000-of-00001").read_bytes()
    assert data == struct.pack("<q4f", 7, 1, 2, 3, 4)
    rotated = bit_by_bit(data[8:])
    rotated = (rotated >> 15 | rotated << 17) + 0xA282EAD8 & 0xFFFFFFFF
    assert entry.crc32c == rotated == masked(data[8:])


def test_tables_of_many_blocks_are_read_as_they_were_written():
    numbers = np.random.default_rng(0)
    entries = {b"": b"header"} | {
        f"layer_{n}/weights".encode(): numbers.bytes(int(numbers.integers(0, 300)))
        for n in range(3000)
    }
    content = table_to_bytes(entries)
    assert table_from_bytes(content, "it") == entries
    assert len(content) > 3 * (1 << 17)


def test_variables_are_saved_and_restored(tmp_path):
    v1 = tf.get_variable("v1", [3], initializer=tf.zeros_initializer())
    v2 = tf.get_variable("v2", [5], initializer=tf.zeros_initializer())
    saver = tf.train.Saver()
    session = started()
    session.run([v1.assign(v1 + 1), v2.assign(v2 - 1)])
    path = saver.save(session, tmp_path / "model.ckpt", global_step=7)
    assert path == str(tmp_path / "model.ckpt-7")
    fresh = tf.Session()
    saver.restore(fresh, path)
    assert fresh.run(v1).tolist() == [1] * 3
    assert fresh.run(v2).tolist() == [-1] * 5
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {"v1": [3], "v2": [5]}
    assert reader.get_variable_to_dtype_map()["v1"].name == "float32"
    assert reader.has_tensor("v1")
    assert not reader.has_tensor("v3")
    assert tf.train.list_variables(tmp_path) == [("v1", [3]), ("v2", [5])]
    assert tf.train.load_variable(path, "v2").tolist() == [-1] * 5
    assert tf.train.latest_checkpoint(tmp_path) == path
    assert tf.train.latest_checkpoint(tmp_path / "none") is None


def test_subsets_and_other_names_are_saved(tmp_path):
    a, b = tf.Variable([1.0], name="a"), tf.Variable([2.0], name="b")
    session = started()
    path = tf.train.Saver({"other": a}).save(session, tmp_path / "part")
    assert tf.train.list_variables(path) == [("other", [1])]
    tf.train.Saver({"other": b}).restore(session, path)
    assert session.run(b) == 1
    with pytest.raises(errors.NotFoundError, match="Key b not found"):
        tf.train.Saver([b]).restore(session, path)
    with pytest.raises(TypeError, match="not a Variable"):
        tf.train.Saver([a.value()])


def test_the_newest_checkpoints_are_kept(tmp_path):
    step = tf.Variable(0, name="step")
    saver = tf.train.Saver(max_to_keep=2)
    session = started()
    for _ in range(4):
        session.run(tf.assign_add(step, 1))
        saver.save(session, tmp_path / "m", global_step=step)
    assert saver.last_checkpoints == [str(tmp_path / f"m-{n}") for n in (3, 4)]
    assert sorted(p.name for p in tmp_path.glob("*.index")) == ["m-3.index", "m-4.index"]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == str(tmp_path / "m-4")
    assert list(state.all_model_checkpoint_paths) == saver.last_checkpoints
    (tmp_path / "checkpoint").write_text("no message {")
    assert tf.train.get_checkpoint_state(tmp_path) is None


def test_what_does_not_fit_is_an_error(tmp_path):
    v = tf.Variable([1.0, 2.0], name="v")
    session = started()
    path = tf.train.Saver().save(session, tmp_path / "m")
    with tf.Graph().as_default():
        tf.Variable([[1.0, 2.0]], name="v")
        with pytest.raises(errors.InvalidArgumentError, match="shapes of both tensors to match"):
            tf.train.Saver().restore(tf.Session(), path)
        other = tf.Session()
        tf.train.Saver(reshape=True).restore(other, path)
        assert other.run("v/read:0").tolist() == [[1, 2]]
    with tf.Graph().as_default():
        tf.Variable([1, 2], name="v")
        with pytest.raises(errors.InvalidArgumentError, match="int32"):
            tf.train.Saver().restore(tf.Session(), path)
        with pytest.raises(errors.FailedPreconditionError, match="v"):
            tf.train.Saver().save(tf.Session(), tmp_path / "n")
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        tf.train.Saver([v]).restore(session, tmp_path / "none")
    with pytest.raises(ValueError, match="doesn't exist"):
        tf.train.Saver([v]).save(session, tmp_path / "none" / "m")
    with tf.Graph().as_default(), pytest.raises(ValueError, match="No variables"):
        tf.train.Saver()


def test_data_in_several_files_is_read(tmp_path):
    values = {"a": np.float32([1, 2]), "b": np.int32([3])}
    header = message("BundleHeaderProto", num_shards=2)
    entries = {b"": header.SerializeToString()}
    for shard, (name, array) in enumerate(values.items()):
        content = array.tobytes()
        (tmp_path / f"m.data-{shard:05d}-of-00002").write_bytes(b"pad" + content)
        entry = message(
            "BundleEntryProto", dtype=[1, 3][shard], shard_id=shard, offset=3, size=len(content),
            crc32c=masked(content),
        )  # fmt: skip
        entry.shape.dim.add(size=len(array))
        entries[name.encode()] = entry.SerializeToString()
    (tmp_path / "m.index").write_bytes(table_to_bytes(entries))
    reader = CheckpointReader(tmp_path / "m")
    for name, array in values.items():
        assert reader.get_tensor(name).tolist() == array.tolist()
    (tmp_path / "m.data-00001-of-00002").unlink()
    with pytest.raises(errors.NotFoundError, match="00001-of-00002"):
        reader.get_tensor("b")


def test_damaged_files_are_errors(tmp_path):
    write_checkpoint(tmp_path / "m", {f"v{n}": np.arange(n * 10.0) for n in range(5)})
    index, data = tmp_path / "m.index", tmp_path / "m.data-00000-of-00001"
    content, values = index.read_bytes(), data.read_bytes()
    for place in range(0, len(content), 7):
        for changed in (content[:place], content[:place] + b"\xff" + content[place + 1 :]):
            index.write_bytes(changed)
            with suppress(errors.DataLossError, errors.UnimplementedError):
                reader = CheckpointReader(tmp_path / "m")  # a byte that nothing is read from
                assert reader.get_variable_to_shape_map() == {f"v{n}": [n * 10] for n in range(5)}
    index.write_bytes(content)
    data.write_bytes(values[:-3])
    with pytest.raises(errors.DataLossError, match="ends before"):
        CheckpointReader(tmp_path / "m").get_tensor("v4")
    data.write_bytes(b"\x01" + values[1:])
    with pytest.raises(errors.DataLossError, match="checksum"):
        CheckpointReader(tmp_path / "m").get_tensor("v1")
    index.unlink()
    with pytest.raises(errors.NotFoundError):
        CheckpointReader(tmp_path / "m")


def test_blocks_that_snappy_compressed_are_read():
    """A literal, then copies: near ones that overlap themselves, and one by two bytes."""
    made = bytes([4 + 7 + 12 + 20, 3 << 2]) + b"abcd" + bytes([(7 - 4) << 2 | 1, 2])
    made += bytes([(12 - 1) << 2 | 2, 11, 0]) + bytes([(20 - 1) << 2 | 3, 1, 0, 0, 0])
    expected = bytearray(b"abcd")
    for offset, size in ((2, 7), (11, 12), (1, 20)):
        for _ in range(size):
            expected.append(expected[-offset])
    assert decompressed(made) == bytes(expected)
    for place in range(len(made)):
        with suppress(errors.DataLossError):
            assert len(decompressed(made[:place])) <= 64


def test_tables_of_compressed_blocks_are_read():
    entries = {f"v{n}".encode(): b"x" * n for n in range(50)}
    assert table_from_bytes(_compressed(entries), "it") == entries


def _compressed(entries):
    """A table of one block of data, which is a literal of Snappy's, and a plain index."""
    block, before = b"", b""
    for key, value in entries.items():
        block += bytes([0, len(key), len(value)]) + key + value
        before = key
    block += struct.pack("<II", 0, 1)
    packed = number(len(block)) + bytes([61 << 2]) + struct.pack("<H", len(block) - 1) + block
    content = packed + b"\x01" + struct.pack("<I", masked(packed + b"\x01"))
    place = number(0) + number(len(packed))
    index = bytes([0, len(before), len(place)]) + before + place + struct.pack("<II", 0, 1)
    where = len(content)
    content += index + b"\0" + struct.pack("<I", masked(index + b"\0"))
    footer = number(where) + number(len(index))  # of a block of nothing, and of the index
    footer = (footer + footer).ljust(40, b"\0")
    return content + footer + struct.pack("<Q", 0xDB4775248B80FB57)


def number(value):
    """Seven bits a byte."""
    return bytes([value & 127 | 128, *number(value >> 7)]) if value > 127 else bytes([value])


def test_parts_of_partitioned_variables_are_put_together(tmp_path):
    whole = np.arange(600.0, dtype=np.float32).reshape(2, 300)
    header = message("BundleHeaderProto", num_shards=1)
    entry = message("BundleEntryProto", dtype=1)
    for size in whole.shape:
        entry.shape.dim.add(size=size)
    entries, data = {b"": header.SerializeToString()}, b""
    # The keys as TensorFlow writes them: 0, the name, the rank, then begin and length.
    keys = {
        (0, 100): b"\0w\0\1\1\2\x7f\x7f\x80\xc0\x64",
        (100, 200): b"\0w\0\1\1\2\x7f\x7f\xc0\x64\xc0\xc8",
    }
    for (start, length), key in keys.items():
        part = entry.slices.add()
        part.extent.add()
        part.extent.add(start=start, length=length)
        content = whole[:, start : start + length].tobytes()
        held = message("BundleEntryProto", dtype=1, offset=len(data), size=len(content),
                       crc32c=masked(content))  # fmt: skip
        held.shape.dim.add(size=2)
        held.shape.dim.add(size=length)
        entries[key] = held.SerializeToString()
        data += content
    entries[b"w"] = entry.SerializeToString()
    (tmp_path / "m.index").write_bytes(table_to_bytes(entries))
    (tmp_path / "m.data-00000-of-00001").write_bytes(data)
    np.testing.assert_array_equal(CheckpointReader(tmp_path / "m").get_tensor("w"), whole)
    del entries[keys[100, 200]]
    (tmp_path / "m.index").write_bytes(table_to_bytes(entries))
    with pytest.raises(errors.DataLossError, match="lacks parts"):
        CheckpointReader(tmp_path / "m").get_tensor("w")
