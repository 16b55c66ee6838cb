// Multiplies two matrices by the class that tfcompile makes of test_graph_tfmatmul.pb; README.md
// says how to build it.

#include <algorithm>
#include <iostream>

#include "test_graph_tfmatmul.h"  // generated
#include "thread_pool.h"          // written by tfcompile, too

int main() {
  tfc::ThreadPool pool(2);  // Size the thread pool as appropriate.

  foo::bar::MatMulComp matmul;
  matmul.set_thread_pool(&pool);

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
  return 0;
}
