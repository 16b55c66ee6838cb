"""What tfc.from_onnx returns: how it is called, what it is named, which mistakes it explains."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import model_of, runtime_results

import tfc
import tfc.numpy as tnp
from tfc.errors import ModelFileError, ShapeError, TfcError, UnsupportedError

RNG = np.random.default_rng(0)


def dense(rows="batch"):
    """relu(x @ w + b), of any number of rows."""
    nodes = [
        helper.make_node("MatMul", ["x:0", "w"], ["h"], name="first/MatMul"),
        helper.make_node("Add", ["h", "b"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"], name="out"),
    ]
    w = RNG.standard_normal((3, 4)).astype(np.float32)
    constants = {"w": w, "b": RNG.standard_normal(4).astype(np.float32)}
    return model_of(nodes, {"x:0": (np.float32, (rows, 3))}, ["y"], constants)


X = RNG.standard_normal((2, 3)).astype(np.float32)


def expected(model, x):
    return runtime_results(model, {"x:0": x})[0]


def test_inputs_go_by_position_by_dictionary_and_by_name():
    made = dense()
    model = tfc.from_onnx(made)
    for got in (model(X), model({"x:0": X}), model(**{"x:0": X})):
        np.testing.assert_allclose(got, expected(made, X), rtol=1e-5)
    longer = np.concatenate([X, X])
    np.testing.assert_allclose(model(longer), expected(made, longer), rtol=1e-5)


def test_a_path_and_bytes_are_the_same_model(tmp_path):
    made = dense()
    path = tmp_path / "dense.onnx"
    path.write_bytes(made.SerializeToString())
    for source in (path, str(path), made.SerializeToString()):
        np.testing.assert_array_equal(tfc.from_onnx(source)(X), tfc.from_onnx(made)(X))


def test_a_model_says_what_it_takes_and_gives():
    model = tfc.from_onnx(dense())
    assert [str(p) for p in model.inputs] == ["x:0: float32[batch,3]"]
    assert [p.name for p in model.outputs] == ["y"]
    assert sorted(model.parameters) == ["b", "w"]


def test_nodes_are_named_in_the_module():
    module = tfc.from_onnx(dense(), shapes={"x:0": (2, 3)}).hlo
    named = {i.metadata.op_name: i.metadata.op_type for i in module.entry.instructions
             if i.metadata is not None}  # fmt: skip
    assert named["first/MatMul"] == "MatMul"
    assert named["out"] == "Relu"


def test_open_sizes_are_given_by_input_or_by_name():
    for shapes in ({"x:0": (2, 3)}, {"batch": 2}):
        shape = tfc.from_onnx(dense(), shapes=shapes).hlo.entry.parameters[0].array_shape
        assert shape.dims == (2, 3)
    with pytest.raises(ShapeError, match=r"open sizes \(batch\)"):
        _ = tfc.from_onnx(dense()).hlo
    with pytest.raises(ShapeError, match="cannot have the sizes"):
        tfc.from_onnx(dense(), shapes={"x:0": (2, 4)})
    with pytest.raises(ShapeError, match="no input and no open size 'z'"):
        tfc.from_onnx(dense(), shapes={"z": (2, 4)})


def test_inputs_that_do_not_fit_are_explained():
    model = tfc.from_onnx(dense())
    with pytest.raises(ShapeError, match=r"x:0: float32\[batch,3\] got float64\[2,3\]"):
        model(X.astype(np.float64))
    with pytest.raises(ShapeError, match=r"got float32\[3\]"):
        model(X[0])
    with pytest.raises(ShapeError, match="needs the inputs x:0"):
        model()
    with pytest.raises(ShapeError, match="'z' is none of its inputs"):
        model(X, z=X)
    with pytest.raises(TfcError, match="no parameter 'v'"):
        model.function({"v": X}, X)


def test_parameters_can_be_differentiated_by_and_replaced():
    made = dense()
    model = tfc.from_onnx(made)

    def loss(parameters, x):
        return tnp.sum(model.function(parameters, x) ** 2)

    gradients = tfc.jit(tfc.grad(loss))(model.parameters, X)
    active = (y := expected(made, X)) > 0
    np.testing.assert_allclose(gradients["w"], X.T @ (2 * y * active), rtol=1e-4)
    halved = {"w": model.parameters["w"] / 2, "b": model.parameters["b"] / 2}
    np.testing.assert_allclose(model.function(halved, X), y / 2, rtol=1e-5)


def test_replacing_a_parameter_that_calls_have_as_a_constant_is_an_error():
    model = tfc.from_onnx(dense())
    before = model(X)
    model.parameters["b"] = np.zeros(4, np.float32)
    with pytest.raises(TfcError, match=r"one was replaced: pass those that change to \.function"):
        model(X)
    assert not np.array_equal(model.function(model.parameters, X), before)


def test_a_model_becomes_part_of_what_is_traced():
    made = dense()
    model = tfc.from_onnx(made)
    got = tfc.jit(lambda x: model(x) + 1)(X)
    np.testing.assert_allclose(got, expected(made, X) + 1, rtol=1e-5)
    rows = tfc.vmap(lambda x: model(x[None])[0])(X)
    np.testing.assert_allclose(rows, expected(made, X), rtol=1e-5)


def test_all_unknown_operators_are_in_one_message():
    nodes = [
        helper.make_node("Wobble", ["x"], ["a"], name="first", domain="org.example"),
        helper.make_node("Wobble", ["a"], ["b"], domain="org.example"),
        helper.make_node("Sway", ["b"], ["y"], name="last", domain="org.example"),
    ]
    made = model_of(nodes, {"x": X}, ["y"], domains={"org.example": 1})
    with pytest.raises(UnsupportedError) as caught:
        tfc.from_onnx(made)(X)
    assert "org.example.Sway (1 ×, at 'last')" in str(caught.value)
    assert "org.example.Wobble (2 ×, at 'first')" in str(caught.value)


def test_shapes_are_computed_while_importing():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "first"], ["n"]),
        helper.make_node("Mul", ["n", "two"], ["m"]),
        helper.make_node("Concat", ["m", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"first": np.array([0]), "two": np.array([2]), "rest": np.array([-1])}
    made = model_of(nodes, {"x": (np.float32, ("a", "b"))}, ["y"], constants)
    for shape in ((2, 6), (3, 4)):
        x = RNG.standard_normal(shape).astype(np.float32)
        got = tfc.from_onnx(made)(x)
        np.testing.assert_array_equal(got, x.reshape(2 * shape[0], -1))
    module = tfc.from_onnx(made, shapes={"x": (2, 6)}).hlo
    assert {i.opcode for i in module.entry.instructions} == {"parameter", "reshape", "tuple"}


def test_values_that_shapes_depend_on_can_be_fixed():
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    made = model_of(nodes, {"x": X, "shape": (np.int64, (2,))}, ["y"])
    with pytest.raises(UnsupportedError, match="must be known while importing"):
        tfc.from_onnx(made).lower(X, np.array([3, 2]))
    model = tfc.from_onnx(made, fixed={"shape": [3, 2]})
    assert [p.name for p in model.inputs] == ["x"]
    np.testing.assert_array_equal(model(X), X.reshape(3, 2))


def test_calls_compile_for_the_values_that_decide_shapes():
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    model = tfc.from_onnx(model_of(nodes, {"x": X, "shape": (np.int64, (2,))}, ["y"]))
    for shape in ([3, 2], [1, 6], [3, 2]):
        np.testing.assert_array_equal(model(X, np.array(shape)), X.reshape(shape))
    with pytest.raises(UnsupportedError, match="must be known while importing"):
        tfc.jit(model)(X, np.array([3, 2]))
    many = tfc.from_onnx(model_of(nodes, {"x": X, "shape": (np.int64, (17,))}, ["y"]))
    with pytest.raises(UnsupportedError, match="must be known while importing"):
        many(X, np.ones(17, np.int64))


def test_a_branch_that_cannot_run_for_the_sizes_is_left_out_when_another_is_taken():
    def branch(name, columns):
        """x as rows of a fixed length, which only some sizes of x have."""
        output = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        node = helper.make_node("Reshape", ["x", f"to {columns}"], [name])
        return helper.make_graph([node], name, [], [output])

    nodes = [
        helper.make_node("Equal", ["rate", "16000"], ["is wide"]),
        helper.make_node(
            "If", ["is wide"], ["y"], then_branch=branch("a", 4), else_branch=branch("b", 3)
        ),
    ]
    constants = {"16000": np.array(16000), "to 4": np.array([-1, 4]), "to 3": np.array([-1, 3])}
    ports = {"x": (np.float32, ("n",)), "rate": (np.int64, ())}
    model = tfc.from_onnx(model_of(nodes, ports, ["y"], constants))
    x = np.arange(9, dtype=np.float32)
    np.testing.assert_array_equal(model(x, 8000), x.reshape(3, 3))
    np.testing.assert_array_equal(model(x[:8], 16000), x[:8].reshape(2, 4))
    with pytest.raises(TfcError, match="reshape"):
        model(x, 16000)


def test_a_function_of_the_file_is_called_with_its_attributes():
    scaled = helper.make_node("Elu", ["a"], ["r"])
    scaled.attribute.append(onnx.AttributeProto(
        name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))  # fmt: skip
    function = helper.make_function(
        "local", "Bent", ["a"], ["r"], [scaled], [helper.make_opsetid("", 18)], ["slope"]
    )
    nodes = [helper.make_node("Bent", ["x"], ["y"], domain="local", slope=0.5)]
    made = model_of(nodes, {"x": X}, ["y"], functions=[function], domains={"local": 1})
    np.testing.assert_allclose(
        tfc.from_onnx(made)(X), np.where(X < 0, 0.5 * np.expm1(X), X), rtol=1e-5
    )


def test_weights_of_subgraphs_are_parameters_too():
    """Of a branch that is chosen by data and of a loop, which are traced more than once."""

    def body(name, op, inputs, outputs, nodes=()):
        made = [helper.make_node(op, inputs, outputs[-1:]), *nodes]
        ports = [helper.make_empty_tensor_value_info(n) for n in outputs]
        return helper.make_graph(made, name, [], ports)

    branches = []
    for number in (1.0, 2.0):
        graph = body(f"branch{number:.0f}", "Add", ["x", "w"], ["r"])
        graph.initializer.append(numpy_helper.from_array(np.full(3, number, np.float32), "w"))
        branches.append(graph)
    step = body("step", "Mul", ["state", "w"], ["again", "next"],
                [helper.make_node("Identity", ["goes"], ["again"])])  # fmt: skip
    step.input.extend(helper.make_empty_tensor_value_info(n) for n in ("i", "goes", "state"))
    step.initializer.append(numpy_helper.from_array(np.full(3, 2, np.float32), "w"))
    nodes = [
        helper.make_node("If", ["yes"], ["h"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Loop", ["count", "", "h"], ["y"], body=step),
    ]
    inputs = {"x": X, "yes": (np.bool_, ())}
    model = tfc.from_onnx(model_of(nodes, inputs, ["y"], {"count": np.array(9)}))
    assert len(model.parameters) == 3
    for yes, number in ((True, 1), (False, 2)):
        np.testing.assert_allclose(model(X, np.array(yes)), (X + number) * 512)
    doubled = {name: 2 * value for name, value in model.parameters.items()}
    np.testing.assert_allclose(model.function(doubled, X, np.array(True)), (X + 2) * 4.0**9)


def external(tmp_path, location, content=None):
    """A model whose one weight lies in another file."""
    value = np.arange(3, dtype=np.float32)
    if content is None:
        content = value.tobytes()
    (tmp_path / "model").mkdir(exist_ok=True)
    (tmp_path / "model" / location).write_bytes(content)
    made = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": X}, ["y"], {"w": value})
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    path = tmp_path / "model" / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def test_weights_may_lie_in_another_file_of_the_same_folder(tmp_path):
    model = tfc.from_onnx(external(tmp_path, "weights.bin"))
    np.testing.assert_array_equal(model(X), X + np.arange(3, dtype=np.float32))


def test_weights_outside_of_the_folder_or_beyond_a_file_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="no file in the model's folder"):
        tfc.from_onnx(external(tmp_path, "../weights.bin"))
    with pytest.raises(ModelFileError, match="beyond the end"):
        tfc.from_onnx(external(tmp_path, "weights.bin", b"short"))
    with pytest.raises(UnsupportedError, match="give the path"):
        tfc.from_onnx(external(tmp_path, "weights.bin").read_bytes())


def test_sizes_beyond_the_data_are_refused_before_memory_is_asked_for():
    made = dense()
    made.graph.initializer[0].dims[:] = [1 << 40, 1 << 20]
    with pytest.raises(ModelFileError, match="needs"):
        tfc.from_onnx(made)


def test_a_file_that_is_no_model_is_refused(tmp_path):
    for content in (b"", b"HloModule x", dense().SerializeToString()[:-20]):
        path = tmp_path / "damaged.onnx"
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"damaged\.onnx"):
            tfc.from_onnx(path)
    with pytest.raises(TfcError, match="cannot read"):
        tfc.from_onnx(tmp_path / "absent.onnx")


def test_arrays_of_all_element_types_are_read():
    for dtype in (np.float32, np.float16, np.float64, np.int8, np.uint16, np.int64, np.bool_):
        value = np.arange(4).astype(dtype)
        for raw in (True, False):
            tensor = numpy_helper.from_array(value, "w")
            if not raw:
                kind = helper.np_dtype_to_tensor_dtype(value.dtype)
                tensor = helper.make_tensor("w", kind, [4], value.tolist())
            node = helper.make_node("Identity", ["w"], ["y"])
            made = model_of([node], {}, ["y"])
            made.graph.initializer.append(tensor)
            got = tfc.from_onnx(made)()
            assert got.dtype == value.dtype
            np.testing.assert_array_equal(got, value)
