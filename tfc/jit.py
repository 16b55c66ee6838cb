"""jit: compile a Python function for the shapes and dtypes it is called with.

    @tfc.jit
    def predict(params, x): ...

The first call with a new signature traces and compiles; later calls run. The signature is the
arguments' structure, shapes, dtypes, which of them are Python numbers, and the static values.
Inside another traced function a jitted function becomes an HLO `call`.
"""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from inspect import Parameter, signature
from typing import Any, overload

import numpy as np

from tfc.compiled import Compiled, Leaf, Lowered, Signature, as_array
from tfc.errors import TfcError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.program import Abstract, Program, call, trace_function
from tfc.frontend.promotion import NOT_NUMERIC, as_tensor
from tfc.frontend.tensor import Tensor, is_weak
from tfc.frontend.trace import current_trace, locate, open_traces
from tfc.frontend.tree import Structure
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import Shape, element_type_of
from tfc.options import Options
from tfc.passes.donation import donation_attributes

_MOST_QUICK = 4  # entries that a call tries before it takes the arguments apart itself


@dataclass
class _Entry:
    """What the cache holds for one signature; the lock lets one thread make it while others wait.

    It is reentrant, since a function may call itself with other static values.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    traced: tuple[Program, Computation] | None = None
    compiled: Compiled | None = None


class JitFunction:
    """A function that is compiled when called; made by `jit`. Safe to call from any thread."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: int | Sequence[int] = (),
        donate_argnums: int | Sequence[int] = (),
        backend: str = "cpu",
        options: Options | None = None,
    ):
        update_wrapper(self, function)
        self.function, self.backend, self.options = function, backend, options
        self.name = re.sub(r"\W", "_", getattr(function, "__name__", "function"))
        self._parameters = _parameters(function)
        self.static_argnums = self._positions("static_argnums", static_argnums)
        self.donate_argnums = self._positions("donate_argnums", donate_argnums)
        if both := set(self.static_argnums) & set(self.donate_argnums):
            raise TraceError(f"static arguments hold no memory to donate, got {sorted(both)}")
        self._entries: dict[Signature, _Entry] = {}
        # Calls with nothing but NumPy arrays need only their dtypes and dimensions.
        self._direct: dict[tuple[Any, ...], Compiled] = {}
        # The entries of the signatures that were last new to them, to be tried in this order.
        self._quick: tuple[Callable[..., Any], ...] = ()

    def _positions(self, what: str, numbers: int | Sequence[int]) -> tuple[int, ...]:
        listed = (numbers,) if isinstance(numbers, int) else tuple(numbers)
        count = len(self._parameters)
        is_open = any(p.kind is Parameter.VAR_POSITIONAL for p in self._parameters)
        for number in listed:
            if number < -count or (number >= count and not is_open):
                raise TraceError(
                    f"{what} of {self.name} must be among its {count} arguments, got {number}"
                )
        return tuple(sorted({n % count if n < 0 else n for n in listed}))

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function: run it compiled, or emit a call into the function being traced.

        Raises:
            TraceError: the function uses a Tensor in a way that a graph cannot express.
        """
        if not named and not open_traces.traces:
            for entry in self._quick:
                result = entry(*args)
                if result is not NotImplemented:
                    return result
        return self._call(args, named)

    def _call(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call with arguments of any form."""
        try:
            if current_trace() is not None:
                return self._call_traced(args, named)
            direct = None if named or self.static_argnums else _direct_key(args)
            compiled = None if direct is None else self._direct.get(direct)
            if compiled is not None:
                return compiled.run(args)
            compiled, arrays = self.bind(*args, **named)
            self._prefer(compiled.entry)
            if direct is not None:
                self._direct[direct] = compiled
            return compiled.run(arrays)
        except TfcError as error:
            locate(error)
            raise

    def _prefer(self, entry: Callable[..., Any] | None) -> None:
        """Try an entry first from now on."""
        if entry is not None and entry not in self._quick:
            self._quick = (entry, *self._quick[: _MOST_QUICK - 1])

    def bind(self, *args: Any, **named: Any) -> tuple[Compiled, list[np.ndarray]]:
        """What a call with these arguments runs, and the arrays that it runs it with."""
        leaves, key = self._sign(args, named)
        return self._compile(key), [as_array(leaf) for leaf in leaves]

    def lower(self, *args: Any, **named: Any) -> Lowered:
        """Trace the function for these arguments, of which only shapes and dtypes matter.

        Raises:
            TraceError: the function uses a Tensor in a way that a graph cannot express.
        """
        try:
            _, key = self._sign(args, named)
            return self._lower(key)
        except TfcError as error:
            locate(error)
            raise

    def cache_size(self) -> int:
        """The number of signatures the function was called with."""
        return len(self._entries)

    def _sign(self, args: Sequence[Any], named: dict[str, Any]) -> tuple[list[Any], Signature]:
        """The leaves of the traced arguments, and the signature of the call."""
        known = self._parameters
        static_names = {known[i].name for i in self.static_argnums if len(args) <= i < len(known)}
        statics = [(i, type(args[i]), args[i]) for i in self.static_argnums if i < len(args)]
        statics += [(k, type(v), v) for k, v in sorted(named.items()) if k in static_names]
        for where, _, value in statics:
            if type(value).__hash__ is None:
                raise TraceError(
                    f"static argument {where} of {self.name} must be hashable, got "
                    f"{type(value).__name__}; pass a tuple, or a number"
                )
        traced = tuple(a for i, a in enumerate(args) if i not in self.static_argnums)
        rest = {k: v for k, v in named.items() if k not in static_names}
        leaves, structure = tree.flatten((traced, rest))
        return leaves, Signature(structure, tuple(map(_describe, leaves)), tuple(statics))

    def _entry(self, key: Signature) -> _Entry:
        return self._entries.setdefault(key, _Entry())

    def _compile(self, key: Signature) -> Compiled:
        entry = self._entry(key)
        with entry.lock:
            if entry.compiled is None:
                entry.compiled = self._lower(key).compile(self.options)
            return entry.compiled

    def _lower(self, key: Signature) -> Lowered:
        program, computation = self._trace(key)
        positions = [i for i in range(len(self._parameters) + len(key.structure.children[0].keys))
                     if i not in self.static_argnums]  # fmt: skip
        donated = _leaves_of(key.structure.children[0], positions, self.donate_argnums)
        attributes = donation_attributes(computation, donated)
        module = Module(f"jit_{self.name}", computation, attributes)
        return Lowered(module, key, program.structure, self.backend)

    def _trace(self, key: Signature) -> tuple[Program, Computation]:
        """The traced function and its computation; cached unless it captures outer Tensors."""
        entry = self._entry(key)
        with entry.lock:
            if entry.traced is not None:
                return entry.traced
            names = [re.sub(r"\W+", "_", n).strip("_") for n in self._leaf_names(key)]
            arguments = []
            for name, (dtype, dims, weak) in zip(names, key.leaves):
                if dtype.kind in NOT_NUMERIC:
                    raise TraceError(
                        f"argument {name} of {self.name} must be an array or a number; name it in "
                        "static_argnums if the function is to be compiled for each of its values"
                    )
                arguments.append(Abstract(Shape(element_type_of(dtype), dims), weak))
            program = trace_function(
                self.name, lambda *tensors: self._call_python(key, tensors), arguments, names
            )
            traced = program, program.computation()
            if not program.captures:
                entry.traced = traced
            return traced

    def _call_python(self, key: Signature, tensors: Sequence[Tensor]) -> Any:
        """The function itself, with Tensors in place of the traced arguments."""
        traced, named = tree.unflatten(key.structure, tensors)
        args = list(traced)
        for where, _, value in key.statics:
            if isinstance(where, int):
                args.insert(where, value)
            else:
                named[where] = value
        return self.function(*args, **named)

    def _leaf_names(self, key: Signature) -> list[str]:
        """What each traced leaf is called: x, params_w, layers_0_w …"""
        positional, named = key.structure.children
        known = [p.name for p in self._parameters if p.kind is not Parameter.VAR_POSITIONAL]
        count = len(positional.children) + len(self.static_argnums)
        labels = [known[i] if i < len(known) else f"arg{i}" for i in range(count)]
        traced = [label for i, label in enumerate(labels) if i not in self.static_argnums]
        found = [n for c, label in zip(positional.children, traced) for n in tree.paths(c, label)]
        return found + [
            n for k, c in zip(named.keys, named.children) for n in tree.paths(c, str(k))
        ]

    def _call_traced(self, args: Sequence[Any], named: dict[str, Any]) -> Any:
        """Emit a call into the current trace; what the function captures is passed along."""
        leaves, key = self._sign(args, named)
        program, computation = self._trace(key)
        operands = [as_tensor(leaf) for leaf in leaves]
        operands += [ops.wrap(captured) for captured in program.captures]
        results = call(computation, operands)
        weak = [r.weak for r in program.results]
        return tree.unflatten(
            program.structure, [Tensor(r.instruction, r.trace, w) for r, w in zip(results, weak)]
        )


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    """The positional parameters of a function; none where Python cannot tell."""
    try:
        found = signature(function).parameters.values()
    except (TypeError, ValueError):
        return [Parameter("args", Parameter.VAR_POSITIONAL)]
    return [p for p in found if p.kind not in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD)]


