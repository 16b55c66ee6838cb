"""What the text says about a loop beside its meaning: read, changed, and the rest kept."""

import json

import pytest

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.loops.loop_config import (
    proved_trip_count,
    stated_trip_count,
    with_proved_trip_count,
    without_element_numbers,
    without_proof,
)
from tfc.hlo.shape import F32, Shape


def loop(config: str | None) -> Instruction:
    """An instruction with this backend_config, and another annotation."""
    stated = () if config is None else (("backend_config", config),)
    return builder.parameter(0, Shape(F32)).with_(
        annotations=(("sharding", "{replicated}"), *stated)
    )


COUNT = '{"known_trip_count":{"n":"10"}}'


@pytest.mark.parametrize(("config", "count"), [
    (COUNT, 10),
    (json.dumps(COUNT), 10),  # as a string, which is how XLA printed it once
    ('{"known_trip_count":{"n":10}}', 10),
    (None, None),
    ("{}", None),
    ('{"known_trip_count":{"n":"many"}}', None),
    ('{"known_trip_count":{"n":"٣"}}', None),
    ('{"known_trip_count":3}', None),
    ("[10]", None),
    ("not json", None),
])  # fmt: skip
def test_a_count_is_read_if_there_is_one(config: str | None, count: int | None):
    assert stated_trip_count(loop(config)) == count


def test_a_count_is_written_beside_what_else_is_there():
    made = with_proved_trip_count(loop('{"known_init_step":{"init":"0"}}'), 7)
    assert stated_trip_count(made) == proved_trip_count(made) == 7
    assert dict(made.annotations)["sharding"] == "{replicated}"
    config = json.loads(dict(made.annotations)["backend_config"])
    stated = {"known_trip_count": {"n": "7"}, "trip_count_is_proved": True}
    assert config == {"known_init_step": {"init": "0"}, **stated}
    assert stated_trip_count(with_proved_trip_count(loop(None), 7)) == 7


def test_a_count_that_a_text_states_is_not_proved():
    assert proved_trip_count(loop(COUNT)) is None
    proved = with_proved_trip_count(loop(COUNT), 10)
    assert proved_trip_count(proved) == 10
    assert without_proof(proved).annotations == loop(COUNT).annotations


def test_a_loop_that_says_so_or_has_another_config_stays():
    given = with_proved_trip_count(loop(COUNT), 10)
    assert with_proved_trip_count(given, 10) is given
    other = loop("a config of somebody's own")
    assert with_proved_trip_count(other, 10) is other
    assert without_proof(other) is other


def test_what_is_said_of_elements_goes_when_they_change():
    made = without_element_numbers(loop(
        '{"known_induction_variable":{"tuple_index":"0"},"known_init_step":{},'
        '"dynamic_variables":[],"known_trip_count":{"n":"10"}}'
    ))  # fmt: skip
    assert dict(made.annotations)["backend_config"] == COUNT
    given = loop(COUNT)
    assert without_element_numbers(given) is given
    alone = without_element_numbers(loop('{"known_init_step":{}}'))
    assert alone.annotations == (("sharding", "{replicated}"),)
