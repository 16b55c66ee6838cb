"""Makes the models beside it with TensorFlow 2.21, and the values that it computes.

    pip install tensorflow==2.21 && python make_models.py [NAME …]

Each NAME.zip has `graph.pb`, a frozen graph, or the files of a SavedModel; and `values.npz`: the
inputs as `i.NAME`, the outputs as `o.NAME`.
"""

import io
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

tf1 = tf.compat.v1
HERE = Path(__file__).parent
GENERATOR = np.random.default_rng(0)


def write(name, files, inputs, outputs):
    """One archive; of files that differ in no byte if made again."""
    values = io.BytesIO()
    held = {f"i.{k}": v for k, v in inputs.items()} | {f"o.{k}": v for k, v in outputs.items()}
    np.savez(values, **{k: np.asarray(v) for k, v in held.items()})
    files = {**files, "values.npz": values.getvalue()}
    with zipfile.ZipFile(HERE / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED, 9)
    print(name, (HERE / f"{name}.zip").stat().st_size, {k: v.shape for k, v in held.items()})


def saved(name, save, inputs, outputs):
    """A SavedModel that save(folder) writes."""
    folder = tempfile.mkdtemp()
    try:
        save(folder)
        kept = [p for p in Path(folder).rglob("*") if p.is_file() and p.suffix != ".json"]
        files = {
            str(p.relative_to(folder)): p.read_bytes() for p in kept if "fingerprint" not in p.name
        }
    finally:
        shutil.rmtree(folder)
    write(name, files, inputs, outputs)


def exported(name, model, x):
    """A Keras model as model.export writes it; its one input is called as Keras says."""
    expected = model(x)
    found = {}

    def save(folder):
        model.export(folder, verbose=False)
        signature = tf.saved_model.load(folder).signatures["serving_default"]
        found["name"] = next(iter(signature.structured_input_signature[1]))

    saved(name, save, {"x": x}, {"y": expected})


def normal(*shape):
    return GENERATOR.standard_normal(shape).astype(np.float32)


def dense():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        keras.Input((8, 8, 3)), layers.Conv2D(4, 3, padding="same"), layers.BatchNormalization(),
        layers.ReLU(), layers.DepthwiseConv2D(3, strides=2), layers.MaxPool2D(),
        layers.Flatten(), layers.Dropout(0.5), layers.Dense(4, "softmax"),
    ])  # fmt: skip
    exported("keras_convolutions", model, normal(2, 8, 8, 3))


def text_model():
    keras.utils.set_random_seed(2)
    return keras.Sequential([
        keras.Input((None,), dtype="int32"), layers.Embedding(20, 4, mask_zero=True),
        layers.Bidirectional(layers.LSTM(3, return_sequences=True)), layers.GRU(3),
        layers.Dense(2),
    ])  # fmt: skip


TEXT = np.array([[3, 7, 19, 0, 0], [1, 2, 5, 8, 13]], np.int32)


def recurrent():
    exported("keras_recurrent", text_model(), TEXT)


def frozen_recurrent():
    model = text_model()
    called = tf.function(lambda words: model(words, training=False))
    made = called.get_concrete_function(tf.TensorSpec([None, None], tf.int32, "words"))
    for name, lower in (("frozen_while", False), ("frozen_frames", True)):
        graph = convert_variables_to_constants_v2(made, lower_control_flow=lower)
        content = graph.graph.as_graph_def().SerializeToString(deterministic=True)
        write(name, {"graph.pb": content}, {"words": TEXT}, {"Identity": model(TEXT)})


class Encoder(keras.Model):
    """Embeddings, attention with a mask, and a network for each word."""

    def __init__(self):
        super().__init__()
        self.words, self.places = layers.Embedding(20, 8), layers.Embedding(6, 8)
        self.attention = layers.MultiHeadAttention(2, 4)
        self.first, self.second = layers.LayerNormalization(), layers.LayerNormalization()
        self.wide, self.narrow = layers.Dense(16, "gelu"), layers.Dense(8)

    def call(self, words):
        """The encoding of numbers of words, of which 0 is none."""
        x = self.words(words) + self.places(tf.range(tf.shape(words)[1]))
        x = self.first(x + self.attention(x, x, attention_mask=(words > 0)[:, None, :]))
        return self.second(x + self.narrow(self.wide(x)))


def encoder():
    keras.utils.set_random_seed(3)
    model = Encoder()
    called = tf.function(model, input_signature=[tf.TensorSpec([None, None], tf.int32, "words")])
    expected = called(TEXT)
    module = tf.Module()
    module.model = model
    saved("keras_encoder", lambda d: tf.saved_model.save(module, d, signatures=called),
          {"words": TEXT}, {"output_0": expected})  # fmt: skip


