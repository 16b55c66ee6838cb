"""map_fn, scan, foldl, foldr: a function for each element of tensors, as a loop over arrays."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.frontend import tree
from tfc.graph.building import result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.control.bodies import callable_of, flatten
from tfc.graph.control.loops import while_loop
from tfc.graph.control.tensor_array import TensorArray
from tfc.graph.functions.creation import shape
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import as_dtype, int32


class _Elements:
    """The elements of a nested structure of tensors along their first dimensions.

    count: how many there are: a number if it is known, else a tensor.
    """

    def __init__(self, elems: Any):
        leaves, self.structure = flatten(elems)
        self.tensors = [convert_to_tensor(leaf) for leaf in leaves]
        if not self.tensors:
            raise ShapeError("elems must hold one tensor at least")
        sizes = set()
        for x in self.tensors:
            if x.shape.dims == ():
                raise ShapeError(
                    f"elements in elems must be 1+ dimensional Tensors, not scalars: {x}"
                )
            sizes.add(x.shape.dims[0] if x.shape.dims else None)
        known = sizes - {None}
        if len(known) > 1:
            raise ShapeError(f"the tensors of elems must have as many elements each, got {known}")
        self.known: int | None = known.pop() if known else None
        self.count: Any = shape(self.tensors[0])[0] if self.known is None else self.known
        self._arrays = [
            TensorArray(x.dtype, self.count, element_shape=x.shape[1:]).unstack(x)
            for x in self.tensors
        ]

    def at(self, number: Any) -> Any:
        """The elements of a number, nested as they are."""
        return tree.unflatten(self.structure, [a.read(number) for a in self._arrays])


def _dtypes(dtype: Any, elements: _Elements) -> tuple[list[Any], tree.Structure]:
    """The dtypes of a function's results, and their structure; those of the elements if left out.

    A dtype stands for one result even where the elements are several.
    """
    if dtype is None:
        return [x.dtype for x in elements.tensors], elements.structure
    leaves, structure = flatten(dtype)
    return [as_dtype(leaf) for leaf in leaves], structure


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """fn of each element along the first dimension, the results along a new first dimension.

    Args:
        fn: takes an element, nested as elems are.
        elems: a nested structure of tensors of as many elements each.
        dtype: the dtypes of what fn returns, nested as that is; those of elems if left out.

    Raises:
        TypeError: fn is no function. ValueError: a tensor of elems is a scalar, or fn returns
            another structure than dtype.
    """
    callable_of("fn", fn)
    with get_default_graph().name_scope(name or "map"):
        elements = _Elements(elems)
        dtypes, structure = _dtypes(dtype, elements)
        arrays = [TensorArray(d, elements.count, infer_shape=infer_shape) for d in dtypes]

        def body(number: Tensor, *made: TensorArray) -> list[Any]:
            values = _results(fn(elements.at(number)), structure, dtypes)
            return [_next(number), *(a.write(number, v) for a, v in zip(made, values))]

        after = _loop(elements.count, body, arrays, back_prop)
        return tree.unflatten(structure, [_stacked(a, elements.known) for a in after])


def _stacked(array: TensorArray, count: int | None) -> Tensor:
    made = array.stack()
    if made.shape.dims is not None:
        made.set_shape([count, *made.shape.dims[1:]])
    return made


def _next(number: Any) -> Tensor:
    return result("AddV2", number, convert_to_tensor(1, int32))


def _loop(count: Any, body: Callable[..., Any], state: Sequence[Any], back_prop: bool) -> list[Any]:
    """The state after a loop over numbers from 0 on."""
    start = [convert_to_tensor(0, int32), *state]
    limit = convert_to_tensor(count, int32)
    looped = while_loop(lambda n, *_: result("Less", n, limit), body, start, back_prop=back_prop)
    return list(looped[1:])


def _results(value: Any, structure: tree.Structure, dtypes: Sequence[Any]) -> list[Tensor]:
    """The tensors that a function returned.

    Raises:
        ValueError: they are nested in another way. TypeError: they have other dtypes.
    """
    leaves, found = flatten(value)
    if found != structure and not (len(leaves) == 1 == len(dtypes)):
        raise ShapeError(
            f"the function must return the structure {structure}, as dtype or the initializer "
            f"has it, got {found}"
        )
    made = []
    for leaf, dtype in zip(leaves, dtypes):
        made.append(convert_to_tensor(leaf, None if hasattr(leaf, "dtype") else dtype))
        if made[-1].dtype != dtype:
            raise TraceError(
                f"the function returns {made[-1].dtype.name} where {dtype.name} is stated: pass "
                "dtype="
            )
    return made


class _Fold:
    """What is carried from element to element: begins with the initializer, or an element.

    first: how many elements are used up for the beginning.
    """

    def __init__(self, elems: Any, initializer: Any, reverse: bool):
        self.elements = _Elements(elems)
        self.reverse = reverse
        self.first = 0 if initializer is not None else 1
        begun = initializer if self.first == 0 else self.elements.at(self.place(0))
        leaves, self.structure = flatten(begun)
        self.begun = [convert_to_tensor(leaf) for leaf in leaves]
        self.dtypes = [x.dtype for x in self.begun]

    def place(self, number: Any) -> Any:
        """Which element comes at a number of the loop."""
        if not self.reverse:
            return number
        last = convert_to_tensor(self.elements.count, int32)
        return result("Sub", result("Sub", last, convert_to_tensor(1, int32)), number)

    def step(self, fn: Callable[..., Any], number: Any, values: Sequence[Any]) -> list[Tensor]:
        """What is carried on after an element."""
        carried = tree.unflatten(self.structure, list(values))
        value = fn(carried, self.elements.at(self.place(number)))
        return _results(value, self.structure, self.dtypes)


def _folded(
    fn: Callable[..., Any], elems: Any, initializer: Any, back_prop: bool, reverse: bool
) -> Any:
    callable_of("fn", fn)
    fold = _Fold(elems, initializer, reverse)
    start = convert_to_tensor(fold.first, int32)
    limit = convert_to_tensor(fold.elements.count, int32)
    looped = while_loop(
        lambda n, *_: result("Less", n, limit),
        lambda n, *values: [_next(n), *fold.step(fn, n, values)],
        [start, *fold.begun],
        back_prop=back_prop,
    )
    return tree.unflatten(fold.structure, looped[1:])


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """fn(… fn(fn(initializer, elems[0]), elems[1]) …): from the first element to the last.

    Args:
        fn: (what is carried, element) -> what is carried on.
        initializer: what it begins with; the first element if left out.
    """
    with get_default_graph().name_scope(name or "foldl"):
        return _folded(fn, elems, initializer, back_prop, False)


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """As `foldl`, from the last element to the first."""
    with get_default_graph().name_scope(name or "foldr"):
        return _folded(fn, elems, initializer, back_prop, True)


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """What `foldl` carries, after each element, along a new first dimension.

    Args:
        fn: (what is carried, element) -> what is carried on.
        initializer: what it begins with; the first element, which is the first result as well, if
            left out.
        reverse: begin with the last element; the results lie in the order of the elements.
    """
    callable_of("fn", fn)
    with get_default_graph().name_scope(name or "scan"):
        fold = _Fold(elems, initializer, reverse)
        arrays = [TensorArray(d, fold.elements.count, infer_shape=infer_shape) for d in fold.dtypes]
        if fold.first:
            arrays = [a.write(fold.place(0), x) for a, x in zip(arrays, fold.begun)]
        held = len(fold.begun)

        def body(number: Tensor, *state: Any) -> list[Any]:
            values = fold.step(fn, number, state[:held])
            place = fold.place(number)
            made = [a.write(place, v) for a, v in zip(state[held:], values)]
            return [_next(number), *values, *made]

        limit = convert_to_tensor(fold.elements.count, int32)
        start = [convert_to_tensor(fold.first, int32), *fold.begun, *arrays]
        looped = while_loop(
            lambda n, *_: result("Less", n, limit), body, start, back_prop=back_prop
        )
        stacked = [_stacked(a, fold.elements.known) for a in looped[1 + held :]]
        return tree.unflatten(fold.structure, stacked)
