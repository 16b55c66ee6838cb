"""A reduction of an array takes what another one of fewer dimensions gives."""

import numpy as np
import pytest

from tfc.hlo import Module, evaluate, parse, verify
from tfc.passes.layout.shared_reductions import SharedReductions

DIMS = (6, 40, 5)


def several(
    reduced: list[str], opcode: str = "add", kind: str = "f32", init: str = "0", dims: object = DIMS
) -> Module:
    """Reductions of one array along some dimensions each."""
    rows = []
    for n, along in enumerate(reduced):
        kept = [d for k, d in enumerate(dims) if str(k) not in along.split(",")]  # type: ignore[call-overload]
        rows.append(f"r{n} = {kind}{str(kept).replace(' ', '')} reduce(x, i), "
                    f"dimensions={{{along}}}, to_apply=f")  # fmt: skip
    shapes = ", ".join(row.split(" = ")[1].split(" reduce")[0] for row in rows)
    names = ", ".join(f"r{n}" for n in range(len(reduced)))
    listed = ",".join(map(str, dims))  # type: ignore[call-overload]
    return parse(
        f"f {{ a = {kind}[] parameter(0)\n b = {kind}[] parameter(1)\n"
        f" ROOT s = {kind}[] {opcode}(a, b) }}\n"
        f"ENTRY main {{ x = {kind}[{listed}] parameter(0)\n i = {kind}[] constant({init})\n"
        + "\n".join(rows)
        + f"\nROOT t = ({shapes}) tuple({names}) }}"
    )


def read(module: Module) -> list[str]:
    """What each reduction reads."""
    return [i.operands[0].opcode for i in module.entry.root.operands]


@pytest.mark.parametrize("reduced", [["1", "0,1"], ["0,1", "1"], ["1,2", "0,1,2", "1"],
                                     ["0,1,2", "0,1", "1"]])  # fmt: skip
def test_the_smaller_is_reduced_further(reduced: list[str]):
    before = several(reduced)
    after = SharedReductions()(before)
    verify(after)
    assert sorted(read(after)) == ["parameter", *["reduce"] * (len(reduced) - 1)]
    x = np.random.default_rng(3).integers(-9, 9, DIMS).astype(np.float32)
    for got, want in zip(evaluate(after, x), evaluate(before, x)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("module", [
    several(["1", "0,2"]),  # neither has what the other one needs
    several(["2", "1,2"]),  # partial results are a fifth of the array
    several(["1", "0,1"], init="1"),  # would be counted several times
    several(["1", "0,1"], kind="f16"),  # would be rounded
    several(["1", "0,1"], "multiply", init="1"),  # a part may overflow where all of it is zero
])  # fmt: skip
def test_others_stay(module: Module):
    assert SharedReductions()(module) is module


@pytest.mark.parametrize(("opcode", "kind", "init"), [("maximum", "f16", "-inf"),
                                                      ("add", "s32", "0")])  # fmt: skip
def test_what_is_not_rounded_is_shared_in_all_types(opcode: str, kind: str, init: str):
    assert read(SharedReductions()(several(["1", "0,1"], opcode, kind, init))).count("reduce") == 1
