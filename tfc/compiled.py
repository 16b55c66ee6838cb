"""What compiled functions are: the signature one is for, lowered to a module, and compiled."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import tree
from tfc.frontend.abstract import ShapeDtypeStruct
from tfc.frontend.constant_arguments import ConstantTree
from tfc.frontend.precision import Stated
from tfc.frontend.statics import Static, is_constant
from tfc.frontend.tensor import Tensor, is_weak
from tfc.frontend.trace import leak
from tfc.frontend.tree import Structure
from tfc.hlo.ir import Module
from tfc.options import Options
from tfc.runtime.device_arrays import DeviceArray, is_on_gpu
from tfc.runtime.later import later
from tfc.tracebacks import api_boundary, hide_frames

if TYPE_CHECKING:
    from tfc import compiler
    from tfc.backends import interfaces
    from tfc.backends.gpu import driver, memory
    from tfc.backends.interfaces import Executable, MemoryAnalysis
    from tfc.passes.analysis.cost import CostAnalysis
else:
    compiler = later("tfc.compiler")
    interfaces = later("tfc.backends.interfaces")
    driver = later("tfc.backends.gpu.driver")
    memory = later("tfc.backends.gpu.memory")

Leaf = tuple[np.dtype, tuple[int, ...], bool]  # of an argument: dtype, dimensions, weak


@dataclass(frozen=True)
class CallSignature:
    """What a compilation depends on: the key of the cache.

    structure: the containers of the arguments that are traced: (positional ones, named ones).
    leaves: each array in them.
    statics: each argument that is a constant to the trace.
    precision: of products that state none, which is entered where the call is.
    """

    structure: Structure
    leaves: tuple[Leaf, ...]
    statics: tuple[Static, ...] = ()
    precision: Stated | None = None

    def traced(self) -> list[tuple[int | str, Structure]]:
        """Each argument that is traced: its number, or its name if it was passed by name."""
        positional, named = self.structure.children
        skipped = {s.where for s in self.statics}
        count = len(positional.children) + sum(isinstance(where, int) for where in skipped)
        places = [n for n in range(count) if n not in skipped]
        return [*zip(places, positional.children), *zip(map(str, named.keys), named.children)]

    def leaf_places(self) -> list[int | str]:
        """The number or the name of the argument that each leaf lies in."""
        return [where for where, child in self.traced() for _ in tree.paths(child)]

    def leaf_names(self, labels: Sequence[str]) -> list[str]:
        """What each leaf is called, x or params['w'], given the names of numbered parameters."""
        found: list[str] = []
        for where, child in self.traced():
            known = where if isinstance(where, str) else f"arg{where}"
            if isinstance(where, int) and where < len(labels):
                known = labels[where]
            found += tree.paths(child, known)
        return found

    def not_numeric(
        self, name: str, labels: Sequence[str], number: int, leaf: np.ndarray
    ) -> TraceError:
        """The error for a leaf that is no array, to be raised.

        Args:
            name: of the function. labels: the names of its numbered parameters.
            number: of the leaf.
        """
        place = self.leaf_places()[number]
        called = self.leaf_names(labels)[number]
        message = f"argument {called} of {name} must be an array or a number, got"
        if isinstance(leaf, np.ndarray):
            return TraceError(f"{message} an array of {leaf.dtype}")
        if isinstance(leaf, int):
            return TraceError(f"{message} {leaf}, which no type of 64 bits holds; pass a float")
        option = f"static_arg{'nums' if isinstance(place, int) else 'names'}={place!r}"
        return TraceError(
            f"{message} a value of type {type(leaf).__name__}; with {option} the function is "
            "compiled for each value of it"
        )


class Compiled:
    """A function compiled for one signature: takes and returns the same nested structures.

    It can be pickled: whoever unpickles it compiles it again.
    """

    def __init__(self, lowered: "Lowered", executable: "Executable", options: Options | None):
        self.lowered, self.executable, self.options = lowered, executable, options
        self.arguments, self.results = lowered.arguments, lowered.results
        # How calls go that pass static arguments too, as those of a jitted function do, and those
        # that do not.
        self.entry = self._entry_for(self.arguments)
        self._own_entry = self.entry
        if self.arguments.statics:
            self._own_entry = self._entry_for(replace(self.arguments, statics=()))

    def _entry_for(self, arguments: CallSignature) -> Callable[..., Any] | None:
        found = quick_signature(arguments, self.results)
        return None if found is None else self.executable.python_entry(found)

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code is of this process: another compiles again.
        return Lowered.compile, (self.lowered, self.options)

    def __copy__(self) -> "Compiled":
        return self

    def __deepcopy__(self, _: object) -> "Compiled":
        return self  # nothing about it changes

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run with arguments of the structure, shapes and dtypes it was compiled for.

        Static arguments are left out. Python numbers and lists of them become arrays.

        Raises:
            ShapeError: the arguments differ from those it was compiled for.
        """
        try:
            if self._own_entry is not None:
                result = self._own_entry(*args, **named)
                if result is not NotImplemented:
                    return result
            return self.run(self.arrays(*args, **named))
        except Exception as error:
            hide_frames(error)
            raise

    def arrays(self, *args: Any, **named: Any) -> list[np.ndarray]:
        """The array for each leaf of the arguments.

        Raises:
            ShapeError: their structure is not what it was compiled for.
        """
        leaves, structure = tree.flatten((args, named))
        if structure != self.arguments.structure:
            raise ShapeError(self._misfit(structure))
        # A Python number takes the dtype that was compiled for; an array must have it.
        return [
            np.asarray(leaf, dtype) if is_weak(leaf) else as_array(leaf)
            for leaf, (dtype, _, _) in zip(leaves, self.arguments.leaves)
        ]

    def _misfit(self, structure: Structure) -> str:
        """What is wrong with arguments of another structure, as a sentence."""
        expected = self.arguments.structure
        text = f"compiled for arguments of structure {expected}, got {structure}"
        where = tree.difference(expected.children[0], structure.children[0], "arguments")
        return f"{text}: {where}" if where else text

    def run(self, arrays: Sequence[np.ndarray]) -> Any:
        """Run with one array for each leaf; returns the nested result."""
        return tree.unflatten(self.results, self.executable(*arrays))

    @property
    def hlo(self) -> Module:
        """The optimised module."""
        return self.executable.hlo

    @api_boundary
    def as_text(self, stage: str = "hlo") -> str:
        """The program at a stage of its compilation.

        Raises:
            UnsupportedError: the backend has no such stage.
        """
        return self.executable.as_text(stage)

    def memory_analysis(self) -> "MemoryAnalysis":
        """Bytes of arguments, results, temporaries and constants."""
        return self.executable.memory_analysis()

    def cost_analysis(self) -> "CostAnalysis":
        """Arithmetic operations, transcendental functions and bytes moved by one call."""
        return self.executable.cost_analysis()


