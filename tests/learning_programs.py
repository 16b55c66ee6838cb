"""Whole programs that learn, and that say how likely something is; see `program_bundle`."""

import numpy as np
from program_bundle import (
    DECODER,
    DENSE,
    ENCODER,
    LABELS,
    POINTS,
    RNG,
    SERIES,
    TARGETS,
    descended,
    drawn,
    forward,
    program,
)


@program
def perceptron(t):
    def loss(p):
        return t.np.mean((forward(t, p, POINTS, t.np.tanh)[:, 0] - TARGETS) ** 2)

    return descended(t, loss, DENSE, 0.1, 25)


@program
def convolutional_network(t):
    kernel, dense = drawn(3, 3, 1, 4), drawn(4 * 5 * 6, 3) / 10

    def features(x, kernel):
        rows = [x[:, i : i + 10, j : j + 12] for i in range(3) for j in range(3)]
        windows = t.np.stack(rows, -1).reshape(-1, 10, 12, 9)
        return t.nn.relu(windows @ kernel.reshape(9, 4))

    def loss(p, images, labels):
        maps = features(images, p["kernel"])
        pooled = t.np.max(maps.reshape(-1, 5, 2, 6, 2, 4), axis=(2, 4)).reshape(-1, 120)
        scores = t.nn.log_softmax(pooled @ p["dense"])
        return -t.np.mean(t.np.sum(scores * t.nn.one_hot(labels, 3), -1))

    images, labels = drawn(6, 12, 14), np.arange(6) % 3
    return t.value_and_grad(loss)({"kernel": kernel, "dense": dense}, images, labels)


