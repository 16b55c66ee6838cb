"""The thread pool, emitted: `tfc.parallel_for` runs a function for several chunks of work.

    void tfc.parallel_for(void (*run)(ptr context, i64 chunk), ptr context, i64 count)
    void tfc.resize(i64 threads)      wait for the pool, and end the workers there are too many of
    void tfc.forget_threads()         in a process that was forked off, which has no workers

The caller takes part, and returns once all chunks have run. Each thread takes the next chunk until
there is none, so that which thread runs a chunk is a matter of chance; what is in a chunk is not.
Who finds the pool busy runs its chunks alone: there are never more threads at work than asked for,
beside those that call.

A job is open from when its fields are set until the caller has found no further chunk. A worker
counts itself in before it looks whether the job is still open; the caller closes it and waits until
nobody is in. All these accesses have one order for all threads, so either the worker sees that the
job is closed or the caller that the worker is in. Workers look for jobs a while before they sleep.

Where the system wakes a thread on the processor of the one that wakes it, two threads are no faster
than one. So workers are kept off the processor that their caller is on when it wakes them, or waits
for them for long; on Linux, as other systems have no such processors.
"""

from typing import Any

import llvmlite.ir as ir

from tfc.backends.cpu.runtime.code import I32, I64, POINTER, VOID, Code, Variable, function, words
from tfc.runtime.threads import MOST_THREADS

PARALLEL_FOR = "tfc.parallel_for"
_LINE = 8  # words of a cache line
_SPINS = 2000  # looks of an idle worker, some 50 microseconds
_PAUSE = {"x86_64": ("llvm.x86.sse2.pause", ()), "aarch64": ("llvm.aarch64.hint", (1,))}
# Words of what all threads share, each at the beginning of a cache line; a job's fields share one.
_JOB, _NEXT, _OPEN, _INSIDE, _SLEEPERS, _STOP, _BUSY, _LINES = range(8)
_RUN, _CONTEXT, _COUNT = range(3)
# What only the caller who has the pool touches; _KEPT_OFF: a processor's number and 1, or 0.
_TARGET, _STARTED, _GENERATION, _KEPT_OFF = range(4)
_MOST_PROCESSORS = 1024


class _Pool:
    """The memory of the pool, from the code of a function."""

    def __init__(self, module: ir.Module, architecture: str, set_mask: int, on_linux: bool):
        self.module, self.set_mask, self.on_linux = module, set_mask, on_linux
        self.pause_name = _PAUSE.get(architecture)
        self.shared = words(module, "tfc.pool", _LINES * _LINE)
        self.own = words(module, "tfc.pool.own", _LINE)
        self.handles = words(module, "tfc.pool.handles", MOST_THREADS)
        # The C library's types are at most so large.
        self.mutex = words(module, "tfc.pool.mutex", 16)
        self.condition = words(module, "tfc.pool.condition", 16)

    def shared_word(self, code: Code, line: int) -> Variable:
        """What all threads may touch."""
        return code.field(self.shared, line * _LINE)

    def pause(self, code: Code) -> None:
        """Tell the processor that this is a loop that waits."""
        if self.pause_name is not None:
            name, arguments = self.pause_name
            code.call(name, VOID, *(ir.Constant(I32, a) for a in arguments))

    def wake(self, code: Code) -> None:
        """Wake the workers that sleep."""
        code.call("pthread_mutex_lock", I32, self.mutex)
        code.call("pthread_cond_broadcast", I32, self.condition)
        code.call("pthread_mutex_unlock", I32, self.mutex)

    def acquire(self, code: Code) -> None:
        """Wait until the pool is free, and take it."""
        with code.forever():
            taken = self.shared_word(code, _BUSY).exchange(1)
            with code.when(code.compare("==", taken, 0)):
                code.leave()
            code.call("sched_yield", I32)


