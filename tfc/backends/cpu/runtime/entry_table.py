"""Tables for the Python entry (python_entry.c), and the builtin functions made of them.

A node says what container or array is expected; whatever a table points to is held by the builtin
function.
"""

import ctypes
import importlib
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np

from tfc.backends.cpu.runtime.blocks import LEAST, block_size, huge_page_advice, most_kept
from tfc.backends.cpu.runtime.bytecode_interpreter import Context
from tfc.backends.cpu.runtime.generated import constant, runtime_ir
from tfc.backends.interfaces import Fixed, Nest, Signature
from tfc.backends.llvm.compilation import LoadedCode, compile_ir
from tfc.backends.target import Target
from tfc.hlo.shape import Shape

_MOST_LEAVES = 4096  # a call holds their addresses on the stack
_PYTHON_FUNCTIONS = (
    "PyCapsule_GetContext", "PyCapsule_GetPointer", "PyCapsule_New", "PyCapsule_SetContext",
    "PyDict_GetItemWithError", "PyDict_New", "PyDict_SetItem", "PyDict_Size", "PyErr_Clear",
    "PyErr_NoMemory", "PyEval_RestoreThread", "PyEval_SaveThread", "PyList_GetItem", "PyList_New",
    "PyList_SetItem", "PyList_Size", "PyLong_AsLongLongAndOverflow",
    "PyObject_CallObject", "PyTuple_GetItem", "PyTuple_New", "PyTuple_SetItem", "PyTuple_Size",
    "Py_DecRef", "Py_IncRef",
)  # fmt: skip
# Places in NumPy's table of functions, which never move.
_NUMPY_FUNCTIONS = {"PyArray_NewFromDescr": 94, "PyArray_SetBaseObject": 282}
# Words of NumPy's arrays and dtypes, of which python_entry.c has the structures.
_TYPE, _DATA, _RANK, _DIMS, _DTYPE, _FLAGS = 1, 2, 3, 4, 7, 8
_DTYPE_IDENTITY = 3
_VALUE = 2  # the word of a float, or of a NumPy scalar, that its value begins in
# The dtypes whose scalars NumPy itself has, each a head and the value.
_OWN_SCALARS = frozenset(map(np.dtype, "?bhilBHILefdFD"))


# --- The tables ---------------------------------------------------------------------------------


class Kind(IntEnum):
    """What a node is."""

    LEAF, FIXED, TUPLE, LIST, DICT, NAMED = range(6)


class Number(IntEnum):
    """What a leaf of the arguments may be: an array or NumPy's scalar, or one of Python's numbers.

    ANOTHER stands for those that are always declined.
    """

    STRONG, FLOAT, INTEGER, BOOLEAN, ANOTHER = range(5)


_PYTHON_NUMBERS = {
    np.dtype(np.float64): Number.FLOAT,
    np.dtype(np.int64): Number.INTEGER,
    np.dtype(np.bool_): Number.BOOLEAN,
}


