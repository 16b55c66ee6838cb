"""Programs of extreme shapes as HLO text; no name in them is that of an element type (s8, c64)."""

from collections.abc import Callable, Iterable

_F = "f32[8]{0}"
_ADD = "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"


def _module(entry: Iterable[str], others: str = "") -> str:
    return f"HloModule extreme\n{others}ENTRY e {{\n" + "\n".join(f"  {i}" for i in entry) + "\n}\n"


def _chain(step: Callable[[int, str], str], first: Iterable[str] = ()) -> Callable[[int], str]:
    """A program of one operation after another; `step` gives the i-th, of the value before it."""

    def make(size: int) -> str:
        lines = [f"v0 = {_F} parameter(0)", *first]
        lines += [f"v{i} = {step(i, f'v{i - 1}')}" for i in range(1, size)]
        return _module([*lines, f"ROOT v{size} = {step(size, f'v{size - 1}')}"])

    return make


def _calls(size: int, each: int = 1) -> str:
    """Computations of which each calls the next so many times."""
    parts = [f"part0 {{\n  p = {_F} parameter(0)\n  ROOT n = {_F} sine(p)\n}}\n"]
    for i in range(1, size):
        if each == 1:
            body = [f"n = {_F} call(p), to_apply=part{i - 1}", f"ROOT s = {_F} add(n, p)"]
        else:
            body = [f"n = {_F} call(p), to_apply=part{i - 1}",
                    f"ROOT s = {_F} call(n), to_apply=part{i - 1}"]  # fmt: skip
        parts.append(f"part{i} {{\n  p = {_F} parameter(0)\n  " + "\n  ".join(body) + "\n}\n")
    entry = [f"p = {_F} parameter(0)", f"ROOT r = {_F} call(p), to_apply=part{size - 1}"]
    return _module(entry, "".join(parts))


def _sort(size: int) -> str:
    comparator = [f"  a{i} = f32[] parameter({2 * i})\n  b{i} = f32[] parameter({2 * i + 1})"
                  for i in range(size)]  # fmt: skip
    comparator.append("  ROOT l = pred[] compare(a0, b0), direction=LT")
    lines = [f"p{i} = f32[64]{{0}} parameter({i})" for i in range(size)]
    operands = ", ".join(f"p{i}" for i in range(size))
    shape = f"({', '.join(['f32[64]{0}'] * size)})"
    lines.append(f"ROOT s = {shape} sort({operands}), dimensions={{0}}, to_apply=less")
    return _module(lines, "less {\n" + "\n".join(comparator) + "\n}\n")


def _sines(size: int) -> str:
    """The sum of sines of sums: one expression in which every sine is wanted once."""
    lines = [f"p = {_F} parameter(0)"]
    for i in range(size):
        lines += [f"k{i} = f32[] constant({i + 1})",
                  f"b{i} = {_F} broadcast(k{i}), dimensions={{}}",
                  f"m{i} = {_F} multiply(p, b{i})", f"y{i} = {_F} sine(m{i})"]  # fmt: skip
    total = "y0"
    for i in range(1, size):
        lines.append(f"t{i} = {_F} add({total}, y{i})")
        total = f"t{i}"
    return _module([*lines, f"ROOT r = {_F} copy({total})"])


def _constant(size: int) -> str:
    numbers = ", ".join(str(i % 1000 / 8) for i in range(size))
    shape = f"f32[{size}]{{0}}"
    return _module([
        f"p = {shape} parameter(0)", f"c = {shape} constant({{{numbers}}})",
        f"ROOT r = {shape} add(p, c)",
    ])  # fmt: skip


def _parameters(size: int) -> str:
    lines = [f"p{i} = {_F} parameter({i})" for i in range(size)]
    lines.append(f"t1 = {_F} add(p0, p1)")
    lines += [f"t{i} = {_F} add(t{i - 1}, p{i})" for i in range(2, size)]
    return _module([*lines, f"ROOT r = {_F} negate(t{size - 1})"])


