"""What tests need: gradient checkers; random programs, what runs them, and comparing.

`check_grads`, `compute_gradient` and `compute_gradient_error` are for users' tests and come with
`import tfc`. The generators live in `generators`, random JAX programs in `jax_programs`; they need
hypothesis, which the extra `test` brings, so their names are looked up when they are asked for.
"""

from importlib import import_module
from typing import Any

from tfc.testing.gradients import check_grads, compute_gradient, compute_gradient_error

_GROWER = "tfc.testing.generators.grower"
_MODULES = "tfc.testing.generators.modules"
_VALUES = "tfc.testing.generators.values"
_PLACES = {
    **dict.fromkeys(("GENERATORS", "Grower", "generates"), _GROWER),
    **dict.fromkeys(
        ("ELEMENT_TYPES", "ELEMENTWISE", "OPCODES", "instructions_of", "modules"), _MODULES
    ),
    **dict.fromkeys(("arguments_for", "random_array", "shapes", "sizes"), _VALUES),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'tfc.testing' has no attribute '{name}'")
    import_module(_MODULES)  # with it come the families of generators
    return getattr(import_module(_PLACES[name]), name)


__all__ = ["check_grads", "compute_gradient", "compute_gradient_error"]
