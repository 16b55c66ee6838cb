"""A step of training as a C++ class: Adam on a small network, whose state the class keeps.

python make_step.py && c++ -std=c++11 -O2 main.cc step.o -o learn -lm && ./learn
"""

import sys

import numpy as np

import tfc
import tfc.aot
import tfc.numpy as tnp

SIZES = ((2, 16), (16, 16), (16, 1))
OPTIMIZER = tfc.optim.adam(0.01)


def loss(params, x, y):
    """The mean square of how far the network is from y."""
    for number, layer in enumerate(params):
        x = x @ layer["w"] + layer["b"]
        x = tnp.tanh(x) if number < len(params) - 1 else x
    return tnp.mean((x[:, 0] - y) ** 2)


def step(params, optimizer, x, y):
    """One step: what is learnt becomes, what the optimizer remembers, and the loss before."""
    value, gradients = tfc.value_and_grad(loss)(params, x, y)
    updates, optimizer = OPTIMIZER.update(gradients, optimizer, params)
    return tfc.optim.apply_updates(params, updates), optimizer, value


def main(folder: str = ".") -> None:
    """Write step.h and step.o into a folder."""
    params = [{"w": np.zeros(size, np.float32), "b": np.zeros(size[1], np.float32)}
              for size in SIZES]  # fmt: skip
    state = OPTIMIZER.init(params)
    tfc.aot.compile(
        step, params, state, "f32[64,2]", "f32[64]", cpp_class="Step", out_dir=folder, state=2
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
