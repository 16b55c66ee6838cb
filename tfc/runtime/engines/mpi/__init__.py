"""MPI, through mpi4py: processes as the devices of a program, of which each runs that of its rank.

`engine` joins them; `plans` says what MPI is asked to do for each collective; `board` and `watcher`
tell on a host what its processes do, and end a job in which one died or stalls.
"""
