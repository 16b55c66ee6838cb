/* The versions of a program, each for processors that have certain instructions; x86-64 only.

   It is made of what every x86-64 has (processor_check.py says how), and becomes the entry point of
   the object file, which calls that of the last version which the processor at hand can run. */

#include "runtime.h"

/* Bits that an answer to CPUID must have. */
struct need {
    u32 leaf, subleaf;
    u32 from; /* the register's first bit among the 128 of the answer */
    u32 mask;
};

/* What a version needs; the highest leaf below 2^31 there, and the bits that the system must have
   set for registers that it saves. */
struct version {
    const struct need *needs;
    u32 need_count, most_leaf, saved;
    const char *cpu; /* its name */
    i32 (*run)(void *const *arguments, void *const *results, void *arena);
};
extern const struct version tfc_versions[];
extern const i32 tfc_version_count;

/* EAX and EBX, ECX and EDX of a leaf and a subleaf; which registers the system saves. */
struct answer {
    u64 words[2];
};
__attribute__((sysv_abi)) struct answer tfc_cpuid(u32 leaf, u32 subleaf);
__attribute__((sysv_abi)) u32 tfc_xgetbv(void);

/* Whether the processor has all that a version needs, and the system saves the registers for it. */
static i32 fits(const struct version *version) {
    if ((u32)tfc_cpuid(0, 0).words[0] < version->most_leaf)
        return 0;
    for (u32 n = 0; n < version->need_count; ++n) {
        const struct need *need = &version->needs[n];
        struct answer answer = tfc_cpuid(need->leaf, need->subleaf);
        u32 bits = (u32)(answer.words[need->from / 64] >> need->from % 64);
        if ((bits & need->mask) != need->mask)
            return 0;
    }
    return version->saved == 0 || (tfc_xgetbv() & version->saved) == version->saved;
}

/* The number of the version to run, from 1 on; 0 if there is none. Threads that ask at the same
   time find the same. */
__attribute__((noinline)) static i32 chosen(void) {
    static u8 known; /* what was found, once something was */
    i32 number = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (number == 0) {
        for (number = tfc_version_count; number > 0 && !fits(&tfc_versions[number - 1]);)
            --number;
        __atomic_store_n(&known, (u8)number, __ATOMIC_RELAXED);
    }
    return number;
}

i32 tfc_checked_run(void *const *arguments, void *const *results, void *arena) {
    i32 number = chosen();
    if (number == 0)
        return WRONG_PROCESSOR;
    return tfc_versions[number - 1].run(arguments, results, arena);
}

/* The name of what runs here; empty if nothing does. */
const char *tfc_checked_cpu(void) {
    i32 number = chosen();
    return number == 0 ? "" : tfc_versions[number - 1].cpu;
}
