/* Blocks of memory that are used again.

   The system hands out large blocks as pages that it fills with zeros when they are first
   touched, which takes longer than most programs do with them. So a block that is given back is
   kept, up to a limit for all of them together, for the next that asks for its size. Callers hold
   Python's lock. */

enum { BLOCKS = 128, HUGE_PAGE = 2 << 20 };

int posix_memalign(void **block, size alignment, size bytes);
int madvise(void *start, size bytes, int advice);
void free(void *block);

/* Of this process: how many bytes of blocks nobody uses are kept, and what asks the system for huge
   pages, which is 0 where nothing does. */
extern const i64 tfc_most_kept;
extern const i32 tfc_huge_page_advice;

static struct {
    void *address; /* null if the place is empty */
    i64 size;      /* 0 likewise */
} blocks[BLOCKS];
static i64 bytes_kept, next_to_empty;

/* Memory that nobody has used; null if there is none. */
static void *allocate(i64 bytes) {
    void *made;
    int is_huge = bytes >= 2 * HUGE_PAGE;
    if (UNLIKELY(posix_memalign(&made, is_huge ? HUGE_PAGE : 64, (size)bytes) != 0))
        return 0;
    if (is_huge && tfc_huge_page_advice)
        madvise(made, (size)bytes, tfc_huge_page_advice);
    return made;
}

/* Return what is kept at a place to the system. */
static void forget(i64 place) {
    free(blocks[place].address);
    bytes_kept -= blocks[place].size;
    blocks[place].address = 0;
    blocks[place].size = 0;
}

/* Memory aligned to 64 bytes; null if there is none. */
static void *take(i64 bytes) {
    for (i64 place = 0; place < BLOCKS; ++place) {
        if (blocks[place].size == bytes) {
            void *found = blocks[place].address;
            bytes_kept -= bytes;
            blocks[place].address = 0;
            blocks[place].size = 0;
            return found;
        }
    }
    void *made = allocate(bytes);
    if (LIKELY(made != 0))
        return made;
    for (i64 place = 0; place < BLOCKS; ++place) {
        if (blocks[place].size != 0)
            forget(place);
    }
    return allocate(bytes);
}

/* Give back what `take` returned for so many bytes. */
static void give(void *block, i64 bytes) {
    if (bytes > tfc_most_kept) {
        free(block);
        return;
    }
    for (;;) { /* ends, at the latest, when nothing else is kept */
        for (i64 place = 0; place < BLOCKS; ++place) {
            if (blocks[place].address == 0 && bytes_kept + bytes <= tfc_most_kept) {
                blocks[place].address = block;
                blocks[place].size = bytes;
                bytes_kept += bytes;
                return;
            }
        }
        forget(next_to_empty);
        next_to_empty = (next_to_empty + 1) % BLOCKS;
    }
}
