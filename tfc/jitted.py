"""jit: compile a Python function for the shapes and dtypes it is called with.

    @tfc.jit
    def predict(params, x): ...

The first call with a new signature traces and compiles; later calls run. The signature is the
arguments' structure, shapes, dtypes, which of them are Python numbers, and the static values; and
the default precision that is entered (frontend/precision.py), which products are traced with.
Inside another traced function a jitted function becomes an HLO `call`.
"""

import re
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial, update_wrapper
from inspect import Parameter
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tfc.bound import BoundFunction, check_callable, is_found_by_name
from tfc.compiled import (
    CallSignature,
    Compiled,
    Lowered,
    as_array,
    borrowed,
    describe,
    direct_key,
)
from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import Chosen, Names, Numbers, call_python, choose, signature_of
from tfc.frontend.constant_arguments import ConstantTree, arguments_at, constant_argument
from tfc.frontend.precision import Stated, default_precision
from tfc.frontend.program import Abstract, Program, call, trace_function
from tfc.frontend.promotion import NOT_NUMERIC, as_tensor
from tfc.frontend.sharding.mesh import Mesh
from tfc.frontend.sharding.placement import Placed
from tfc.frontend.statics import Static, static
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import current_trace, for_user, open_traces
from tfc.hlo.attributes.sharding import with_partitions
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import Shape, element_type_of
from tfc.options import Options
from tfc.runtime.later import later
from tfc.tracebacks import api_boundary

if TYPE_CHECKING:
    from tfc.passes.analysis import donation
else:
    donation = later("tfc.passes.analysis.donation")

_MOST_QUICK = 4  # entries that a call tries before it takes the arguments apart itself


