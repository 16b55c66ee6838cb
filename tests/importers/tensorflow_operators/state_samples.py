"""Samples of operators that write variables, and of random numbers that seeds decide."""

from collections.abc import Iterator

import numpy as np
from operator_samples import DTYPES, FLOATS, Sample, known, of, some


def _on(operator: str, variables, *inputs, **attributes) -> Sample:
    return Sample(operator, inputs, attributes, tuple(variables))


# How many variables an optimizer has, and what it is given before and behind the gradient.
OPTIMIZERS = {
    "GradientDescent": (1, [0.5], [], {}),
    "Momentum": (2, [0.5], [0.75], {"use_nesterov": True}),
    "KerasMomentum": (2, [0.5], [0.75], {"use_nesterov": True}),
    "Adam": (3, [0.5, 0.25, 0.01, 0.9, 0.99, 1e-3], [], {"use_nesterov": True}),
    "AdaMax": (3, [0.5, 0.01, 0.9, 0.99, 1e-3], [], {}),
    "Adagrad": (2, [0.5], [], {"update_slots": False}),
    "AdagradV2": (2, [0.5, 1e-3], [], {"update_slots": False}),
    "Adadelta": (3, [0.5, 0.9, 1e-3], [], {}),
    "RMSProp": (3, [0.5, 0.9, 0.5, 1e-3], [], {}),
    "CenteredRMSProp": (4, [0.5, 0.9, 0.5, 1e-3], [], {}),
    "AddSign": (2, [0.5, 1.0, 0.9, 0.8], [], {}),
    "PowerSign": (2, [0.5, 2.0, 0.9, 0.8], [], {}),
    "ProximalAdagrad": (2, [0.5, 0.01, 0.02], [], {}),
    "ProximalGradientDescent": (1, [0.5, 0.01, 0.02], [], {}),
    "Ftrl": (3, [], [0.5, 0.01, 0.02, -0.5], {"multiply_linear_by_lr": True}),
    "FtrlV2": (3, [], [0.5, 0.01, 0.02, 0.03, -0.5], {"multiply_linear_by_lr": True}),
}


def optimizers() -> Iterator[Sample]:
    for name, (count, before, behind, other) in OPTIMIZERS.items():
        for dtype in ("f", "d", "h"):
            kind = DTYPES[dtype]
            values = [some((4,), dtype, n, -2, 2) for n in range(1)]
            values += [some((4,), dtype, n, 3, 4) for n in range(1, count)]
            if name == "CenteredRMSProp":
                values[1] = some((4,), dtype, 1, 0, 1)
            inputs = [np.asarray(x, kind) for x in before]
            inputs += [some((4,), dtype, 9, -2, 2), *(np.asarray(x, kind) for x in behind)]
            operator = f"ResourceApply{name}"
            yield _on(operator, values, *inputs)
            if other and dtype == "f":
                yield _on(operator, values, *inputs, **other)
    three = [some((4,), "f", n, 1, 4) for n in range(3)]
    numbers = [np.float32(x) for x in (0.5, 0.01, 0.02)]
    yield _on("ResourceApplyAdagradDA", three, some((4,), "f", 5), *numbers, np.int64(3))


def scatters() -> Iterator[Sample]:
    for way in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
        for dtype in ("f", "d", "i4"):
            values = [some((4, 2), dtype, 1)]
            places = np.array([2, 0], np.int32)
            yield _on(f"ResourceScatter{way}", values, places, some((2, 2), dtype, 3, 1, 4))
        twice = np.array([[2], [2]], np.int64)
        if way in ("Add", "Sub", "Mul"):
            yield _on(f"ResourceScatter{way}", [some((4,), "f")], twice, some((2, 1), "f", 3))
        if way in ("Update", "Add", "Sub"):
            rows = np.array([[2], [0]], np.int32)
            yield _on(f"ResourceScatterNd{way}", [some((4, 2), "f")], rows, some((2, 2), "f", 3))
    x = some((3, 4), "f")
    yield _on("ResourceGather", [x], np.array([[2, 0], [1, 1]], np.int32), dtype="float32")
    yield _on("ResourceGather", [x], np.array([[2, 0], [1, 1], [3, 3]], np.int64), batch_dims=1,
              dtype="float32")  # fmt: skip
    yield _on("ResourceGatherNd", [x], np.array([[2, 0], [1, 1]], np.int32), dtype="float32")
    yield _on("ResourceStridedSliceAssign", [x], known([0, 1]), known([3, 3]), known([2, 1]),
              some((2, 2), "f", 4))  # fmt: skip
    yield _on("VariableShape", [x])
    yield _on("VariableShape", [x], out_type="int64")
    yield _on("ReadVariableOp", [x], dtype="float32")
    yield _on("VarIsInitializedOp", [x])
    for name in ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"):
        yield _on(name, [x], x[::-1])


