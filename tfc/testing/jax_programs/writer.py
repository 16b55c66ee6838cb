"""Drawing a JAX program: a writer adds steps over the values that it has, and JAX checks them."""

import random
from collections.abc import Callable, Sequence
from itertools import permutations
from math import prod
from typing import Any

import jax

from tfc.testing.jax_programs.program import Function, Ref, Step, Type, call

KINDS = {
    "bool": "bool", "int8": "int", "int16": "int", "int32": "int", "int64": "int",
    "uint8": "uint", "uint16": "uint", "uint32": "uint", "uint64": "uint", "bfloat16": "float",
    "float16": "float", "float32": "float", "float64": "float", "complex64": "complex",
    "complex128": "complex",
}  # fmt: skip
REAL, FLOAT = ("int", "uint", "float"), ("float",)
INT, NUMBER = ("int", "uint"), ("int", "uint", "float", "complex")
ANY = (*NUMBER, "bool")
INEXACT = ("float", "complex")
LARGEST = 512  # elements of a value
TRIES = 40  # draws of a step that JAX may refuse

Make = Callable[["Writer", str], None]
# name of a function -> how a call of it is drawn
FUNCTIONS: dict[str, Make] = {}


class RefusedByJax(Exception):
    """No call can be drawn here, or JAX does not take the one that was."""


def listed(names: str) -> list[str]:
    """Names with blanks between them."""
    return names.split()


def calls(names: str) -> Callable[[Make], Make]:
    """Add functions, named with blanks between them, that are drawn in one way."""

    def add(make: Make) -> Make:
        for name in listed(names):
            assert name not in FUNCTIONS, name
            FUNCTIONS[name] = make
        return make

    return add


