"""Running graphs: sessions, what a run is planned as, the parts of it that are compiled, and what
is recorded of it. Knows operations and operators; no function that users make graphs with.
"""
