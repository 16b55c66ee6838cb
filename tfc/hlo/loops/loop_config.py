"""What the text form says about a loop: XLA's `backend_config={"known_trip_count":{"n":"10"}}`.

Beside a count that the passes have proved stands `"trip_count_is_proved":true`: code relies on such
a count alone. A text may say anything, so the passes take away what they do not prove again.
"""

import json
from typing import Any

from tfc.hlo.ir import Instruction
from tfc.hlo.lexer import unquote

_NAME, _KEY, _PROOF = "backend_config", "known_trip_count", "trip_count_is_proved"
# What names elements of the state by their numbers, or says how one of them runs.
_ABOUT_ELEMENTS = ("known_induction_variable", "known_init_step", "dynamic_variables")


def stated_trip_count(loop: Instruction) -> int | None:
    """How often the text says that the body runs; None if it does not."""
    config = _config(loop)
    stated = (config or {}).get(_KEY)
    text = str(stated.get("n", "")) if isinstance(stated, dict) else ""
    return int(text) if text.isascii() and text.isdigit() else None


def proved_trip_count(loop: Instruction) -> int | None:
    """How often the body runs, where the passes have proved it; a text alone proves nothing."""
    is_proved = (_config(loop) or {}).get(_PROOF) is True
    return stated_trip_count(loop) if is_proved else None


def with_proved_trip_count(loop: Instruction, count: int) -> Instruction:
    """The loop that says how often its body runs, as a fact; itself if it does, or has a config of
    its own."""
    config = _config(loop)
    if config is None or proved_trip_count(loop) == count:
        return loop
    return _with_config(loop, {**config, _KEY: {"n": str(count)}, _PROOF: True})


def without_proof(loop: Instruction) -> Instruction:
    """The loop whose count, if it states one, is only stated."""
    config = _config(loop)
    if not config or _PROOF not in config:
        return loop
    return _with_config(loop, {k: v for k, v in config.items() if k != _PROOF})


def without_element_numbers(loop: Instruction) -> Instruction:
    """The loop without what its text says about single elements of the state."""
    config = _config(loop)
    if not config or not any(name in config for name in _ABOUT_ELEMENTS):
        return loop
    return _with_config(loop, {k: v for k, v in config.items() if k not in _ABOUT_ELEMENTS})


def _config(loop: Instruction) -> dict[str, Any] | None:
    """The config as a mapping, empty if there is none; None if it is of another form."""
    text = dict(loop.annotations).get(_NAME, "{}")
    try:
        found = json.loads(unquote(text) if text.startswith('"') else text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _with_config(loop: Instruction, config: dict[str, Any]) -> Instruction:
    others = tuple(a for a in loop.annotations if a[0] != _NAME)
    text = json.dumps(config, separators=(",", ":"))
    return loop.with_(annotations=(*others, (_NAME, text)) if config else others)
