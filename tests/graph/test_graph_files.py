"""Graphs in files: written and read again they compute the same; damaged ones are errors."""

import re
import subprocess
from contextlib import suppress

import numpy as np
import pytest

import tfc
import tfc.graph as tf
from tfc.graph import errors
from tfc.graph.files.messages import message, parsed, read
from tfc.graph.files.tensors import tensor_from_proto, tensor_to_proto

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def a_model():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="w")
    b = tf.Variable([0.5, -0.5], name="b")
    tf.add(tf.matmul(x, w) * 2.0, b, name="y")
    return tf.global_variables_initializer()


def run_imported(graph_def):
    with tf.Graph().as_default(), tf.Session() as session:
        y, init = tf.import_graph_def(graph_def, return_elements=["y:0", "init"], name="")
        session.run(init)
        return session.run(y, {"x:0": X})


EXPECTED = X @ np.array([[1, 2], [3, 4], [5, 6]]) * 2 + np.array([0.5, -0.5])


@pytest.mark.parametrize(("name", "as_text"), [("graph.pb", False), ("graph.pbtxt", True)])
def test_a_graph_written_and_read_computes_the_same(tmp_path, graph, name, as_text):
    a_model()
    path = tf.train.write_graph(graph, tmp_path / "new", name, as_text)
    again = read("GraphDef", path)
    assert again == graph.as_graph_def()
    np.testing.assert_array_equal(run_imported(again), EXPECTED)


def test_names_are_put_in_a_scope_and_inputs_are_replaced(graph):
    a_model()
    graph_def = graph.as_graph_def()
    with tf.Graph().as_default() as other, tf.Session() as session:
        mine = tf.constant(X)
        y, w = tf.import_graph_def(graph_def, {"x:0": mine}, ["y", "w/read:0"])
        assert (y.name, w.name) == ("import/y", "import/w/read:0")
        session.run("import/init")
        np.testing.assert_array_equal(session.run("import/y:0"), EXPECTED)
        assert tf.import_graph_def(graph_def) is None
        assert other.get_operation_by_name("import_1/y").type == "Add"
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=r"not found in graph_def.*'none'"):
            tf.import_graph_def(graph_def, {"none:0": tf.constant(X)})
        with pytest.raises(ValueError, match="nothing"):
            tf.import_graph_def(graph_def, return_elements=["nothing"])
        with pytest.raises(TypeError, match="GraphDef"):
            tf.import_graph_def("graph.pb")


def test_names_taken_from_a_graph_are_not_given_again(graph):
    graph_def = message("GraphDef")
    graph_def.node.add(name="c", op="NoOp")
    tf.import_graph_def(graph_def, name="")
    assert tf.constant(1, name="c").name == "c_1:0"
    with pytest.raises(ValueError, match="already exists"):
        tf.import_graph_def(graph_def, name="")


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([("a", "Identity", ["b"]), ("b", "Identity", ["a"])], "cycle"),
        ([("a", "Identity", ["missing"])], "missing"),
        ([("a", "NoOp", []), ("a", "NoOp", [])], "two nodes"),
        ([("a", "NoOp", []), ("b", "Identity", ["a:7"])], "no such output"),
        ([("a", "NoOp", []), ("b", "Identity", ["a:x:y:z"])], "no such output"),
        ([("a b", "NoOp", [])], "not a valid name"),
        ([("", "NoOp", [])], "already exists"),
        ([("a", "Enter", [])], "loops of Enter"),
        ([("a", "NoSuchOperator", [])], "NoSuchOperator"),
    ],
)
def test_graphs_that_cannot_be_are_refused(nodes, says):
    graph_def = message("GraphDef")
    for name, op, inputs in nodes:
        graph_def.node.add(name=name, op=op, input=inputs)
    with pytest.raises((ValueError, NotImplementedError), match=says):
        tf.import_graph_def(graph_def, name="")


