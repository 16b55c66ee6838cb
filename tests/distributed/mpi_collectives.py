"""Run by mpiexec: every N-th collective of those below over MPI beside the same on threads.

Arguments: N, then the element types; all of them if left out.

Prints "rank R: N programs agree" where all values are those of threads, and every rank got the same
bits of what all get.
"""

import sys
from collections.abc import Sequence

import ml_dtypes
import numpy as np
from mpi4py import MPI

import tfc

tfc.distributed.initialize()
RANK, SIZE = tfc.distributed.process_index(), tfc.distributed.process_count()
DTYPES = {
    "f32": np.float32, "f64": np.float64, "c64": np.complex64, "s32": np.int32, "u8": np.uint8,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "pred": np.bool_,
}  # fmt: skip
EXACT = {"s32", "u8", "pred", "f16", "bf16", "f8e4m3fn"}  # the others, MPI adds in its own order
ALL = "{{" + ",".join(map(str, range(SIZE))) + "}}"
PAIRS = "{" + ",".join(f"{{{k + 1},{k}}}" for k in range(0, SIZE, 2)) + "}"
RING = "{" + ",".join(f"{{{k},{(k + 1) % SIZE}}}" for k in range(SIZE)) + "}"
GLOBAL = "channel_id=1, use_global_device_ids=true, replica_groups="


def functions(kind: str) -> list[str]:
    """What to reduce with: operations, and `apart`, which depends on the order."""
    if kind == "pred":
        return ["and", "or", "xor"]
    ordered = [] if kind == "c64" else ["minimum", "maximum"]
    return ["add", "multiply", *ordered, "apart"]


def module_of(kind: str, body: str, dims: Sequence[int]) -> tfc.hlo.Module:
    """A module whose entry has p = KIND[DIMS] parameter(0)."""
    text = f"HloModule m, num_partitions={SIZE}\n"
    for name in functions(kind):
        last = f"h = {kind}[] add(y, y)\nROOT a = {kind}[] subtract(x, h)"
        last = last if name == "apart" else f"ROOT a = {kind}[] {name}(x, y)"
        text += f"{name} {{ x = {kind}[] parameter(0)\ny = {kind}[] parameter(1)\n{last} }}\n"
    shape = f"{kind}[{','.join(map(str, dims))}]"
    return tfc.hlo.parse(f"{text}ENTRY e {{ p = {shape} parameter(0)\n{body} }}")


def arguments(kind: str, dims: Sequence[int]) -> list[np.ndarray]:
    """An array for each device; some floats are NaN and negative zero."""
    rng = np.random.default_rng(0)
    if kind == "pred":
        return [rng.random(dims) < 0.5 for _ in range(SIZE)]
    made = [rng.standard_normal(dims) * 3 for _ in range(SIZE)]
    if kind == "u8":
        return [np.abs(m).astype(np.uint8) for m in made]
    if kind.startswith(("f", "b")):
        for device, array in enumerate(made):
            array.flat[device] = np.nan
            array.flat[SIZE + device] = -0.0
    return [m.astype(DTYPES[kind]) for m in made]


def check(kind: str, body: str, dims: Sequence[int] = (8, 6)) -> None:
    """Run over MPI, first by Python and then by code alone, on threads, and over MPI again."""
    executable = tfc.compile(module_of(kind, body, dims))
    given = arguments(kind, dims)
    got, again = executable(given[RANK]), executable(given[RANK].copy())
    expected = executable.run_replicas([[a] for a in given])[RANK]
    last = executable(given[RANK])
    for first, second, third, value in zip(got, again, last, expected, strict=True):
        assert first.tobytes() == second.tobytes() == third.tobytes(), body
        if kind in EXACT:
            # Which NaN it is may depend on the processor; that it is one may not.
            plain = [np.where(v != v, np.zeros_like(v), v) for v in (first, value)]
            assert plain[0].tobytes() == plain[1].tobytes(), (kind, body, first, value)
        np.testing.assert_allclose(
            first.astype(np.complex128), value.astype(np.complex128), 1e-5, 1e-5, err_msg=body
        )
    if f"all-reduce(p), {GLOBAL}{ALL}" in body or ("all-gather" in body and ALL in body):
        bits = MPI.COMM_WORLD.allgather([g.tobytes() for g in got])
        assert all(b == bits[0] for b in bits), (kind, body)


