"""The versions of a program, each for processors that have certain instructions; x86-64 only.

    int32_t NAME(args, results, arena)         processor_check.c, made of what every x86-64 has
        the last version that the processor can run:         asked once in a process
            return NAME.x86-64-v3(args, results, arena)
        none:
            return WRONG_PROCESSOR

Which instructions those are LLVM says: it puts a function into another only if that one's processor
has all that the first needs. Whether they are there the processor says, and the operating system
for registers that it has to save. The two instructions that ask are machine code that stands in
front of empty functions, since LLVM reads assembly for the machine that it runs on only.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import combinations
from operator import or_

from tfc.backends.cpu.runtime.generated import constant, runtime_ir
from tfc.backends.llvm.compilation import compile_ir
from tfc.backends.target import Target
from tfc.errors import TfcError, UnsupportedError

_EAX, _EBX, _ECX, _EDX = range(4)
_FEW = 8
_PLAIN = 'nounwind "target-cpu"="x86-64" "target-features"=""'

# Bits of the answers to CPUID, by leaf, subleaf and register: LLVM's names of what they stand for.
# Left out is what LLVM uses only if asked for by name, as for ciphers, or takes for given.
_FEATURES: dict[tuple[int, int, int], dict[int, str]] = {
    (1, 0, _ECX): {
        0: "sse3", 9: "ssse3", 12: "fma", 19: "sse4.1", 20: "sse4.2", 22: "movbe",
        23: "popcnt", 28: "avx", 29: "f16c",
    },
    (7, 0, _EBX): {
        3: "bmi", 5: "avx2", 8: "bmi2", 16: "avx512f", 17: "avx512dq", 21: "avx512ifma",
        28: "avx512cd", 30: "avx512bw", 31: "avx512vl",
    },
    (7, 0, _ECX): {
        1: "avx512vbmi", 6: "avx512vbmi2", 8: "gfni", 11: "avx512vnni", 12: "avx512bitalg",
        14: "avx512vpopcntdq",
    },
    (7, 0, _EDX): {23: "avx512fp16"},
    (7, 1, _EAX): {4: "avxvnni", 5: "avx512bf16", 23: "avxifma"},
    (7, 1, _EDX): {4: "avxvnniint8", 5: "avxneconvert", 10: "avxvnniint16", 21: "egpr"},
    (0x80000001, 0, _ECX): {5: "lzcnt", 6: "sse4a", 11: "xop", 16: "fma4", 21: "tbm"},
}  # fmt: skip
_SAVES = 27  # bit of leaf 1, ECX: the system has said which registers it saves
# Registers that the system has to save: the bits of that answer, for what needs them.
_SAVED = {"avx": 0x6, "avx512f": 0xE6, "egpr": 0x80000}

# Of struct version in processor_check.c.
_VERSION = "{ ptr, i32, i32, i32, ptr, ptr }"

# Of a leaf and a subleaf, two words: EAX and EBX, ECX and EDX.
# push rbx; mov eax, edi; mov ecx, esi; cpuid; shl rbx, 32; or rax, rbx; shl rdx, 32; or rdx, rcx;
# pop rbx; ret
_CPUID = "53 89F8 89F1 0FA2 48C1E320 4809D8 48C1E220 4809CA 5B C3"
# xor ecx, ecx; xgetbv; ret
_XGETBV = "31C9 0F01D0 C3"


@dataclass(frozen=True)
class Version:
    """A version of a program: the function that runs it, and the machine that it is made for."""

    run: str
    target: Target


def is_checked(target: Target) -> bool:
    """Whether object files for a target check their processor."""
    is_x86 = target.architecture == "x86_64" and target.pointer_bits == 64
    return is_x86 and bool(needed_features(target))


def processor_name(target: Target) -> str:
    """What a target asks of a processor, in short.

    The features of the processor at hand are many, and told by its name.
    """
    added = re.findall(r"\+[^,]+", target.features)
    return " ".join([target.cpu, *added]) if len(added) < _FEW else target.cpu


def in_order(targets: Sequence[Target]) -> tuple[Target, ...]:
    """The targets of the versions of one program: the first asks least of a processor.

    Raises:
        UnsupportedError: they are for several machines, or for others than x86-64.
        TfcError: two of them ask for the same, so that one would never run.
    """
    if len(targets) == 1:
        return tuple(targets)
    triple = targets[0].triple
    if targets[0].architecture != "x86_64" or any(t.triple != triple for t in targets):
        raise UnsupportedError(
            "versions for several processors are made for one system of x86-64 at a time, got "
            f"{' and '.join(map(str, targets))}: name one processor"
        )
    found = sorted(targets, key=lambda target: len(needed_features(target)))
    for less, more in combinations(found, 2):
        if needed_features(less) == needed_features(more):
            raise TfcError(
                f"code for {processor_name(less)} would never run beside that for "
                f"{processor_name(more)}, which needs the same instructions: leave one out"
            )
    return tuple(found)


@cache
def needed_features(target: Target) -> frozenset[str]:
    """What code for an x86-64 target may need of a processor, by LLVM's names."""
    names = [name for bits in _FEATURES.values() for name in bits.values()]
    text = "@seen = global i32 0\n"
    for number, name in enumerate(names):
        text += (
            f'define internal void @with.{number}() "target-cpu"="x86-64" '
            f'"target-features"="+{name}" {{\n'
            f"  store volatile i32 {number}, ptr @seen\n  ret void\n}}\n"
            f"define void @ask.{number}() {{\n  call void @with.{number}()\n  ret void\n}}\n"
        )
    optimised = compile_ir(text, target).llvm_ir
    asked = re.findall(r"@ask\.\d+\(\).*?\{(.*?)\}", optimised, re.DOTALL)
    found = {int(n) for body in asked for n in re.findall(r"store volatile i32 (\d+)", body)}
    return frozenset(name for number, name in enumerate(names) if number in found)