def random() -> Iterator[Sample]:
    for kind in ("i4", "i8"):
        seed = np.array([7, -3], DTYPES[kind])
        yield of("StatelessRandomGetKeyCounter", seed)
        yield of("StatelessRandomGetKeyCounterAlg", seed)
        for dtype in ("f", "d", "h", "b"):
            name = DTYPES[dtype].name
            for way in ("Uniform", "Normal"):
                yield of(f"StatelessRandom{way}", known([3, 5]), seed, dtype=name)
            yield of("StatelessTruncatedNormal", known([3, 5]), seed, dtype=name)
        for dtype in ("i4", "i8"):
            low, high = (np.asarray(n, DTYPES[dtype]) for n in (-3, 20))
            yield of("StatelessRandomUniformInt", known([3, 3]), seed, low, high)
        for dtype in ("i4", "i8", "u4", "u8"):
            yield of("StatelessRandomUniformFullInt", known([3, 3]), seed, dtype=DTYPES[dtype].name)
        yield of("StatelessMultinomial", some((1, 4), "f"), known(5), seed)
    yield of("StatelessRandomGetAlg")
    key, counter = np.array([1 << 63], np.uint64), np.array([5, (1 << 64) - 1], np.uint64)
    for alg in (1, 3):
        rest = (key, counter, known(alg))
        for dtype in FLOATS:
            name = DTYPES[dtype].name
            for way in ("Uniform", "Normal"):
                yield of(f"StatelessRandom{way}V2", known([3, 5]), *rest, dtype=name)
            yield of("StatelessTruncatedNormalV2", known([3, 5]), *rest, dtype=name)
        for dtype in ("i4", "i8", "u4", "u8"):
            low, high = (np.asarray(n, DTYPES[dtype]) for n in (3, 200))
            yield of("StatelessRandomUniformIntV2", known([3, 3]), *rest, low, high)
            yield of("StatelessRandomUniformFullIntV2", known([3, 3]), *rest,
                     dtype=DTYPES[dtype].name)  # fmt: skip


def generators() -> Iterator[Sample]:
    """Random numbers of a generator that a variable holds, whose state is a result."""
    state = np.array([5, -1, 1 << 62], np.int64)
    ends = np.array([-300, 7, 3], np.int64)  # whose counter's lower half overflows
    alg, shape = known(1, "i8"), known([3, 5], "i8")
    for dtype in FLOATS:
        name = DTYPES[dtype].name
        for way in ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal"):
            yield _on(way, [state], alg, shape, dtype=name)
    for dtype in ("i4", "i8", "u4", "u8"):
        if dtype[0] == "i":
            low, high = (np.asarray(n, DTYPES[dtype]) for n in (-3, 200))
            yield _on("StatefulUniformInt", [ends], alg, known([2, 3]), low, high)
        yield _on("StatefulUniformFullInt", [state], alg, shape, dtype=DTYPES[dtype].name)
    for held in (state, ends):
        yield _on("RngReadAndSkip", [held], known(1), np.uint64(7))
        yield _on("RngSkip", [held], alg, np.int64(1 << 40))


def samples() -> Iterator[Sample]:
    for family in (optimizers, scatters, random, generators):
        yield from family()
