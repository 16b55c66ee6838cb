/* The interpreter of bytecode: the same few functions for every program (bytecode.py says what the
   instructions mean).

       for each instruction:
           its buffers' addresses into a frame, and then
           caller(frame, 0)    or, if threads share it,    parallel_for(caller, frame, chunks, pool)

   A caller calls a function with so many buffers (bytecode_interpreter.py). All that differs from
   program to program is data, so the code need not be made for each.

   There is LLVM IR of this file for pointers of 64 bits and of 32. */

#include "runtime.h"

/* --- Bytecode ------------------------------------------------------------------------------- */

/* Of an argument, of a result, of the arena or of the constants: so many bytes from its start. */
struct buffer {
    i64 space, offset;
};

union instruction {
    i64 opcode;
    struct {
        i64 opcode, site, caller, function, chunks, scratch, count;
        struct buffer buffers[];
    } kernel;
    struct {
        i64 opcode, site, caller, function, count;
        struct buffer buffers[];
    } call;
    struct {
        i64 opcode, site, bytes;
        struct buffer source, target;
    } copy;
    struct {
        i64 opcode;
        struct buffer condition;
        i64 place;
    } unless;
    struct {
        i64 opcode;
        struct buffer selector;
        i64 number, place;
    } otherwise;
    struct {
        i64 opcode, place;
    } jump;
};

typedef void kernel_caller(struct frame *frame, i64 chunk);
typedef i32 status_caller(struct frame *frame, i64 chunk);

/* A program as it was compiled. */
struct program {
    i64 arguments, results; /* how many buffers it is given */
    i64 most;               /* buffers of an instruction */
    i64 callers;            /* how many of the functions are callers; what they call follows */
    const i64 *code;
    void *const *functions;
};

/* Runs a caller for each chunk and returns when all have run. */
typedef void parallel_loop(kernel_caller *run, struct frame *frame, i64 chunks, void *pool);

/* What a program runs with. */
struct context {
    void *constants;
    parallel_loop *parallel_for; /* null: alone */
    void *pool;                  /* what that is given */
    struct clock *clock;         /* null: untimed */
    void *participant;           /* who runs it, where it joins several */
};

/* --- Clocks --------------------------------------------------------------------------------- */

/* Sites are places in the program, counted from 1; what lies in a loop is recorded by one site many
   times. Site 0 times nothing: what it takes is what timing itself adds to each. */
struct clock {
    i32 (*get_time)(i32 clock, void *time); /* POSIX's clock_gettime */
    i64 number;                             /* of the system's clock */
    i64 most_events;
    i64 event_count;
    struct event {
        i64 site, begin, end;
    } *events; /* the first ones */
    struct total {
        i64 count, time;
    } *totals; /* of each site */
};

/* The tables of Python are those of 64 bits. */
_Static_assert(sizeof(void *) == 4 || sizeof(struct context) == CONTEXT_BYTES, "Context");
_Static_assert(sizeof(void *) == 4 || sizeof(struct clock) == CLOCK_BYTES, "timing.py");

enum { EMPTY = 64 }; /* how often the empty site is timed in each run */

struct time {
    i64 seconds, nanoseconds;
};

/* Nanoseconds. */
__attribute__((noinline)) static i64 read_clock(const struct clock *clock) {
    struct time time;
    clock->get_time((i32)clock->number, &time);
    return time.seconds * 1000000000 + time.nanoseconds;
}

/* Note that what a site is has run since then. */
__attribute__((noinline)) static void note(struct clock *clock, i64 site, i64 begin) {
    i64 end = read_clock(clock);
    ++clock->totals[site].count;
    clock->totals[site].time += end - begin;
    if (site != 0 && clock->event_count < clock->most_events)
        clock->events[clock->event_count++] = (struct event){site, begin, end};
}

/* The time, and the record of a site that began then, if there is a clock. */
static i64 now(const struct clock *clock) { return UNLIKELY(clock != 0) ? read_clock(clock) : 0; }

