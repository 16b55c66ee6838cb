"""Invariants of modules, each a named check with an id (IR-1 to IR-9).

May import the IR, attributes and ops.
"""
