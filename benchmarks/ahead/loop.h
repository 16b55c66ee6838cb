// The measuring loop of every class that is compiled ahead of time: tfc's and TensorFlow's.
//
//   program ARGUMENT RESULT
//
// reads the argument from a file of its bytes, runs once, writes the result's bytes, prints "ready",
// and answers each line of its input, a number of seconds, with the microseconds of a call: those
// that the core spent on this process, so that other work on the machine does not count.

#include <cstdio>
#include <ctime>

inline double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <class Computation>
int Serve(Computation& computation, char** argv) {
  std::FILE* file = std::fopen(argv[1], "rb");
  if (file == nullptr ||
      std::fread(computation.arg0_data(), 1, BYTES_IN, file) != BYTES_IN) {
    std::fprintf(stderr, "no argument\n");
    return 1;
  }
  std::fclose(file);
  if (!computation.Run()) {
    std::fprintf(stderr, "Run failed\n");
    return 1;
  }
  file = std::fopen(argv[2], "wb");
  if (file == nullptr ||
      std::fwrite(computation.result0_data(), 1, BYTES_OUT, file) != BYTES_OUT) {
    std::fprintf(stderr, "no result\n");
    return 1;
  }
  std::fclose(file);
  std::printf("ready\n");
  std::fflush(stdout);
  double seconds;
  while (std::scanf("%lf", &seconds) == 1) {
    long count = 0, rounds = 1;
    double elapsed = 0;
    const double start = Seconds();
    while (elapsed < seconds) {
      for (long n = 0; n < rounds; ++n) {
        computation.Run();
      }
      count += rounds;
      rounds = rounds < 64 ? 2 * rounds : 64;
      elapsed = Seconds() - start;
    }
    std::printf("%.6f\n", 1e6 * elapsed / static_cast<double>(count));
    std::fflush(stdout);
  }
  return 0;
}

int main(int argc, char** argv) {
  static CLASS computation;
  return argc == 3 ? Serve(computation, argv) : 2;
}
