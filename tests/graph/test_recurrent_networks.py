"""Recurrent networks: values against NumPy, gradients against differences, one compiled program."""

import numpy as np
import pytest

import tfc.graph as tf

CELLS = tf.nn.rnn_cell
DRAW = np.random.default_rng(5)
INPUTS = DRAW.normal(size=(3, 5, 2)).astype(np.float32)
LENGTHS = np.array([5, 2, 0])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        tf.set_random_seed(3)
        yield made


def run(fetches, feeds=None):
    """The values of fetches and of the variables by name."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = {v.op.name: session.run(v) for v in tf.global_variables()}
        return session.run(fetches, feeds), values


def logistic(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, c, h, w, b, forget=1.0, peepholes=(0, 0, 0), projection=None, limit=np.inf):
    """One step of an LSTM."""
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ w + b, 4, 1)
    of_i, of_f, of_o = peepholes
    kept = logistic(f + forget + of_f * c) * c
    c = np.clip(kept + logistic(i + of_i * c) * np.tanh(j), -limit, limit)
    h = logistic(o + of_o * c) * np.tanh(c)
    return c, h if projection is None else h @ projection


def gru(x, h, values, prefix):
    """One step of a gated recurrent unit."""
    gates = np.concatenate([x, h], 1) @ values[f"{prefix}/gates/kernel"]
    r, u = np.split(logistic(gates + values[f"{prefix}/gates/bias"]), 2, 1)
    candidate = np.concatenate([x, r * h], 1) @ values[f"{prefix}/candidate/kernel"]
    return u * h + (1 - u) * np.tanh(candidate + values[f"{prefix}/candidate/bias"])


def over_time(step, state, inputs=INPUTS, lengths=None):
    """Outputs and the last state: of rows that have ended, zeros and the state that they had."""
    outputs = []
    for t in range(inputs.shape[1]):
        new = step(inputs[:, t], *state)
        on = np.ones((len(inputs), 1), bool) if lengths is None else (t < lengths)[:, None]
        outputs.append(np.where(on, new[-1], 0))
        state = [np.where(on, a, b) for a, b in zip(new, state)]
    return np.stack(outputs, 1), state


def lstm_over_time(values, prefix="rnn/basic_lstm_cell", lengths=None, inputs=INPUTS, units=4):
    w, b = values[f"{prefix}/kernel"], values[f"{prefix}/bias"]
    zeros = np.zeros((3, units))
    return over_time(lambda x, c, h: lstm(x, c, h, w, b), [zeros, zeros], inputs, lengths)


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("shape", [[3, 5, 2], [None, None, 2]])
def test_an_lstm_over_time_is_its_cell_step_by_step(shape, lengths):
    x = tf.placeholder(tf.float32, shape)
    outputs, state = tf.nn.dynamic_rnn(CELLS.BasicLSTMCell(4), x, lengths, dtype=tf.float32)
    assert isinstance(state, CELLS.LSTMStateTuple)
    assert outputs.shape.as_list() == [*shape[:2], 4]
    (made, last), values = run([outputs, state], {x: INPUTS})
    expected, after = lstm_over_time(values, lengths=lengths)
    assert {n: v.shape for n, v in values.items()} == {
        "rnn/basic_lstm_cell/kernel": (6, 16),
        "rnn/basic_lstm_cell/bias": (16,),
    }
    close(made, expected)
    for part, wanted in zip(last, after):
        close(part, wanted)


def test_time_first_and_a_state_to_begin_with():
    cell = CELLS.BasicLSTMCell(4, forget_bias=0.5)
    begun = CELLS.LSTMStateTuple(np.ones([3, 4], np.float32), np.full([3, 4], 0.5, np.float32))
    x = INPUTS.transpose(1, 0, 2)
    made = tf.nn.dynamic_rnn(cell, x, initial_state=begun, time_major=True)
    (outputs, last), values = run(made)
    w, b = values.values()
    expected, after = over_time(lambda x, c, h: lstm(x, c, h, w, b, 0.5), list(begun))
    close(outputs, expected.transpose(1, 0, 2))
    for part, wanted in zip(last, after):
        close(part, wanted)


def test_a_state_in_one_array_is_memory_and_output_side_by_side():
    cell = CELLS.BasicLSTMCell(4, state_is_tuple=False)
    assert cell.state_size == 8
    (_, last), values = run(tf.nn.dynamic_rnn(cell, INPUTS, dtype=tf.float32))
    close(last, np.concatenate(lstm_over_time(values)[1], 1))


def test_peepholes_limits_and_projections():
    cell = CELLS.LSTMCell(4, use_peepholes=True, cell_clip=0.3, num_proj=3, proj_clip=5.0)
    (outputs, last), v = run(tf.nn.dynamic_rnn(cell, 4 * INPUTS, dtype=tf.float32))
    v = {name.removeprefix("rnn/lstm_cell/"): value for name, value in v.items()}
    assert set(v) == {"kernel", "bias", "w_i_diag", "w_f_diag", "w_o_diag", "projection/kernel"}
    peepholes = [v["w_i_diag"], v["w_f_diag"], v["w_o_diag"]]
    more = {"peepholes": peepholes, "projection": v["projection/kernel"], "limit": 0.3}
    expected, after = over_time(
        lambda x, c, h: lstm(x, c, h, v["kernel"], v["bias"], **more),
        [np.zeros((3, 4)), np.zeros((3, 3))],
        4 * INPUTS,
    )
    assert np.abs(last.c).max() == np.float32(0.3)
    close(outputs, expected)
    for part, wanted in zip(last, after):
        close(part, wanted)


def test_basic_and_gated_cells():
    with tf.variable_scope("one"):
        basic = tf.nn.dynamic_rnn(CELLS.BasicRNNCell(4), INPUTS, dtype=tf.float32)
    with tf.variable_scope("two"):
        gated = tf.nn.dynamic_rnn(CELLS.GRUCell(4), INPUTS, LENGTHS, dtype=tf.float32)
    (first, second), v = run([basic, gated])
    w, b = v["one/rnn/basic_rnn_cell/kernel"], v["one/rnn/basic_rnn_cell/bias"]
    zeros = [np.zeros((3, 4))]
    step = lambda x, h: [np.tanh(np.concatenate([x, h], 1) @ w + b)]  # noqa: E731
    expected, (after,) = over_time(step, zeros)
    close(first[0], expected)
    close(first[1], after)
    assert np.all(v["two/rnn/gru_cell/gates/bias"] == 1)
    step = lambda x, h: [gru(x, h, v, "two/rnn/gru_cell")]  # noqa: E731
    expected, (after,) = over_time(step, zeros, lengths=LENGTHS)
    close(second[0], expected)
    close(second[1], after)


def test_cells_one_behind_the_other():
    cell = CELLS.MultiRNNCell([CELLS.BasicLSTMCell(4), CELLS.BasicLSTMCell(3)])
    (outputs, last), v = run(tf.nn.dynamic_rnn(cell, INPUTS, dtype=tf.float32))
    prefix = "rnn/multi_rnn_cell/cell_{}/basic_lstm_cell"
    between, first = lstm_over_time(v, prefix.format(0))
    expected, second = lstm_over_time(v, prefix.format(1), inputs=between, units=3)
    close(outputs, expected)
    close(last[0], first)
    close(last[1], second)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_a_list_of_steps_gives_what_the_loop_gives_and_the_variables_are_used_again(lengths):
    steps = [INPUTS[:, t] for t in range(5)]
    with tf.variable_scope("net"):
        cell = CELLS.BasicLSTMCell(4)
        outputs, last = tf.nn.static_rnn(cell, steps, dtype=tf.float32, sequence_length=lengths)
    with tf.variable_scope("net", reuse=True):
        looped = tf.nn.dynamic_rnn(CELLS.BasicLSTMCell(4), INPUTS, lengths, dtype=tf.float32)
    assert len(outputs) == 5
    assert len(tf.trainable_variables()) == 2
    (outputs, last, looped), values = run([outputs, last, looped])
    close(np.stack(outputs, 1), looped[0])
    close(last, looped[1])
    close(last, lstm_over_time(values, "net/rnn/basic_lstm_cell", lengths)[1])


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_both_directions(lengths):
    cells = CELLS.BasicLSTMCell(4), CELLS.BasicLSTMCell(4)
    made = tf.nn.bidirectional_dynamic_rnn(*cells, INPUTS, lengths, dtype=tf.float32)
    (outputs, states), v = run(made)
    expected, last = lstm_over_time(v, "bidirectional_rnn/fw/basic_lstm_cell", lengths)
    close(outputs[0], expected)
    close(states[0], last)

    def turned(x):
        many = [5, 5, 5] if lengths is None else lengths
        return np.stack([np.concatenate([r[:n][::-1], r[n:]]) for r, n in zip(x, many)])

    prefix = "bidirectional_rnn/bw/basic_lstm_cell"
    expected, last = lstm_over_time(v, prefix, lengths, turned(INPUTS))
    close(outputs[1], turned(expected))
    close(states[1], last)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_the_gradient_of_an_lstm_is_that_of_differences(lengths):
    x = tf.placeholder(tf.float64, [3, 5, 2])
    outputs, last = tf.nn.dynamic_rnn(CELLS.BasicLSTMCell(4), x, lengths, dtype=tf.float64)
    weights = DRAW.normal(size=(3, 5, 4))
    loss = tf.reduce_sum(outputs * weights) + tf.reduce_sum(last.c * last.c)
    kernel = tf.trainable_variables()[0]
    partial = tf.gradients(loss, [x, kernel])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        begun, values = INPUTS.astype(np.float64), session.run(kernel)
        found = session.run(partial, {x: begun})
        for _ in range(4):
            way, turn = DRAW.normal(size=begun.shape), DRAW.normal(size=values.shape)
            slope = (found[0] * way).sum() + (found[1] * turn).sum()
            ends = []
            for sign in (1e-5, -1e-5):
                kernel.load(values + sign * turn, session)
                ends.append(session.run(loss, {x: begun + sign * way}))
            np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, slope, rtol=1e-6)


def test_a_training_step_over_twenty_steps_of_time_is_one_cluster():
    x = tf.placeholder(tf.float32, [None, None, 2])
    cell = CELLS.LSTMCell(4)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.squared_difference(outputs, 0.3))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    values = DRAW.normal(size=(4, 20, 2))
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train], {x: values}, options, metadata)[0] for _ in range(30)]
    (device,) = metadata.step_stats.dev_stats
    assert [node.node_name.partition("[")[0] for node in device.node_stats] == ["cluster_1"]
    assert losses[-1] < losses[0] / 2


def test_dropout_of_a_cell_leaves_what_it_remembers_and_draws_anew_in_each_step():
    ones = np.ones([1, 3, 1000], np.float32)

    class Copy(CELLS.RNNCell):
        state_size = output_size = 1000

        def call(self, inputs, state):
            return inputs, state

    cell = CELLS.DropoutWrapper(Copy(), output_keep_prob=0.5, seed=7)
    (outputs, _), _ = run(tf.nn.dynamic_rnn(cell, ones, dtype=tf.float32))
    assert set(np.unique(outputs)) == {0, 2}
    assert 400 < np.count_nonzero(outputs[0, 0]) < 600
    assert np.any(outputs[0, 0] != outputs[0, 1])
    lstm = CELLS.DropoutWrapper(CELLS.BasicLSTMCell(500), state_keep_prob=0.5)
    x = tf.ones([1, 2])
    _, after = lstm(x, lstm.zero_state(1, tf.float32))
    (after,), _ = run([after])
    assert np.all(after.c != 0)
    assert 150 < np.count_nonzero(after.h) < 350


def test_what_does_not_fit_is_refused():
    cell = CELLS.BasicLSTMCell(4)
    with pytest.raises(ValueError, match="you must give a dtype"):
        tf.nn.dynamic_rnn(cell, INPUTS)
    with pytest.raises(ValueError, match="must be a vector of length batch_size"):
        tf.nn.dynamic_rnn(cell, INPUTS, [1, 2], dtype=tf.float32)
    with pytest.raises(ValueError, match="to be known"):
        tf.nn.dynamic_rnn(cell, tf.placeholder(tf.float32, [3, 5, None]), dtype=tf.float32)
    with pytest.raises(ValueError, match="batch, time, depth"):
        tf.nn.dynamic_rnn(cell, INPUTS[0], dtype=tf.float32)
    with pytest.raises(ValueError, match="a list of inputs"):
        tf.nn.static_rnn(cell, INPUTS, dtype=tf.float32)
    with pytest.raises(NotImplementedError, match="variational_recurrent is not offered"):
        CELLS.DropoutWrapper(cell, variational_recurrent=True)
