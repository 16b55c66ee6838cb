/* The check that a processor has the instructions that an object file is made of; x86-64 only.

   It is made of what every x86-64 has (processor_check.py says how), and becomes the entry point of
   the object file, which calls the program's own. */

#include "runtime.h"

/* Bits that an answer to CPUID must have. */
struct need {
    u32 leaf, subleaf;
    u32 from; /* the register's first bit among the 128 of the answer */
    u32 mask;
};

/* The needs of the program; those with the highest leaf below 2^31 there, and the bits that the
   system must have set for registers that it saves. */
extern const struct need tfc_needs[];
extern const i32 tfc_need_count, tfc_most_leaf;
extern const u32 tfc_saved;

/* EAX and EBX, ECX and EDX of a leaf and a subleaf; which registers the system saves. */
struct answer {
    u64 words[2];
};
__attribute__((sysv_abi)) struct answer tfc_cpuid(u32 leaf, u32 subleaf);
__attribute__((sysv_abi)) u32 tfc_xgetbv(void);

i32 tfc_run(void *const *arguments, void *const *results, void *arena);

/* Whether the processor has all that is needed, and the system saves the registers for it. */
static i32 fits(void) {
    if ((u32)tfc_cpuid(0, 0).words[0] < (u32)tfc_most_leaf)
        return 0;
    for (i32 n = 0; n < tfc_need_count; ++n) {
        const struct need *need = &tfc_needs[n];
        struct answer answer = tfc_cpuid(need->leaf, need->subleaf);
        u32 bits = (u32)(answer.words[need->from / 64] >> need->from % 64);
        if ((bits & need->mask) != need->mask)
            return 0;
    }
    return tfc_saved == 0 || (tfc_xgetbv() & tfc_saved) == tfc_saved;
}

i32 tfc_checked_run(void *const *arguments, void *const *results, void *arena) {
    static u8 is_known; /* to fit */
    if (!__atomic_load_n(&is_known, __ATOMIC_RELAXED)) {
        if (!fits())
            return WRONG_PROCESSOR;
        __atomic_store_n(&is_known, 1, __ATOMIC_RELAXED);
    }
    return tfc_run(arguments, results, arena);
}
