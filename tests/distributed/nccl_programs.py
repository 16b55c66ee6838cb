"""Run by mpiexec: GPU programs of two processes that are interpreted, with a stand-in for NCCL.

Argument:
- "begun": collectives that are begun and ended apart;
- "training": steps of training on a mesh, against those of one process;
- "missing", "old": what is said where NCCL is not there, or too old;
- "same": both processes are on one GPU; "host": what engine='mpi' does;
- "killed", "stalled": rank 1 does so while rank 0 is in a collective of its GPU.
"""

import os
import signal
import sys
import time

import numpy as np
from nccl_stand_in import installed

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.driver import using
from tfc.hlo.evaluation.evaluator import evaluate_replicas
from tfc.sharding import psum
from tfc.testing.ptx.driver import InterpretedDriver

SUM = """HloModule summing, num_partitions=2
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY e { p = f32[4] parameter(0)
  ROOT total = f32[4] all-reduce(p), channel_id=1, to_apply=sum }"""
N = 64
M = f"f32[{N},{N}]"
DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"


def begun(fake) -> None:
    """Two pairs are open at once; one of the results is an operand of what is begun next."""
    module = tfc.hlo.parse(f"""HloModule m, replica_count=2
    add {{ x = f32[] parameter(0)
      y = f32[] parameter(1)
      ROOT a = f32[] add(x, y) }}
    sum {{ x = {M} parameter(0)
      ROOT s = {M} all-reduce(x), to_apply=add }}
    turn {{ x = {M} parameter(0)
      ROOT s = {M} collective-permute(x), source_target_pairs={{{{0,1}}}} }}
    ENTRY e {{ p = {M} parameter(0)
      b = (({M}), {M}) async-start(p), calls=sum
      v = {M} negate(p)
      c = (({M}), {M}) async-start(v), calls=turn
      w = {M} add(v, v)
      s = {M} async-done(b)
      t = {M} async-done(c)
      u = {M} add(s, t)
      l = {M} all-reduce(u), to_apply=add
      ROOT r = ({M}, {M}, {M}) tuple(l, w, s) }}""")
    rank = tfc.distributed.process_index()
    rng = np.random.default_rng(0)
    given = [[rng.integers(-9, 9, (N, N)).astype(np.float32)] for _ in range(2)]
    expected = evaluate_replicas(module, *given)[rank]
    # As the backend emits it, so that pairs stay where they are written.
    options = tfc.Options(disabled=("expand", "overlap"))
    executable = tfc.compile(module, "gpu", options=options)
    for _ in range(3):
        for got, value in zip(executable(*given[rank]), expected, strict=True):
            np.testing.assert_array_equal(np.asarray(got), value)
    assert fake.calls.count("all_reduce") == 6
    assert len(fake.calls) == 9


def training(fake) -> None:
    """Each process has half of the batch; the gradient is summed between the GPUs."""
    mesh = tfc.Mesh((2,), ("data",))
    P = tfc.PartitionSpec

    def step(w, x, y):
        error, slope = tfc.value_and_grad(lambda w: ((tnp.tanh(x @ w) - y) ** 2).sum())(w)
        return w - 0.01 * psum(slope, "data"), psum(error, "data")

    divided = tfc.shard_map(step, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P())
    rng = np.random.default_rng(0)
    x, y, w = (rng.standard_normal(s).astype(np.float32) for s in ((8, 5), (8, 3), (5, 3)))
    train, alone = tfc.jit(divided, backend="gpu"), w
    losses = []
    for _ in range(4):
        error = np.tanh(x @ alone) - y
        losses.append((error**2).sum())
        alone = alone - 0.01 * x.T @ (2 * error * (1 - np.tanh(x @ alone) ** 2))
        w, loss = train(w, x, y)  # type: ignore[call-arg]
        np.testing.assert_allclose(np.asarray(loss), losses[-1], rtol=1e-4)
        np.testing.assert_allclose(np.asarray(w), alone, rtol=1e-4, atol=1e-5)
    assert losses[-1] < losses[0]
    assert "all_reduce" in fake.calls


def main(what: str) -> None:
    """Do what the argument says."""
    tfc.distributed.initialize("mpi" if what == "host" else None)
    rank = tfc.distributed.process_index()
    if what == "same":
        InterpretedDriver.identity = "0000:01:00.0"  # type: ignore[assignment]
    with using(InterpretedDriver()) as driver:
        fake = installed(driver, 21700 if what == "old" else 23203)  # type: ignore[arg-type]
        if what == "missing":
            for name in ("nccl", "nccl.bindings", "nccl.bindings.nccl"):
                sys.modules[name] = None  # type: ignore[assignment]
        if what in ("begun", "training"):
            {"begun": begun, "training": training}[what](fake)
        else:
            total, x = tfc.compile(tfc.hlo.parse(SUM), "gpu"), np.ones(4, np.float32)
            for _ in range(3):
                assert np.asarray(total(x)[0])[0] == 2
            if what == "host":
                assert not fake.calls
            elif rank == 1 and what == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            elif rank == 1:
                time.sleep(60)
            else:
                total(x)
    print(f"rank {rank}: 1 programs agree\n", end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
