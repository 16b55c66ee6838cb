"""From MLIR to machine code: the one place where modules made by the MLIR bindings meet llvmlite.

    ir.Module ─lower_to_llvm─► LLVM dialect ─to_llvm_ir─► text ─compile_ir─► CompiledModule ─load─►
              └lower_gpu_to_llvm───────────────────────► text ─compile_ptx─► PTX

The bindings carry a newer LLVM than llvmlite does, so modules travel as text, and `hand_over` puts
the text in the form that llvmlite's LLVM reads. All functions may be called from several threads.
"""

import ctypes
import itertools
import os
import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvmlite

from tfc.backends.llvm.effort import Effort, codegen_level, pass_manager
from tfc.backends.llvm.float_remainder import remainder_functions
from tfc.backends.llvm.machines import new_machine
from tfc.backends.llvm.multiply_adds import expand_multiply_adds
from tfc.backends.llvm.parts import run_passes
from tfc.backends.llvm.text import hand_over
from tfc.backends.mlir.provider import ir, passmanager, to_llvm
from tfc.backends.target import Target, initialize_llvm
from tfc.errors import InternalError, UnsupportedError
from tfc.runtime.later import later

if TYPE_CHECKING:
    from ctypes import util as ctypes_util
else:
    ctypes_util = later("ctypes.util")

# --- MLIR passes --------------------------------------------------------------------------------

# arith-expand turns bf16 conversions into integer arithmetic: LLVM would call the compiler's
# run-time library, which an object file of ours must not need. A second round of the first
# canonicalize finds next to nothing that the last does not. What has another pass for its lowering
# than convert-to-llvm is not emitted: vectors of several dimensions, transfers, views with strides.
_CPU_PIPELINE = """builtin.module(
    canonicalize{max-iterations=1}, cse, arith-expand{include-bf16=true}, convert-scf-to-cf,
    convert-func-to-llvm{use-bare-ptr-memref-call-conv=true}, convert-to-llvm,
    reconcile-unrealized-casts, canonicalize{region-simplify=disabled})"""

DESCRIPTOR_SIZE, DESCRIPTOR_ALIGNMENT = 128, 64  # of a tensor, of which kernels copy boxes

# Blocks come last: passes that rewrite greedily merge those with equal operations, and with them
# barriers that not all threads of a warp then reach together.
_GPU_PIPELINE = """builtin.module(gpu.module(
    canonicalize, cse, arith-expand{include-bf16=true}, convert-nvgpu-to-nvvm,
    expand-strided-metadata, lower-affine, convert-vector-to-scf,
    convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=true}, convert-nvvm-to-llvm,
    convert-complex-to-llvm, convert-math-to-llvm, convert-vector-to-llvm, convert-index-to-llvm,
    convert-ub-to-llvm, convert-scf-to-cf), convert-cf-to-llvm,
    gpu.module(convert-arith-to-llvm, reconcile-unrealized-casts))"""

_GPU_LAYOUT = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"

# MLIR defines the memory that a launch gives as an array of no bytes, of which no access is one and
# NVIDIA's assembler makes one byte besides; to be declared is what it is there for.
_SHARED_MEMORY = r"^(@\S+) = internal (addrspace\(3\) global \[0 x i8\]) undef, (align \d+)$"

# convert-gpu-to-nvvm makes calls of NVIDIA's libdevice, which is not there to be linked. These are
# the functions of it that are one instruction or a few, by name without "__nv_" and type suffix.
# fmt: off
_LIBDEVICE = {
    **{name: f"%r = call {{type}} @llvm.{name}.{{suffix}}({{arguments}})"
       for name in ("fabs", "ceil", "copysign", "floor", "fma", "round", "sqrt")},
    **{f"f{name}": f"%r = call {{type}} @llvm.{name}num.{{suffix}}({{arguments}})"
       for name in ("min", "max")},
    "rint":  "%r = call {type} @llvm.roundeven.{suffix}({arguments})",
    "fmod":  "%r = call {type} @tfc.fmod.{suffix}({arguments})",
    "rsqrt": "%s = call {type} @llvm.sqrt.{suffix}({arguments}) %r = fdiv {type} 1.0, %s",
    **{name: f"%c = call i1 @llvm.is.fpclass.{{suffix}}({{arguments}}, i32 {mask}) "
             "%r = zext i1 %c to i32"
       for name, mask in (("finite", 0x1F8), ("isfinite", 0x1F8), ("isinf", 0x204), ("isnan", 3))},
}
# fmt: on


