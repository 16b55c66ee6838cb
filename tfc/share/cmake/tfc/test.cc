// Runs a class that tfcompile made once, on arguments that are zero; for each size of batch that it
// was made for, if it has them.
//
//   c++ -DTFC_HEADER='"digits.h"' -DTFC_CLASS=demo::Digits test.cc digits.o

#include <cstdio>

#include TFC_HEADER

int main() {
  static TFC_CLASS computation;
  std::size_t size = 0;
  do {
    const bool is_sized = size < computation.num_batch_sizes();
    if ((is_sized && !computation.set_batch_size(computation.batch_sizes()[size])) ||
        !computation.Run()) {
      std::fprintf(stderr, "Failed: %s\n", computation.error_msg());
      return 1;
    }
  } while (++size < computation.num_batch_sizes());
  std::printf("ran\n");
  return 0;
}
