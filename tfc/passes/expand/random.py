"""Random numbers in plain operations on integers.

    r = (u64[2], u32[5]) rng-bit-generator(state), algorithm=rng_three_fry
      --> counters state[1], state[1] + 1 …; twenty rounds of Threefry on them under the key
          state[0]; the two words of each block put side by side; state[1] + 3
    y = f32[5] rng(a, b), distribution=rng_uniform
      --> bits of Philox from rng-get-and-update-state, as numbers in [a, b)

A block's words are computed at one place, joined to 64 bits, so that one loop makes them all.
"""

from collections.abc import Sequence
from math import pi, prod

from tfc.hlo import builder
from tfc.hlo.builder import binary, convert, full, unary
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.random import (
    PHILOX_KEY_STEPS,
    PHILOX_MULTIPLIERS,
    PHILOX_ROUNDS,
    STATE,
    THREEFRY_GROUPS,
    THREEFRY_PARITY,
    THREEFRY_ROTATIONS,
    halved_dimension,
)
from tfc.hlo.shape import ELEMENT_TYPES, F32, F64, U32, U64, ElementType, Shape, TupleShape

Words = list[Instruction]


def _add(x: Instruction, y: Instruction | int) -> Instruction:
    return binary("add", x, _constant_like(x, y))


def _xor(x: Instruction, y: Instruction | int) -> Instruction:
    return binary("xor", x, _constant_like(x, y))


def _multiply(x: Instruction, y: Instruction | int) -> Instruction:
    return binary("multiply", x, _constant_like(x, y))


def _left(x: Instruction, by: int) -> Instruction:
    return binary("shift-left", x, _constant_like(x, by))


def _right(x: Instruction, by: int) -> Instruction:
    return binary("shift-right-logical", x, _constant_like(x, by))


def _constant_like(x: Instruction, value: Instruction | int) -> Instruction:
    return full(value, x.array_shape) if isinstance(value, int) else value


def _words(value: Instruction) -> Words:
    """The low and the high half of 64 bits."""
    return [convert(value, U32), convert(_right(value, 32), U32)]


def _join(low: Instruction, high: Instruction) -> Instruction:
    """64 bits of two words."""
    return binary("or", convert(low, U64), _left(convert(high, U64), 32))


def _split(value: Instruction) -> Instruction:
    """The words of 64 bits along a new last dimension, the low one first."""
    rank, dims = value.array_shape.rank, (*value.array_shape.dims, 2)
    twice = builder.broadcast(value, dims, range(rank))
    amount = _multiply(builder.iota(Shape(U64, dims), rank), 32)
    return convert(binary("shift-right-logical", twice, amount), U32)


def _element(vector: Instruction, index: int) -> Instruction:
    """One element of a vector, as a scalar."""
    one = builder.instruction("slice", [vector], slice=((index, index + 1, 1),))
    return builder.reshape(one, ())


def _repeat(scalar: Instruction, dims: Sequence[int]) -> Instruction:
    return builder.broadcast(scalar, dims, ()) if dims else scalar


def _state(parts: Sequence[Instruction]) -> Instruction:
    """The vector of scalars."""
    return builder.instruction(
        "concatenate", [builder.reshape(p, (1,)) for p in parts], dimensions=(0,)
    )


def _count(dims: Sequence[int]) -> Instruction:
    """u64: 0, 1, 2 … in row-major order."""
    return builder.reshape(builder.iota(Shape(U64, (prod(dims),)), 0), dims)


def _first(values: Instruction, dims: Sequence[int]) -> Instruction:
    """What lies below `dims` in each dimension."""
    if values.array_shape.dims == tuple(dims):
        return values
    return builder.instruction("slice", [values], slice=tuple((0, n, 1) for n in dims))


