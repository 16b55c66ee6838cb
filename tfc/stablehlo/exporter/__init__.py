"""From HLO to StableHLO: modules and computations, and the instructions that are written only.

Operations that both have are in operations/. What StableHLO has no operation for is CHLO's (erf,
asin …) or a call of a function (fusion); tuples are taken apart, since operations have several
results.
"""
