/* The thread pool: tfc_parallel_for runs a function for several chunks of work.

   The caller takes part, and returns once all chunks have run. Each thread takes the next chunk
   until there is none, so that which thread runs a chunk is a matter of chance; what is in a chunk
   is not. Who finds the pool busy runs its chunks alone: there are never more threads at work than
   asked for, beside those that call.

   A job is open from when its fields are set until the caller has found no further chunk. A worker
   counts itself in before it looks whether the job is still open; the caller closes it and waits
   until nobody is in. All these accesses have one order for all threads, so either the worker sees
   that the job is closed or the caller that the worker is in. Workers look for jobs a while before
   they sleep.

   Where the system wakes a thread on the processor of the one that wakes it, two threads are no
   faster than one. So workers are kept off the processor that their caller is on when it wakes
   them, or waits for them for long; on Linux, as other systems have no such processors. */

#include "runtime.h"

typedef void chunk_function(void *context, i64 chunk);

/* The C library's types are at most so large. */
typedef i64 thread;
typedef i64 library_structure[16];

enum { MOST_PROCESSORS = 1024 };
enum { SPINS = 2000 }; /* looks of an idle worker, some 50 microseconds */

int pthread_create(thread *, const void *attributes, void *(*start)(void *), void *argument);
int pthread_join(thread, void **result);
int pthread_mutex_init(library_structure, const void *attributes);
int pthread_mutex_lock(library_structure);
int pthread_mutex_unlock(library_structure);
int pthread_cond_init(library_structure, const void *attributes);
int pthread_cond_broadcast(library_structure);
int pthread_cond_wait(library_structure condition, library_structure mutex);
int pthread_sigmask(int how, const library_structure, void *before);
int sigfillset(library_structure);
int sched_yield(void);

/* Of Linux; null elsewhere. */
__attribute__((weak)) int sched_getcpu(void);
__attribute__((weak)) int sched_getaffinity(int process, size bytes, u64 *processors);
__attribute__((weak)) int pthread_setaffinity_np(thread, size bytes, const u64 *processors);

/* Of this process: the C library's SIG_SETMASK, whether it runs on Linux, and what tells the
   processor that this is a loop that waits. */
extern const i32 tfc_sig_setmask, tfc_is_linux;
void tfc_pause(void);

/* What all threads share, each on a cache line of its own. */
#define ON_OWN_LINE __attribute__((aligned(64)))
static struct {
    ON_OWN_LINE struct {
        chunk_function *run;
        void *context;
        i64 count;
    } job;
    ON_OWN_LINE i64 next;     /* the chunk that nobody has taken */
    ON_OWN_LINE i64 open;     /* the number of the job if it is open, else 0 */
    ON_OWN_LINE i64 inside;   /* how many workers may be at the job */
    ON_OWN_LINE i64 sleepers; /* how many wait for `condition` */
    ON_OWN_LINE i64 stop;     /* whether workers are to end */
    ON_OWN_LINE i64 busy;     /* whether a caller has the pool */
} shared;

/* What only the caller who has the pool changes. */
static struct {
    i64 target;   /* how many threads are asked for, the caller among them */
    i64 started;  /* workers there are */
    i64 jobs;     /* so far */
    i64 kept_off; /* the number, and 1, of the processor that workers may not use; or 0 */
} own;

static thread workers[MOST_THREADS];
static library_structure mutex ON_OWN_LINE, condition ON_OWN_LINE;

static i64 get(i64 *place) { return __atomic_load_n(place, __ATOMIC_SEQ_CST); }

static i64 exchange(i64 *place, i64 value) {
    return __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST);
}

static i64 add(i64 *place, i64 value) {
    return __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST);
}

/* --- Workers -------------------------------------------------------------------------------- */

/* Run chunks of the open job until there is none left. */
static void work(void) {
    chunk_function *run = shared.job.run;
    void *context = shared.job.context;
    i64 count = shared.job.count;
    for (i64 chunk; (chunk = add(&shared.next, 1)) < count;)
        run(context, chunk);
}

/* Whether there is a job that is not the one that a worker has seen, or workers are to end. */
static i32 is_called(i64 seen) {
    i64 job = get(&shared.open);
    return (job != 0 && job != seen) || get(&shared.stop) != 0;
}