@dataclass(frozen=True)
class Lowered:
    """A function traced into a module for one signature, not yet compiled.

    The entry has one parameter for each leaf of the arguments, in order, named after the argument;
    its root is always a tuple of the result's leaves.
    """

    hlo: Module
    arguments: CallSignature
    results: Structure
    backend: str

    @api_boundary
    def as_text(self, dialect: str = "hlo") -> str:
        """The module as text: "hlo" or "stablehlo".

        Raises:
            UnsupportedError: another dialect is asked for, or StableHLO has no counterpart.
        """
        return compiler.module_text(self.hlo, dialect)

    @api_boundary
    def compile(self, options: Options | None = None) -> Compiled:
        """Compile for the backend; `options` are taken from the environment when left out.

        Raises:
            UnsupportedError: the backend lacks something that the module needs.
        """
        executable = compiler.compile_whole(self.hlo, self.backend, options)
        return Compiled(self, executable, options)


def quick_signature(arguments: CallSignature, result: Structure) -> "interfaces.Signature | None":
    """What a call is compared with, where that is enough to tell that it fits.

    None for containers of registered classes, and static arguments that are equal when they say so.
    """
    if arguments.structure.holds_registered or result.holds_registered:
        return None
    positional, by_name = arguments.structure.children
    found: list[interfaces.Nest | interfaces.Fixed] = list(positional.children)
    named: dict[str, interfaces.Nest | interfaces.Fixed] = dict(
        zip(map(str, by_name.keys), by_name.children)
    )
    for static in arguments.statics:
        known: interfaces.Nest | interfaces.Fixed
        if isinstance(static.value, ConstantTree):
            if static.value.structure.holds_registered:
                return None
            known = _known(static.value.structure, iter(static.value.leaves))
        elif is_constant(static.value):
            known = interfaces.Fixed(static.value)
        else:
            return None
        if isinstance(static.where, str):
            named[static.where] = known
        else:
            found.insert(static.where, known)
    weak = frozenset(n for n, (_, _, is_weak) in enumerate(arguments.leaves) if is_weak)
    return interfaces.Signature([*found, *named.values()], result, tuple(named), weak)


@dataclass(frozen=True)
class _Known:
    """Containers of certain objects."""

    kind: type | None
    keys: Sequence[Any]
    children: "Sequence[interfaces.Nest | interfaces.Fixed]"


def _known(structure: Structure, leaves: Iterator[Any]) -> "interfaces.Nest | interfaces.Fixed":
    """What a constant argument is compared with: its containers, and in them the very leaves."""
    if structure.is_leaf:
        return interfaces.Fixed(next(leaves))
    children = [_known(child, leaves) for child in structure.children]
    return _Known(structure.kind, structure.keys, children)


def borrowed(leaf: Any) -> Any:
    """What another library holds on the GPU as an array there, in the same memory; else the leaf.

    Raises:
        DriverError: there is no GPU for programs.
        UnsupportedError: it is not row-major, on another GPU, or of a type without a counterpart.
    """
    if isinstance(leaf, Tensor) or not is_on_gpu(leaf):
        return leaf
    return memory.borrowed(driver.current_driver(), leaf)


def as_array(leaf: Any) -> Any:
    """The NumPy array of an argument; one on a device stays there.

    Raises:
        TraceError: it is a Tensor, whose trace must be finished where none is open, or a
            ShapeDtypeStruct.
    """
    if isinstance(leaf, Tensor):
        raise leak(leaf.instruction, leaf.home)
    if isinstance(leaf, ShapeDtypeStruct):
        raise TraceError(f"{leaf} has no elements to run with; it is for lower and eval_shape")
    held = borrowed(leaf)
    return held if isinstance(held, DeviceArray) else np.asarray(held)


def direct_key(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """A key for calls with NumPy arrays alone, quicker than a signature; None for others."""
    for arg in args:
        if type(arg) is not np.ndarray:
            return None
    return tuple([(arg.dtype, arg.shape) for arg in args])


def describe(leaf: Any) -> Leaf:
    """What a signature says of an argument's leaf."""
    if isinstance(leaf, DeviceArray):
        return leaf.dtype, leaf.shape, False
    if isinstance(leaf, (Tensor, np.ndarray)):
        return leaf.dtype, leaf.shape, is_weak(leaf)
    if isinstance(leaf, ShapeDtypeStruct):
        return leaf.dtype, leaf.shape, leaf.weak_type
    array = np.asarray(leaf)
    return array.dtype, array.shape, is_weak(leaf)
