"""Whole programs of mathematics and physics; see `program_bundle`."""

import numpy as np
from program_bundle import IMAGE, POINTS, RNG, SERIES, SYMMETRIC, TARGETS, descended, drawn, program


@program
def heat_equation(t):
    def step(u, _):
        right, left = t.np.roll(u, -1, 0), t.np.roll(u, 1, 0)
        up, down = t.np.roll(u, -1, 1), t.np.roll(u, 1, 1)
        u = u + 0.2 * (right + left + up + down - 4 * u)
        return u.at[0].set(1.0).at[:, -1].add(-0.1), t.np.max(u)

    return t.scan(step, t.np.asarray(IMAGE), None, length=30)


@program
def wave_equation(t):
    start = np.exp(-((np.linspace(-4, 4, 50)) ** 2))

    def energy(speed):
        def step(state, _):
            u, v = state
            curve = (
                t.np.concatenate([u[1:], u[:1] * 0]) - 2 * u + t.np.concatenate([u[:1] * 0, u[:-1]])
            )
            v = v + speed * curve
            return (u + v, v), t.np.sum(u**2)

        return t.np.sum(t.scan(step, (t.np.asarray(start), t.np.zeros(50)), None, length=20)[1])

    return t.value_and_grad(energy)(0.3)


@program
def fourier_filter(t):
    spectrum = t.np.fft.rfft(t.np.asarray(SERIES[:, 0]))
    low = t.np.where(t.np.arange(spectrum.shape[0]) < 5, spectrum, 0)
    both = t.np.fft.ifft2(t.np.fft.fft2(IMAGE) * np.exp(-np.arange(14) / 5))
    return t.np.fft.irfft(low, 30), t.np.abs(spectrum), both.real


@program
def least_squares(t):
    solution = t.np.linalg.lstsq(t.np.asarray(POINTS), t.np.asarray(TARGETS))[0]
    q, r = t.np.linalg.qr(t.np.asarray(POINTS))
    return solution, t.linalg.solve_triangular(r, q.T @ TARGETS)


@program
def page_rank(t):
    links = (drawn(12, 12) > 0.3) + np.eye(12)
    moves = links / links.sum(0)

    def body(state):
        rank, _ = state
        new = 0.85 * moves @ rank + 0.15 / 12
        return new, t.np.sum(t.np.abs(new - rank))

    start = (t.np.full((12,), 1 / 12), t.np.asarray(1.0))
    rank, _ = t.while_loop(lambda s: s[1] > 1e-9, body, start)
    return rank, t.np.argsort(rank)


@program
def mandelbrot(t):
    c = np.linspace(-2, 0.6, 30)[None] + 1j * np.linspace(-1.2, 1.2, 20)[:, None]

    def step(_, state):
        z, count = state
        inside = t.np.abs(z) <= 2
        return t.np.where(inside, z * z + c, z), count + inside

    start = (t.np.zeros((20, 30), np.complex128), t.np.zeros((20, 30), np.int32))
    return t.fori_loop(0, 25, step, start)[1]


@program
def power_iteration(t):
    def step(v, _):
        w = SYMMETRIC @ v
        return w / t.np.linalg.norm(w), w @ v

    centred = POINTS - POINTS.mean(0)
    values, vectors = t.np.linalg.eigh(t.np.asarray(centred.T @ centred))
    found, lengths = t.scan(step, t.np.ones(8) / np.sqrt(8), None, length=40)
    return found, lengths, values, t.np.abs(centred @ vectors)


@program
def newton_method(t):
    def rosenbrock(x):
        return t.np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def body(state):
        x, count = state
        slope = t.grad(rosenbrock)
        return x - t.np.linalg.solve(t.hessian(rosenbrock)(x), slope(x)), count + 1

    def goes_on(state):
        return (t.np.max(t.np.abs(t.grad(rosenbrock)(state[0]))) > 1e-8) & (state[1] < 50)

    return t.while_loop(goes_on, body, (t.np.asarray([1.2, 1.3, 1.6]), 0))


