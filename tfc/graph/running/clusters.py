"""Clusters: operations of a run that are compiled together, for each shape of what they get.

    inputs, variables ──► program ──► outputs, variables written

The program is made when a cluster first meets arrays of these shapes. It takes the variables that
its operations may read as arguments and gives those that they write as results; random numbers
depend on the number of the run, which is an argument too, so that one program serves all runs.
Arrays go from one step of a run to the next as they are: nothing is copied.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfc.errors import UnsupportedError
from tfc.frontend.precision import default_precision
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor as Traced
from tfc.frontend.trace import outside_traces
from tfc.graph import errors
from tfc.graph.evaluation import evaluate
from tfc.graph.graph import Graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.running.dumps import compile_with_dumps
from tfc.graph.running.effects import Effects
from tfc.graph.running.placing import Placing
from tfc.graph.running.state import State
from tfc.hlo.ir import Computation, Module, callees_first
from tfc.hlo.shape import Shape, element_type_of

_MOST_PROGRAMS = 256  # of a cluster: the oldest is dropped
# Bytes of a variable that is replaced in its own memory. That is never quicker than new memory, as
# what reads the old value has to come first or be copied: it is for those of which two are many.
_LEAST_DONATED = 1 << 28


class NotCompiledError(Exception):
    """No program can be made of a cluster.

    operation: the one that cannot be compiled; None if it is not known which.
    """

    def __init__(self, operation: Operation | None, reason: Exception):
        super().__init__(str(reason))
        self.operation, self.reason = operation, reason


@dataclass(frozen=True)
class Program:
    """A cluster compiled for some shapes.

    call: takes the inputs, the variables that have values and, if it `draws`, the number of the
        run; gives the results.
    outputs: for each output, which result it is, or else the array that it always is.
    writes: for each variable that is written, its name and what it becomes, likewise.
    """

    call: Callable[..., Sequence[np.ndarray]]
    draws: bool
    outputs: tuple[int | np.ndarray, ...]
    writes: tuple[tuple[str, int | np.ndarray], ...]
    in_order: bool  # whether the outputs are the first results, in their order


@dataclass(eq=False)
class Cluster:
    """Operations that are compiled together.

    name: what its programs are called.
    operations: in the order of the run.
    inputs: tensors from elsewhere. constants: the numbers of those whose values decide shapes or
        axes, so that a program is for some values of them.
    outputs: tensors that are fetched, or that other steps need.
    variables: the names of those that it may read or write.
    known: tensors whose values never change.
    placing: what chose its operations.
    programs: by what arrays they are for; in their place the reason where none can be made.
    splits: the steps in place of the cluster, by the operation that cannot be compiled.
    """

    name: str
    operations: tuple[Operation, ...]
    inputs: tuple[Tensor, ...]
    constants: tuple[int, ...]
    outputs: tuple[Tensor, ...]
    variables: tuple[str, ...]
    known: Mapping[Tensor, Any]
    state: State
    placing: Placing
    programs: dict[Any, Any] = field(default_factory=dict)
    splits: dict[Any, Any] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def title(self) -> str:
        """Its name as TensorFlow's XLA writes it."""
        count = len(self.constants)
        return f"{self.name}[_XlaCompiledKernel=true,_XlaNumConstantArgs={count}]"

    def run(self, arrays: Sequence[np.ndarray], count: int) -> Sequence[Any]:
        """The outputs for inputs, in the run of this number; variables are read and written.

        Raises:
            NotCompiledError: no program can be made of it for arrays of these shapes.
            OpError: an operation does not take such arrays.
        """
        if not self.variables:
            return self._run(self._program(arrays, ()), arrays, count)
        with self.state.lock:
            stored = self.state.variables
            held = [stored[name] for name in self.variables if name in stored]
            program = self._program(arrays, held)
            return self._run(program, [*arrays, *held], count)

    def _run(self, program: Program, arrays: Sequence[np.ndarray], count: int) -> Sequence[Any]:
        if program.draws:
            results = program.call(*arrays, np.array(count, np.uint32))
        else:
            results = program.call(*arrays)
        for name, made in program.writes:
            is_result = type(made) is int
            self.state.variables[name] = results[made] if is_result else np.array(made)
        if program.in_order:
            return results
        return [results[x] if type(x) is int else np.array(x) for x in program.outputs]

    def _program(self, arrays: Sequence[np.ndarray], held: Sequence[np.ndarray]) -> Program:
        """The program for inputs and for the variables that have values."""
        shapes = tuple([a.shape for a in arrays]), tuple([a.shape for a in held])
        key: Any = *shapes, default_precision.stated
        if len(held) < len(self.variables):
            key = *key, tuple([name in self.state.variables for name in self.variables])
        if self.constants:
            key = *key, *[arrays[n].tobytes() for n in self.constants]
        found = self.programs.get(key)
        if found is None:
            with self.lock:
                found = self.programs.get(key)
                if found is None:
                    found = self.programs[key] = self._made(arrays)
                    if len(self.programs) > _MOST_PROGRAMS:
                        del self.programs[next(iter(self.programs))]
        if isinstance(found, NotCompiledError):
            raise NotCompiledError(found.operation, found.reason)
        return found

    def _made(self, arrays: Sequence[np.ndarray]) -> Program | NotCompiledError:
        with outside_traces():
            tracing = _Tracing(self, arrays)
            try:
                return tracing.compiled()
            except (errors.OpError, UnsupportedError) as error:
                reason = error.__cause__ or error
                is_limit = isinstance(reason, (NotImplementedError, TypeError))
                if not is_limit and not _holds_graphs(tracing.operation):
                    raise  # the user's mistake, which is one however it is run
                return NotCompiledError(tracing.operation, error)


