"""A metric that is fed values one after the other, or many at once."""

import tfc.graph as tf
from tfc.graph.contrib import eager as tfe


def run():
    """The means after two values, and after four."""
    mean, found = tfe.metrics.Mean("loss"), []
    mean(0)
    mean(5)
    found.append(float(mean.result()))
    mean([8, 9])
    found.append(float(mean.result()))
    return found


if __name__ == "__main__":
    tf.enable_eager_execution()
    print(*run())
