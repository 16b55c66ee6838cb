"""Functions of JAX as users get them: of trees of arrays, for one set of sizes or for many."""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TfcError
from tfc.frontend.abstract import ShapeDtypeStruct
from tfc.frontend.tensor import Tensor
from tfc.hlo.ir import Module
from tfc.hlo.shape import S32, Shape, element_type_of
from tfc.imported import Convention, ImportedFunction, read_stablehlo
from tfc.importers.graph import Port
from tfc.importers.jax.sizes import size_of, symbols
from tfc.jitted import jit
from tfc.options import Options
from tfc.tracebacks import api_boundary

# JAX without its 64-bit mode takes arrays of the wide types as those of the narrow ones.
_NARROWER = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in {"float64": "float32", "complex128": "complex64", "int64": "int32",
                         "uint64": "uint32"}.items()
}  # fmt: skip


@dataclass(frozen=True)
class Held:
    """The argument that holds a model's parameters.

    where: its place, or its name.
    numbers: which leaves of all arguments are its own, and `names` what they are called.
    """

    where: int | str
    numbers: tuple[int, ...]
    names: tuple[str, ...]


class JaxFunction:
    """A function of JAX, called with its own arguments, nested as they are.

    It is compiled once for each choice of the sizes that were left open. In a function that is
    being traced it becomes part of that, so that it can be differentiated.

    file: what to call it in messages.
    parameters: the arrays of the argument that holds them, by their paths; none where nothing says
        which argument that is.
    """

    def __init__(
        self,
        exported: Any,
        file: str,
        held: Held | None = None,
        parameters: Mapping[str, np.ndarray] | None = None,
        shapes: Mapping[str, Any] | None = None,
        backend: str = "cpu",
        options: Options | None = None,
    ):
        self.file, self.backend, self.options = file, backend, options
        self.parameters: dict[str, np.ndarray] = dict(parameters or {})
        self.__name__ = exported.fun_name
        self._exported, self._held = exported, held
        self._convention = Convention.of(exported)
        self._avals = tuple(exported.in_avals)
        self._sizes = [_sizes(aval) for aval in self._avals]
        self._state(shapes or {})
        self._made: dict[tuple[Shape, ...], ImportedFunction] = {}
        self._lock = threading.Lock()

    # --- calls --------------------------------------------------------------------------------

    @api_boundary
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function, or make it part of the one that is being traced.

        Raises:
            ShapeError: the arguments are nested otherwise, or have other dtypes or sizes.
            UnsupportedError: the program has something that has no counterpart.
        """
        tree = self._convention.in_tree
        leaves = self._convention.leaves_of(args, named)
        given = [_as_jax(leaf, aval) for leaf, aval in zip(leaves, self._avals)]
        args, named = tree.unflatten(given)
        return self._program(tuple(_dims(leaf) for leaf in given))(*args, **named)

    def function(self, parameters: Mapping[str, Any], /, *inputs: Any, **named: Any) -> Any:
        """The function of its parameters by name, and of its other arguments.

        Args:
            parameters: arrays or Tensors under names of `parameters`; its own for those left out.

        Raises:
            TfcError: there is no such parameter.
        """
        if unknown := set(parameters) - set(self.parameters):
            raise TfcError(f"{self.file} has no parameter '{min(unknown)}'")
        if self._held is None:
            return self(*inputs, **named)
        values = {**self.parameters, **parameters}
        leaves: list[Any] = [None] * len(self._avals)
        for number, name in zip(self._held.numbers, self._held.names):
            leaves[number] = values[name]
        positional, by_name = self._convention.in_tree.unflatten(leaves)
        where = self._held.where
        if isinstance(where, str):
            return self(*inputs, **{**named, where: by_name[where]})
        return self(*inputs[:where], positional[where], *inputs[where:], **named)

    def _program(self, dims: tuple[tuple[int, ...], ...]) -> ImportedFunction:
        """The program for arguments of these sizes."""
        kept = self._exported.module_kept_var_idx
        before = [Shape(S32, ())] * len(self._convention.platform)
        shapes = (*before, *(_shape(self._avals[n], dims[n]) for n in kept))
        with self._lock:
            if shapes not in self._made:
                self._check(dims)
                stated = list(shapes) if self.symbols else None
                module = read_stablehlo(self._exported, self.file, stated)
                self._made[shapes] = ImportedFunction(
                    module, self.backend, self.options, self._convention
                )
            return self._made[shapes]

    def _check(self, dims: tuple[tuple[int, ...], ...]) -> None:
        """Refuse sizes that differ from those stated; symbols may be anything that is consistent.

        Raises:
            ShapeError: some do.
        """
        known: dict[str, int] = {}
        pairs = list(zip(self._sizes, dims, self._convention.paths))
        for sizes, found, _ in pairs:
            known |= {s: n for s, n in zip(sizes, found) if isinstance(s, str) and s.isidentifier()
                      and s not in known}  # fmt: skip
        if empty := [name for name, size in known.items() if size < 1]:
            raise ShapeError(f"the size '{min(empty)}' of {self.file} must be 1 or more, got 0")
        for sizes, found, path in pairs:
            stated = tuple(size_of(s, known) for s in sizes)
            fits = len(stated) == len(found) and all(
                isinstance(s, str) or s == n for s, n in zip(stated, found)
            )
            if not fits:
                says = ",".join(map(str, sizes))
                raise ShapeError(f"{path} must have the sizes [{says}], got {list(found)}")

    # --- what it is ---------------------------------------------------------------------------

    def _state(self, shapes: Mapping[str, Any]) -> None:
        """Put in sizes that a user gives: those of symbols.

        Raises:
            ShapeError: there is no such symbol.
        """
        self.symbols = symbols(s for sizes in self._sizes for s in sizes)
        for name, size in shapes.items():
            if name not in self.symbols or not isinstance(size, int):
                known = ", ".join(sorted(self.symbols)) or "none"
                raise ShapeError(f"{self.file} has no open size '{name}'; its open sizes: {known}")
        self._shapes = dict(shapes)
        self._stated = [self._known(sizes) for sizes in self._sizes]

    def _known(self, sizes: tuple[int | str, ...]) -> tuple[int | str, ...]:
        """Sizes, as far as those of their symbols are given."""
        return tuple(size_of(s, self._shapes) for s in sizes)

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The arrays that it takes beside its parameters."""
        own = set(self._held.numbers) if self._held else set()
        return tuple(self._port(n) for n in range(len(self._avals)) if n not in own)

    def _port(self, number: int) -> Port:
        dims = self._stated[number]
        return Port(self._convention.paths[number], dtype_of(self._avals[number]), dims)

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The arrays that it gives."""
        return tuple(
            Port(f"result {n}", dtype_of(aval), self._known(_sizes(aval)))
            for n, aval in enumerate(self._exported.out_avals)
        )

    @property
    def hlo(self) -> Module:
        """The module, with the parameters as constants.

        Raises:
            ShapeError: sizes are open.
        """
        return self.lower().hlo

    @api_boundary
    def lower(self, *inputs: Any, **named: Any) -> Any:
        """The function for inputs of given shapes, lowered as by `tfc.jit(…).lower`.

        The parameters are constants of it.

        Args:
            inputs, named: arguments, or ShapeDtypeStructs in their place; those that the function
                was exported with when left out.

        Raises:
            ShapeError: sizes are open.
        """
        if not inputs and not named:
            inputs, named = self._examples()

        def called(*args: Any, **given: Any) -> Any:
            return self.function({}, *args, **given)

        called.__name__ = called.__qualname__ = self.__name__
        return jit(called, backend=self.backend, options=self.options).lower(*inputs, **named)

    def _examples(self) -> Any:
        """ShapeDtypeStructs of the arguments other than the parameters."""
        made = []
        for number, dims in enumerate(self._stated):
            sizes = tuple(d for d in dims if isinstance(d, int))
            if len(sizes) < len(dims):
                raise ShapeError(
                    f"{self._port(number)} has open sizes: give them by "
                    f"shapes={{'{min(self.symbols)}': …}}, or --shape {min(self.symbols)}=… on the "
                    "command line"
                )
            made.append(ShapeDtypeStruct(sizes, dtype_of(self._avals[number])))
        positional, named = self._convention.in_tree.unflatten(made)
        if self._held is None:
            return positional, named
        if isinstance(self._held.where, str):
            return positional, {k: v for k, v in named.items() if k != self._held.where}
        return [v for n, v in enumerate(positional) if n != self._held.where], named

    def operators(self) -> Counter[str]:
        """How often each of HLO's operations occurs.

        Raises:
            ShapeError: sizes are open.
        """
        instructions = (i for c in self.hlo.computations for i in c.instructions)
        return Counter(i.opcode for i in instructions if i.opcode not in ("parameter", "constant"))

    def unsupported(self) -> tuple[str, ...]:
        """None: a program with operations that have no counterpart is refused when it is read."""
        return ()

    def __repr__(self) -> str:
        return f"<JaxFunction {self.__name__} ({', '.join(map(str, self.inputs))})>"


def _sizes(aval: Any) -> tuple[int | str, ...]:
    return tuple(d if isinstance(d, int) else str(d) for d in aval.shape)


def dtype_of(aval: Any) -> np.dtype:
    """The dtype of an array; of keys of random numbers, that of their bits."""
    name = str(aval.dtype)
    return np.dtype(np.uint32) if name.startswith("key<") else element_type_of(name).dtype


def _shape(aval: Any, dims: tuple[int, ...]) -> Shape:
    return Shape(element_type_of(dtype_of(aval)), dims)


def _dims(leaf: Any) -> tuple[int, ...]:
    return tuple(leaf.shape) if hasattr(leaf, "shape") else np.shape(leaf)


def _as_jax(leaf: Any, aval: Any) -> Any:
    """An argument as JAX takes it: of a wide type where the program's is the narrow one, that."""
    if isinstance(leaf, Tensor) or not isinstance(leaf, (np.ndarray, np.generic)):
        return leaf
    narrow = _NARROWER.get(leaf.dtype)
    return leaf.astype(narrow) if narrow is not None and narrow == dtype_of(aval) else leaf
