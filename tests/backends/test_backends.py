"""The registry, and executables of every backend: arguments, results, layouts, threads."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.backends.registry import backend_names, get_backend
from tfc.errors import ShapeError, UnsupportedError
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.shape import F32, PRED, S32, Layout, Shape

RUNNING = ["cpu", "interpreter"]


def module_of(*results: Instruction) -> Module:
    """A module of the results' parameters, with a tuple as its root."""
    root = builder.instruction("tuple", results)
    reached = Computation.make("main", [], root).instructions
    parameters = sorted((i for i in reached if i.opcode == "parameter"), key=lambda p: p["number"])
    return Module("test", Computation.make("main", parameters, root))


def test_backends_are_found_by_name():
    assert {"cpu", "gpu", "interpreter"} <= set(backend_names())
    assert get_backend("interpreter").name == "interpreter"
    with pytest.raises(UnsupportedError, match="no backend 'tpu'; the backends are cpu, gpu"):
        get_backend("tpu")


def test_another_package_can_offer_a_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An entry point in the group `tfc.backends` is all it takes; one that fails says so."""
    (tmp_path / "outside.py").write_text(
        "from tfc.backends.interfaces import Backend, HostTransferManager\n"
        "from tfc.backends.interpreter import InterpreterCompiler\n"
        'backend = Backend("outside", InterpreterCompiler(), HostTransferManager())\n'
    )
    about = tmp_path / "outside-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[tfc.backends]\noutside = outside:backend\nbroken = no_such_module:backend\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert {"outside", "broken"} <= set(backend_names())
    x = builder.parameter(0, Shape(F32, (2,)))
    (result,) = tfc.compile(module_of(x), "outside")(np.ones(2, np.float32))
    np.testing.assert_array_equal(result, [1, 1])
    with pytest.raises(UnsupportedError, match="'broken' of no_such_module:backend cannot be"):
        get_backend("broken")


@pytest.mark.parametrize("backend", RUNNING)
def test_wrong_arguments_are_refused(backend: str):
    x = builder.parameter(0, Shape(F32, (2, 3)))
    executable = tfc.compile(module_of(x), backend)
    with pytest.raises(ShapeError, match=r"must be f32\[2,3\], got float64\[2, 3\]"):
        executable(np.zeros((2, 3)))
    with pytest.raises(ShapeError, match="takes 1 arrays, got 2"):
        executable(np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("backend", RUNNING)
def test_results_are_fresh_arrays(backend: str):
    """A parameter, a constant and one value given twice are copied, never shared."""
    x = builder.parameter(0, Shape(F32, (4,)))
    doubled = builder.binary("add", x, x)
    constant = builder.constant(np.arange(40, dtype=np.float32))
    argument = np.array([1, 2, 3, 4], np.float32)
    first, second, third, same, pool = tfc.compile(
        module_of(x, doubled, doubled, x, constant), backend
    )(argument)
    for result in (first, same):
        np.testing.assert_array_equal(result, argument)
        assert not np.shares_memory(result, argument)
    np.testing.assert_array_equal(second, [2, 4, 6, 8])
    np.testing.assert_array_equal(third, second)
    assert not np.shares_memory(second, third)
    np.testing.assert_array_equal(pool, np.arange(40))


@pytest.mark.parametrize("backend", RUNNING)
def test_column_major_parameters_and_results(backend: str):
    """LY-5: a layout changes where elements lie, not what they are."""
    columns = Layout((0, 1))
    x = builder.parameter(0, Shape(F32, (3, 4), columns))
    y = builder.parameter(1, Shape(F32, (3, 4)))
    total = builder.binary("add", y, builder.unary("negate", x))
    moved = Instruction("copy", (total,), Shape(F32, (3, 4), columns), name="copy")
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float32)
    row, column = tfc.compile(module_of(total, moved), backend)(a, b)
    np.testing.assert_array_equal(row, b - a)
    np.testing.assert_array_equal(column, b - a)


@pytest.mark.parametrize("backend", RUNNING)
def test_arrays_without_elements(backend: str):
    """RED-4: a sum over nothing is the init value; empty results are empty."""
    x = builder.parameter(0, Shape(F32, (0, 3)))
    add = builder.scalar_computation("add", F32)
    sums = builder.reduce(x, builder.constant(7, F32), (0,), add)
    product = builder.instruction(
        "dot", [x, x], lhs_contracting_dims=(0,), rhs_contracting_dims=(0,)
    )
    empty, totals, zeros = tfc.compile(
        module_of(builder.binary("add", x, x), sums, product), backend
    )(np.zeros((0, 3), np.float32))
    assert empty.shape == (0, 3)
    np.testing.assert_array_equal(totals, [7, 7, 7])
    np.testing.assert_array_equal(zeros, np.zeros((3, 3)))


@pytest.mark.parametrize("backend", RUNNING)
@pytest.mark.parametrize(("index", "expected"), [(0, 1), (1, 20), (2, 300), (7, 300), (-1, 300)])
def test_conditional_runs_one_branch_and_the_last_for_any_other_index(backend, index, expected):
    """CND-4; an index out of range takes the last branch."""
    selector = builder.parameter(0, Shape(S32))

    def branch(factor: int) -> Computation:
        x = builder.parameter(0, Shape(S32))
        return Computation.make(
            f"times_{factor}", [x], builder.binary("multiply", x, builder.constant(factor, S32))
        )

    operands = [builder.constant(n, S32) for n in (1, 2, 3)]
    chosen = builder.instruction(
        "conditional",
        [selector, *operands],
        branch_computations=tuple(branch(10**n) for n in range(3)),
    )
    (result,) = tfc.compile(module_of(chosen), backend)(np.array(index, np.int32))
    assert result == expected


@pytest.mark.parametrize("backend", RUNNING)
@pytest.mark.parametrize(("start", "expected"), [((1, 1), [[4, 5]]), ((-7, 9), [[1, 2]])])
def test_dynamic_slices_by_a_vector_of_start_indices(backend: str, start, expected):
    """DS-1; starts out of bounds are clamped before anything is read."""
    x = builder.parameter(0, Shape(S32, (2, 3)))
    at = builder.parameter(1, Shape(S32, (2,)))
    window = builder.instruction("dynamic-slice", [x, at], dynamic_slice_sizes=(1, 2))
    negated = builder.unary("negate", window)
    update = builder.instruction("dynamic-update-slice", [x, negated, at])
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    got, updated = tfc.compile(module_of(window, update), backend)(
        values, np.array(start, np.int32)
    )
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(updated, np.where(np.isin(values, expected), -values, values))


@pytest.mark.parametrize("backend", RUNNING)
def test_a_dot_of_preds_asks_whether_any_pair_is_true(backend: str):
    x = builder.parameter(0, Shape(PRED, (2, 3)))
    product = builder.instruction("dot", [x, x], lhs_contracting_dims=(1,),
                                  rhs_contracting_dims=(1,))  # fmt: skip
    (got,) = tfc.compile(module_of(product), backend)(np.array([[1, 1, 0], [0, 0, 0]], bool))
    np.testing.assert_array_equal(got, [[True, False], [False, False]])


@pytest.mark.parametrize("backend", RUNNING)
def test_while_that_swaps_its_state(backend: str):
    """WH-1: each iteration sees the whole old state, whatever the order of the copies."""
    shapes = [Shape(S32), Shape(F32, (2,)), Shape(F32, (2,))]
    init = [builder.parameter(n, s) for n, s in enumerate(shapes)]
    start = builder.instruction("tuple", init)
    state = builder.parameter(0, start.shape)
    count, left, right = (
        builder.instruction("get-tuple-element", [state], index=n) for n in range(3)
    )
    one = builder.constant(1, S32)
    body = Computation.make(
        "swap",
        [state],
        builder.instruction("tuple", [builder.binary("subtract", count, one), right, left]),
    )
    state = builder.parameter(0, start.shape)
    count = builder.instruction("get-tuple-element", [state], index=0)
    condition = Computation.make(
        "more", [state], builder.compare("GT", count, builder.constant(0, S32))
    )
    loop = builder.instruction("while", [start], condition=condition, body=body)
    values = [builder.instruction("get-tuple-element", [loop], index=n) for n in range(3)]
    a, b = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    executable = tfc.compile(module_of(*values), backend)
    for turns, first in ((0, a), (3, b), (4, a)):
        _, got, _ = executable(np.array(turns, np.int32), a, b)
        np.testing.assert_array_equal(got, first)


def test_one_executable_in_many_threads():
    x = builder.parameter(0, Shape(F32, (1000,)))
    add = builder.scalar_computation("add", F32)
    total = builder.reduce(builder.unary("exponential", x), builder.constant(0, F32), (0,), add)
    spread = builder.binary("divide", x, builder.broadcast(total, (1000,), ()))
    executable = tfc.compile(module_of(spread))
    arguments = [np.full(1000, n / 10, np.float32) for n in range(16)]
    expected = [executable(a)[0] for a in arguments]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            for got, want in zip(pool.map(lambda a: executable(a)[0], arguments), expected):
                np.testing.assert_array_equal(got, want)


def test_equal_kernels_are_emitted_once():
    values = [builder.parameter(n, Shape(F32, (8, 8))) for n in range(2)]
    product = values[0]
    for _ in range(4):
        product = builder.instruction(
            "dot", [product, values[1]], lhs_contracting_dims=(1,), rhs_contracting_dims=(0,)
        )
    text = tfc.compile(module_of(product)).as_text("mlir")
    calls = [line for line in text.split("\n") if "  kernel @tfc_entry." in line]
    assert len(calls) == 4
    assert len({line.split("kernel")[1].split("(")[0] for line in calls}) == 1


def test_the_bytecode_of_a_program_can_be_read():
    def program(x):
        step = lambda i, a: tfc.cond(a[0] > 3, tnp.sort, lambda a: a + 1, a)  # noqa: E731
        return tfc.fori_loop(0, 30, step, x)

    text = tfc.jit(program).lower(np.ones(8192, np.float32)).compile().as_text("mlir")
    bytecode = dict(re.findall(r"^// +(\d+)  (.*)$", text, re.MULTILINE))
    places = re.findall(r"go to (\d+)", "\n".join(bytecode.values()))
    assert len(places) >= 3  # out of the loop, to a branch, back
    assert set(places) <= set(bytecode)
    assert any(line.startswith("unless arena") for line in bytecode.values())
    assert list(bytecode.values())[-1] == "end"


def test_products_of_all_sizes_share_their_tiles():
    def functions(*sizes):
        arrays = [np.zeros((n, n), np.float32) for n in sizes]
        lowered = tfc.jit(lambda *arrays: [tnp.tanh(a @ a) for a in arrays]).lower(*arrays)
        text = lowered.compile().as_text("mlir")
        return set(re.findall(r"func.func private @((?:tiles|pack|epilogue)\.\w+)", text))

    assert functions(720, 1200) == functions(1200)
    assert len(functions(241)) > 2


def test_memory_and_cost_are_reported():
    x = builder.parameter(0, Shape(F32, (10, 20)))
    y = builder.parameter(1, Shape(F32, (20, 30)))
    product = builder.instruction(
        "dot", [x, y], lhs_contracting_dims=(1,), rhs_contracting_dims=(0,)
    )
    executable = tfc.compile(module_of(product))
    assert executable.cost_analysis().flops == 2 * 10 * 20 * 30
    memory = executable.memory_analysis()
    assert (memory.argument_bytes, memory.result_bytes) == (800 + 2400, 1200)