/* Return when there is something to do. */
static void wait_for_job(i64 seen) {
    for (i64 spins = 0; !is_called(seen); tfc_pause()) {
        if (++spins <= SPINS)
            continue;
        pthread_mutex_lock(mutex);
        add(&shared.sleepers, 1);
        while (!is_called(seen))
            pthread_cond_wait(condition, mutex);
        add(&shared.sleepers, -1);
        pthread_mutex_unlock(mutex);
        spins = 0;
    }
}

/* What a thread of the pool does until it is to end. */
static void *worker(void *nothing) {
    library_structure signals; /* are left to the threads that Python knows */
    sigfillset(signals);
    pthread_sigmask(tfc_sig_setmask, signals, 0);
    for (i64 seen = 0;;) {
        wait_for_job(seen);
        if (get(&shared.stop) != 0)
            return nothing;
        add(&shared.inside, 1);
        i64 job = get(&shared.open);
        if (job != 0) {
            work();
            seen = job;
        }
        add(&shared.inside, -1);
    }
}

static void wake(void) {
    pthread_mutex_lock(mutex);
    pthread_cond_broadcast(condition);
    pthread_mutex_unlock(mutex);
}

/* Start the workers that are missing, as far as the system lets us. */
static void start(void) {
    while (UNLIKELY(own.started < own.target - 1)) {
        if (pthread_create(&workers[own.started], 0, worker, 0) != 0)
            return;
        ++own.started;
        own.kept_off = 0;
    }
}

/* Let the workers run on all processors but the one that this thread is on. */
static void keep_off(void) {
    if (!tfc_is_linux)
        return;
    u64 allowed[MOST_PROCESSORS / 64];
    i64 processor = sched_getcpu();
    if (own.kept_off == processor + 1 || processor < 0 || processor >= MOST_PROCESSORS)
        return;
    own.kept_off = processor + 1;
    if (sched_getaffinity(0, sizeof allowed, allowed) < 0)
        return;
    allowed[processor / 64] &= ~(1ull << processor % 64);
    /* Where no processor is left, this fails and changes nothing. */
    for (i64 n = 0; n < own.started; ++n)
        pthread_setaffinity_np(workers[n], sizeof allowed, allowed);
}

/* --- What others call ----------------------------------------------------------------------- */

/* run(context, chunk) for each chunk below `count`. */
void tfc_parallel_for(chunk_function *run, void *context, i64 count, void *unused) {
    (void)unused;
    i64 target = __atomic_load_n(&own.target, __ATOMIC_RELAXED);
    if (target <= 1 || exchange(&shared.busy, 1) != 0) {
        for (i64 chunk = 0; chunk < count; ++chunk)
            run(context, chunk);
        return;
    }
    start();
    shared.job.run = run;
    shared.job.context = context;
    shared.job.count = count;
    exchange(&shared.next, 0);
    exchange(&shared.open, ++own.jobs);
    if (get(&shared.sleepers) != 0) {
        keep_off();
        wake();
    }
    work();
    exchange(&shared.open, 0);
    for (i64 spins = 0; get(&shared.inside) != 0; tfc_pause()) {
        if (++spins > SPINS) {
            keep_off();
            sched_yield();
        }
    }
    exchange(&shared.busy, 0);
}

/* Wait for the pool, and end the workers there are too many of. */
void tfc_resize(i64 threads) {
    while (exchange(&shared.busy, 1) != 0)
        sched_yield();
    if (own.started > threads - 1) {
        exchange(&shared.stop, 1);
        wake();
        for (i64 n = 0; n < own.started; ++n)
            pthread_join(workers[n], 0);
        own.started = 0;
        exchange(&shared.stop, 0);
    }
    __atomic_store_n(&own.target, threads, __ATOMIC_RELAXED);
    exchange(&shared.busy, 0);
}

/* In a process that has no workers: at first, and after it was forked off. */
void tfc_forget_threads(void) {
    shared.next = shared.open = shared.inside = 0;
    shared.sleepers = shared.stop = shared.busy = 0;
    own.started = 0;
    pthread_mutex_init(mutex, 0);
    pthread_cond_init(condition, 0);
}
