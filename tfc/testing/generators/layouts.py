"""Layouts stated at random: they say how values lie in memory, and never what the values are.

    p = f32[2,3]{1,0} parameter(0)              p = f32[2,3]{0,1} parameter(0)
    t = (f32[2,3]{1,0}) tuple(p)        -->     t = (f32[2,3]{1,0}) tuple(p)
    r = f32[2,3]{1,0} get-tuple-element(t)      r = f32[2,3]{0,1} get-tuple-element(t)

Any instruction of any computation may get them, so layouts differ across calls, loops, branches and
tuples. The header may besides give the entry's parameters and result others than its body does.
"""

from functools import cache
from itertools import permutations

from hypothesis import strategies as st

from tfc.hlo.ir import Computation, Instruction, Module, retarget
from tfc.hlo.shape import AnyShape, Layout, Shape, TupleShape
from tfc.hlo.text.printer import print_module
from tfc.testing.generators.values import Draw

SHARES = (1, 3, 6, 10)  # how many of the values of a program get a layout, in tenths


@cache
def layouts(rank: int) -> tuple[Layout, ...]:
    """All layouts of a rank, row-major first."""
    return tuple(Layout(order) for order in permutations(range(rank - 1, -1, -1)))


def laid_out(draw: Draw, shape: AnyShape, share: int) -> AnyShape:
    """The shape with some of its arrays of two dimensions or more in another layout."""
    if isinstance(shape, TupleShape):
        elements = tuple(laid_out(draw, e, share) for e in shape.elements)
        return shape if elements == shape.elements else TupleShape(elements)
    if not isinstance(shape, Shape) or shape.rank < 2 or shape.rank > 5:
        return shape
    if draw(st.integers(0, 9)) < 10 - share:
        return shape
    return shape.with_layout(draw(st.sampled_from(layouts(shape.rank))))


def with_layouts(draw: Draw, module: Module) -> Module:
    """The module with layouts stated at random, on any instruction of any computation."""
    share = draw(st.sampled_from(SHARES))
    done: dict[Computation, Computation] = {}
    for computation in module.computations:
        new: dict[Instruction, Instruction] = {}
        for old in computation.instructions:
            instruction = retarget(old.renewed(new), done.__getitem__)
            shape = laid_out(draw, instruction.shape, share)
            same = shape is instruction.shape
            new[old] = instruction if same else instruction.with_(shape=shape)
        # What nothing uses stays: it is compiled, too.
        parameters = tuple(new[p] for p in computation.parameters)
        body = tuple(new[i] for i in computation.instructions)
        done[computation] = Computation(computation.name, parameters, body, new[computation.root])
    return module.with_entry(done[module.entry])


def with_entry_layout(draw: Draw, module: Module) -> str:
    """The text of a module with other layouts in its header than those of its entry."""
    header, end, body = print_module(module).partition("\n")
    entry, share = module.entry, draw(st.sampled_from(SHARES))
    shapes = [laid_out(draw, p.shape, share) for p in entry.parameters]
    result = laid_out(draw, entry.root.shape, share)
    old = f"{{{TupleShape(tuple(p.shape for p in entry.parameters))}->{entry.root.shape}}}"
    return header.replace(old, f"{{{TupleShape(tuple(shapes))}->{result}}}") + end + body
