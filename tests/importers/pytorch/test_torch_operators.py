"""Operators by torch's own samples of them, against torch's results."""

import numpy as np
import pytest
import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_methods_invocations import op_db

import tfc
from tfc.errors import TfcError
from tfc.importers.torch.exchange import array_of
from tfc.importers.torch.walk import Walk, check_operators, decompositions

QUICK = [
    "abs",
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "clamp",
    "where",
    "sum",
    "mean",
    "amax",
    "argmax",
    "cumsum",
    "index_select",
    "gather",
    "scatter_add",
    "cat",
    "permute",
    "unsqueeze",
    "flip",
    "roll",
    "tril",
    "matmul",
    "addmm",
    "nn.functional.conv2d",
    "nn.functional.conv_transpose2d",
    "nn.functional.max_pool2d",
    "nn.functional.avg_pool2d",
    "remainder",
    "eq",
    "softmax",
    "nn.functional.layer_norm",
    "nn.functional.gelu",
    "nn.functional.embedding",
]
DRAWN = ("rand", "dropout", "bernoulli", "multinomial", "normal", "uniform", "exponential",
         "empty", "cauchy", "geometric", "new_empty")  # fmt: skip
DTYPES = (torch.float32, torch.int64, torch.bool)


def outcome(op, sample) -> str:
    """What becomes of a sample: "equal", "different", or why it is not supported."""
    leaves, structure = torch.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors):
        filled = list(leaves)
        for n, tensor in zip(places, tensors):
            filled[n] = tensor
        first, args, named = torch.utils._pytree.tree_unflatten(filled, structure)
        return torch.utils._pytree.tree_flatten(op(first, *args, **named))[0]

    tensors = [leaves[n].detach().clone() for n in places]
    expected = function(*[t.clone() for t in tensors])
    try:
        module = make_fx(
            functionalize(function), decomposition_table=decompositions(), tracing_mode="fake",
            _allow_non_fake_inputs=True,
        )(*tensors)  # fmt: skip
    except Exception as error:  # torch itself cannot trace it
        return f"torch: {type(error).__name__}"
    try:
        check_operators([module], "it")
        run = tfc.jit(lambda *arrays: tuple(Walk().run(module, arrays)), backend="interpreter")
        found = run(*map(array_of, tensors))
    except (TfcError, TypeError, ValueError, AttributeError, IndexError) as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return "equal" if all(map(_equal, found, expected)) else "different"


def _equal(found, expected) -> bool:
    if not isinstance(expected, torch.Tensor):
        return bool(np.allclose(found, expected, equal_nan=True))
    wanted = array_of(expected)
    near = 1e-3 if wanted.dtype.kind in "fcV" else 0
    return (
        found.shape == wanted.shape and found.dtype == wanted.dtype
        and np.allclose(found, wanted, near, near, equal_nan=True)
    )  # fmt: skip


def counted(op, most: int) -> dict[str, int]:
    """How often each outcome is met with the samples of an operator."""
    counts: dict[str, int] = {}
    for dtype in DTYPES:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        for _, sample in zip(range(most), op.sample_inputs("cpu", dtype)):
            result = outcome(op, sample)
            counts[result] = counts.get(result, 0) + 1
    return counts


@pytest.mark.parametrize("name", QUICK)
def test_operators_compute_what_torch_does(name: str):
    torch.manual_seed(0)
    ops = [op for op in op_db if op.name == name and not op.variant_test_name] or [
        op for op in op_db if op.name == name]  # fmt: skip
    counts = counted(ops[0], 2)
    assert counts.get("equal", 0) == sum(counts.values()) > 0, counts