def test_versions_are_accepted_by_the_rule_of_producers_and_consumers():
    versions = message("GraphDef").versions
    for field, value in [("min_consumer", 10**6), ("bad_consumers", [27])]:
        graph_def = message("GraphDef")
        if field == "min_consumer":
            graph_def.versions.min_consumer = value
        else:
            graph_def.versions.bad_consumers.extend(value)
        with pytest.raises(ValueError, match="version"):
            tf.import_graph_def(graph_def)
    assert versions.producer == 0


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "int64", "uint8", "bool", "complex64", "float16",
              "bfloat16", "uint64", "complex128"],
)  # fmt: skip
def test_arrays_become_protos_and_arrays_again(dtype):
    kind = tf.as_dtype(dtype).as_numpy_dtype
    for array in (np.arange(6).reshape(2, 3), np.ones((2, 3)), np.zeros((0, 3)), np.float32(1)):
        array = np.asarray(array).astype(kind)
        found = tensor_from_proto(tensor_to_proto(array))
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found, array)


def test_a_shape_that_says_more_than_the_file_has_takes_no_memory():
    huge = message("TensorProto", dtype=1, float_val=[1.0])
    huge.tensor_shape.dim.add(size=1 << 40)
    assert tensor_from_proto(huge).strides == (0,)
    huge.float_val.append(2.0)
    with pytest.raises(errors.InvalidArgumentError, match="to fill"):
        tensor_from_proto(huge)
    huge.tensor_shape.dim.add(size=1 << 40)
    with pytest.raises(errors.InvalidArgumentError, match="shape"):
        tensor_from_proto(huge)
    short = message("TensorProto", dtype=1, tensor_content=b"123")
    with pytest.raises(errors.InvalidArgumentError, match="3 bytes"):
        tensor_from_proto(short)
    many = message("TensorProto", dtype=3, int_val=[1, 2])
    with pytest.raises(errors.InvalidArgumentError, match="do not fit"):
        tensor_from_proto(many)
    with pytest.raises(errors.InvalidArgumentError, match="type number"):
        tensor_from_proto(message("TensorProto", dtype=20))


def test_files_that_are_no_graphs_are_errors(tmp_path):
    (tmp_path / "a.pb").write_bytes(b"\xff" * 100)
    (tmp_path / "a.pbtxt").write_text("node { name: ")
    with pytest.raises(errors.DataLossError, match="GraphDef"):
        read("GraphDef", tmp_path / "a.pb")
    with pytest.raises(errors.InvalidArgumentError, match="GraphDef"):
        read("GraphDef", tmp_path / "a.pbtxt")
    with pytest.raises(errors.NotFoundError):
        read("GraphDef", tmp_path / "none.pb")


def test_every_cut_and_flip_of_a_graph_is_an_error_or_another_graph(graph):
    a_model()
    content = graph.as_graph_def().SerializeToString(deterministic=True)
    numbers = np.random.default_rng(0)
    for _ in range(60):
        changed = bytearray(content)
        for place in numbers.integers(0, len(changed), 3):
            changed[place] ^= int(numbers.integers(1, 256))
        changed = bytes(changed[: numbers.integers(1, len(changed))])
        with tf.Graph().as_default(), suppress(tfc.errors.TfcError):
            tf.import_graph_def(parsed("GraphDef", changed, "a file"))


def test_frozen_graphs_have_constants_for_variables(graph):
    init = a_model()
    with tf.Session() as session:
        session.run(init)
        session.run(tf.assign(tf.global_variables()[1], [1.0, 2.0]))
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    assert not {"VarHandleOp", "ReadVariableOp"} & {node.op for node in frozen.node}
    assert not [node for node in frozen.node if "Assign" in node.op]
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(frozen, return_elements=["y:0"], name="")
        found = session.run(y, {"x:0": X})
    np.testing.assert_array_equal(found, X @ np.array([[1, 2], [3, 4], [5, 6]]) * 2 + [1, 2])
    with pytest.raises(ValueError, match="not in graph"):
        tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["nothing"])