def _results(size: int) -> str:
    lines = [f"p = {_F} parameter(0)"]
    for i in range(size):
        lines += [f"k{i} = f32[] constant({i + 1})",
                  f"b{i} = {_F} broadcast(k{i}), dimensions={{}}",
                  f"m{i} = {_F} multiply(p, b{i})"]  # fmt: skip
    shape = ", ".join([_F] * size)
    return _module([*lines, f"ROOT r = ({shape}) tuple({', '.join(f'm{i}' for i in range(size))})"])


def _nested_tuple(size: int) -> str:
    shapes, lines = [_F], [f"t0 = {_F} parameter(0)"]
    for i in range(1, size + 1):
        shapes.append(f"({shapes[-1]})")
        root = "ROOT " if i == size else ""
        lines.append(f"{root}t{i} = {shapes[-1]} tuple(t{i - 1})")
    return _module(lines)


def _nested_tuple_apart(size: int) -> str:
    """As deep, but only a parameter's type, of which one number is used."""
    shape = "(" * size + _F + ")" * size
    lines = [f"t0 = {shape} parameter(0)"]
    for i in range(1, size + 1):
        shape = shape[1:-1]
        lines.append(f"t{i} = {shape} get-tuple-element(t{i - 1}), index=0")
    return _module([*lines, f"ROOT r = {_F} negate(t{size})"])


def _fan_out(size: int) -> str:
    lines = [f"p = {_F} parameter(0)", f"x = {_F} exponential(p)"]
    for i in range(size):
        lines += [f"k{i} = f32[] constant({i + 1})",
                  f"b{i} = {_F} broadcast(k{i}), dimensions={{}}",
                  f"m{i} = {_F} multiply(x, b{i})"]  # fmt: skip
    total = "m0"
    for i in range(1, size):
        lines.append(f"t{i} = {_F} add({total}, m{i})")
        total = f"t{i}"
    return _module([*lines, f"ROOT r = {_F} add({total}, x)"])


def _concatenate(size: int) -> str:
    lines = [f"p = {_F} parameter(0)"]
    for i in range(size):
        lines += [f"k{i} = f32[] constant({i + 1})",
                  f"b{i} = {_F} broadcast(k{i}), dimensions={{}}",
                  f"m{i} = {_F} multiply(p, b{i})"]  # fmt: skip
    operands = ", ".join(f"m{i}" for i in range(size))
    return _module(
        [*lines, f"ROOT r = f32[{8 * size}]{{0}} concatenate({operands}), dimensions={{0}}"]
    )


def _wide_reduce(size: int) -> str:
    body = [f"  a{i} = f32[] parameter({i})" for i in range(size)]
    body += [f"  b{i} = f32[] parameter({size + i})" for i in range(size)]
    body += [f"  t{i} = f32[] add(a{i}, b{i})" for i in range(size)]
    scalars = ", ".join(["f32[]"] * size)
    body.append(f"  ROOT t = ({scalars}) tuple({', '.join(f't{i}' for i in range(size))})")
    lines = [f"p{i} = f32[16,8]{{1,0}} parameter({i})" for i in range(size)] + [
        "z = f32[] constant(0)"
    ]
    operands = ", ".join([*(f"p{i}" for i in range(size)), *["z"] * size])
    shape = ", ".join(["f32[16]{0}"] * size)
    lines.append(f"ROOT r = ({shape}) reduce({operands}), dimensions={{1}}, to_apply=all")
    return _module(lines, "all {\n" + "\n".join(body) + "\n}\n")


