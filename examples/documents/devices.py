"""A product on a device that is named, and the sum of products of two devices."""

import copy

import tfc.graph as tf


def run(config=None):
    """The product, and the sum."""
    config = copy.deepcopy(config) if config is not None else tf.ConfigProto()
    config.allow_soft_placement = True
    parts = []
    for device in ("/device:GPU:0", "/device:GPU:1"):
        with tf.device(device):
            a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
            b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
            parts.append(tf.matmul(a, b))
    with tf.device("/cpu:0"):
        total = tf.add_n(parts)
    with tf.Session(config=config) as session:
        return session.run([parts[0], total])


if __name__ == "__main__":
    print(*run(), sep="\n")
