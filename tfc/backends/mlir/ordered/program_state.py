"""The state of random numbers that a program keeps: a variable in its own data.

It lives as long as the code: from one call of a JIT executable to the next, or as long as the
process that an object file is linked into. Each program begins with the same state. Concurrent
calls each get a state of their own, since the counter moves in one atomic step.
"""

from collections.abc import Sequence

import numpy as np

from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel, memref_type
from tfc.backends.mlir.provider import arith, ir, memref
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.ops.random import INITIAL_STATE, STATE

_NAME = "rng_state"


def emit_state_update(kernel: Kernel, buffers: Sequence[Buffer]) -> None:
    """rng-get-and-update-state: the state as it was, to which `delta` is added."""
    result = buffers[-1].memref
    _declare()
    state = memref.get_global(memref_type(STATE), _NAME)
    word = ir.IntegerType.get_signless(64)
    low, high = index_value(0), index_value(1)
    delta = arith.constant(word, kernel.root["delta"])
    before = memref.atomic_rmw(arith.AtomicRMWKind.addi, delta, state, [low])
    after = arith.addi(before, delta)
    carry = arith.extui(word, arith.cmpi(arith.CmpIPredicate.ult, after, before))
    before_high = memref.atomic_rmw(arith.AtomicRMWKind.addi, carry, state, [high])
    memref.store(before, result, [low])
    memref.store(before_high, result, [high])


def _declare() -> None:
    """The variable, in the module that is being emitted, unless it is there already."""
    module = ir.InsertionPoint.current.block.owner
    while module.parent is not None and module.name != "gpu.module":
        module = module.parent
    body = module.regions[0].blocks[0]
    known = (o.attributes for o in body.operations if o.operation.name == "memref.global")
    if any(ir.StringAttr(a["sym_name"]).value == _NAME for a in known):
        return
    initial = np.array([INITIAL_STATE, 0], np.uint64)
    with ir.InsertionPoint.at_block_begin(body):
        memref.global_(
            _NAME,
            memref_type(STATE),
            sym_visibility=ir.StringAttr.get("private"),
            initial_value=ir.DenseElementsAttr.get(initial.view(np.int64), signless=True),
        )
