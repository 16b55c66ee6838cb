"""Target: the machine that code is made for, and what the emitters need to know about it."""

import os
import re
import sys
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import llvmlite.binding as llvm

from tfc.errors import UnsupportedError
from tfc.runtime.later import later

if TYPE_CHECKING:
    import subprocess
else:
    subprocess = later("subprocess")


@dataclass(frozen=True)
class Architecture:
    """One family of targets: its defaults, and how its assembly shows the width of its vectors.

    `cpu` is the least there is, `others` what objects have code for beside.

    `vectors` lists (pattern, bits, registers), widest first; the first whose pattern occurs in the
    assembly of a vector computation is what the CPU has.
    """

    name: str
    vectors: tuple[tuple[str, int, int], ...]
    cpu: str = "generic"
    others: tuple[str, ...] = ()
    features: str = ""
    abi: str = ""


# Keyed by LLVM's name of the code generator.
# fmt: off
_ARCHITECTURES = {
    "x86-64":  Architecture("x86_64", ((r"zmm", 512, 32), (r"ymm", 256, 16), (r"xmm", 128, 16)),
                            "x86-64", ("x86-64-v3", "x86-64-v4")),
    "aarch64": Architecture("aarch64", ((r"\.4s", 128, 32),)),
    "x86":     Architecture("i386", ((r"\bxmm", 128, 8),), "pentium4"),
    "arm":     Architecture("arm", ((r"\bq\d", 128, 16),)),
    "thumb":   Architecture("arm", ((r"\bq\d", 128, 16),)),
    "riscv64": Architecture("riscv64", ((r"\bvsetivli", 128, 32),), "generic-rv64", (),
                            "+m,+a,+f,+d,+c", "lp64d"),
    "wasm32":  Architecture("wasm32", ((r"\bv128", 128, 16),), features="+simd128"),
    "nvptx64": Architecture("nvptx64", (), "sm_80"),
}
# fmt: on

# LLVM offers no question "how wide are this CPU's vectors", so its answer is read off the code it
# makes: the widest register used, and whether a fused multiply-add is a call to the C library.
_PROBE = """
define void @widest(ptr %p, ptr %q) "min-legal-vector-width"="512" {
  %a = load <16 x float>, ptr %p
  %b = load <16 x float>, ptr %q
  %r = fadd <16 x float> %a, %b
  store <16 x float> %r, ptr %p
  ret void
}
define float @short(float %a, float %b, float %c) {
  %r = call float @llvm.fma.f32(float %a, float %b, float %c)
  ret float %r
}
define double @long(double %a, double %b, double %c) {
  %r = call double @llvm.fma.f64(double %a, double %b, double %c)
  ret double %r
}
"""

# Which instruction adds up four products of bytes is read off in the same way.
_BYTES_PROBE = """
define i32 @bytes(ptr %p, ptr %q) {
  %a = load <16 x i8>, ptr %p
  %b = load <16 x i8>, ptr %q
  %x = EXTENSION <16 x i8> %a to <16 x i32>
  %y = sext <16 x i8> %b to <16 x i32>
  %m = mul <16 x i32> %x, %y
  %r = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %m)
  ret i32 %r
}
declare i32 @llvm.vector.reduce.add.v16i32(<16 x i32>)
"""
# One instruction for whole registers of 512 bits comes with those of products.
_HALVES_PROBE = """
define <16 x bfloat> @halves(<16 x float> %x) {
  %y = fptrunc <16 x float> %x to <16 x bfloat>
  ret <16 x bfloat> %y
}
"""
_BYTE_PRODUCTS = {"x86_64": ("zext", "vpdpbusd", "x86"), "aarch64": ("sext", "sdot", "aarch64")}

_SYSTEMS = ("linux", "windows", "darwin", "macos", "freebsd", "netbsd", "openbsd", "wasi")
_CACHE_DEFAULTS = (32 << 10, 512 << 10, 8 << 20)
_initialization = threading.Lock()


@cache
def _initialize_all() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


def initialize_llvm() -> None:
    """Make every code generator of LLVM ready, once per process; safe from any thread."""
    with _initialization:
        _initialize_all()


