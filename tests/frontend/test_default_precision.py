"""The default precision of products: which of them have it, and that no code is another's."""

import re
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import compiler, graph
from tfc.errors import ShapeError
from tfc.frontend.operations import constant, operation
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.graph.running import clusters
from tfc.hlo import Module

A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
IMAGE, KERNEL = np.ones((1, 5, 5, 2), np.float32), np.ones((2, 2, 2, 3), np.float32)
TF32 = "dot_tf32_tf32_f32"


def product(x: Any, y: Any) -> Any:
    return tnp.matmul(x, y)


def squares(x: Any, y: Any) -> Any:
    return tnp.sum(tnp.matmul(x, y) ** 2)


def products(module: Module) -> list[Any]:
    """What each product of a program states: an algorithm, words for the operands, or None."""
    return [
        x.attributes.get("algorithm") or x.attributes.get("operand_precision")
        for computation in module.computations
        for x in computation.instructions
        if x.opcode in ("dot", "convolution", "ragged-dot")
    ]


def stated(function: Callable[..., Any], *args: Any) -> list[Any]:
    return products(tfc.jit(function).lower(*args).hlo)


def under(name: Any, function: Callable[..., Any], *args: Any) -> list[Any]:
    """What the products of a function state that is traced under a default."""
    with tfc.default_matmul_precision(name):
        return stated(function, *args)


def attention(x: Any) -> Any:
    return tfc.nn.dot_product_attention(x, x, x)


HEADS = np.ones((1, 4, 2, 8), np.float32)


@pytest.mark.parametrize(
    ("function", "args", "count"),
    [
        (product, (A, B), 1),
        (lambda x, y: x @ y, (A, B), 1),
        (lambda x, y: tnp.einsum("ij,jk,kl->il", x, y, x @ (y @ x)), (B, B.T), 4),
        (tnp.inner, (A, A), 1),
        (tnp.convolve, (A[0], A[1]), 1),
        (tfc.nn.conv, (IMAGE, KERNEL), 1),
        (tfc.nn.conv_transpose, (IMAGE, KERNEL), 1),
        (tfc.nn.dense, (A, B, B[0]), 1),
        (attention, (HEADS,), 2),
        (tfc.grad(squares, (0, 1)), (A, B), 3),
        (lambda x, y: tfc.jvp(product, (x, y), (x, y)), (A, B), 3),
        (tfc.vmap(product, (0, None)), (A[None], B), 1),
        (tfc.grad(tfc.checkpoint(squares)), (A, B), 2),
        (lambda x, y: tfc.fori_loop(0, 3, lambda _, s: s + x @ y, x @ y), (A, B), 2),
        (tfc.jit(product), (A, B), 1),
    ],
    ids=["matmul", "operator", "einsum", "inner", "convolve", "conv", "conv_transpose", "dense",
         "attention", "grad", "jvp", "vmap", "checkpoint", "loop", "jit"],
)  # fmt: skip
def test_all_products_of_f32_have_the_default(
    function: Callable[..., Any], args: tuple[Any, ...], count: int
):
    found = under("tensorfloat32", function, *args)
    assert len(found) >= count
    assert set(found) == {TF32}
    assert set(stated(function, *args)) == {None}


@pytest.mark.parametrize("dtype", ["float64", "int32", "bfloat16", "complex64"])
def test_products_of_other_types_have_no_algorithm(dtype: str):
    def function(x: Any) -> Any:
        other = tnp.astype(x, dtype)
        return other @ other.T, tnp.inner(x, tnp.astype(x, "float64"))

    assert under("TF32_TF32_F32", function, A) == [None, None]


def test_words_are_for_the_operands_of_all_floats():
    def function(x: Any) -> Any:
        wide, count = tnp.astype(x, "float64"), tnp.astype(x, "int32")
        return x @ x.T, wide @ wide.T, count @ count.T

    words = ("highest", "highest")
    assert under("highest", function, A) == [words, words, None]
    assert under("float32", function, A) == [words, words, None]


def test_what_a_product_states_goes_before_the_default():
    for said, found in [("highest", ("highest", "highest")), ("default", ("default", "default")),
                        ("bfloat16", "dot_bf16_bf16_f32")]:  # fmt: skip
        function = tfc.grad(lambda x, y, said=said: tnp.sum(tnp.matmul(x, y, precision=said) ** 2))
        assert set(under("tensorfloat32", function, A, B)) == {found}


def test_defaults_nest_and_are_over_at_their_end():
    def function(x: Any, y: Any) -> Any:
        with tfc.default_matmul_precision("tensorfloat32"):
            first = x @ y
            with tfc.default_matmul_precision(None):
                second = x @ y
            with tfc.default_matmul_precision("default"):
                third = x @ y
            with pytest.raises(ShapeError), tfc.default_matmul_precision("highest"):
                tnp.matmul(x, x)
            fourth = x @ y
        return first, second, third, fourth, x @ y

    assert stated(function, A, B) == [TF32, None, None, TF32, None]
    context: Any = tfc.default_matmul_precision("tensorfloat32")
    decorated = context(product)
    for _ in range(2):
        assert stated(decorated, A, B) == [TF32]


