"""What the interpreter keeps while kernels run: memory with its shadow, threads and registers, who
accessed shared memory, counts. And the faults that it finds. Nothing here knows instructions."""
