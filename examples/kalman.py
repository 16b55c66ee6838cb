"""Follow a moving point by noisy sightings with a Kalman filter, and learn how noisy they are.

    python examples/kalman.py
    python examples/kalman.py --steps 100

The filter is a `tfc.scan` over the sightings, whose result is their log likelihood. Its gradient by
the sizes of both kinds of noise (of the motion, and of the sightings), through the scan and the
linear algebra in it, goes to Adam: the sizes that were used to make the data are found again.
"""

import argparse

import numpy as np

import tfc
import tfc.numpy as tnp
from tfc import optim, random

MOTION = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]], np.float32)
SIGHT = np.eye(2, 4, dtype=np.float32)  # of (x, y, its speed along x, along y) the first two
TRUE_MOTION, TRUE_SIGHT = 0.1, 1.5


def filtered(noise, sightings):
    """(log likelihood, means [T, 4]) of the states that each sighting and those before it tell.

    noise: logarithms of the deviations of "motion" and of "sight".
    """
    of_motion = tnp.exp(2 * noise["motion"]) * np.diag(np.float32([0, 0, 1, 1]))
    of_sight = tnp.exp(2 * noise["sight"]) * np.eye(2, dtype=np.float32)

    def step(belief, seen):
        mean, covariance = belief
        mean, covariance = MOTION @ mean, MOTION @ covariance @ MOTION.T + of_motion
        surprise = seen - SIGHT @ mean
        spread = SIGHT @ covariance @ SIGHT.T + of_sight
        gain = tfc.linalg.solve(spread, SIGHT @ covariance).T
        distance = surprise @ tfc.linalg.solve(spread, surprise)
        likelihood = -0.5 * (distance + tfc.linalg.slogdet(spread)[1]) - np.float32(
            np.log(2 * np.pi)
        )
        mean = mean + gain @ surprise
        covariance = covariance - gain @ SIGHT @ covariance
        return (mean, covariance), (likelihood, mean)

    start = np.zeros(4, np.float32), 10 * np.eye(4, dtype=np.float32)
    _, (likelihoods, means) = tfc.scan(step, start, sightings)
    return tnp.sum(likelihoods), means


def loss(noise, sightings):
    return -filtered(noise, sightings)[0] / sightings.shape[0]


@tfc.jit
def simulated(key, shape):
    """States [T, 4] of a point that is pushed at random, and sightings of it [T, 2]."""
    for_motion, for_sight = random.split(key)

    def move(state, push):
        state = MOTION @ state + tnp.concatenate([np.zeros(2, np.float32), push])
        return state, state

    pushes = np.float32(TRUE_MOTION) * random.normal(for_motion, shape.shape)
    states = tfc.scan(move, np.zeros(4, np.float32), pushes)[1]
    noise = np.float32(TRUE_SIGHT) * random.normal(for_sight, shape.shape)
    return states, states[:, :2] + noise


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=150, help="of Adam (150)")
    parser.add_argument("--length", type=int, default=400, help="how many sightings (400)")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (0)")
    options = parser.parse_args()

    shape = np.zeros((options.length, 2), np.float32)
    states, sightings = simulated(random.key(options.seed), shape)
    optimizer = optim.adam(0.1)
    noise = {"motion": np.float32(-1), "sight": np.float32(-1)}
    state = optimizer.init(noise)

    @tfc.jit
    def step(noise, state, sightings):
        value, slopes = tfc.value_and_grad(loss)(noise, sightings)
        updates, state = optimizer.update(slopes, state, noise)
        return optim.apply_updates(noise, updates), state, value

    for number in range(options.steps + 1):
        before = noise
        noise, state, value = step(noise, state, sightings)
        if number % 25 == 0 or number == options.steps:
            found = ", ".join(f"{name} {np.exp(size):.3f}" for name, size in before.items())
            print(f"step {number:4}  loss {value:.4f}  noise of {found}")
    print(f"the data were made with noise of motion {TRUE_MOTION}, sight {TRUE_SIGHT}")
    means = tfc.jit(filtered)(noise, sightings)[1]
    for name, guess in (("sightings", sightings), ("filter", means[:, :2])):
        distance = np.sqrt(np.mean(np.sum((guess - states[:, :2]) ** 2, -1)))
        print(f"distance from the true place, {name:9}: {distance:.3f}")


if __name__ == "__main__":
    main()
