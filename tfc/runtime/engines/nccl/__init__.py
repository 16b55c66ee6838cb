"""NCCL, through nccl4py: the collectives of GPU programs in a job of processes, GPU to GPU.

`library` finds the binding and says in one sentence what went wrong; `reductions` what NCCL reduces
as HLO means it; `plans` what it is asked for each collective; `engine` joins the processes;
`in_flight` tells the job's watcher what the GPU is in. Imports the room of MPI, whose job it is in.
"""
