"""A stand-in for nccl4py's `nccl.bindings.nccl` in a job of processes that interpret PTX.

It moves bytes of the interpreters' memory by MPI, at once, and complains of what NCCL complains of
or would hang at: other calls, counts, types or operations of others of the communicator, messages
that the other end does not take, operands and results that overlap otherwise than in place, a group
left open. Minimum and maximum of floats lose a NaN, as they do there.
"""

import ctypes
import secrets
import struct
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from mpi4py import MPI

from tfc.testing.ptx.driver import InterpretedDriver

DTYPES = [
    np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32,
    np.float64, ml_dtypes.bfloat16,
]  # fmt: skip
OPERATIONS = [np.add, np.multiply, np.fmax, np.fmin]
_EXACT = [np.add, np.multiply, np.maximum, np.minimum]
INVALID_ARGUMENT, INVALID_USAGE = 4, 5


class NCCLError(Exception):
    """What the binding raises."""

    def __init__(self, status: int):
        self.status = status
        super().__init__(f"status {status}")


class UniqueId:
    """128 bytes, the first of which say who made them."""

    def __init__(self, data: bytes):
        self._held = ctypes.create_string_buffer(data, 128)
        self.ptr = ctypes.addressof(self._held)

    @staticmethod
    def from_buffer(data: bytearray) -> "UniqueId":
        """That of such bytes."""
        assert isinstance(data, bytearray)
        assert len(data) == 128
        return UniqueId(bytes(data))


