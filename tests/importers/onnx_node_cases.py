"""The tests of operators that the onnx package has, and how tfc fares with each.

A test is a model of one operator, or of the function that defines it, with inputs and outputs.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnxruntime
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

import tfc
from tfc.errors import TfcError, UnsupportedError


@cache
def cases() -> dict[str, Any]:
    """The tests with a model, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None) if case.model is not None}


def operator_of(case: Any) -> str:
    """The operator that a test is for; of a definition by others, "" ."""
    nodes = case.model.graph.node
    if case.name.endswith("_expanded") or "_expanded_ver" in case.name:
        return ""
    wanted = case.name.removeprefix("test_").replace("_", "").lower()
    named = [n for n in nodes if wanted.startswith(n.op_type.lower())]
    node = (named or list(nodes))[-1] if nodes else None
    if node is None:
        return ""
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def passes_elsewhere(case: Any) -> bool:
    """Whether ONNX Runtime gives what the test expects."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            case.model.SerializeToString(), options, ["CPUExecutionProvider"]
        )
        names = [port.name for port in session.get_inputs()]
        return all(
            agree(session.run(None, dict(zip(names, map(_array, given)))), wanted, case)
            for given, wanted in case.data_sets
        )
    except Exception:
        return False  # whatever it is that it lacks


@dataclass(frozen=True)
class Outcome:
    """passed, or why not."""

    passed: bool
    reason: str = ""


def outcome(case: Any) -> Outcome:
    """What becomes of a test with tfc.

    Definitions by other operators run in the evaluator, which compiles nothing.
    """
    backend = "cpu" if operator_of(case) else "interpreter"
    try:
        for given, wanted in case.data_sets:
            if not agree(results(case.model, given, backend), wanted, case):
                return Outcome(False, "other values")
    except TfcError as error:
        return Outcome(False, str(error).partition("\n")[0])
    return Outcome(True)


def results(model: Any, given: Any, backend: str = "cpu") -> list[Any]:
    """The outputs, with as few inputs fixed as the model needs to know while importing."""
    names = [port.name for port in tfc.from_onnx(model).inputs]
    inputs = dict(zip(names, map(_array, given)))
    for fixed in _fixings(inputs):
        rest = {name: value for name, value in inputs.items() if name not in fixed}
        try:
            made = tfc.from_onnx(model, fixed=fixed, backend=backend)
            got = made(rest)
            return [got] if len(made.outputs) == 1 else list(got)
        except UnsupportedError as error:
            if "known" not in str(error):
                raise
            last = error
    raise last


def _array(value: Any) -> Any:
    """An input as ONNX Runtime takes it: numbers and messages are arrays."""
    if hasattr(value, "data_type"):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _fixings(inputs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Nothing, small integers, all that is small or integers, everything."""
    arrays = {k: v for k, v in inputs.items() if isinstance(v, np.ndarray)}
    whole = {k for k, v in arrays.items() if v.dtype.kind in "iub"}
    small = {k for k, v in arrays.items() if v.ndim <= 1}
    for chosen in (set(), whole & small, whole | small, set(arrays)):
        yield {k: arrays[k] for k in arrays if k in chosen}


def agree(got: Any, wanted: Any, case: Any) -> bool:
    """Whether outputs are what a test expects: dtypes, shapes, and values to its tolerance."""
    wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    return len(got) == len(wanted) and all(_alike(g, w, case) for g, w in zip(got, wanted))


def _alike(got: Any, wanted: Any, case: Any) -> bool:
    if isinstance(wanted, (list, tuple)):
        return agree(got, wanted, case)
    if got is None or wanted is None:
        return got is wanted
    got, wanted = np.asarray(got), np.asarray(_array(wanted))
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    if wanted.dtype.kind in "biuO" or wanted.dtype.name.endswith("int4"):
        return np.array_equal(got, wanted)
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    return np.allclose(
        got.astype(wide), wanted.astype(wide), case.rtol, max(case.atol, 1e-7), equal_nan=True
    )
