"""A convolutional network on pictures of 28 x 28 pixels.

The pictures are drawn here: bars whose place and direction are the class, with noise.
"""

import numpy as np

import tfc.graph as tf


def pictures(count, seed):
    """Pictures float32[count, 28, 28, 1] and their classes."""
    random = np.random.RandomState(seed)
    classes = random.randint(0, 10, count)
    made = 0.3 * random.normal(size=[count, 28, 28])
    for picture, number in zip(made, classes):
        place = 3 + 5 * (number % 5)
        if number < 5:
            picture[place : place + 3] += 1
        else:
            picture[:, place : place + 3] += 1
    return made.astype(np.float32)[..., None], classes


def network(x, training):
    """The logits of ten classes, and the shapes on the way."""
    shapes = []
    for filters in (32, 64):
        x = tf.layers.conv2d(
            inputs=x, filters=filters, kernel_size=[5, 5], padding="same", activation=tf.nn.relu
        )
        shapes.append(x.shape.as_list()[1:])
        x = tf.layers.max_pooling2d(inputs=x, pool_size=[2, 2], strides=2)
        shapes.append(x.shape.as_list()[1:])
    x = tf.reshape(x, [-1, 7 * 7 * 64])
    shapes.append(x.shape.as_list()[1:])
    x = tf.layers.dense(inputs=x, units=1024, activation=tf.nn.relu)
    shapes.append(x.shape.as_list()[1:])
    x = tf.layers.dropout(inputs=x, rate=0.4, training=training)
    x = tf.layers.dense(inputs=x, units=10)
    return x, [*shapes, x.shape.as_list()[1:]]


def run(config=None, steps=60, batch=50, rate=0.02):
    """The shapes of the layers, the first and last loss, and the accuracy on new pictures."""
    tf.set_random_seed(0)
    x, labels = tf.placeholder(tf.float32, [None, 28, 28, 1]), tf.placeholder(tf.int32, [None])
    training = tf.placeholder_with_default(False, [])
    logits, shapes = network(x, training)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    train = tf.train.GradientDescentOptimizer(rate).minimize(
        loss, tf.train.get_or_create_global_step()
    )
    right = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    losses = []
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for step in range(steps):
            images, classes = pictures(batch, step)
            feeds = {x: images, labels: classes, training: True}
            losses.append(float(session.run([loss, train], feeds)[0]))
        images, classes = pictures(200, 10**6)
        return shapes, losses, float(session.run(accuracy, {x: images, labels: classes}))


if __name__ == "__main__":
    layers, found, share = run()
    print(*layers, sep=" -> ")
    print(f"loss = {found[0]:.5f}, step = 1; Loss for final step: {found[-1]:.5f}.")
    print(f"accuracy {share:.3f}")
