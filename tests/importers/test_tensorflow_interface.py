"""from_graphdef: what it takes and gives, made of graphs whose values NumPy tells."""

import numpy as np
import pytest

import tfc
import tfc.graph as tf
import tfc.protos
from tfc.errors import KindError, ModelFileError, ShapeError, TfcError, UnsupportedError
from tfc.importers.tensorflow.load import model_of
from tfc.importers.tensorflow.reader import Fetch, Reader, VariableArgument

W = np.arange(12, dtype=np.float32).reshape(3, 4)
X = np.array([[1, -2, 3], [0.5, 1, -1]], np.float32)


def dense():
    """relu(x @ w), as `y`, and its rows one behind the other, as `flat`."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.nn.relu(tf.matmul(x, tf.constant(W, name="w")), name="y")
        rows = tf.shape(y)[0]
        tf.reshape(y, tf.stack([rows * 2, -1]), name="flat")
    return graph.as_graph_def()


def test_outputs_are_what_no_node_takes_and_inputs_the_placeholders():
    model = tfc.from_graphdef(dense())
    assert [p.name for p in model.outputs] == ["flat"]
    assert str(model.inputs[0]) == "x: float32[?,3]"
    assert [*model.parameters] == ["w"]
    np.testing.assert_allclose(model(X), np.maximum(X @ W, 0).reshape(4, 2))
    np.testing.assert_allclose(model(x=X[:1]), np.maximum(X[:1] @ W, 0).reshape(2, 2))


@pytest.mark.parametrize("form", ["message", "bytes", "text", "binary file", "text file"])
def test_graphs_are_messages_bytes_texts_and_files(form, tmp_path):
    made = dense()
    sources = {"message": made, "bytes": made.SerializeToString(), "text": str(made).encode()}
    if form.endswith("file"):
        sources[form] = tmp_path / "dense.graph"
        sources[form].write_bytes(sources["text" if form == "text file" else "bytes"])
    np.testing.assert_allclose(tfc.from_graphdef(sources[form], "y")(X), np.maximum(X @ W, 0))


def test_any_values_may_be_inputs_and_outputs():
    model = tfc.from_graphdef(dense(), outputs=["flat", "y:0"], inputs="y:0")
    flat, same = model(W)
    np.testing.assert_array_equal(same, W)
    np.testing.assert_array_equal(flat, W.reshape(6, 2))


def test_open_sizes_are_stated_and_values_fixed():
    module = tfc.from_graphdef(dense(), shapes={"x": (2, 3)}).hlo
    assert module.entry.root.operands[0].array_shape.dims == (4, 2)
    assert tfc.from_graphdef(dense(), fixed={"x:0": X})().shape == (4, 2)
    with pytest.raises(ShapeError, match="open sizes"):
        _ = tfc.from_graphdef(dense()).hlo


def test_parameters_are_arguments_of_the_pure_function():
    model = tfc.from_graphdef(dense(), "y")
    found = tfc.grad(lambda p: model.function(p, X).sum())({"w": W})["w"]
    np.testing.assert_allclose(found, X.T @ (X @ W > 0).astype(np.float32))


def test_placeholders_with_a_default_are_inputs_only_when_fixed():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        training = tf.placeholder_with_default(False, [], name="training")
        tf.cond(training, lambda: x * 2, lambda: x + 1)
    made = graph.as_graph_def()
    model = tfc.from_graphdef(made)
    assert [p.name for p in model.inputs] == ["x"]
    np.testing.assert_array_equal(model(np.array([1, 2], np.float32)), [2, 3])
    assert "conditional" not in str(model.hlo)
    fixed = tfc.from_graphdef(made, fixed={"training": True})
    np.testing.assert_array_equal(fixed(np.array([1, 2], np.float32)), [2, 4])


def test_names_that_are_not_there_and_inputs_that_are_missing_are_named():
    with pytest.raises(ModelFileError, match="no node 'z'"):
        tfc.from_graphdef(dense(), "z")
    with pytest.raises(ShapeError, match="placeholders x"):
        tfc.from_graphdef(dense(), "flat", inputs="w")


def test_sources_of_other_kinds_are_refused(tmp_path):
    for load in (tfc.from_graphdef, tfc.from_savedmodel):
        with pytest.raises(KindError, match="got int"):
            load(3)
    with pytest.raises(TfcError, match="is a folder"):
        tfc.from_graphdef(tmp_path)
    with pytest.raises(ModelFileError, match="no GraphDef"):
        tfc.from_graphdef(b"")


def counting():
    """A graph that adds x to the variable `total`, and gives twice what that is then."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        total = tf.get_variable("total", [2], tf.float32)
        with tf.control_dependencies([tf.assign_add(total, x).op]):
            tf.multiply(total.read_value(), 2.0, name="y")
    return graph.as_graph_def()