def lower_to_llvm(module: Any) -> Any:
    """Lower a module of func, scf, memref, vector, arith and math to the LLVM dialect, in place.

    Memrefs become bare pointers in function signatures, so their shapes must be static.

    Raises:
        InternalError: the module is malformed, or an operation has no lowering.
    """
    _verify(module, "before it is lowered to LLVM")
    _run_passes(module, _CPU_PIPELINE)
    return module


def to_llvm_ir(module: Any) -> str:
    """The text of a module in the LLVM dialect as LLVM IR that llvmlite reads.

    Raises:
        InternalError: an operation outside the LLVM dialect is left, or translation fails.
    """
    _verify(module, "before it is translated to LLVM IR")
    found: list[Any] = []

    def look(operation: Any) -> Any:
        if not operation.name.startswith(("llvm.", "nvvm.", "builtin.module")):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    # The translator ends the process at an operation whose dialect has not registered one.
    module.operation.walk(look)
    if found:
        raise InternalError(
            f"no LLVM IR for the operation {found[0].name} that lowering left: "
            f"{_excerpt(str(found[0]))}"
        )
    try:
        text = to_llvm.translate_module_to_llvmir(module.operation)
    except Exception as error:
        raise _with_module(InternalError(f"cannot translate to LLVM IR: {error}"), module) from None
    return hand_over(text)


def lower_gpu_to_llvm(module: Any) -> str:
    """Lower the one gpu.module in a module, in place, and return it as LLVM IR for `compile_ptx`.

    Kernels take memrefs as bare pointers, so the memrefs' shapes must be static, and what pointers
    of an alignment of `DESCRIPTOR_ALIGNMENT` point to as arguments of `DESCRIPTOR_SIZE` bytes.

    Raises:
        InternalError: the module is malformed, has not exactly one gpu.module, or uses a function
            that GPUs have no instruction for (exp, sin …): those are to be expanded before.
    """
    _verify(module, "before it is lowered to NVVM")
    kernels = [o for o in module.body.operations if o.operation.name == "gpu.module"]
    if len(kernels) != 1:
        raise _with_module(InternalError(f"expected one gpu.module, got {len(kernels)}"), module)
    _run_passes(module, _GPU_PIPELINE)
    with module.context, ir.Location.unknown():
        result = ir.Module.create()
        # Without it, accesses of 64-bit integers count as aligned to 4 bytes, and are split in two.
        result.operation.attributes["llvm.data_layout"] = ir.StringAttr.get(_GPU_LAYOUT)
        for operation in list(kernels[0].regions[0].blocks[0].operations):
            operation.operation.detach_from_parent()
            result.body.append(operation)
    text = re.sub(
        r"^declare (\S+) @(__nv_\w+)\((.*?)\).*", _libdevice, to_llvm_ir(result), flags=re.M
    )
    text = re.sub(r"^define ptx_kernel .*", _by_value, text, flags=re.M)
    text = re.sub(_SHARED_MEMORY, r"\1 = external \2, \3", text, flags=re.M)
    return text + remainder_functions(text)


def _by_value(definition: re.Match[str]) -> str:
    """A kernel's definition whose pointers with an alignment of `DESCRIPTOR_ALIGNMENT` are those to
    descriptors of tensors among its arguments: MLIR drops the attribute that says so."""
    kind = f'byval([{DESCRIPTOR_SIZE} x i8]) align {DESCRIPTOR_ALIGNMENT} "nvvm.grid_constant"'
    return re.sub(rf"\bptr align {DESCRIPTOR_ALIGNMENT} ", f"ptr {kind} ", definition[0])


def _libdevice(declaration: re.Match[str]) -> str:
    """The definition of a function of libdevice, in place of its declaration."""
    result, name, types = declaration.groups()
    kind = types.split(",")[0]
    stem = name.removeprefix("__nv_")
    body = _LIBDEVICE.get(stem) or _LIBDEVICE.get(stem[:-1])
    if body is None or kind not in ("float", "double"):
        raise InternalError(f"no instruction on GPUs for {name}: expand the math operation before")
    values = [f"%{i}" for i in range(types.count(",") + 1)]
    arguments = ", ".join(f"{kind} {value}" for value in values)
    code = body.format(
        type=kind,
        suffix={"float": "f32", "double": "f64"}[kind],
        arguments=arguments,
    )
    return (
        f"define internal {result} @{name}({arguments}) alwaysinline {{ {code} ret {result} %r }}"
    )


