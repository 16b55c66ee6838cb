"""The Python entry of programs: a builtin function, emitted once, that calls them with arrays.

    entry(*arguments) -> the nested result, or NotImplemented

Each program's entry is this function with a table of its own (entry_table.py). It compares every
argument with what the table wants: the very containers, arrays of NumPy's own class with the dtype
and dimensions, row-major and aligned. If all is so it makes the results' arrays, calls the code and
nests the results; if not, or if there is no memory, it does nothing and returns NotImplemented, and
the caller goes the long way, which converts and explains.

Arrays are read as NumPy's headers have extensions read them: by the fields of its array structure,
which its ABI fixes. Where that or Python itself is built in another way there is no entry.
"""

from typing import Any

import llvmlite.ir as ir
import numpy as np

from tfc.backends.cpu.runtime.code import I32, I64, POINTER, VOID, Code, function, words

# Words of structures. A node is a container of arguments or results:
KIND, COUNT, OBJECT, KEYS, CHILDREN, NODE_WORDS = range(6)
LEAF, FIXED, TUPLE, LIST, DICT, NAMED = range(6)  # kinds
# an array that is taken, and one that is made (from a block of memory of a size, unless that is 0):
DTYPE, RANK, DIMS, SPEC_WORDS = range(4)
DESCR, _, _, BLOCK, RESULT_WORDS = range(5)
# a program; its arena is two words: the address, or 0 while a call uses it, and the address (both 0
# until there is an arena: then all calls are declined):
CODE, CONSTANTS, ARENA, ARENA_SIZE, ARGUMENTS, NODES, LEAVES, SPECS, RESULTS, RESULT_SPECS, \
    RESULT_NODE, IS_LONG, TABLE_WORDS = range(13)  # fmt: skip

# Words of Python's and NumPy's objects, from the header's last word on, which is the type.
_TYPE = object.__basicsize__ // 8 - 1
DATA, ARRAY_RANK, ARRAY_DIMS, ARRAY_DESCR, ARRAY_FLAGS = (_TYPE + n for n in (1, 2, 3, 6, 7))
DESCR_IDENTITY = _TYPE + 2  # kind, type, byte order and number of a dtype
TYPE = _TYPE
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
# Places in NumPy's table of functions, which never move.
NEW_FROM_DESCR, SET_BASE_OBJECT = 94, 282
_OWNER = "tfc.block"
_FASTCALL = 0x80

PYTHON_FUNCTIONS = (
    "PyCapsule_GetContext", "PyCapsule_GetPointer", "PyCapsule_New", "PyCapsule_SetContext",
    "PyDict_GetItemWithError", "PyDict_New", "PyDict_SetItem", "PyDict_Size", "PyErr_Clear",
    "PyErr_NoMemory", "PyEval_RestoreThread", "PyEval_SaveThread", "PyList_GetItem", "PyList_New",
    "PyList_SetItem", "PyList_Size", "PyObject_CallObject", "PyTuple_GetItem", "PyTuple_New",
    "PyTuple_SetItem", "PyTuple_Size", "Py_DecRef", "Py_IncRef",
)  # fmt: skip


def define_entry(module: ir.Module, numpy_functions: dict[int, int]) -> None:
    """Define `tfc.call`, and `tfc.method`, which is what Python makes a builtin of.

    Args:
        numpy_functions: the addresses in NumPy's table.
    """
    _define_read(module)
    _define_build(module)
    _define_new_array(module, numpy_functions)
    with function(module, "tfc.release", [POINTER, I64], VOID, internal=True) as (code, given):
        with code.repeat(given[1]) as number:
            code.call("Py_DecRef", VOID, code.word(given[0], number, POINTER))
        code.ret()
    _define_call(module)
    with function(module, "tfc.method.of", [POINTER], VOID) as (code, (method,)):
        code.put(code.string("program"), method, 0)
        code.put(module.globals["tfc.call"], method, 1)
        code.put(ir.Constant(I64, _FASTCALL), method, 2)
        code.ret()
    words(module, "tfc.method", 4)


