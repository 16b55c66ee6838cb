/* What the C files of this folder share.

   They are made to LLVM IR once (regenerate.py), which is checked in beside them, so that tfc needs
   no C compiler where it runs. So no header of a C library is included: what they call is declared
   here, as it is on every system whose pointers have 64 bits.

   A name in capitals that no file here defines is given by regenerate.py, from the Python code that
   fills in the same tables. */

typedef unsigned char u8;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef __SIZE_TYPE__ size;

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* So many values on the stack, until the function returns. */
#define ON_STACK(type, count) ((type *)__builtin_alloca(sizeof(type) * (size)(count)))

/* A pointer of any width, or a number. */
union word {
    i64 number;
    void *pointer;
};

/* What a caller, which an instruction of bytecode names, is given. */
struct frame {
    union word function;
    union {
        i64 scratch;       /* of a kernel: bytes of a chunk, which lie in the last buffer */
        void *participant; /* of a call: who runs the program, where it joins several */
    };
    union word buffers[];
};
