"""What CPU and GPU emit alike: elements by index maps, kernels, bodies of loops.

May import the IR and `passes.analysis`. Never imports a backend: what only one has, that one adds.
"""
