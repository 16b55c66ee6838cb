"""The signature of an entry point compiled ahead of time: the one source for header and caller.

foo::bar::MatMulComp   f32[2,3] x, f32[3,2] y -> f32[2,2]   foo_bar_MatMulComp_entry
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tfc.aot.interface import Batch, Interface, State
from tfc.aot.taken_names import why_not_global, why_not_in_cpp, why_not_linked
from tfc.backends.interfaces import Constants
from tfc.errors import TfcError, UnsupportedError
from tfc.hlo.ir import Module
from tfc.hlo.shape import AnyShape, Shape
from tfc.passes.analysis.donation import donation_of

# Where every buffer begins that a generated class allocates. The arena relies on it: it is the
# ALIGNMENT of backends/cpu/runtime/abi.py, repeated because that package loads MLIR.
ALIGNMENT = 64
# What the entry point returns where the processor is another; as there.
WRONG_PROCESSOR = 2
# What the buffers of a caller must be aligned to (API-3).
MINIMUM_ALIGNMENT = 32

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Up to C++23; a header that is fine under C++11 is to stay fine under later standards.
_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires return
    short signed sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq
"""


@dataclass(frozen=True)
class CppClass:
    """A C++ class: the namespaces it lives in, outermost first, and its name (TL-2)."""

    namespaces: tuple[str, ...]
    name: str

    @staticmethod
    def parse(text: str) -> "CppClass":
        """The class written as "foo::bar::MatMulComp", or "MatMulComp" in the global namespace.

        Raises:
            TfcError: some part is no identifier of C++, a keyword, or a name that is taken.
        """
        # A leading "::" names the same class.
        *namespaces, name = text.removeprefix("::").split("::")
        for part in (*namespaces, name):
            check_identifier(part, f"the C++ class '{text}'")
        if "std" in (*namespaces, name):
            raise TfcError(
                f"the C++ class '{text}' must neither be nor live in something called std"
            )
        outermost, *inner = *namespaces, name
        reasons = {part: why_not_in_cpp(part) for part in inner}
        reasons[outermost] = why_not_global(outermost)
        for part, reason in reasons.items():
            if reason is not None:
                raise TfcError(f"the C++ class '{text}' must not use '{part}', which {reason}")
        return CppClass(tuple(namespaces), name)

    @property
    def entry_point(self) -> str:
        """The C name of its entry point, unless the user gives one."""
        return "_".join((*self.namespaces, self.name, "entry"))

    @property
    def file_name(self) -> str:
        """The usual name of its files, without suffix: mat_mul_comp for MatMulComp."""
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", self.name)
        return words.lower()

    def __str__(self) -> str:
        return "::".join((*self.namespaces, self.name))


def check_identifier(name: str, where: str) -> None:
    """Check that a name can be used in C++.

    Raises:
        TfcError: it is no identifier, or a keyword.
    """
    if not _IDENTIFIER.fullmatch(name):
        raise TfcError(f"{where} must be made of C++ identifiers joined by '::', got '{name}'")
    if name in _KEYWORDS.split():
        raise TfcError(f"{where} must not use '{name}', which is a C++ keyword")


def is_identifier(name: str) -> bool:
    """True if a name can be used in C++."""
    return _IDENTIFIER.fullmatch(name) is not None and name not in _KEYWORDS.split()


@dataclass(frozen=True)
class Leaf:
    """One array that goes into or comes out of the entry point; row-major (API-7).

    called: what methods by name are called by; "" where there are none.
    """

    name: str
    shape: Shape
    called: str = ""


