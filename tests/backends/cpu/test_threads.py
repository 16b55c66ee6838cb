"""The thread pool, and kernels that threads share: same bits, any number of threads and callers."""

import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.backends.cpu import sharing
from tfc.backends.cpu.products.schedule import MatmulSpec
from tfc.backends.cpu.products.splits import chunk_cost, product_chunks, split_product
from tfc.backends.cpu.sharing import chunks_of
from tfc.backends.target import Target
from tfc.compiler import compile_object
from tfc.errors import TfcError
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import F32
from tfc.options import threads_from_environment

RANDOM = np.random.default_rng(5)


def array(*dims: int) -> np.ndarray:
    return RANDOM.standard_normal(dims).astype(np.float32)


@pytest.fixture(autouse=True)
def _threads():
    """Each test leaves the number of threads as it was."""
    before = tfc.get_threads()
    yield
    tfc.set_threads(before)


@pytest.fixture
def shared(monkeypatch):
    """Two cores share whatever can be shared, however small."""
    monkeypatch.setattr(sharing, "_LEAST", 0.01)
    monkeypatch.setattr("tfc.backends.cpu.compiler.sharing_cores", lambda: 2)


CONVOLUTION = "dim_labels=b01f_01io->b01f"
PROGRAMS = {
    "add": ("x = f32[999] parameter(0) ROOT r = f32[999] add(x, x)"),
    "transpose": ("x = f32[35,44] parameter(0) t = f32[44,35] transpose(x), dimensions={1,0} "
                  "ROOT r = f32[44,35] negate(t)"),
    "pieces": ("x = f32[3,40] parameter(0) y = f32[4,40] parameter(1) "
               "ROOT r = f32[7,40] concatenate(x, y), dimensions={0}"),
    "sum of rows": "x = f32[37,90] parameter(0) z = f32[] constant(0) "
                   "ROOT r = f32[37] reduce(x, z), dimensions={1}, to_apply=sum",
    "sum of columns": "x = f32[37,9000] parameter(0) z = f32[] constant(1) "
                      "ROOT r = f32[9000] reduce(x, z), dimensions={0}, to_apply=sum",
    "sum of all": "x = f32[37,90] parameter(0) z = f32[] constant(0) "
                  "ROOT r = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum",
    "dot": "x = f32[48,70] parameter(0) y = f32[70,128] parameter(1) "
           "ROOT r = f32[48,128] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "dot in columns": "x = f32[7,70] parameter(0) y = f32[70,256] parameter(1) "
                      "d = f32[7,256] dot(x, y), lhs_contracting_dims={1}, "
                      "rhs_contracting_dims={0} ROOT r = f32[7,256] tanh(d)",
    "dot in uneven rows": "x = f32[97,9] parameter(0) y = f32[9,16] parameter(1) "
                          "ROOT r = f32[97,16] dot(x, y), lhs_contracting_dims={1}, "
                          "rhs_contracting_dims={0}",
    "dot in uneven columns": "x = f32[3,9] parameter(0) y = f32[9,203] parameter(1) "
                             "ROOT r = f32[3,203] dot(x, y), lhs_contracting_dims={1}, "
                             "rhs_contracting_dims={0}",
    "dot with an operand to be packed":
        "x = f32[97,730] parameter(0) y = f32[45,730] parameter(1) "
        "d = f32[97,45] dot(x, y), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={1} ROOT r = f32[97,45] tanh(d)",
    "matrix and vector": "x = f32[300,70] parameter(0) y = f32[70] parameter(1) "
                         "d = f32[300] dot(x, y), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0} ROOT r = f32[300] exponential(d)",
    "batched dot": "x = f32[6,9,7] parameter(0) y = f32[6,7,33] parameter(1) "
                   "d = f32[6,9,33] dot(x, y), lhs_contracting_dims={2}, "
                   "rhs_contracting_dims={1}, lhs_batch_dims={0}, rhs_batch_dims={0} "
                   "ROOT r = f32[6,9,33] maximum(d, d)",
    "dot of complex numbers": "x = c64[31,7] parameter(0) y = c64[7,33] parameter(1) "
                       "ROOT r = c64[31,33] dot(x, y), lhs_contracting_dims={1}, "
                       "rhs_contracting_dims={0}",
    "dot of bytes": "x = s8[40,7] parameter(0) y = s8[7,64] parameter(1) "
                    "ROOT r = s32[40,64] dot(x, y), lhs_contracting_dims={1}, "
                    "rhs_contracting_dims={0}",
    "sort of rows": "x = f32[37,90] parameter(0) "
                    "ROOT r = f32[37,90] sort(x), dimensions={1}, to_apply=less",
    "running sums of rows": "x = f32[36,90] parameter(0) z = f32[] constant(0) "
                            "ROOT r = f32[36,90] reduce-window(x, z), "
                            "window={size=1x90 pad=0_0x89_0}, to_apply=sum",
    "running sums in planes": "x = f32[9,30,7] parameter(0) z = f32[] constant(0) "
                              "ROOT r = f32[9,30,7] reduce-window(x, z), "
                              "window={size=1x30x1 pad=0_0x0_29x0_0}, to_apply=sum",
    "running sum": "x = f32[65536] parameter(0) z = f32[] constant(1) "
                   "ROOT r = f32[65536] reduce-window(x, z), "
                   "window={size=65536 pad=65535_0}, to_apply=sum",
    "scatter into a copy":
        "x = f32[300,8] parameter(0) y = f32[9,8] parameter(1) i = s32[9,1] parameter(2) "
        "ROOT r = f32[300,8] scatter(x, i, y), update_window_dims={1}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
    "scatter of an array into its copy":
        "x = f32[90,8] parameter(0) y = f32[90,8] negate(x) i = s32[90,1] parameter(1) "
        "a = f32[90,8] scatter(x, i, x), update_window_dims={1}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum "
        "ROOT r = f32[90,8] add(a, y)",
    "update of a copy":
        "x = f32[300,8] parameter(0) y = f32[9,8] parameter(1) i = s32[] parameter(2) "
        "z = s32[] constant(0) n = f32[9,8] negate(y) "
        "ROOT r = f32[300,8] dynamic-update-slice(x, n, i, z)",
    "pooling": "x = f32[3,9,8,5] parameter(0) z = f32[] constant(0) "
               "ROOT r = f32[3,4,4,5] reduce-window(x, z), "
               "window={size=1x3x2x1 stride=1x2x2x1}, to_apply=sum",
    "pooling's gradient": "x = f32[8,9,8,8] parameter(0) y = f32[8,4,4,8] parameter(1) "
                          "z = f32[] constant(0) "
                          "ROOT r = f32[8,9,8,8] select-and-scatter(x, y, z), "
                          "window={size=1x3x2x1 stride=1x2x2x1}, select=less, scatter=sum",
    "pooling's gradient of one image":
        "x = f32[1,9,8,70] parameter(0) y = f32[1,4,4,70] parameter(1) z = f32[] constant(0) "
        "ROOT r = f32[1,9,8,70] select-and-scatter(x, y, z), "
        "window={size=1x3x2x1 stride=1x2x2x1}, select=less, scatter=sum",
    "convolution": "x = f32[2,9,8,4] parameter(0) k = f32[3,3,4,40] parameter(1) "
                   "c = f32[2,9,8,40] convolution(x, k), window={size=3x3 pad=1_1x1_1}, "
                   f"{CONVOLUTION} ROOT r = f32[2,9,8,40] abs(c)",
    "convolution in groups":
        "x = f32[1,13,12,40] parameter(0) k = f32[3,3,20,200] parameter(1) "
        "c = f32[1,13,12,200] convolution(x, k), window={size=3x3 pad=1_1x1_1}, "
        f"{CONVOLUTION}, feature_group_count=2 ROOT r = f32[1,13,12,200] abs(c)",
    "convolution of a line": "x = f32[1,90,16] parameter(0) k = f32[3,16,128] parameter(1) "
                             "ROOT r = f32[1,88,128] convolution(x, k), window={size=3}, "
                             "dim_labels=b0f_0io->b0f",
    "convolution of few places":
        "x = f32[33,9,9,8] parameter(0) k = f32[7,7,8,256] parameter(1) "
        f"ROOT r = f32[33,3,3,256] convolution(x, k), window={{size=7x7}}, {CONVOLUTION}",
    "convolution of few places, and what follows":
        "x = f32[33,9,9,8] parameter(0) k = f32[7,7,8,256] parameter(1) b = f32[256] parameter(2) "
        f"c = f32[33,3,3,256] convolution(x, k), window={{size=7x7}}, {CONVOLUTION} "
        "t = f32[3,3,33,256] transpose(c), dimensions={1,2,0,3} "
        "a = f32[3,3,33,256] broadcast(b), dimensions={3} ROOT r = f32[3,3,33,256] add(t, a)",
    "depthwise convolution": "x = f32[1,9,8,24] parameter(0) k = f32[3,3,1,24] parameter(1) "
                             "ROOT r = f32[1,9,8,24] convolution(x, k), "
                             f"window={{size=3x3 pad=1_1x1_1}}, {CONVOLUTION}, "
                             "feature_group_count=24",
    "depthwise convolution of lines":
        "x = f32[6,40,24] parameter(0) k = f32[3,1,24] parameter(1) "
        "ROOT r = f32[6,40,24] convolution(x, k), window={size=3 pad=1_1}, "
        "dim_labels=b0f_0io->b0f, feature_group_count=24",
    "gradient of lines":
        "x = f32[6,40,24] parameter(0) k = f32[3,24,2] parameter(1) "
        "ROOT r = f32[6,80,2] convolution(x, k), window={size=3 pad=1_2 lhs_dilate=2}, "
        "dim_labels=b0f_0io->b0f",
    "gradient of an image":
        "x = f32[2,18,19,40] parameter(0) k = f32[3,3,40,3] parameter(1) "
        "ROOT r = f32[2,36,38,3] convolution(x, k), "
        f"window={{size=3x3 pad=1_2x1_2 lhs_dilate=2x2}}, {CONVOLUTION}",
    "gradient of a kernel":
        "x = f32[2,18,19,3] parameter(0) y = f32[2,18,19,70] parameter(1) "
        "ROOT r = f32[3,3,3,70] convolution(x, y), window={size=18x19 pad=1_1x1_1}, "
        "dim_labels=f01b_i01o->01bf",
    "gradient of a kernel and a step":
        "x = f32[2,18,19,3] parameter(0) y = f32[2,18,19,70] parameter(1) "
        "c = f32[3,3,3,70] convolution(x, y), window={size=18x19 pad=1_1x1_1}, "
        "dim_labels=f01b_i01o->01bf ROOT r = f32[3,3,3,70] negate(c)",
    "gradient of a depthwise kernel":
        "x = f32[2,9,8,24] parameter(0) y = f32[2,9,8,24] parameter(1) "
        "c = f32[3,3,1,24] convolution(x, y), window={size=9x8 pad=1_1x1_1}, "
        "dim_labels=f01b_i01o->01bf, batch_group_count=24 "
        "ROOT r = f32[3,3,1,24] negate(c)",
}  # fmt: skip
SUM = "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
LESS = "less { a = f32[] parameter(0) b = f32[] parameter(1) " \
    "ROOT c = pred[] compare(a, b), direction=LT }\n"  # fmt: skip


