// Runs a class that tfcompile made once, on arguments that are zero.
//
//   c++ -DTFC_HEADER='"digits.h"' -DTFC_CLASS=demo::Digits test.cc digits.o

#include <cstdio>

#include TFC_HEADER

int main() {
  static TFC_CLASS computation;
  if (!computation.Run()) {
    std::fprintf(stderr, "Failed: %s\n", computation.error_msg());
    return 1;
  }
  std::printf("ran\n");
  return 0;
}