static void record(struct clock *clock, i64 site, i64 begin) {
    if (UNLIKELY(clock != 0))
        note(clock, site, begin);
}

/* --- The loop ------------------------------------------------------------------------------- */

static void *address(const union word *bases, struct buffer buffer) {
    return (u8 *)bases[buffer.space].pointer + buffer.offset;
}

static void fill(struct frame *frame, const union word *bases, const struct buffer *buffers,
                 i64 count) {
    for (i64 n = 0; n < count; ++n)
        frame->buffers[n].pointer = address(bases, buffers[n]);
}

/* The addresses at which the spaces begin. */
static void find_bases(union word *bases, const struct program *program, void *const *arguments,
                       void *const *results, void *arena, void *constants) {
    for (i64 n = 0; n < program->arguments; ++n)
        bases++->pointer = arguments[n];
    for (i64 n = 0; n < program->results; ++n)
        bases++->pointer = results[n];
    bases[0].pointer = arena;
    bases[1].pointer = constants;
}

/* Run a program; 0, or the status of a function that failed. */
i32 tfc_interpret(const struct program *program, const struct context *context,
                  void *const *arguments, void *const *results, void *arena) {
    union word *bases = ON_STACK(union word, program->arguments + program->results + 2);
    find_bases(bases, program, arguments, results, arena, context->constants);
    struct frame *frame =
        __builtin_alloca(sizeof(struct frame) + sizeof(union word) * (size)program->most);
    void *const *callers = program->functions, *const *functions = callers + program->callers;
    struct clock *clock = context->clock;
    for (i64 n = 0; clock != 0 && n < EMPTY; ++n)
        record(clock, 0, now(clock));
    for (const i64 *at = program->code;;) {
        const union instruction *next = (const union instruction *)at;
        switch (next->opcode) {
        case KERNEL: {
            kernel_caller *caller = (kernel_caller *)callers[next->kernel.caller];
            i64 chunks = next->kernel.chunks;
            frame->function.pointer = functions[next->kernel.function];
            frame->scratch = next->kernel.scratch;
            fill(frame, bases, next->kernel.buffers, next->kernel.count);
            i64 begin = now(clock);
            if (chunks != 1 && LIKELY(context->parallel_for != 0))
                context->parallel_for(caller, frame, chunks, context->pool);
            else
                for (i64 chunk = 0; chunk < chunks; ++chunk)
                    caller(frame, chunk);
            record(clock, next->kernel.site, begin);
            at = (const i64 *)&next->kernel.buffers[next->kernel.count];
            break;
        }
        case CALL: {
            status_caller *caller = (status_caller *)callers[next->call.caller];
            frame->function.pointer = functions[next->call.function];
            frame->participant = context->participant;
            fill(frame, bases, next->call.buffers, next->call.count);
            i64 begin = now(clock);
            i32 status = caller(frame, 0);
            record(clock, next->call.site, begin);
            if (status != 0)
                return status;
            at = (const i64 *)&next->call.buffers[next->call.count];
            break;
        }
        case COPY: {
            i64 begin = now(clock);
            __builtin_memcpy(address(bases, next->copy.target), address(bases, next->copy.source),
                              (size)next->copy.bytes);
            record(clock, next->copy.site, begin);
            at = (const i64 *)(&next->copy + 1);
            break;
        }
        case UNLESS: {
            const u8 *condition = address(bases, next->unless.condition);
            at = *condition == 0 ? program->code + next->unless.place
                                 : (const i64 *)(&next->unless + 1);
            break;
        }
        case OTHERWISE: {
            const i32 *selector = address(bases, next->otherwise.selector);
            at = *selector != next->otherwise.number ? program->code + next->otherwise.place
                                                     : (const i64 *)(&next->otherwise + 1);
            break;
        }
        case JUMP:
            at = program->code + next->jump.place;
            break;
        default: /* END */
            return 0;
        }
    }
}
