"""The attributes of NumPy's arrays that traced Tensors do not have, with what to do instead."""

_NO_MEMORY = "a traced value has no memory while tracing"
_NOT_WRITTEN = "a traced value cannot be written to"

ADVICE = {
    "base": f"{_NO_MEMORY}, and so shares none",
    "byteswap": f"{_NO_MEMORY}; use the array's byteswap before it is passed",
    "ctypes": f"{_NO_MEMORY} to point to; return it from the traced function",
    "data": f"{_NO_MEMORY} to look into; return it from the traced function",
    "dump": "a traced value is not known while tracing; return it, and dump the array",
    "dumps": "a traced value is not known while tracing; return it, and dump the array",
    "fill": f"{_NOT_WRITTEN}; use tfc.numpy.full_like(x, value)",
    "flags": f"{_NO_MEMORY} to have flags",
    "getfield": "its dtype has no fields; use x.view(dtype)",
    "put": f"{_NOT_WRITTEN}; use x.ravel().at[indices].set(values)",
    "resize": f"{_NOT_WRITTEN}; use tfc.numpy.resize(x, shape)",
    "setfield": f"{_NOT_WRITTEN}; use x.at[key].set(values)",
    "setflags": f"{_NO_MEMORY} to have flags",
    "strides": f"{_NO_MEMORY}; the compiler chooses how the value lies there",
    "tobytes": "a traced value is not known while tracing; return it, and ask the array",
    "tofile": "a traced value is not known while tracing; return it, and write the array",
}


def absent_attribute(name: str) -> str:
    """The message of the error for an attribute that a Tensor does not have."""
    advice = ADVICE.get(name)
    message = f"a traced Tensor has no attribute '{name}'"
    return f"{message}: {advice}" if advice else message
