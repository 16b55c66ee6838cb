"""Running the program of a bundle."""

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfc.aot.gpu.loader.bundles import Bundle, BundleError, dtype_of
from tfc.aot.gpu.loader.drivers import Driver, DriverError, open_driver
from tfc.backends.gpu.driver.descriptors import DescriptorError, encoded

_ALIGNMENT = 16  # bytes that kernels read at once, so that arrays begin at multiples of it
_MOST_NODES = 4096  # of a graph


def load(path: "str | Path | None" = None, device: int = 0) -> "Program":
    """The program in a bundle, on the GPU of a number.

    Args:
        path: the bundle; that which was written with this file if left out.

    Raises:
        BundleError: it cannot be read, is damaged, or has no code for the GPU.
        DriverError: there is no GPU, no driver or no binding to it, or memory is short.
    """
    here = Path(__file__)
    bundle = Bundle(
        here.with_name(here.stem.removesuffix("_gpu") + ".gpu") if path is None else path
    )
    return Program(bundle, open_driver(device))


class Program:
    """A program on a GPU, with memory of its own. Calls from several threads take turns.

    Attributes:
        signature: what it takes and gives, as text.
    """

    def __init__(self, bundle: Bundle, driver: Driver):
        manifest = bundle.manifest
        self.signature, self.architecture = manifest["signature"], ""
        self._driver, self._lock = driver, threading.Lock()
        self._parameters, self._results = manifest["parameters"], manifest["results"]
        self._aliases, self._donated = dict(manifest["aliases"]), set(manifest["donated"])
        self._held: list[int] = []
        self._lent: dict[int, Any] = {}  # arguments that stay where they are, by number
        self._sizes: dict[int, int] = {}
        self._runs, self._graph = 0, None
        driver.enter()
        program, self._module = self._loaded(bundle)
        self._steps, self._functions = program["steps"], {}
        try:
            self._make_room(program, bundle)
        except BaseException:
            self.close()
            raise
        self._given = dict(self._bases)

    def _make_room(self, program: "dict[str, Any]", bundle: Bundle) -> None:
        """Take memory for all that programs need, and bring the constants there."""
        self._bases = {("arena", 0): self._new(program["arena"])}
        constants = program["constants"]
        self._bases["constant", 0] = self._new(constants["bytes"])
        if constants["bytes"]:
            given = np.frombuffer(bundle.member(constants), np.uint8)
            self._driver.write(self._bases["constant", 0], given)
        for n, leaf in enumerate(self._parameters):
            self._bases["parameter", n] = self._new(leaf["bytes"])
        for n, leaf in enumerate(self._results):
            own = None if n in self._aliases else self._new(leaf["bytes"])
            self._bases["result", n] = own or self._bases["parameter", self._aliases[n]]

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Run with one array for each parameter, by place or by name.

        Returns:
            The array that it gives on the host, or a list of them if it gives several.

        Raises:
            TypeError: there are too many arrays or too few.
            ValueError: one has another dtype or other dimensions, or the program was closed.
            DriverError: the driver says that something failed.
        """
        with self._lock:
            self._bring(self._bound(arrays, named))
            self._run(self._steps, self._given)
            return self._taken()

    def put(self, *arrays: Any, **named: Any) -> None:
        """Bring arguments to the GPU, for `run`; what lies there already stays where it is."""
        with self._lock:
            self._bring(self._bound(arrays, named))
            self._graph = None

    def run(self) -> None:
        """Run with what was put there last, and do not wait; from the second time on as a graph.

        A program that writes over an argument reads what it has written the time before.
        """
        with self._lock:
            self._enter()
            if self._graph is not None:
                self._graph()
            elif self._runs and _nodes(self._steps) <= _MOST_NODES:
                self._graph = self._driver.record(lambda: self._run(self._steps, self._given))
                self._graph()
            else:
                self._run(self._steps, self._given)
            self._runs += 1

    def results(self) -> Any:
        """What the last run gave, as a call returns it."""
        with self._lock:
            return self._taken()

    def wait(self) -> None:
        """Wait until all that was asked is done."""
        with self._lock:
            self._enter()
            self._driver.wait(None)

    def fill(self, byte: int) -> None:
        """Fill its memory but for constants: what reads what was never written then shows it."""
        with self._lock:
            self._enter()
            for (space, _), place in self._bases.items():
                if space != "constant" and self._sizes[place]:
                    self._driver.write(place, np.full(self._sizes[place], byte, np.uint8))
            self._driver.wait(None)

    def _bring(self, given: Sequence[Any]) -> None:
        self._enter()
        self._given = dict(self._bases)
        for number, (array, leaf) in enumerate(zip(given, self._parameters)):
            self._given["parameter", number] = self._put(number, array, leaf)

    def _taken(self) -> Any:
        self._enter()
        results = [np.empty(r["dims"], dtype_of(r["dtype"])) for r in self._results]
        for number, result in enumerate(results):
            if result.nbytes:
                self._driver.read(result, self._given["result", number])
        return results[0] if len(results) == 1 else results

    def close(self) -> None:
        """Give its memory on the GPU back; it cannot be called any more."""
        with self._lock:
            self._driver.enter()
            self._driver.wait(None)
            self._graph = None
            self._lent.clear()
            self._functions.clear()
            while self._held:
                self._driver.free(self._held.pop())
            if self._module is not None:
                self._driver.unload(self._module)
                self._module = None

    def _enter(self) -> None:
        if self._module is None:
            raise ValueError("the program was closed")
        self._driver.enter()

    def _loaded(self, bundle: Bundle) -> "tuple[dict, Any]":
        """The program for this GPU and its code."""
        own = self._driver.capability
        failed: DriverError | None = None
        codes = [(p, c) for p in bundle.manifest["programs"] for c in p["code"]]
        codes = [(p, c) for p, c in codes if _runs_on(c, own)]
        for program, code in sorted(codes, key=lambda pair: _preference(pair[1])):
            try:
                module = self._driver.load(bundle.member(code))
            except DriverError as error:  # the driver may be older than the code: PTX may still do
                failed = error
                continue
            self.architecture = code["architecture"]
            return program, module
        if failed is not None:
            raise failed
        there = sorted({c["architecture"] for p in bundle.manifest["programs"] for c in p["code"]})
        raise BundleError(
            f"{bundle.path} has no code for a GPU of compute capability "
            f"{own[0]}.{own[1]}: it has code for {', '.join(there)}"
        )

    def _new(self, size: int) -> int:
        self._held.append(self._driver.allocate(size))
        self._sizes[self._held[-1]] = size
        return self._held[-1]

    def _bound(self, arrays: Sequence[Any], named: "dict[str, Any]") -> "list[Any]":
        names = [leaf["name"] for leaf in self._parameters]
        unknown = [name for name in named if name not in names[len(arrays) :]]
        if unknown or len(arrays) + len(named) != len(names):
            raise TypeError(f"expected arrays for {self.signature}, got {len(arrays)} by place and "
                            f"by name {list(named)}")  # fmt: skip
        return [*arrays, *(named[name] for name in names[len(arrays) :])]

    def _put(self, number: int, array: Any, leaf: dict) -> int:
        """Where an argument lies on the GPU."""
        place = self._bases["parameter", number]
        self._lent.pop(number, None)
        there = getattr(array, "__cuda_array_interface__", None)
        if there is None:
            found = np.asarray(array)
            _check_argument(leaf, found.dtype, found.shape)
            if found.nbytes:
                self._driver.write(place, np.ascontiguousarray(found))
            return place
        dtype, dims = np.dtype(there["typestr"]), tuple(there["shape"])
        _check_argument(leaf, dtype, dims)
        if there.get("strides") is not None and not _is_row_major(there["strides"], dims, dtype):
            raise ValueError(f"argument {leaf['name']} on the GPU must be row-major")
        # What writes it may not be done; who names no stream may use that of all by default.
        self._driver.wait(there.get("stream") or 1)
        address = there["data"][0]
        stays = number not in self._donated and address % _ALIGNMENT == 0
        if stays or not leaf["bytes"]:
            self._lent[number] = array  # which `run` reads whenever it is called
            return address
        # The program writes over it, or reads as many bytes at once.
        self._driver.copy(place, address, leaf["bytes"])
        return place

    def _run(self, steps: Iterable[dict], bases: "dict[tuple[str, int], int]") -> None:
        for step in steps:
            match step["kind"]:
                case "launch":
                    self._launch(step, bases)
                case "copy":
                    source, target = (_address(bases, step[k]) for k in ("source", "target"))
                    self._driver.copy(target, source, step["size"])
                case "loop":
                    self._run(step["condition"], bases)
                    while self._read(step["selector"], bases, np.bool_):
                        self._run(step["body"], bases)
                        self._run(step["condition"], bases)
                case "repeat":
                    for _ in range(step["count"]):
                        self._run(step["body"], bases)
                case _:
                    self._run(step["branches"][self._chosen(step, bases)], bases)

    def _chosen(self, step: dict, bases: "dict[tuple[str, int], int]") -> int:
        if not step["by_index"]:
            return 0 if self._read(step["selector"], bases, np.bool_) else 1
        index, last = int(self._read(step["selector"], bases, np.int32)), len(step["branches"]) - 1
        return index if 0 <= index <= last else last

    def _read(self, place: Sequence[Any], bases: "dict[tuple[str, int], int]", kind: Any) -> Any:
        found = np.empty((), kind)
        self._driver.read(found, _address(bases, place))
        return found

    def _launch(self, step: dict, bases: "dict[tuple[str, int], int]") -> None:
        name = step["function"]
        if name not in self._functions:
            most = max(s["shared"] for s in _launches(self._steps) if s["function"] == name)
            self._functions[name] = self._driver.function(self._module, name, most)
        addresses = [_address(bases, place) for place in step["buffers"]]
        boxes = [_described(boxes, addresses[number]) for number, boxes in step["boxes"]]
        values = [*addresses, *step["numbers"], *boxes]
        self._driver.launch(
            self._functions[name], step["blocks"], step["threads"], values, step["shared"]
        )


def _check_argument(leaf: dict, dtype: np.dtype, dims: "tuple[int, ...]") -> None:
    wanted = dtype_of(leaf["dtype"])
    is_bits = dtype.kind == "V" and dtype.itemsize == wanted.itemsize  # NumPy's word for bfloat16
    if dims != tuple(leaf["dims"]) or (dtype != wanted and not is_bits):
        stated = f"{leaf['dtype']}{leaf['dims']}"
        raise ValueError(f"argument {leaf['name']} must be {stated}, got {dtype}{list(dims)}")


def _launches(steps: Iterable[dict]) -> Iterable[dict]:
    for step in steps:
        if step["kind"] == "launch":
            yield step
        else:
            for inner in (step.get("condition"), step.get("body"), *step.get("branches", ())):
                yield from _launches(inner or ())


def _nodes(steps: Iterable[dict]) -> float:
    """How many launches and copies they are; infinitely many if the host decides among them."""
    inner = {"launch": 1, "copy": 1}
    return sum(
        step["count"] * _nodes(step["body"])
        if step["kind"] == "repeat"
        else inner.get(step["kind"], float("inf"))
        for step in steps
    )


def _address(bases: "dict[tuple[str, int], int]", place: Sequence[Any]) -> int:
    space, index, offset, _ = place
    return bases[space, index] + offset


def _is_row_major(strides: Sequence[int], dims: Sequence[int], dtype: np.dtype) -> bool:
    if 0 in dims:
        return True  # whatever strides a library gives an array of no elements
    step = dtype.itemsize
    for size, stride in zip(reversed(dims), reversed(strides)):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def _architecture(code: dict) -> "tuple[int, int, str]":
    """Major, minor and suffix of an architecture: "sm_90a" is (9, 0, "a")."""
    digits = code["architecture"].removeprefix("sm_")
    number = digits.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(number[:-1]), int(number[-1]), digits[len(number) :]


def _runs_on(code: dict, capability: "tuple[int, int]") -> bool:
    major, minor, suffix = _architecture(code)
    if suffix:
        return (major, minor) == capability
    if code["kind"] == "ptx":
        return (major, minor) <= capability
    return major == capability[0] and minor <= capability[1]


def _preference(code: dict) -> "tuple[bool, int, int, bool]":
    """Smaller is better: machine code before PTX, then what is made for more."""
    major, minor, suffix = _architecture(code)
    return code["kind"] == "ptx", -major, -minor, not suffix


def _described(boxes: dict, address: int) -> bytes:
    """The descriptor of boxes of the array at an address, as a manifest states them."""
    itemsize, dims, strides, box = (boxes[k] for k in ("itemsize", "dims", "strides", "box"))
    try:
        return encoded(itemsize, dims, strides, box, boxes["swizzle"], boxes["pixels"], address)
    except DescriptorError as error:
        raise DriverError(str(error)) from None
