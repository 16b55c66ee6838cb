"""Programs from elsewhere as functions: compiled when they are first called.

f = tfc.from_stablehlo(jax.export.export(jax.jit(g))(x))
y = f(x)

In a function that is being traced they are called as part of it, so that `tfc.jit` compiles both
together and `tfc.grad` differentiates through the program's operations. JAX's own rules of
differentiation are no part of a program: where an operation that a select leaves out is infinite,
as in JAX's erfc at 0, the gradient is NaN.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.precision import with_default_precision
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import locate, open_traces
from tfc.hlo.ir import Module
from tfc.hlo.shape import Shape
from tfc.options import Options
from tfc.runtime.collection import paused_collection
from tfc.runtime.later import later
from tfc.tracebacks import api_boundary

if TYPE_CHECKING:
    from tfc import compiler
    from tfc.backends.interfaces import Executable
else:
    compiler = later("tfc.compiler")

# Which kinds of element type hold the numbers of each of Python's types.
_HOLDS: dict[type, tuple[str, ...]] = {
    bool: ("pred", "signed", "unsigned", "float", "complex"),
    int: ("signed", "unsigned", "float", "complex"),
    float: ("float", "complex"),
    complex: ("complex",),
}


@dataclass(frozen=True)
class Convention:
    """How a program's arrays lie in the arguments and results of the function that it was made of.

    in_tree, out_tree: JAX's structures of (positional, named) arguments and of the result.
    kept: which of the arguments' leaves the program takes; JAX drops those it has no use for.
    platform: what the program takes before them if it is for several platforms: which one it is.
    paths: what to call each leaf in errors.
    """

    in_tree: Any
    out_tree: Any
    kept: tuple[int, ...]
    platform: tuple[int, ...]
    paths: tuple[str, ...]

    @staticmethod
    def of(exported: Any) -> "Convention":
        """That of what jax.export.export returns.

        Raises:
            UnsupportedError: the program orders its effects by further arguments.
        """
        if getattr(exported, "ordered_effects", ()):
            raise UnsupportedError(
                "the exported function has ordered effects, which are not supported: "
                "export it without callbacks"
            )
        in_tree, platforms = exported.in_tree, tuple(exported.platforms)
        platform = platforms.index("cpu") if "cpu" in platforms else 0
        positional, named = in_tree.unflatten(range(in_tree.num_leaves))
        labelled = [*enumerate(positional), *named.items()]
        paths = {}
        for label, argument in labelled:
            # A container that tfc does not know is one leaf to it, whose own have no path then.
            numbers, structure = tree.flatten(argument)
            found = zip(numbers, tree.paths(structure, f"argument {label}"))
            paths |= {n: path for n, path in found if isinstance(n, int)}
        return Convention(
            in_tree,
            exported.out_tree,
            tuple(exported.module_kept_var_idx),
            (platform,) if len(platforms) > 1 else (),
            tuple(paths.get(n, f"leaf {n} of the arguments") for n in range(in_tree.num_leaves)),
        )

    def leaves(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[tuple[Any, str]]:
        """What the program takes, with the path of each.

        Raises:
            ShapeError: the arguments have another structure.
        """
        found = self.leaves_of(args, named)
        given = [(np.int32(p), "the platform") for p in self.platform]
        return given + [(found[n], self.paths[n]) for n in self.kept]

    def leaves_of(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The leaves of the arguments, those that the program does not use included.

        Raises:
            ShapeError: the arguments have another structure.
        """
        try:
            return self.in_tree.flatten_up_to((args, named))
        except (ValueError, TypeError, KeyError) as error:
            reason = str(error).partition("\n")[0]
            raise ShapeError(f"the arguments must be as when exporting: {reason}") from None


