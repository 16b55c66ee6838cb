"""Run by mpiexec: a program whose sums are begun and ended apart, both ways that engines know.

Prints "rank R: 2 programs agree" where the values are NumPy's.
"""

import numpy as np

import tfc
from tfc.hlo import parse
from tfc.runtime import replicas

tfc.distributed.initialize()
WORLD = replicas.world()
assert WORLD is not None
N = 192
M, DOT = f"f32[{N},{N}]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
module = parse(f"""HloModule sums, replica_count={WORLD.size}
add {{ x = f32[] parameter(0)
y = f32[] parameter(1)
ROOT a = f32[] add(x, y) }}
ENTRY e {{ p = {M} parameter(0)
n = {M} negate(p)
s = {M} all-reduce(n), to_apply=add
v = {M} dot(p, p), {DOT}
t = {M} all-reduce(v), to_apply=add
w = {M} dot(v, v), {DOT}
u = {M} add(s, t)
ROOT r = ({M}, {M}) tuple(u, w) }}""")
executable = tfc.compile(module)
assert str(executable.hlo).count("async-start(") == 2
everyone = [np.random.default_rng(r).standard_normal((N, N)) / 16 for r in range(WORLD.size)]
given = [x.astype(np.float32) for x in everyone]
total = sum(x @ x - x for x in everyone)
square = everyone[WORLD.rank] @ everyone[WORLD.rank]
for overlaps in (False, True):
    WORLD.engine.overlaps = overlaps
    executable = tfc.compile(module)  # what is bound to addresses stays as it was
    for _ in range(2):
        sums, product = executable(given[WORLD.rank])
        np.testing.assert_allclose(sums, total, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(product, square @ square, rtol=1e-4, atol=1e-4)
print(f"rank {WORLD.rank}: 2 programs agree")