@dataclass(eq=False)
class _Entry:
    """What the cache holds for one signature; the lock lets one thread make it while others wait.

    It is reentrant, since compiling traces.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    traced: tuple[Program, Computation] | None = None
    compiled: Compiled | None = None


class _Threads(threading.local):
    """The entries whose functions this thread is tracing."""

    def __init__(self) -> None:
        self.tracing: list[_Entry] = []


_thread = _Threads()


class JitFunction:
    """A function that is compiled when called; made by `jit`. Safe to call from any thread."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: Numbers = (),
        donate_argnums: Numbers = (),
        backend: str = "cpu",
        options: Options | None = None,
        *,
        static_argnames: Names = (),
        donate_argnames: Names = (),
        constant_argnums: Numbers = (),
        constant_argnames: Names = (),
    ):
        check_callable(function)
        update_wrapper(self, function)
        self.function, self.backend, self.options = function, backend, options
        self.name = re.sub(r"\W", "_", getattr(function, "__name__", "function"))
        known = signature_of(function)
        self._labels = [p.name for p in known.parameters.values() if p.kind in _PLACES]
        self.static = choose("static", self.name, known, static_argnums, static_argnames)
        self.donated = choose("donate", self.name, known, donate_argnums, donate_argnames)
        self.constant = choose("constant", self.name, known, constant_argnums, constant_argnames)
        if both := self.static & self.donated:
            raise TraceError(f"static arguments hold no memory to donate, got {both}")
        if both := self.constant & self.donated or self.constant & self.static:
            raise TraceError(f"constant arguments cannot be static or donated, got {both}")
        self._entries: dict[CallSignature, _Entry] = {}
        # Calls with nothing but NumPy arrays need only their dtypes and dimensions.
        self._direct: dict[tuple[Any, ...], Compiled] = {}
        # The entries of the signatures that were last new to them, to be tried in this order.
        self._quick: tuple[Callable[..., Any], ...] = ()
        # The same under each default precision that was entered around a call.
        self._quick_under: dict[Stated, tuple[Callable[..., Any], ...]] = {}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function: run it compiled, or emit a call into the function being traced.

        Raises:
            TraceError: the function uses a Tensor in a way that a graph cannot express.
        """
        try:
            if not open_traces.traces:
                default = default_precision.stated
                for entry in self._quick if default is None else self._quick_under.get(default, ()):
                    result = entry(*args, **named) if named else entry(*args)
                    if result is not NotImplemented:
                        return result
            return self._call(args, named)
        except Exception as error:
            for_user(error)
            raise

    @overload
    def __get__(self, instance: None, owner: type) -> "JitFunction": ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        """As a method: the instance becomes the first argument, which is to be static."""
        return self if instance is None else BoundFunction(self, instance)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By name where it is found under its name, as functions are; else the function in it.

        What was compiled is left behind, and made again when it is needed.
        """
        # cloudpickle sends what __main__ defines by value, as another process has another; that it
        # is at work shows in its frame alone.
        caller = sys._getframe(1).f_globals.get("__name__", "")
        is_elsewhere = "cloudpickle" in caller and self.__module__ == "__main__"
        if is_found_by_name(self) and not is_elsewhere:
            return self.__dict__["__qualname__"]
        choices = self.static, self.donated, self.constant
        return _remade, (self.function, self.backend, self.options, *choices)

    def _call(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call with arguments of any form."""
        if current_trace() is not None:
            return self._call_traced(args, named)
        direct = None if named or self.static or self.constant else direct_key(args)
        default = default_precision.stated
        if direct is not None and default is not None:
            direct = *direct, default
        compiled = None if direct is None else self._direct.get(direct)
        if compiled is not None:
            return compiled.run(args)
        compiled, arrays = self.bind(*args, **named)
        self._prefer(compiled.entry)
        if direct is not None:
            self._direct[direct] = compiled
        return compiled.run(arrays)

    def _prefer(self, entry: Callable[..., Any] | None) -> None:
        """Try an entry first from now on, under the default precision that is entered."""
        default = default_precision.stated
        known = self._quick if default is None else self._quick_under.get(default, ())
        if entry is None or entry in known:
            return
        known = entry, *known[: _MOST_QUICK - 1]
        if default is None:
            self._quick = known
        else:
            self._quick_under[default] = known

    def bind(self, *args: Any, **named: Any) -> tuple[Compiled, list[np.ndarray]]:
        """What a call with these arguments runs, and the arrays that it runs it with."""
        leaves, key = self._sign(args, named)
        return self._compile(key), [as_array(leaf) for leaf in leaves]

    def lower(self, *args: Any, **named: Any) -> Lowered:
        """Trace the function for these arguments, of which only shapes and dtypes matter.

        Each array may be a ShapeDtypeStruct.

        Raises:
            TraceError: the function uses a Tensor in a way that a graph cannot express.
        """
        try:
            _, key = self._sign(args, named)
            return self._lower(key)
        except Exception as error:
            for_user(error)
            raise

    def cache_size(self) -> int:
        """The number of signatures, and of default precisions, the function was called with."""
        return len(self._entries)

    def _sign(self, args: Sequence[Any], named: dict[str, Any]) -> tuple[list[Any], CallSignature]:
        """The leaves of the traced arguments, and the signature of the call.

        Raises:
            TraceError: a traced argument is no array, or a static one cannot be hashed.
        """
        statics: list[Static] = []
        for chosen, described_as in ((self.static, static), (self.constant, constant_argument)):
            found = arguments_at(chosen.numbers, chosen.names, args, named)
            statics += [described_as(where, self.name, value) for where, value in found]
        statics.sort(key=lambda s: (isinstance(s.where, str), s.where))
        numbers = {*self.static.numbers, *self.constant.numbers}
        names = self.static.names | self.constant.names
        traced = tuple([a for n, a in enumerate(args) if n not in numbers])
        rest = {k: v for k, v in named.items() if k not in names}
        leaves, structure = tree.flatten((traced, rest))
        leaves = [borrowed(leaf) for leaf in leaves]
        described = tuple(map(describe, leaves))
        key = CallSignature(structure, described, tuple(statics), default_precision.stated)
        for number, (dtype, _, _) in enumerate(described):
            if dtype.kind in NOT_NUMERIC:
                raise key.not_numeric(self.name, self._labels, number, leaves[number])
        return leaves, key

    def _entry(self, key: CallSignature) -> _Entry:
        return self._entries.setdefault(key, _Entry())

    def _compile(self, key: CallSignature) -> Compiled:
        entry = self._entry(key)
        with entry.lock:
            if entry.compiled is None:
                entry.compiled = self._lower(key).compile(self.options)
            return entry.compiled

    def _lower(self, key: CallSignature) -> Lowered:
        program, computation = self._trace(key)
        chosen = {*self.donated.numbers, *self.donated.names}
        donated = [n for n, where in enumerate(key.leaf_places()) if where in chosen]
        attributes = donation.donation_attributes(computation, donated)
        module = with_partitions(Module(f"jit_{self.name}", computation, attributes))
        return Lowered(module, key, program.structure, self.backend)

    def _trace(self, key: CallSignature) -> tuple[Program, Computation]:
        """The traced function and its computation; cached unless it captures outer Tensors.

        Raises:
            TraceError: the function calls itself with the same signature.
        """
        entry = self._entry(key)
        if entry.traced is not None:
            return entry.traced
        if entry in _thread.tracing:
            raise TraceError(
                f"{self.name} calls itself with arguments of the same shapes, so that tracing it "
                "has no end; repeat with tfc.while_loop or tfc.fori_loop, or count down a static "
                "argument"
            )
        # Within a trace others may wait for this thread: to wait for them could last forever.
        is_locked = entry.lock.acquire(blocking=current_trace() is None)
        _thread.tracing.append(entry)
        try:
            if entry.traced is not None:
                return entry.traced
            program = self._program(key)
            traced = program, program.computation()
            if not program.captures:
                entry.traced = traced
            return traced
        finally:
            _thread.tracing.remove(entry)
            if is_locked:
                entry.lock.release()

    def _program(self, key: CallSignature) -> Program:
        names = [re.sub(r"\W+", "_", n).strip("_") for n in key.leaf_names(self._labels)]
        arguments = [
            Abstract(Shape(element_type_of(dtype), dims), weak) for dtype, dims, weak in key.leaves
        ]
        return trace_function(
            self.name, lambda *tensors: self._call_python(key, tensors), arguments, names
        )

    def _call_python(self, key: CallSignature, tensors: Sequence[Tensor]) -> Any:
        """The function itself, with Tensors in place of the traced arguments."""
        traced, named = tree.unflatten(key.structure, tensors)
        args = list(traced)
        for argument in key.statics:
            value: Any = argument.value
            if isinstance(value, ConstantTree):
                value = value.value
            if isinstance(argument.where, int):
                args.insert(argument.where, value)
            else:
                named[argument.where] = value
        return call_python(self.function, *args, **named)

    def _call_traced(self, args: Sequence[Any], named: dict[str, Any]) -> Any:
        """Emit a call into the current trace; what the function captures is passed along."""
        leaves, key = self._sign(args, named)
        program, computation = self._trace(key)
        operands = [as_tensor(leaf) for leaf in leaves]
        operands += [ops.wrap(captured) for captured in program.captures]
        results = call(computation, operands)
        weak = [r.weak for r in program.results]
        return tree.unflatten(
            program.structure, [Tensor(r.instruction, r.home, w) for r, w in zip(results, weak)]
        )


_PLACES = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def _remade(
    function: Callable[..., Any],
    backend: str,
    options: Options | None,
    static: Chosen,
    donated: Chosen,
    constant: Chosen,
) -> JitFunction:
    """The JitFunction that was pickled: one for all copies where the function is always there."""
    make = _shared if is_found_by_name(function) else JitFunction
    return make(
        function, static.numbers, donated.numbers, backend, options,
        static_argnames=static.names, donate_argnames=donated.names,
        constant_argnums=constant.numbers, constant_argnames=constant.names,
    )  # fmt: skip


@cache
def _shared(*args: Any, **named: Any) -> JitFunction:
    return JitFunction(*args, **named)


@overload
def jit(
    function: Callable[..., Any],
    static_argnums: Numbers = (),
    donate_argnums: Numbers = (),
    backend: str = "cpu",
    options: Options | None = None,
    *,
    static_argnames: Names = (),
    donate_argnames: Names = (),
    constant_argnums: Numbers = (),
    constant_argnames: Names = (),
    mesh: Mesh | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
) -> JitFunction: ...
@overload
def jit(
    function: None = None,
    static_argnums: Numbers = (),
    donate_argnums: Numbers = (),
    backend: str = "cpu",
    options: Options | None = None,
    *,
    static_argnames: Names = (),
    donate_argnames: Names = (),
    constant_argnums: Numbers = (),
    constant_argnames: Names = (),
    mesh: Mesh | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
) -> Callable[[Callable[..., Any]], JitFunction]: ...
@api_boundary
def jit(
    function: Callable[..., Any] | None = None,
    static_argnums: Numbers = (),
    donate_argnums: Numbers = (),
    backend: str = "cpu",
    options: Options | None = None,
    *,
    static_argnames: Names = (),
    donate_argnames: Names = (),
    constant_argnums: Numbers = (),
    constant_argnames: Names = (),
    mesh: Mesh | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """Compile a function when it is called: jit(f), @jit, or @jit(backend="gpu").

    Arguments may be arrays, Python numbers, and dicts, lists and tuples of them; results likewise.
    The value of a Python integer is not part of the program: where it meets an array of fewer bits,
    it wraps around, as in JAX; one that the function knows (static, or its own) is an error if it
    does not fit, as in NumPy. A method is decorated by @partial(jit, static_argnums=0): the
    function is then compiled for each object, told apart by its class's __eq__, and what it reads
    of it must not change.

    Args:
        static_argnums: arguments that are Python values to the function, not arrays: hashable;
            the function is compiled again for each value. Negative numbers count from the end.
        donate_argnums: arguments whose memory the caller gives up: results of their shape and dtype
            are written there, and what is returned is that very array where it is writable, row-
            major and no part of another argument (else a copy of it). A donated array must not be
            used after the call, as in JAX, which leaves it deleted; here its values are undefined.
        constant_argnums: arguments whose arrays stay the same from call to call, such as weights:
            they become part of the program, which is compiled again for others, and kernels find
            them arranged as they read them. They are told apart by identity, and must be read-only.
        static_argnames, donate_argnames, constant_argnames: the same by name, also for arguments
            that are only passed by name. A number stands for the name of its argument and a name
            for its number.
        backend: "cpu", "gpu", "interpreter", or one that another package offers.
        options: how to compile; taken from the environment when left out.
        mesh: the devices of PartitionSpecs in the shardings.
        in_shardings: for all positional arguments, or a tuple with an entry for each, which may be
            a prefix of its structure: a PartitionSpec or NamedSharding, the parts of the argument
            that devices hold; or None, which leaves that to the compiler.
        out_shardings: of the result, likewise. The function is then computed by all devices, and
            the arrays that are passed and returned are whole all the same.

    Raises:
        TraceError: a number or a name that is no argument's, or what is to be compiled is no
            function.
    """
    make = partial(
        JitFunction, static_argnums=static_argnums, static_argnames=static_argnames,
        donate_argnums=donate_argnums, donate_argnames=donate_argnames,
        constant_argnums=constant_argnums, constant_argnames=constant_argnames,
        backend=backend, options=options,
    )  # fmt: skip
    make = partial(_placed, make, mesh, in_shardings, out_shardings)
    return api_boundary(make) if function is None else make(function)


def _placed(
    make: Callable[..., JitFunction], mesh: Mesh | None, inputs: Any, results: Any, function: Any
) -> JitFunction:
    """A function jitted, as a program for the devices of a mesh if there are shardings."""
    if inputs is None and results is None:
        return make(function)
    check_callable(function)
    return make(Placed(function, mesh, inputs, results))
