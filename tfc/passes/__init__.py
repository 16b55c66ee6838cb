"""HLO to HLO: the passes by name, and the pipeline that every compilation runs."""

import re
from dataclasses import MISSING, fields
from typing import Any

from tfc.errors import TfcError
from tfc.passes.convolutions import Convolutions
from tfc.passes.copies import Copies
from tfc.passes.cse import Cse
from tfc.passes.dce import Dce
from tfc.passes.devices import Devices
from tfc.passes.dot_merger import DotMerger
from tfc.passes.dots import Dots
from tfc.passes.epilogue_fusion import EpilogueFusion
from tfc.passes.expand import Expand
from tfc.passes.fold import Fold
from tfc.passes.fusion import Fusion
from tfc.passes.inline import Flatten, Inline
from tfc.passes.kernel_kinds import LOOPS_ONLY, KernelKinds
from tfc.passes.pipeline import Ordering, Pass, Pipeline, PipelineReport, Repeat
from tfc.passes.simplify import Simplify

__all__ = [
    "ORDERINGS",
    "PASSES",
    "KernelKinds",
    "Pass",
    "Pipeline",
    "PipelineReport",
    "Repeat",
    "default_pipeline",
    "parse_passes",
]

_MADE = (
    Inline, Expand, Devices, Convolutions, Dots, Simplify, Fold, Cse, Dce, DotMerger,
    EpilogueFusion, Fusion, Flatten, Copies,
)  # fmt: skip
PASSES: dict[str, Any] = {made.name: made for made in _MADE}

ORDERINGS: tuple[Ordering, ...] = (
    ("inline", "fusion", "a call hides producers from their consumers"),
    ("inline", "flatten", "inlining a call twice gives its loops two callers"),
    ("expand", "convolutions", "expansions may contain convolutions"),
    ("convolutions", "dots", "some convolutions are dots"),
    ("expand", "dots", "expansions may contain dots"),
    ("expand", "devices", "an asynchronous collective becomes a plain one"),
    ("dots", "fusion", "the transposes of operands fuse with what makes them"),
    ("dots", "dot-merger", "dots are compared in canonical form"),
    ("cse", "dot-merger", "equal dots are one, not two beside each other"),
    ("dot-merger", "epilogues", "what follows one of two merged dots is no epilogue of theirs"),
    ("dots", "epilogues", "an epilogue hides the dot that it belongs to"),
    ("convolutions", "epilogues", "an epilogue hides the convolution that it belongs to"),
    ("simplify", "epilogues", "rules see only the parts of a computation that was fused apart"),
    ("cse", "epilogues", "a value computed twice has other users than those of each"),
    ("epilogues", "fusion", "loops take the elementwise operations that a product could have"),
    ("simplify", "fusion", "rules see only the parts of a computation that was fused apart"),
    ("cse", "fusion", "fusion counts users, and equal values have too few each"),
    ("simplify", "copies", "simplify removes copies"),
    ("cse", "copies", "cse merges copies of one value"),
    ("fusion", "copies", "a copy must stay the last thing that happens to a loop's state"),
)


def default_pipeline(
    exact: bool = True, max_instructions: int = 128, kinds: KernelKinds = LOOPS_ONLY
) -> Pipeline:
    """The passes that make a module ready for a backend.

    Args:
        kinds: what the backend has code for.
        exact: keep every bit of the module's meaning.
        max_instructions: how much code a fusion may become.
    """
    return Pipeline(
        "default",
        (
            Inline(),
            Expand(),
            Devices(),
            Convolutions(),
            Dots(),
            Repeat((Simplify(exact=exact), Fold(), Cse(), Dce())),
            DotMerger(),
            *((EpilogueFusion(),) if kinds.epilogues else ()),
            Fusion(max_instructions),
            Flatten(),
            Copies(),
        ),
        ORDERINGS,
    )


def parse_passes(text: str) -> tuple[Pass, ...]:
    """The passes named in text such as `simplify,fusion{max_instructions=8}`.

    Raises:
        TfcError: a pass or option does not exist, or a value does not fit; the message lists what
            there is.
    """
    found = []
    for part in re.findall(r"[^,{\s]+\s*(?:\{[^}]*\})?|[{}]", text):
        name, _, stated = part.partition("{")
        made = PASSES.get(name.strip())
        if made is None:
            listed = ", ".join(PASSES)
            raise TfcError(f"there is no pass '{name.strip() or part}'; there are {listed}")
        found.append(made(**_parse_options(made, stated.rstrip("}"))))
    return tuple(found)


def _parse_options(made: Any, text: str) -> dict[str, Any]:
    known = {f.name: f for f in fields(made) if f.default is not MISSING}
    options = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, _, value = (p.strip() for p in part.partition("="))
        if key not in known:
            listed = ", ".join(known) or "none"
            raise TfcError(f"{made.name} has no option '{key}'; there are {listed}")
        options[key] = _parse_value(f"{made.name}{{{key}}}", value, known[key].default)
    return options


def _parse_value(option: str, text: str, default: object) -> object:
    """The value in text, of the type of the option's default."""
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise TfcError(f"{option} must be true or false, got '{text}'")
        return text == "true"
    if isinstance(default, int):
        if not re.fullmatch(r"\d+", text):
            raise TfcError(f"{option} must be a whole number, got '{text}'")
        return int(text)
    return text