def test_variables_may_be_arguments_whose_last_values_are_results():
    reader = Reader("the graph", counting())
    state = VariableArgument("total", np.dtype(np.float32), (2,))
    model = model_of(reader, [reader.feed("x")], [Fetch("y")], [state])
    assert [p.name for p in model.inputs] == ["x", "total"]
    x, total = np.array([1, 2], np.float32), np.array([10, 20], np.float32)
    y, after = model(x, total)
    np.testing.assert_array_equal(after, x + total)
    np.testing.assert_array_equal(y, 2 * (x + total))


def test_rows_of_variables_are_read_by_their_numbers():
    made = tfc.protos.message_classes("tensorflow")["tfc.tensorflow.GraphDef"]()
    handle = made.node.add(name="table", op="VarHandleOp")
    handle.attr["dtype"].type = 1
    for name, shape in (("rows", (2,)), ("places", (3, 2))):
        node = made.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = 3
        for size in shape:
            node.attr["shape"].shape.dim.add(size=size)
    made.node.add(name="y", op="ResourceGather", input=["table", "rows"])
    made.node.add(name="z", op="ResourceGatherNd", input=["table", "places"])
    reader = Reader("the graph", made)
    state = VariableArgument("table", np.dtype(np.float32), (3, 4), readonly=True)
    feeds = [reader.feed("rows"), reader.feed("places")]
    model = model_of(reader, feeds, [Fetch("y"), Fetch("z")], [state])
    assert [p.name for p in model.inputs] == ["rows", "places", "table"]
    places = np.array([[0, 1], [2, 3], [1, 1]], np.int32)
    y, z = model(np.array([2, 0], np.int32), places, W)
    np.testing.assert_array_equal(y, W[[2, 0]])
    np.testing.assert_array_equal(z, W[places[:, 0], places[:, 1]])


def test_variables_without_a_value_are_named():
    with pytest.raises(UnsupportedError, match="the variable 'total' has no value"):
        tfc.from_graphdef(counting(), "y")(np.array([1, 2], np.float32))


def test_operators_without_a_row_are_all_named_with_their_counts():
    made = dense()
    for name, op in (("a", "Wobble"), ("b", "Wobble"), ("c", "Wibble")):
        made.node.add(name=name, op=op, input=["y"])
    made.node.add(name="d", op="AddN", input=["a", "b", "c"])
    made.node.add(name="unused", op="IteratorGetNext")
    with pytest.raises(UnsupportedError) as caught:
        tfc.from_graphdef(made, "d")(X)
    assert "the graph has operators that are not supported: Wibble (1 ×, at 'c'), " in str(
        caught.value
    )
    assert "Wobble (2 ×, at 'a')" in str(caught.value)
    assert "Iterator" not in str(caught.value)


def test_functions_of_the_library_are_called_by_operators_and_by_name():
    made = dense()
    function = made.library.function.add()
    function.signature.name = "twice_and_shape"
    function.signature.input_arg.add(name="a", type=1)
    function.signature.output_arg.add(name="doubled", type=1)
    function.signature.output_arg.add(name="dims", type=3)
    function.node_def.add(name="sum", op="AddV2", input=["a", "a"])
    function.node_def.add(name="shape", op="Shape", input=["sum:z:0"])
    function.ret["doubled"], function.ret["dims"] = "sum:z:0", "shape:output:0"
    call = made.node.add(name="call", op="PartitionedCall", input=["y"])
    call.attr["f"].func.name = "twice_and_shape"
    made.node.add(name="again", op="twice_and_shape", input=["call"])
    made.node.add(name="z", op="Reshape", input=["again", "call:1"])
    y = np.maximum(X @ W, 0)
    np.testing.assert_allclose(tfc.from_graphdef(made, "z")(X), 4 * y)


def test_functions_that_call_themselves_are_refused():
    made = dense()
    function = made.library.function.add()
    function.signature.name = "endless"
    function.signature.input_arg.add(name="a", type=1)
    function.signature.output_arg.add(name="b", type=1)
    function.node_def.add(name="c", op="endless", input=["a"])
    function.ret["b"] = "c:b:0"
    made.node.add(name="z", op="endless", input=["y"])
    with pytest.raises(UnsupportedError, match="call themselves"):
        tfc.from_graphdef(made, "z")
