"""A variable of eager execution, saved, changed and restored."""

import tempfile

import tfc.graph as tf
from tfc.graph.contrib import eager as tfe


def run():
    """The values before and after it is restored."""
    x = tfe.Variable(10.0)
    checkpoint = tfe.Checkpoint(x=x)
    x.assign(2.0)
    with tempfile.TemporaryDirectory() as folder:
        path = checkpoint.save(f"{folder}/checkpoints/")
        x.assign(11.0)
        changed = x.numpy()
        checkpoint.restore(path)
    return changed, x.numpy()


if __name__ == "__main__":
    tf.enable_eager_execution()
    print(*run())
