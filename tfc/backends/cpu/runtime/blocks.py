"""Blocks of memory that are used again: the emitted functions `tfc.take` and `tfc.give`.

    ptr tfc.take(i64 size)            memory aligned to 64 bytes; null if there is none
    void tfc.give(ptr block, i64 size)

The system hands out large blocks as pages that it fills with zeros when they are first touched,
which takes longer than most programs do with them. So a block that is given back is kept, up to a
limit for all of them together, for the next that asks for its size. Callers hold Python's lock.
"""

import os
import sys

import llvmlite.ir as ir

from tfc.backends.cpu.runtime.code import I32, I64, POINTER, VOID, Code, Variable, function, words

PLACES = 128  # how many blocks are kept at most
_HUGE = 2 << 20  # bytes of a huge page
_ADVICE = 14  # MADV_HUGEPAGE
# Results from here on lie in blocks: NumPy's memory begins 16 bytes into a cache line.
LEAST = 16 << 10
_PAGE = 4096


def block_size(size: int) -> int:
    """The size of the block for so many bytes, since those of nearly equal sizes are exchanged."""
    return -(-size // _PAGE) * _PAGE


def most_kept() -> int:
    """How many bytes of blocks nobody uses are kept: an eighth of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8


def define_blocks(module: ir.Module) -> None:
    """Define the two functions."""
    kept = words(module, "tfc.blocks", 2 * PLACES)  # (address or 0, size) of each
    state = words(module, "tfc.blocks.state", 2)  # bytes kept, the next place to empty
    _define_allocate(module)
    with function(module, "tfc.forget", [I64], VOID, internal=True) as (code, (number,)):
        place = code.place(kept, code.add(number, number))
        code.call("free", VOID, code.word(place, 0, POINTER))
        held = code.field(state, 0)
        held.set(code.subtract(held.get(), code.word(place, 1)))
        code.put(code.null(), place, 0)
        code.put(code.subtract(number, number), place, 1)
        code.ret()
    with function(module, "tfc.take", [I64], POINTER) as (code, (size,)):
        with code.repeat(PLACES) as number:
            place = code.place(kept, code.add(number, number))
            with code.when(code.compare("==", code.word(place, 1), size)):
                found = code.word(place, 0, POINTER)
                _change(code, code.field(state, 0), code.subtract(0, size))
                code.put(code.null(), place, 0)
                code.put(code.subtract(size, size), place, 1)
                code.ret(found)
        made = code.call("tfc.allocate", POINTER, size)
        with code.when(code.is_null(made), likely=False):
            _forget_all(code, kept)
            code.ret(code.call("tfc.allocate", POINTER, size))
        code.ret(made)
    _define_give(module, kept, state)


def _define_allocate(module: ir.Module) -> None:
    with function(module, "tfc.allocate", [I64], POINTER, internal=True) as (code, (size,)):
        made = code.variable(POINTER, code.null())
        for alignment, how in ((_HUGE, ">="), (64, "<")):
            with code.when(code.compare(how, size, 2 * _HUGE)):
                status = code.call("posix_memalign", I32, made.place, alignment, size)
                with code.when(code.compare("!=", status, 0), likely=False):
                    code.ret(code.null())
                if alignment == _HUGE and sys.platform == "linux":
                    code.call("madvise", I32, made.get(), size, ir.Constant(I32, _ADVICE))
        code.ret(made.get())


def _define_give(module: ir.Module, kept: ir.Value, state: ir.Value) -> None:
    limit = most_kept()
    with function(module, "tfc.give", [POINTER, I64], VOID) as (code, (block, size)):
        with code.when(code.compare(">", size, limit)):
            code.call("free", VOID, block)
            code.ret()
        held, cursor = code.field(state, 0), code.field(state, 1)
        with code.forever():  # ends, at the latest, when nothing else is kept
            with code.repeat(PLACES) as number:
                place = code.place(kept, code.add(number, number))
                is_free = code.is_null(code.word(place, 0, POINTER))
                fits = code.compare("<=", code.add(held.get(), size), limit)
                with code.when(code.both(is_free, fits)):
                    code.put(block, place, 0)
                    code.put(size, place, 1)
                    _change(code, held, size)
                    code.ret()
            oldest = cursor.get()
            code.call("tfc.forget", VOID, oldest)
            cursor.set(code.mask(code.add(oldest, 1), PLACES - 1))
        code.builder.unreachable()


def _forget_all(code: Code, kept: ir.Value) -> None:
    with code.repeat(PLACES) as number:
        place = code.place(kept, code.add(number, number))
        with code.when(code.compare("!=", code.word(place, 1), 0)):
            code.call("tfc.forget", VOID, number)


def _change(code: Code, total: Variable, by: ir.Value) -> None:
    total.set(code.add(total.get(), by))
