// Multiplies two matrices by the class that tfcompile makes of examples/matmul.hlo, which says how
// to build this program.

#include <algorithm>
#include <iostream>

#include "matmul.h"  // generated

int main() {
  foo::bar::MatMulComp matmul;

  // Set up args and run the computation.
  const float args[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::copy(args + 0, args + 6, matmul.arg0_data());
  std::copy(args + 6, args + 12, matmul.arg1_data());
  if (!matmul.Run()) {
    std::cout << "Failed: " << matmul.error_msg() << std::endl;
    return 1;
  }

  // Check result
  if (matmul.result0(0, 0) == 58) {
    std::cout << "Success" << std::endl;
  } else {
    std::cout << "Failed. Expected value 58 at 0,0. Got:" << matmul.result0(0, 0) << std::endl;
  }

  for (std::size_t row = 0; row < 2; ++row) {
    std::cout << matmul.result0(row, 0) << " " << matmul.result0(row, 1) << std::endl;
  }
  return 0;
}
