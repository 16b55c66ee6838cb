"""What TensorFlow says of its operators: `python definitions.py` the attributes, as JSON;
`python definitions.py names` those that XLA compiles for CPUs.
"""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry


def compiled_names() -> list[str]:
    """The operators with kernels for compiled code, which the first compilation registers."""
    tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1.0))
    listed = kernels.get_all_registered_kernels().kernel
    return sorted({k.op for k in listed if k.device_type == "XLA_CPU_JIT"})


def attributes(name: str) -> dict[str, object]:
    """The attributes of an operator that no input decides, with their defaults."""
    definition = op_def_registry.get(name)
    if definition is None:
        return {}
    decided = {
        stated
        for arg in definition.input_arg
        for stated in (arg.type_attr, arg.number_attr, arg.type_list_attr)
    }
    found: dict[str, object] = {}
    for attribute in definition.attr:
        value = attribute.default_value
        kind = value.WhichOneof("value")
        if attribute.name in decided:
            continue
        if kind == "list":
            found[attribute.name] = next((list(x) for _, x in value.list.ListFields()), [])
        elif kind == "type":
            found[attribute.name] = tf.as_dtype(value.type).name
        elif kind == "s":
            found[attribute.name] = value.s.decode()
        else:
            found[attribute.name] = getattr(value, kind) if kind in ("i", "f", "b") else None
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["names"]:
        print("\n".join(compiled_names()))
    else:
        listed = {k.op for k in kernels.get_all_registered_kernels().kernel}
        print(json.dumps({name: attributes(name) for name in sorted(listed)}))
