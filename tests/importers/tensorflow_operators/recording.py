"""What TensorFlow computes for the samples, into a file: `python recording.py FILE [OPERATOR …]`.

The file is an LZMA stream of GraphDefs, each behind its length in four bytes. In one of a sample
there are the nodes `given0`, `known1`, … (Const: inputs and constants), `op`, and `wanted0`, …
(Const: TensorFlow's results); attributes with TensorFlow's default values are left out. Where
variables are written the graph is a program, whose results `result0`, … are.
"""

import lzma
import os
import struct
import sys
from collections import Counter

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import array_samples
import box_samples
import elementwise_samples
import network_samples
import numpy as np
import state_samples
import tensorflow as tf
import xla_samples
from operator_samples import DTYPES, Known, Sample, Scalars
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import op_def_library, op_def_registry

FAMILIES = (
    elementwise_samples, array_samples, network_samples, box_samples, state_samples, xla_samples,
)  # fmt: skip


def recorded(sample: Sample) -> tf.compat.v1.GraphDef:
    """The message of a sample.

    Raises:
        Exception: TensorFlow does not take it, for want of a kernel for the dtype say.
    """
    with tf.Graph().as_default() as graph:
        given, names = [], Counter()

        def entered(value):
            if isinstance(value, list):
                return [entered(x) for x in value]
            kind = "known" if isinstance(value, Known) else "given"
            array = np.asarray(value.array if isinstance(value, Known) else value)
            name = f"{kind}{names.total()}"
            names[kind] += 1
            if kind == "known" or sample.variables:
                return tf.constant(array, name=name)
            given.append((name, array))
            return tf.compat.v1.placeholder(array.dtype, array.shape, name)

        handles, before = [], []
        for n, value in enumerate(sample.variables):
            handle = tf.raw_ops.VarHandleOp(
                dtype=value.dtype, shape=value.shape, shared_name=f"variable{n}"
            )
            handles.append(handle)
            before.append(tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(value)))
        definition = op_def_registry.get(sample.operator)
        values = [*handles, *map(entered, sample.inputs)]
        named = {arg.name: value for arg, value in zip(definition.input_arg, values)}
        with graph.control_dependencies(before):
            stated = {name: stated_by(graph, value) for name, value in sample.attributes.items()}
            attributes = {**defaults(definition), **stated}
            op_def_library.apply_op(sample.operator, name="op", **named, **attributes)
        outputs = list(graph.get_operation_by_name("op").outputs)
        if sample.variables:
            with graph.control_dependencies([graph.get_operation_by_name("op")]):
                outputs += [
                    tf.identity(tf.raw_ops.ReadVariableOp(resource=h, dtype=v.dtype))
                    for h, v in zip(handles, sample.variables)
                ]
            outputs = [tf.identity(x, name=f"result{n}") for n, x in enumerate(outputs)]
        message = graph.as_graph_def()
    results = computed(graph, given, outputs, sample)
    return entered_results(without_defaults(message), given, results[: sample.counted])


def stated_by(graph, value):
    """What states an attribute; a function is entered into the graph's library."""
    if not isinstance(value, Scalars):
        return value
    scalars = [tf.TensorSpec((), DTYPES[dtype]) for dtype in value.dtypes]
    with tf.init_scope():
        made = tf.function(value.function, autograph=False).get_concrete_function(*scalars)
    made.add_to_graph(graph)
    return attr_value_pb2.NameAttrList(name=made.name)


def computed(graph, given, outputs, sample):
    """The results of a graph: of TensorFlow's kernels, or of compiled code where there is none."""
    if not sample.on_xla:
        try:
            with tf.compat.v1.Session(graph=graph) as session:
                fed = {f"{name}:0": array for name, array in given}
                return session.run(outputs, fed) if outputs else []
        except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
            if "kernel" not in str(error) or sample.variables:
                raise
    return compiled(graph.as_graph_def(), given, [x.name for x in outputs])


def defaults(definition):
    """The default values of the attributes that no input decides."""
    decided = {
        name
        for arg in definition.input_arg
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
    }
    found = {}
    for attribute in definition.attr:
        if attribute.name in decided or not attribute.HasField("default_value"):
            continue
        value = attribute.default_value
        kind = value.WhichOneof("value")
        held = getattr(value, kind)
        if kind == "list":
            held = next((list(x) for _, x in held.ListFields()), [])
        found[attribute.name] = tf.TensorShape(held) if kind == "shape" else held
    return found


def compiled(message, given, outputs):
    """The results of a graph in compiled code."""
    for node in [n for n in message.node if n.op == "Placeholder"]:
        message.node.remove(node)

    @tf.function(jit_compile=True, autograph=False)
    def function(*arrays):
        taken = {name: x for (name, _), x in zip(given, arrays)}
        return tf.graph_util.import_graph_def(message, taken, outputs)

    return [x.numpy() for x in function(*(tf.constant(array) for _, array in given))]


def entered_results(message, given, results):
    """A message with constants for what was fed and for the results."""
    constants = dict(given)
    for node in message.node:
        if node.name in constants:
            node.op = "Const"
            node.ClearField("attr")
            value = tf.make_tensor_proto(constants[node.name])
            node.attr["value"].tensor.CopyFrom(value)
            node.attr["dtype"].type = value.dtype
    for n, result in enumerate(results):
        value = tf.make_tensor_proto(np.asarray(result))
        node = message.node.add(name=f"wanted{n}", op="Const")
        node.attr["value"].tensor.CopyFrom(value)
        node.attr["dtype"].type = value.dtype
    return message


def without_defaults(message):
    """A message without the attributes that TensorFlow has by itself, as SavedModels are."""
    for node in message.node:
        for key in [key for key in node.attr if key.startswith("_")]:
            del node.attr[key]
        for attribute in op_def_registry.get(node.op).attr:
            if (
                attribute.HasField("default_value")
                and attribute.name in node.attr
                and node.attr[attribute.name] == attribute.default_value
            ):
                del node.attr[attribute.name]
    message.ClearField("versions")
    for function in message.library.function:
        for field in ("attr", "arg_attr", "resource_arg_unique_id"):
            function.ClearField(field)
        for node in function.node_def:
            node.ClearField("experimental_debug_info")
    return message


def main(path: str, only: list[str]) -> None:
    parts, refused = [], Counter()
    for family in FAMILIES:
        for sample in family.samples():
            if only and sample.operator not in only:
                continue
            try:
                made = recorded(sample).SerializeToString(deterministic=True)
            except Exception as error:
                said = str(error).split("\n")[0][:60]
                refused[f"{sample.operator}: {type(error).__name__}: {said}"] += 1
                continue
            parts.append(struct.pack("<I", len(made)) + made)
    packed = lzma.compress(b"".join(parts), preset=9 | lzma.PRESET_EXTREME)
    with open(path, "wb") as file:
        file.write(packed)
    print(f"{len(parts)} samples in {len(packed)} bytes")
    for said, count in sorted(refused.items()):
        print(f"  {count} refused: {said}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