def _define_read(module: ir.Module) -> None:
    """read(node, object, state): 1 if the object is as the node says.

    state: the leaves found so far, each with a reference of its own; their number; their specs.
    """
    arguments = [POINTER] * 3
    with function(module, "tfc.read", arguments, I64, internal=True) as (
        code,
        (node, given, state),
    ):
        kind, wanted = code.word(node, KIND), code.word(node, OBJECT, POINTER)
        with code.when(code.compare("==", kind, LEAF), likely=True):
            _read_array(code, given, state)
        with code.when(code.compare("==", kind, FIXED)):
            code.ret(code.builder.zext(code.compare("==", given, wanted), I64))
        _require(code, code.compare("==", code.word(given, TYPE, POINTER), wanted))
        count, children = code.word(node, COUNT), code.word(node, CHILDREN, POINTER)
        keys = code.word(node, KEYS, POINTER)
        for number, name in ((TUPLE, "Tuple"), (LIST, "List"), (DICT, "Dict")):
            with code.when(code.compare("==", kind, number)):
                size = code.call(f"Py{name}_Size", I64, given)
                _require(code, code.compare("==", size, count))
                with code.repeat(count) as place:
                    if number == DICT:
                        key = code.word(keys, place, POINTER)
                        child = code.call("PyDict_GetItemWithError", POINTER, given, key)
                        with code.when(code.is_null(child)):
                            code.call("PyErr_Clear", VOID)
                            code.ret(0)
                    else:
                        child = code.call(f"Py{name}_GetItem", POINTER, given, place)
                    # To look up a key may run any function, which may change the container.
                    code.call("Py_IncRef", VOID, child)
                    inner = code.row(children, place, NODE_WORDS)
                    is_well = code.call("tfc.read", I64, inner, child, state)
                    code.call("Py_DecRef", VOID, child)
                    _require(code, code.compare("!=", is_well, 0))
                code.ret(1)
        code.ret(0)


def _require(code: Code, condition: Any) -> None:
    with code.when(code.builder.not_(condition), likely=False):
        code.ret(0)


def _read_array(code: Code, given: Any, state: Any) -> None:
    """Take an array, which must be as the next spec says."""
    _require(
        code, code.compare("==", code.word(given, TYPE, POINTER), code.pointer(id(np.ndarray)))
    )
    found = code.field(state, 1)
    number = found.get()
    spec = code.row(code.word(state, 2, POINTER), number, SPEC_WORDS)
    rank, both = code.word(spec, RANK), CONTIGUOUS | ALIGNED
    dtype = code.word(code.word(given, ARRAY_DESCR, POINTER), DESCR_IDENTITY)
    flags = code.mask(code.word(given, ARRAY_FLAGS, I32), both)
    own_rank = code.builder.sext(code.word(given, ARRAY_RANK, I32), I64)
    _require(
        code,
        code.both(
            code.compare("==", dtype, code.word(spec, DTYPE)),
            code.compare("==", flags, both),
            code.compare("==", own_rank, rank),
        ),
    )
    own, dims = code.word(given, ARRAY_DIMS, POINTER), code.word(spec, DIMS, POINTER)
    with code.repeat(rank) as place:
        _require(code, code.compare("==", code.word(own, place), code.word(dims, place)))
    code.call("Py_IncRef", VOID, given)
    code.put(given, code.word(state, 0, POINTER), number)
    found.set(code.add(number, 1))
    code.ret(1)


def _define_build(module: ir.Module) -> None:
    """build(node, state): the nested result, or null after an exception.

    state: the leaves, of which those that are used are replaced by null; the number of the next.
    """
    with function(module, "tfc.build", [POINTER] * 2, POINTER, internal=True) as (code, given):
        node, state = given
        kind, wanted = code.word(node, KIND), code.word(node, OBJECT, POINTER)
        with code.when(code.compare("==", kind, LEAF)):
            leaves, following = code.word(state, 0, POINTER), code.field(state, 1)
            number = following.get()
            made = code.word(leaves, number, POINTER)
            code.put(code.null(), leaves, number)
            following.set(code.add(number, 1))
            code.ret(made)
        with code.when(code.compare("==", kind, FIXED)):
            code.call("Py_IncRef", VOID, wanted)
            code.ret(wanted)
        for number, name in ((TUPLE, "Tuple"), (NAMED, "Tuple"), (LIST, "List"), (DICT, "Dict")):
            with code.when(code.compare("==", kind, number)):
                made = _build_container(code, node, state, name)
                if number != NAMED:
                    code.ret(made)
                else:
                    named = code.call("PyObject_CallObject", POINTER, wanted, made)
                    code.call("Py_DecRef", VOID, made)
                    code.ret(named)
        code.builder.unreachable()


