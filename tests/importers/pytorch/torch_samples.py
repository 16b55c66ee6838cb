"""torch's own samples of its operators (OpInfo), and how tfc fares with each."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

import tfc
from tfc.errors import TfcError, UnsupportedError
from tfc.importers.torch.exchange import array_of, numpy_dtype, tensor_of
from tfc.importers.torch.reader import decompositions, name_of, read_graph
from tfc.importers.torch.table import TABLE
from tfc.importers.values import traced
from tfc.importers.walk import Walk

DTYPES = (torch.float32, torch.int64, torch.bool, torch.float16, torch.bfloat16)
_TOLERANCES = {torch.float16: 4e-3, torch.bfloat16: 3e-2}
_pytree: Any = torch.utils._pytree


@dataclass(frozen=True)
class Outcome:
    """What became of a sample.

    kind: "equal", "different", "refused" where the size of a result depends on values, "failed",
        or "untraced" where torch itself cannot make a graph of it.
    called: the core operators that torch runs for it.
    """

    kind: str
    reason: str
    called: frozenset[str]


class _Recorded(TorchDispatchMode):
    """Which operators are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(name_of(func))
        return func(*args, **(kwargs or {}))


@cache
def core_operators() -> tuple[str, ...]:
    """The overloads that torch calls core, as `add.Tensor`."""
    found = []
    for full in torch._C._dispatch_get_all_op_names():
        space, _, name = full.partition("::")
        packet, _, overload = name.partition(".")
        overloads = getattr(torch.ops.aten, packet, None) if space == "aten" else None
        target = getattr(overloads, overload or "default", None)
        if target is not None and torch.Tag.core in target.tags:
            found.append(name_of(target))
    return tuple(sorted(found))