def _whiles(size: int) -> str:
    """Loops within loops."""
    state = f"(s32[], {_F})"
    parts = ["less {\n  s = " + state + " parameter(0)\n"
             "  i = s32[] get-tuple-element(s), index=0\n"
             "  n = s32[] constant(2)\n"
             "  ROOT l = pred[] compare(i, n), direction=LT\n}\n"]  # fmt: skip
    for i in range(size):
        inner = f"w = {_F} sine(x)" if i == 0 else (
            f"z = s32[] constant(0)\n  t = {state} tuple(z, x)\n"
            f"  l = {state} while(t), condition=less, body=b{i - 1}\n"
            f"  w = {_F} get-tuple-element(l), index=1")  # fmt: skip
        parts.append(
            f"b{i} {{\n  s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
            f"  x = {_F} get-tuple-element(s), index=1\n  {inner}\n  one = s32[] constant(1)\n"
            f"  j = s32[] add(i, one)\n  ROOT r = {state} tuple(j, w)\n}}\n")  # fmt: skip
    entry = [f"x = {_F} parameter(0)", "z = s32[] constant(0)", f"t = {state} tuple(z, x)",
             f"l = {state} while(t), condition=less, body=b{size - 1}",
             f"ROOT w = {_F} get-tuple-element(l), index=1"]  # fmt: skip
    return _module(entry, "".join(parts))


def _conditionals(size: int) -> str:
    """Conditionals within branches, each with a predicate of its own."""
    state = f"(s32[], {_F})"
    parts = []
    for i in range(size):
        inner = (
            f"w = {_F} sine(x)"
            if i == 0
            else (
                f"n = s32[] constant({i})\n  c = pred[] compare(k, n), direction=LT\n"
                f"  w = {_F} conditional(c, s, s), true_computation=yes{i - 1}, "
                f"false_computation=no{i - 1}"
            )
        )
        head = f"s = {state} parameter(0)\n  k = s32[] get-tuple-element(s), index=0\n" \
               f"  x = {_F} get-tuple-element(s), index=1"  # fmt: skip
        parts.append(f"yes{i} {{\n  {head}\n  {inner}\n  ROOT r = {_F} add(w, x)\n}}\n"
                     f"no{i} {{\n  {head}\n  ROOT r = {_F} cosine(x)\n}}\n")  # fmt: skip
    entry = ["k = s32[] parameter(0)", f"x = {_F} parameter(1)", f"s = {state} tuple(k, x)",
             "n = s32[] constant(-1)", "c = pred[] compare(k, n), direction=LT",
             f"ROOT w = {_F} conditional(c, s, s), true_computation=yes{size - 1}, "
             f"false_computation=no{size - 1}"]  # fmt: skip
    return _module(entry, "".join(parts))


def _branches(size: int) -> str:
    parts = [f"b{i} {{\n  x = {_F} parameter(0)\n  c = f32[] constant({i})\n"
             f"  b = {_F} broadcast(c), dimensions={{}}\n  ROOT r = {_F} multiply(x, b)\n}}\n"
             for i in range(size)]  # fmt: skip
    operands = ", ".join(["k", *["x"] * size])
    listed = ", ".join(f"b{i}" for i in range(size))
    entry = ["k = s32[] parameter(0)", f"x = {_F} parameter(1)",
             f"ROOT w = {_F} conditional({operands}), "
             f"branch_computations={{{listed}}}"]  # fmt: skip
    return _module(entry, "".join(parts))


def _maps(size: int) -> str:
    """Maps within maps: computations in place, each in another."""
    parts = ["m0 {\n  a = f32[] parameter(0)\n  ROOT r = f32[] sine(a)\n}\n"]
    parts += [f"m{i} {{\n  a = f32[] parameter(0)\n  b = f32[] map(a), dimensions={{}}, "
              f"to_apply=m{i - 1}\n  ROOT r = f32[] add(a, b)\n}}\n"
              for i in range(1, size)]  # fmt: skip
    entry = [f"x = {_F} parameter(0)",
             f"ROOT w = {_F} map(x), dimensions={{0}}, to_apply=m{size - 1}"]  # fmt: skip
    return _module(entry, "".join(parts))


def _reduce_calls(size: int) -> str:
    """A reduction whose computation calls one that calls one …"""
    parts = [_ADD.replace("sum", "part0")]
    parts += [f"part{i} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
              f"  d = f32[] call(a, b), to_apply=part{i - 1}\n  ROOT r = f32[] add(a, d)\n}}\n"
              for i in range(1, size)]  # fmt: skip
    entry = ["x = f32[16,8]{1,0} parameter(0)", "z = f32[] constant(0)",
             "ROOT w = f32[16]{0} reduce(x, z), dimensions={1}, "
             f"to_apply=part{size - 1}"]  # fmt: skip
    return _module(entry, "".join(parts))


