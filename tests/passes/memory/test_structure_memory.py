"""What optimised networks move, copy and hold in memory. They are JAX's, with random weights."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting import copies_in_loops, functions_and_calls
from jax import lax

import tfc
from benchmarks.models import MODELS, Model, lstm
from tfc.backends.cpu.compiler import CpuCompiler
from tfc.backends.cpu.executable import Compilation
from tfc.backends.cpu.kernels import matmul_spec
from tfc.backends.cpu.products.schedule import make_schedule
from tfc.backends.target import Target
from tfc.options import Options
from tfc.passes.analysis.aliases import is_bitcast


def planned(model: Model, *disabled: str) -> Compilation:
    """A network optimised for this CPU, with its memory laid out."""
    module = tfc.from_stablehlo(model.stablehlo()).hlo
    options = Options(disabled=disabled)
    return CpuCompiler().prepare(module, "f", Target.host(), options, "text")


@pytest.mark.parametrize("name", ["resnet50", "bert", "cnn_training_step"])
def test_the_arena_of_networks_is_near_its_lower_bound(name: str) -> None:
    plan = planned(MODELS[name]()).assignment
    assert plan.lower_bound <= plan.arena_size <= 1.1 * plan.lower_bound


def test_resnet50_has_no_transposes_or_copies_left() -> None:
    network = planned(MODELS["resnet50"]())
    plan, entry = network.assignment, network.module.entry
    moved = [
        x.name for c in network.module.computations for x in c.instructions
        if x.opcode in ("copy", "transpose") and not is_bitcast(x)
    ]  # fmt: skip
    assert not moved
    assert not plan.moves(entry.root, plan.result_slices)


def test_a_12_layer_bert_emits_each_kernel_once() -> None:
    """As many functions as three layers have, called as often in each layer."""
    few, many = (
        functions_and_calls(tfc.from_stablehlo(bert.stablehlo()).hlo)
        for bert in (MODELS["bert"](n, length=16, width=128) for n in (3, 12))
    )
    assert few[0] == many[0] < few[1]
    assert (many[1] - few[1]) % (12 - 3) == 0


def test_a_scan_of_100_steps_copies_no_carry() -> None:
    model = lstm(steps=100, width=32)
    function = tfc.from_stablehlo(model.stablehlo())
    assert copies_in_loops(function.hlo) == 0
    result = function(*model.leaves())
    np.testing.assert_allclose(result, model.function(*model.arguments), rtol=1e-4, atol=1e-5)


def test_a_scan_that_sums_and_shifts_its_carry_copies_none() -> None:
    """The old state is summed, stacked, and replaced by one of its elements' neighbours."""

    def step(state, x):
        total, history = state
        return (total + history.sum(), history * 0.5 + x), total

    def scan(start, xs):
        return lax.scan(step, (np.float32(0), start), xs)

    start, xs = (np.random.default_rng(0).random(n, np.float32) for n in (64, (100, 64)))
    function = tfc.from_stablehlo(jax.jit(scan).lower(start, xs).as_text())
    assert copies_in_loops(function.hlo) == 0
    for got, expected in zip(function(start, xs), jax.tree.leaves(scan(start, xs))):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def gpt2() -> Model:
    return MODELS["gpt2_decode"](layers=2, cache=64, width=128, vocabulary=5000)


LEAST_MATRIX = 128 * 128 * 4  # bytes


def test_gpt2_decode_copies_no_weight() -> None:
    """Nothing in the arena, neither values nor what kernels pack, is as large as a matrix of
    weights: the last product reads the embedding row by row, as it lies."""
    network = planned(gpt2())
    assert max(p.size for p in network.assignment.placements) < LEAST_MATRIX
    *_, last = [i for i in network.module.entry.instructions if i.opcode == "dot"]
    spec = matmul_spec(last)
    assert spec is not None
    stream = make_schedule(spec, Target.host()).stream
    assert stream is not None
    assert (stream.outputs, stream.depth, stream.in_rows) == (5000, 128, True)
    # The check sees the copy that there would be.
    copying = planned(gpt2(), "simplify", "sinking", "layout").assignment
    assert max(p.size for p in copying.placements) >= 5000 * 128 * 4


def test_gpt2_decode_has_each_constant_weight_once() -> None:
    weights, *rest = gpt2().arguments
    arrays = jax.tree.map(jnp.asarray, weights)
    fixed = Model("gpt2", lambda *rest: gpt2().function(arrays, *rest), tuple(rest))
    plan = planned(fixed).assignment
    assert max(p.size for p in plan.placements) < LEAST_MATRIX
    assert plan.constant_size < sum(w.nbytes for w in jax.tree.leaves(weights)) + LEAST_MATRIX


def test_memory_is_shown_beside_that_of_xla() -> None:
    script, name = Path(__file__).parents[3] / "benchmarks" / "memory.py", "mlp"
    command = [sys.executable, str(script), name]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (row,) = [line.replace("│", " ").split() for line in shown.split("\n") if name in line]
    (model, *numbers) = row
    assert model == name
    assert len([float(n) for n in numbers]) == 5
