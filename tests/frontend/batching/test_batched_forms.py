"""What a mapped operation becomes: one operation for the whole batch, of which dimensions."""

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.frontend import operations as ops

N = 5
VECTORS, MATRICES = np.ones((N, 3)), np.ones((N, 4, 3))
IMAGES, KERNEL = np.ones((N, 2, 8, 8, 3)), np.ones((3, 3, 3, 4))


def solved(a, b):
    return ops.operation(
        "triangular-solve", a, b, left_side=True, lower=True, transpose_a="NO_TRANSPOSE"
    )


def sliced(x, i):
    return ops.dynamic_slice(x, [i], (2,))


def updated(x, i):
    return ops.dynamic_update_slice(x, x[:2], [i])


def read(x, i):
    return tnp.take(x, i, axis=0)


# fmt: off
FORMS = {  # name: function, in_axes, arguments, operations
    "matrix times vectors": (tnp.matmul, (None, 0), (MATRICES[0], VECTORS),
                             ["f64[5,4]{1,0} dot(%y, %x), lhs_contracting_dims={1}"]),
    "vectors times matrix": (tnp.matmul, (0, None), (VECTORS, MATRICES[0].T),
                             ["f64[5,4]{1,0} dot(%x, %y)"]),
    "matrices times vectors": (tnp.matmul, 0, (MATRICES, VECTORS),
                               ["f64[5,4]{1,0} dot(%x, %y), lhs_batch_dims={0}"]),
    "matrices times matrix": (tnp.matmul, (0, None), (MATRICES, MATRICES[0].T),
                              ["f64[5,4,4]{2,1,0} dot(%x, %y), lhs_contracting_dims={2}"]),
    "images under one kernel": (
        lambda x, y: nn.conv(x, y, 1, "SAME"), (0, None), (IMAGES, KERNEL),
        ["f64[10,8,8,3]{3,2,1,0} reshape(%x)",
         "f64[10,8,8,4]{3,2,1,0} convolution(", "f64[5,2,8,8,4]{4,3,2,1,0} reshape("]),
    "images under kernels of their own": (
        lambda x, y: nn.conv(x, y, 1, "SAME"), 0, (IMAGES, np.ones((N, *KERNEL.shape))),
        ["transpose(", "reshape(", "transpose(", "reshape(",
         "f64[2,8,8,20]{3,2,1,0} convolution(", "reshape(", "transpose("]),
    "one solve of many right sides": (
        solved, (None, 0), (np.eye(3), np.ones((N, 3, 2))),
        ["transpose(", "reshape(", "f64[3,10]{1,0} triangular-solve(", "reshape(", "transpose("]),
    "slices at places of their own": (
        sliced, (None, 0), (np.ones(9), np.arange(N)),
        ["clamp(", "reshape(", "f64[5,2]{1,0} gather(%x, "]),
    "updates at places of their own": (
        updated, (0, 0), (np.ones((N, 9)), np.arange(N)),
        ["clamp(", "reshape(", "slice(", "f64[5,9]{1,0} scatter(%x, "]),
    "a slice at one place": (
        sliced, (0, None), (np.ones((N, 9)), np.int64(3)), ["f64[5,2]{1,0} dynamic-slice(%x, "]),
    "what is the same is computed once": (
        lambda x, y: x * tnp.sum(tnp.sin(y)), (0, None), (VECTORS, VECTORS[0]),
        ["f64[3]{0} sine(%y)", "f64[] reduce(", "broadcast(", "broadcast(",
         "f64[5,3]{1,0} multiply("]),
}
# fmt: on


def operations_of(function, *args):
    """The entry's operations in order, but for what computes nothing."""
    text = tfc.jit(function).lower(*args).as_text().partition("ENTRY")[2]
    lines = [line.partition(" = ")[2] for line in text.splitlines() if " = " in line]
    free = (" parameter(", " constant(", " tuple(", " iota(")
    return [line for line in lines if not any(f in line for f in free)]


@pytest.mark.parametrize("name", FORMS)
def test_a_mapped_operation_is_one_for_the_whole_batch(name):
    function, in_axes, args, expected = FORMS[name]
    found = operations_of(tfc.vmap(function, in_axes), *args)
    missing = [(want, got) for want, got in zip(expected, found) if want not in got]
    assert not missing
    assert len(found) == len(expected), "\n".join(found)


def test_a_gather_of_each_example_is_one_gather():
    found = operations_of(tfc.vmap(read), np.ones((N, 9, 2)), np.zeros((N, 4), int))
    (gather,) = [line for line in found if " gather(" in line]
    assert "f64[5,4,2]" in gather
    assert not any(" while(" in line for line in found)