def test_a_meta_graph_brings_its_variables_back(tmp_path, graph):
    init = a_model()
    with tf.Session() as session:
        session.run(init)
        path = tf.train.Saver().save(session, tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(f"{path}.meta")
        assert [v.name for v in tf.trainable_variables()] == ["w:0", "b:0"]
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run("y:0", {"x:0": X}), EXPECTED)


MAIN = """
#include <iostream>
#include "matmul.h"
int main() {
  foo::bar::MatMulComp matmul;
  const float values[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::copy(values, values + 6, matmul.arg0_data());
  std::copy(values + 6, values + 12, matmul.arg1_data());
  matmul.Run();
  std::cout << (matmul.result0(0, 0) == 58 ? "Success" : "Failed") << matmul.result0(1, 1);
}
"""


def test_a_graph_with_feeds_and_fetches_becomes_a_cpp_class(tmp_path, graph):
    x = tf.placeholder(tf.float32, [2, 3], name="x_hold")
    y = tf.placeholder(tf.float32, [3, 2], name="y_hold")
    product = tf.matmul(x, y, name="x_y_prod")
    with tf.Session() as session:
        function = tf.graph_util.as_function(session, [x, y], [product])
        paths = tf.graph_util.export_for_tfcompile(session, [x, y], [product], tmp_path, "matmul")
    made = tfc.aot.compile(
        function, "f32[2,3]", "f32[3,2]", cpp_class="foo::bar::MatMulComp", out_dir=tmp_path,
        name="matmul",
    )  # fmt: skip
    assert made is not None
    (tmp_path / "main.cc").write_text(MAIN)
    command = ["c++", "-o", "main", "main.cc", "matmul.o", "-lm", "-lpthread"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    printed = subprocess.run(
        ["./main"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout == "Success154"
    config = read("Config", paths[1])
    assert [feed.id.node_name for feed in config.feed] == ["x_hold", "y_hold"]
    assert [dim.size for dim in config.feed[1].shape.dim] == [3, 2]
    assert config.fetch[0].id.node_name == "x_y_prod"
    assert {node.op for node in read("GraphDef", paths[0]).node} == {"Placeholder", "MatMul"}
    assert re.search(r'node_name: "x_hold"', (tmp_path / "matmul.config.pbtxt").read_text())


def test_a_function_of_a_graph_has_its_variables_as_constants(graph):
    init = a_model()
    x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
    with tf.Session() as session:
        session.run(init)
        function = tf.graph_util.as_function(session, [x], [y])
        change = tf.global_variables()[0].assign_add(np.ones((3, 2), np.float32))
        with pytest.raises(errors.InvalidArgumentError, match="variable"):
            tf.graph_util.as_function(session, [], [change])
        with pytest.raises(errors.InvalidArgumentError, match="must be a feed"):
            tf.graph_util.as_function(session, [], [y])
    np.testing.assert_array_equal(tfc.jit(function)(X)[0], EXPECTED)


def test_bodies_and_steps_of_training_are_read_as_they_were_written(graph):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(x > 0, lambda: x * 2.0, lambda: x - 1.0)
    _, total = tf.while_loop(lambda i, _: i < 5, lambda i, s: (i + 1, s + x), (tf.constant(0), y))
    tf.identity(total, name="total")
    w = tf.Variable(3.0, name="w")
    tf.train.AdamOptimizer(0.1).minimize(w * w, name="step")
    tf.variables_initializer(tf.global_variables(), name="start")
    content = graph.as_graph_def().SerializeToString()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(parsed("GraphDef", content, "it"), name="")
        assert session.run("total:0", {"x:0": 2.0}) == 14
        assert session.run("total:0", {"x:0": -2.0}) == -13
        session.run("start")
        session.run("step")
        np.testing.assert_allclose(session.run("w/read:0"), 2.9, rtol=1e-6)
