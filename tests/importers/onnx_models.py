"""ONNX models made for tests, and what ONNX Runtime computes of them."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
ELEMENT_TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.int32): TensorProto.INT32, np.dtype(np.bool_): TensorProto.BOOL,
    np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.float16): TensorProto.FLOAT16,
}  # fmt: skip


def model_of(
    nodes: list[Any],
    inputs: dict[str, Any],
    outputs: list[str],
    constants: dict[str, np.ndarray] | None = None,
    opset: int = 18,
    functions: Any = (),
    domains: dict[str, int] | None = None,
) -> onnx.ModelProto:
    """A model of nodes.

    Args:
        inputs: of each input an array, or (dtype, sizes) where sizes may be names.
        constants: the initializers.
        domains: versions of further domains.
    """
    ports = []
    for name, given in inputs.items():
        dtype, dims = given if isinstance(given, tuple) else (given.dtype, given.shape)
        kind = ELEMENT_TYPES[np.dtype(dtype)]
        ports.append(helper.make_tensor_value_info(name, kind, list(dims)))
    graph = helper.make_graph(
        nodes, "test", ports, [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )  # fmt: skip
    versions = {"": opset, **(domains or {})}
    imports = [helper.make_opsetid(name, number) for name, number in versions.items()]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=10)


def runtime_results(model: Any, inputs: dict[str, Any]) -> list[Any]:
    """What ONNX Runtime computes, without rewriting the model first."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    content = model if isinstance(model, bytes) else model.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    return session.run(None, inputs)