def _closed(function: Callable[..., Any], arguments: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A call as a function of the tensors in its arguments, and these."""
    leaves, structure = _pytree.tree_flatten(arguments)
    places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def closed(*tensors: Any) -> list[Any]:
        filled = list(leaves)
        for n, tensor in zip(places, tensors):
            filled[n] = tensor
        first, args, named = _pytree.tree_unflatten(filled, structure)
        return _pytree.tree_flatten(function(first, *args, **named))[0]

    return closed, [leaves[n].detach().clone() for n in places]


def _with_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives its first output and the gradients of half the sum of its squares."""

    def both(*tensors: Any) -> list[Any]:
        places = [n for n, t in enumerate(tensors) if t.is_floating_point()]

        def of_floats(*floats: Any) -> Any:
            given = list(tensors)
            for n, value in zip(places, floats):
                given[n] = value
            return function(*given)[0]

        value, pull = torch.func.vjp(of_floats, *[tensors[n] for n in places])
        return [value, *pull(value)]

    return both


def _traced(function: Callable[..., Any], tensors: list[Any]) -> Any:
    """The graph of a function, free of writes in place, those of decompositions too."""
    for _ in range(2):
        function = make_fx(
            functionalize(function), decomposition_table=decompositions(), tracing_mode="fake",
            _allow_non_fake_inputs=True,
        )(*tensors)  # fmt: skip
        if not any(_writes(node.target) for node in function.graph.nodes):
            break
    return function


def _writes(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable


def outcome(
    call: Callable[..., Any], arguments: Any, dtype: Any, name: str = "", of_gradients: bool = False
) -> Outcome:
    """What becomes of a call with a first argument, further ones, and named ones."""
    function, tensors = _closed(call, arguments)
    if of_gradients:
        function = _with_gradients(function)
    with _Recorded() as record:
        try:
            expected = function(*[t.clone() for t in tensors])
        except RuntimeError as error:  # some look beyond the tensor, into memory around it
            return Outcome("untraced", str(error), frozenset())
    called = frozenset(record.names | {name_of(call)}).intersection(core_operators())
    try:
        module = _traced(lambda *given: function(*[t.clone() for t in given]), tensors)
    except Exception as error:  # whatever it is that torch cannot trace
        return Outcome("untraced", f"{type(error).__name__}: {error}", called)
    try:
        graph = read_graph(module, "it", {})
        run = tfc.jit(
            lambda *arrays: tuple(map(traced, Walk(TABLE, "it", {}, {}).main(graph, arrays))),
            backend="interpreter",
        )
        found = run(*map(array_of, tensors))
    except UnsupportedError as error:
        kind = "refused" if "depends on values" in str(error) else "failed"
        return Outcome(kind, str(error), called)
    except (TfcError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
        return Outcome("failed", f"{type(error).__name__}: {error}", called)
    if name in _TIED:
        found, expected = [_picked(name, arguments, *map(_tensor_of, r)) for r in (found, expected)]
    is_equal = _compare(name, called)
    near = _TOLERANCES.get(dtype, 1e-4)
    same = len(found) == len(expected) and all(
        is_equal(f, e, near) for f, e in zip(found, expected)
    )
    return Outcome("equal" if same else "different", "other values", called)


# Operators that say where elements were, of which equal ones may come in any order.
# The numbers are where the dimension is among the arguments.
_TIED = {"sort": 0, "topk": 1}


def _tensor_of(value: Any) -> Any:
    return value if isinstance(value, torch.Tensor) else tensor_of(value)


def _picked(name: str, arguments: Any, values: Any, places: Any) -> list[Any]:
    """Values, and the elements where they are said to have been."""
    x, args, named = arguments
    along = args[_TIED[name]] if len(args) > _TIED[name] else named.get("dim", -1)
    return [values, torch.take_along_dim(x, places, along) if x.ndim else x]


# Operators whose values are nobody's to say: only shapes and dtypes are compared.
_OPEN = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "randn",
         "randn_like", "rand", "rand_like", "randperm"}  # fmt: skip


def _compare(name: str, called: frozenset[str]) -> Callable[[Any, Any, float], bool]:
    if name in _OPEN or called & {"rand.default", "randperm.default"}:
        return _alike
    return _equal


def _alike(found: Any, expected: Any, near: float) -> bool:
    return found.shape == tuple(expected.shape) and found.dtype == numpy_dtype(expected.dtype)


def _equal(found: Any, expected: Any, near: float) -> bool:
    if not isinstance(expected, torch.Tensor):
        return bool(np.allclose(found, expected, equal_nan=True))
    found = array_of(found) if isinstance(found, torch.Tensor) else found
    wanted = array_of(expected)
    if found.shape != wanted.shape or found.dtype != numpy_dtype(expected.dtype):
        return False
    if wanted.dtype.kind in "iub":
        return bool(np.array_equal(found, wanted))
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    finite = wanted[np.isfinite(wanted)].astype(kind)
    least = near * max(1, np.max(np.abs(finite), initial=0) if wanted.dtype.itemsize == 2 else 1)
    return bool(np.allclose(found.astype(kind), wanted.astype(kind), near, least, equal_nan=True))


# torch's sets of samples that call core operators of other names.
MORE = (
    "__getitem__", "cdist", "fft.fft", "fft.fftn", "fft.hfft", "fft.irfftn", "fft.rfftn",
    "gradient", "isclose", "narrow", "nn.functional.adaptive_avg_pool1d",
    "nn.functional.adaptive_avg_pool2d", "nn.functional.adaptive_avg_pool3d",
    "nn.functional.avg_pool1d", "nn.functional.batch_norm", "nn.functional.conv1d",
    "nn.functional.conv2d", "nn.functional.conv3d", "nn.functional.conv_transpose1d",
    "nn.functional.conv_transpose2d", "nn.functional.conv_transpose3d",
    "nn.functional.embedding_bag", "nn.functional.fold", "nn.functional.gaussian_nll_loss",
    "nn.functional.grid_sample", "nn.functional.group_norm", "nn.functional.instance_norm",
    "nn.functional.interpolate", "nn.functional.layer_norm", "nn.functional.max_pool2d",
    "nn.functional.max_pool3d", "nn.functional.pad", "nn.functional.pdist", "quantile", "softmax",
    "log_softmax", "square", "stft", "to",
)  # fmt: skip
WITH_GRADIENTS = (
    "nn.functional.adaptive_avg_pool2d", "nn.functional.avg_pool2d", "nn.functional.conv2d",
    "nn.functional.embedding", "nn.functional.group_norm", "nn.functional.layer_norm",
    "nn.functional.max_pool2d",
)  # fmt: skip


def _tensor(dtype: Any, *sizes: int) -> Any:
    return torch.testing.make_tensor(sizes, dtype=dtype, device="cpu", low=1, high=9)


def own_samples(dtype: Any) -> Iterator[tuple[Any, Any]]:
    """Calls of overloads that none of torch's samples reaches."""
    aten: Any = torch.ops.aten
    for name in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "fmod",
                 "remainder", "pow", "bitwise_and", "bitwise_or", "bitwise_xor"):  # fmt: skip
        if name.startswith("bitwise") and dtype.is_floating_point:
            continue
        overload = "Tensor_Scalar" if name == "pow" else "Scalar"
        yield getattr(getattr(aten, name), overload), (_tensor(dtype, 3, 4), 3)
    yield aten.pow.Scalar, (2, _tensor(dtype, 3))
    yield aten.alias.default, (_tensor(dtype, 3),)
    yield aten.copy.default, (_tensor(dtype, 2, 3), _tensor(torch.int32, 3))
    yield aten.scatter.value, (_tensor(dtype, 3, 4), 1, torch.tensor([[0], [3]]), 2)
    yield aten.sym_size.int, (_tensor(dtype, 3, 4), 1)
    yield aten.sym_stride.int, (_tensor(dtype, 3, 4), 0)
    yield aten.sym_numel.default, (_tensor(dtype, 3, 4),)
    yield aten.sym_storage_offset.default, (_tensor(dtype, 3, 4),)
    yield aten.rand.default, ([3],)
    yield aten.randperm.default, (7,)
    yield aten.clamp.default, (_tensor(dtype, 9), 2, 7)
    if not dtype.is_floating_point:
        return
    for mode in ("trunc", "floor", None):
        yield partial(aten.div.Scalar_mode, rounding_mode=mode), (_tensor(dtype, 9), -2)
    yield aten.var.dim, (_tensor(dtype, 3, 4), [1])
    yield aten.native_dropout.default, (_tensor(dtype, 3, 4), 0.5, False)
    yield aten.native_dropout.default, (_tensor(dtype, 3, 4), 1.0, True)
    image = _tensor(dtype, 1, 2, 3, 5)
    yield aten.upsample_bilinear2d.vec, (image, [6, 7], False, None)
    yield aten.upsample_bilinear2d.vec, (image, None, True, [2.0, 1.5])
    yield aten.upsample_nearest2d.vec, (image, [7, 4], None)
    for name in ("reflection_pad", "replication_pad"):
        for rank in (1, 2, 3):
            pad = getattr(aten, f"{name}{rank}d").default
            yield pad, (_tensor(dtype, 1, 2, *[4, 3, 5][:rank]), [1, 2] * rank)
    yield aten.col2im.default, (_tensor(dtype, 1, 8, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1])
    yield aten.adaptive_avg_pool1d.default, (_tensor(dtype, 1, 2, 7), [3])
    yield aten.avg_pool1d.default, (_tensor(dtype, 1, 2, 7), [3])
    channels = [_tensor(dtype, 2) for _ in range(4)]
    yield aten._native_batch_norm_legit.no_stats, (image, *channels[:2], True, 0.1, 1e-5)
    yield (aten.native_group_norm_backward.default,
           (image, image, _tensor(dtype, 1, 2), _tensor(dtype, 1, 2), channels[0], 1, 2, 15, 2,
            [True] * 3))  # fmt: skip
    table, places = _tensor(dtype, 5, 3), torch.tensor([4, 0, 1, 1])
    for mode in (0, 1):
        yield (lambda *given: aten._embedding_bag.default(*given)[0],
               (table, places, torch.tensor([0, 3]), False, mode))  # fmt: skip
    yield aten._native_batch_norm_legit_no_training.default, (image, *channels, 0.1, 1e-5)


@cache
def sample_sets() -> tuple[Any, ...]:
    """torch's sets of samples that call core operators."""
    bases = {name.rpartition(".")[0] for name in core_operators()}
    return tuple(
        info for info in op_db
        if info.name in MORE or bases & {info.name.removeprefix("nn.functional."), info.aten_name}
    )  # fmt: skip


def outcomes(part: int, parts: int, most: int) -> list[tuple[str, Outcome]]:
    """What becomes of a part of all samples: the first ones of each set in each dtype."""
    warnings.simplefilter("ignore")
    found = []
    for info in sample_sets()[part::parts]:
        torch.manual_seed(0)
        found += outcomes_of(info, most)
        if info.name in WITH_GRADIENTS:
            found += outcomes_of(info, most, True)
    if part == 0:
        found += outcomes_of_own()
    return found


def outcomes_of_own() -> Iterator[tuple[str, Outcome]]:
    """What becomes of the calls that none of torch's samples makes."""
    torch.manual_seed(0)
    for dtype in DTYPES[:2]:
        for function, arguments in own_samples(dtype):
            yield f"{function} {dtype}", outcome(function, (arguments[0], arguments[1:], {}), dtype)


def outcomes_of(info: Any, most: int, of_gradients: bool = False) -> Iterator[tuple[str, Outcome]]:
    """What becomes of the first samples of an operator in each dtype that it has."""
    for dtype in DTYPES[:1] if of_gradients else DTYPES:
        if dtype not in info.supported_dtypes("cpu"):
            continue
        count = most if dtype.itemsize != 2 else most // 2
        for number, sample in zip(range(count), info.sample_inputs("cpu", dtype)):
            made = outcome(
                info, (sample.input, sample.args, sample.kwargs), dtype, info.name, of_gradients
            )
            yield f"{info.name} {dtype} {number}", made