def _build_container(code: Code, node: Any, state: Any, name: str) -> Any:
    count, children = code.word(node, COUNT), code.word(node, CHILDREN, POINTER)
    keys = code.word(node, KEYS, POINTER)
    made = code.call(f"Py{name}_New", POINTER, *([] if name == "Dict" else [count]))
    _fail_if_null(code, made)
    with code.repeat(count) as place:
        inner = code.row(children, place, NODE_WORDS)
        child = code.call("tfc.build", POINTER, inner, state)
        _fail_if_null(code, child, made)
        if name == "Dict":
            key = code.word(keys, place, POINTER)
            status = code.call("PyDict_SetItem", I32, made, key, child)
            code.call("Py_DecRef", VOID, child)
        else:
            status = code.call(f"Py{name}_SetItem", I32, made, place, child)
        with code.when(code.compare("!=", status, 0), likely=False):
            code.call("Py_DecRef", VOID, made)
            code.ret(code.null())
    return made


def _fail_if_null(code: Code, value: Any, *owned: Any) -> None:
    """Return null, without the objects made so far, if a value is null."""
    with code.when(code.is_null(value), likely=False):
        for each in owned:
            code.call("Py_DecRef", VOID, each)
        code.ret(code.null())


def _define_new_array(module: ir.Module, numpy_functions: dict[int, int]) -> None:
    """new(spec): an array without values, or null after an exception."""
    with function(module, "tfc.release_block", [POINTER], VOID, internal=True) as (code, (owner,)):
        block = code.call("PyCapsule_GetPointer", POINTER, owner, code.string(_OWNER))
        size = code.call("PyCapsule_GetContext", POINTER, owner)
        code.call("tfc.give", VOID, block, code.builder.ptrtoint(size, I64))
        code.ret()
    with function(module, "tfc.new", [POINTER], POINTER, internal=True) as (code, (spec,)):
        descr, size = code.word(spec, DESCR, POINTER), code.word(spec, BLOCK)
        rank, dims = code.word(spec, RANK, I32), code.word(spec, DIMS, POINTER)
        code.call("Py_IncRef", VOID, descr)  # the array takes it

        def make(data: Any, flags: int) -> Any:
            return code.call_pointer(
                ir.Constant(I64, numpy_functions[NEW_FROM_DESCR]), POINTER,
                code.pointer(id(np.ndarray)), descr, rank, dims, code.null(), data,
                ir.Constant(I32, flags), code.null(),
            )  # fmt: skip

        with code.when(code.compare("==", size, 0)):
            code.ret(make(code.null(), 0))
        block = code.call("tfc.take", POINTER, size)
        with code.when(code.is_null(block), likely=False):
            code.call("Py_DecRef", VOID, descr)
            code.ret(code.call("PyErr_NoMemory", POINTER))
        made = make(block, CONTIGUOUS | ALIGNED | WRITEABLE)
        with code.when(code.is_null(made), likely=False):
            code.call("tfc.give", VOID, block, size)
            code.ret(code.null())
        release = module.globals["tfc.release_block"]
        owner = code.call("PyCapsule_New", POINTER, block, code.string(_OWNER), release)
        with code.when(code.is_null(owner), likely=False):
            code.call("tfc.give", VOID, block, size)
            code.call("Py_DecRef", VOID, made)
            code.ret(code.null())
        code.call("PyCapsule_SetContext", I32, owner, code.builder.inttoptr(size, POINTER))
        set_base = ir.Constant(I64, numpy_functions[SET_BASE_OBJECT])
        status = code.call_pointer(set_base, I32, made, owner)  # it takes the owner in any case
        with code.when(code.compare("!=", status, 0), likely=False):
            code.call("Py_DecRef", VOID, made)
            code.ret(code.null())
        code.ret(made)