class Writer:
    """A function that is being written."""

    def __init__(self, rng: random.Random, dtypes: Sequence[str], sizes: Sequence[int],
                 parameters: Sequence[Type] = (), depth: int = 0):  # fmt: skip
        self.rng, self.dtypes, self.sizes, self.depth = rng, tuple(dtypes), tuple(sizes), depth
        self.parameters = list(parameters)
        self.steps: list[Step] = []

    @property
    def types(self) -> list[Type]:
        """The types of the values there are."""
        return [*self.parameters, *(s.type for s in self.steps)]

    def pick(self, items: Sequence[Any]) -> Any:
        """One of the items.

        Raises:
            Refused: there is none.
        """
        if not items:
            raise RefusedByJax
        return self.rng.choice(list(items))

    def chance(self, likely: float) -> bool:
        """True as likely as said."""
        return self.rng.random() < likely

    def dtype(self, kinds: Sequence[str] = ANY) -> str:
        """A dtype of one of the kinds."""
        return self.pick([d for d in self.dtypes if KINDS[d] in kinds])

    def dims(self, low: int, high: int) -> tuple[int, ...]:
        """Dimensions, as many as said."""
        return tuple(self.pick(self.sizes) for _ in range(self.rng.randint(low, high)))

    def type_of(self, ref: Ref) -> Type:
        """The type of a value."""
        return self.types[ref.number]

    def value(
        self, kinds: Sequence[str] = ANY, low: int = 0, high: int = 4, dims: Any = None
    ) -> Ref:
        """A value of one of the kinds, of so many dimensions or of the given ones.

        Raises:
            Refused: there is none, and none can be made.
        """
        found = [n for n, t in enumerate(self.types) if KINDS[t.dtype] in kinds
                 and low <= len(t.dims) <= high and (dims is None or t.dims == dims)]  # fmt: skip
        if found and self.chance(0.85):
            # Temporaries more often than parameters: layouts are chosen for these.
            made = [n for n in found if n >= len(self.parameters)]
            return self._turned(Ref(self.pick(made if made and self.chance(0.7) else found)), dims)
        if dims is not None:
            permuted = [n for n, t in enumerate(self.types) if sorted(t.dims) == sorted(dims)
                        and KINDS[t.dtype] in kinds and t.dims != dims]  # fmt: skip
            if permuted and self.chance(0.7):
                number = self.pick(permuted)
                have = list(self.types[number].dims)
                order = []
                for size in dims:
                    axis = have.index(size)
                    have[axis] = -1
                    order.append(axis)
                return self.call("jnp.transpose", Ref(number), tuple(order))
        wanted = Type(self.dims(low, min(high, 3)) if dims is None else dims, self.dtype(kinds))
        return self.new(wanted)

    def new(self, wanted: Type) -> Ref:
        """A value of a type that there is none of, made of any that there is."""
        return self.call("helpers.fitted", self.any(), wanted.dims, wanted.dtype)

    def any(self) -> Ref:
        """Any value."""
        return Ref(self.rng.randrange(len(self.types)))

    def like(self, ref: Ref) -> Ref:
        """A value of the same type."""
        wanted = self.type_of(ref)
        found = [n for n, t in enumerate(self.types) if t == wanted]
        return self._turned(Ref(self.pick(found)), wanted.dims)

    def _turned(self, ref: Ref, dims: Any) -> Ref:
        """The value, or at times a transpose of it after or before something elementwise."""
        type_ = self.type_of(ref)
        if len(type_.dims) < 2 or not self.chance(0.4):
            return ref
        orders = [o for o in permutations(range(len(type_.dims))) if list(o) != sorted(o)]
        if dims is not None:
            orders = [o for o in orders if tuple(type_.dims[d] for d in o) == dims]
        if not orders:
            return ref
        made = self._changed(ref) if self.chance(0.5) else ref
        made = self.call("jnp.transpose", made, self.pick(orders))
        return self._changed(made) if self.chance(0.7) else made

    def _changed(self, ref: Ref) -> Ref:
        kind = KINDS[self.type_of(ref).dtype]
        if kind == "bool":
            return self.call("jnp.logical_not", ref)
        return self.call("jnp.sin" if kind == "float" and self.chance(0.5) else "jnp.negative", ref)

    def axis(self, ref: Ref, low: int = 0) -> int:
        """One of the dimensions of a value."""
        return self.pick(range(low, len(self.type_of(ref).dims)))

    def call(self, function: str, *arguments: Any, element: int | None = None, **keywords: Any):
        """Add a step, and give the value.

        Raises:
            Refused: JAX does not take it, or its result is no array, too large or empty.
        """
        named = tuple((k, v) for k, v in keywords.items())
        step = Step(function, arguments, named, element, Type((), "bool"))
        types = self.types
        operands = [t.spec for t in types]
        try:
            made: Any = jax.eval_shape(lambda *values: call(step, values), *operands)
        except Exception as error:  # of JAX, which checks what is drawn at random
            raise RefusedByJax(f"{function}: {error}") from None
        if isinstance(made, (tuple, list)) and made and element is None:
            return self.call(
                function, *arguments, element=self.rng.randrange(len(made)), **keywords
            )
        shape, dtype = tuple(getattr(made, "shape", ())), getattr(made, "dtype", None)
        if dtype is None or dtype.name not in KINDS or prod(shape) > LARGEST:
            raise RefusedByJax(f"{function} gives {made}")
        type_ = Type(shape, dtype.name)
        self.steps.append(Step(function, arguments, named, element, type_))
        return Ref(len(types))

    def function(
        self, parameters: Sequence[Type], results: Sequence[Type] | None = None,
        as_tuple: bool = False, names: Sequence[str] = (), size: int = 3,
    ) -> Function:  # fmt: skip
        """A function to be an argument; its results are of the given types, or its last value."""
        if self.depth > 1:
            raise RefusedByJax
        inner = Writer(self.rng, self.dtypes, self.sizes, parameters, self.depth + 1)
        for _ in range(self.rng.randint(1, size)):
            inner.add(names)
        if results is None:
            return Function(tuple(parameters), tuple(inner.steps), (len(inner.types) - 1,))
        chosen = [inner.of_type(t) for t in results]
        return Function(tuple(parameters), tuple(inner.steps), tuple(chosen), as_tuple)

    def of_type(self, wanted: Type) -> int:
        """The last value of a type, made to be of it if there is none."""
        types = self.types
        found = [n for n, t in enumerate(types) if t == wanted]
        made = [n for n in found if n >= len(self.parameters)]
        if made:
            return made[-1]
        turned = [n for n, t in enumerate(types) if t.dims == wanted.dims[::-1]
                  and t.dtype == wanted.dtype]  # fmt: skip
        if turned and self.chance(0.5):
            return self.call("jnp.transpose", Ref(turned[-1])).number
        return self.call("helpers.fitted", self.any(), wanted.dims, wanted.dtype).number

    def add(self, names: Sequence[str] = ()) -> str:
        """Add a call of one of the functions, or of any; its name, or nothing if none can be."""
        for _ in range(TRIES):
            name = self.pick(names or NAMES)
            before = len(self.steps)
            try:
                FUNCTIONS[name](self, name)
            except RefusedByJax:
                del self.steps[before:]
                continue
            return name
        return ""


NAMES: list[str] = []  # of the functions, each as often as it is drawn
