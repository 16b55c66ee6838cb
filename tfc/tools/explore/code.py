"""The code of single kernels, cut out of the texts of the whole program."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tfc.backends.interfaces import Executable

# How a function looks in each text: its name is the first group, the whole is the match.
_FUNCTIONS = {
    # A declaration has no brace at the end of its line.
    "mlir": re.compile(r"^  func\.func (?:private )?@([\w.$-]+)\([^\n]*\{$.*?^  \}$", re.M | re.S),
    "llvm": re.compile(r'^define [^@\n]*@"?([\w.$-]+)"?\(.*?^\}$', re.M | re.S),
    # From the label to the size, which ends a function in ELF, or else to the next empty line.
    "asm": re.compile(
        r'^"?_?([A-Za-z][\w.$-]*)"?:[^\n]*\n(?:(?!\s*\.size|\.Lfunc_end)[^\n]+\n)*', re.M
    ),
}
_NOISE = re.compile(r"^\s*\.(?:cfi_|p2align|type|size)[^\n]*\n", re.M)


@dataclass(frozen=True)
class KernelCode:
    """The function of a kernel at each stage; "" where a stage has none of its own."""

    mlir: str = ""
    llvm: str = ""
    asm: str = ""


def kernel_code(executable: Executable, names: Iterable[str]) -> dict[str, KernelCode]:
    """The code of the kernels of these names."""
    wanted = set(names)
    found = {stage: _functions(executable.as_text(stage), stage, wanted) for stage in _FUNCTIONS}
    return {n: KernelCode(*(found[s].get(n, "") for s in ("mlir", "llvm", "asm"))) for n in wanted}


def _functions(text: str, stage: str, wanted: set[str]) -> dict[str, str]:
    made = {m[1]: m[0] for m in _FUNCTIONS[stage].finditer(text) if m[1] in wanted}
    if stage == "asm":
        return {name: _NOISE.sub("", code) for name, code in made.items()}
    return made
