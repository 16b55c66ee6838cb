"""Attention becomes one fusion in all the forms that programs have, and says why where not."""

from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.ir import Module
from tfc.hlo.shape import F32, Shape
from tfc.passes import KernelKinds, default_pipeline
from tfc.passes.attention.forward import Attention, attention_in
from tfc.passes.attention.scores import scores_in

random = np.random.default_rng(5)
Q, K, V = (random.standard_normal((2, n, 2, 8)).astype("f4") for n in (5, 7, 7))


def traced(function: Any, *arguments: Any) -> Module:
    jitted: Any = tfc.jit(function)
    return jitted.lower(*arguments).hlo


def fused(function: Any, *arguments: Any, takes: Any = lambda attention: True) -> Module:
    """The program after all passes for a target that has kernels of attention."""
    module = traced(function, *arguments)
    return default_pipeline(kinds=KernelKinds(takes_attention=takes)).run(module)


def attentions(module: Module) -> list[Attention]:
    found = (attention_in(x["calls"]) for x in module.entry.instructions if x.opcode == "fusion")
    return [a for a in found if a is not None]


def heads_first(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    return tnp.matmul(nn.softmax(tnp.matmul(q, k.transpose(0, 1, 3, 2)) * 0.5), v)


def keys_by_queries(q: Any, k: Any, v: Any) -> Any:
    logits = tnp.einsum("bskd,btkd->bkst", k, q)
    return tnp.einsum("bskd,bkst->btkd", v, nn.softmax(logits, axis=2))


def causal(q: Any, k: Any, v: Any) -> Any:
    return nn.dot_product_attention(q, k, v, is_causal=True)


def of_shared_keys(q: Any, k: Any, v: Any) -> Any:
    return nn.dot_product_attention(q, k[:, :, :1], v[:, :, :1])


def causal_for_all_heads(q: Any, k: Any, v: Any) -> Any:
    seen = tnp.arange(5)[:, None] >= tnp.arange(7)[None, :]
    return nn.dot_product_attention(q, k, v, mask=seen)


def in_halves(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (x.astype(np.float16) for x in (q, k, v))
    return nn.dot_product_attention(q, k[:, :, :1], v[:, :, :1])


@pytest.mark.parametrize(
    "function",
    [
        nn.dot_product_attention,
        heads_first,
        keys_by_queries,
        causal,
        causal_for_all_heads,
        in_halves,
    ],
)
def test_attention_in_its_forms_is_one_fusion_with_the_same_value(function: Any):
    module = fused(function, Q, K, V)
    (attention,) = attentions(module)
    assert max(x.array_shape.size for x in module.entry.instructions[:-1]) == Q.size * 7 // 5
    rows = 10 if function is in_halves else 5
    assert [attention.sizes[n] for n in "rjpd"] == [rows, 7, 8, 8]
    assert attention.mixed.array_shape.element_type == F32
    wanted = evaluate(traced(function, Q, K, V), Q, K, V)
    error = 1e-3 if function is in_halves else 1e-6  # products in another order of dimensions
    got = evaluate(module, Q, K, V)
    np.testing.assert_allclose(got[0].astype("f4"), wanted[0].astype("f4"), error, error)


def test_a_bias_of_the_size_of_the_scores_is_read_and_its_sum_is_not_stored():
    bias = np.zeros((2, 5, 7), "f4")
    module = fused(lambda q, k, v, b: nn.dot_product_attention(q, k, v, b * 2 + 1), Q, K, V, bias)
    assert len(attentions(module)) == 1
    sizes = [x.array_shape.size for x in module.entry.instructions if x.opcode == "fusion"]
    assert max(sizes) == Q.size


def test_a_cache_is_updated_in_place_and_read_where_it_lies():
    """Of two layers' caches, each kernel has none of the updates inside."""
    caches = np.zeros((2, 2, 1, 7, 2, 8), np.float32)

    def decode(q: Any, caches: Any, new: Any, place: Any) -> Any:
        found = []
        for layer in range(2):
            for part in range(2):
                at = (layer, part, 0, place, 0, 0)
                caches = tfc.dynamic_update_slice(caches, new[None, None] + layer, at)
            found.append(nn.dot_product_attention(q, caches[layer, 0], caches[layer, 1]))
        return found, caches

    arguments = Q[:1], caches, K[:1, :1], np.int32(3)
    module = fused(decode, *arguments)
    inside = [x["calls"].instructions for x in module.entry.instructions if x.opcode == "fusion"]
    kernels = [c for c in inside if any(x.opcode == "dot" for x in c)]
    assert len(kernels) == 2
    assert not any(x.opcode == "dynamic-update-slice" for c in kernels for x in c)
    before = evaluate(traced(decode, *arguments), *arguments)
    for got, wanted in zip(evaluate(module, *arguments), before, strict=True):
        np.testing.assert_allclose(got, wanted, 1e-6, 1e-6)


def test_weights_that_are_read_elsewhere_and_what_the_target_refuses_stay_apart():
    def with_weights(q: Any, k: Any, v: Any) -> Any:
        weights = nn.softmax(tnp.einsum("btkd,bskd->bkts", q, k))
        return tnp.einsum("bkts,bskd->btkd", weights, v), weights

    assert not attentions(fused(with_weights, Q, K, V))
    assert not attentions(fused(causal, Q, K, V, takes=lambda attention: False))


def test_attention_to_the_result_of_attention_reads_it_from_memory():
    module = fused(lambda q, k, v: causal(causal(q, k, v), k, v), Q, K, V)
    kernels = [x for x in module.entry.instructions if x.opcode in ("fusion", "dot")]
    assert len(kernels) == len(attentions(module)) == 2


def gradients(function: Any, *numbers: int) -> Any:
    return tfc.grad(lambda *a: (function(*a) ** 2).sum(), argnums=numbers)


def custom_kernels(module: Module) -> list[Any]:
    return [x for x in module.entry.instructions
            if x.opcode == "fusion" and x["kind"] == "kCustom"]  # fmt: skip


@pytest.mark.parametrize("function", [causal, heads_first, keys_by_queries, of_shared_keys])
def test_the_gradient_of_attention_is_a_kernel_of_rows_and_one_of_keys(function: Any):
    gradient = gradients(function, 0, 1, 2)
    module = fused(gradient, Q, K, V)
    made = [scores_in(x["calls"]) for x in custom_kernels(module)]
    mixed = [{m.lines for m in s.mixings} for s in made if s is not None]
    assert [len(lines) for lines in mixed] == [1, 1, 1]  # attention, rows, keys
    assert [len(s.mixings) for s in made if s is not None] == [1, 1, 2]
    arrays = [x for x in module.entry.instructions if isinstance(x.shape, Shape)]
    assert max(x.array_shape.size for x in arrays) == K.size
    wanted = evaluate(traced(gradient, Q, K, V), Q, K, V)
    for a, b in zip(evaluate(module, Q, K, V), wanted, strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-5)


def test_a_gradient_that_reads_all_scores_stays_apart():
    def biased(q: Any, k: Any, v: Any, bias: Any) -> Any:
        return nn.dot_product_attention(q, k, v, bias)

    bias = np.zeros((2, 2, 5, 7), "f4")
    assert not custom_kernels(fused(gradients(biased, 0, 3), Q, K, V, bias))
    assert len(custom_kernels(fused(gradients(biased, 0), Q, K, V, bias))) == 2


def projected(x: Any, w: Any, bias: Any) -> Any:
    q, k, v = (tnp.reshape((x @ w + b).astype(np.float16), (2, 7, 2, 8)) for b in bias)
    out = nn.dot_product_attention(q, k, v)
    return out.astype(np.float32) @ tnp.ones((8, 3), np.float32)


def test_what_a_product_can_make_stays_with_it_and_results_stay_narrow():
    x, w = (random.standard_normal(d).astype("f4") for d in ((2, 7, 16), (16, 16)))
    module = fused(projected, x, w, np.ones((3, 16), np.float32))
    (kernel,) = (i for i in module.entry.instructions if i.opcode == "fusion"
                 and attention_in(i["calls"]) is not None)  # fmt: skip
    assert {o.array_shape.element_type.name for o in kernel.operands} == {"f16"}
    assert kernel.array_shape.element_type.name == "f16"
