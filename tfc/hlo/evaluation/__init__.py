"""The reference semantics: a program evaluated op by op in NumPy, and what ops' meanings share.

It is the oracle, so it shares no code with emission. May import the IR and attributes; an op's own
meaning is part of its definition, in `tfc.hlo.ops`.
"""
