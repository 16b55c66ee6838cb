"""Objects for machines with pointers of 32 bits, and for those whose bytes lie the other way."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import tfc
import tfc.aot
from tfc.backends.target import Target
from tfc.compiler import emit_text
from tfc.errors import UnsupportedError
from tfc.hlo.text.parser import parse

NARROW = ["armv7-linux-gnueabihf", "i386-linux-gnu", "wasm32-unknown-unknown"]

# Kernels, a loop whose state is copied, a branch, a function outside, and results of all widths.
PROGRAM = """HloModule m

condition {
  s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[8] get-tuple-element(s), index=1
  y = f32[8] get-tuple-element(s), index=2
  z = f32[8] tanh(y)
  ROOT t = (s32[], f32[8], f32[8]) tuple(j, z, x)
}
left {
  x = f32[8] parameter(0)
  ROOT y = f32[8] negate(x)
}
right {
  x = f32[8] parameter(0)
  ROOT y = f32[8] sqrt(x)
}
ENTRY e {
  x = f32[8] parameter(0)
  w = f32[8,8] parameter(1)
  which = pred[] parameter(2)
  k = f64[8] constant({1, 2, 3, 4, 5, 6, 7, 8})
  zero = s32[] constant(0)
  start = (s32[], f32[8], f32[8]) tuple(zero, x, x)
  loop = (s32[], f32[8], f32[8]) while(start), condition=condition, body=body
  v = f32[8] get-tuple-element(loop), index=1
  d = f32[8] dot(w, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[8] conditional(which, d, d), true_computation=left, false_computation=right
  e = f64[8] convert(d)
  g = f64[8] multiply(e, k)
  f = f32[8] CALL
  q = s64[8] convert(g)
  ROOT r = (f32[8], f64[8], s64[8], f32[8], f32[8]) tuple(b, g, q, f, x)
}
"""
OUTSIDE = 'custom-call(d, x), custom_call_target="total"'
# The C library's part, and a way to the kernel: there may be no 32-bit library here.
START = """
typedef unsigned int size_t;
void *memmove(void *to, const void *from, size_t n) {
  unsigned char *t = to; const unsigned char *f = from;
  if (t < f) for (size_t i = 0; i < n; ++i) t[i] = f[i];
  else for (size_t i = n; i > 0; --i) t[i - 1] = f[i - 1];
  return to;
}
void *memcpy(void *to, const void *from, size_t n) { return memmove(to, from, n); }
void *memset(void *to, int value, size_t n) {
  for (size_t i = 0; i < n; ++i) ((unsigned char *)to)[i] = (unsigned char)value;
  return to;
}
void total(float *out, const float **in) {
  for (int i = 0; i < 8; ++i) out[i] = in[0][i] + in[1][i];
}
int C_entry(void *const *args, void *const *results, void *arena);
static int call(int number, int a, const void *b, int c) {
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
  return result;
}
__attribute__((force_align_arg_pointer)) void _start(void) {
  int status = C_entry(args, results, arena);
  if (status == 0) call(4, 1, out, sizeof out);
  call(1, status, 0, 0);
}
"""


@pytest.fixture(scope="module")
def runs_i386(tmp_path_factory) -> bool:
    """Whether a program for i386 can be linked and run here."""
    folder = tmp_path_factory.mktemp("i386")
    (folder / "a.c").write_text(
        "__attribute__((force_align_arg_pointer)) void _start(void) "
        '{ __asm__ volatile("int $0x80" : : "a"(1), "b"(7)); }'
    )
    if shutil.which("gcc") is None:
        return False
    built = subprocess.run(
        [*_GCC, str(folder / "a.c"), "-o", str(folder / "a")], capture_output=True, check=False
    )
    return built.returncode == 0 and subprocess.run([folder / "a"], check=False).returncode == 7


_GCC = [
    "gcc", "-m32", "-msse2", "-O1", "-ffreestanding", "-fno-tree-loop-distribute-patterns",
    "-nostdlib", "-static", "-no-pie",
]  # fmt: skip


def _bytes(arrays) -> str:
    return ", ".join(str(byte) for array in arrays for byte in array.tobytes())


def test_a_program_for_32_bits_computes_what_one_for_this_machine_does(tmp_path, runs_i386):
    if not runs_i386:
        pytest.skip("this machine runs no programs for i386")
    random = np.random.default_rng(0)
    arguments = [
        random.uniform(0.1, 1, 8).astype(np.float32),
        random.uniform(0.1, 1, (8, 8)).astype(np.float32),
        np.array(False),
    ]
    made = tfc.aot.compile(
        parse(PROGRAM.replace("CALL", OUTSIDE)), cpp_class="C", out_dir=tmp_path,
        target="i386-linux-gnu",
    )  # fmt: skip
    expected = tfc.compile(parse(PROGRAM.replace("CALL", "add(d, x)")))(*arguments)
    sizes, offsets = [r.nbytes for r in expected], [0]
    for size in sizes:
        offsets.append(offsets[-1] + -(-size // 64) * 64)
    inputs = "".join(
        f"static _Alignas(64) unsigned char in{n}[] = {{{_bytes([a])}}};\n"
        for n, a in enumerate(arguments)
    )
    source = (
        f"{inputs}static _Alignas(64) unsigned char out[{offsets[-1]}];\n"
        f"static _Alignas(64) unsigned char arena[{made.signature.arena_size + 64}];\n"
        "static void *args[] = {in0, in1, in2};\n"
        f"static void *results[] = {{{', '.join(f'out + {at}' for at in offsets[:-1])}}};\n{START}"
    )
    (tmp_path / "main.c").write_text(source)
    files = [str(tmp_path / "main.c"), str(made.object), "-o", str(tmp_path / "main")]
    subprocess.run([*_GCC, *files], check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, check=True, timeout=60)
    for array, at in zip(expected, offsets):
        got = np.frombuffer(done.stdout, array.dtype, array.size, at)
        np.testing.assert_allclose(got, array, rtol=1e-6)


@pytest.mark.parametrize("target", NARROW)
def test_tables_and_sizes_are_as_wide_as_pointers(target: str):
    """Pointers are read from tables by their own width, and no size of 64 bits is passed."""
    module = parse(PROGRAM.replace("CALL", OUTSIDE))
    text = emit_text(module, "llvm", target=Target.parse(target))
    assert Target.parse(target).pointer_bits == 32
    moves = re.findall(r"@llvm\.mem(?:cpy|move|set)[\w.]*", text)
    assert moves
    assert all(move.endswith("i32") for move in moves)
    run = re.search(r"^define [^@]*@tfc_interpret\(ptr[^%]*%(\S+), .*?^}", text, re.M | re.S)
    assert run is not None
    steps = set(re.findall(rf"getelementptr[a-z ]* (\S+), ptr %{re.escape(run[1])},", run[0]))
    assert steps
    assert steps <= {"ptr", "i8"}


def test_programs_need_memory_that_pointers_reach(tmp_path):
    text = "ENTRY e {\n x = f32[600000000] parameter(0)\n ROOT y = f32[600000000] abs(x)\n}"
    module = parse(text)
    with pytest.raises(UnsupportedError, match="pointers of 32 bits reach 2147483648"):
        tfc.aot.compile(module, cpp_class="C", out_dir=tmp_path, target=NARROW[0])


@pytest.mark.parametrize(
    "triple",
    ["aarch64_be-linux-gnu", "armeb-linux-gnueabi", "powerpc64-linux-gnu", "s390x-linux-gnu",
     "mips-linux-gnu"],
)  # fmt: skip
def test_machines_whose_bytes_lie_the_other_way_are_refused(triple: str):
    with pytest.raises(UnsupportedError, match="the target triple"):
        Target.parse(triple)


def test_i386_without_registers_for_f32_is_refused():
    """Its older instructions round to 64 bits, wherever results are meant to be."""
    with pytest.raises(UnsupportedError, match="needs SSE2"):
        Target.parse("i386-linux-gnu,i686")