def test_gradients_have_what_their_primals_had():
    """The default is entered for the forward trace alone, or for the gradient's alone."""

    def forward(x: Any, y: Any) -> Any:
        with tfc.default_matmul_precision("TF32_TF32_F32_X3"):
            image = tfc.nn.conv(
                tnp.reshape(x, (1, 3, 4, 1)), tnp.reshape(y, (4, 5, 1, 1)), 1, "SAME"
            )
            return tnp.sum(image**2) + tnp.sum(tnp.matmul(x, y) ** 2)

    found = stated(tfc.grad(forward, (0, 1)), A, B)
    assert len(found) == 6
    assert set(found) == {"dot_tf32_tf32_f32_x3"}

    def twice(x: Any, y: Any) -> Any:
        return tfc.grad(lambda z: tnp.sum(tfc.grad(forward)(z, y)))(x)

    assert set(stated(twice, A, B)) == {"dot_tf32_tf32_f32_x3"}

    def backward(x: Any, y: Any) -> Any:
        value, back = tfc.vjp(product, x, y)
        with tfc.default_matmul_precision("tensorfloat32"):
            return back(value)

    assert stated(backward, A, B) == [None, TF32, TF32]


def test_a_jitted_function_has_code_for_each_default():
    """Calls go the quick way, the direct one and the long one; none may take another's code."""
    traces: list[Any] = []

    @tfc.jit
    def function(x: Any, y: Any, z: Any = None) -> Any:
        found = x @ y
        traces.append(found.instruction.attributes.get("algorithm"))
        return found

    for _ in range(3):
        for name in (None, "tensorfloat32", "bfloat16", "default", "TF32_TF32_F32"):
            with nullcontext() if name is None else tfc.default_matmul_precision(name):
                np.testing.assert_array_equal(function(A, B), A @ B)
                np.testing.assert_array_equal(function(A, B, [1, 2]), A @ B)
                (compiled, _) = function.bind(A, B)
            wanted = {None: None, "default": None, "bfloat16": "dot_bf16_bf16_f32"}.get(name, TF32)
            assert products(compiled.lowered.hlo) == [wanted]
    assert sorted(traces, key=str) == sorted([None, TF32, "dot_bf16_bf16_f32"] * 2, key=str)
    assert function.cache_size() == 6


def test_quick_calls_are_tried_under_their_own_default():
    function = tfc.jit(product)
    function(A, B)
    with tfc.default_matmul_precision("tensorfloat32"):
        function(A, B)
        function(A, B)
    ((plain,), (others,)) = function._quick, function._quick_under.values()
    assert len(function._quick_under) == 1
    assert plain not in others


def test_a_jitted_function_within_another_is_traced_for_its_default():
    inner = tfc.jit(product)

    def outer(x: Any, y: Any) -> Any:
        with tfc.default_matmul_precision("tensorfloat32"):
            first = inner(x, y)
        return first, inner(x, y)

    assert stated(outer, A, B) == [TF32, None]
    assert inner.cache_size() == 2


@pytest.mark.eager
def test_calls_outside_traces_have_the_default(monkeypatch: pytest.MonkeyPatch):
    made: list[Module] = []
    compile_whole = compiler.compile_whole
    monkeypatch.setattr(compiler, "compile_whole", lambda m: made.append(m) or compile_whole(m))
    image = IMAGE[:, :, :4]
    for _ in range(2):
        tfc.nn.conv(image, KERNEL)
        with tfc.default_matmul_precision("tensorfloat32"):
            tfc.nn.conv(image, KERNEL)
            tfc.grad(squares)(A[:, :2], B[:2])
        tfc.grad(squares)(A[:, :2], B[:2])
    assert [set(products(m)) for m in made] == [{None}, {TF32}, {TF32}, {None}]


def test_graphs_are_compiled_for_the_default_of_a_run(monkeypatch: pytest.MonkeyPatch):
    made: list[Module] = []
    compiled = clusters.compile_with_dumps
    monkeypatch.setattr(
        clusters, "compile_with_dumps", lambda m, *rest: made.append(m) or compiled(m, *rest)
    )
    with tfc.Graph().as_default(), tfc.Session() as session:
        x = tfc.placeholder("float32", A.shape)
        fetched = graph.matmul(x, graph.constant(B))
        for _ in range(2):
            session.run(fetched, {x: A})
            with tfc.default_matmul_precision("tensorfloat32"):
                session.run(fetched, {x: A})
    assert [products(m) for m in made] == [[None], [TF32]]