class ImportedFunction:
    """A module as a function of arrays, one for each parameter. Safe to call from any thread.

    convention: that of the exported function which the module was, if it was one.
    """

    def __init__(
        self,
        module: Module,
        backend: str = "cpu",
        options: Options | None = None,
        convention: Convention | None = None,
    ):
        self.hlo, self.backend, self.options = module, backend, options
        self.convention = convention
        self.__name__ = module.name
        self._executable: Executable | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """By the module, which is compiled where it arrives."""
        return ImportedFunction, (self.hlo, self.backend, self.options, self.convention)

    def __copy__(self) -> "ImportedFunction":
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> "ImportedFunction":
        return self

    @api_boundary
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the program, or call it in the function that is being traced.

        Args:
            args, named: an array for each parameter; of an exported function, its own arguments.

        Returns:
            The result, or a tuple of the results; of an exported function, what it returned.

        Raises:
            ShapeError: the arguments differ from the parameters in number, type or dimensions.
            UnsupportedError: the backend lacks something that the module needs.
        """
        if open_traces.traces:
            return self._nested(self._traced(args, named))
        executable, arrays = self.bind(*args, **named)
        return self._nested(executable(*arrays))

    def bind(self, *args: Any, **named: Any) -> "tuple[Executable, list[np.ndarray]]":
        """What a call with these arguments runs, and the arrays that it runs it with.

        Raises:
            ShapeError: the arguments differ from the parameters in number, type or dimensions.
            UnsupportedError: the backend lacks something that the module needs.
        """
        if self.convention is None and not named:
            return self.compile(), [np.asarray(a) for a in args]
        return self.compile(), [_array(*leaf) for leaf in self._leaves(args, named)]

    def _leaves(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[tuple[Any, str, Shape]]:
        """What is given for each parameter, what to call it, and of which shape it must be."""
        if self.convention is not None:
            given = self.convention.leaves(args, named)
        elif named:
            raise ShapeError(f"{self.hlo.name} takes arrays by position, got {', '.join(named)}")
        else:
            given = [(value, f"argument {n}") for n, value in enumerate(args)]
        parameters = self.hlo.entry.parameters
        if len(given) != len(parameters):
            raise ShapeError(f"{self.hlo.name} takes {len(parameters)} arrays, got {len(given)}")
        return [(value, path, p.array_shape) for (value, path), p in zip(given, parameters)]

    def _traced(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Tensor]:
        """The results of a call of the program in the current trace."""
        try:
            for parameter in self.hlo.entry.parameters:
                if not isinstance(parameter.shape, Shape):
                    raise UnsupportedError(
                        f"{self.hlo.name} takes {parameter.shape}, which no function being traced "
                        "can give: call it by itself"
                    )
            operands = [_tensor(*leaf) for leaf in self._leaves(args, named)]
            result = ops.operation("call", *operands, to_apply=self.hlo.entry)
            is_array = isinstance(result.instruction.shape, Shape)
            return [result] if is_array else ops.elements(result)
        except TfcError as error:
            locate(error)
            raise

    def _nested(self, results: Sequence[Any]) -> Any:
        if self.convention is not None:
            return self.convention.out_tree.unflatten(results)
        return results[0] if len(results) == 1 else tuple(results)

    def compile(self) -> "Executable":
        """The compiled module."""
        with self._lock:
            if self._executable is None:
                self._executable = compiler.compile_whole(self.hlo, self.backend, self.options)
            return self._executable

    def as_text(self, dialect: str = "hlo") -> str:
        """The module as text: "hlo" or "stablehlo".

        Raises:
            UnsupportedError: another dialect is asked for, or StableHLO lacks an operation.
        """
        return compiler.module_text(self.hlo, dialect)

    def __repr__(self) -> str:
        shapes = ", ".join(p.shape.without_layout() for p in self.hlo.entry.parameters)
        return f"<ImportedFunction {self.hlo.name}({shapes})>"


def _tensor(value: Any, path: str, shape: Shape) -> Tensor:
    """The Tensor of the current trace that is given for a parameter.

    Raises:
        ShapeError: it has another type or other dimensions.
    """
    if not isinstance(value, Tensor):
        return as_tensor(_array(value, path, shape))
    if value.array_shape.without_layout() != shape.without_layout():
        raise _mismatch(path, shape, value.array_shape.without_layout())
    return value


def _array(value: Any, path: str, shape: Shape) -> np.ndarray:
    """The array that is given for a parameter; Python's numbers take its type if it holds them.

    Raises:
        ShapeError: it has another type or other dimensions.
    """
    dtype = shape.element_type.dtype
    try:
        if shape.element_type.kind in _HOLDS.get(type(value), ()):
            array = np.asarray(value, dtype)
        else:
            array = np.asarray(_bits(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise _mismatch(path, shape, f"{type(value).__name__}: {error}") from None
    if array.dtype != dtype or array.shape != shape.dims:
        raise _mismatch(path, shape, f"{array.dtype}[{','.join(map(str, array.shape))}]")
    return array


def _bits(value: Any) -> Any:
    """The array itself; of JAX's keys of random numbers, the bits, which programs take."""
    if str(getattr(value, "dtype", "")).startswith("key<"):
        return import_module("jax").random.key_data(value)
    return value


def _mismatch(path: str, shape: Shape, got: str) -> ShapeError:
    return ShapeError(f"{path} must be {shape.without_layout()}, got {got}")


@api_boundary
def from_stablehlo(
    source: Any, backend: str = "cpu", options: Options | None = None
) -> ImportedFunction:
    """The function that a StableHLO program is.

    Products that state no precision have the one of `default_matmul_precision`, if it is entered.

    Args:
        source: text; bytes of MLIR bytecode or of a portable artifact; the path of a file with
            either; or what jax.export.export(…)(…) returns, which makes a function of the exported
            one's arguments: nested as they were, with those that the program does not use.
            A string without a brace is a path.
        backend: "cpu", "gpu", "interpreter", or one that another package offers.
        options: how to compile; taken from the environment when left out.

    Raises:
        ParseError: the text is malformed.
        UnsupportedError: HLO has no counterpart of an operation or a type.
        TfcError: the source cannot be read.
    """
    is_exported = hasattr(source, "in_tree") and hasattr(source, "module_kept_var_idx")
    convention = Convention.of(source) if is_exported else None
    return ImportedFunction(read_stablehlo(source), backend, options, convention)


@api_boundary
@paused_collection()
def read_stablehlo(source: Any, name: str = "", shapes: Sequence[Shape] | None = None) -> Module:
    """The module of a StableHLO program, taken as `from_stablehlo` takes it.

    Its products have the default precision that is entered, if they state none.

    Args:
        name: what to call the source in errors.
        shapes: those of the entry's arguments, for a program that leaves sizes open.

    Raises:
        TfcError: it cannot be read, is malformed, or has no counterpart in HLO.
    """
    # Loading MLIR takes a while, which those who need none of it are spared. Its parser comes up in
    # another process meanwhile.
    parser: Any = import_module("tfc.stablehlo.parser_process")
    parser.PARSER.start()
    reader: Any = import_module("tfc.stablehlo.read")
    return with_default_precision(reader.read(source, name, shapes))