def _define_call(module: ir.Module) -> None:
    """call(self, arguments, count), as Python calls builtin functions; self is (table, …)."""
    with function(module, "tfc.call", [POINTER, POINTER, I64], POINTER) as (code, given):
        owner, arguments, count = given
        holder = code.call("PyTuple_GetItem", POINTER, owner, 0)
        table = code.word(holder, DATA, POINTER)
        with code.when(code.compare("!=", count, code.word(table, ARGUMENTS)), likely=False):
            _decline(code)
        pair = code.word(table, ARENA, POINTER)
        with code.when(code.is_null(code.word(pair, 1, POINTER)), likely=False):
            _decline(code)
        leaf_count, result_count = code.word(table, LEAVES), code.word(table, RESULTS)
        leaves, pointers = code.array(leaf_count), code.array(leaf_count)
        state = code.array(ir.Constant(I64, 3))
        code.put(leaves, state, 0)
        code.put(ir.Constant(I64, 0), state, 1)
        code.put(code.word(table, SPECS, POINTER), state, 2)
        nodes = code.word(table, NODES, POINTER)
        with code.repeat(count) as number:
            node = code.row(nodes, number, NODE_WORDS)
            argument = code.word(arguments, number, POINTER)
            is_well = code.call("tfc.read", I64, node, argument, state)
            with code.when(code.compare("==", is_well, 0), likely=False):
                code.call("tfc.release", VOID, leaves, code.word(state, 1))
                _decline(code)
        with code.repeat(leaf_count) as number:
            code.put(code.word(code.word(leaves, number, POINTER), DATA), pointers, number)
        results, places = code.array(result_count), code.array(result_count)
        with code.repeat(result_count) as number:
            spec = code.row(code.word(table, RESULT_SPECS, POINTER), number, RESULT_WORDS)
            made = code.call("tfc.new", POINTER, spec)
            with code.when(code.is_null(made), likely=False):
                code.call("tfc.release", VOID, results, number)
                code.call("tfc.release", VOID, leaves, leaf_count)
                code.call("PyErr_Clear", VOID)
                _decline(code)
            code.put(made, results, number)
            code.put(code.word(made, DATA), places, number)
        is_well = code.call("tfc.run", I64, table, pointers, places)
        code.call("tfc.release", VOID, leaves, leaf_count)
        with code.when(code.compare("==", is_well, 0), likely=False):
            code.call("tfc.release", VOID, results, result_count)
            _decline(code)
        code.put(results, state, 0)
        code.put(ir.Constant(I64, 0), state, 1)
        made = code.call("tfc.build", POINTER, code.word(table, RESULT_NODE, POINTER), state)
        code.call("tfc.release", VOID, results, result_count)  # what is not part of the result
        code.ret(made)
    _define_run(module)


def _decline(code: Code) -> None:
    answer = code.pointer(id(NotImplemented))
    code.call("Py_IncRef", VOID, answer)
    code.ret(answer)


def _define_run(module: ir.Module) -> None:
    """run(table, arguments, results): call the code; 0 if there is no memory for it, else 1."""
    with function(module, "tfc.run", [POINTER] * 3, I64) as (code, (table, arguments, results)):
        size, pair = code.word(table, ARENA_SIZE), code.word(table, ARENA, POINTER)
        idle = code.field(pair, 0, POINTER)
        arena = code.variable(POINTER, code.null())
        arena.set(idle.get())
        idle.set(code.null())
        with code.when(code.is_null(arena.get()), likely=False):  # another call has it
            arena.set(code.call("tfc.take", POINTER, size))
            with code.when(code.is_null(arena.get()), likely=False):
                code.ret(0)
        entry, constants = code.word(table, CODE), code.word(table, CONSTANTS, POINTER)
        passed = arguments, results, arena.get(), constants
        with code.builder.if_else(code.compare("!=", code.word(table, IS_LONG), 0)) as (
            long,
            short,
        ):
            with long:
                thread = code.call("PyEval_SaveThread", POINTER)
                code.call_pointer(entry, I32, *passed)
                code.call("PyEval_RestoreThread", VOID, thread)
            with short:
                code.call_pointer(entry, I32, *passed)
        is_own = code.compare("==", arena.get(), code.word(pair, 1, POINTER))
        with code.builder.if_else(is_own) as (own, other):
            with own:
                idle.set(arena.get())
            with other:
                code.call("tfc.give", VOID, arena.get(), size)
        code.ret(1)