class Counter(tf.Module):
    """Variables of one name, one that calls change, and two signatures."""

    def __init__(self):
        super().__init__()
        self.scale, self.shift = tf.Variable([3.0, 4.0], name="v"), tf.Variable([5.0], name="v")
        self.calls = tf.Variable(0.0, name="calls")

    @tf.function(input_signature=[tf.TensorSpec([2], name="x")])
    def apply(self, x):
        """The result, and how often it was called."""
        self.calls.assign_add(1.0)
        return {"y": x * self.scale + self.shift, "calls": self.calls.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, "n"), tf.TensorSpec([2], name="x")])
    def power(self, n, x):
        """x by the scale n times; the smaller branch of a few by its sum."""
        for _ in tf.range(n):
            x = x * self.scale
        small = tf.cond(tf.reduce_sum(x) > 10.0, lambda: x - self.shift, lambda: -x)
        case = tf.switch_case(n, [lambda: x * 0.0, lambda: x + 1.0, lambda: x + self.shift])
        return {"small": small, "case": case}


def counter():
    module = Counter()
    x = np.array([1, 2], np.float32)

    def save(folder):
        names = {"serving_default": module.apply, "power": module.power}
        tf.saved_model.save(module, folder, signatures=names)

    power = module.power(tf.constant(2), x)
    outputs = {"y": x * [3, 4] + 5, "calls": np.float32(1), **power}
    saved("stateful", save, {"x": x, "n": np.int32(2)}, outputs)


class Lists(tf.Module):
    """Lists that grow, and loops whose shapes do."""

    @tf.function(input_signature=[tf.TensorSpec([4, 3], name="x")])
    def growing(self, x):
        """An array of dynamic size, rows in front of others, powers of rows."""
        held = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[3])
        rows = x[:1]
        for i in tf.range(4):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(rows, tf.TensorShape([None, 3]))]
            )
            held = held.write(i, x[0] * tf.cast(i, tf.float32))
            rows = tf.concat([x[i : i + 1], rows], 0)
        mapped = tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)
        return {"held": held.stack(), "rows": rows, "mapped": mapped}

    @tf.function(input_signature=[tf.TensorSpec([4, 3], name="x")])
    def changing(self, x):
        """What the operators on lists give."""
        ops, three, floats = tf.raw_ops, tf.constant([3]), tf.float32
        made = ops.EmptyTensorList(element_shape=three, max_num_elements=-1, element_dtype=floats)
        for number in range(3):
            made = ops.TensorListPushBack(input_handle=made, tensor=x[number])
        made, last = ops.TensorListPopBack(
            input_handle=made, element_shape=three, element_dtype=floats
        )
        longer = ops.TensorListResize(input_handle=made, size=4)
        longer = ops.TensorListSetItem(input_handle=longer, index=3, item=last)
        spread = ops.TensorListScatterV2(
            tensor=x, indices=[2, 0, 1, 3], element_shape=three, num_elements=-1
        )
        both = ops.TensorListConcatLists(input_a=spread, input_b=made, element_dtype=floats)
        parts = ops.TensorListSplit(
            tensor=x, element_shape=[2, 3], lengths=tf.constant([2, 2], tf.int64)
        )
        joined, lengths = ops.TensorListConcatV2(
            input_handle=parts, element_shape=[2, 3], leading_dims=tf.zeros([0], tf.int64),
            element_dtype=floats,
        )  # fmt: skip
        return {
            "last": last, "length": ops.TensorListLength(input_handle=longer), "joined": joined,
            "longer": ops.TensorListStack(
                input_handle=longer, element_shape=three, element_dtype=floats
            ),
            "both": ops.TensorListStack(
                input_handle=both, element_shape=three, element_dtype=floats
            ),
            "some": ops.TensorListGather(
                input_handle=both, indices=[5, 0], element_shape=three, element_dtype=floats
            ),
            "lengths": lengths,
            "dims": ops.TensorListElementShape(input_handle=both, shape_type=tf.int32),
        }  # fmt: skip


def lists():
    module, x = Lists(), normal(4, 3)
    names = {"growing": module.growing, "changing": module.changing}
    saved("lists", lambda d: tf.saved_model.save(module, d, signatures=names), {"x": x},
          {**module.growing(x), **module.changing(x)})  # fmt: skip