@dataclass(frozen=True)
class Target:
    """A machine to make code for.

    Attributes:
        triple: LLVM's target triple, such as "aarch64-unknown-linux-gnu".
        cpu: LLVM's name of the processor; the SM ("sm_80") for NVIDIA GPUs.
        features: LLVM's list of features to add and remove, such as "+avx2,-fma4".
        vector_bits: width of the widest vector register that is worth using, 0 if there is none.
        vector_registers: the number of such registers.
        pointer_bits: width of an address.
        has_fma: whether fused multiply-adds of f32 and f64 are instructions, not calls to the C
            library.
        l1_bytes, l2_bytes, l3_bytes: sizes of the data caches.
    """

    triple: str
    cpu: str
    features: str = ""
    vector_bits: int = 0
    vector_registers: int = 0
    has_fma: bool = False
    pointer_bits: int = 64
    l1_bytes: int = _CACHE_DEFAULTS[0]
    l2_bytes: int = _CACHE_DEFAULTS[1]
    l3_bytes: int = _CACHE_DEFAULTS[2]

    @staticmethod
    def host() -> "Target":
        """The machine that this process runs on."""
        return _host()

    @staticmethod
    def portable(triple: str = "") -> "tuple[Target, ...]":
        """What objects have code for unless told: any machine of this kind, or of a triple.

        On x86-64 it is for every processor, and better for those with AVX2 (x86-64-v3) and with
        AVX-512 (x86-64-v4), of which the second are twice as fast where products take the time;
        the object asks the processor which code it can run.

        Raises:
            UnsupportedError: LLVM or tfc makes no code for that triple.
        """
        least = Target.parse(triple or _host().triple)
        others = _architecture(least.triple).others
        return least, *(_describe(least.triple, cpu, least.features) for cpu in others)

    @staticmethod
    def parse(text: str) -> "Target":
        """The target written as "triple[,cpu[,features]]", or "native" or "host" for this machine.

        The processor "native" is the one at hand, too, with features added or removed.

        Examples: "aarch64-linux-gnu", "x86_64-linux-gnu,x86-64-v3",
        "wasm32-unknown-unknown,generic,+simd128", "nvptx64-nvidia-cuda,sm_90a".

        Raises:
            UnsupportedError: LLVM or tfc makes no code for that triple, or LLVM does not know the
                processor or a feature.
        """
        if text.strip() in ("host", "native"):
            return _host()
        if not (text.isascii() and text.isprintable()):
            raise UnsupportedError(f"a target is written in ASCII, got {text!r}")
        triple, cpu, features = [*(part.strip() for part in text.split(",", 2)), "", ""][:3]
        features = ",".join(filter(None, (f.strip() for f in features.split(","))))
        triple = _with_vendor(triple)
        known = _architecture(triple)
        if cpu == "native":
            cpu, features = _native(triple, features)
        if cpu or features:
            _check_processor(triple, cpu or known.cpu, features)
        features = features if cpu or features else known.features
        return _describe(triple, cpu or known.cpu, features)

    @property
    def architecture(self) -> str:
        """The family: x86_64, i386, aarch64, arm, riscv64, wasm32 or nvptx64."""
        return _architecture(self.triple).name

    @property
    def abi(self) -> str:
        """LLVM's name of the calling convention where the triple leaves it open, else empty."""
        return _architecture(self.triple).abi

    @property
    def byte_products(self) -> str:
        """Whose instruction adds up four products of bytes in a lane of 32 bits.

        "x86" for unsigned bytes times signed ones, "aarch64" for bytes that are both one or the
        other; empty if there is none.
        """
        return _byte_products(self.triple, self.cpu, self.features) if self.vector_bits else ""

    @property
    def has_bf16_products(self) -> bool:
        """Whether x86's instruction adds up two products of bf16 in a lane of 32 bits."""
        wide = self.architecture == "x86_64" and self.vector_bits == 512
        return wide and _has_bf16_products(self.triple, self.cpu, self.features)

    @property
    def is_gpu(self) -> bool:
        """True if the target is an NVIDIA GPU."""
        return self.architecture == "nvptx64"

    def lanes(self, element_bits: int) -> int:
        """The number of elements of that width in one vector register; 1 without vectors."""
        return max(1, self.vector_bits // element_bits)

    def __str__(self) -> str:
        """The text that `parse` reads."""
        return ",".join(filter(None, (self.triple, self.cpu, self.features)))


def _native(triple: str, features: str) -> tuple[str, str]:
    """The processor at hand, and its features with others added or removed."""
    host = _host()
    if _architecture(triple) != _architecture(host.triple):
        raise UnsupportedError(
            f"the processor 'native' is this machine's, {host.triple}, not one of {triple}; "
            "name a processor or leave it out"
        )
    return host.cpu, ",".join(filter(None, (host.features, features)))


def _with_vendor(triple: str) -> str:
    """A triple as LLVM reads it, which takes what comes second for the vendor always.

    Left out, as in "armv7-linux-gnueabihf", it would take "gnueabihf" for no ABI it knows.
    """
    first, dash, rest = triple.partition("-")
    return f"{first}-unknown-{rest}" if dash and rest.startswith(_SYSTEMS) else triple


def _architecture(triple: str) -> Architecture:
    initialize_llvm()
    try:
        name = llvm.Target.from_triple(triple).name
    except RuntimeError:
        name = ""
    if name not in _ARCHITECTURES:
        known = ", ".join(a.name for a in _ARCHITECTURES.values())
        raise UnsupportedError(
            f'cannot make code for the target triple "{triple}": expected one such as '
            f'"x86_64-linux-gnu", whose architecture is one of {known}'
        )
    return _ARCHITECTURES[name]


# Run by itself: LLVM says on standard error what it does not know, and dies of some of it.
_CHECK = """
import sys
from tfc.backends import target
triple, cpu, features = sys.argv[1:]
target._architecture(triple)
target._describe(triple, cpu, features)
"""


@cache
def _check_processor(triple: str, cpu: str, features: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHECK, triple, cpu, features],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    unknown = re.search(r"'([^']*)' is not a recognized (processor|feature)", done.stderr)
    if unknown:
        raise UnsupportedError(
            f"LLVM knows no {unknown[2]} '{unknown[1]}' of {triple}; "
            f"`llc -mtriple={triple} -mcpu=help` lists what there is"
        )
    if done.returncode:
        lines = done.stderr.strip().split("\n")
        raise UnsupportedError(f"LLVM makes no code for {triple},{cpu},{features}: {lines[-1]}")


def _compiled(text: str, triple: str, cpu: str, features: str) -> tuple[str, str]:
    """The assembly that LLVM makes of a text for a processor, and how data lies there."""
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=1, codemodel="small",
        abiname=_architecture(triple).abi,
    )  # fmt: skip
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = triple, str(machine.target_data)
    return machine.emit_assembly(module), module.data_layout


