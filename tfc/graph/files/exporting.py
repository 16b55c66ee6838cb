"""Graphs as GraphDef messages: a node an operation, bodies as functions of the library."""

from collections.abc import Iterable
from typing import Any

from tfc.graph.defaults import writers
from tfc.graph.files.attributes import attributes_to_proto
from tfc.graph.files.messages import message
from tfc.graph.files.tensors import shape_to_proto
from tfc.graph.graph import Graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.subgraph import Subgraph
from tfc.graph.types.shapes import TensorShape

PRODUCER, MIN_CONSUMER = 27, 12  # TensorFlow 1.12's, whose operators' meanings the rows have

# The names of results, which inputs within functions state, where they are not `output`.
# fmt: off
RESULTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((
        "Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "DivNoNan", "FloorDiv", "FloorMod", "Mod",
        "TruncateDiv", "TruncateMod", "Pow", "Maximum", "Minimum", "SquaredDifference", "Greater",
        "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr",
        "Atan2", "Xlogy", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Igamma", "Igammac",
    ), ("z",)),
    **dict.fromkeys((
        "Abs", "ComplexAbs", "Neg", "Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Square",
        "Sin", "Cos", "Tan", "Tanh", "Sinh", "Cosh", "Asin", "Acos", "Atan", "Asinh", "Acosh",
        "Atanh", "Sign", "Floor", "Ceil", "Round", "Rint", "Erf", "Erfc", "Lgamma", "Digamma",
        "Sigmoid", "Reciprocal", "Inv", "LogicalNot", "IsNan", "IsInf", "IsFinite", "Cast",
        "ZerosLike", "OnesLike",
    ), ("y",)),
    "MatMul": ("product",), "AddN": ("sum",), "ReadVariableOp": ("value",),
    "VarHandleOp": ("resource",), "VarIsInitializedOp": ("is_initialized",), "Where": ("index",),
    "Softmax": ("softmax",), "LogSoftmax": ("logsoftmax",),
    "Relu": ("activations",), "Relu6": ("activations",), "Elu": ("activations",),
    "Selu": ("activations",), "Softplus": ("activations",), "Softsign": ("activations",),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "TopKV2": ("values", "indices"), "TopK": ("values", "indices"),
    "FusedBatchNorm": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormV2": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormV3": (
        "y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2",
        "reserve_space_3",
    ),
    "Qr": ("q", "r"), "Svd": ("s", "u", "v"), "SelfAdjointEigV2": ("e", "v"),
    "LogMatrixDeterminant": ("sign", "log_abs_determinant"), "Unique": ("y", "idx"),
    **dict.fromkeys(("UniqueWithCounts", "UniqueWithCountsV2"), ("y", "idx", "count")),
    "UniqueV2": ("y", "idx"), "ListDiff": ("out", "idx"), "BroadcastGradientArgs": ("r0", "r1"),
    **dict.fromkeys((
        "LogUniformCandidateSampler", "UniformCandidateSampler", "AllCandidateSampler",
        "LearnedUnigramCandidateSampler", "FixedUnigramCandidateSampler",
    ), ("sampled_candidates", "true_expected_count", "sampled_expected_count")),
    **dict.fromkeys(("LSTMBlockCell", "BlockLSTM", "BlockLSTMV2"),
                    ("i", "cs", "f", "o", "ci", "co", "h")),
    "XlaSvd": ("s", "u", "v"), "XlaSelfAdjointEig": ("w", "v"),
    "XlaRngBitGenerator": ("output_key", "output"),
    "XlaKeyValueSort": ("sorted_keys", "sorted_values"),
    **dict.fromkeys(("StringSplit", "StringSplitV2"), ("indices", "values", "shape")),
    "UnicodeDecodeWithOffsets": ("row_splits", "char_values", "char_to_byte_starts"),
    "StringNGrams": ("ngrams", "ngrams_splits"), "LookupTableExportV2": ("keys", "values"),
    "RaggedRange": ("rt_nested_splits", "rt_dense_values"),
    "SparseReshape": ("output_indices", "output_shape"),
    "SparseFillEmptyRows": (
        "output_indices", "output_values", "empty_row_indicator", "reverse_index_map",
    ),
    "GRUBlockCell": ("r", "u", "c", "h"),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "CombinedNonMaxSuppression": (
        "nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections",
    ),
    **dict.fromkeys((
        "FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient",
    ), ("backprops_wrt_input", "backprop_wrt_min", "backprop_wrt_max")),
    **dict.fromkeys((
        "QuantizeV2", "Requantize", "QuantizeDownAndShrinkRange", "QuantizedConcatV2",
        "QuantizedReshape",
    ), ("output", "output_min", "output_max")),
    **dict.fromkeys(("QuantizedConv2D", "QuantizedMaxPool", "QuantizedAvgPool"),
                    ("output", "min_output", "max_output")),
    "QuantizedMatMul": ("out", "min_out", "max_out"),
    "QuantizedBiasAdd": ("output", "min_out", "max_out"),
    "QuantizedRelu": ("activations", "min_activations", "max_activations"),
    **dict.fromkeys(("QuantizedAdd", "QuantizedMul"), ("z", "min_z", "max_z")),
    "RequantizationRange": ("output_min", "output_max"),
    **dict.fromkeys(("TensorListConcat", "TensorListConcatV2"), ("tensor", "lengths")),
    "TensorListPopBack": ("output_handle", "tensor"), "TensorArrayV3": ("handle", "flow"),
    "TensorArrayConcatV3": ("value", "lengths"), "MaxPoolWithArgmax": ("output", "argmax"),
    "Merge": ("output", "value_index"), "Switch": ("output_false", "output_true"),
    "Lu": ("lu", "p"), "Eig": ("e", "v"), "ApproxTopK": ("values", "indices"),
    **dict.fromkeys(("CTCLoss", "CTCLossV2"), ("loss", "gradient")),
    "StatelessRandomGetKeyCounter": ("key", "counter"),
    "StatelessRandomGetKeyCounterAlg": ("key", "counter", "alg"),
    **dict.fromkeys(("FusedBatchNormGrad", "FusedBatchNormGradV2"), (
        "x_backprop", "scale_backprop", "offset_backprop", "reserve_space_3", "reserve_space_4",
    )),
    "FusedBatchNormGradV3": (
        "x_backprop", "scale_backprop", "offset_backprop", "reserve_space_4", "reserve_space_5",
    ),
    **dict.fromkeys(("CudnnRNNV2", "CudnnRNNV3"), (
        "output", "output_h", "output_c", "reserve_space", "host_reserved",
    )),
    "CudnnRNN": ("output", "output_h", "output_c", "reserve_space"),
    "Unstage": ("values",), "MatrixDiagPart": ("diagonal",), "DiagPart": ("diagonal",),
}
# fmt: on