def test_the_default_is_of_one_thread():
    found: list[Any] = []
    with tfc.default_matmul_precision("tensorfloat32"):
        thread = threading.Thread(target=lambda: found.extend(stated(product, A, B)))
        thread.start()
        thread.join()
    assert found == [None]


def test_solvers_and_their_gradients_stay_exact():
    square = np.eye(3, dtype=np.float32) + 0.1

    def loss(x: Any) -> Any:
        factor = tfc.linalg.cholesky(x @ x.T)
        return tnp.sum(tfc.linalg.expm(x)) + tnp.sum(tfc.linalg.solve(factor, x))

    found = under("tensorfloat32", tfc.grad(loss), square)
    assert found.count(TF32) == 3  # x @ xᵀ and its gradients
    assert set(found) == {TF32, ("highest", "highest")}
    assert set(stated(tfc.grad(loss), square)) == {None}


def test_batches_keep_an_algorithm():
    def batched(x: Any, y: Any) -> Any:
        return tfc.vmap(lambda v: tnp.matmul(x, v, precision="tensorfloat32"))(y)

    assert stated(batched, A, np.ones((7, 4), np.float32)) == [TF32]
    images = np.ones((7, *IMAGE.shape), np.float32)
    assert under("tensorfloat32", tfc.vmap(tfc.nn.conv, (0, None)), images, KERNEL) == [TF32]


def test_ragged_products_and_their_gradients_have_an_algorithm():
    @evaluable
    def ragged(x: Any, y: Any) -> Any:
        return tnp.sum(operation(
            "ragged-dot", as_tensor(x), as_tensor(y), constant(np.array([2, 3], np.int32)),
            lhs_contracting_dims=(1,), rhs_contracting_dims=(1,), lhs_ragged_dims=(0,),
            rhs_group_dims=(0,),
        ) ** 2)  # fmt: skip

    args = np.ones((6, 3), np.float32), np.ones((2, 3, 4), np.float32)
    assert under("tensorfloat32", ragged, *args) == [TF32]
    floats = [p for p in under("tensorfloat32", tfc.grad(ragged, (0, 1)), *args) if p is not None]
    assert len(floats) >= 3
    assert set(floats) == {TF32}
    assert set(stated(tfc.grad(ragged), *args)) == {None}


def test_sums_of_products_taken_out_of_a_loop_keep_an_algorithm():
    def loss(w: Any, xs: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            state = tnp.tanh(tnp.matmul(x, w, precision="tensorfloat32") + state)
            return state, None

        return tnp.sum(tfc.scan(step, tnp.zeros((2, 40), "float32"), xs)[0])

    args = np.ones((40, 40), np.float32), np.ones((5, 2, 40), np.float32)
    found = stated(tfc.grad(loss), *args)
    assert len(found) >= 2
    assert set(found) == {TF32}


@pytest.mark.parametrize(
    "name", ["default", "high", "highest", "float32", "TF32_TF32_F32", "TF32_TF32_F32_X3",
             "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
             "F32_F32_F32"],
)  # fmt: skip
def test_names_mean_what_they_do_to_jax(name: str):
    with jax.default_matmul_precision(name):
        (theirs,) = jax.make_jaxpr(jnp.matmul)(A, B).eqns
    precision = theirs.params["precision"]
    if isinstance(precision, tuple):
        wanted: Any = tuple(p.name.lower() for p in precision)
        wanted = None if set(wanted) == {"default"} else wanted
    else:
        wanted = f"dot_{precision.name.lower()}"
    assert under(name, product, A, B) == [wanted]
    assert under(precision if not isinstance(precision, tuple) else name, product, A, B) == [wanted]


@pytest.mark.parametrize("name", ["exact", "F64_F64_F64", 3, ("high", "high")])
def test_no_other_names_are_entered(name: Any):
    with pytest.raises(ShapeError, match=re.escape(repr(name))):
        tfc.default_matmul_precision(name)


def test_values_are_as_exact_as_f32s_on_cpus():
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    exact = tfc.jit(product)(x, y)
    with tfc.default_matmul_precision("bfloat16"):
        np.testing.assert_array_equal(tfc.jit(product)(x, y), exact)


def test_programs_from_elsewhere_are_read_under_the_default():
    """A JAX user's program says nothing of precision, or says that the default is meant."""
    text = jax.jit(jnp.matmul).lower(*[np.ones((2, 2), np.float32)] * 2).as_text()
    with tfc.default_matmul_precision("tensorfloat32"):
        permitted = tfc.from_stablehlo(text)
    assert "algorithm=dot_tf32_tf32_f32" in str(permitted.hlo)
    assert "algorithm" not in str(tfc.from_stablehlo(text).hlo)
    half = text.replace("f32", "f16")
    with tfc.default_matmul_precision("tensorfloat32"):
        assert "algorithm" not in str(tfc.from_stablehlo(half).hlo)
