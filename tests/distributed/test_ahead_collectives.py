"""Collectives in objects that C++ links with tfc_mpi.h: values are those of threads."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from distributed.launching import ROOT, environment, run

import tfc
from tfc.errors import UnsupportedError

GLOBAL = "channel_id=1, use_global_device_ids=true, replica_groups={{0,1}}"
TEXT = f"""HloModule several, num_partitions=2
sum {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }}
most {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }}
ENTRY e {{ x = f32[2,4] parameter(0)
  d = u32[] partition-id()
  r = f32[2,4] all-reduce(x), {GLOBAL}, to_apply=sum
  m = f32[2,4] all-reduce(x), {GLOBAL}, to_apply=most
  g = f32[2,8] all-gather(x), {GLOBAL}, dimensions={{1}}
  s = f32[2,2] reduce-scatter(x), {GLOBAL}, to_apply=sum, dimensions={{1}}
  v = f32[1,4] reduce-scatter(x), {GLOBAL}, to_apply=most, dimensions={{0}}
  t = f32[2,4] all-to-all(x), channel_id=2, replica_groups={{{{0,1}}}}, dimensions={{1}}
  p = f32[2,4] collective-permute(x), channel_id=3, source_target_pairs={{{{0,1}}}}
  b = f32[2,4] collective-broadcast(x), channel_id=4, replica_groups={{{{1,0}}}}
  ROOT all = (u32[], f32[2,4], f32[2,4], f32[2,8], f32[2,2], f32[1,4], f32[2,4], f32[2,4],
    f32[2,4]) tuple(d, r, m, g, s, v, t, p, b) }}"""

MAIN = """#include <cstdio>
#include "tfc_mpi.h"
#include "several.h"
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  demo::Several program;
  std::FILE* given = std::fopen(argv[1 + rank], "rb");
  if (std::fread(program.arg0_data(), 4, 8, given) != 8 || !program.Run()) return 1;
  std::FILE* made = std::fopen(argv[3 + rank], "wb");
%s  std::fclose(made);
  std::fclose(given);
  return MPI_Finalize();
}
"""


@pytest.mark.slow
def test_a_program_in_cpp_gives_what_threads_give(tmp_path: Path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    module = tfc.hlo.parse(TEXT)
    made = tfc.aot.compile(module, cpp_class="demo::Several", out_dir=tmp_path)
    writes = "".join(
        f"  std::fwrite(program.result{n}_data(), 4, {size}, made);\n"
        for n, size in enumerate([1, 8, 8, 16, 4, 4, 8, 8, 8])
    )
    (tmp_path / "main.cc").write_text(MAIN % writes)
    prefix = Path(sys.prefix)
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Werror"]
    folders = [f"-I{ROOT / 'tfc/share/mpi'}", f"-isystem{prefix / 'include'}"]
    library = [f"-L{prefix / 'lib'}", "-lmpi", f"-Wl,-rpath,{prefix / 'lib'}"]
    subprocess.run(
        [compiler, *strict, *folders, "main.cc", made.object, "-o", "main", *library],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((2, 4)).astype(np.float32) for _ in range(2)]
    given[1][0, 0] = np.nan
    for rank, array in enumerate(given):
        array.tofile(tmp_path / f"in{rank}")
    words = [str(tmp_path / "main"), "in0", "in1", "out0", "out1"]
    job = run(2, words, environment(), 60, tmp_path)
    assert job.returncode == 0, job.stderr
    for rank, results in enumerate(tfc.compile(module).run_replicas([[a] for a in given])):
        expected = np.concatenate([r.reshape(-1).view(np.uint32) for r in results])
        got = np.fromfile(tmp_path / f"out{rank}", np.uint32)
        np.testing.assert_array_equal(got.view(np.float32), expected.view(np.float32))


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("(f32[2], f32[4]) all-gather-start(x), channel_id=1, dimensions={0}, "
         "use_global_device_ids=true, replica_groups={{0,1}}", "begin and end it in one"),
        ("f32[2] all-reduce(x), to_apply=apart", "by a function cannot be compiled ahead of time"),
    ],
)  # fmt: skip
def test_what_the_c_function_does_not_know_is_refused(operation: str, message: str, tmp_path: Path):
    apart = "apart { a = f32[] parameter(0)\nb = f32[] parameter(1)\nc = f32[] add(b, b)\n"
    text = f"HloModule m, num_partitions=2\n{apart}ROOT d = f32[] subtract(a, c) }}\n"
    module = tfc.hlo.parse(f"{text}ENTRY e {{ x = f32[2] parameter(0)\nROOT r = {operation} }}")
    if "all-reduce" in operation:
        module = tfc.hlo.parse(str(module).replace("num_partitions=2", "replica_count=2"))
    with pytest.raises(UnsupportedError, match=message):
        tfc.aot.compile(module, cpp_class="M", out_dir=tmp_path)
