"""Draw from the posterior of a regression by Hamiltonian Monte Carlo, in many chains at a time.

    python examples/hmc.py
    python examples/hmc.py --steps 2000 --chains 8

The weights of a linear model are normal, as is the noise, so the posterior is known: it stands
beside what was drawn. A step moves along the gradient of the log density (`tfc.grad`), for a number
of leapfrog steps (`tfc.fori_loop`), and is accepted or not; `tfc.scan` repeats it, `tfc.vmap` runs
all chains side by side, and the whole of it is one program. The first half of it is left out.
"""

import argparse
import time
from functools import partial

import numpy as np

import tfc
import tfc.numpy as tnp
from tfc import random

FEATURES, EXAMPLES, NOISE, LEAPFROGS = 4, 60, 0.5, 12


def log_density(weights, x, y):
    """That of the weights given the data, but for a constant."""
    residuals = y - x @ weights
    return -0.5 * tnp.sum(weights**2) - 0.5 * tnp.sum(residuals**2) / NOISE**2


def leapfrog(gradient, position, momentum, size):
    """Where a ball is that rolls for a while, with its momentum then."""

    def advance(_, state):
        position, momentum = state
        position = position + size * momentum
        return position, momentum + size * gradient(position)

    momentum = momentum + 0.5 * size * gradient(position)
    position, momentum = tfc.fori_loop(0, LEAPFROGS, advance, (position, momentum))
    return position, momentum - 0.5 * size * gradient(position)


def chain(key, start, x, y, size, steps):
    """(positions, whether each step was accepted) of one chain."""
    density = partial(log_density, x=x, y=y)
    gradient = tfc.grad(density)

    def step(position, key):
        for_momentum, for_choice = random.split(key)
        momentum = random.normal(for_momentum, position.shape)
        moved, final = leapfrog(gradient, position, momentum, size)
        before = density(position) - 0.5 * tnp.sum(momentum**2)
        after = density(moved) - 0.5 * tnp.sum(final**2)
        accepted = tnp.log(random.uniform(for_choice)) < after - before
        position = tnp.where(accepted, moved, position)
        return position, (position, accepted)

    return tfc.scan(step, start, random.split(key, steps))[1]


def exact(x, y):
    """Mean and deviations of the posterior, by algebra."""
    covariance = np.linalg.inv(np.eye(FEATURES) + x.T @ x / NOISE**2)
    return covariance @ x.T @ y / NOISE**2, np.sqrt(np.diag(covariance))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1000, help="of each chain (1000)")
    parser.add_argument("--chains", type=int, default=32, help="side by side (32)")
    parser.add_argument("--size", type=float, default=0.04, help="of a leapfrog step (0.04)")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (0)")
    options = parser.parse_args()

    keys = random.split(random.key(options.seed), 5)
    x = random.normal(keys[0], (EXAMPLES, FEATURES))
    truth = random.normal(keys[1], (FEATURES,))
    y = x @ truth + NOISE * random.normal(keys[2], (EXAMPLES,))
    starts = random.normal(keys[3], (options.chains, FEATURES))

    @tfc.jit
    def run(keys, starts, x, y):
        along = partial(chain, size=np.float32(options.size), steps=options.steps)
        return tfc.vmap(along, in_axes=(0, 0, None, None))(keys, starts, x, y)

    begin = time.perf_counter()
    positions, accepted = run(random.split(keys[4], options.chains), starts, x, y)
    seconds = time.perf_counter() - begin
    drawn = positions[:, options.steps // 2 :].reshape(-1, FEATURES)
    print(f"{positions[..., 0].size} steps in {seconds:.2f} s, {np.mean(accepted):.0%} accepted")
    mean, deviation = exact(x, y)
    print("weight    truth   mean drawn  exact   deviation drawn  exact")
    for k in range(FEATURES):
        print(f"{k:6} {truth[k]:8.3f} {drawn[:, k].mean():12.4f} {mean[k]:7.4f} "
              f"{drawn[:, k].std():17.4f} {deviation[k]:6.4f}")  # fmt: skip


if __name__ == "__main__":
    main()
