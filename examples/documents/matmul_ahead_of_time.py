"""A graph's product of matrices, compiled ahead of time into a class that a C++ program calls."""

import subprocess
import tempfile
from pathlib import Path

import tfc
import tfc.graph as tf

PROGRAM = """
#include <algorithm>
#include <iostream>
#include "test_graph_tfmatmul.h"

int main() {
  foo::bar::MatMulComp matmul;
  const float args[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::copy(args + 0, args + 6, matmul.arg0_data());
  std::copy(args + 6, args + 12, matmul.arg1_data());
  matmul.Run();
  std::cout << (matmul.result0(0, 0) == 58 ? "Success" : "Failed") << "\\n";
  for (int i = 0; i < 2; ++i)
    std::cout << matmul.result0(i, 0) << " " << matmul.result0(i, 1) << "\\n";
}
"""


def run(config=None):
    """What the C++ program prints."""
    x = tf.placeholder(tf.float32, [2, 3], name="x_hold")
    y = tf.placeholder(tf.float32, [3, 2], name="y_hold")
    product = tf.matmul(x, y, name="x_y_prod")
    with tf.Session(config=config) as session:
        function = tf.graph_util.as_function(session, [x, y], [product])
    with tempfile.TemporaryDirectory() as folder:
        tfc.aot.compile(
            function,
            "f32[2,3]",
            "f32[3,2]",
            cpp_class="foo::bar::MatMulComp",
            name="test_graph_tfmatmul",
            out_dir=folder,
        )
        Path(folder, "main.cc").write_text(PROGRAM)
        command = ["c++", "-o", "main", "main.cc", "test_graph_tfmatmul.o", "-lm", "-lpthread"]
        subprocess.run(command, cwd=folder, check=True)
        main = Path(folder, "main")
        return subprocess.run([main], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    print(run(), end="")
