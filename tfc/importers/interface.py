"""What every importer gives: a function with named parameters, whatever framework it comes from."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from tfc.hlo.ir import Module


class ImportedModel(Protocol):
    """A model from elsewhere: it is called with its inputs, and holds its weights by name.

    model(*inputs) computes with the model's own weights; model.function(parameters, *inputs) is
    the same as a pure function of the weights, which may be traced and differentiated. Those that
    are left out of `parameters` are the model's own, and constants: nothing is computed for their
    gradients.

    file: what to call the model in messages: the file it was read from, if there is one.
    """

    file: str

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The weights by name, as arrays."""
        ...

    @property
    def inputs(self) -> Sequence[object]:
        """The inputs in order, each printed with its name, dtype and sizes."""
        ...

    @property
    def outputs(self) -> Sequence[object]:
        """The outputs in order."""
        ...

    @property
    def hlo(self) -> Module:
        """The module, with the weights as constants.

        Raises:
            ShapeError: the sizes of an input are open.
            UnsupportedError: the model has something that has no counterpart.
        """
        ...

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Run the model, or make it part of the function that is being traced."""
        ...

    def function(self, parameters: Mapping[str, Any], /, *inputs: Any) -> Any:
        """The model as a pure function of its weights and inputs."""
        ...

    def lower(self, *inputs: Any) -> Any:
        """The model for inputs of given shapes; `.hlo` of it is as above.

        Raises:
            ShapeError: sizes are open, or do not fit.
        """
        ...

    def operators(self) -> Counter[str]:
        """How often each operator occurs, by the name that its framework gives it."""
        ...

    def unsupported(self) -> Collection[str]:
        """Those of the operators that have no counterpart."""
        ...
