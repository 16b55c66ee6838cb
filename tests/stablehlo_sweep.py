"""JAX's own test programs through StableHLO: compiled by tfc, compared with XLA's results.

    python tests/stablehlo_sweep.py --every 40                     a deterministic part
    python tests/stablehlo_sweep.py --cache DIR --jobs 2           all, keeping what JAX computed

Each program runs in a worker process, so that a crash or a hang is a failure of one program. With
--cache a second run goes on where the first stopped, or compares anew (--again) without JAX.
"""

import argparse
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import ml_dtypes
import numpy as np

import tfc
from tfc.errors import TfcError, UnsupportedError

PASSED, SKIPPED = "passed", ("needs a custom call", "not for this device", "not exported")
SECONDS = 120  # for one program

# Programs whose every result is one operation on one element of each operand: to 4 ulp. Others
# accumulate, or compose many operations.
ELEMENTWISE = frozenset((
    "abs", "acos", "acosh", "add", "add_any", "and", "asin", "asinh", "atan", "atan2", "atanh",
    "bitcast_convert_type", "broadcast_in_dim", "cbrt", "ceil", "clamp", "complex", "concatenate",
    "conj", "convert_element_type", "cos", "cosh", "device_put", "div", "dynamic_slice",
    "dynamic_update_slice", "eq", "erf", "exp", "expm1", "floor", "gather", "ge", "gt", "imag",
    "iota", "is_finite", "le", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg",
    "nextafter", "or", "pad", "population_count", "pow", "real", "reduce_max", "reduce_min",
    "reduce_precision", "rem", "reshape", "rev", "round", "rsqrt", "select_n", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "slice", "sort",
    "sqrt", "squeeze", "stop_gradient", "sub", "tan", "tanh", "top_k", "transpose", "xor",
))  # fmt: skip
RELATIVE = {2: 1e-2, 4: 1e-5, 8: 1e-12}  # for accumulations, by the bytes of a real


@dataclass(frozen=True)
class Outcome:
    """What became of one program: `status` is "passed" or a class of failure."""

    number: int
    group: str
    name: str
    dtype: str
    status: str
    reason: str = ""


@dataclass(frozen=True)
class Reference:
    """A program as JAX exports it, arguments, and what XLA computes from them."""

    mlir_module_serialized: bytes
    arguments: list[np.ndarray]
    expected: list[np.ndarray]


def harnesses() -> Sequence[Any]:
    """JAX's test programs, which turn 64-bit types on: not for the process of other tests."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)
    from jax._src.internal_test_util import test_harnesses

    return test_harnesses.all_harnesses


def make_reference(harness: Any) -> Reference | tuple[str, str]:
    """Export a program and run it with XLA; or why not, as status and reason."""
    import jax

    if not harness.filter("cpu"):
        return "not for this device", ""
    generator = np.random.RandomState(zlib.crc32(harness.fullname.encode()) & 0x7FFFFFFF)
    arguments = harness.dyn_args_maker(generator)
    function = jax.jit(harness.dyn_fun)
    try:
        exported = jax.export.export(function)(*arguments)
        results = jax.tree_util.tree_leaves(function(*arguments))
    except Exception as error:
        status = "needs a custom call" if "custom call" in str(error) else "not exported"
        return status, str(error).partition("\n")[0][:300]
    text = exported.mlir_module()
    targets = sorted({line.split("@")[1].split("(")[0] for line in text.split("\n")
                      if "stablehlo.custom_call @" in line})  # fmt: skip
    if targets:
        return "needs a custom call", ", ".join(targets)
    leaves = [_as_numpy(leaf) for leaf in jax.tree_util.tree_leaves(arguments)]
    kept = [np.asarray(leaves[i], _physical(exported.in_avals[i]))
            for i in exported.module_kept_var_idx]  # fmt: skip
    return Reference(exported.mlir_module_serialized, kept, [_as_numpy(r) for r in results])


def _as_numpy(leaf: Any) -> np.ndarray:
    import jax

    is_key = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def _physical(aval: Any) -> np.dtype:
    """The dtype of an argument; a key of random numbers is passed as its bits."""
    try:
        return np.dtype(aval.dtype)
    except TypeError:
        return np.dtype(np.uint32)


def difference(got: np.ndarray, expected: np.ndarray, elementwise: bool) -> str:
    """How a result differs from what is expected by more than it may; "" if it does not."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}"
    kind = expected.dtype.name
    if not ("float" in kind or "complex" in kind):
        wrong = int(np.sum(got != expected))
        return f"{wrong} of {got.size} elements differ" if wrong else ""
    bits = expected.dtype.itemsize // (2 if "complex" in kind else 1)
    real = np.dtype(f"f{bits}") if "complex" in kind else expected.dtype
    info: Any = ml_dtypes.finfo(real)
    wide = np.complex128 if "complex" in kind else np.float64
    a, b = got.astype(wide), expected.astype(wide)
    special = ~np.isfinite(a) | ~np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if "complex" in kind:
        same |= np.isinf(a) & np.isinf(b)
    with np.errstate(all="ignore"):
        error = np.where(same, 0, np.abs(a - b))
        scale = np.abs(np.where(special, 0, b))
    if elementwise:
        # Functions of complex numbers are themselves composed of several.
        ulps = 32 if "complex" in kind else 4
        allowed = ulps * float(info.eps) * scale + float(info.tiny)
    else:
        largest = scale.max(initial=0)
        allowed = RELATIVE.get(bits, 0.1) * np.maximum(scale, largest if largest < 1e30 else 0)
        allowed = allowed + float(info.tiny)
    with np.errstate(all="ignore"):
        bad = ~same & (special | ~(error <= allowed))
    if not bad.any():
        return ""
    at = np.unravel_index(int(np.argmax(np.where(bad, np.where(special, np.inf, error), -1))),
                          bad.shape)  # fmt: skip
    return f"{int(bad.sum())} of {bad.size} elements differ, such as {got[at]} from {expected[at]}"


