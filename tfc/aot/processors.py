"""Which processors an object file has code for.

--cpu x86-64,x86-64-v4      a version for each, chosen where the object runs
--cpu native                the processor at hand, and all that it has
nothing                     machines of this kind in general: x86-64, x86-64-v3, x86-64-v4
"""

from collections.abc import Sequence

from tfc.backends.target import Target
from tfc.errors import TfcError


def chosen_targets(
    target: Target | str | None, cpus: str | Sequence[str] = ()
) -> tuple[Target, ...]:
    """The targets of the versions of the code, whose results differ in their last bits.

    Where no processor is named they are those of `Target.portable`: x86-64, x86-64-v3 and x86-64-v4
    on x86-64, and elsewhere the least there is.

    Args:
        target: a machine, or its text; what names no processor leaves that open.
        cpus: LLVM's names of processors, as text with commas between them or apart.

    Raises:
        TfcError: a name is empty, or both of them name processors.
        UnsupportedError: LLVM or tfc makes no code for one of them.
    """
    names = tuple(name.strip() for name in cpus.split(",")) if isinstance(cpus, str) else cpus
    names = () if names == ("",) else tuple(names)
    if isinstance(target, str) and target.strip() not in ("native", "host"):
        triple, named, _ = target.partition(",")
        if not named:
            return _of_triple(triple, names)
        target = Target.parse(target)
    elif isinstance(target, str):
        target = Target.host()
    if target is None:
        return _of_triple("", names)
    if names:
        raise TfcError(
            f"the target {target} names a processor already: give its triple alone beside cpus"
        )
    return (target,)


def _of_triple(triple: str, names: Sequence[str]) -> tuple[Target, ...]:
    """The targets of some processors of a machine, or of those that objects are for unless told."""
    if not names:
        return Target.portable(triple)
    if not all(names):
        raise TfcError("an empty name is no processor: expected some such as x86-64,x86-64-v3")
    return tuple(Target.parse(f"{triple or Target.host().triple},{name}") for name in names)
