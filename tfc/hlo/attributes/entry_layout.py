"""The layouts of a program's arguments and result, where they differ from its body's.

    HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}
    ENTRY e { x = f32[2,3]{1,0} parameter(0)          e { x = f32[2,3]{0,1} parameter(0)
              ROOT y = f32[2,3]{1,0} negate(x) }  -->     y = f32[2,3]{1,0} negate(x)
                                                          ROOT copy = f32[2,3]{0,1} copy(y) }

Does nothing when the layouts are those of the parameters and the root.
"""

from collections.abc import Sequence
from dataclasses import replace

from tfc.hlo.ir import Computation, Instruction, laid_out, postorder, remake
from tfc.hlo.op import describe, require
from tfc.hlo.shape import AnyShape


def apply_entry_layout(
    entry: Computation, parameters: Sequence[AnyShape], result: AnyShape
) -> Computation:
    """The entry with parameters and root laid out as a module's header says.

    Raises:
        ShapeError: the header's shapes are not the entry's.
    """
    got = [*(p.shape for p in entry.parameters), entry.root.shape]
    stated = [*parameters, result]
    require(
        len(got) == len(stated) and all(a.is_compatible(b) for a, b in zip(got, stated)),
        "entry_computation_layout", f"the shapes {describe(got)}", describe(stated),
    )  # fmt: skip
    shapes = {p: s for p, s in zip(entry.parameters, parameters) if p.shape != s}
    if shapes:
        new: dict[Instruction, Instruction] = {}
        for old in entry.instructions:
            new[old] = old.with_(shape=shapes[old]) if old in shapes else old.renewed(new)
        entry = remake(entry, new)
    return with_result(entry, result)


def with_result(computation: Computation, shape: AnyShape) -> Computation:
    """The computation with its result in a layout; itself if it is."""
    root = laid_out(computation.root, shape)
    if root is computation.root:
        return computation
    known = set(computation.instructions)
    added = [i for i in postorder([root]) if i not in known]
    return replace(computation, instructions=(*computation.instructions, *added), root=root)
