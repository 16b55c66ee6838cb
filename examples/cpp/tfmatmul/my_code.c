/* The same in C99: the generated header is for C, too. */

#include <stdio.h>
#include <string.h>

#include "test_graph_tfmatmul.h" /* generated */

int main(void) {
  const float args[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  foo_bar_MatMulComp_object matmul;
  int status = 1;
  if (foo_bar_MatMulComp_init(&matmul, true)) {
    memcpy(foo_bar_MatMulComp_arg0_data(&matmul), args + 0, 6 * sizeof(float));
    memcpy(foo_bar_MatMulComp_arg1_data(&matmul), args + 6, 6 * sizeof(float));
    if (foo_bar_MatMulComp_run(&matmul)) {
      const float* result = foo_bar_MatMulComp_result0_data(&matmul);
      printf("%g %g\n%g %g\n", (double)result[0], (double)result[1], (double)result[2],
             (double)result[3]);
      status = 0;
    } else {
      puts(matmul.error_msg);
    }
    foo_bar_MatMulComp_free(&matmul);
  }
  return status;
}