def _reshapes(size: int) -> str:
    lines, shape = ["v0 = f32[24]{0} parameter(0)"], ""
    for i in range(1, size + 1):
        shape, root = ("f32[4,6]{1,0}", "f32[24]{0}")[i % 2 == 0], "ROOT " if i == size else ""
        lines.append(f"{root}v{i} = {shape} reshape(v{i - 1})")
    return _module(lines)


def _transposes(size: int) -> str:
    """Transposes and reshapes that do not cancel."""
    lines, value = ["v0 = f32[4,6]{1,0} parameter(0)"], "v0"
    for i in range(1, size + 1):
        lines += [f"t{i} = f32[6,4]{{1,0}} transpose({value}), dimensions={{1,0}}",
                  f"v{i} = f32[4,6]{{1,0}} reshape(t{i})"]  # fmt: skip
        value = f"v{i}"
    return _module([*lines, f"ROOT r = f32[4,6]{{1,0}} negate({value})"])


def _rank(size: int) -> str:
    """An array of many dimensions of which one is not 1, and others of 2."""
    dims = [2 if i < 12 else 1 for i in range(size)]
    layout = ",".join(str(i) for i in reversed(range(size)))
    shape = f"f32[{','.join(map(str, dims))}]{{{layout}}}"
    turned = f"f32[{','.join(map(str, reversed(dims)))}]{{{layout}}}"
    return _module([
        f"p = {shape} parameter(0)", f"t = {turned} transpose(p), dimensions={{{layout}}}",
        f"v = {turned} reverse(t), dimensions={{{','.join(map(str, range(size)))}}}",
        f"ROOT n = {turned} sine(v)",
    ])  # fmt: skip


def _gather(size: int) -> str:
    """A gather of an array of many dimensions, of as many start indices."""
    dims = ",".join(str(2 if i < 12 else 1) for i in range(size))
    ones, numbers = ",".join(["1"] * size), ",".join(map(str, range(size)))
    layout = ",".join(str(i) for i in reversed(range(size)))
    return _module([
        f"p = f32[{dims}]{{{layout}}} parameter(0)", f"i = s32[7,{size}]{{1,0}} parameter(1)",
        f"g = f32[7]{{0}} gather(p, i), offset_dims={{}}, collapsed_slice_dims={{{numbers}}}, "
        f"start_index_map={{{numbers}}}, index_vector_dim=1, slice_sizes={{{ones}}}",
        "ROOT n = f32[7]{0} sine(g)",
    ])  # fmt: skip


def _scatter(size: int) -> str:
    dims, numbers = (
        ",".join(str(2 if i < 12 else 1) for i in range(size)),
        ",".join(map(str, range(size))),
    )
    layout = ",".join(str(i) for i in reversed(range(size)))
    return _module([
        f"p = f32[{dims}]{{{layout}}} parameter(0)", f"i = s32[7,{size}]{{1,0}} parameter(1)",
        "u = f32[7]{0} parameter(2)",
        f"ROOT g = f32[{dims}]{{{layout}}} scatter(p, i, u), update_window_dims={{}}, "
        f"inserted_window_dims={{{numbers}}}, scatter_dims_to_operand_dims={{{numbers}}}, "
        "index_vector_dim=1, to_apply=sum",
    ], _ADD)  # fmt: skip


def _selects(size: int) -> str:
    lines = [f"v0 = {_F} parameter(0)", f"k = {_F} parameter(1)"]
    for i in range(1, size + 1):
        lines += [f"k{i} = f32[] constant({i})", f"b{i} = {_F} broadcast(k{i}), dimensions={{}}",
                  f"l{i} = pred[8]{{0}} compare(k, b{i}), direction=LT",
                  f"v{i} = {_F} select(l{i}, v{i - 1}, b{i})"]  # fmt: skip
    return _module([*lines, f"ROOT r = {_F} negate(v{size})"])