def partitioned():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        part = tf1.get_variable("part", [4, 300], use_resource=False,
                                partitioner=tf1.fixed_size_partitioner(2),
                                initializer=tf1.random_normal_initializer(seed=1))  # fmt: skip
        bias = tf1.get_variable("bias", initializer=normal(300), use_resource=True)
        y = tf.tanh(tf.matmul(x, tf.convert_to_tensor(part)) + bias, name="y")
        y = tf.reduce_sum(tf.reshape(y, [-1, 100, 3]), 1)
        run = tf1.Session(graph=graph)
        run.run(tf1.global_variables_initializer())
        given = normal(2, 4)
        expected = run.run(y, {x: given})

        def save(folder):
            builder = tf1.saved_model.builder.SavedModelBuilder(f"{folder}/made")
            signature = tf1.saved_model.predict_signature_def({"x": x}, {"y": y})
            builder.add_meta_graph_and_variables(run, ["serve"], {"serving_default": signature})
            builder.save()
            shutil.copytree(f"{folder}/made", folder, dirs_exist_ok=True)
            shutil.rmtree(f"{folder}/made")

        saved("partitioned", save, {"x": given}, {"y": expected})


def graph_of(name, build, inputs):
    """A graph of TensorFlow 1: build() gives its outputs by name."""
    with tf.Graph().as_default() as graph:
        tf1.set_random_seed(1)
        outputs = {k: tf.identity(v, name=k) for k, v in build().items()}
        with tf1.Session(graph=graph) as session:
            found = session.run(outputs, {f"{k}:0": v for k, v in inputs.items()})
        kept = tf1.graph_util.extract_sub_graph(graph.as_graph_def(), list(outputs))
    content = kept.SerializeToString(deterministic=True)
    write(name, {"graph.pb": content}, inputs, found)


def branches():
    def build():
        x = tf1.placeholder(tf.float32, [2, 3], name="x")
        keep = tf1.placeholder_with_default(1.0, [], name="keep")
        dropped = tf1.nn.dropout(x, keep)
        chosen = tf.cond(keep < 1.0, lambda: dropped * 100.0, lambda: x * 2.0)

        def inner():
            return tf.cond(x[0, 0] > 0.0, lambda: (x + 1.0, x[0] * 2.0), lambda: (x - 1.0, x[1]))

        first, second = tf.cond(tf.reduce_sum(x) > 0.0, inner, lambda: (tf.zeros([2, 3]), x[0]))
        with tf.control_dependencies([tf1.assert_greater(x, -100.0)]):
            checked = tf.identity(x)
        return {"chosen": chosen, "first": first, "second": second, "checked": checked}

    graph_of("v1_branches", build, {"x": normal(2, 3) + 1})


def loops():
    def build():
        x = tf1.placeholder(tf.float32, [None, 4, 3], name="x")
        lengths = tf1.placeholder(tf.int32, [None], name="lengths")
        w = tf.constant(normal(3, 3))
        array = tf.TensorArray(tf.float32, size=tf.shape(x)[1])
        steps = tf.TensorArray(tf.float32, size=tf.shape(x)[1]).unstack(tf.transpose(x, [1, 0, 2]))

        def step(t, state, held):
            made = tf.tanh(tf.matmul(state, w) + steps.read(t))
            made = tf.where((t < lengths)[:, None], made, state)
            made = tf.cond(t > 2, lambda: made * 0.5, lambda: made)
            return t + 1, made, held.write(t, made)

        last = tf.while_loop(lambda t, *_: t < tf.shape(x)[1], step,
                             [0, tf.zeros_like(x[:, 0]), array])  # fmt: skip

        def outer(i, total):
            inside = tf.while_loop(lambda j, _: j < i, lambda j, s: (j + 1, s * 2.0 + 1.0),
                                   [0, total])  # fmt: skip
            return i + 1, inside[1] - 1.0

        nested = tf.while_loop(lambda i, _: i < 4, outer, [0, x[0, 0]])[1]
        guarded = tf.cond(
            x[0, 0, 0] > -100.0,
            lambda: tf.while_loop(lambda s: tf.reduce_sum(s) < 50.0, lambda s: s * 2.0,
                                  [tf.abs(x[0, 0]) + 1.0]),
            lambda: [x[0, 0]],
        )[0]  # fmt: skip
        return {"all": last[2].stack(), "last": last[1], "nested": nested, "guarded": guarded}

    graph_of("v1_loops", build, {"x": normal(2, 4, 3), "lengths": np.array([4, 2], np.int32)})


def main():
    first = [dense, recurrent, frozen_recurrent, encoder, counter, lists]
    cases = {case.__name__: case for case in [*first, partitioned, branches, loops]}
    wanted = sys.argv[1:] or list(cases)
    for name in wanted:
        if cases[name] not in first:
            tf1.disable_control_flow_v2()
        GENERATOR.bit_generator.state = np.random.default_rng(0).bit_generator.state
        cases[name]()


if __name__ == "__main__":
    main()