class Node(ctypes.Structure):
    """A container of arguments or results, or what lies in it."""

    _fields_ = (
        ("kind", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("object", ctypes.c_void_p),
        ("keys", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
    )


class Argument(ctypes.Structure):
    """An array or a number that is taken."""

    _fields_ = (
        ("identity", ctypes.c_int64),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.c_void_p),
        ("number", ctypes.c_int64),
        ("scalar_type", ctypes.c_void_p),
    )


class Result(ctypes.Structure):
    """An array that is made; `block` is the size of the block that it lies in, or 0."""

    _fields_ = (
        ("dtype", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.c_void_p),
        ("block", ctypes.c_int64),
    )


class Entry(ctypes.Structure):
    """All that differs from one program's entry to another's."""

    _fields_ = (
        ("run", ctypes.c_void_p),
        ("program", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("arena", ctypes.c_void_p),
        ("arena_size", ctypes.c_int64),
        ("argument_count", ctypes.c_int64),
        ("named_count", ctypes.c_int64),
        ("names", ctypes.c_void_p),
        ("argument_nodes", ctypes.c_void_p),
        ("leaf_count", ctypes.c_int64),
        ("leaves", ctypes.c_void_p),
        ("result_count", ctypes.c_int64),
        ("results", ctypes.c_void_p),
        ("result_node", ctypes.c_void_p),
        ("is_long", ctypes.c_int64),
    )


# --- A program's entry --------------------------------------------------------------------------


@dataclass(frozen=True)
class EntryProgram:
    """Compiled code, and what a call of it needs.

    run, address: those of the interpreter and of the program that it runs.
    kept: what must live as long as the program may be called.
    arena: its address while no call uses it, and its address; zeros until there is one.
    is_long: whether a call takes so long that other Python threads should run meanwhile.
    """

    run: int
    address: int
    context: Context
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


def python_entry(program: EntryProgram, signature: Signature) -> Callable[..., Any] | None:
    """The builtin function that calls a program, or None where there is none for it.

    Args:
        signature: all the leaves in its arguments are the program's parameters.
    """
    code = _entry_code()
    if code is None or max(len(program.parameters), len(program.results)) > _MOST_LEAVES:
        return None
    table = _Table()
    try:
        nodes = table.array(Node, [table.node(a, Kind.TUPLE) for a in signature.arguments])
        result_node = table.array(Node, [table.node(signature.result, Kind.NAMED)])
    except _UnsupportedContainer:
        return None
    head: Any = Entry(
        run=program.run,
        program=program.address,
        context=ctypes.addressof(program.context),
        arena=program.arena.ctypes.data,
        arena_size=program.arena_size,
        argument_count=len(signature.arguments),
        named_count=len(signature.names),
        names=table.array(ctypes.c_void_p, [table.object(sys.intern(n)) for n in signature.names]),
        argument_nodes=nodes,
        leaf_count=len(program.parameters),
        leaves=table.array(
            Argument,
            [
                table.argument(shape, number in signature.weak)
                for number, shape in enumerate(program.parameters)
            ],
        ),
        result_count=len(program.results),
        results=table.array(Result, map(table.result, program.results)),
        result_node=result_node,
        is_long=program.is_long,
    )
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    held = (np.frombuffer(head, np.uint8), table.kept, program, code)
    return make(code.address("tfc_method"), held, None)


class _UnsupportedContainer(Exception):
    """A container that the entry does not take apart or make."""


@dataclass
class _Table:
    """Arrays, and the objects that they have the addresses of."""

    kept: list[Any] = field(default_factory=list)

    def array(self, kind: Any, values: Iterable[Any]) -> int:
        """The address of an array of values of a C type."""
        listed = list(values)
        self.kept.append((kind * len(listed))(*listed))
        return ctypes.addressof(self.kept[-1])

    def object(self, value: Any) -> int:
        """The address of an object."""
        self.kept.append(value)
        return id(value)

    def node(self, nest: Nest | Fixed, named: Kind) -> Node:
        """The node of a container.

        Args:
            named: what a named tuple is.
        """
        if isinstance(nest, Fixed):
            return Node(Kind.FIXED, object=self.object(nest.value))
        kind = nest.kind
        if kind is None:
            return Node(Kind.LEAF)
        if kind is type(None):
            return Node(Kind.FIXED, object=self.object(None))
        children = self.array(Node, [self.node(c, named) for c in nest.children])
        found = {tuple: Kind.TUPLE, list: Kind.LIST, dict: Kind.DICT}.get(kind)
        if found is None:
            if not (issubclass(kind, tuple) and hasattr(kind, "_fields")):
                raise _UnsupportedContainer
            found = named
        keys = self.array(ctypes.c_void_p, map(self.object, nest.keys)) if kind is dict else 0
        return Node(found, len(nest.children), self.object(kind), keys, children)

    def argument(self, shape: Shape, is_weak: bool) -> Argument:
        """An array or a number that is taken."""
        dtype = shape.element_type.dtype
        number = _PYTHON_NUMBERS.get(dtype, Number.ANOTHER) if is_weak else Number.STRONG
        has_scalars = not is_weak and not shape.rank and dtype in _OWN_SCALARS
        return Argument(
            _word(self.object(dtype), _DTYPE_IDENTITY),
            shape.rank,
            self._dims(shape),
            number,
            self.object(dtype.type) if has_scalars else None,
        )

    def result(self, shape: Shape) -> Result:
        """An array that is made."""
        size = block_size(shape.byte_size) if shape.byte_size >= LEAST else 0
        dtype = self.object(shape.element_type.dtype)
        return Result(dtype, shape.rank, self._dims(shape), size)

    def _dims(self, shape: Shape) -> int:
        return self.array(ctypes.c_int64, shape.dims)


def _word(address: int, number: int) -> int:
    return ctypes.c_int64.from_address(address + 8 * number).value


# --- The code of all entries --------------------------------------------------------------------


@cache
def _entry_code() -> LoadedCode | None:
    """The code of python_entry.c, or None where Python or NumPy is not built as it expects."""
    functions = _numpy_functions()
    if functions is None or not _is_usual_build():
        return None
    definitions = {
        "tfc_most_kept": constant("tfc_most_kept", most_kept(), 64),
        "tfc_huge_page_advice": constant("tfc_huge_page_advice", huge_page_advice()),
    }
    objects = {
        "PyArray_Type": id(np.ndarray),
        "PyBool_Type": id(bool),
        "PyFloat_Type": id(float),
        "PyLong_Type": id(int),
        "_Py_NotImplementedStruct": id(NotImplemented),
        "_Py_TrueStruct": id(True),
    }
    code = compile_ir(runtime_ir("python_entry", definitions), Target.host(), optimise=False)
    return code.load(functions | objects | _python_functions())


def _python_functions() -> dict[str, int]:
    """The addresses of Python's functions."""
    return {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in _PYTHON_FUNCTIONS
    }


def _is_usual_build() -> bool:
    """True if this is CPython with its lock, on POSIX, and arrays lie in memory as expected."""
    if sys.implementation.name != "cpython" or os.name != "posix":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if not all(hasattr(ctypes.pythonapi, name) for name in _PYTHON_FUNCTIONS):
        return False
    array = np.zeros((3, 5), np.float32)
    at = id(array)
    dims = _word(at, _DIMS)
    scalars = [1.5, np.float64(1.5), np.int64(7), np.bool_(True), np.float32(1.5)]
    return (
        all(_holds_value(scalar) for scalar in scalars)
        and _word(at, _TYPE) == id(np.ndarray)
        and _word(at, _DATA) == array.ctypes.data
        and _word(at, _RANK) & 0xFFFFFFFF == 2
        and [_word(dims, n) for n in range(2)] == [3, 5]
        and _word(at, _DTYPE) == id(array.dtype)
        and _word(at, _FLAGS) & 0xFFFFFFFF == array.flags.num
    )


def _holds_value(scalar: Any) -> bool:
    """True if the memory of a scalar has its value after the head."""
    value = np.asarray(scalar)
    return ctypes.string_at(id(scalar) + 8 * _VALUE, value.itemsize) == value.tobytes()


def _numpy_functions() -> dict[str, int] | None:
    """The functions that are used of NumPy's table; None if it is not the one known."""
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
    return {name: _word(table, n) for name, n in _NUMPY_FUNCTIONS.items()}