def graph_to_proto(graph: Graph, operations: Iterable[Operation] | None = None) -> Any:
    """A GraphDef of a graph, or of some of its operations.

    Raises:
        UnimplementedError: an operation has an attribute that files have no place for.
    """
    made = message("GraphDef")
    made.versions.producer, made.versions.min_consumer = PRODUCER, MIN_CONSUMER
    listed = graph.get_operations() if operations is None else list(operations)
    functions: dict[str, Subgraph] = {}
    for op in listed:
        _node(made.node, op, {}, functions)
    written: set[str] = set()
    while left := [name for name in functions if name not in written]:
        for name in left:
            written.add(name)
            _function(made.library, functions[name], functions)
    return made


def _node(
    nodes: Any, op: Operation, inputs: dict[Tensor, str], functions: dict[str, Subgraph]
) -> Any:
    """Add an operation; `inputs` has other names for tensors than those in graphs."""
    node = nodes.add(name=op.name, op=op.type, device=op.device)
    node.input.extend(inputs.get(x) or _reference(x) for x in op.inputs)
    node.input.extend(f"^{before.name}" for before in op.control_inputs)
    for name, value in attributes_to_proto(op).items():
        node.attr[name].CopyFrom(value)
    for value in op.attributes.values():
        for body in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(body, Subgraph):
                functions[body.name] = body
    return node


def _reference(tensor: Tensor) -> str:
    return tensor.op.name if tensor.value_index == 0 else tensor.name


def _function(library: Any, body: Subgraph, functions: dict[str, Subgraph]) -> None:
    """Add a body to the library: its parameters are arguments, its operations nodes."""
    made = library.function.add()
    made.signature.name = body.name
    names: dict[Tensor, str] = {}
    for tensor in body.inputs:
        argument = made.signature.input_arg.add(type=tensor.dtype.number)
        argument.name = names[tensor] = _argument(tensor, names.values())
        made.attr["_input_shapes"].list.shape.append(shape_to_proto(_held_shape(tensor)))
    parameters = {x.op for x in body.inputs}
    for op in body.get_operations():
        for tensor in op.outputs:
            names.setdefault(tensor, _within(tensor))
        if op not in parameters:
            _node(made.node_def, op, names, functions)
    for place, tensor in enumerate(body.outputs):
        made.signature.output_arg.add(name=f"result_{place}", type=tensor.dtype.number)
        made.ret[f"result_{place}"] = names[tensor]
    for op in body.control_outputs:
        made.signature.control_output.append(op.name)
        made.control_ret[op.name] = op.name


def _argument(tensor: Tensor, taken: Iterable[str]) -> str:
    """A parameter's name, which functions have in lower case."""
    base = name = tensor.op.name.replace("/", "_").lower()
    number = 0
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def _held_shape(tensor: Tensor) -> TensorShape:
    """A tensor's shape, or of a handle that of its variable."""
    return tensor.shape if tensor.element is None else tensor.element[1]


def _within(tensor: Tensor) -> str:
    """What inputs within a function call a tensor: node, result, and which of the result's."""
    names = RESULTS.get(tensor.op.type, ())
    if len(names) > 1:
        return f"{tensor.op.name}:{names[tensor.value_index]}:0"
    return f"{tensor.op.name}:{''.join(names) or 'output'}:{tensor.value_index}"


writers.to_proto = graph_to_proto
