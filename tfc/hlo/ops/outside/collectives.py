"""Collectives: operations in which the replicas of a program exchange arrays.

Semantics: section 1.14 of the operation semantics (CrossReplicaSum is all-reduce with add) and, as
that says no more, StableHLO's. The devices of a group meet through tfc.runtime.replicas; a group of
one computes by itself.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tfc.hlo.attributes.replica_groups import ReplicaGroups, device_groups, require_groups
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import Attribute, Bind, Call, Value, always, describe, require
from tfc.hlo.op import require_array as require_one
from tfc.hlo.ops.outside.family import outside
from tfc.hlo.shape import AnyShape, Shape, TupleShape, leaves
from tfc.hlo.traits import Accuracy
from tfc.runtime.arrays import store
from tfc.runtime.collectives import Collective, Reduction, results_of
from tfc.runtime.replicas import Participant, current

Array = np.ndarray


def _arrays(op: str, shapes: Sequence[AnyShape], a: Attributes) -> list[Shape]:
    """The operands, known to be arrays, at least one; the groups are checked too."""
    require(bool(shapes), op, "at least one operand", "none")
    require_groups(op, a.get("replica_groups", ReplicaGroups()).groups)
    return [require_one(op, s) for s in shapes]


def _packed(shapes: Sequence[AnyShape]) -> AnyShape:
    """The result of an operation on several arrays: one by itself, or a tuple."""
    return shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))


def _require_reducer(op: str, shapes: Sequence[Shape], a: Attributes) -> None:
    taken = [p.shape for p in a["to_apply"].parameters]
    scalar = Shape(shapes[0].element_type)
    require(
        len(taken) == 2 and all(s.is_compatible(scalar) for s in (*taken, a["to_apply"].root.shape))
        and all(s.element_type == scalar.element_type for s in shapes),
        op, f"operands of one element type and a to_apply of two {scalar} to one",
        f"{describe(shapes)} and {describe(taken)}",
    )  # fmt: skip


def _infer_all_reduce(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    arrays = _arrays("all-reduce", shapes, a)
    _require_reducer("all-reduce", arrays, a)
    return _packed(arrays)


def _infer_same(op: str):
    def infer(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
        return _packed(_arrays(op, shapes, a))

    return infer


def _dimension(op: str, shapes: Sequence[Shape], a: Attributes) -> int:
    dimensions = a["dimensions"]
    require(
        len(dimensions) == 1 and all(0 <= dimensions[0] < s.rank for s in shapes),
        op,
        f"one dimension of {describe(shapes)}",
        list(dimensions),
    )
    return dimensions[0]


def _stated_arrays(op: str, shapes: Sequence[Shape], stated: AnyShape | None) -> list[Shape]:
    """The result stated for each operand."""
    parts = stated.elements if isinstance(stated, TupleShape) else (stated,)
    require(
        stated is not None and len(parts) == len(shapes),
        op, "a stated result for each operand", "none" if stated is None else stated,
    )  # fmt: skip
    return [require_one(op, p) for p in parts if p is not None]


def _group_size(a: Attributes) -> int | None:
    """The size that the groups have, if the attributes alone say it."""
    groups = a.get("replica_groups", ReplicaGroups()).groups
    plain = not a.get("channel_id") or a.get("use_global_device_ids", False)
    return len(groups[0]) if groups and plain else None


def _require_scaled(op: str, small: Shape, large: Shape, dimension: int, a: Attributes) -> None:
    """`large` is `small` as often along the dimension as the group has members."""
    part, whole, size = small.dims[dimension], large.dims[dimension], _group_size(a)
    rest = [list(s.dims[:dimension] + s.dims[dimension + 1 :]) for s in (small, large)]
    fits = whole == part * size if size else whole == part or (part > 0 and whole % part == 0)
    require(
        rest[0] == rest[1] and small.element_type == large.element_type and fits,
        op,
        f"dimension {dimension} to grow or shrink by the size of the groups",
        describe([small, large]),
    )


def _infer_all_gather(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None):
    arrays = _arrays("all-gather", shapes, a)
    dimension = _dimension("all-gather", arrays, a)
    for given, result in zip(arrays, _stated_arrays("all-gather", arrays, stated)):
        require(result.rank == given.rank, "all-gather", "the operand's rank", result)
        _require_scaled("all-gather", given, result, dimension, a)
    assert stated is not None
    return stated


def _infer_reduce_scatter(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None):
    arrays = _arrays("reduce-scatter", shapes, a)
    _require_reducer("reduce-scatter", arrays, a)
    dimension = _dimension("reduce-scatter", arrays, a)
    for given, result in zip(arrays, _stated_arrays("reduce-scatter", arrays, stated)):
        require(result.rank == given.rank, "reduce-scatter", "the operand's rank", result)
        _require_scaled("reduce-scatter", result, given, dimension, a)
    assert stated is not None
    return stated


def _infer_all_to_all(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    arrays, size = _arrays("all-to-all", shapes, a), _group_size(a)
    if "dimensions" in a:
        require(len(arrays) == 1, "all-to-all", "one operand to split", len(arrays))
        dimension = _dimension("all-to-all", arrays, a)
        require(
            not size or arrays[0].dims[dimension] % size == 0,
            "all-to-all", f"dimension {dimension} to be a multiple of {size}", arrays[0],
        )  # fmt: skip
        return arrays[0]
    alike = all(s.is_compatible(arrays[0]) for s in arrays) and len(arrays) == (size or len(arrays))
    require(alike, "all-to-all", "an operand for each of the group, all alike", describe(arrays))
    # XLA gives a tuple even of one.
    return TupleShape(tuple(arrays))


def _infer_permute(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    pairs = a["source_target_pairs"]
    once = all(len(set(ends)) == len(pairs) for ends in zip(*pairs))
    require(
        all(len(p) == 2 for p in pairs) and once,
        "collective-permute",
        "pairs (source, target) in which no source and no target occurs twice",
        pairs,
    )
    return _packed(_arrays("collective-permute", shapes, a))


def reducer_of(x: Instruction) -> str:
    """HLO's name of the operation by which a collective reduces two elements; "" of a function."""
    root, parameters = x["to_apply"].root, x["to_apply"].parameters
    is_plain = len(root.operands) == 2 and set(root.operands) == set(parameters)
    return root.opcode if is_plain else ""


