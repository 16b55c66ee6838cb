"""Scopes that say what is compiled."""

from contextlib import AbstractContextManager
from typing import Any

from tfc.errors import TraceError
from tfc.graph.graph import get_default_graph


def jit_scope(
    compile_ops: bool = True, separate_compiled_gradients: bool = False
) -> AbstractContextManager[Any]:
    """Let what is made within be compiled, or not, whatever the session's configuration says.

    It gives operations the attribute `_XlaCompile`. What cannot be compiled runs on the host.

    Args:
        separate_compiled_gradients: accepted; a cluster may hold gradients in any case.

    Raises:
        TypeError: compile_ops is no boolean.
    """
    if not isinstance(compile_ops, bool):
        raise TraceError(f"compile_ops must be a boolean, got {compile_ops!r}")
    return get_default_graph().attributes(_XlaCompile=compile_ops)