def bodies(kind: str) -> list[tuple[str, tuple[int, ...]]]:
    """The programs for an element type, with the dimensions of their argument."""
    found = []
    for name in functions(kind):
        to = f"to_apply={name}"
        found += [
            (f"ROOT r = {kind}[8,6] all-reduce(p), {GLOBAL}{ALL}, {to}", (8, 6)),
            (f"ROOT r = {kind}[8,6] all-reduce(p), {GLOBAL}{PAIRS}, {to}", (8, 6)),
            (f"ROOT r = {kind}[4,6] reduce-scatter(p), {GLOBAL}{PAIRS}, {to}, dimensions={{0}}",
             (8, 6)),
            (f"ROOT r = {kind}[8,3] reduce-scatter(p), {GLOBAL}{PAIRS}, {to}, dimensions={{1}}",
             (8, 6)),
        ]  # fmt: skip
    turned, to = f"c = {kind}[8,6]{{0,1}} copy(p)\nROOT r = {kind}", f"to_apply={name}"
    channel = "channel_id=1, "
    moves = [
        f"{kind}[{8 * SIZE},6] all-gather(p), {GLOBAL}{ALL}, dimensions={{0}}",
        f"{kind}[8,{6 * SIZE}] all-gather(p), {GLOBAL}{ALL}, dimensions={{1}}",
        f"{kind}[8,6] all-to-all(p), {channel}replica_groups={PAIRS}, dimensions={{0}}",
        f"{kind}[8,6] all-to-all(p), {channel}replica_groups={PAIRS}, dimensions={{1}}",
        f"({kind}[8,6], {kind}[8,6]) all-to-all(p, q), {channel}replica_groups={PAIRS}",
        f"{kind}[8,6] collective-permute(p), {channel}source_target_pairs={RING}",
        f"{kind}[8,6] collective-permute(p), {channel}source_target_pairs={{{{0,1}}}}",
        f"{kind}[8,6] collective-broadcast(p), {channel}replica_groups={PAIRS}",
    ]
    found += [(f"q = {kind}[8,6] copy(p)\nROOT r = {move}", (8, 6)) for move in moves]
    found += [
        (f"{turned}[8,6]{{0,1}} all-reduce(c), {GLOBAL}{PAIRS}, {to}", (8, 6)),
        (f"{turned}[8,12]{{0,1}} all-gather(c), {GLOBAL}{PAIRS}, dimensions={{1}}", (8, 6)),
        (f"ROOT r = {kind}[300,101] all-reduce(p), {GLOBAL}{ALL}, {to}", (300, 101)),
    ]
    return found


def check_messages() -> None:
    """Each device gives its number to the next, three times in a row."""
    pairs = f"frontend_attributes={{_xla_send_recv_source_target_pairs={RING}}}"
    module = tfc.hlo.parse(f"""HloModule ring, num_partitions={SIZE}
    ENTRY e {{ p = f32[2] parameter(0)
      t = token[] after-all()
      r = (f32[2], u32[], token[]) recv(t), channel_id=3, {pairs}
      s = (f32[2], u32[], token[]) send(p, t), channel_id=3, {pairs}
      u = token[] send-done(s), channel_id=3
      ROOT d = (f32[2], token[]) recv-done(r), channel_id=3 }}""")
    executable = tfc.compile(module)
    for turn in range(3):
        (got,) = executable(np.full(2, 10 * turn + RANK, np.float32))
        np.testing.assert_array_equal(got, 10 * turn + (RANK - 1) % SIZE)


if __name__ == "__main__":
    every, *kinds = sys.argv[1:]
    programs = [(kind, *body) for kind in kinds or DTYPES for body in bodies(kind)]
    programs = programs[:: int(every)]
    for kind, body, dims in programs:
        check(kind, body, dims)
    check_messages()
    print(f"rank {RANK}: {len(programs)} programs agree\n", end="", flush=True)
