"""The check that a processor has the instructions that an object file is made of; x86-64 only.

    int32_t NAME(args, results, arena)         processor_check.c, made of what every x86-64 has
        unless the processor is known to fit:  asked once in a process
            return WRONG_PROCESSOR
        return NAME.run(args, results, arena)

Which instructions those are LLVM says: it puts a function into another only if that one's processor
has all that the first needs. Whether they are there the processor says, and the operating system
for registers that it has to save. The two instructions that ask are machine code that stands in
front of empty functions, since LLVM reads assembly for the machine that it runs on only.
"""

import re
from collections.abc import Iterator
from functools import cache, reduce
from operator import or_

from tfc.backends.cpu.runtime.generated import constant, runtime_ir
from tfc.backends.llvm.compilation import compile_ir
from tfc.backends.target import Target

_EAX, _EBX, _ECX, _EDX = range(4)
_FEW = 8
_PLAIN = '"target-cpu"="x86-64" "target-features"=""'

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

# Of a leaf and a subleaf, two words: EAX and EBX, ECX and EDX.
# push rbx; mov eax, edi; mov ecx, esi; cpuid; shl rbx, 32; or rax, rbx; shl rdx, 32; or rdx, rcx;
# pop rbx; ret
_CPUID = "53 89F8 89F1 0FA2 48C1E320 4809D8 48C1E220 4809CA 5B C3"
# xor ecx, ecx; xgetbv; ret
_XGETBV = "31C9 0F01D0 C3"


def checked_processor(target: Target) -> str:
    """What object files for a target check their processor for, in short; empty if they do not.

    The features of the processor at hand are many, and told by its name.
    """
    if target.architecture != "x86_64" or not needed_features(target):
        return ""
    added = re.findall(r"\+[^,]+", target.features)
    return " ".join([target.cpu, *added]) if len(added) < _FEW else target.cpu


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


def checked_entry(name: str, run: str, target: Target) -> str:
    """The LLVM IR of an entry point that calls `run`, a function of three pointers, if it can."""
    needed = needed_features(target)
    saved = reduce(or_, (bits for feature, bits in _SAVED.items() if feature in needed), 0)
    masks = dict(_masks(needed))
    if saved:
        masks[1, 0, _ECX] = masks.get((1, 0, _ECX), 0) | 1 << _SAVES
    needs = [(leaf, sub, 32 * register, mask) for (leaf, sub, register), mask in masks.items()]
    rows = ", ".join(f"[4 x i32] [{', '.join(f'i32 {n}' for n in need)}]" for need in needs)
    most = max((leaf for leaf, _, _ in masks if leaf < 1 << 31), default=0)
    definitions = {
        "tfc_needs": f"@tfc_needs = internal constant [{len(needs)} x [4 x i32]] [{rows}]",
        "tfc_need_count": constant("tfc_need_count", len(needs)),
        "tfc_most_leaf": constant("tfc_most_leaf", most),
        "tfc_saved": constant("tfc_saved", saved),
        "tfc_cpuid": _machine_code("{ i64, i64 } @tfc_cpuid(i32 %leaf, i32 %subleaf)", _CPUID),
        "tfc_xgetbv": _machine_code("i32 @tfc_xgetbv()", _XGETBV),
        "tfc_run": "",
    }
    text = runtime_ir("processor_check", definitions)
    text = re.sub(r"^(define .*\)) \{$", rf"\1 {_PLAIN} {{", text, flags=re.MULTILINE)
    return text.replace("@tfc_run(", f'@"{run}"(').replace("@tfc_checked_run(", f'@"{name}"(')


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