def define_pool(module: ir.Module, architecture: str, set_mask: int, on_linux: bool) -> None:
    """Define the functions.

    Args:
        architecture: what LLVM calls the machine's.
        set_mask: the C library's SIG_SETMASK.
        on_linux: keep workers off the processors of their callers.
    """
    pool = _Pool(module, architecture, set_mask, on_linux)
    _define_work(pool)
    _define_worker(pool)
    _define_start(pool)
    _define_keep_off(pool)
    _define_parallel_for(pool)
    _define_resize(pool)
    with function(module, "tfc.forget_threads", [], VOID) as (code, _):
        for line in range(_NEXT, _LINES):
            pool.shared_word(code, line).set(0)
        code.field(pool.own, _STARTED).set(0)
        code.call("pthread_mutex_init", I32, pool.mutex, code.null())
        code.call("pthread_cond_init", I32, pool.condition, code.null())
        code.ret()


def _define_work(pool: _Pool) -> None:
    """work(): run chunks of the open job until there is none left."""
    with function(pool.module, "tfc.work", [], VOID, internal=True) as (code, _):
        job = code.place(pool.shared, _JOB * _LINE)
        run, count = code.word(job, _RUN), code.word(job, _COUNT)
        context = code.word(job, _CONTEXT, POINTER)
        with code.forever():
            chunk = pool.shared_word(code, _NEXT).add(1)
            with code.when(code.compare(">=", chunk, count)):
                code.ret()
            code.call_pointer(run, VOID, context, chunk)
        code.ret()


def _define_worker(pool: _Pool) -> None:
    """worker(_): what a thread of the pool does until it is to stop."""
    with function(pool.module, "tfc.worker", [POINTER], POINTER, internal=True) as (code, _):
        _block_signals(pool, code)
        opened, inside = (pool.shared_word(code, n) for n in (_OPEN, _INSIDE))
        sleepers, stop = (pool.shared_word(code, n) for n in (_SLEEPERS, _STOP))
        seen, spins = code.variable(I64, 0), code.variable(I64, 0)

        def look() -> None:
            """Leave the loop if there is a job that this worker has not seen, or it is to stop."""
            job = opened.read()
            is_new = code.both(code.compare("!=", job, 0), code.compare("!=", job, seen.get()))
            with code.when(code.builder.or_(is_new, code.compare("!=", stop.read(), 0))):
                code.leave()

        with code.forever():
            spins.set(0)
            with code.forever():
                look()
                spins.set(code.add(spins.get(), 1))
                with code.when(code.compare("<", _SPINS, spins.get())):
                    code.call("pthread_mutex_lock", I32, pool.mutex)
                    sleepers.add(1)
                    with code.forever():
                        look()
                        code.call("pthread_cond_wait", I32, pool.condition, pool.mutex)
                    sleepers.add(-1)
                    code.call("pthread_mutex_unlock", I32, pool.mutex)
                    spins.set(0)
                pool.pause(code)
            with code.when(code.compare("!=", stop.read(), 0)):
                code.ret(code.null())
            inside.add(1)
            job = opened.read()
            with code.when(code.compare("!=", job, 0)):
                code.call("tfc.work", VOID)
                seen.set(job)
            inside.add(-1)
        code.builder.unreachable()


def _block_signals(pool: _Pool, code: Code) -> None:
    """Leave signals to the threads that Python knows."""
    signals = code.array(ir.Constant(I64, 16))
    code.call("sigfillset", I32, signals)
    how = ir.Constant(I32, pool.set_mask)
    code.call("pthread_sigmask", I32, how, signals, code.null())


def _define_start(pool: _Pool) -> None:
    """start(): start the workers that are missing, as far as the system lets us."""
    with function(pool.module, "tfc.start", [], VOID, internal=True) as (code, _):
        started = code.field(pool.own, _STARTED)
        worker = pool.module.globals["tfc.worker"]
        with code.forever():
            number = started.get()
            wanted = code.subtract(code.word(pool.own, _TARGET), 1)
            with code.when(code.compare(">=", number, wanted), likely=True):
                code.ret()
            handle = code.place(pool.handles, number)
            status = code.call("pthread_create", I32, handle, code.null(), worker, code.null())
            with code.when(code.compare("!=", status, 0)):
                code.ret()
            started.set(code.add(number, 1))
            code.field(pool.own, _KEPT_OFF).set(0)
        code.ret()