def _finfo(dtype: np.dtype) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def run_program(reference: Reference, elementwise: bool) -> tuple[str, str]:
    """Compile and run a program with tfc; its status and reason."""
    import tfc

    try:
        function = tfc.from_stablehlo(reference)
        results = function.compile()(*reference.arguments)
    except UnsupportedError as error:
        return "unsupported", _reason(error)
    except TfcError as error:
        return f"refused: {type(error).__name__}", _reason(error)
    except Exception as error:
        return f"error: {type(error).__name__}", _reason(error)
    if len(results) != len(reference.expected):
        return "wrong result", f"{len(results)} results, not {len(reference.expected)}"
    for number, (got, expected) in enumerate(zip(results, reference.expected)):
        found = difference(got, expected, elementwise)
        if found and not (elementwise and _agrees_with_numpy(function.hlo, results, reference)):
            return "wrong result", f"result {number}: {found}"
    return PASSED, ""


def _agrees_with_numpy(module: Any, results: Sequence[np.ndarray], reference: Reference) -> bool:
    """Whether the reference evaluator has these results, where XLA is not accurate (log1p, f64)."""
    expected = tfc.compile(module, "interpreter")(*reference.arguments)
    return not any(difference(a, b, True) for a, b in zip(results, expected))


def _reason(error: BaseException) -> str:
    notes = [n.partition("\n")[0] for n in getattr(error, "__notes__", ())]
    return " | ".join([str(error).partition("\n")[0], *notes])[:400]


def examine(begun: Outcome, cache: Path | None) -> Outcome:
    """The outcome of one program, and its reference kept in the cache."""
    number, harness = begun.number, harnesses()[begun.number]
    stored = cache / f"{number}.pickle" if cache else None
    reference: Any = None
    if stored and stored.exists():
        reference = pickle.loads(stored.read_bytes())
    else:
        reference = make_reference(harness)
        if stored:
            stored.write_bytes(pickle.dumps(reference))
    if not isinstance(reference, tuple):
        reference = run_program(reference, harness.group_name in ELEMENTWISE)
    status, reason = reference
    return replace(begun, status=status, reason=reason)


