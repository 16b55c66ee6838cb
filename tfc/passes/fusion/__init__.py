"""Kernels: which instructions become one, decided by bytes moved and by the backend.

May import the rooms before it, up to `layout`. What a formed kernel does is analysis (`row_plan`,
`in_place`).
"""
