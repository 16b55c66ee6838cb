"""What a bundle says of its programs: what they take and give, and their steps, as JSON.

{"kind": "launch", "function": "dot_0", "buffers": [["parameter", 0, 0, 24], ["result", 0, 0, 16]],
 "blocks": [1, 1, 1], "threads": [256, 1, 1], "numbers": [], "shared": 0, "boxes": []}

A place is [space, index, offset, size]. A kernel takes the addresses of its buffers, numbers, and
for each of `boxes`, [number of a buffer, how it lies], a descriptor (`Boxes` of the driver's
interface). A `loop` has steps that compute its selector, a pred, and
the steps of a round; a `repeat` has steps that run `count` times; a `branch` has several lists of
steps, of which the selector tells one.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from tfc.aot.signature import Leaf, Signature
from tfc.backends.gpu.driver.interface import Boxes
from tfc.backends.gpu.executable import GpuExecutable
from tfc.backends.gpu.steps import (
    Branch,
    Copy,
    DeviceCall,
    HostCall,
    Joining,
    Launch,
    Loop,
    Meeting,
    Repeat,
    Step,
)
from tfc.errors import InternalError, UnsupportedError
from tfc.passes.memory.buffers import Slice

Json = dict[str, Any]


def interface_of(signature: Signature) -> Json:
    """What all programs of a bundle have in common."""
    return {
        "signature": str(signature),
        "parameters": [_leaf(leaf) for leaf in signature.arguments],
        "results": [_leaf(leaf) for leaf in signature.results],
        "aliases": [list(pair) for pair in signature.aliases],
        "donated": sorted(signature.donated),
    }


def _leaf(leaf: Leaf) -> Json:
    shape = leaf.shape
    if not shape.has_default_layout:
        raise InternalError(f"the array {leaf.name} of a bundle is not row-major: {shape}")
    return {
        "name": leaf.name,
        "element_type": shape.element_type.name,
        "dtype": shape.element_type.dtype.name,
        "dims": list(shape.dims),
        "bytes": shape.byte_size,
    }


def steps_of(executable: GpuExecutable) -> list[Json]:
    """The steps of a program.

    Raises:
        UnsupportedError: the host runs one of them.
    """
    return [_step(step) for step in executable.program.steps]


def _step(step: Step) -> Json:
    match step:
        case Launch():
            return {
                "kind": "launch",
                "function": step.function,
                "buffers": _places(step.buffers),
                "blocks": list(step.blocks),
                "threads": list(step.threads),
                "numbers": list(step.numbers),
                "shared": step.shared,
                "boxes": [[number, _boxes(boxes)] for number, boxes in step.boxes],
            }
        case Copy():
            source, target = _places([step.source, step.target])
            return {"kind": "copy", "source": source, "target": target, "size": step.size}
        case Loop():
            return {
                "kind": "loop",
                "condition": [_step(s) for s in step.condition],
                "selector": _place(step.selector),
                "body": [_step(s) for s in step.body],
            }
        case Repeat():
            return {
                "kind": "repeat", "body": [_step(s) for s in step.body], "count": step.count
            }  # fmt: skip
        case Branch():
            return {
                "kind": "branch",
                "selector": _place(step.selector),
                "by_index": step.by_index,
                "branches": [[_step(s) for s in branch] for branch in step.branches],
            }
        case HostCall() | DeviceCall() | Meeting() | Joining():
            instruction = step.instruction
            raise UnsupportedError(
                f"this process runs {instruction.name} ({instruction.opcode}), which a "
                "program for GPUs compiled ahead of time has not: leave it out, or run the program "
                "by tfc.jit(…, backend='gpu')"
            )


def _boxes(boxes: Boxes) -> Json:
    return {
        "itemsize": boxes.itemsize,
        "dims": list(boxes.dims),
        "strides": list(boxes.strides),
        "box": list(boxes.box),
        "swizzle": boxes.swizzle,
        "pixels": None if boxes.pixels is None else [list(n) for n in boxes.pixels.numbers],
    }


def _places(slices: Iterable[Slice]) -> list[list[Any]]:
    return [_place(s) for s in slices]


def _place(place: Slice) -> list[Any]:
    return [place.space, place.index, place.offset, place.size]


def launched(steps: Sequence[Json]) -> Iterable[Json]:
    """All launches in some steps, those of loops and branches with them."""
    for step in steps:
        match step["kind"]:
            case "launch":
                yield step
            case "loop":
                yield from launched(step["condition"])
                yield from launched(step["body"])
            case "repeat":
                yield from launched(step["body"])
            case "branch":
                for branch in step["branches"]:
                    yield from launched(branch)
