"""NVIDIA's programs for code: the assembler makes cubins of PTX, the disassembler shows them.

They come with CUDA, or each alone in a wheel.
"""