class _Tracing:
    """The tracing of a cluster for arrays of some shapes."""

    def __init__(self, cluster: Cluster, arrays: Sequence[np.ndarray]):
        self.cluster, self.arrays = cluster, arrays
        stored = cluster.state.variables
        self.variables = [name for name in cluster.variables if name in stored]
        self.held = [stored[name] for name in self.variables]
        self.effects: Effects | None = None
        self.results: list[Traced] = []
        self.outputs: list[int | np.ndarray] = []
        self.writes: list[tuple[str, int | np.ndarray]] = []

    @property
    def operation(self) -> Operation | None:
        """The operation at hand."""
        return None if self.effects is None else self.effects.operation

    def compiled(self) -> Program:
        """The cluster's program."""
        count = np.zeros((), np.uint32)
        arguments = [
            Abstract(Shape(element_type_of(a.dtype), a.shape))
            for a in (*self.arrays, *self.held, count)
        ]
        names = [_word(x.name) for x in self.cluster.inputs]
        names += [_word(name) for name in self.variables]
        traced = trace_function(self.cluster.name, self._call, arguments, [*names, "run"])
        assert self.effects is not None
        if not self.effects.draws:
            traced.trace.parameters.pop()
        computation = traced.computation()
        module = Module(self.cluster.name, computation, self._donation(computation))
        self.effects.operation = None  # whatever fails from here on is no operation's doing
        executable = compile_with_dumps(module, self.cluster.title, self.cluster.state)
        outputs = tuple(self.outputs)
        return Program(
            executable,
            self.effects.draws,
            outputs,
            tuple(self.writes),
            [x if type(x) is int else None for x in outputs]
            == list(range(len(executable.result_shapes))),
        )

    def _call(self, *tensors: Traced) -> list[Traced]:
        """Compute the operations on Tensors of the trace; what is known stays an array."""
        inputs = self.cluster.inputs
        values: dict[Tensor, Any] = dict(self.cluster.known)
        values.update(zip(inputs, tensors))
        values.update((inputs[n], self.arrays[n]) for n in self.cluster.constants)
        held = dict(zip(self.variables, tensors[len(inputs) :]))
        self.effects = Effects(held, tensors[-1])
        evaluate(self.cluster.operations, values, self.effects)
        self.outputs = [self._result(values[x]) for x in self.cluster.outputs]
        self.writes = [(k, self._result(x)) for k, x in self.effects.written.items()]
        return self.results

    def _result(self, value: Any) -> int | np.ndarray:
        """The number of the result that gives a value; the array itself if it is known."""
        if not isinstance(value, Traced):
            return np.asarray(value)
        self.results.append(as_tensor(value))
        return len(self.results) - 1

    def _donation(self, computation: Computation) -> tuple[tuple[str, str], ...]:
        """Which variables are replaced in their own memory: large ones, where nothing can fail."""
        computations = callees_first(computation)
        if any(i.opcode == "custom-call" for c in computations for i in c.instructions):
            return ()
        pairs: list[str] = []
        for name, result in self.writes:
            if not isinstance(result, int) or name not in self.variables:
                continue
            place = self.variables.index(name)
            array, made = self.held[place], self.results[result]
            is_alike = array.shape == made.shape and array.dtype == made.dtype
            if is_alike and array.nbytes >= _LEAST_DONATED:
                pairs.append(f"{{{result}}}: ({len(self.arrays) + place}, {{}}, may-alias)")
        return (("input_output_alias", f"{{ {', '.join(pairs)} }}"),) if pairs else ()


def _holds_graphs(op: Operation | None) -> bool:
    """Whether an operation runs subgraphs: loops' shapes may change where they are not compiled."""
    values = () if op is None else op.attributes.values()
    return any(isinstance(value, Graph) for value in values)


def _word(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name.removesuffix(":0"))