def runge_kutta(t, slope, state, size, steps):
    """The states along a path."""

    def step(y, _):
        a = slope(y)
        b = slope(y + size / 2 * a)
        c = slope(y + size / 2 * b)
        d = slope(y + size * c)
        y = y + size / 6 * (a + 2 * b + 2 * c + d)
        return y, y

    return t.scan(step, state, None, length=steps)[1]


@program
def lorenz_attractor(t):
    def slope(y):
        return t.np.stack(
            [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]
        )

    return runge_kutta(t, slope, t.np.asarray([1.0, 1.0, 1.0]), 0.01, 100)


@program
def predators_and_prey(t):
    def path(p):
        def slope(y):
            return t.np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

        return runge_kutta(t, slope, t.np.asarray([1.0, 0.5]), 0.1, 30)

    seen = path(t.np.asarray([1.1, 0.4, 0.1, 0.4]))
    start = t.np.asarray([1.0, 0.5, 0.2, 0.5])
    return descended(t, lambda p: t.np.mean((path(p) - seen) ** 2), start, 0.05, 10)


@program
def edit_distance(t):
    a, b = np.array(list(b"kitten on a mat")), np.array(list(b"sitting on mats"))

    def row(above, letter):
        def cell(left, given):
            corner, top, other = given
            value = t.np.minimum(t.np.minimum(left, top) + 1, corner + (letter != other))
            return value, value

        first = above[0] + 1
        _, rest = t.scan(cell, first, (above[:-1], above[1:], t.np.asarray(b)))
        made = t.np.concatenate([first[None], rest])
        return made, made[-1]

    return t.scan(row, t.np.arange(len(b) + 1), t.np.asarray(a))


@program
def option_price(t):
    def price(spot, deviation, key):
        noise = t.random.normal(key, (2000,), np.float64)
        final = spot * t.np.exp((0.02 - deviation**2 / 2) + deviation * noise)
        return t.np.exp(-0.02) * t.np.mean(t.np.maximum(final - 100.0, 0))

    key = t.random.PRNGKey(9)
    inside = t.np.sum(t.random.uniform(key, (2000, 2), np.float32) ** 2, -1) < 1
    return t.value_and_grad(price, (0, 1))(105.0, 0.2, key), 4 * t.np.mean(inside)


@program
def conjugate_gradient(t):
    b = t.np.asarray(drawn(8))

    def body(state):
        x, r, p, rr = state
        q = SYMMETRIC @ p
        alpha = rr / (p @ q)
        x, r = x + alpha * p, r - alpha * q
        new = r @ r
        return x, r, r + new / rr * p, new

    start = (t.np.zeros(8), b, b, b @ b)
    return t.while_loop(lambda s: s[3] > 1e-16, body, start)[0]


@program
def edges_of_an_image(t):
    padded = t.np.pad(IMAGE, 1, mode="edge")
    blur = np.outer([1, 2, 1], [1, 2, 1]) / 16
    sobel = np.outer([1, 2, 1], [-1, 0, 1])

    def slid(kernel):
        return sum(
            kernel[i, j] * padded[i : i + 12, j : j + 14] for i in range(3) for j in range(3)
        )

    across, down = slid(sobel), slid(sobel.T)
    size = t.np.hypot(across, down)
    return slid(blur), size, t.np.arctan2(down, across), size > t.np.mean(size)


@program
def many_bodies(t):
    masses = t.np.asarray(1 + RNG.random(5))

    def energy(x):
        gaps = x[:, None] - x[None]
        distance = t.np.sqrt(t.np.sum(gaps**2, -1) + 0.1)
        return -0.5 * t.np.sum(masses[:, None] * masses / distance)

    def step(state, _):
        x, v = state
        v = v - 0.01 * t.grad(energy)(x) / masses[:, None]
        x = x + 0.01 * v
        return (x, v), energy(x) + 0.5 * t.np.sum(masses[:, None] * v**2)

    return t.scan(step, (t.np.asarray(drawn(5, 3)), t.np.zeros((5, 3))), None, length=30)


@program
def implicit_root(t):
    def root(a):
        return t.fori_loop(0, 20, lambda _, x: 0.5 * (x + a / x), a)

    points = t.np.linspace(1.0, 5.0, 7)
    return t.vmap(root)(points), t.vmap(t.grad(root))(points)