class FakeNccl(ModuleType):
    """The module; `calls` are the names of all that was asked for, in order."""

    def __init__(self, driver: InterpretedDriver, version: int = 23203):
        super().__init__("nccl.bindings.nccl")
        self.NCCLError, self.UniqueId = NCCLError, UniqueId
        self.calls: list[str] = []
        self._memory, self._version = driver._machine, version
        self._world = MPI.COMM_WORLD.Dup()
        self._depth, self._asked, self._why = 0, [], ""

    def get_version(self) -> int:
        """As a number."""
        return self._version

    def get_error_string(self, status: int) -> str:
        """What a status means."""
        return {4: "invalid argument", 5: "invalid usage"}[status]

    def get_last_error(self, communicator: Any) -> str:
        """What exactly was wrong."""
        return self._why

    def comm_get_async_error(self, communicator: Any) -> int:
        """Nothing goes wrong behind anyone's back."""
        return 0

    def get_unique_id(self) -> UniqueId:
        """An id that names this process."""
        return UniqueId(struct.pack("<qq", self._world.rank, secrets.randbits(14)))

    def comm_init_rank(self, size: int, identity: int, rank: int) -> Any:
        """All with this id meet at its maker."""
        maker, tag = struct.unpack("<qq", ctypes.string_at(identity, 16))
        if self._world.rank == maker:
            others = [self._world.recv(tag=tag) for _ in range(size - 1)]
            order = [place for _, place in sorted([*others, (rank, maker)])]
            if [n for n, _ in sorted([*others, (rank, maker)])] != list(range(size)):
                self._fail(INVALID_ARGUMENT, "ranks are not 0 to the size of the communicator")
            for place in order:
                if place != maker:
                    self._world.send(order, place, tag)
        else:
            self._world.send((rank, self._world.rank), maker, tag)
            order = self._world.recv(source=maker, tag=tag)
        return self._world.Create_group(self._world.group.Incl(order), tag)

    def group_start(self) -> None:
        """What follows is one."""
        self._depth += 1

    def group_end(self) -> None:
        """Do what was asked for meanwhile."""
        if not self._depth:
            self._fail(INVALID_USAGE, "there is no group to end")
        self._depth -= 1
        if not self._depth and self._asked:
            self._do()

    def all_reduce(self, source, target, count, datatype, operation, comm, stream) -> None:
        self._ask("all_reduce", source, target, count, count, datatype, operation, comm, stream)

    def reduce_scatter(self, source, target, count, datatype, operation, comm, stream) -> None:
        whole = count * comm.size
        self._ask("reduce_scatter", source, target, whole, count, datatype, operation, comm, stream)

    def all_gather(self, source, target, count, datatype, comm, stream) -> None:
        whole = count * comm.size
        self._ask("all_gather", source, target, count, whole, datatype, None, comm, stream)

    def broadcast(self, source, target, count, datatype, root, comm, stream) -> None:
        self._ask("broadcast", source, target, count, count, datatype, root, comm, stream)

    def send(self, source, count, datatype, peer, comm, stream) -> None:
        self._ask("send", source, 0, count, 0, datatype, peer, comm, stream)

    def recv(self, target, count, datatype, peer, comm, stream) -> None:
        self._ask("recv", 0, target, 0, count, datatype, peer, comm, stream)

    def _ask(self, name, source, target, taken, made, datatype, more, comm, stream) -> None:
        """One call: `taken` elements are read, `made` are written."""
        self.calls.append(name)
        width = np.dtype(DTYPES[datatype]).itemsize
        own = {"all_gather": comm.rank * taken, "reduce_scatter": -comm.rank * made}.get(name, 0)
        apart = source + taken * width <= target or target + made * width <= source
        if stream != 0:
            self._fail(INVALID_ARGUMENT, "there is no such stream")
        if source and target and not apart and source != target + own * width:
            self._fail(INVALID_ARGUMENT, f"{name}: buffers overlap")
        data = self._memory.read(source, taken * width) if source else None
        call = SimpleNamespace(name=name, made=made, taken=taken, datatype=datatype, more=more)
        self._asked.append((call, data, target, comm))
        if not self._depth:
            self._do()

    def _do(self) -> None:
        asked, self._asked = self._asked, []
        comm = asked[0][3]
        assert all(c is comm for *_, c in asked)
        if all(call.name in ("send", "recv") for call, *_ in asked):
            self._exchange(comm, asked)
            return
        everybody = comm.allgather([(call, data) for call, data, _, _ in asked])
        kinds = [[vars(call) for call, _ in calls] for calls in everybody]
        if any(k != kinds[0] for k in kinds):
            self._fail(INVALID_USAGE, f"others do something else: {kinds}")
        for n, (call, _, target, _) in enumerate(asked):
            self._put(target, self._result(call, [c[n][1] for c in everybody], comm.rank))

    def _exchange(self, comm: Any, asked: list[Any]) -> None:
        """Messages, in which only those meet that give or take one; of two, in their order."""
        peers = sorted({call.more for call, *_ in asked})
        ours = {p: [(call, d) for call, d, _, _ in asked if call.more == p] for p in peers}
        requests = [comm.isend(ours[p], p) for p in peers if p != comm.rank]
        theirs = {p: ours[p] if p == comm.rank else comm.recv(source=p) for p in peers}
        for request in requests:
            request.wait()
        for peer in peers:
            for one, other in (("send", "recv"), ("recv", "send")):
                given, taken = self._ends(ours[peer], one), self._ends(theirs[peer], other)
                if given != taken:
                    self._fail(INVALID_USAGE, f"messages {given} to or from {peer} meet {taken}")
        sent = {p: [d for call, d in theirs[p] if call.name == "send"] for p in peers}
        for call, _, target, _ in asked:
            if call.name == "recv":
                self._put(target, sent[call.more].pop(0))

    def _ends(self, calls: list[Any], name: str) -> list[tuple[int, int]]:
        return [(call.taken + call.made, call.datatype) for call, _ in calls if call.name == name]

    def _put(self, target: int, found: np.ndarray) -> None:
        self._memory.write(target, np.ascontiguousarray(found).reshape(-1).view(np.uint8))

    def _result(self, call: Any, given: list[np.ndarray], rank: int) -> np.ndarray:
        if call.name == "broadcast":
            return given[call.more]
        if call.name == "all_gather":
            return np.concatenate(given)
        dtype = np.dtype(DTYPES[call.datatype])
        operations = _EXACT if dtype.kind in "iu" else OPERATIONS
        arrays = [np.ascontiguousarray(g).view(dtype) for g in given]
        total = arrays[-1]
        for array in arrays[-2::-1]:  # an order of its own
            total = operations[call.more](array, total).astype(dtype)
        return total[rank * call.made : (rank + 1) * call.made] if call.made < len(total) else total

    def _fail(self, status: int, why: str) -> None:
        self._why = why
        raise NCCLError(status)


def installed(driver: InterpretedDriver, version: int = 23203) -> FakeNccl:
    """The stand-in in the place of the binding, for the rest of this process."""
    made = FakeNccl(driver, version)
    for name in ("nccl", "nccl.bindings"):
        package = ModuleType(name)
        package.__path__ = []
        sys.modules[name] = package
    sys.modules["nccl.bindings.nccl"] = made
    return made
