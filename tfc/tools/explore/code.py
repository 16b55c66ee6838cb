"""The code of single kernels, cut out of the texts of the whole program."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tfc.backends.interfaces import Executable

# How a function looks in each text: its name is the last group, the whole is the match.
_FUNCTIONS = {
    # A declaration has no brace at the end of its line.
    "mlir": re.compile(
        r"^( +)(?:func|gpu)\.func (?:private )?@([\w.$-]+)\([^\n]*\{$.*?^\1\}$", re.M | re.S
    ),
    "llvm": re.compile(r'^define [^@\n]*@"?([\w.$-]+)"?\(.*?^\}$', re.M | re.S),
    # From the label to the size, which ends a function in ELF, or else to the next empty line.
    "asm": re.compile(
        r'^"?_?([A-Za-z][\w.$-]*)"?:[^\n]*\n(?:(?!\s*\.size|\.Lfunc_end)[^\n]+\n)*', re.M
    ),
    "ptx": re.compile(r"^\.visible \.entry ([\w.$-]+)\(.*?^\}$", re.M | re.S),
}
_NOISE = re.compile(r"^\s*\.(?:cfi_|p2align|type|size)[^\n]*\n", re.M)


@dataclass(frozen=True)
class KernelCode:
    """The function of a kernel at each stage; "" where a stage has none of its own."""

    mlir: str = ""
    llvm: str = ""
    asm: str = ""
    ptx: str = ""


def kernel_code(executable: Executable, names: Iterable[str]) -> dict[str, KernelCode]:
    """The code of the kernels of these names."""
    wanted = set(names)
    found = {
        stage: _functions(executable.as_text(stage), stage, wanted)
        for stage in _FUNCTIONS
        if stage in executable.stages
    }
    return {n: KernelCode(**{s: texts.get(n, "") for s, texts in found.items()}) for n in wanted}


def _functions(text: str, stage: str, wanted: set[str]) -> dict[str, str]:
    matches = list(_FUNCTIONS[stage].finditer(text))
    made = {m.groups()[-1]: m[0] for m in matches if m.groups()[-1] in wanted}
    if stage == "asm":
        return {name: _NOISE.sub("", code) for name, code in made.items()}
    return made
