"""MLIR contexts serve several programs, one thread each, and are replaced."""

import threading

from tfc.backends.mlir.provider import ReusedContext, ir, new_context


def test_a_context_serves_as_many_uses_as_it_says():
    contexts = ReusedContext(new_context, 3)
    found = [contexts.take() for _ in range(7)]
    assert found[0] is found[1] is found[2]
    assert found[3] is found[4] is found[5]
    assert len({id(c) for c in found}) == 3


def test_a_heavy_use_is_the_last():
    contexts = ReusedContext(new_context, 3)
    first = contexts.take(100)
    assert contexts.take() is not first


def test_what_was_made_outlives_the_use_of_its_context():
    contexts = ReusedContext(new_context, 1)
    text = "func.func @f() { return }"
    module = ir.Module.parse(text, contexts.take())
    ir.Module.parse(text, contexts.take())
    assert "@f" in str(module)


def test_each_thread_has_its_own():
    contexts = ReusedContext(new_context)
    found = [contexts.take()]
    other = threading.Thread(target=lambda: found.append(contexts.take()))
    other.start()
    other.join()
    assert found[0] is not found[1]
    assert contexts.take() is found[0]
