"""Generators: tokens, barriers, collectives among one replica, and asynchronous pairs.

What waits for somebody outside of the program has none.
"""

from tfc.hlo import builder
from tfc.hlo.attributes.replica_groups import ReplicaGroups
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import S32, U32, AnyShape, Shape, TupleShape
from tfc.testing.generators.grower import ANY, Grower, generates


def _token(g: Grower) -> Instruction:
    return builder.instruction("after-all", [])


@generates("after-all")
def _after_all(g: Grower) -> Instruction:
    """A token, behind an array: what random programs compute are arrays."""
    token = builder.instruction("after-all", [_token(g) for _ in range(g.integer(0, 2))])
    return builder.instruction("add-dependency", [g.operand(ANY), token])


@generates("opt-barrier")
def _barrier(g: Grower) -> Instruction:
    if g.integer(0, 1):
        return builder.instruction("opt-barrier", [g.operand(ANY)])
    several = builder.instruction("tuple", [g.operand(ANY), _token(g), g.operand(ANY)])
    barrier = builder.instruction("opt-barrier", [several])
    return builder.instruction("get-tuple-element", [barrier], index=2 * g.integer(0, 1))


@generates("add-dependency")
def _dependency(g: Grower) -> Instruction:
    return builder.instruction("add-dependency", [g.operand(ANY), _token(g)])


@generates("domain")
def _domain(g: Grower) -> Instruction:
    written = '{kind="sharding", entry={maximal device=0}, exit={maximal device=1}}'
    return builder.instruction("domain", [g.operand(ANY)], domain=written)


@generates("get-dimension-size")
def _get_size(g: Grower) -> Instruction:
    x = g.operand(ANY, min_rank=1)
    dimension = g.integer(0, x.array_shape.rank - 1)
    return builder.instruction("get-dimension-size", [x], dimensions=(dimension,))


@generates("set-dimension-size")
def _set_size(g: Grower) -> Instruction:
    x = g.operand(ANY, min_rank=1)
    dimension = g.integer(0, x.array_shape.rank - 1)
    size = builder.constant(x.array_shape.dims[dimension], S32)
    return builder.instruction("set-dimension-size", [x, size], dimensions=(dimension,))


for _name in ("partition-id", "replica-id"):
    generates(_name)(lambda g, name=_name: builder.instruction(name, []))


def _groups(g: Grower) -> ReplicaGroups:
    return g.pick([ReplicaGroups(), ReplicaGroups(((0,),)), ReplicaGroups(((0,),), "[1,1]<=[1]")])


def _collective(g: Grower, opcode: str, x: Instruction) -> Instruction:
    """One collective of a value, which is its result too, since there is one replica."""
    shape, attributes = x.array_shape, {}
    if opcode in ("all-reduce", "reduce-scatter"):
        kind = {"pred": "or", "complex": "add"}.get(shape.element_type.kind, "maximum")
        attributes["to_apply"] = builder.scalar_computation(kind, shape.element_type)
    if opcode in ("all-gather", "reduce-scatter", "all-to-all"):
        attributes["dimensions"] = (g.integer(0, shape.rank - 1),)
    if opcode == "collective-permute":
        attributes["source_target_pairs"] = g.pick([(), ((0, 0),)])
    else:
        attributes["replica_groups"] = _groups(g)
    return builder.instruction(opcode, [x], shape=x.shape, **attributes)


_COLLECTIVES = {"all-reduce": 0, "all-gather": 1, "reduce-scatter": 1, "all-to-all": 1,
                "collective-permute": 0, "collective-broadcast": 0}  # fmt: skip
for _name, _rank in _COLLECTIVES.items():
    generates(_name)(lambda g, name=_name, rank=_rank: _collective(g, name, g.operand(ANY, rank)))


def _pair(g: Grower, opcode: str, start: Instruction) -> Instruction:
    """The operation that waits for a start."""
    return builder.instruction(f"{opcode}-done", [start])


def _collective_pair(g: Grower, opcode: str) -> Instruction:
    x = g.operand(ANY, _COLLECTIVES[opcode])
    plain = _collective(g, opcode, x)
    shape: AnyShape = TupleShape((x.shape, x.shape, *[Shape(U32)] * g.pick([0, 2])))
    shape = x.shape if opcode == "all-reduce" else shape
    start = builder.instruction(f"{opcode}-start", [x], shape=shape, **plain.attributes)
    return _pair(g, opcode, start)


def _copy_pair(g: Grower, opcode: str) -> Instruction:
    x = g.operand(ANY)
    shape = TupleShape((x.shape, x.shape, Shape(U32)))
    return _pair(g, opcode, builder.instruction("copy-start", [x], shape=shape))


def _async_pair(g: Grower, opcode: str) -> Instruction:
    x = g.operand(ANY)
    # Two instructions: XLA prints a single one as if its operands were those of the start.
    inside = builder.parameter(0, x.array_shape, "x")
    body = builder.instruction("reverse", [builder.unary("copy", inside)], dimensions=())
    called = Computation.make("function", [inside], body)
    shape = TupleShape((TupleShape((x.shape,)), x.shape, Shape(S32)))
    made = builder.instruction("async-start", [x], shape=shape, calls=called)
    for _ in range(g.integer(0, 2)):
        made = builder.instruction("async-update", [made])
    return _pair(g, opcode, made)


for _name, _make in (
    ("all-reduce", _collective_pair),
    ("all-gather", _collective_pair),
    ("collective-permute", _collective_pair),
    ("copy", _copy_pair),
    ("async", _async_pair),
):
    for _suffix in ("-start", "-update", "-done") if _name == "async" else ("-start", "-done"):
        generates(_name + _suffix)(lambda g, name=_name, make=_make: make(g, name))
