"""Variables saved into a checkpoint, restored from it, and looked at without a graph."""

import tempfile

import tfc.graph as tf


def run(config=None):
    """The restored variables, and the checkpoint's content."""
    v1 = tf.get_variable("v1", shape=[3], initializer=tf.zeros_initializer())
    v2 = tf.get_variable("v2", shape=[5], initializer=tf.zeros_initializer())
    change = tf.group(v1.assign(v1 + 1), v2.assign(v2 - 1))
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder:
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            session.run(change)
            path = saver.save(session, f"{folder}/model.ckpt")
        with tf.Session(config=config) as session:
            saver.restore(session, path)
            restored = session.run([v1, v2])
        reader = tf.train.NewCheckpointReader(path)
        names = [name for name, _ in tf.train.list_variables(path)]
        return restored, {name: reader.get_tensor(name) for name in names}


if __name__ == "__main__":
    print(*run(), sep="\n")
