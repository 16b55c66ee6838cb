"""LLVM IR compiled in parts, at the same time on several processors.

    define internal @f …         part 0: declare @g …   define hidden @f …   define @entry …
    define internal @g …   ──►   part 1: define hidden @g …
    define @entry …

The functions of a program are spread over parts of about equal size, each a module of its own. What
is defined in one part is declared in the others, and constants go with what uses them. The object
files of all parts together are the program. A part holds functions that are worth the same effort,
and either the program's own, one of which has the constants that others see, or such as programs
share.
"""

import re
from collections.abc import Callable, Sequence
from ctypes import string_at
from dataclasses import dataclass
from typing import Any

from llvmlite.binding import ffi

from tfc.backends.llvm.effort import Effort, effort_for
from tfc.backends.llvm.library import is_shared

_SYMBOL = re.compile(r'@(?:"([^"]*)"|([-\w.$]+))')
_CONSTANT = re.compile(r"^@\S+ = (?:private|internal) .*\bconstant\b.*\n", re.MULTILINE)
_SEEN = re.compile(r"^@\S+ = (?:hidden .*\b)?constant\b.*\n", re.MULTILINE)
_VARIABLE = re.compile(
    r"^@\S+ = (?!(?:.*\b(?:private|internal|hidden) .*\b)?constant\b)", re.MULTILINE
)
LEAST = 24 * 1024  # characters of a part: about a twentieth of a second of work


@dataclass(frozen=True)
class Part:
    """The text of a module, and the effort that its functions are worth.

    shared: the names of its functions, if they are all such as programs have in common.
    """

    text: str
    effort: Effort = Effort.FULL
    shared: tuple[str, ...] = ()


def split_ir(text: str, count: int, least: int = LEAST) -> list[Part]:
    """The text of a module as modules: of own and of shared functions for each effort at most
    `count`, of about `least` characters or more.

    A module with variables stays in one piece: each of them must exist once.
    """
    functions, around = _functions(text)
    groups: dict[tuple[Effort, bool], list[str]] = {}
    own = {_symbols(text)[0] for text in (*functions, *_SEEN.findall(around))}
    for function in functions:
        kind = effort_for(function), _is_shared(function, own)
        groups.setdefault(kind, []).append(function)
    # What takes longest begins first.
    parts = [
        (effort, shared, part)
        for effort in Effort
        for shared in (True, False)
        if (group := groups.get((effort, shared)))
        for part in _balanced(group, min(count, sum(map(len, group)) // least))
    ]
    if _VARIABLE.search(around) or len(parts) < 2:
        efforts = [effort for effort, _ in groups]
        return [Part(text, efforts[0] if len(set(efforts)) == 1 else Effort.FULL)]
    constants = {_symbols(line)[0]: line for line in _CONSTANT.findall(around)}
    seen = _SEEN.findall(around)
    around = _SEEN.sub("", _CONSTANT.sub("", around))
    heads = {_symbols(f)[0]: f[: f.index("{\n")] for f in functions}
    heads = {name: visible(head) for name, head in heads.items()}
    # What others see is the program's own, and so is the part that has it.
    home = max(range(len(parts)), key=lambda n: (not parts[n][1], n))
    return [
        Part(
            _module(part, heads, constants, around, seen if n == home else ()),
            effort,
            tuple(_symbols(f)[0] for f in part) if shared and not (seen and n == home) else (),
        )
        for n, (effort, shared, part) in enumerate(parts)
    ]


def unseen(text: str) -> str:
    """LLVM IR with plain functions, such that only the program itself sees them."""
    return f"\n{text}".replace("\ndefine ", "\ndefine internal ")[1:]


def visible(text: str) -> str:
    """LLVM IR in which functions can be seen from other parts of the program."""
    # Regular expressions that look for the beginnings of lines would take ten times as long.
    return f"\n{text}".replace("\ndefine internal", "\ndefine hidden")[1:]


def _functions(text: str) -> tuple[list[str], str]:
    """The definitions of functions in a module, and what is around them."""
    functions, around = [], []
    *pieces, last = text.split("\n}\n")
    for piece in pieces:
        before, _, function = f"\n{piece}".partition("\ndefine ")
        around.append(f"{before[1:]}\n")
        functions.append(f"define {function}\n}}\n")
    return functions, "".join([*around, last])


def _is_shared(function: str, own: set[str]) -> bool:
    """Whether programs share a function: that is its name, and it needs nothing of this one.

    Args:
        own: the names of the functions, and of the constants that they share, of the program.
    """
    name, *used = _symbols(function)
    return is_shared(name) and not any(u in own or u.startswith("tfc") for u in used)


def _balanced(functions: Sequence[str], count: int) -> list[list[str]]:
    """The functions in `count` groups of about equal size, or in one."""
    groups: list[list[str]] = [[] for _ in range(max(min(count, len(functions)), 1))]
    sizes = [0] * len(groups)
    for function in sorted(functions, key=len, reverse=True):
        smallest = sizes.index(min(sizes))
        groups[smallest].append(function)
        sizes[smallest] += len(function)
    return groups


def _module(
    part: Sequence[str], heads: dict[str, str], constants: dict[str, str], around: str,
    seen: Sequence[str],
) -> str:  # fmt: skip
    """One part: its functions and constants, what they use of others, what is around them all."""
    own = {_symbols(f)[0]: f for f in part}
    used = {name for f in (*part, *seen) for name in _symbols(f)}
    kept = [line for name, line in constants.items() if name in used]
    used.update(name for line in kept for name in _symbols(line))
    declared = [
        # Not as hidden: it may lie further away than the code for what is hidden can reach.
        re.sub("^define( hidden)?", "declare", head).rstrip() + "\n"
        for name, head in heads.items()
        if name not in own and name in used
    ]
    bodies = [heads[name] + f[f.index("{\n") :] for name, f in own.items()]
    return "\n".join([around, *kept, *seen, *declared, *bodies])


def _symbols(function: str) -> list[str]:
    """The names of a function and of all globals in its code; quotes are not part of a name."""
    return [quoted or plain for quoted, plain in _SYMBOL.findall(function)]


def _unlocked(name: str) -> Callable[..., Any]:
    """A function of llvmlite's library, without the lock that it holds during every call.

    LLVM works on several modules at the same time if each has a context of its own.
    """
    function = getattr(ffi.lib, name)
    return getattr(function, "_cfn", function)


def run_passes(passes: Any, module: Any, builder: Any) -> None:
    """Run a pass manager over a module, while other threads use LLVM, too."""
    _unlocked("LLVMPY_RunNewModulePassManager")(passes, module, builder)


def emit_object(machine: Any, module: Any) -> bytes:
    """The object file of a module, made while other threads use LLVM, too.

    Raises:
        RuntimeError: LLVM cannot make it.
    """
    with ffi.OutputString() as error:
        memory = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, error)
        if not memory:
            raise RuntimeError(str(error))
    try:
        start = ffi.lib.LLVMPY_GetBufferStart(memory)
        return string_at(start, ffi.lib.LLVMPY_GetBufferSize(memory))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(memory)


def emit_assembly(machine: Any, module: Any) -> str:
    """The assembly text of what `emit_object` makes of a module."""
    return machine.emit_assembly(module)


def emit_ir(machine: Any, module: Any) -> str:
    """The LLVM IR that `emit_object` makes code of."""
    return str(module)
