"""Between whole arrays and the parts that devices hold: custom calls that XLA knows, too.

    s = f32[8] custom-call(x), custom_call_target="Sharding", sharding={devices=[2]<=[2]}
    p = f32[4] custom-call(s), custom_call_target="SPMDFullToShardShape", sharding={manual}
    …                                       what each device does with its part
    m = f32[4] custom-call(q), custom_call_target="Sharding", sharding={manual}
    y = f32[8] custom-call(m), custom_call_target="SPMDShardToFullShape", sharding={devices=…}

Gradients. What a device computes is a variable of its own, and what is said to be on several
devices stands for the mean of theirs, which they all are if it is the same. So the cotangent of a
whole array is the sum of those of its copies, and that of a copy its share of the whole one's. No
matter what is the same where, this is the gradient of the function without devices.
"""

from collections.abc import Sequence

from tfc.frontend import operations as ops
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import emit
from tfc.hlo.attributes.replica_groups import ReplicaGroups
from tfc.hlo.attributes.sharding import MANUAL, Sharding, sharding_of, with_sharding
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape

SHARDING = "Sharding"
TO_PARTS = "SPMDFullToShardShape"
TO_WHOLE = "SPMDShardToFullShape"


def annotated(target: str, tensor: Tensor, shape: Shape, sharding: Sharding) -> Tensor:
    """A custom call that says how its result is sharded."""
    operands = [ops.adopt(tensor).instruction]
    made = emit("custom-call", operands, shape=shape, custom_call_target=target)
    return ops.wrap(with_sharding(made, sharding))


def constrained(tensor: Tensor, sharding: Sharding) -> Tensor:
    """The array, of which each device is to hold the part that the sharding says."""
    return annotated(SHARDING, tensor, tensor.array_shape, sharding)


def to_parts(tensor: Tensor, sharding: Sharding) -> Tensor:
    """Each device's part of an array whose sizes divide."""
    whole, tiles = tensor.array_shape, sharding.tiles
    dims = tuple(n // t for n, t in zip(whole.dims, tiles))
    return annotated(
        TO_PARTS, constrained(tensor, sharding), Shape(whole.element_type, dims), MANUAL
    )


def to_whole(tensor: Tensor, sharding: Sharding) -> Tensor:
    """The array whose parts devices hold."""
    part, tiles = tensor.array_shape, sharding.tiles
    dims = tuple(n * t for n, t in zip(part.dims, tiles))
    return annotated(
        TO_WHOLE, constrained(tensor, MANUAL), Shape(part.element_type, dims), sharding
    )


def parts_sharding(x: Instruction) -> Sharding:
    """How the array is sharded that a custom call makes parts of, or of parts."""
    found = sharding_of(x if x["custom_call_target"] == TO_WHOLE else x.operands[0])
    assert isinstance(found, Sharding), "the call of Sharding before it says how"
    assert found.kind == "tiled", "shardings of parts name the devices"
    return found


def copy_groups(sharding: Sharding) -> tuple[tuple[int, ...], ...]:
    """The devices that hold the same part."""
    copies, devices = sharding.copies, sharding.devices
    return tuple(devices[k : k + copies] for k in range(0, len(devices), copies))


def all_reduce(tensor: Tensor, groups: Sequence[Sequence[int]], opcode: str = "add") -> Tensor:
    """The elements of a group's devices combined, on each of them."""
    if not groups or len(groups[0]) == 1:
        return tensor
    return ops.operation(
        "all-reduce", tensor, channel_id=1, use_global_device_ids=True,
        replica_groups=ReplicaGroups(tuple(map(tuple, groups))),
        to_apply=ops.scalar_computation(opcode, tensor.array_shape.element_type),
    )  # fmt: skip


def pulled_back(g: Tensor, x: Instruction) -> Tensor:
    """The cotangent of the operand of one of these custom calls, given its result's."""
    target = x["custom_call_target"]
    if target == SHARDING:
        sharding = sharding_of(x)
        assert isinstance(sharding, Sharding), "an array has one"
        return constrained(g, sharding)
    sharding = parts_sharding(x)
    if target == TO_PARTS:
        return to_whole(all_reduce(g, copy_groups(sharding)), sharding)
    share = to_parts(g, sharding)
    if sharding.copies == 1:
        return share
    return ops.operation("multiply", share, ops.full_like(1 / sharding.copies, share))


def batched(tensor: Tensor, x: Instruction) -> Tensor:
    """One of these custom calls on operands with one dimension more in front."""
    target = x["custom_call_target"]
    sharding = sharding_of(x) if target == SHARDING else parts_sharding(x)
    assert isinstance(sharding, Sharding), "an array has one"
    if sharding.kind == "tiled":
        sharding = Sharding("tiled", (1, *sharding.tiles), sharding.devices)
    if target == SHARDING:
        return constrained(tensor, sharding)
    return to_parts(tensor, sharding) if target == TO_PARTS else to_whole(tensor, sharding)


def is_boundary(x: Instruction) -> bool:
    """Whether a custom call is one of these."""
    return x["custom_call_target"] in (SHARDING, TO_PARTS, TO_WHOLE) and bool(x.annotations)