def _dots(size: int) -> str:
    m = "f32[8,8]{1,0}"
    lines = [f"v0 = {m} parameter(0)", f"w = {m} parameter(1)"]
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    lines += [f"v{i} = {m} dot(v{i - 1}, w), {dims}" for i in range(1, size + 1)]
    return _module([*lines, f"ROOT r = {m} negate(v{size})"])


def _reduces(size: int) -> str:
    """Reductions of which no two are of one shape."""
    lines, parts = ["z = f32[] constant(0)"], []
    for i in range(size):
        a, b = i % 50 + 2, i // 50 + 2
        lines += [f"p{i} = f32[{a},{b}]{{1,0}} parameter({i})",
                  f"r{i} = f32[{a}]{{0}} reduce(p{i}, z), dimensions={{1}}, "
                  "to_apply=sum"]  # fmt: skip
        parts.append(f"f32[{a}]{{0}}")
    results = ", ".join(f"r{i}" for i in range(size))
    return _module([*lines, f"ROOT r = ({', '.join(parts)}) tuple({results})"], _ADD)


def _mixed(size: int) -> str:
    """A lattice: each value of a row has two users in the next, far more users than it is dear."""
    width, lines = 20, [f"v0x{j} = {_F} parameter({j})" for j in range(20)]
    for i in range(1, size // width + 1):
        op = ("add", "multiply", "maximum", "subtract")[i % 4]
        lines += [
            f"v{i}x{j} = {_F} {op}(v{i - 1}x{j}, v{i - 1}x{(j + i) % width})" for j in range(width)
        ]
    last = size // width
    total = [f"v{last}x{j}" for j in range(width)]
    return _module([*lines, f"ROOT r = ({', '.join([_F] * width)}) tuple({', '.join(total)})"])


def _shift_diamond(size: int) -> str:
    """x = shifted x + x: every step wants two indices of the one before."""
    lines = ["v0 = f32[256]{0} parameter(0)"]
    for i in range(1, size + 1):
        lines += [f"r{i} = f32[256]{{0}} reverse(v{i - 1}), dimensions={{0}}" if i % 2 else
                  f"r{i} = f32[256]{{0}} concatenate(q{i}, h{i}), dimensions={{0}}",
                  f"v{i} = f32[256]{{0}} add(v{i - 1}, r{i})"]  # fmt: skip
        if i % 2 == 0:
            lines[-2:-2] = [f"h{i} = f32[100]{{0}} slice(v{i - 1}), slice={{[0:100]}}",
                            f"q{i} = f32[156]{{0}} slice(v{i - 1}), "
                            "slice={[100:256]}"]  # fmt: skip
    return _module([*lines, f"ROOT r = f32[256]{{0}} negate(v{size})"])


def _pads(size: int) -> str:
    """Pads and slices one after another: the index of an element gets long."""
    lines, value = ["v0 = f32[64]{0} parameter(0)", "z = f32[] constant(0)"], "v0"
    for i in range(1, size + 1):
        lines += [f"p{i} = f32[67]{{0}} pad({value}, z), padding=1_2",
                  f"v{i} = f32[64]{{0}} slice(p{i}), slice={{[{i % 3}:{64 + i % 3}]}}"]  # fmt: skip
        value = f"v{i}"
    return _module([*lines, f"ROOT r = f32[64]{{0}} negate({value})"])


def _updates(size: int) -> str:
    lines, value = ["v0 = f32[64]{0} parameter(0)", "u = f32[4]{0} parameter(1)"], "v0"
    for i in range(1, size + 1):
        lines += [f"k{i} = s32[] constant({i % 60})",
                  f"v{i} = f32[64]{{0}} dynamic-update-slice({value}, u, k{i})"]  # fmt: skip
        value = f"v{i}"
    return _module([*lines, f"ROOT r = f32[64]{{0}} negate({value})"])


def _softmaxes(size: int) -> str:
    m = "f32[16,32]{1,0}"
    lines, value = [f"v0 = {m} parameter(0)", "z = f32[] constant(0)"], "v0"
    for i in range(1, size + 1):
        lines += [f"e{i} = {m} exponential({value})",
                  f"r{i} = f32[16]{{0}} reduce(e{i}, z), dimensions={{1}}, to_apply=sum",
                  f"b{i} = {m} broadcast(r{i}), dimensions={{0}}",
                  f"v{i} = {m} divide(e{i}, b{i})"]  # fmt: skip
        value = f"v{i}"
    return _module([*lines, f"ROOT r = {m} negate({value})"], _ADD)


def _wide_while(size: int) -> str:
    """A loop whose state has many arrays."""
    state = f"(s32[], {', '.join([_F] * size)})"
    less = (f"less {{\n  s = {state} parameter(0)\n"
            "  i = s32[] get-tuple-element(s), index=0\n"
            "  n = s32[] constant(5)\n"
            "  ROOT l = pred[] compare(i, n), direction=LT\n}\n")  # fmt: skip
    body = [f"s = {state} parameter(0)", "i = s32[] get-tuple-element(s), index=0",
            "one = s32[] constant(1)", "j = s32[] add(i, one)"]  # fmt: skip
    body += [f"x{k} = {_F} get-tuple-element(s), index={k + 1}" for k in range(size)]
    body += [f"y{k} = {_F} add(x{k}, x{(k + 1) % size})" for k in range(size)]
    body.append(f"ROOT r = {state} tuple(j, {', '.join(f'y{k}' for k in range(size))})")
    entry = [f"p{k} = {_F} parameter({k})" for k in range(size)]
    values = ", ".join(f"p{k}" for k in range(size))
    entry += ["z = s32[] constant(0)", f"t = {state} tuple(z, {values})",
              f"ROOT w = {state} while(t), condition=less, body=b"]  # fmt: skip
    return _module(entry, less + "b {\n  " + "\n  ".join(body) + "\n}\n")


def _names(size: int) -> str:
    long = "n" * size
    return _module(
        [f"{long} = {_F} parameter(0)", f"/*{'c' * size}*/ ROOT {long}2 = {_F} negate({long})"]
    )


def _sequence(*ops: str) -> Callable[[int], str]:
    """Operations in turn; a sum is with another parameter."""

    def step(number: int, value: str) -> str:
        op = ops[number % len(ops)]
        return f"{_F} {op}({value}{', k' if op == 'add' else ''})"

    return _chain(step, [f"k = {_F} parameter(1)"])


PROGRAMS: dict[str, tuple[Callable[[int], str], int]] = {
    "calls": (_calls, 5000),
    "doubling-calls": (lambda n: _calls(n, 2), 20),
    "chain": (_sequence("add", "negate", "abs", "floor"), 10000),
    "sort": (_sort, 150),
    "sines": (_sines, 200),
    "sine-chain": (_sequence("sine", "cosine"), 200),
    "constant": (_constant, 5_000_000),
    "parameters": (_parameters, 2500),
    "results": (_results, 2500),
    "nested-tuple": (_nested_tuple, 500),
    "nested-parameter": (_nested_tuple_apart, 500),
    "fan-out": (_fan_out, 5000),
    "concatenate": (_concatenate, 5000),
    "wide-reduce": (_wide_reduce, 50),
    "whiles": (_whiles, 100),
    "conditionals": (_conditionals, 200),
    "branches": (_branches, 500),
    "maps": (_maps, 500),
    "reduce-calls": (_reduce_calls, 500),
    "reshapes": (_reshapes, 5000),
    "transposes": (_transposes, 2500),
    "rank": (_rank, 15),
    "gather": (_gather, 15),
    "scatter": (_scatter, 15),
    "selects": (_selects, 2500),
    "dots": (_dots, 1000),
    "reduces": (_reduces, 1500),
    "diamond": (_chain(lambda i, v: f"{_F} add({v}, {v})"), 60),
    "shift-diamond": (_shift_diamond, 30),
    "mixed": (_mixed, 2000),
    "pads": (_pads, 500),
    "updates": (_updates, 1000),
    "softmaxes": (_softmaxes, 500),
    "wide-while": (_wide_while, 500),
    "names": (_names, 1_000_000),
}
