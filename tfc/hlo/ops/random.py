"""Random numbers: bits from an explicit state, and numbers from the state that a program keeps.

Semantics: XLA's for rng-bit-generator, bit for bit; RN-1 and RU-1 of the operation semantics for
rng, whose values are only distributed as it says. The generators are Threefry-2x32 (20 rounds) and
Philox-4x32 (10 rounds) of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

import threading
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Op,
    Value,
    always,
    describe,
    register,
    require,
    require_array,
    require_stated,
)
from tfc.hlo.ops.elementwise.conversions import convert_array
from tfc.hlo.ops.elementwise.families import FLOAT, INT, apply, require_kind
from tfc.hlo.shape import U64, AnyShape, Shape, TupleShape
from tfc.hlo.traits import Accuracy, Category, Cost

Array = np.ndarray
# The default is Philox, as on XLA's CPU backend.
STATE_SIZES = {"rng_default": (2, 3), "rng_three_fry": (2,), "rng_philox": (2, 3)}
DISTRIBUTIONS = ("rng_uniform", "rng_normal")
INITIAL_STATE = 0x7012395  # of the state that a program keeps, as in XLA
STATE = Shape(U64, (2,))

THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREEFRY_PARITY = 0x1BD11BDA
THREEFRY_GROUPS = 5  # of four rounds each
PHILOX_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
PHILOX_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
PHILOX_ROUNDS = 10


def halved_dimension(dims: Sequence[int]) -> int:
    """The dimension that Threefry's two words go along: the first even one, or else the largest."""
    even = (d for d, n in enumerate(dims) if n % 2 == 0)
    return next(even, max(range(len(dims)), key=lambda d: dims[d]))


