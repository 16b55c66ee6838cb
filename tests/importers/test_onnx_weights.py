"""How weights come out of ONNX files: without copies, from where they lie, whatever a file says."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import model_of, runtime_results

import tfc
from tfc.errors import ModelFileError
from tfc.importers.onnx.weights import Source, Weights

RNG = np.random.default_rng(8)
X = RNG.standard_normal((3, 64)).astype(np.float32)
LARGE, SMALL = (RNG.standard_normal((64, n)).astype(np.float32) for n in (64, 2))


def in_all_places():
    """Large weights as an initializer, in a Constant, and in the branch of an If."""
    inner = helper.make_graph(
        [helper.make_node("MatMul", ["h", "inner"], ["b"])],
        "then",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(LARGE + 1, "inner")],
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["h"], ["b"])],
        "else",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)],
    )
    constant = numpy_helper.from_array(LARGE.T.copy(), "")
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["g"]),
        helper.make_node("Constant", [], ["second"], value=constant),
        helper.make_node("MatMul", ["g", "second"], ["h"]),
        helper.make_node("If", ["yes"], ["i"], then_branch=inner, else_branch=other),
        helper.make_node("MatMul", ["i", "small"], ["y"]),
    ]
    constants = {"first": LARGE, "small": SMALL, "yes": np.array(True)}
    return model_of(nodes, {"x": X}, ["y"], constants)


def test_what_is_cut_out_comes_back_where_it_was(tmp_path):
    made = in_all_places()
    content = made.SerializeToString()
    skeleton = Weights(Source(content)).skeleton()
    assert len(skeleton) < len(content) - 3 * LARGE.nbytes + 256
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    wanted = runtime_results(made, {"x": X})[0]
    for source in (path, content, made):
        model = tfc.from_onnx(source)
        np.testing.assert_array_equal(model.parameters["first"], LARGE)
        np.testing.assert_allclose(model(X), wanted, rtol=1e-4, atol=1e-4)


def test_a_file_that_ends_early_is_refused_at_any_place(tmp_path):
    content = in_all_places().SerializeToString()
    path = tmp_path / "model.onnx"
    for end in range(1, len(content), len(content) // 40):
        path.write_bytes(content[:end])
        with pytest.raises(ModelFileError):
            tfc.from_onnx(path)


def test_no_bytes_of_a_file_are_taken_for_a_mark():
    constant = numpy_helper.from_array(LARGE, "w")
    content = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": X}, ["y"]).graph
    content.initializer.append(constant)
    made = helper.make_model(content, opset_imports=[helper.make_opsetid("", 18)])
    weights = Weights(Source(made.SerializeToString()))
    marked = onnx.ModelProto.FromString(weights.skeleton())
    mark = marked.graph.initializer[0].raw_data
    assert weights.resolved(mark) == constant.raw_data
    with pytest.raises(ModelFileError, match="needs 16384 bytes"):
        tfc.from_onnx(marked)


def test_weights_in_another_file_are_those_of_its_bytes(tmp_path):
    made = in_all_places()
    path = tmp_path / "model.onnx"
    onnx.save(made, path, save_as_external_data=True, location="weights", size_threshold=100)
    wanted = runtime_results(in_all_places(), {"x": X})[0]
    np.testing.assert_allclose(tfc.from_onnx(path)(X), wanted, rtol=1e-4, atol=1e-4)


MEMORY = """
import resource, sys, numpy as np, tfc
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
tfc.jit(lambda x: x @ x)(np.ones((2, 2), np.float32))
before = peak()
tfc.from_onnx(sys.argv[1])(np.ones((1, 2048), np.float32))
print(peak() - before)
"""


@pytest.mark.slow
def test_importing_and_compiling_takes_less_than_three_times_the_weights(tmp_path):
    weights = {f"w{k}": RNG.standard_normal((2048, 2048)).astype(np.float32) for k in range(6)}
    names = ["x", *(f"h{k}" for k in range(6))]
    nodes = [helper.make_node("MatMul", [a, w], [b])
             for a, b, w in zip(names, names[1:], weights)]  # fmt: skip
    ports = {"x": (np.float32, (1, 2048))}
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(nodes, ports, [names[-1]], weights).SerializeToString())
    ran = subprocess.run(
        [sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) < 3 * sum(w.nbytes for w in weights.values())
