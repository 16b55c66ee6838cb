"""The layouts of a program's arguments and result, where they differ from its body's.

    HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}
    ENTRY e { x = f32[2,3]{1,0} parameter(0)          e { x = f32[2,3]{0,1} parameter(0)
              ROOT y = f32[2,3]{1,0} negate(x) }  -->     y = f32[2,3]{1,0} negate(x)
                                                          ROOT copy = f32[2,3]{0,1} copy(y) }

Does nothing when the layouts are those of the parameters and the root.
"""

from collections.abc import Sequence
from dataclasses import replace

from tfc.hlo.ir import Attributes, Computation, Instruction, postorder, rebuild
from tfc.hlo.op import describe, require
from tfc.hlo.shape import AnyShape, TupleShape


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
    shapes = dict(zip(entry.parameters, parameters))
    if any(p.shape != s for p, s in shapes.items()):
        entry = rebuild(
            entry, lambda i: i.with_(shape=shapes[i]) if shapes.get(i, i.shape) != i.shape else i
        )
    root = laid_out(entry.root, result)
    if root is entry.root:
        return entry
    added = [i for i in postorder([root]) if i not in set(entry.instructions)]
    return replace(entry, instructions=(*entry.instructions, *added), root=root)


def laid_out(value: Instruction, shape: AnyShape) -> Instruction:
    """The same value in another layout, through copies of its arrays."""
    if value.shape == shape:
        return value
    if not isinstance(shape, TupleShape):
        return Instruction("copy", (value,), shape, name="copy")
    if value.opcode == "tuple":
        elements = value.operands
    else:
        assert isinstance(value.shape, TupleShape)
        elements = tuple(
            Instruction("get-tuple-element", (value,), s, Attributes(index=i), f"{value.name}.{i}")
            for i, s in enumerate(value.shape.elements)
        )
    parts = tuple(laid_out(e, s) for e, s in zip(elements, shape.elements))
    return Instruction("tuple", parts, shape, name="tuple")