@dataclass(frozen=True)
class Signature:
    """What a caller of an entry point must know; its C type is in backends/cpu/runtime/abi.py.

    entry_point: the C name, unique in the program that links it.
    arguments, results: the arrays in the order of the pointers that are passed (AOT-5).
    aliases: pairs of a result and the argument into whose buffer it is written, by number.
    donated: the arguments whose buffers are written, by number.
    pointer_bytes: how wide the pointers are of the machine that the object is for.
    cpus: the processors that there is code for, the first of which asks least.
    is_checked: whether the entry point looks for what that asks.
    arena_size, constant_size: bytes of temporaries, which the caller provides, and of constants,
        which the object file holds.
    variables: state that the class keeps between runs; behind the other arguments and results.
    has_names, has_shape: whether the class can be asked for indices by name, for its shape.
    threads: how many may share the work of a run.
    sites: what is timed, as text; None if nothing is.
    symbols: the C functions that the object file needs from its user.
    batch: the sizes of batch that there is code for; arrays are those of the largest.
    constants: where they lie; `constant_sum` is their checksum where the class is given them.
    """

    cpp_class: CppClass
    entry_point: str
    arguments: tuple[Leaf, ...]
    results: tuple[Leaf, ...]
    aliases: tuple[tuple[int, int], ...] = ()
    donated: frozenset[int] = frozenset()
    pointer_bytes: int = 8
    cpus: tuple[str, ...] = ()
    is_checked: bool = False
    arena_size: int = 0
    constant_size: int = 0
    variables: tuple[State, ...] = ()
    has_names: bool = True
    has_shape: bool = True
    threads: int = 1
    sites: tuple[str, ...] | None = None
    symbols: tuple[str, ...] = ()
    batch: Batch | None = None
    constants: Constants = Constants.INSIDE
    constant_sum: int = 0

    @property
    def initial_name(self) -> str:
        """The C name of what variables hold at first, an array of bytes in the object."""
        return f"{self.entry_point}_initial"

    @property
    def initial_places(self) -> dict[int, int]:
        """Where in that array the value of each variable begins that has one, by argument."""
        places, at = {}, 0
        for variable in self.variables:
            if variable.initial is not None:
                places[variable.argument] = at
                at += -(-len(variable.initial) // ALIGNMENT) * ALIGNMENT
        return places

    @property
    def initial_arrays(self) -> tuple[tuple[str, bytes], ...]:
        """That array with its name; none where all variables are zero at first."""
        given = [v.initial for v in self.variables if v.initial is not None]
        made = b"".join(x + bytes(-len(x) % ALIGNMENT) for x in given)
        return ((self.initial_name, made),) if made else ()

    @property
    def is_served(self) -> bool:
        """Whether the entry point takes more than the arena: threads, a clock, which program."""
        has_choice = self.batch is not None and len(self.batch.sizes) > 1
        is_given = self.constants is Constants.GIVEN
        return self.threads > 1 or self.sites is not None or has_choice or is_given

    @property
    def is_dispatched(self) -> bool:
        """Whether the entry point looks what the processor has."""
        return self.is_checked or len(self.cpus) > 1

    @property
    def cpu_symbol(self) -> str:
        """The C function that then says which version runs; see backends/cpu/runtime/abi.py."""
        return f"{self.entry_point}_cpu"

    @property
    def fed(self) -> tuple[Leaf, ...]:
        """The arguments that are no variables."""
        return self.arguments[: len(self.arguments) - len(self.variables)]

    @property
    def fetched(self) -> tuple[Leaf, ...]:
        """The results that are no variables."""
        return self.results[: len(self.results) - sum(v.result is not None for v in self.variables)]

    def __str__(self) -> str:
        """The program's shape: (x: f32[2,3], y: f32[3,2]) -> f32[2,2]."""
        taken = ", ".join(f"{a.name}: {a.shape.without_layout()}" for a in self.arguments)
        given = [r.shape.without_layout() for r in self.results]
        return f"({taken}) -> {given[0] if len(given) == 1 else '(' + ', '.join(given) + ')'}"


def signature_of(
    source: Module | Interface, cpp_class: CppClass, entry_point: str | None = None
) -> Signature:
    """The signature of a module; the sizes of its memory are known once it is compiled.

    Raises:
        TfcError: the entry point is no name of C++, or one that the class has taken.
        UnsupportedError: input_output_alias names no argument or result.
    """
    interface = source if isinstance(source, Interface) else Interface(source)
    module = interface.module
    chosen = cpp_class.entry_point if entry_point is None else entry_point
    if not is_identifier(chosen):
        raise TfcError(f"the entry point must be an identifier of C++, got '{chosen}'")
    reason = why_not_linked(chosen)
    if reason is not None:
        raise TfcError(f"the entry point must not be called '{chosen}', which {reason}")
    if chosen in ("main", "std", (*cpp_class.namespaces, cpp_class.name)[0]):
        raise TfcError(f"the entry point must not be called '{chosen}', a name that is taken")
    if chosen in _custom_call_targets(module):
        raise TfcError(f"the entry point must not be called '{chosen}', as a custom call is")
    entry = module.entry
    arguments = [leaf for p in entry.parameters for leaf in _named(p.name, p.shape)]
    distinct = _distinct(arguments)
    fed = len(distinct) - len(interface.states)
    called = interface.arguments or [leaf.name for leaf in distinct[:fed]]
    donation = donation_of(module)
    return Signature(
        cpp_class,
        chosen,
        (
            *_called("arg", distinct[:fed], called),
            *_called("var", distinct[fed:], [state.name for state in interface.states]),
        ),
        _called("result", list(_named("result", entry.root.shape)), interface.results),
        tuple(donation.aliases.items()),
        donation.arguments,
        variables=interface.states,
    )


def _custom_call_targets(module: Module) -> set[str]:
    """What the custom calls of a module call."""
    return {
        str(i["custom_call_target"])
        for computation in module.computations
        for i in computation.instructions
        if i.opcode == "custom-call"
    }


def check_called(symbol: str, cpp_class: CppClass) -> None:
    """Check that a header can declare a C function that the object calls.

    Raises:
        UnsupportedError: it has a name that is taken.
    """
    reason = why_not_linked(symbol)
    if reason is None and not is_identifier(symbol):
        reason = "is a C++ keyword"
    if reason is None and symbol in ("main", "std", (*cpp_class.namespaces, cpp_class.name)[0]):
        reason = "is taken"
    if reason is not None:
        raise UnsupportedError(
            f"the custom call target '{symbol}' {reason}: give the function another name"
        )


def _named(name: str, shape: AnyShape) -> Iterable[Leaf]:
    """The leaves of a value; those of a tuple are told apart by their position."""
    if isinstance(shape, Shape):
        yield Leaf(_cleaned(name), shape)
        return
    for number, element in enumerate(shape.elements):
        yield from _named(f"{name}_{number}", element)


def _cleaned(name: str) -> str:
    """A name that can stand in a comment or a string of C++, and is an identifier if it can be.

    params['w'] becomes params_w, and x.1 becomes x_1.
    """
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "unnamed"


def _distinct(arguments: Sequence[Leaf]) -> tuple[Leaf, ...]:
    """The same leaves; names that occur twice are replaced by their position."""
    names = [a.name for a in arguments]
    return tuple(
        a if names.count(a.name) == 1 else Leaf(f"{a.name}_{n}", a.shape)
        for n, a in enumerate(arguments)
    )


def _called(kind: str, found: Sequence[Leaf], names: Sequence[str]) -> tuple[Leaf, ...]:
    """The same leaves with what the methods by name are called by.

    Where two would have a method of one name, x and x_data, or one would have that of a number or
    of any index, arg_size, the later one's name ends with its number: x_data_1. There are no two
    underscores in a row, which are reserved for compilers: those at the ends are left out, and of
    several one is left.
    """
    used = {m for n in range(len(found)) for m in methods(f"{kind}{n}")} | _OF_ANY_INDEX
    made = []
    for number, leaf in enumerate(found):
        stated = names[number] if number < len(names) else ""
        name = re.sub(r"_{2,}", "_", stated).strip("_")
        if stated and (not name or methods(f"{kind}_{name}") & used):
            name = f"{name}_{number}".strip("_")
        used |= methods(f"{kind}_{name}") if name else set()
        made.append(replace(leaf, name=stated or leaf.name, called=name))
    return tuple(made)


# The methods that take an index.
_OF_ANY_INDEX = {"arg_data", "set_arg_data", "arg_size", "result_data", "result_size"}


def methods(name: str) -> set[str]:
    """The names of the methods for one array; variables tell what they hold at first, too."""
    found = {name, f"{name}_data", f"set_{name}_data", f"{name}_size", f"{name}_count"}
    return found | {f"{name}_initial"} if name.startswith("var_") else found
