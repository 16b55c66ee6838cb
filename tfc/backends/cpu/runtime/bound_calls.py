"""What Python binds to arrays and to a participant, as programs call it: the collectives.

    site    {calls of one participant, the Python function}
    call    the participant's calls, on the buffers of the instruction, if there are some;
            else the Python function, which runs what it binds and may have left such calls

A call through Python takes about a microsecond, which short messages take themselves. What an
engine says of a collective (`Direct`) holds for arrays wherever they lie, so the code needs Python
but once. Whoever runs the program must be the same participant, else Python is asked again.
"""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tfc.backends.cpu.runtime.bytecode_interpreter import BOUND_CALL
from tfc.backends.cpu.runtime.generated import runtime_ir
from tfc.backends.llvm.compilation import LoadedCode, compile_ir
from tfc.backends.target import Target
from tfc.runtime.arrays import ArraySpec, view
from tfc.runtime.collectives import CopyBytes, Direct, Place, Run
from tfc.runtime.functions import leave_behind
from tfc.runtime.replicas import Participant, current

MOST_WORDS = 16  # of a call
_MOST_BOUND = 1024  # addresses that one site remembers: arenas come again, arguments may not
_HEAD = 16  # bytes of a frame before its buffers
_PYTHON_CALL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)
Bind = Callable[[Sequence[Any], Sequence[Any]], Callable[[], None]]


class Source(ctypes.Structure):
    """An argument of a call; see bound_calls.c, also for the others."""

    _fields_ = (("buffer", ctypes.c_int64), ("value", ctypes.c_int64))


class Step(ctypes.Structure):
    """A call."""

    _fields_ = (
        ("caller", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("sources", ctypes.c_void_p),
    )


class DirectCalls(ctypes.Structure):
    """What one participant calls."""

    _fields_ = (
        ("participant", ctypes.c_void_p),
        ("doing", ctypes.c_void_p),
        ("done", ctypes.c_void_p),
        ("number", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("steps", ctypes.c_void_p),
    )


class BoundSite(ctypes.Structure):
    """What an instruction of bytecode refers to."""

    _fields_ = (("direct", ctypes.c_void_p), ("python", ctypes.c_void_p))


def bound_site(
    bind: Bind, operands: Sequence[ArraySpec], results: Sequence[ArraySpec]
) -> tuple[int, Any]:
    """A site: its address, and what must live as long as it may be called.

    Args:
        bind: (operands, results) -> the function that runs, as the participant that the thread is
            then, whenever they come by these addresses.
    """
    site, kept = BoundSite(), []
    specs = (*operands, *results)
    table = ctypes.c_void_p * len(specs)
    bound: dict[tuple[int | None, ...], tuple[Participant, Callable[[], None]]] = {}

    def bind_anew(here: Participant, addresses: tuple[int | None, ...]) -> Callable[[], None]:
        if len(bound) >= _MOST_BOUND:
            bound.clear()
        arrays = [view(a, s) for a, s in zip(addresses, specs)]
        run = bind(arrays[: len(operands)], arrays[len(operands) :])
        bound[addresses] = (here, run)
        return run

    def call(frame: int, failure: int) -> int:
        try:
            here, addresses = current(), tuple(table.from_address(frame + _HEAD))
            before, run = bound.get(addresses, (None, None))
            if run is None or before is not here:
                run = bind_anew(here, addresses)
            direct = run.direct if isinstance(run, Run) else None
            if failure and direct is not None:
                raise direct.error(failure)
            run()
            if direct is not None:
                kept.append((here, _make_direct(site, here, direct)))
        except BaseException as error:
            leave_behind(error)
            return 1
        return 0

    callback = _PYTHON_CALL(call)
    site.python = ctypes.cast(callback, ctypes.c_void_p).value
    return ctypes.addressof(site), (site, callback)


def bound_call_symbols() -> dict[str, int]:
    """The address of what calls sites."""
    return {BOUND_CALL: _code().address(BOUND_CALL)}


def _make_direct(site: BoundSite, here: Participant, direct: Direct) -> Any:
    """Let a participant's calls at a site go without Python; what is returned must be kept."""
    made: list[Step] = []
    kept: list[Any] = [made]
    for step in direct.steps:
        if isinstance(step, CopyBytes):
            arguments, caller, function = (step.target, step.source, step.size), 0, 0
        else:
            arguments, function = step.arguments, step.function
            caller = _word_caller(step.kinds).address("tfc_word_call")
        assert len(arguments) <= MOST_WORDS
        sources = (Source * len(arguments))(*map(_source, arguments))
        kept.append(sources)
        made.append(Step(caller, function, len(arguments), ctypes.addressof(sources)))
    steps = (Step * len(made))(*made)
    calls = DirectCalls(
        id(here), direct.doing, direct.done, direct.number, len(steps), ctypes.addressof(steps)
    )
    install = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    install(_code().address("tfc_make_direct"))(ctypes.addressof(site), ctypes.addressof(calls))
    return kept, steps, calls


def _source(argument: int | Place) -> Source:
    if isinstance(argument, Place):
        return Source(argument.buffer, 0)
    return Source(-1, argument)


@cache
def _code() -> LoadedCode:
    return compile_ir(runtime_ir("bound_calls", {}), Target.host(), optimise=False).load()


@cache
def _word_caller(kinds: tuple[str, ...]) -> LoadedCode:
    """What calls a function that takes arguments of these kinds, which lie in words of 64 bits."""
    lines, passed = [], []
    for n, kind in enumerate(kinds):
        loaded = "i64" if kind == "i32" else kind
        lines.append(f"  %place.{n} = getelementptr i64, ptr %words, i64 {n}")
        lines.append(f"  %word.{n} = load {loaded}, ptr %place.{n}, align 8")
        if kind == "i32":
            lines.append(f"  %half.{n} = trunc i64 %word.{n} to i32")
        passed.append(f"{kind} %{'half' if kind == 'i32' else 'word'}.{n}")
    body = "\n".join(lines)
    text = f"""define i32 @tfc_word_call(ptr %function, ptr %words) {{
{body}
  %status = call i32 %function({", ".join(passed)})
  ret i32 %status
}}
"""
    return compile_ir(text, Target.host(), optimise=False).load()
