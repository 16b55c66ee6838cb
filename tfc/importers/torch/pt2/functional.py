"""Calls without views of the same memory and writes in place: what torch calls functionalization.

    y = transpose(x)            y = transpose(x)
    add_(y, 1)           →      y1 = add(y, 1)
    z = sum(x)                  x1 = write_through(x, y1, transpose)
                                z = sum(x1)

Every array has a storage, and the views that lead from the storage's own array to it. A write gives
the array a new value, which goes back through the views into the storage's; other views of it are
taken anew where they are used next. Nothing changes in programs that write to nothing.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from tfc.errors import UnsupportedError
from tfc.importers.torch.pt2.schema import Call, Calls, Ref

# Operators whose results always lie in the memory of their first argument.
VIEWS = frozenset((
    "alias.default", "as_strided.default", "broadcast_to.default", "chunk.default",
    "detach.default", "diagonal.default", "expand.default", "expand_as.default", "imag.default",
    "linalg_diagonal.default", "mH.default", "mT.default", "matrix_H.default",
    "movedim.int", "movedim.intlist", "narrow.default", "numpy_T.default", "permute.default",
    "positive.default", "real.default", "select.int", "slice.Tensor", "split.Tensor",
    "split.sizes", "split_with_sizes.default", "squeeze.default", "squeeze.dim", "squeeze.dims",
    "swapaxes.default", "swapdims.default", "t.default", "tensor_split.indices",
    "tensor_split.sections", "transpose.int", "unbind.int", "unflatten.int", "unfold.default",
    "unsafe_chunk.default", "unsafe_split.Tensor", "unsqueeze.default", "view.default",
    "view.dtype", "view_as.default", "view_as_complex.default", "view_as_real.default",
    "_unsafe_view.default", "resolve_conj.default", "resolve_neg.default", "conj.default",
    "_conj.default", "hsplit.int", "vsplit.int", "dsplit.int", "hsplit.array", "vsplit.array",
    "dsplit.array", "atleast_1d.default",
    "atleast_2d.default", "atleast_3d.default", "adjoint.default", "moveaxis.int",
    "moveaxis.intlist",
))  # fmt: skip
# Those of which the result does where memory allows it, and is a copy where not.
RESHAPES = frozenset((
    "reshape.default", "reshape_as.default", "flatten.using_ints", "ravel.default",
))  # fmt: skip
# Those that give their argument itself where there is nothing to do.
CONVERSIONS = frozenset((
    "to.dtype", "to.device", "to.dtype_layout", "to.other", "type_as.default",
    "contiguous.default", "dropout.default", "feature_dropout.default", "alpha_dropout.default",
))  # fmt: skip
# Those whose results may be several arguments themselves.
_SHARED = ("broadcast_tensors.default", "meshgrid.default", "meshgrid.indexing")
# Writes that change what an array is a view by, and no element.
_TURNED = ("t_.default", "transpose_.int", "squeeze_.default", "squeeze_.dim", "squeeze_.dims",
           "unsqueeze_.default", "swapaxes_.default", "detach_.default")  # fmt: skip
_MOST_CALLS = 1 << 19


@dataclass
class _Storage:
    """Memory that arrays share.

    name: the array that it was made as, now.
    kind: "made" by a call, "state" of the module, or "argument" of the caller.
    version: how often it was written to.
    copies: whether another storage may be the same memory, which is not known.
    """

    name: str
    kind: str
    version: int = 0
    copies: bool = False


@dataclass
class _Array:
    """An array: of a storage, by a view of another array of it.

    part: the place of the array among the view's results; None if it is the only one.
    now: the name of its value, and the storage's version that this is of.
    """

    name: str
    storage: _Storage
    source: "_Array | None" = None
    view: Call | None = None
    part: int | None = None
    now: tuple[int, str] = field(default=(0, ""))


@dataclass(frozen=True)
class Pure:
    """Calls that write to nothing.

    written: of the inputs that are written to, the Refs of what is in them at the end.
    """

    calls: Calls
    written: dict[str, Ref]


def functionalized(calls: Calls, states: frozenset[str]) -> Pure:
    """The same program without writes.

    Args:
        states: the inputs that may be written to.

    Raises:
        UnsupportedError: it writes to others, or to memory of which it is not known who shares it.
    """
    return _Rewriter(calls, states).pure()


class _Rewriter:
    """One program on the way."""

    def __init__(self, calls: Calls, states: frozenset[str]):
        self.source = calls
        self.metas = dict(calls.metas)
        self.made: list[Call] = []
        self.arrays: dict[str, _Array] = {}
        for name in calls.inputs:
            if isinstance(name, str):
                self._own(name, "state" if name in states else "argument")

    def pure(self) -> Pure:
        for call in self.source.calls:
            self._enter(call)
        outputs = [self._now(value) for value in self.source.outputs]
        written = {name: Ref(self.current(self.arrays[name])) for name in self.source.inputs
                   if isinstance(name, str) and self.arrays[name].storage.version}  # fmt: skip
        pure = Calls(self.source.name, self.source.inputs, outputs, self.made, self.metas)
        return Pure(pure, written)

    def _own(self, name: str, kind: str = "made") -> None:
        self.arrays[name] = _Array(name, _Storage(name, kind), now=(0, name))

    def _enter(self, call: Call) -> None:
        """Enter a call, with the arrays that it takes as they are now."""
        if call.op in _TURNED:
            self._turn(call)
            return
        if call.op == "batch_norm.default" and len(call.args) > 5 and call.args[5]:
            self._normalize(call)
            return
        if writes(call):
            self._write(call)
            return
        target = call.args[0] if call.args else None
        if call.op in _SHARED:
            for value in call.args[0]:
                self.arrays[value.name].storage.copies = True
        self._emit(replace(call, args=self._now(call.args), named=self._now(call.named)))
        relation = self._relation(call) if isinstance(target, Ref) else "made"
        for part, name in enumerate(call.outputs if call.is_single else _flat(call.outputs)):
            if name is None:
                continue
            array = self.arrays.get(target.name) if isinstance(target, Ref) else None
            if relation == "made" or array is None:
                self._own(name)
                continue
            if relation == "unknown":
                self._own(name)
                array.storage.copies = self.arrays[name].storage.copies = True
                continue
            place = None if call.is_single else part
            now = (array.storage.version, name)
            self.arrays[name] = _Array(name, array.storage, array, call, place, now)

    def _relation(self, call: Call) -> str:
        """How a result lies to the first argument: "view", "made" anew, or "unknown"."""
        if call.op in VIEWS:
            return "view"
        source = self.metas.get(call.args[0].name)
        result = self.metas.get(call.outputs[0]) if isinstance(call.outputs[0], str) else None
        if source is None or result is None:
            return "made"
        if call.op in RESHAPES:
            return {True: "view", False: "made", None: "unknown"}[source.can_view(result.sizes)]
        if call.op not in CONVERSIONS:
            return "made"
        if call.op == "contiguous.default":
            return {True: "view", False: "made", None: "unknown"}[source.is_contiguous]
        if call.op.endswith("dropout.default"):
            return "made" if call.args[2] else "view"
        copies = call.named.get("copy") or any(a is True for a in call.args[3:])
        return "made" if copies or source.dtype != result.dtype else "view"

    def _now(self, value: Any) -> Any:
        """Arguments with the values that they have now."""
        if isinstance(value, Ref):
            array = self.arrays.get(value.name)
            return value if array is None else Ref(self.current(array), value.is_number)
        if isinstance(value, list):
            return [self._now(v) for v in value]
        if isinstance(value, dict):
            return {key: self._now(v) for key, v in value.items()}
        return value

    def current(self, array: _Array) -> str:
        """The name of an array's value now, which is taken from the storage's anew if it is old."""
        if array.storage.name == array.name and array.source is None:
            return array.name
        path = []
        at: _Array | None = array
        while at is not None and at.source is not None and at.now[0] != at.storage.version:
            path.append(at)
            at = at.source
        for old in reversed(path):
            assert old.source is not None
            assert old.view is not None
            name = self._fresh(old.name)
            source = self._name(old.source)
            outputs = [name] if old.part is None else [*[None] * old.part, name]
            args = [Ref(source), *self._now(old.view.args[1:])]
            outputs = [outputs] if old.part is not None and not _is_tuple(old.view) else outputs
            self._emit(replace(old.view, name=name, args=args, outputs=outputs))
            old.now = (old.storage.version, name)
        return self._name(array)

    def _name(self, array: _Array) -> str:
        return array.storage.name if array.source is None else array.now[1]

    def _fresh(self, name: str) -> str:
        """A name of its own for another value of an array."""
        made = f"{name.partition('~')[0]}~{len(self.made)}"
        if name in self.metas:
            self.metas[made] = self.metas[name]
        return made

    def _emit(self, call: Call) -> None:
        self.made.append(call)
        if len(self.made) > _MOST_CALLS:
            raise UnsupportedError(f"{self.source.name} has more than {_MOST_CALLS} calls")

    def _write(self, call: Call) -> None:
        """Enter a call that writes to its first argument, as one that gives the new value."""
        target = call.args[0]
        (name,) = call.outputs
        value = self._fresh(target.name)
        pure = replace(call, op=call.op.replace("_.", "."), name=name, args=self._now(call.args),
                       named=self._now(call.named), outputs=[value])  # fmt: skip
        self._emit(pure)
        self._assign(target.name, value)
        if name is not None:
            self.arrays[name] = self.arrays[target.name]

    def _assign(self, name: str, value: str) -> None:
        """Give an array a new value, and with it all that share its storage.

        Raises:
            UnsupportedError: the storage is an argument's, or it is not known who shares it.
        """
        array = self.arrays[name]
        storage = array.storage
        if storage.kind == "argument":
            raise UnsupportedError(
                f"the module writes to its arguments ({storage.name}): copy them first"
            )
        if storage.copies:
            raise UnsupportedError(
                f"the program writes to {name}, of which its example does not say whether it is a "
                "view: copy it first"
            )
        path = []
        at = array
        while at.source is not None:
            path.append((at, self.current(at.source)))
            at = at.source
        storage.version += 1
        for own, source in path:
            own.now = (storage.version, value)
            view = own.view
            assert view is not None
            assert own.source is not None
            outer = self._fresh(own.source.name)
            arguments = [Ref(source), Ref(value), view.op, self._now(view.args[1:]),
                         self._now(view.named), own.part]  # fmt: skip
            self._emit(Call("tfc", "write_through", outer, arguments, {}, [outer], True))
            value = outer
        storage.name = value
        at.now = (storage.version, value)

    def _turn(self, call: Call) -> None:
        """Enter a call after which an array is a view of what it was."""
        (name,) = call.outputs
        target = call.args[0]
        op = call.op.replace("_.", ".")
        self._enter(replace(call, op=op))
        if name is not None:
            self.arrays[target.name] = self.arrays[name]

    def _normalize(self, call: Call) -> None:
        """Enter a batch normalization that trains: it gives new running means and variances."""
        running = [a for a in call.args[3:5] if isinstance(a, Ref)]
        names = [self._fresh(a.name) for a in running]
        outputs = [call.outputs[0], *names]
        self._emit(Call("tfc", "batch_norm", call.name, self._now(call.args),
                        self._now(call.named), outputs, False))  # fmt: skip
        self._own(call.outputs[0])
        for argument, name in zip(running, names):
            self._assign(argument.name, name)


def writes(call: Call) -> bool:
    """Whether a call writes to its first argument, which its name says."""
    name = call.op.partition(".")[0]
    is_write = call.domain == "aten" and name.endswith("_") and not name.endswith("__")
    return is_write and bool(call.args) and isinstance(call.args[0], Ref)


def _is_tuple(view: Call) -> bool:
    """Whether a view gives several results of its own, and not a list of them."""
    return not any(isinstance(output, list) for output in view.outputs)


def _flat(outputs: list[Any]) -> list[Any]:
    return [name for part in outputs for name in (part if isinstance(part, list) else [part])]