@program
def transformer_block(t):
    width, heads, length = 12, 3, 7
    p = {n: drawn(width, width) / 3 for n in ("q", "k", "v", "o")}
    p |= {"up": drawn(width, 24) / 3, "down": drawn(24, width) / 5, "scale": 1 + 0.1 * drawn(width)}

    def block(p, x):
        def split(y):
            return y.reshape(2, length, heads, width // heads)

        normal = t.nn.standardize(x) * p["scale"]
        q, k, v = (split(normal @ p[n]) for n in "qkv")
        scores = t.np.einsum("btnh,bsnh->bnts", q, k) / 2
        weights = t.nn.softmax(scores, where=np.tri(length, dtype=bool))
        mixed = t.np.einsum("bnts,bsnh->btnh", weights, v)
        x = x + mixed.reshape(2, length, width) @ p["o"]
        return x + t.nn.gelu(t.nn.standardize(x) @ p["up"]) @ p["down"]

    return t.value_and_grad(lambda p, x: t.np.sum(block(p, x) ** 2))(p, drawn(2, length, width))


@program
def long_short_term_memory(t):
    p = {"in": drawn(4, 24) / 2, "rec": drawn(6, 24) / 2, "bias": drawn(24), "out": drawn(6)}

    def loss(p, xs):
        def cell(carry, x):
            h, c = carry
            i, f, g, o = t.np.split(x @ p["in"] + h @ p["rec"] + p["bias"], 4, -1)
            c = t.nn.sigmoid(f) * c + t.nn.sigmoid(i) * t.np.tanh(g)
            h = t.nn.sigmoid(o) * t.np.tanh(c)
            return (h, c), h @ p["out"]

        zero = t.np.zeros(6)
        (_, c), outputs = t.scan(cell, (zero, zero), xs)
        return t.np.mean(outputs**2) + t.np.sum(c)

    return t.value_and_grad(loss)(p, SERIES)


@program
def gated_recurrent_unit(t):
    p = {n: drawn(4 + 5, 5) / 2 for n in ("update", "reset", "new")}

    def loss(p, xs):
        def cell(h, x):
            both = t.np.concatenate([x, h])
            z, r = (t.nn.sigmoid(both @ p[n]) for n in ("update", "reset"))
            new = t.np.tanh(t.np.concatenate([x, r * h]) @ p["new"])
            h = (1 - z) * h + z * new
            return h, t.np.sum(h)

        return t.np.sum(t.scan(cell, t.np.zeros(5), xs, reverse=True)[1] ** 2)

    return t.value_and_grad(loss)(p, SERIES)


@program
def hamiltonian_monte_carlo(t):
    precision = np.array([[2.0, 0.6], [0.6, 1.0]])

    def energy(x):
        return 0.5 * x @ precision @ x + 0.1 * t.np.sum(x**4)

    slope = t.grad(energy)

    def chain(key):
        def step(x, key):
            first, second = t.random.split(key)
            momentum = t.random.normal(first, (2,), np.float64)

            def leap(_, state):
                x, p = state
                p = p - 0.1 * slope(x)
                x = x + 0.2 * p
                return x, p - 0.1 * slope(x)

            moved, final = t.fori_loop(0, 8, leap, (x, momentum))
            change = energy(x) + momentum @ momentum / 2 - energy(moved) - final @ final / 2
            accept = t.np.log(t.random.uniform(second, (), np.float64)) < change
            x = t.np.where(accept, moved, x)
            return x, x

        return t.scan(step, t.np.zeros(2), t.random.split(key, 20))[1]

    return t.vmap(chain)(t.random.split(t.random.PRNGKey(3), 4))


@program
def k_means(t):
    def step(centres, _):
        distance = t.np.sum((POINTS[:, None] - centres) ** 2, -1)
        chosen = t.nn.one_hot(t.np.argmin(distance, -1), 4, dtype=np.float64)
        count = t.np.maximum(chosen.sum(0)[:, None], 1)
        return chosen.T @ POINTS / count, t.np.sum(t.np.min(distance, -1))

    return t.scan(step, t.np.asarray(POINTS[:4]), None, length=8)


@program
def kalman_filter(t):
    motion, sight = np.array([[1, 0.1], [-0.1, 0.98]]), np.array([[1.0, 0.3]])

    def likelihood(noise):
        def step(belief, y):
            mean, cov = motion @ belief[0], motion @ belief[1] @ motion.T + 0.01 * np.eye(2)
            spread = sight @ cov @ sight.T + t.np.exp(noise)
            gain = cov @ sight.T / spread
            error = y - sight @ mean
            mean = mean + gain @ error
            value = -0.5 * (t.np.log(spread[0, 0]) + error[0] ** 2 / spread[0, 0])
            return (mean, cov - gain @ sight @ cov), (value, mean)

        start = (t.np.zeros(2), t.np.eye(2))
        return t.scan(step, start, SERIES[:, 0])[1]

    return t.grad(lambda n: t.np.sum(likelihood(n)[0]))(0.1), likelihood(0.1)


@program
def logistic_regression(t):
    def loss(w):
        scores = POINTS @ w
        return t.np.mean(t.np.logaddexp(0, -scores * np.sign(TARGETS))) + 0.01 * w @ w

    def newton(w, _):
        slope = t.grad(loss)
        rows = t.vmap(lambda v: t.jvp(slope, (w,), (v,))[1])(t.np.eye(3))
        return w - t.np.linalg.solve(rows, slope(w)), loss(w)

    return t.scan(newton, t.np.zeros(3), None, length=6)


@program
def gaussian_process(t):
    y = TARGETS[:15]

    def kernel(p, x, z):
        distance = t.np.sum((x[:, None] - z[None]) ** 2, -1)
        return t.np.exp(p["size"]) * t.np.exp(-distance * t.np.exp(p["rate"]))

    def evidence(p):
        factor = t.np.linalg.cholesky(kernel(p, POINTS[:15], POINTS[:15]) + 0.1 * np.eye(15))
        half = t.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * half @ half + t.np.sum(t.np.log(t.np.diagonal(factor)))

    p = {"size": 0.2, "rate": -0.5}
    inner = kernel(p, POINTS[:15], POINTS[:15]) + 0.1 * np.eye(15)
    mean = kernel(p, POINTS[15:20], POINTS[:15]) @ t.np.linalg.solve(inner, y)
    return t.value_and_grad(evidence)(p), mean


@program
def nearest_neighbours(t):
    queries = drawn(9, 3)
    distance = t.np.sum((queries[:, None] - POINTS) ** 2, -1)
    nearest = t.np.argsort(distance, -1)[:, :5]
    votes = t.nn.one_hot(t.np.take(LABELS, nearest), 3).sum(1)
    return nearest, t.np.argmax(votes, -1), t.np.sort(distance, -1)[:, :5]


@program
def softmax_regression_by_adam(t):
    def loss(w):
        scores = t.nn.log_softmax(POINTS @ w)
        return -t.np.mean(t.np.take_along_axis(scores, LABELS[:, None], 1))

    def step(state, number):
        w, m, v = state
        g = t.grad(loss)(w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        mean, square = m / (1 - 0.9**number), v / (1 - 0.999**number)
        return (w - 0.05 * mean / (t.np.sqrt(square) + 1e-8), m, v), loss(w)

    zero = t.np.zeros((3, 3))
    return t.scan(step, (zero, zero, zero), t.np.arange(1.0, 21.0))


@program
def variational_autoencoder(t):
    noise_key = t.random.PRNGKey(5)

    def loss(p, x):
        mean, spread = t.np.split(forward(t, p["encoder"], x, t.nn.softplus), 2, -1)
        noise = t.random.normal(noise_key, mean.shape, np.float64)
        made = forward(t, p["decoder"], mean + t.np.exp(spread) * noise, t.nn.softplus)
        divergence = 0.5 * t.np.sum(mean**2 + t.np.exp(2 * spread) - 2 * spread - 1)
        return (t.np.sum((made - x) ** 2) + divergence) / 40

    return t.value_and_grad(loss)({"encoder": ENCODER, "decoder": DECODER}, POINTS)


@program
def autoencoder(t):
    def loss(p):
        code = forward(t, p["encoder"], POINTS, t.nn.elu)[:, :2]
        return t.np.mean((forward(t, p["decoder"], code, t.nn.elu) - POINTS) ** 2)

    return descended(t, loss, {"encoder": ENCODER, "decoder": DECODER}, 0.05, 12)


@program
def masked_attention(t):
    q, k, v = drawn(2, 5, 2, 4), drawn(2, 6, 2, 4), drawn(2, 6, 2, 4)
    seen = np.arange(6) < np.array([4, 6])[:, None]

    def attention(q, k, v):
        scores = t.np.einsum("btnh,bsnh->bnts", q, k) / 2
        weights = t.nn.softmax(t.np.where(seen[:, None, None], scores, -1e30))
        return t.np.einsum("bnts,bsnh->btnh", weights, v)

    slopes = t.grad(lambda *a: t.np.sum(attention(*a) ** 2), (0, 1, 2))(q, k, v)
    return attention(q, k, v), slopes


@program
def beam_search(t):
    moves = np.log(RNG.dirichlet(np.ones(6), 6))

    def step(state, _):
        scores, last = state
        every = (scores[:, None] + t.np.take(moves, last, axis=0)).reshape(-1)
        best = t.np.argsort(-every)[:3]
        token = best % 6
        return (t.np.take(every, best), token), (best // 6, token)

    start = (t.np.asarray([0.0, -1e9, -1e9]), t.np.zeros(3, np.int64))
    return t.scan(step, start, None, length=7)


@program
def viterbi(t):
    moves, signs = (np.log(RNG.dirichlet(np.ones(n), 4)) for n in (4, 5))
    seen = np.arange(20) * 7 % 5

    def step(score, sign):
        every = score[:, None] + moves
        return t.np.max(every, 0) + t.np.take(signs, sign, axis=1), t.np.argmax(every, 0)

    score, back = t.scan(step, t.np.zeros(4), t.np.asarray(seen))

    def trace(state, came_from):
        return came_from[state], state

    last, path = t.scan(trace, t.np.argmax(score), back, reverse=True)
    return score, last, path
