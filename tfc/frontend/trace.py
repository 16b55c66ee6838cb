"""Traces: where the instructions of a traced function belong, and which source line made them.

Instructions are immutable nodes that hold their operands, so a trace keeps no list of them: only
its parameters, and the values it captures from the traces around it. A value of an enclosing trace
becomes a further parameter of the inner one; the construct that opened the inner trace passes the
outer value as a further operand.

Each thread has its own stack of open traces.
"""

import linecache
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfc.errors import TfcError, TraceError
from tfc.frontend.precision import PRODUCTS, default_precision, with_default
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Metadata
from tfc.hlo.shape import AnyShape
from tfc.tracebacks import PACKAGE, hide_frames, is_own_frame


class _Threads(threading.local):
    """What is in progress in this thread: the open traces, and the source line to blame."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self.blamed: Metadata | None = None


_thread = _Threads()
open_traces = _thread  # `open_traces.traces` is not empty while this thread traces


class Trace:
    """One function being traced into a computation.

    name: what the function is called, for the computation and the metadata.
    parent: the trace whose values this one may capture; None for an outermost one.
    effects: what does more than compute a value, in the order in which it was made.
    """

    def __init__(self, name: str, parent: "Trace | None" = None):
        self.name, self.parent = name, parent
        self.parameters: list[Instruction] = []
        self.captures: dict[Instruction, Instruction] = {}
        self.effects: list[Instruction] = []

    def parameter(self, shape: AnyShape, name: str = "") -> Instruction:
        """A further parameter; all are made before the first capture."""
        assert not self.captures, "parameters come before captures"
        self.parameters.append(builder.parameter(len(self.parameters), shape, name))
        return self.parameters[-1]

    def resolve(self, instruction: Instruction, owner: "Trace") -> Instruction:
        """The instruction in this trace that stands for a value of `owner`.

        Raises:
            TraceError: `owner` is not this trace or one around it: the value has leaked.
        """
        if owner is self:
            return instruction
        if self.parent is None:
            raise leak(instruction, owner)
        outer = self.parent.resolve(instruction, owner)
        if outer.opcode == "constant":
            return outer  # a node without operands or parameters belongs anywhere
        if outer not in self.captures:
            number = len(self.parameters) + len(self.captures)
            self.captures[outer] = builder.parameter(number, outer.shape, f"captured_{outer.name}")
        return self.captures[outer]

    def computation(self, root: Instruction) -> Computation:
        """The computation of `root`; its parameters are the trace's, then what it captured.

        The effects are part of it, whether `root` depends on them or not.
        """
        parameters = [*self.parameters, *self.captures.values()]
        return Computation.make(self.name, parameters, root, self.effects)

    def __enter__(self) -> "Trace":
        _thread.traces.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        popped = _thread.traces.pop()
        assert popped is self, "traces are closed in the order in which they were opened"


def current_trace() -> Trace | None:
    """The innermost open trace of this thread, or None outside any traced function."""
    return _thread.traces[-1] if _thread.traces else None


def inner_trace(name: str) -> Trace:
    """A trace inside the current one, to be entered by `with`."""
    return Trace(name, current_trace())


@contextmanager
def outside_traces() -> Iterator[None]:
    """Compute at once what is called within, though a function is being traced.

    Arrays come in and go out; Tensors of the traces that are left aside cannot be used.
    """
    traces, _thread.traces = _thread.traces, []
    try:
        yield
    finally:
        _thread.traces = traces


def emit(
    opcode: str,
    operands: Sequence[Instruction],
    *,
    shape: AnyShape | None = None,
    **attributes: Any,
) -> Instruction:
    """An instruction that remembers the user's source line and the function being traced.

    Raises:
        ShapeError: the operands or attributes break one of the op's constraints.
    """
    trace = current_trace()
    name = f"{trace.name}/{opcode}" if trace else opcode
    metadata = _thread.blamed
    if metadata is None:
        file, line = user_location()
        metadata = Metadata(op_name=name, source_file=file, source_line=line)
    if default_precision.stated is not None and opcode in PRODUCTS:
        attributes = dict(with_default(operands, shape, attributes))
    return builder.instruction(opcode, operands, shape=shape, metadata=metadata, **attributes)


def user_location() -> tuple[str, int]:
    """File and line of the innermost call from outside the tfc package; ("", 0) if none."""
    frame = sys._getframe(1)
    # Every instruction asks for this: most frames are told by their file alone.
    while frame is not None and (
        (file := frame.f_code.co_filename).startswith(PACKAGE)
        or (file.startswith("<") and is_own_frame(frame))
    ):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)


@contextmanager
def blame(metadata: Metadata | None) -> Iterator[None]:
    """Give what is emitted inside the source line of another instruction, as its gradient does."""
    before, _thread.blamed = _thread.blamed, metadata
    try:
        yield
    finally:
        _thread.blamed = before


def _show(file: str, line: int) -> str:
    code = linecache.getline(file, line).strip()
    return f"{file}:{line}: {code}" if code else f"{file}:{line}"


def locate(error: TfcError) -> None:
    """Note the user's file, line and code on an error, once."""
    if getattr(error, "__notes__", None):
        return
    file, line = user_location()
    if file:
        error.add_note(f"at {_show(file, line)}")
    made = _thread.blamed
    if made is not None and made.source_file:
        error.add_note(f"for {_show(made.source_file, made.source_line)}")


def for_user(error: Exception) -> None:
    """Make an error ready to leave tfc: it shows the user's line, and no frames of tfc."""
    if isinstance(error, TfcError):
        locate(error)
    hide_frames(error)


def refusal(message: str) -> TraceError:
    """A TraceError that shows the user's line, to be raised."""
    error = TraceError(message)
    locate(error)
    return error


def leak(instruction: Instruction, owner: Trace) -> TraceError:
    """The error for a Tensor used where the trace that made it cannot be reached, to be raised."""
    made = instruction.metadata
    where = f" at {_show(made.source_file, made.source_line)}" if made and made.source_file else ""
    return refusal(
        f"a Tensor {instruction.shape.without_layout()} leaked out of {owner.name}, whose trace is "
        f"finished or belongs to another function or thread; it was made{where}. Return it from "
        "the traced function, or pass it as an argument, instead of storing it."
    )