def work(cache: Path | None) -> None:
    """A worker: numbers come in, one a line; for each, "crash" and then the outcome go out."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no outcome

    def put(outcome: Outcome) -> None:
        channel.write(json.dumps(asdict(outcome)) + "\n")
        channel.flush()

    for number in map(int, sys.stdin):
        harness = harnesses()[number]
        dtype = np.dtype(harness.dtype).name
        begun = Outcome(number, harness.group_name, harness.name, dtype, "crash")
        put(begun)
        put(examine(begun, cache))


def _supervise(numbers: "SimpleQueue[int]", command: list[str]) -> Iterator[Outcome]:
    """Outcomes of a worker process, which is started anew after a crash or a hang."""
    process: Any = None
    while True:
        try:
            number = numbers.get_nowait()
        except Empty:
            break
        if process is None:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)  # fmt: skip
        clock = threading.Timer(SECONDS, process.kill)
        clock.start()
        process.stdin.write(f"{number}\n")
        process.stdin.flush()
        begun, done = (process.stdout.readline() for _ in range(2))
        hung = not clock.is_alive()
        clock.cancel()
        if done:
            yield Outcome(**json.loads(done))
            continue
        code = process.wait()
        process = None
        reason = f"no result in {SECONDS} s" if hung else f"exit code {code}"
        outcome = Outcome(**json.loads(begun))
        yield replace(outcome, status="hang" if hung else "crash", reason=reason)
    if process is not None:
        process.stdin.close()
        process.wait()


def count() -> int:
    """The number of JAX's test programs."""
    command = [sys.executable, __file__, "--count"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def sweep(
    numbers: Iterable[int], cache: Path | None = None, jobs: int = 1, keep: Sequence[str] = ()
) -> list[Outcome]:
    """The outcomes of many programs, in order.

    Args:
        cache: a folder for what JAX computed and for a log of outcomes.
        keep: the statuses that are taken from the log; every one if it is empty.
    """
    wanted = list(numbers)
    log = cache / "outcomes.jsonl" if cache else None
    done: dict[int, Outcome] = {}
    if cache:
        cache.mkdir(parents=True, exist_ok=True)
    if log and log.exists():
        for line in log.read_text().splitlines():
            outcome = Outcome(**json.loads(line))
            done[outcome.number] = outcome
    done = {n: o for n, o in done.items() if not keep or o.status in keep}
    queue: SimpleQueue[int] = SimpleQueue()
    for number in wanted:
        if number not in done:
            queue.put(number)
    command = [sys.executable, __file__, "--worker", *(["--cache", str(cache)] if cache else [])]
    lock = threading.Lock()

    def run() -> None:
        for outcome in _supervise(queue, command):
            with lock:
                done[outcome.number] = outcome
                if log:
                    with log.open("a") as file:
                        file.write(json.dumps(asdict(outcome)) + "\n")

    threads = [threading.Thread(target=run) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [done[number] for number in wanted]


def rates(outcomes: Iterable[Outcome], key: str) -> dict[str, tuple[int, int]]:
    """For each group or dtype: (programs passed, programs that need no custom call)."""
    passed, total = Counter(), Counter()
    for outcome in outcomes:
        if outcome.status not in SKIPPED:
            total[getattr(outcome, key)] += 1
            passed[getattr(outcome, key)] += outcome.status == PASSED
    return {name: (passed[name], total[name]) for name in sorted(total)}


def report(outcomes: Sequence[Outcome]) -> str:
    """The rates by group and dtype, and the failures by class."""
    lines = []
    for key in ("group", "dtype"):
        lines.append(f"{key:<34}passed  of      %")
        for name, (good, all_) in rates(outcomes, key).items():
            lines.append(f"{name:<34}{good:6} {all_:4} {100 * good / all_:6.1f}")
    classes: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.status not in (PASSED, *SKIPPED):
            cause = outcome.reason.partition(" | ")[0] if outcome.status != "wrong result" else ""
            classes[outcome.status, re.sub(r"\d+", "N", cause[:110])].append(outcome)
    lines.append("failures by class")
    for (status, cause), found in sorted(classes.items(), key=lambda item: -len(item[1])):
        groups = Counter(o.group for o in found).most_common(6)
        lines.append(f"{len(found):6}  {status}: {cause}  in {dict(groups)}")
    skipped = Counter(o.status for o in outcomes if o.status in SKIPPED)
    good, total = (sum(v[i] for v in rates(outcomes, "group").values()) for i in (0, 1))
    lines.append(f"left out: {dict(skipped)}")
    lines.append(f"{good} of {total} programs passed: {100 * good / max(total, 1):.2f} %")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="one program of so many")
    parser.add_argument("--group", help="only programs of this group")
    parser.add_argument("--cache", type=Path, help="where references and outcomes are kept")
    parser.add_argument("--again", action="store_true", help="compare all anew")
    parser.add_argument("--failed", action="store_true", help="compare anew what did not pass")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--count", action="store_true", help="only count the programs")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work(chosen.cache)
        return
    if chosen.count:
        print(len(harnesses()))
        return
    numbers = range(0, len(harnesses()), chosen.every)
    if chosen.group:
        numbers = [n for n in numbers if harnesses()[n].group_name == chosen.group]
    keep = SKIPPED if chosen.again else (PASSED, *SKIPPED) if chosen.failed else ()
    print(report(sweep(numbers, chosen.cache, chosen.jobs, keep)))


if __name__ == "__main__":
    main()