def _direct_key(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """A key for calls with NumPy arrays alone, quicker than a signature; None for others."""
    for arg in args:
        if type(arg) is not np.ndarray:
            return None
    return tuple([(arg.dtype, arg.shape) for arg in args])


def _describe(leaf: Any) -> Leaf:
    if isinstance(leaf, (Tensor, np.ndarray)):
        return leaf.dtype, leaf.shape, is_weak(leaf)
    array = np.asarray(leaf)
    return array.dtype, array.shape, is_weak(leaf)


def _leaves_of(positional: Structure, positions: Sequence[int], chosen: Sequence[int]) -> list[int]:
    """The numbers of the leaves that lie in the chosen arguments."""
    found, start = [], 0
    for position, child in zip(positions, positional.children):
        count = len(tree.paths(child))
        if position in chosen:
            found.extend(range(start, start + count))
        start += count
    return found


@overload
def jit(
    function: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    donate_argnums: int | Sequence[int] = (),
    backend: str = "cpu",
    options: Options | None = None,
) -> JitFunction: ...
@overload
def jit(
    function: None = None,
    static_argnums: int | Sequence[int] = (),
    donate_argnums: int | Sequence[int] = (),
    backend: str = "cpu",
    options: Options | None = None,
) -> Callable[[Callable[..., Any]], JitFunction]: ...
def jit(
    function: Callable[..., Any] | None = None,
    static_argnums: int | Sequence[int] = (),
    donate_argnums: int | Sequence[int] = (),
    backend: str = "cpu",
    options: Options | None = None,
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """Compile a function when it is called: jit(f), @jit, or @jit(backend="gpu").

    Arguments may be arrays, Python numbers, and dicts, lists and tuples of them; results likewise.

    Args:
        static_argnums: arguments that are Python values to the function, not arrays: hashable;
            the function is compiled again for each value.
        donate_argnums: arguments whose memory the caller gives up: results of their shape and dtype
            are written there, and what is returned is that very array where it is writable, row-
            major and no part of another argument (else a copy of it). A donated array must not be
            used after the call, as in JAX, which leaves it deleted; here its values are undefined.
        backend: "cpu", "gpu", "interpreter", or one that another package offers.
        options: how to compile; taken from the environment when left out.

    Raises:
        TraceError: a number in static_argnums or donate_argnums that is no argument.
    """
    if function is None:
        return lambda decorated: JitFunction(
            decorated, static_argnums, donate_argnums, backend, options
        )
    return JitFunction(function, static_argnums, donate_argnums, backend, options)