def _threefry(counter: Instruction, key: Instruction) -> Instruction:
    """64 random bits for each counter."""
    keys = _words(key)
    keys.append(_xor(_xor(keys[0], keys[1]), THREEFRY_PARITY))
    x, y = (_add(w, k) for w, k in zip(_words(counter), keys))
    for group in range(THREEFRY_GROUPS):
        for rotation in THREEFRY_ROTATIONS[group % 2]:
            x = _add(x, y)
            y = _xor(x, binary("or", _left(y, rotation), _right(y, 32 - rotation)))
        x = _add(x, keys[(group + 1) % 3])
        y = _add(y, _add(keys[(group + 2) % 3], group + 1))
    return _join(x, y)


def _threefry_bits(state: Instruction, dims: tuple[int, ...], width: int) -> Words:
    """[new state, bits]: one block for each 64 bits."""
    blocks, split = dims, 0
    if width == 32:
        blocks, split = dims or (1,), halved_dimension(dims or (1,))
        blocks = tuple(-(-n // 2) if d == split else n for d, n in enumerate(blocks))
    key, start = (_element(state, i) for i in range(2))
    counter = binary("add", _repeat(start, blocks), _count(blocks))
    bits = _threefry(counter, _repeat(key, blocks))
    if width == 32:
        words = _split(bits)
        order = [*range(split + 1), len(blocks), *range(split + 1, len(blocks))]
        moved = builder.instruction("transpose", [words], dimensions=tuple(order))
        whole = [2 * n if d == split else n for d, n in enumerate(blocks)]
        bits = builder.reshape(_first(builder.reshape(moved, whole), dims or (1,)), dims)
    return [_state([key, _add(start, prod(blocks))]), bits]


def _multiply_wide(x: Instruction, y: int) -> Words:
    """[low, high] of the product of 32-bit words."""
    return _words(_multiply(convert(x, U64), y))


def _philox(words: Words, key: Words) -> Words:
    a, b, c, d = words
    for number in range(PHILOX_ROUNDS):
        (low, high), (other_low, other_high) = (
            _multiply_wide(x, m) for x, m in zip((a, c), PHILOX_MULTIPLIERS)
        )
        left, right = (_add(k, number * step % (1 << 32)) for k, step in zip(key, PHILOX_KEY_STEPS))
        a, b = _xor(_xor(other_high, b), left), other_low
        c, d = _xor(_xor(high, d), right), low
    return [a, b, c, d]


def _philox_bits(state: Instruction, dims: tuple[int, ...], width: int) -> Words:
    """[new state, bits]: one block for each 128 bits.

    Both halves of a block are computed by themselves, each with all rounds: one loop without
    anything to store between is faster than four words that are stored.
    """
    size = prod(dims)
    blocks = -(-size * width // 128)
    at = (blocks, 2)
    states = state.array_shape.dims[0]
    key, low, high = (_element(state, i) for i in (0, 1, 2 if states == 3 else 0))
    counter = _sum(_repeat(low, at), _repeat(high, at), builder.iota(Shape(U64, at), 0))
    words = [w for half in counter for w in _words(half)]
    a, b, c, d = _philox(words, _words(_repeat(key, at)))
    is_first = builder.compare("EQ", builder.iota(Shape(U32, at), 1), full(0, Shape(U32, at)))
    bits = builder.instruction("select", [is_first, _join(a, b), _join(c, d)])
    flat = builder.reshape(bits if width == 64 else _split(bits), (blocks * 128 // width,))
    advanced = _sum(low, high, full(blocks, Shape(U64)))[: states - 1]
    return [_state([key, *advanced]), builder.reshape(_first(flat, (size,)), dims)]


def _sum(low: Instruction, high: Instruction, step: Instruction) -> Words:
    """[low, high] of 128 bits plus 64."""
    total = binary("add", low, step)
    carried = builder.instruction(
        "select", [builder.compare("LT", total, low), _add(high, 1), high]
    )
    return [total, carried]


def _generate(algorithm: str, state: Instruction, shape: Shape) -> Words:
    """[new state, an array of random bits of a type of any width]."""
    bits, element_type = shape.element_type.bits, shape.element_type
    generate = _threefry_bits if algorithm == "rng_three_fry" else _philox_bits
    new, words = generate(state, shape.dims, max(bits, 32))
    narrow = convert(words, ELEMENT_TYPES[f"u{bits}"])
    if element_type.kind != "unsigned":
        plain = Shape(element_type, shape.dims)
        narrow = builder.instruction("bitcast-convert", [narrow], shape=plain)
    return [new, narrow]


def bit_generator(x: Instruction) -> Instruction:
    """The expansion of rng-bit-generator: (new state, bits)."""
    assert isinstance(x.shape, TupleShape)
    shape = x.shape.elements[1]
    assert isinstance(shape, Shape)
    return builder.instruction("tuple", _generate(x["algorithm"], x.operands[0], shape))


def _program_bits(element_type: ElementType, dims: tuple[int, ...]) -> Instruction:
    """Random bits from the state that the program keeps, which moves past the blocks used."""
    blocks = -(-prod(dims) * element_type.bits // 128)
    counter = builder.instruction("rng-get-and-update-state", [], shape=STATE, delta=blocks)
    key = builder.constant([0], U64)  # any key will do: the counter makes the numbers differ
    state = builder.instruction("concatenate", [key, counter], dimensions=(0,))
    return _generate("rng_philox", state, Shape(element_type, dims))[1]


def _scaled(number: Instruction, by: float) -> Instruction:
    return binary("multiply", number, full(by, number.array_shape))


def _unit(bits: Instruction, wide: ElementType) -> Instruction:
    """Numbers in [0, 1), all multiples of the distance between those next to 1."""
    digits = wide.float_limits.nmant + 1
    return _scaled(convert(_right(bits, wide.bits - digits), wide), 2.0**-digits)


def _uniform(low: Instruction, high: Instruction, shape: Shape) -> Instruction:
    """Numbers in [low, high); low if there are none (RU-1)."""
    low, high = (_repeat(v, shape.dims) for v in (low, high))
    if shape.element_type.is_integer:
        bits = _program_bits(U64, shape.dims)
        size = binary("subtract", convert(high, U64), convert(low, U64))
        drawn = _add(low, convert(binary("remainder", bits, size), shape.element_type))
        inside = builder.compare("LT", low, high)
    else:
        wide = F64 if shape.element_type == F64 else F32
        unit = _unit(_program_bits(ELEMENT_TYPES[f"u{wide.bits}"], shape.dims), wide)
        start, end = convert(low, wide), convert(high, wide)
        steps = binary("multiply", binary("subtract", end, start), unit)
        drawn = convert(_add(start, steps), shape.element_type)
        inside = builder.compare("LT", drawn, high)  # rounding may have reached the end
    return builder.instruction("select", [inside, drawn, low])


def _normal(mean: Instruction, deviation: Instruction, shape: Shape) -> Instruction:
    """Numbers of the normal distribution, by Box and Muller's transform (RN-1)."""
    wide = F64 if shape.element_type == F64 else F32
    bits = _program_bits(ELEMENT_TYPES[f"u{wide.bits}"], (2, *shape.dims))
    bounds = [(0, n, 1) for n in shape.dims]
    first, second = (
        builder.reshape(
            builder.instruction("slice", [bits], slice=((k, k + 1, 1), *bounds)), shape.dims
        )
        for k in range(2)
    )
    # All bits count, and half a step is added: in (0, 1], so that the logarithm is finite.
    positive = convert(first, wide)
    positive = _add(positive, full(0.5, positive.array_shape))
    logarithm = unary("log", _scaled(positive, 2.0**-wide.bits))
    angle = _scaled(_unit(second, wide), 2 * pi)
    number = binary("multiply", unary("sqrt", _scaled(logarithm, -2.0)), unary("cosine", angle))
    scaled = binary("multiply", convert(deviation, wide), number)
    return convert(binary("add", convert(mean, wide), scaled), shape.element_type)


def random_numbers(x: Instruction) -> Instruction:
    """The expansion of rng."""
    first, second = x.operands
    make = _uniform if x["distribution"] == "rng_uniform" else _normal
    return make(first, second, x.array_shape.with_layout(None))
