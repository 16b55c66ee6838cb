"""Operators that XLA compiles in TensorFlow and tfc does not, with what to do instead."""

from tfc.graph.operators.registry import REFUSED

_BY_VALUES = (
    "the shape of its result depends on the values of its inputs, so that it cannot be compiled"
)
_DEVICES = "programs run on one device"
_QUANTIZED = "arithmetic on quantized types is not offered: save the model before it is quantized"
_DYNAMIC = "dimensions have fixed sizes: pad the data and mask it"

REFUSED |= {
    "UniqueV2": f"{_BY_VALUES}: compute the distinct elements before",
    **dict.fromkeys(
        ("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3"),
        f"{_BY_VALUES}: use NonMaxSuppressionV4 with pad_to_max_output_size",
    ),
    **dict.fromkeys(
        ("StackV2", "StackPushV2", "StackPopV2", "StackCloseV2", "TensorArrayGradV3"),
        "it is of gradients of TensorFlow 1's loops: differentiate the imported model by tfc.grad",
    ),
    **dict.fromkeys(
        ("_Arg", "_Retval"),
        "it is of graphs that TensorFlow has rewritten to run them: save the function itself",
    ),
    "_XlaAotOnlyVarHandleOp": "TensorFlow's own compiler puts it: read the SavedModel it came from",
    "XlaDequantize": _QUANTIZED,
    "AssignVariableXlaConcatND": _DEVICES,
    "ReadVariableXlaSplitND": _DEVICES,
    "CollectiveAssignGroupV2": _DEVICES,
    "CollectiveReduceV2": _DEVICES,
    "XlaAllReduce": _DEVICES,
    "XlaReduceScatter": _DEVICES,
    "XlaSpmdFullToShardShape": _DEVICES,
    "XlaSpmdShardToFullShape": _DEVICES,
    "XlaRecv": "there is no host program to receive from: give the value as an input",
    "XlaSend": "there is no host program to send to: make the value an output",
    "XlaCustomCall": "its target is code within TensorFlow: write it as operations",
    "XlaCustomCallV2": "its target is code within TensorFlow: write it as operations",
    "Dequantize": _QUANTIZED,
    "UniformDequantize": _QUANTIZED,
    "UniformQuantize": _QUANTIZED,
    "UniformQuantizedAdd": _QUANTIZED,
    "UniformQuantizedClipByValue": _QUANTIZED,
    "UniformQuantizedConvolution": _QUANTIZED,
    "UniformQuantizedDot": _QUANTIZED,
    "UniformRequantize": _QUANTIZED,
    "XlaRemoveDynamicDimensionSize": _DYNAMIC,
    "XlaSetBound": _DYNAMIC,
    "XlaSetDynamicDimensionSize": _DYNAMIC,
    "SymbolicGradient": "the gradient it asks for is not in the file: save the model with it",
    "DeviceIndex": _DEVICES,
}