def cpu_symbol(name: str) -> str:
    """The C function that says which version of an entry point runs."""
    return f"{name}_cpu"


def checked_entry(name: str, versions: Sequence[Version]) -> str:
    """The LLVM IR of an entry point that calls the last version that can run, and of `cpu_symbol`.

    Args:
        versions: in order (see `in_order`); their functions are declared by it.
    """
    rows, around = [], []
    for number, version in enumerate(versions):
        row, tables = _version(number, version)
        rows.append(row)
        around.append(tables)
    count = len(versions)
    definitions = {
        "tfc_versions": f"@tfc_versions = internal constant [{count} x {_VERSION}] "
        f"[{', '.join(rows)}]",
        "tfc_version_count": constant("tfc_version_count", count),
        "tfc_cpuid": _machine_code("{ i64, i64 } @tfc_cpuid(i32 %leaf, i32 %subleaf)", _CPUID),
        "tfc_xgetbv": _machine_code("i32 @tfc_xgetbv()", _XGETBV),
    }
    text = runtime_ir("processor_check", definitions)
    text = re.sub(r"^(define .*\)) \{$", rf"\1 {_PLAIN} {{", text, flags=re.MULTILINE)
    text = text.replace("@tfc_checked_run(", f'@"{name}"(')
    return text.replace("@tfc_checked_cpu(", f'@"{cpu_symbol(name)}"(') + "".join(around)


def _version(number: int, version: Version) -> tuple[str, str]:
    """The entry of a version in the table of them, and what that refers to."""
    needed = needed_features(version.target)
    saved = reduce(or_, (bits for feature, bits in _SAVED.items() if feature in needed), 0)
    masks = dict(_masks(needed))
    if saved:
        masks[1, 0, _ECX] = masks.get((1, 0, _ECX), 0) | 1 << _SAVES
    needs = [(leaf, sub, 32 * register, mask) for (leaf, sub, register), mask in masks.items()]
    listed = ", ".join(f"[4 x i32] [{', '.join(f'i32 {n}' for n in need)}]" for need in needs)
    most = max((leaf for leaf, _, _ in masks if leaf < 1 << 31), default=0)
    cpu = processor_name(version.target)
    row = (
        f"{_VERSION} {{ ptr @tfc_needs.{number}, i32 {len(needs)}, i32 {most}, i32 {saved}, "
        f'ptr @tfc_cpu.{number}, ptr @"{version.run}" }}'
    )
    tables = (
        f"@tfc_needs.{number} = internal constant [{len(needs)} x [4 x i32]] [{listed}]\n"
        f'@tfc_cpu.{number} = internal constant [{len(cpu) + 1} x i8] c"{cpu}\\00"\n'
        f'declare i32 @"{version.run}"(ptr, ptr, ptr)\n'
    )
    return row, tables


def _machine_code(head: str, code: str) -> str:
    """A function that is machine code; its empty body, which LLVM must not look into, follows."""
    data = bytes.fromhex(code)
    escaped = "".join(f"\\{byte:02X}" for byte in data)
    return (
        f"define internal x86_64_sysvcc {head} naked noinline {_PLAIN} "
        f'prologue [{len(data)} x i8] c"{escaped}" {{\n  unreachable\n}}'
    )


def _masks(needed: frozenset[str]) -> Iterator[tuple[tuple[int, int, int], int]]:
    """The bits that each answer must have, if any."""
    for place, bits in _FEATURES.items():
        mask = sum(1 << bit for bit, name in bits.items() if name in needed)
        if mask:
            yield place, mask