def module(program: str):
    lines = re.sub(r"(?<!ROOT) (?=(ROOT )?[a-z] = )", "\n", program)
    return parse(f"HloModule m\n{SUM}{LESS}ENTRY e {{\n{lines}\n}}")


def is_shared(executable) -> bool:
    """Whether threads share a kernel, by what the bytecode says."""
    return re.search(r"^// .* in \d+ chunks$", executable.as_text("mlir"), re.M) is not None


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_are_the_same_for_any_number_of_threads(name, shared):
    source = module(PROGRAMS[name])
    executable = tfc.compile(source)
    assert is_shared(executable), "nothing is shared"
    random = np.random.default_rng(1)
    arguments = [
        (random.standard_normal(s.dims) * 2).astype(s.element_type.dtype)
        for s in executable.parameter_shapes
    ]
    results = []
    for threads in (1, 2, 3, 1, 2):
        tfc.set_threads(threads)
        results.append(executable(*arguments)[0])
    assert all(r.tobytes() == results[0].tobytes() for r in results)
    np.testing.assert_allclose(results[0], evaluate(source, *arguments),
                               rtol=2e-5, atol=5e-4)  # fmt: skip


def test_rows_are_shared_with_scratch_memory_of_their_own(shared):
    def normalize(x):
        y = tnp.exp(x - tnp.max(x, axis=-1, keepdims=True))
        return y / tnp.sum(y, axis=-1, keepdims=True), tnp.max(x * y, axis=-1)

    x = array(200, 70)
    function = tfc.jit(normalize)
    tfc.set_threads(2)
    results = [function(x) for _ in range(50)]
    tfc.set_threads(1)
    expected = function(x)
    assert all(r.tobytes() == e.tobytes() for got in results for r, e in zip(got, expected))
    y = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(expected[0], y / y.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    ("m", "n", "k", "least"),
    [(512, 512, 512, 16), (1024, 1024, 1024, 32), (2048, 2048, 2048, 64), (4096, 64, 4096, 32),
     (128, 3072, 768, 32), (3136, 64, 576, 32)],
)  # fmt: skip
def test_products_scale_to_many_cores_by_the_model(m: int, n: int, k: int, least: int):
    target = Target.parse("x86_64-linux-gnu,x86-64-v4")
    spec = MatmulSpec.contiguous(F32, m, n, k)
    alone = chunk_cost(split_product(spec, target, 1), target)
    cores = 2
    while cores <= least:
        chunks = product_chunks(spec, target, cores, 4 * cores)
        turns = -(-chunks // cores)
        ratio = alone / (chunk_cost(split_product(spec, target, chunks), target) * turns)
        assert ratio >= (0.9 if cores <= 8 else 0.75) * cores, (cores, chunks, ratio)
        cores *= 2


@pytest.mark.parametrize("processor", ["x86-64-v3", "x86-64-v4"])
def test_few_places_leave_no_core_idle(processor: str):
    """The gradient of a kernel has 3 × 3 of them, and many features."""
    source = module(
        "x = f32[64,58,58,8] parameter(0) k = f32[56,56,8,256] parameter(1) "
        f"ROOT r = f32[64,3,3,256] convolution(x, k), window={{size=56x56}}, {CONVOLUTION}"
    )
    target = Target.parse(f"x86_64-linux-gnu,{processor}")
    for cores in (2, 4, 8):
        assert chunks_of(source.entry.root, target, cores) % cores == 0


def test_small_kernels_are_not_shared():
    small = tfc.compile(module("x = f32[64] parameter(0) ROOT r = f32[64] add(x, x)"))
    assert not is_shared(small)


def test_object_files_need_no_threads(shared):
    source = module(PROGRAMS["dot"])
    code = compile_object(source, "product").code
    assert b"parallel_for" not in code
    assert b"pthread" not in code


def test_the_number_of_threads_is_checked():
    for wrong in (0, -1, 257, 1.5, True, "2"):
        with pytest.raises(TfcError, match="set_threads takes"):
            tfc.set_threads(wrong)
    assert threads_from_environment({}) == 0
    assert threads_from_environment({"TFC_THREADS": " 3 "}) == 3
    for wrong in ("0", "-1", "many", "1.5"):
        with pytest.raises(TfcError, match="TFC_THREADS"):
            threads_from_environment({"TFC_THREADS": wrong})


@pytest.mark.slow
def test_eight_callers_of_four_executables(shared):
    functions = [
        tfc.jit(lambda x: tnp.tanh(x @ x) + x),
        tfc.jit(lambda x: tnp.exp(x) * 2 - x),
        tfc.jit(lambda x: tnp.sum(x * x, axis=0)),
        tfc.jit(lambda x: {"y": x / tnp.sum(x, axis=1, keepdims=True), "z": [tnp.max(x)]}),
    ]
    inputs = [np.abs(array(96, 96)) + 1 for _ in range(8)]
    expected = [[flat(f(x)) for f in functions] for x in inputs]
    wrong, until = [], time.monotonic() + 30

    def work(number):
        n = number
        while time.monotonic() < until:
            n = (n * 5 + 1) % 32
            if flat(functions[n % 4](inputs[n // 4])) != expected[n // 4][n % 4]:
                wrong.append(n)

    callers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for caller in callers:
        caller.start()
    while time.monotonic() < until:
        for threads in (1, 2, 3, 2, 1, 4, 2):  # while they call
            tfc.set_threads(threads)
            time.sleep(0.2)
    for caller in callers:
        caller.join()
    assert not wrong


def flat(result) -> bytes:
    if isinstance(result, dict):
        return result["y"].tobytes() + result["z"][0].tobytes()
    return result.tobytes()


PROCESS = """
import os, numpy, tfc
from tfc.backends.cpu import sharing, compiler
sharing._LEAST, compiler.sharing_cores = 0.01, lambda: 2
f, x = tfc.jit(lambda x: x * 3), numpy.ones((64, 64), 'f4')
tfc.set_threads(2)
assert (f(x) == 3).all()
if hasattr(os, "fork"):
    child = os.fork()
    assert (f(x) == 3).all()
    if not child:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print(tfc.get_threads())
"""


def test_a_process_forks_and_ends_with_a_pool():
    environment = {**os.environ, "TFC_THREADS": "4"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROCESS],  # of fork itself
        check=False, capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2,
    reason="needs Linux and two processors",
)
def test_workers_keep_off_the_processor_of_their_caller(shared):
    double = tfc.jit(lambda x: x + x)
    x, everywhere = array(4000), len(os.sched_getaffinity(0))
    tfc.set_threads(2)
    double(x)
    time.sleep(0.05)  # until the worker sleeps
    double(x)
    threads = [int(number) for number in os.listdir("/proc/self/task")]
    kept_off = [len(os.sched_getaffinity(t)) for t in threads].count(everywhere - 1)
    assert kept_off == 1
    assert len(os.sched_getaffinity(0)) == everywhere, "the caller may run anywhere"


def test_an_error_in_a_call_names_the_users_line(shared):
    function = tfc.jit(tnp.exp)
    function(array(64, 64))
    with pytest.raises(TfcError) as caught:
        function("text")
    assert "test_threads.py" in caught.value.__notes__[0]