def _reduction(x: Instruction, call: Call) -> Reduction | None:
    """How a collective reduces; None if it does not."""
    if "to_apply" not in x.attributes:
        return None
    function = x["to_apply"]

    def combine(left: Array, right: Array) -> Array:
        return np.broadcast_to(call(function, [left, right]), left.shape)

    return Reduction(reducer_of(x), combine)


def collective_of(x: Instruction, here: Participant, call: Call) -> Collective | None:
    """The collective that an instruction is for a device; None if the device has no part in it.

    Raises:
        ShapeError: a group names a device that the program does not have.
    """
    groups = device_groups(x, here.replicas, here.partitions)
    group = next((g for g in groups if here.device in g), None)
    if group is None:
        return None
    opcode = x.opcode.removesuffix("-start")
    dimensions = x.attributes.get("dimensions")
    what = f"{opcode} {x['channel_id']}" if "channel_id" in x.attributes else opcode
    return Collective(
        opcode,
        what,
        tuple(group),
        group.index(here.device),
        dimensions[0] if dimensions else None,
        _reduction(x, call),
        x.attributes.get("source_target_pairs", ()),
        f"{opcode} '{x.name}'",
    )


def _bind(x: Instruction, call: Call) -> Bind:
    """What runs a collective on arrays, as the device that the thread is when it is bound."""

    def bind(given: Sequence[Array], results: Sequence[Array]) -> Callable[[], None]:
        here = current()
        collective = collective_of(x, here, call)
        function = _alone(collective, here, given, results)
        if function is not None:
            return function
        assert collective is not None
        return here.bind(collective, given, results)

    return bind


def bind_start(
    x: Instruction, call: Call, given: Sequence[Array], results: Sequence[Array]
) -> Callable[[], Callable[[], None]]:
    """What begins a collective on arrays, as the device that the thread is now, and gives its end.

    Where nothing would go on meanwhile, all of it is done at the end.
    """
    here = current()
    collective = collective_of(x, here, call)
    alone = _alone(collective, here, given, results)
    if collective is None or alone is not None:
        return lambda: alone or (lambda: None)
    engine = here.joined(collective.what, collective.group)
    if engine.overlaps:
        return lambda: engine.begin(collective, given, results)
    whole = engine.bind(collective, given, results)
    return lambda: whole


def _alone(
    collective: Collective | None,
    here: Participant,
    given: Sequence[Array],
    results: Sequence[Array],
) -> Callable[[], None] | None:
    """What a device does that meets no other in a collective; None if it meets some."""
    if collective is None:  # a collective-broadcast gives zeros to whom it does not name
        return lambda: store((0,) * len(results), tuple(results))
    if collective.group == (here.device,):
        return lambda: store(tuple(results_of(collective, [given])), tuple(results))
    return None


def _evaluate(x: Instruction, values: Sequence[Value], call: Call) -> Value:
    results = tuple(np.empty(s.dims, s.element_type.dtype) for s in leaves(x.shape))
    _bind(x, call)(list(values), results)()
    return results if isinstance(x.shape, TupleShape) else results[0]


GROUPS = Attribute("replica_groups", "groups", default=ReplicaGroups())
CHANNEL = Attribute("channel_id", "int", required=False)
CONSTRAIN = Attribute("constrain_layout", "bool", required=False, default=False)
GLOBAL = Attribute("use_global_device_ids", "bool", required=False, default=False)
DIMENSIONS = Attribute("dimensions", "ints")
REDUCER = Attribute("to_apply", "computation")
PAIRS = Attribute("source_target_pairs", "pairs")

# fmt: off
for _name, _infer, _attributes, _stated, _accuracy in (
    ("all-reduce", _infer_all_reduce,
     (CHANNEL, GROUPS, CONSTRAIN, GLOBAL, REDUCER), False, Accuracy.SUMMED),
    ("all-gather", _infer_all_gather,
     (CHANNEL, GROUPS, CONSTRAIN, DIMENSIONS, GLOBAL), True, Accuracy.BITS),
    ("reduce-scatter", _infer_reduce_scatter,
     (CHANNEL, GROUPS, CONSTRAIN, GLOBAL, DIMENSIONS, REDUCER), True, Accuracy.SUMMED),
    ("all-to-all", _infer_all_to_all,
     (CHANNEL, GROUPS, CONSTRAIN, Attribute("dimensions", "ints", required=False)), False,
     Accuracy.BITS),
    ("collective-permute", _infer_permute, (CHANNEL, PAIRS), False, Accuracy.BITS),
    ("collective-broadcast", _infer_same("collective-broadcast"),
     (CHANNEL, GROUPS), False, Accuracy.BITS),
):
    outside(_name, None, _infer, _evaluate, _attributes, needs_shape=_stated,
                 side_effect=always, on_host=True, accuracy=_accuracy, bind=_bind)
# fmt: on
