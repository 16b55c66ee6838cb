"""Threads and C: classes whose objects share pools, and the header as a C compiler sees it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cpp_programs import STRICT, Cpp

import tfc.aot
from tfc.aot.header import header_text
from tfc.aot.signature import CppClass, signature_of
from tfc.aot.tfcompile import THREAD_POOL
from tfc.hlo import parse

PRODUCT = """
HloModule product
ENTRY main {
  x = f32[128,128] parameter(0)
  y = f32[128,128] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[128,128] sine(y)
  ROOT z = f32[128,128] dot(s, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
PROGRAM = """
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>
#include "alone.h"
#include "shared.h"
#include "thread_pool.h"

// Does nothing in threads, but counts what it is asked.
struct Counting {
  template <class Task>
  void operator()(std::size_t n, const Task& task) {
    most = n > most ? n : most;
    for (std::size_t i = n; i > 0; --i) task(i - 1);
  }
  std::size_t most;
};
// As Eigen::ThreadPool and Eigen::ThreadPoolDevice are called.
struct Scheduling {
  void Schedule(std::function<void()> run) {
    ++count;
    std::thread(run).detach();
  }
  std::atomic<int> count{0};
};
struct Device {
  Scheduling* getPool() const { return pool; }
  Scheduling* pool;
};

template <class Class>
static void Fill(Class* object, unsigned seed) {
  for (std::size_t i = 0; i < 128 * 128; ++i) {
    seed = seed * 1664525u + 1013904223u;
    object->arg0_data()[i] = static_cast<float>(seed >> 8) / 16777216.0f;
  }
}
static bool Same(const Shared& object, const std::vector<float>& expected) {
  return std::memcmp(object.result0_data(), expected.data(), object.result0_size()) == 0;
}

int main() {
  // The bits do not depend on the pool, or on whether there is one.
  std::vector<std::vector<float>> expected;
  for (unsigned seed = 0; seed < 4; ++seed) {
    Shared object;
    Fill(&object, seed);
    CHECK(object.Run());
    expected.push_back(std::vector<float>(object.result0_data(), object.result0_data() + 16384));
  }
  Shared object;
  Fill(&object, 2);
  Counting counting = {0};
  object.set_thread_pool(&counting);
  CHECK(object.Run() && Same(object, expected[2]) && counting.most > 1);
  Shared moved(static_cast<Shared&&>(object));
  counting.most = 0;
  CHECK(moved.Run() && counting.most > 1);
  moved.set_thread_pool(nullptr);
  counting.most = 0;
  CHECK(moved.Run() && counting.most == 0);

  Scheduling scheduling;
  const Device device = {&scheduling};
  moved.set_thread_pool(&scheduling);
  CHECK(moved.Run() && Same(moved, expected[2]) && scheduling.count > 0);
  moved.set_thread_pool(&device);
  CHECK(moved.Run() && Same(moved, expected[2]));

  // Four threads with an object each share one pool; the pool has threads of its own.
  tfc::ThreadPool pool(3);
  std::atomic<int> wrong(0);
  std::vector<std::thread> callers;
  for (unsigned seed = 0; seed < 4; ++seed) {
    callers.push_back(std::thread([&pool, &wrong, &expected, seed]() {
      Shared mine;
      mine.set_thread_pool(&pool);
      Fill(&mine, seed);
      for (int repeat = 0; repeat < REPEATS; ++repeat) {
        wrong += !mine.Run() || !Same(mine, expected[seed]);
      }
    }));
  }
  // Two threads with an object each that takes no pool.
  for (unsigned seed = 0; seed < 2; ++seed) {
    callers.push_back(std::thread([&wrong, seed]() {
      Alone mine;
      mine.set_thread_pool(&wrong);
      Fill(&mine, seed);
      for (int repeat = 0; repeat < REPEATS; ++repeat) wrong += !mine.Run();
    }));
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
  CHECK(Shared::kThreads == 4 && Alone::kThreads == 1);
  return failures;
}
"""


@pytest.fixture
def objects(cpp: Cpp) -> list[Path]:
    """The product for one thread, and for up to four."""
    shared = tfc.aot.compile(parse(PRODUCT), cpp_class="Shared", out_dir=cpp.folder, threads=4)
    (cpp.folder / "thread_pool.h").write_bytes(THREAD_POOL.read_bytes())
    return [cpp.aot(PRODUCT, "Alone").object, shared.object]


def test_pools_of_any_kind_share_the_work_of_a_run(cpp, objects):
    cpp.run([PROGRAM], objects, "-pthread", "-DREPEATS=3")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["thread", "address,undefined"])
def test_threads_are_clean_under_sanitizers(cpp, objects, kind):
    flags = ("-g", "-O1", f"-fsanitize={kind}", "-fno-sanitize-recover=all", "-DREPEATS=5")
    cpp.run([PROGRAM], objects, *flags, "-pthread")


# Clang is that of the package ziglang.
CLANG, CLANGXX = (f"{sys.executable} -m ziglang {command}" for command in ("cc", "c++"))
EVERY_TYPE = [
    "pred", "s4", "u4", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f8e5m2", "f16",
    "bf16", "f32", "f64", "c64", "c128",
]  # fmt: skip


def all_types(cpp_class: str, **more) -> str:
    """The header of a program that hands on an array of each type."""
    lines = [f"  p{n} = {t}[2,3] parameter({n})" for n, t in enumerate(EVERY_TYPE)]
    shapes = ", ".join(f"{t}[2,3]" for t in EVERY_TYPE)
    names = ", ".join(f"p{n}" for n in range(len(EVERY_TYPE)))
    text = "\n".join([*lines, f"  ROOT t = ({shapes}) tuple({names})"])
    module = parse(f"HloModule m\nENTRY e {{\n{text}\n}}")
    signature = signature_of(module, CppClass.parse(cpp_class))
    return header_text(replace(signature, **more))


@pytest.mark.parametrize("compilers", [("gcc", "g++"), (CLANG, CLANGXX)], ids=["gcc", "clang"])
@pytest.mark.parametrize("more", [{}, {"threads": 4, "has_names": False, "sites": ("%dot",)}])
def test_the_header_is_clean_for_c_and_cpp(cpp, more, compilers):
    """With every element type, and with what is asked for beside."""
    (cpp.folder / "all.h").write_text(all_types("types::All", **more), encoding="utf-8")
    (cpp.folder / "z.h").write_text(all_types("Z", **more), encoding="utf-8")
    files = ("c99", "main.c"), ("c++11", "main.cc")
    for (language, file), command in zip(files, compilers):
        start = "types::All all; return all.Run() ? 0 : 1;"
        if file == "main.c":
            start = "types_All_object a; return types_All_init(&a, true) && types_All_run(&a);"
        source = cpp.folder / file
        source.write_text(f'#include "all.h"\n#include "z.h"\nint main(void) {{ {start} }}\n')
        done = subprocess.run(
            [*command.split(), f"-std={language}", *STRICT, "-c", str(source),
             "-o", str(cpp.folder / "main.o")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
