"""Tables for the Python entry (python_entry.py), and the builtin functions made of them.

A table is an array of words; a node of it says what container or array is expected, and a spec
which dtype and dimensions. Whatever a table points to is held by the builtin function.
"""

import ctypes
import importlib
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import llvmlite.ir as ir
import numpy as np

from tfc.backends.cpu.runtime import python_entry as words
from tfc.backends.cpu.runtime.blocks import LEAST, block_size, define_blocks
from tfc.backends.interfaces import Fixed, Nest
from tfc.backends.llvm.compilation import LoadedCode, compile_ir
from tfc.backends.target import Target
from tfc.hlo.shape import Shape

_MOST_LEAVES = 4096  # a call holds their addresses on the stack


@dataclass(frozen=True)
class Program:
    """Compiled code, and what a call of it needs.

    kept: what must live as long as the code may be called.
    arena: its address while no call uses it, and its address; zeros until there is one.
    is_long: whether a call takes so long that other Python threads should run meanwhile.
    """

    address: int
    constants: np.ndarray
    arena: np.ndarray
    arena_size: int
    parameters: Sequence[Shape]
    results: Sequence[Shape]
    is_long: bool
    kept: Any


@dataclass(frozen=True)
class Flat:
    """The containers of a result that is a list of arrays; also those of one array."""

    kind: type | None = None
    keys: tuple[int, ...] = ()
    children: tuple["Flat", ...] = ()


def python_entry(
    program: Program, arguments: Sequence[Nest | Fixed], result: Nest
) -> Callable[..., Any] | None:
    """The builtin function that calls a program, or None where there is none for it.

    Args:
        arguments: what each argument is; all the leaves in them are the program's parameters.
    """
    code = _entry_code()
    if code is None or max(len(program.parameters), len(program.results)) > _MOST_LEAVES:
        return None
    table = _Table()
    try:
        nodes = table.words([w for a in arguments for w in table.node(a, words.TUPLE)])
        result_node = table.words(table.node(result, words.NAMED))
    except _UnsupportedContainer:
        return None
    row = [0] * words.TABLE_WORDS
    row[words.CODE], row[words.CONSTANTS] = program.address, program.constants.ctypes.data
    row[words.ARENA], row[words.ARENA_SIZE] = program.arena.ctypes.data, program.arena_size
    row[words.ARGUMENTS], row[words.NODES] = len(arguments), nodes
    row[words.LEAVES], row[words.RESULTS] = len(program.parameters), len(program.results)
    row[words.SPECS] = table.words([w for s in program.parameters for w in table.leaf(s)])
    row[words.RESULT_SPECS] = table.words([w for s in program.results for w in table.result(s)])
    row[words.RESULT_NODE], row[words.IS_LONG] = result_node, program.is_long
    head = np.array(row, np.int64)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return make(code.address("tfc.method"), (head, table.kept, program), None)


class _UnsupportedContainer(Exception):
    """A container that the entry does not take apart or make."""


@dataclass
class _Table:
    """Arrays of words, and the objects that words of them are the addresses of."""

    kept: list[Any] = field(default_factory=list)

    def words(self, values: Sequence[int]) -> int:
        """The address of some words."""
        array = np.array(values, np.int64)
        self.kept.append(array)
        return array.ctypes.data

    def object(self, value: Any) -> int:
        """The address of an object."""
        self.kept.append(value)
        return id(value)

    def node(self, nest: Nest | Fixed, named: int) -> list[int]:
        """The words of a container.

        Args:
            named: the kind that a named tuple is.
        """
        if isinstance(nest, Fixed):
            return [words.FIXED, 0, self.object(nest.value), 0, 0]
        kind = nest.kind
        if kind is None:
            return [words.LEAF, 0, 0, 0, 0]
        if kind is type(None):
            return [words.FIXED, 0, self.object(None), 0, 0]
        children = self.words([w for c in nest.children for w in self.node(c, named)])
        found = {tuple: words.TUPLE, list: words.LIST, dict: words.DICT}.get(kind)
        if found is None:
            if not (issubclass(kind, tuple) and hasattr(kind, "_fields")):
                raise _UnsupportedContainer
            found = named
        keys = self.words([self.object(k) for k in nest.keys]) if kind is dict else 0
        return [found, len(nest.children), self.object(kind), keys, children]

    def leaf(self, shape: Shape) -> list[int]:
        """The spec of an array that is taken."""
        dtype = self.object(shape.element_type.dtype)
        return [_word(dtype, words.DESCR_IDENTITY), shape.rank, self.words(shape.dims)]

    def result(self, shape: Shape) -> list[int]:
        """The spec of an array that is made."""
        size = block_size(shape.byte_size) if shape.byte_size >= LEAST else 0
        return [self.object(shape.element_type.dtype), shape.rank, self.words(shape.dims), size]


def _word(address: int, number: int) -> int:
    return ctypes.c_int64.from_address(address + 8 * number).value


@cache
def _entry_code() -> LoadedCode | None:
    """The emitted functions, or None where Python or NumPy is not built as they expect."""
    functions = _numpy_functions()
    if functions is None or not _is_usual_build():
        return None
    module = ir.Module("tfc.entry")
    define_blocks(module)
    words.define_entry(module, functions)
    # Optimised it takes ten times as long to make, and saves a tenth of a microsecond in a call.
    code = compile_ir(str(module), Target.host(), optimise=False).load(_python_functions())
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("tfc.method.of"))(
        code.address("tfc.method")
    )
    return code


def _python_functions() -> Mapping[str, int]:
    """The addresses of Python's functions."""
    return {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in words.PYTHON_FUNCTIONS
    }


def _is_usual_build() -> bool:
    """True if this is CPython with its lock, on POSIX, and arrays lie in memory as expected."""
    if sys.implementation.name != "cpython" or os.name != "posix":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if not all(hasattr(ctypes.pythonapi, name) for name in words.PYTHON_FUNCTIONS):
        return False
    array = np.zeros((3, 5), np.float32)
    at = id(array)
    dims = _word(at, words.ARRAY_DIMS)
    return (
        _word(at, words.TYPE) == id(np.ndarray)
        and _word(at, words.DATA) == array.ctypes.data
        and _word(at, words.ARRAY_RANK) & 0xFFFFFFFF == 2
        and [_word(dims, n) for n in range(2)] == [3, 5]
        and _word(at, words.ARRAY_DESCR) == id(array.dtype)
        and _word(at, words.ARRAY_FLAGS) & 0xFFFFFFFF == array.flags.num
    )


def _numpy_functions() -> dict[int, int] | None:
    """The functions that are used of NumPy's table, by place; None if it is not the one known."""
    package = "numpy._core" if int(np.__version__.split(".")[0]) >= 2 else "numpy.core"
    try:
        capsule = importlib.import_module(f"{package}._multiarray_umath")._ARRAY_API
    except (ImportError, AttributeError):
        return None
    if sys.implementation.name != "cpython":
        return None
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    table = kind(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, None)
    if table is None:
        return None
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(_word(table, 0))()
    if version >> 24 not in (1, 2):  # the ABI's generation
        return None
    return {n: _word(table, n) for n in (words.NEW_FROM_DESCR, words.SET_BASE_OBJECT)}
