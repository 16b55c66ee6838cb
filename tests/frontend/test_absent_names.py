"""A name that NumPy or jax.numpy has and tfc.numpy has not is refused in a sentence of advice."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import tfc.numpy as tnp
from tfc.frontend.numpy.absent import ADVICE


def refusal(name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(tnp, name)
    assert caught.value.name == name
    return str(caught.value)


def test_names_of_numpy_and_jax_exist_or_are_refused_with_advice():
    names = {n for m in (np, jnp) for n in dir(m) if n[0] != "_"} - set(tnp.__all__)
    for name in sorted(names | set(ADVICE)):
        text = refusal(name)
        assert text.startswith(f"module 'tfc.numpy' has no attribute '{name}': "), text
        assert "\n" not in text
        assert "{" not in text


def test_advice_is_of_names_that_do_not_exist_and_names_those_that_do():
    assert set(ADVICE) & set(tnp.__all__) == set()
    for text in ADVICE.values():
        for name in re.findall(r"tfc\.numpy\.(\w+)", text):
            assert name == "other" or name in tnp.__all__, text


def test_a_misspelt_name_is_answered_by_the_one_that_is_meant():
    assert refusal("arctann").endswith("; did you mean 'arctan'?")
    assert refusal("zzzz") == "module 'tfc.numpy' has no attribute 'zzzz'"
    assert not hasattr(tnp, "__wrapped__")
