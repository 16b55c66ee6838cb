"""Complex numbers by their parts, and refusing kinds of numbers that a function does not take."""

from collections.abc import Callable, Collection

from tfc.errors import TraceError
from tfc.frontend.operations import operation
from tfc.frontend.tensor import Tensor

_NAMES = {
    "pred": "booleans",
    "signed": "integers",
    "unsigned": "integers",
    "float": "floats",
    "complex": "complex numbers",
}
_ADVICE = {
    "pred": "convert them with astype(int)",
    "signed": "convert them with astype(float)",
    "unsigned": "convert them with astype(float)",
    "float": "convert them with astype(int)",
    "complex": "apply it to real(x), imag(x) or abs(x)",
}


def is_complex(tensor: Tensor) -> bool:
    """True for complex element types."""
    return tensor.array_shape.element_type.is_complex


def parts(tensor: Tensor) -> list[Tensor]:
    """The real and the imaginary part of a complex Tensor."""
    return [operation("real", tensor), operation("imag", tensor)]


def on_parts(function: Callable[[Tensor], Tensor], tensor: Tensor) -> Tensor:
    """The function of a real Tensor; of a complex one, the function of both parts."""
    if not is_complex(tensor):
        return function(tensor)
    return operation("complex", *map(function, parts(tensor)))


def require_kind(
    name: str, tensor: Tensor, kinds: Collection[str], advice: str | None = None
) -> None:
    """Refuse kinds of element type that a function is not defined for.

    Raises:
        TraceError: the Tensor's kind is not among `kinds`; says what to do, by `advice` or in
            general.
    """
    kind = tensor.array_shape.element_type.kind
    if kind not in kinds:
        raise TraceError(f"{name} is not defined for {_NAMES[kind]}; {advice or _ADVICE[kind]}")


def require_real(name: str, tensor: Tensor) -> None:
    """Refuse complex numbers.

    Raises:
        TraceError: the Tensor is complex.
    """
    require_kind(name, tensor, ("pred", "signed", "unsigned", "float"))
