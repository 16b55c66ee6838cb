// Measures how long Run() of a class that tfcompile made takes, on arguments that are zero.
//
//   c++ -O2 -DTFC_HEADER='"digits.h"' -DTFC_CLASS=demo::Digits benchmark.cc digits.o
//   ./a.out [--max_iters N] [--max_seconds S] [--batch_size ROWS]
//
// It needs the standard library alone. Times are microseconds; the trimmed mean leaves out the
// quickest and the slowest tenth.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include TFC_HEADER

namespace {

typedef std::chrono::steady_clock Clock;

struct Limits {
  double iterations;
  double seconds;
  double batch;  // 0 for the largest
};

double Mean(const std::vector<double>& times, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) {
    sum += times[i];
  }
  return sum / static_cast<double>(to - from);
}

int Usage(const char* program) {
  std::fprintf(stderr, "usage: %s [--max_iters N] [--max_seconds S] [--batch_size ROWS]\n", program);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Limits limits = {1e7, 3, 0};
  for (int i = 1; i < argc; i += 2) {
    char* end = nullptr;
    const double value = i + 1 < argc ? std::strtod(argv[i + 1], &end) : 0;
    if (end == nullptr || *end != '\0' || !(value > 0)) {
      return Usage(argv[0]);
    }
    if (std::strcmp(argv[i], "--max_iters") == 0) {
      limits.iterations = value;
    } else if (std::strcmp(argv[i], "--max_seconds") == 0) {
      limits.seconds = value;
    } else if (std::strcmp(argv[i], "--batch_size") == 0) {
      limits.batch = value;
    } else {
      return Usage(argv[0]);
    }
  }

  static TFC_CLASS computation;
  if (limits.batch > 0 && !computation.set_batch_size(static_cast<std::size_t>(limits.batch))) {
    std::fprintf(stderr, "Failed: %s\n", computation.error_msg());
    return 1;
  }
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(std::min(limits.iterations, 1e6)));
  const Clock::time_point begin = Clock::now();
  double elapsed = 0;
  // The first runs bring code and data into the caches; they are not counted.
  for (int warm = 0; warm < 3; ++warm) {
    if (!computation.Run()) {
      std::fprintf(stderr, "Failed: %s\n", computation.error_msg());
      return 1;
    }
  }
  do {
    const Clock::time_point start = Clock::now();
    if (!computation.Run()) {
      std::fprintf(stderr, "Failed: %s\n", computation.error_msg());
      return 1;
    }
    const Clock::time_point stop = Clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(stop - start).count());
    elapsed = std::chrono::duration<double>(stop - begin).count();
  } while (static_cast<double>(times.size()) < limits.iterations && elapsed < limits.seconds);

  std::sort(times.begin(), times.end());
  const std::size_t count = times.size(), tenth = count / 10;
  std::printf("iterations  %zu\n", count);
  std::printf("mean        %.3f us\n", Mean(times, 0, count));
  std::printf("median      %.3f us\n", times[count / 2]);
  std::printf("best        %.3f us\n", times.front());
  std::printf("worst       %.3f us\n", times.back());
  std::printf("trimmed     %.3f us\n", Mean(times, tenth, count - tenth));
  return 0;
}
