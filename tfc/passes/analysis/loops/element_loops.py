"""Loops that make each element by itself, so that one thread can take all turns of its elements.

    z = z * z + c, of arrays of the same dimensions, while i < n         Newton's steps, Mandelbrot
    h = 0.9 * h + xs[i];  ys = dynamic-update-slice(ys, h, i)            a scan without products

What changes is of three kinds: scalars that are made of scalars, among them what the condition is
about; arrays of one shape, each element of which is made of the same elements of them, and of
scalars; arrays that nobody reads and that get an update each turn, whose elements are made likewise
(`stacked`). What does not change may be read anywhere. So no element waits for another.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tfc.hlo.index_maps import Index, constant, variable
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.loops.loop_state import Loop, loop_of
from tfc.hlo.ops.dynamic import update_index
from tfc.hlo.shape import Shape
from tfc.passes.analysis.fusible import code_size, is_loop
from tfc.passes.analysis.in_place import position, reads

Indices = tuple[Index, ...]

_MOST_CODE = 512  # of a turn, in the units of `code_size`
_MOST_CARRIED = 24  # numbers that a thread keeps from turn to turn


@dataclass(frozen=True)
class ElementLoop:
    """Such a loop.

    dims: of the arrays, an element of which a thread has; () if there are only scalars.
    carried: the elements of the state that a thread keeps.
    stacked: those that get an update each turn.
    """

    loop: Loop
    dims: tuple[int, ...]
    carried: tuple[int, ...]
    stacked: tuple[int, ...]

    @property
    def index(self) -> Indices:
        """The thread's element of an array."""
        return _index(self.dims)

    def update_place(self, number: int) -> tuple[Indices, Indices]:
        """The element of a stacked array's update that a thread makes, and where it goes to."""
        update = self.loop.results[number]
        inside = _inside(self.dims, update.operands[1].array_shape.dims)
        return inside, update_index(update, inside)

    def is_shared(self, number: int) -> bool:
        """True for an element of the state that all threads have alike: a scalar among arrays."""
        return bool(self.dims) and number not in self.stacked and not self.rank(number)

    def rank(self, number: int) -> int:
        """The rank of an element of the state."""
        return self.loop.inits[number].array_shape.rank


def element_loop(instruction: Instruction) -> ElementLoop | str:
    """What is known of a while that makes each element by itself, or why it does not."""
    loop = loop_of(instruction)
    if loop is None or not all(isinstance(i.shape, Shape) for i in loop.inits):
        return "its state has tuples or tokens in it"
    reason = _why_not_plain(loop.condition) or _why_not_plain(loop.body)
    if reason is not None:
        return reason
    changing = [n for n, is_same in enumerate(loop.invariant) if not is_same]
    stacked = tuple(n for n in changing if _is_stacked(loop, n))
    carried = tuple(n for n in changing if n not in stacked)
    if len(carried) > _MOST_CARRIED:
        return f"it carries {len(carried)} values, more than {_MOST_CARRIED}"
    found = ElementLoop(loop, _dims(loop, carried, stacked), carried, stacked)
    return _why_not_apart(found) or found


def _why_not_plain(computation: Computation) -> str | None:
    """Why a turn is not made of operations element by element."""
    if computation.effects:
        return "it does more than compute its values"
    size = 0
    for x in computation.instructions:
        if x.opcode == "parameter" or x.operands == computation.parameters:
            continue
        if x is computation.root and x.opcode == "tuple":
            continue
        if x.opcode == "constant" and x["literal"].is_splat():
            continue
        if not isinstance(x.shape, Shape) or not is_loop(x):
            return f"{x.name} ({x.opcode}) is not made element by element"
        size += code_size(x)
    return f"a turn is long, {size} of {_MOST_CODE}" if size > _MOST_CODE else None


def _is_stacked(loop: Loop, number: int) -> bool:
    """True for an array of which a turn writes a part, and reads none."""
    update = loop.results[number]
    if update.opcode != "dynamic-update-slice":
        return False
    body, array = loop.body, update.operands[0]
    if loop.number_in(body, array) != number or update.operands.count(array) > 1:
        return False
    readers = [u for i in _state(body) if i["index"] == number for u in body.users[i]]
    kept = sum(r is update for r in loop.results) == 1 and set(body.users[update]) == {body.root}
    asked = any(i["index"] == number for i in _state(loop.condition))
    return kept and set(readers) == {update} and not asked


def _state(computation: Computation) -> list[Instruction]:
    """The elements of the state that a computation reads."""
    (parameter,) = computation.parameters
    return [u for u in computation.users[parameter] if u.opcode == "get-tuple-element"]


def _dims(loop: Loop, carried: Sequence[int], stacked: Sequence[int]) -> tuple[int, ...]:
    """The dimensions of what threads share out."""
    for number in carried:
        if loop.inits[number].array_shape.rank:
            return loop.inits[number].array_shape.dims
    for number in stacked:
        update = loop.results[number].operands[1].array_shape.dims
        return tuple(size for size in update if size != 1)
    return ()


def _index(dims: Sequence[int]) -> Indices:
    return tuple(variable(f"lane{d}", size) for d, size in enumerate(dims))


def _inside(dims: Sequence[int], update: Sequence[int]) -> Indices:
    """The element of an update at a thread's place: the dimensions of size one are left out."""
    rest = iter([i for i, size in zip(_index(dims), dims) if size != 1])
    return tuple(constant(0) if size == 1 else next(rest) for size in update)


def _why_not_apart(found: ElementLoop) -> str | None:
    """Why elements are not made each by itself."""
    loop, dims = found.loop, found.dims
    if _reads_arrays(found, loop.condition, loop.condition.root, ()):
        return "its condition is about elements of arrays"
    for number in found.carried:
        shape, result = loop.inits[number].array_shape, loop.results[number]
        if shape.dims not in ((), dims):
            return f"it has arrays of the dimensions {list(shape.dims)} and {list(dims)}"
        if _reads_arrays(found, loop.body, result, found.index if shape.rank else ()):
            return f"{result.name} is made of other elements"
    for number in found.stacked:
        update = loop.results[number]
        sizes = update.operands[1].array_shape.dims
        if [s for s in sizes if s != 1] != [s for s in dims if s != 1]:
            return f"{update.name} has an update of the dimensions {list(sizes)}"
        if _reads_arrays(found, loop.body, update.operands[1], _inside(dims, sizes)) or any(
            _reads_arrays(found, loop.body, start, (constant(0),) * start.array_shape.rank)
            for start in update.operands[2:]
        ):
            return f"{update.name} is made of other elements"
    return None


def _reads_arrays(
    found: ElementLoop, computation: Computation, value: Instruction, index: Indices
) -> bool:
    """Whether an element is made of other elements of what changes than those at its place.

    A scalar is made of none.
    """
    for source, at in reads(value, index, set(_state(computation))):
        number, shape = source["index"], source.array_shape
        if found.loop.invariant[number] or not shape.rank:
            continue
        if number in found.stacked or (not index and found.dims):
            return True
        if position(shape, at) - position(shape, found.index) != constant(0):
            return True
    return False
