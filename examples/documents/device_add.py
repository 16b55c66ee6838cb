"""An addition on the device of compiled programs, or on the CPU where there is none."""

import copy

import tfc.graph as tf


def run(config=None):
    """The sum that the device gives, and the CPU's."""
    config = copy.deepcopy(config) if config is not None else tf.ConfigProto()
    config.allow_soft_placement = True
    first, second = tf.constant([1.0, 2.0, 3.0]), tf.constant([0.5, 0.25, 4.0])
    with tf.device("/job:localhost/replica:0/task:0/device:XLA_GPU:0"):
        output = tf.add(first, second)
    with tf.device("/cpu:0"):
        expected = tf.add(first, second)
    with tf.Session(config=config) as session:
        return session.run([output, expected])


if __name__ == "__main__":
    print(*run())