def _run_passes(module: Any, pipeline: str) -> None:
    with module.context:
        passes = passmanager.PassManager.parse(pipeline)
        # Verifying after each pass would take longer than the passes do; it is done once, before
        # the next step.
        passes.enable_verifier(False)
        try:
            passes.run(module.operation)
        except Exception as error:
            raise _with_module(InternalError(f"cannot lower to LLVM: {error}"), module) from None


def _verify(module: Any, when: str) -> None:
    try:
        module.operation.verify()
    except Exception as error:
        message = f"the MLIR module is malformed {when}: {error}"
        raise _with_module(InternalError(message), module) from None


def _with_module(error: InternalError, module: Any) -> InternalError:
    error.add_note(_excerpt(module.operation.get_asm(print_generic_op_form=True), 4000))
    return error


def _excerpt(text: str, length: int = 400) -> str:
    return text if len(text) <= length else text[:length] + " …"


# --- Machine code -------------------------------------------------------------------------------


class LoadedCode:
    """Machine code in this process's memory; it stays there as long as this object lives."""

    def __init__(self, name: str, tracker: Any):
        self._name, self._tracker = name, tracker
        self._symbols: dict[str, Any] = {}

    def address(self, symbol: str) -> int:
        """The address of a function or variable.

        Raises:
            InternalError: the code does not define the symbol, or one that it uses is nowhere.
        """
        if symbol not in self._symbols:
            try:
                self._symbols[symbol] = _jit().lookup(self._name, symbol)
            except RuntimeError as error:
                raise InternalError(f"cannot find {symbol} in the loaded code: {error}") from None
        return self._symbols[symbol][symbol]


class CompiledModule:
    """An optimised LLVM module and the code made from it; made by `compile_ir`."""

    def __init__(self, module: llvmlite.ModuleRef, machine: llvmlite.TargetMachine, target: Target):
        self._module, self._machine, self.target = module, machine, target

    @cached_property
    def llvm_ir(self) -> str:
        """The optimised LLVM IR."""
        return str(self._module)

    # Making code changes a module (into a form nearer to the machine), hence the clones.
    @cached_property
    def assembly(self) -> str:
        """The assembly text; PTX for NVIDIA GPUs."""
        return self._machine.emit_assembly(self._module.clone())

    @cached_property
    def object_code(self) -> bytes:
        """A position-independent object file for the target."""
        return self._machine.emit_object(self._module.clone())

    def load(self, symbols: Mapping[str, int] | None = None) -> LoadedCode:
        """Put the code into this process's memory.

        Args:
            symbols: the addresses of functions that it calls.

        Raises:
            UnsupportedError: the code is for another architecture than this process.
        """
        return load_objects([self.object_code], self.target, symbols)


def compile_ir(
    text: str, target: Target, optimise: bool = True, is_small: bool = False
) -> CompiledModule:
    """Optimise LLVM IR for a target.

    Args:
        optimise: False makes plain code in a fraction of the time.
        is_small: whether few bytes of code are worth more than speed.

    Raises:
        InternalError: the text is not LLVM IR that llvmlite's LLVM accepts.
    """
    effort = Effort.FULL if optimise else Effort.NONE
    machine = new_machine(target, codegen_level(effort))
    return CompiledModule(optimized(text, target, effort, machine, is_small), machine, target)


def optimized(
    text: str, target: Target, effort: Effort, machine: Any, is_small: bool = False
) -> llvmlite.ModuleRef:
    """LLVM IR as a module that has been through LLVM's passes.

    Raises:
        InternalError: the text is not LLVM IR that llvmlite's LLVM accepts.
    """
    module = parse(_with_attributes(expand_multiply_adds(text, target), target, is_small))
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    if effort is not Effort.NONE:
        passes, builder = pass_manager(effort, machine, target.is_gpu)
        run_passes(passes, module, builder)
    return module


def compile_ptx(text: str, target: Target) -> str:
    """Optimise the LLVM IR of GPU kernels and write it as PTX.

    Raises:
        UnsupportedError: the target is not an NVIDIA GPU.
        InternalError: the text is not LLVM IR that llvmlite's LLVM accepts.
    """
    if not target.is_gpu:
        raise UnsupportedError(f"PTX is made for nvptx64 targets only, got {target}")
    return compile_ir(text, target).assembly


