"""Options: what a compilation may be told, as one value; the only reader of the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from tfc.errors import TfcError


@dataclass(frozen=True)
class Options:
    """How to compile, passed down from the caller to every stage.

    dump_dir: a folder that receives the module after each pass that changed it; "" for none.
    verify: check every invariant of the module after each pass that changed it.
    time: measure each pass, and let passes explain what they did and refused.
    disabled: the names of passes to leave out.
    target: the machine to compile for, as text; "" is the machine that compiles.
    dump_as: the forms of what is written to dump_dir: "text", "dot" (Graphviz), "html".
    """

    dump_dir: str = ""
    verify: bool = True
    time: bool = False
    disabled: tuple[str, ...] = ()
    target: str = ""
    dump_as: tuple[str, ...] = ("text",)

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> "Options":
        """The options that the environment asks for.

        Args:
            environment: the variables to read instead of the process's own.

        Raises:
            TfcError: a switch is neither on nor off.
        """
        found = os.environ if environment is None else environment
        return Options(
            dump_dir=found.get("TFC_DUMP", ""),
            verify=_switch(found, "TFC_VERIFY", True),
            time=_switch(found, "TFC_TIME", False),
            disabled=_names(found, "TFC_DISABLE"),
            target=found.get("TFC_TARGET", ""),
            dump_as=_names(found, "TFC_DUMP_AS") or ("text",),
        )


def _names(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The words between the commas."""
    return tuple(filter(None, (word.strip() for word in environment.get(name, "").split(","))))


def _switch(environment: Mapping[str, str], name: str, default: bool) -> bool:
    value = environment.get(name, "").strip().lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("0", "false", "no", "off"):
        return False
    if value:
        raise TfcError(f"{name} must be 1 or 0, got '{environment[name]}'")
    return default
