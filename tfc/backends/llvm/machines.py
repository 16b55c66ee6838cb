"""LLVM's target machines, which are used again.

A machine finds out what its processor has when the first function comes, which takes as long as
compiling a small function. It is for one thread at a time.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvmlite

from tfc.backends.target import Target, initialize_llvm

_idle: dict[tuple[Target, int], list[Any]] = defaultdict(list)


def new_machine(target: Target, level: int) -> Any:
    """A machine for a target, whose code generator works at a level from 0 to 3."""
    initialize_llvm()
    return llvmlite.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=level,
        reloc="pic",
        codemodel="small",
        abiname=target.abi,
    )


@contextmanager
def borrowed_machine(target: Target, level: int) -> Iterator[Any]:
    """A machine that nobody else uses meanwhile; one that an error leaves is not used again."""
    idle = _idle[target, level]
    try:
        machine = idle.pop()
    except IndexError:
        machine = new_machine(target, level)
    yield machine
    idle.append(machine)