def load_objects(
    codes: Sequence[bytes], target: Target, symbols: Mapping[str, int] | None = None
) -> LoadedCode:
    """Put object files that belong together, made for a target, into this process's memory.

    What they leave undefined is at the address that `symbols` gives, or looked for in this process,
    as the C library's functions are.

    Raises:
        UnsupportedError: the code is for another architecture than this process.
        InternalError: the object files cannot be linked.
    """
    if target.architecture != Target.host().architecture:
        raise UnsupportedError(f"this process cannot run code for the target {target}")
    name = f"tfc.{next(_library_numbers)}"
    library = llvmlite.JITLibraryBuilder().add_current_process()
    for code in codes:
        library.add_object_img(code)
    for symbol, address in (symbols or {}).items():
        library.import_symbol(symbol, address)
    try:
        return LoadedCode(name, library.link(_jit(), name))
    except RuntimeError as error:
        raise InternalError(f"cannot load the object files: {error}") from None


_library_numbers = itertools.count()
_jit_lock = threading.Lock()


def _jit() -> llvmlite.LLJIT:
    with _jit_lock:
        return _make_jit()


@cache
def _make_jit() -> llvmlite.LLJIT:
    initialize_llvm()
    # Python need not be linked with the library of mathematical functions. To look for it runs
    # another program.
    is_there = os.name == "posix" and hasattr(ctypes.CDLL(None), "fmodf")
    library = None if is_there else ctypes_util.find_library("m")
    if library:
        llvmlite.load_library_permanently(library)
    return llvmlite.create_lljit_compiler(use_jit_link=True, suppress_errors=False)


# LLVM must free a module before its context. Where both are garbage of one reference cycle, Python
# finalises them in any order; so a context is held here until its module is about to go.
_contexts: dict[int, llvmlite.ContextRef] = {}


def parse(text: str, bitcodes: Sequence[bytes] = ()) -> llvmlite.ModuleRef:
    """The module of LLVM IR, with those of bitcode linked into it.

    Raises:
        InternalError: the text is not LLVM IR that llvmlite's LLVM accepts, or they do not fit.
    """
    context = llvmlite.create_context()
    try:
        module = llvmlite.parse_assembly(text, context)
        _contexts[id(context)] = context
        weakref.finalize(module, _contexts.pop, id(context)).atexit = False
        for bitcode in bitcodes:
            module.link_in(llvmlite.parse_bitcode(bitcode, context))
        module.verify()
    except RuntimeError as error:
        position = re.search(r"<string>:(\d+):\d+", str(error))
        line = text.split("\n")[int(position[1]) - 1].strip() if position else _excerpt(text)
        raise InternalError(f"LLVM does not accept the line: {line}\n{error}") from None
    return module


def _with_attributes(text: str, target: Target, is_small: bool) -> str:
    """The text with the target's attributes on every function that it defines without its own.

    They make the text complete in itself, and `prefer-vector-width` has no other place: LLVM uses
    half of the register width on some AVX-512 CPUs unless told. From how many cases on LLVM makes a
    table of jumps depends on the targets that the process has made code for before: none are made.
    """
    attributes = {
        "target-cpu": target.cpu,
        "target-features": target.features,
        "no-trapping-math": "true",
        "no-jump-tables": "true",
        "prefer-vector-width": str(target.vector_bits or ""),
    }
    sized = "optsize minsize " * is_small
    words = sized + " ".join(f'"{name}"="{value}"' for name, value in attributes.items() if value)
    # Expressions that begin with a letter of their own find lines ten times as fast as with ^.
    text = f"\n{text}"
    groups = re.findall(r"\nattributes #(\d+)", text)
    group = 1 + max(map(int, groups), default=-1)
    text = re.sub(r"\ndefine .*", lambda line: _with_group(line[0], group), text)
    return f"{text[1:]}\nattributes #{group} = {{ nounwind {words} }}\n"


def _with_group(line: str, group: int) -> str:
    """A `define` line with an attribute group after its parameters, where the grammar wants it.

    One that states its processor stays as it is.
    """
    if '"target-cpu"' in line:
        return line
    depth = 0
    for match in re.finditer(r'"[^"]*"|[()]', line[line.index("@") :]):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == ")" and depth == 0:
            end = line.index("@") + match.end()
            return f"{line[:end]} #{group}{line[end:]}"
    raise InternalError(f"cannot find the parameters in the line: {line}")
