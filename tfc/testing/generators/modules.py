"""Well-typed random modules, and modules of one instruction.

`modules()` grows a module instruction by instruction over a pool of values, so that it shrinks to
few instructions; `instructions_of(opcode)` makes one instruction over leaves.
"""

from collections.abc import Sequence

from hypothesis import strategies as st

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Module, postorder
from tfc.hlo.op import OPS, never
from tfc.hlo.shape import (
    BF16,
    C64,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F16,
    F32,
    F64,
    PRED,
    S4,
    S8,
    S32,
    S64,
    U4,
    U8,
    U32,
    ElementType,
)
from tfc.hlo.traits import Category
from tfc.testing.generators.grower import GENERATORS, Grower
from tfc.testing.generators.values import Draw

ELEMENT_TYPES = (F32, S32, PRED, F64, BF16, F16, S8, U8, U32, S64, C64, S4, U4,
                 F8E5M2, F8E4M3FN, F8E4M3FNUZ)  # fmt: skip
# Random modules are compared between backends, which draw random numbers of their own.
STATEFUL = frozenset(op.name for op in OPS.values() if op.side_effect is not never)
ELEMENTWISE = tuple(op.name for op in OPS.values() if op.elementwise)
OPCODES = tuple(dict.fromkeys(o for o in (*GENERATORS, *ELEMENTWISE) if o not in STATEFUL))

# What reads and writes its operands in an order of its own: transposed ones matter most to these.
ORDERED = frozenset(
    op.name for op in OPS.values()
    if op.category is Category.REDUCTION or (op.category is Category.PRODUCT and op.any_order)
    or (op.is_movement and op.arity != 1)
)  # fmt: skip


def available(opcodes: Sequence[str], element_types: Sequence[ElementType]) -> list[str]:
    """The opcodes that have a meaning for at least one of the element types."""
    kinds = {t.kind for t in element_types}
    usable = [o for o in opcodes if not OPS[o].domain or OPS[o].domain & kinds]
    return [o for o in usable if o != "complex" or "complex" in kinds]


def _share(opcode: str, turned: bool) -> int:
    """How often an op is drawn, beside the others."""
    if turned and opcode == "sort":  # its operands must all be in one order
        return 60
    if turned and opcode in ORDERED:
        return 20
    return 1 if OPS[opcode].elementwise else 3


@st.composite
def modules(
    draw: Draw,
    max_instructions: int = 10,
    element_types: Sequence[ElementType] = (F32, S32, PRED),
    opcodes: Sequence[str] = OPCODES,
    max_rank: int = 3,
    zero: bool = True,
    turned: bool = False,
) -> Module:
    """A well-typed module of about `max_instructions` at most.

    The root is a tuple of all values that nothing else uses, or the last one; what it then does
    not need is dead code, which is kept.

    Args:
        opcodes: the ops to draw from; those without a meaning for `element_types` are left out.
        zero: whether dimensions of size zero occur.
        turned: whether operands are at times transposed temporaries (see Grower).
    """
    usable = available(opcodes, element_types)
    grower = Grower(draw, element_types, max_rank, zero, usable, turned)
    # Movement, contractions and control come as often as the many elementwise ops.
    usable = [o for o in available(opcodes, element_types) for _ in range(_share(o, turned))]
    for opcode in draw(st.lists(st.sampled_from(usable), min_size=1, max_size=max_instructions)):
        grower.make(opcode)
    root = grower.pool[-1]
    if draw(st.integers(0, 2)):
        used = {o for i in grower.pool for o in i.operands}
        results = [i for i in grower.pool if i not in used]
        root = builder.instruction("tuple", results) if len(results) > 1 else results[0]
    order = postorder([*grower.parameters, *grower.pool, root])
    return Module("random", Computation("main", tuple(grower.parameters), tuple(order), root))


def twice(module: Module) -> Module:
    """A module that computes what another does of two sets of arguments, each by itself."""
    entry = module.entry
    given = [p for _ in range(2) for p in entry.parameters]
    parameters = [builder.parameter(n, p.shape, f"p{n}") for n, p in enumerate(given)]
    count = len(entry.parameters)
    calls = [
        builder.instruction("call", own, to_apply=entry)
        for own in (parameters[:count], parameters[count:])
    ]
    root = builder.instruction("tuple", calls)
    return Module(module.name, Computation.make("main", parameters, root))


@st.composite
def instructions_of(
    draw: Draw,
    opcode: str,
    element_types: Sequence[ElementType] = ELEMENT_TYPES,
) -> Module:
    """A module whose root is one instruction of an op, over parameters and constants."""
    grower = Grower(draw, element_types, 3, True)
    root = grower.make(opcode)
    return Module("single", Computation.make("main", grower.parameters, root))
