"""Eager calls: functions over Tensors called with arrays, outside any trace, compiled and run.

    tfc.grad(loss)(w)  → traced → the program, with arrays as its arguments → compiled once → run

Two caches serve one after the other. What a function of tfc's own does is decided by its arguments'
dtypes and shapes and by the rest of them, so that a call like an earlier one is not traced again. A
function of the user's may do something else each time, and is traced; a program that is the same
in all its steps (hlo/structure.py) as an earlier one is not compiled again. Both are bounded.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from threading import Lock, RLock
from typing import Any, Generic, TypeVar

import numpy as np

from tfc import compiler
from tfc.backends.interfaces import Executable
from tfc.compiled import as_array
from tfc.frontend import tree
from tfc.frontend.eager import EagerTrace
from tfc.frontend.precision import default_precision
from tfc.frontend.statics import is_constant, static
from tfc.frontend.tensor import Tensor
from tfc.frontend.tree import Structure
from tfc.hlo import builder
from tfc.hlo.attributes.sharding import with_partitions
from tfc.hlo.ir import Computation, Module
from tfc.hlo.structure import structure

V = TypeVar("V")

_MOST_PROGRAMS = 512
_MOST_CALLS = 4096
_MOST_LEAVES = 64  # of the arguments of a call that is looked up: lists of numbers may be long


class _Bounded(Generic[V]):
    """Values by key, of which the ones not used for longest are dropped; safe in any thread."""

    def __init__(self, most: int, make: Callable[[], V]):
        self._most, self._make = most, make
        self._found: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = Lock()

    def __getitem__(self, key: Hashable) -> V:
        with self._lock:
            found = self._found.get(key)
            if found is None:
                found = self._found[key] = self._make()
                if len(self._found) > self._most:
                    self._found.popitem(last=False)
            else:
                self._found.move_to_end(key)
            return found


@dataclass(eq=False)
class _Program:
    """A program; the lock lets one thread compile it while others wait."""

    lock: RLock = field(default_factory=RLock)
    executable: Executable | None = None


@dataclass(frozen=True)
class _Result:
    """A call that was traced.

    run: gives the Tensors among the result's leaves.
    leaves: the others, and the Tensors' places.
    arrays: further arguments of the program that are the same each time.
    """

    run: Callable[..., Sequence[np.ndarray]]
    leaves: Sequence[Any]
    structure: Structure
    arrays: Sequence[np.ndarray]

    def __call__(self, arrays: Sequence[np.ndarray]) -> Any:
        done = iter(self.run(*arrays, *self.arrays))
        made = [next(done) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves]
        return tree.unflatten(self.structure, made)


@dataclass(eq=False)
class _Call:
    """A call of a function of tfc's own: what came of tracing it.

    looks_at_values: it cannot be traced without them, so that each call is.
    """

    result: _Result | None = None
    looks_at_values: bool = False


_programs: _Bounded[_Program] = _Bounded(_MOST_PROGRAMS, _Program)
_calls: _Bounded[_Call] = _Bounded(_MOST_CALLS, _Call)


def run_eagerly(
    function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], is_library: bool
) -> Any:
    """Call a function over Tensors at once; the Tensors of its result become NumPy arrays.

    Raises:
        TraceError: the function uses a Tensor in a way that a graph cannot express.
        UnsupportedError: there is no CPU code for some of it.
    """
    leaves, nest = tree.flatten((args, named))
    key = _key(function, leaves, nest) if is_library else None
    if key is None:
        return _traced(function, leaves, nest, is_library, False)([])
    call = _calls[key]
    arrays = [leaf for leaf in leaves if _is_array(leaf)]
    if call.result is not None:
        return call.result(arrays)
    if call.looks_at_values:
        return _traced(function, leaves, nest, True, False)([])
    try:
        result = _traced(function, leaves, nest, True, True)
    except Exception:
        # A value is needed, or this is a mistake, which is explained with the values in sight.
        result = _traced(function, leaves, nest, True, False)
        call.looks_at_values = True
        return result([])
    if any(isinstance(leaf, np.ndarray) for leaf in result.leaves):
        return result(arrays)  # an array that is handed out is the caller's own
    call.result = result
    return result(arrays)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, np.generic))


def _key(function: Callable[..., Any], leaves: Sequence[Any], nest: Structure) -> Hashable | None:
    """What decides what a function of tfc's own does; None for what it is not known of."""
    if len(leaves) > _MOST_LEAVES:
        return None
    described: list[Hashable] = []
    for leaf in leaves:
        if _is_array(leaf):
            described.append((leaf.dtype, leaf.shape))
        elif _is_plain(leaf):
            described.append(static(0, "", leaf))
        else:
            return None
    return function, nest, tuple(described), default_precision.stated


def _is_plain(leaf: Any) -> bool:
    """Whether a value is the same whenever it is equal: no function, and no array of others."""
    if hasattr(leaf, "__array__") and not isinstance(leaf, type):
        return False
    is_function = callable(leaf) and not isinstance(leaf, type)
    return not is_function and is_constant(leaf) and isinstance(leaf, Hashable)


def _traced(
    function: Callable[..., Any],
    leaves: Sequence[Any],
    nest: Structure,
    is_library: bool,
    hides_values: bool,
) -> _Result:
    """Trace a call, and compile what it computes.

    Args:
        hides_values: the function gets Tensors in place of arrays, which the result then takes.
    """
    numbers = [leaf for leaf in leaves if type(leaf) is float]
    trace = EagerTrace(getattr(function, "__name__", "function"), numbers, not is_library)
    trace.hides_values, given = hides_values, list(leaves)
    if hides_values:
        for place, leaf in enumerate(leaves):
            if _is_array(leaf):
                given[place] = Tensor(trace.argument(np.asarray(leaf)), trace)
    count = len(trace.arrays)
    args, named = tree.unflatten(nest, given)
    with trace:
        found, containers = tree.flatten(function(*args, **named))
    roots = [leaf for leaf in found if isinstance(leaf, Tensor)]
    operands = [trace.resolve(r.instruction, r.home) for r in roots]
    made = None if trace.effects else _given(operands)
    if made is None:
        made = _compiled(trace.name, trace.computation(builder.instruction("tuple", operands)))
    return _Result(made, found, containers, trace.arrays[count:])


def _given(operands: Sequence[Any]) -> Callable[..., list[np.ndarray]] | None:
    """What gives results that are there already: constants and arguments; None for others."""
    if not all(o.opcode in ("constant", "parameter") for o in operands):
        return None

    def given(*arrays: np.ndarray) -> list[np.ndarray]:
        return [
            np.array(o.attributes["literal"].array if o.opcode == "constant"
                     else as_array(arrays[o.attributes["number"]]))
            for o in operands
        ]  # fmt: skip

    return given


def _compiled(name: str, computation: Computation) -> Callable[..., list[np.ndarray]]:
    """The machine code of a computation, which is made once for all that are the same."""
    program = _programs[structure(computation)]
    with program.lock:
        if program.executable is None:
            module = Module(f"eager_{re.sub(r'[^0-9A-Za-z_]', '_', name)}", computation)
            program.executable = compiler.compile_whole(with_partitions(module))
        return program.executable
