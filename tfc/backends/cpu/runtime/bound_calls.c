/* Calls of what Python binds to one participant of a program, the collectives.

   The first call of a participant asks Python, which may say what code is to call from then on:
   functions of another library, on the buffers that the call is given. */

#include "runtime.h"

/* An argument: a number, or so many bytes from the start of a buffer. */
struct source {
    i64 buffer; /* -1: a number */
    union word value;
};

/* Passes words on as what the function takes; 0, or the status of the failure. */
typedef i32 word_caller(void *function, const union word *words);

struct step {
    word_caller *caller; /* null: copy (to, from, bytes) */
    void *function;
    i64 count;
    const struct source *sources;
};

/* What a participant calls without Python. */
struct direct_calls {
    void *participant;
    volatile i64 *doing, *done; /* for whoever watches: what is in progress, and how many were */
    i64 number;
    i64 count;
    const struct step *steps;
};

/* Runs a call, or says what a failure means: leaves an exception behind if that is not 0. */
typedef i32 python_call(struct frame *frame, i32 failure);

struct bound_site {
    const struct direct_calls *direct; /* null: nothing yet */
    python_call *python;
};

_Static_assert(sizeof(struct source) == SOURCE_BYTES, "bound_calls.py");
_Static_assert(sizeof(struct step) == STEP_BYTES, "bound_calls.py");
_Static_assert(sizeof(struct direct_calls) == DIRECTCALLS_BYTES, "bound_calls.py");
_Static_assert(sizeof(struct bound_site) == BOUNDSITE_BYTES, "bound_calls.py");

static i32 run(const struct step *step, const union word *buffers) {
    union word words[MOST_WORDS];
    for (i64 n = 0; n < step->count; ++n) {
        const struct source *from = &step->sources[n];
        words[n] = from->value;
        if (from->buffer >= 0)
            words[n].pointer = (u8 *)buffers[from->buffer].pointer + from->value.number;
    }
    if (step->caller != 0)
        return step->caller(step->function, words);
    __builtin_memcpy(words[0].pointer, words[1].pointer, (size)words[2].number);
    return 0;
}

/* From now on the calls of a participant at a site are these. */
void tfc_make_direct(struct bound_site *site, const struct direct_calls *direct) {
    __atomic_store_n(&site->direct, direct, __ATOMIC_RELEASE);
}

/* A caller, as bytecode has them; the function in the frame is a site. */
i32 tfc_bound_call(struct frame *frame, i64 chunk) {
    (void)chunk;
    const struct bound_site *site = frame->function.pointer;
    const struct direct_calls *direct = __atomic_load_n(&site->direct, __ATOMIC_ACQUIRE);
    if (UNLIKELY(direct == 0 || direct->participant != frame->participant))
        return site->python(frame, 0);
    *direct->doing = direct->number;
    for (i64 n = 0; n < direct->count; ++n) {
        i32 failure = run(&direct->steps[n], frame->buffers);
        if (UNLIKELY(failure != 0))
            return site->python(frame, failure);
    }
    ++*direct->done;
    *direct->doing = 0;
    return 0;
}
