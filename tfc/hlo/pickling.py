"""How modules are pickled and copied: by their fields, without what was computed from them.

A hash, say, means nothing to another process. Instructions come in their order and computations
before their callers, so that neither may be too deep to be pickled.
"""

import copyreg
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tfc.hlo.ir import Attributes, Computation, Module


def _attributes(attributes: Attributes) -> tuple[Any, ...]:
    return Attributes, (dict(attributes),)


def _computation(computation: Computation) -> tuple[Any, ...]:
    return Computation, tuple(getattr(computation, f.name) for f in fields(computation))


def _module(module: Module) -> tuple[Any, ...]:
    return _module_of, (module.name, module.computations, module.attributes)


def _module_of(
    name: str, computations: Sequence[Computation], attributes: tuple[tuple[str, str], ...]
) -> Module:
    """The module whose entry is the last of the computations; the others come along with it."""
    return Module(name, computations[-1], attributes)


copyreg.pickle(Attributes, _attributes)  # type: ignore[arg-type]
copyreg.pickle(Computation, _computation)  # type: ignore[arg-type]
copyreg.pickle(Module, _module)  # type: ignore[arg-type]
