"""Variables: what keeps its value between the runs of a session, and how it is made and shared.

Lies on the core of `graph`, and makes nodes of the operators' names; knows no optimizers or files.
"""