def _define_keep_off(pool: _Pool) -> None:
    """keep_off(): let the workers run on all processors but the one that this thread is on."""
    with function(pool.module, "tfc.keep_off", [], VOID, internal=True) as (code, _):
        if not pool.on_linux:
            code.ret()
            return
        processor = code.widened(code.call("sched_getcpu", I32))
        kept_off, size = code.field(pool.own, _KEPT_OFF), _MOST_PROCESSORS // 8
        allowed = code.array(_MOST_PROCESSORS // 64)
        is_known = code.compare("==", kept_off.get(), code.add(processor, 1))
        is_odd = code.compare("!=", code.mask(processor, -_MOST_PROCESSORS), 0)
        with code.when(code.builder.or_(is_known, is_odd)):
            code.ret()
        kept_off.set(code.add(processor, 1))
        status = code.call("sched_getaffinity", I32, ir.Constant(I32, 0), size, allowed)
        with code.when(code.compare("<", status, 0)):
            code.ret()
        word = code.field(allowed, code.builder.lshr(processor, ir.Constant(I64, 6)))
        bit = code.builder.shl(ir.Constant(I64, 1), code.mask(processor, 63))
        word.set(code.mask(word.get(), code.builder.not_(bit)))
        with code.repeat(code.word(pool.own, _STARTED)) as number:
            # Where no processor is left, this fails and changes nothing.
            worker = code.word(pool.handles, number, POINTER)
            code.call("pthread_setaffinity_np", I32, worker, size, allowed)
        code.ret()


def _define_parallel_for(pool: _Pool) -> None:
    arguments = [POINTER, POINTER, I64]
    with function(pool.module, PARALLEL_FOR, arguments, VOID) as (code, given):
        run, context, count = given
        own, busy = pool.own, pool.shared_word(code, _BUSY)
        is_alone = code.variable(I64, 1)
        with code.when(code.compare(">", code.word(own, _TARGET), 1), likely=True):
            is_alone.set(busy.exchange(1))
        with code.when(code.compare("!=", is_alone.get(), 0)):
            with code.repeat(count) as chunk:
                code.call_pointer(run, VOID, context, chunk)
            code.ret()
        code.call("tfc.start", VOID)
        job = code.place(pool.shared, _JOB * _LINE)
        for value, place in ((run, _RUN), (context, _CONTEXT), (count, _COUNT)):
            code.put(value, job, place)
        pool.shared_word(code, _NEXT).exchange(0)
        generation = code.add(code.word(own, _GENERATION), 1)
        code.put(generation, own, _GENERATION)
        opened, inside = (pool.shared_word(code, n) for n in (_OPEN, _INSIDE))
        opened.exchange(generation)
        with code.when(code.compare("!=", pool.shared_word(code, _SLEEPERS).read(), 0)):
            code.call("tfc.keep_off", VOID)
            pool.wake(code)
        code.call("tfc.work", VOID)
        opened.exchange(0)
        spins = code.variable(I64, 0)
        with code.forever():
            with code.when(code.compare("==", inside.read(), 0)):
                code.leave()
            spins.set(code.add(spins.get(), 1))
            with code.when(code.compare("<", _SPINS, spins.get())):
                code.call("tfc.keep_off", VOID)
                code.call("sched_yield", I32)
            pool.pause(code)
        busy.exchange(0)
        code.ret()


def _define_resize(pool: _Pool) -> None:
    with function(pool.module, "tfc.resize", [I64], VOID) as (code, (threads,)):
        pool.acquire(code)
        started, stop = code.field(pool.own, _STARTED), pool.shared_word(code, _STOP)
        with code.when(code.compare("<", code.subtract(threads, 1), started.get())):
            stop.exchange(1)
            pool.wake(code)
            with code.repeat(started.get()) as number:
                handle: Any = code.word(pool.handles, number, POINTER)
                code.call("pthread_join", I32, handle, code.null())
            started.set(0)
            stop.exchange(0)
        code.field(pool.own, _TARGET).set(threads)
        pool.shared_word(code, _BUSY).exchange(0)
        code.ret()