def _infer_bits(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> TupleShape:
    name, algorithm = "rng-bit-generator", a["algorithm"]
    state = require_array(name, shapes[0])
    require(algorithm in STATE_SIZES, name, f"an algorithm {' '.join(STATE_SIZES)}", algorithm)
    require(
        state.element_type == U64 and state.dims in [(n,) for n in STATE_SIZES[algorithm]],
        name,
        f"a state of {' or '.join(f'u64[{n}]' for n in STATE_SIZES[algorithm])} for {algorithm}",
        state,
    )
    require(
        isinstance(stated, TupleShape)
        and len(stated.elements) == 2
        and stated.elements[0].is_compatible(state)
        and isinstance(stated.elements[1], Shape),
        name,
        "its result to be stated as the state and an array",
        stated.without_layout() if stated else "none",
    )
    assert isinstance(stated, TupleShape)
    result = require_array(name, stated.elements[1])
    require(
        result.element_type.kind in INT | FLOAT, name, "bits of an integer or float type", result
    )
    return stated


def _words(value: Array) -> tuple[Array, Array]:
    """The low and the high half of 64 bits."""
    return value.astype(np.uint32), (value >> np.uint64(32)).astype(np.uint32)


def _threefry(words: tuple[Array, Array], key: tuple[Array, Array]) -> tuple[Array, Array]:
    keys = (*key, key[0] ^ key[1] ^ np.uint32(THREEFRY_PARITY))
    x, y = words[0] + keys[0], words[1] + keys[1]
    for group in range(THREEFRY_GROUPS):
        for rotation in THREEFRY_ROTATIONS[group % 2]:
            x = x + y
            y = x ^ (y << np.uint32(rotation) | y >> np.uint32(32 - rotation))
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def _threefry_bits(state: Array, dims: Sequence[int], width: int) -> tuple[Array, Array]:
    """(new state, unsigned bits of 32 or 64): one counter for two words of 32 bits."""
    if width == 64:
        blocks, split = tuple(dims), 0
    else:
        blocks, split = tuple(dims) or (1,), halved_dimension(tuple(dims) or (1,))
        blocks = tuple(-(-n // 2) if d == split else n for d, n in enumerate(blocks))
    count = int(np.prod(blocks, dtype=int))
    counter = (state[1] + np.arange(count, dtype=np.uint64)).reshape(blocks)
    x, y = _threefry(_words(counter), _words(state[:1]))
    new = np.array([state[0], state[1] + np.uint64(count)])
    if width == 64:
        return new, x.astype(np.uint64) | y.astype(np.uint64) << np.uint64(32)
    both = np.stack([x, y], split + 1)
    whole = both.reshape([2 * n if d == split else n for d, n in enumerate(blocks)])
    return new, whole[tuple(slice(n) for n in dims)] if dims else whole[0]


def _philox(words: list[Array], key: list[Array]) -> list[Array]:
    a, b, c, d = words
    for _ in range(PHILOX_ROUNDS):
        first, second = (x.astype(np.uint64) * np.uint64(m)
                         for x, m in zip((a, c), PHILOX_MULTIPLIERS))  # fmt: skip
        (low, high), (other_low, other_high) = _words(first), _words(second)
        a, b, c, d = other_high ^ b ^ key[0], other_low, high ^ d ^ key[1], low
        key = [k + np.uint32(step) for k, step in zip(key, PHILOX_KEY_STEPS)]
    return [a, b, c, d]


def _philox_bits(state: Array, dims: Sequence[int], width: int) -> tuple[Array, Array]:
    """(new state, unsigned bits of 32 or 64): one counter of 128 bits for four words.

    The state is the key and the counter, low half first; a state of two has the key as the high
    half, too.
    """
    size = int(np.prod(dims, dtype=int))
    count = -(-size * width // 128)
    low, high = state[1], state[2] if len(state) == 3 else state[0]
    steps = low + np.arange(count + 1, dtype=np.uint64)
    carried = np.where(steps < low, high + np.uint64(1), high)
    words = [*_words(steps[:-1]), *_words(carried[:-1])]
    bits = np.stack(_philox(words, list(_words(state[:1]))), 1).reshape(-1)
    new = np.array([state[0], steps[-1], carried[-1]])[: len(state)]
    return new, bits.view(f"u{width // 8}")[:size].reshape(dims)


def _evaluate_bits(x: Instruction, values: Sequence[Value], _: Call) -> tuple[Array, Array]:
    assert isinstance(x.shape, TupleShape)
    shape = require_array(x.opcode, x.shape.elements[1])
    element_type = shape.element_type
    generate = _threefry_bits if x["algorithm"] == "rng_three_fry" else _philox_bits
    with np.errstate(over="ignore"):
        state, bits = generate(values[0], shape.dims, max(element_type.bits, 32))
    if element_type.bits < 8:  # held in a byte each
        bits = bits & np.uint32((1 << element_type.bits) - 1)
        return state, bits.astype(np.uint8).astype(element_type.dtype)
    narrow = bits.astype(f"u{element_type.bytes}")
    return state, narrow.reshape(-1).view(element_type.dtype).reshape(shape.dims)


class _ProgramState:
    """The state that programs keep, in the evaluator: one for the process."""

    def __init__(self) -> None:
        self.counter, self.lock = INITIAL_STATE, threading.Lock()

    @cached_property
    def numbers(self) -> "np.random.Generator":
        """What `rng` draws from; NumPy loads its generators when it is asked for them."""
        return np.random.default_rng(INITIAL_STATE)

    def advance(self, delta: int) -> int:
        """Add to the counter of 128 bits and give what it was."""
        with self.lock:
            before = self.counter
            self.counter = (before + delta) % (1 << 128)
        return before


_state = _ProgramState()


def _infer_state(_: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> Shape:
    name = "rng-get-and-update-state"
    result = require_stated(name, stated)
    require(result.is_compatible(STATE), name, f"the result {STATE.without_layout()}", result)
    require(a["delta"] >= 0, name, "a delta that is not negative", a["delta"])
    return result


def _evaluate_state(x: Instruction, _: Sequence[Value], __: Call) -> Array:
    before = _state.advance(x["delta"])
    return np.array([before % (1 << 64), before >> 64], np.uint64)


def _infer_rng(shapes: Sequence[AnyShape], a: Attributes, stated: AnyShape | None) -> Shape:
    distribution, result = a["distribution"], require_stated("rng", stated)
    known = distribution in DISTRIBUTIONS
    require(known, "rng", f"a distribution {' '.join(DISTRIBUTIONS)}", distribution)
    scalar = Shape(result.element_type)
    require(
        all(s.is_compatible(scalar) for s in shapes),
        "rng",
        f"two scalars of its result's type {result.element_type}",
        describe(shapes),
        "RU-1" if distribution == "rng_uniform" else "RN-1",
    )
    require_kind("rng", result.element_type, FLOAT if distribution == "rng_normal" else INT | FLOAT)
    wide = result.element_type.bits >= (16 if result.element_type.is_float else 8)
    require(wide, "rng", "integers of 8 bits or floats of 16 at least", result.element_type)
    return result


def _evaluate_rng(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    """Distributed as stated; an interval [a, b) that is empty gives a."""
    shape = x.array_shape
    if x["distribution"] == "rng_normal":
        numbers = _state.numbers.standard_normal(shape.dims)
        return apply(lambda m, s: m + s * numbers, shape.element_type, values)
    low, high = values
    if shape.element_type.is_integer:
        last = max(int(low), int(high) - 1)
        drawn = _state.numbers.integers(int(low), last, shape.dims, low.dtype, endpoint=True)
        return np.asarray(drawn)
    numbers = _state.numbers.random(shape.dims)
    wide = low.astype(np.float64) + (high.astype(np.float64) - low.astype(np.float64)) * numbers
    drawn = convert_array(wide, shape.element_type)
    return np.where(drawn < high, drawn, low)


# fmt: off
register(Op("rng-bit-generator", 1, _infer_bits, _evaluate_bits,
            (Attribute("algorithm", "name"),), needs_shape=True,
            category=Category.OTHER, cost=Cost.OWN, accuracy=Accuracy.BITS))
register(Op("rng-get-and-update-state", 0, _infer_state, _evaluate_state,
            (Attribute("delta", "int"),), needs_shape=True, side_effect=always,
            category=Category.OTHER, cost=Cost.OWN, accuracy=Accuracy.BITS))
register(Op("rng", 2, _infer_rng, _evaluate_rng,
            (Attribute("distribution", "name"),), needs_shape=True, side_effect=always,
            category=Category.OTHER, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE))
# fmt: on
