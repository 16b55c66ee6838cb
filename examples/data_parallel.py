"""Train a convolutional network on several processes, each with its part of every batch.

pip install 'tfc[mpi]'
mpiexec -n 4 python examples/data_parallel.py --check
mpiexec -n 4 python examples/data_parallel.py --checkpoint training.npz

With --check the first process also trains alone, and losses and weights must agree to 1e-5. With
--checkpoint all that training depends on is kept in a file, from which it goes on when it is
started again: the losses are those of a run that was never ended.
"""

import argparse
import os
from pathlib import Path

import numpy as np

import tfc
import tfc.numpy as tnp
from tfc import nn, optim

CLASSES, SIDE, BATCH = 10, 16, 64
optimizer = optim.adam(2e-3)


def digits(count, generator):
    """Images [count, SIDE, SIDE, 1] of ten shapes, moved about and noisy, and which it is."""
    coarse = np.random.default_rng(0).standard_normal((CLASSES, SIDE // 4, SIDE // 4))
    shapes = np.kron(coarse, np.ones((4, 4)))
    labels = generator.integers(0, CLASSES, count)
    moves = generator.integers(-2, 3, (count, 2))
    images = [np.roll(shapes[label], move, (0, 1)) for label, move in zip(labels, moves)]
    noisy = np.stack(images) + generator.standard_normal((count, SIDE, SIDE))
    return noisy[..., None].astype(np.float32), labels.astype(np.int32)


def weights(generator):
    """Two convolutions and a layer, as a dictionary of arrays."""
    features = 16 * (SIDE // 4) ** 2
    sizes = {"first": (3, 3, 1, 8), "second": (3, 3, 8, 16), "last": (features, CLASSES)}
    made = {k: generator.standard_normal(s) / np.sqrt(np.prod(s[:-1])) for k, s in sizes.items()}
    return {name: array.astype(np.float32) for name, array in made.items()}


def loss(parameters, images, labels):
    """The mean cross entropy of a batch."""
    x = images
    for name in ("first", "second"):
        x = nn.max_pool(nn.relu(nn.conv(x, parameters[name], padding="SAME")), 2)
    scores = tnp.reshape(x, (x.shape[0], -1)) @ parameters["last"]
    return tnp.mean(nn.softmax_cross_entropy_with_integer_labels(scores, labels))


gradient_of = tfc.jit(tfc.value_and_grad(loss))


@tfc.jit
def moved(parameters, state, gradient):
    """The parameters and the optimizer's state after a step."""
    updates, state = optimizer.update(gradient, state, parameters)
    return optim.apply_updates(parameters, updates), state


def step(parameters, state, images, labels):
    """One step with this process's rows of a batch; the loss is that of the whole batch."""
    count, index = tfc.distributed.process_count(), tfc.distributed.process_index()
    found = gradient_of(parameters, images[index::count], labels[index::count])
    total, gradient = tfc.tree.map(lambda a: np.asarray(a) / np.float32(count),
                                   tfc.distributed.all_reduce(found))  # fmt: skip
    return *moved(parameters, state, gradient), float(total)


def batch(number):
    """The batch of a step, the same in every process and after a restart."""
    return digits(BATCH, np.random.default_rng([1, number]))


def save(path, step_number, parameters, state, losses):
    """Write a checkpoint: it appears whole, or not at all."""
    leaves = [np.asarray(leaf) for leaf in tfc.tree.leaves((parameters, state))]
    fresh = path.with_suffix(".new.npz")
    named = {f"leaf{n}": leaf for n, leaf in enumerate(leaves)}
    np.savez(fresh, step=step_number, losses=losses, **named)
    os.replace(fresh, path)


def restored(path, parameters, state):
    """What was saved: the number of the next step, the parameters, the state and the losses."""
    with np.load(path) as kept:
        leaves, structure = tfc.tree.flatten((parameters, state))
        leaves = [kept[f"leaf{n}"] for n in range(len(leaves))]
        return int(kept["step"]), *tfc.tree.unflatten(structure, leaves), kept["losses"].tolist()


def train(steps, checkpoint=None):
    """Train for so many steps; returns the parameters and the loss of each step."""
    is_first = tfc.distributed.process_index() == 0
    parameters, losses, begin = weights(np.random.default_rng(2)), [], 0
    state = optimizer.init(parameters)
    if checkpoint is not None and checkpoint.exists():
        begin, parameters, state, losses = restored(checkpoint, parameters, state)
        if is_first:
            print(f"goes on at step {begin}", flush=True)
    tfc.distributed.barrier()  # all have read what the first one writes from now on
    for number in range(begin, steps):
        parameters, state, value = step(parameters, state, *batch(number))
        losses.append(value)
        if is_first and checkpoint is not None:
            save(checkpoint, number + 1, parameters, state, losses)
        if is_first and (number % 10 == 9 or checkpoint is not None):
            print(f"step {number + 1:3}  loss {value:.6f}", flush=True)
    return parameters, losses


def check(parameters, losses, steps):
    """Train alone, and compare."""
    alone, expected = weights(np.random.default_rng(2)), []
    state = optimizer.init(alone)
    for number in range(steps):
        value, gradient = gradient_of(alone, *batch(number))
        alone, state = moved(alone, state, gradient)
        expected.append(float(value))
    np.testing.assert_allclose(losses, expected, 1e-5, 1e-5)
    for name, array in alone.items():
        np.testing.assert_allclose(np.asarray(parameters[name]), np.asarray(array), 1e-5, 1e-5)
    print(f"losses and weights are those of one process, of {steps} steps")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--check", action="store_true", help="compare with one process")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE.npz")
    arguments = parser.parse_args()
    tfc.distributed.initialize()
    rank, count = tfc.distributed.process_index(), tfc.distributed.process_count()
    print(f"rank {rank} of {count} is process {os.getpid()}", flush=True)
    parameters, losses = train(arguments.steps, arguments.checkpoint)
    if rank == 0:
        images, labels = digits(500, np.random.default_rng(3))
        print(f"the loss on unseen images is {float(loss(parameters, images, labels)):.4f}")
        if arguments.check:
            check(parameters, losses, arguments.steps)


if __name__ == "__main__":
    main()