@cache
def _describe(
    triple: str, cpu: str, features: str, caches: tuple[int, int, int] = _CACHE_DEFAULTS
) -> Target:
    known = _architecture(triple)
    assembly, layout = _compiled(_PROBE, triple, cpu, features)
    bits, registers = 0, 0
    for pattern, bits_if_found, registers_if_found in reversed(known.vectors):
        if re.search(pattern, assembly):
            bits, registers = bits_if_found, registers_if_found
    if known.name == "i386" and not bits:
        # What computes instead rounds results to 64 bits, not to those of their type.
        raise UnsupportedError(
            f"code for {triple} needs SSE2: choose another processor than '{cpu}', such as pentium4"
        )
    has_fma = not re.search(r"\bfmaf?\b(?!\.)", assembly)
    pointers = re.search(r"-p:(\d+)", layout)
    pointer_bits = int(pointers[1]) if pointers else 64
    return Target(triple, cpu, features, bits, registers, has_fma, pointer_bits, *caches)


@cache
def _byte_products(triple: str, cpu: str, features: str) -> str:
    known = _architecture(triple)
    if known.name not in _BYTE_PRODUCTS:
        return ""
    extension, instruction, name = _BYTE_PRODUCTS[known.name]
    probe = _BYTES_PROBE.replace("EXTENSION", extension)
    return name if instruction in _compiled(probe, triple, cpu, features)[0] else ""


@cache
def _has_bf16_products(triple: str, cpu: str, features: str) -> bool:
    found, _ = _compiled(_HALVES_PROBE, triple, cpu, features)
    return re.search(r"vcvtneps2bf16\s+%zmm", found) is not None


@cache
def _host() -> Target:
    features = llvm.get_host_cpu_features().flatten()
    return _describe(
        llvm.get_process_triple(), llvm.get_host_cpu_name(), features, _host_cache_bytes()
    )


def _host_cache_bytes() -> tuple[int, int, int]:
    """Sizes of the first CPU's data caches: Linux's sysfs, else POSIX's sysconf, else a guess."""
    sizes: dict[int, int] = dict(enumerate(_CACHE_DEFAULTS, start=1))
    for level, name in ((1, "SC_LEVEL1_DCACHE_SIZE"), (2, "SC_LEVEL2_CACHE_SIZE")):
        if name in getattr(os, "sysconf_names", ()):
            sizes[level] = max(os.sysconf(name), 0) or sizes[level]
    for entry in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((entry / f).read_text().strip() for f in ("level", "type", "size"))
        except OSError:
            continue
        match = re.fullmatch(r"(\d+)([KMG]?)", size)
        if match and kind != "Instruction" and int(level) in sizes:
            sizes[int(level)] = int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]
    return sizes[1], sizes[2], sizes[3]
