"""NCCL's functions by NVIDIA's binding, nccl4py, with errors that say what to do."""

from collections.abc import Callable
from ctypes import string_at
from importlib import import_module
from typing import Any

from tfc.errors import DriverError, UnsupportedError

OLDEST = 21800  # 2.18: communicators that graphs may hold on every architecture from sm_80 on
_ID_BYTES = 128  # NCCL_UNIQUE_ID_BYTES
_NAMES = "pip install 'tfc[nccl]'"
_ELSE = (
    "or call tfc.distributed.initialize(engine='mpi'), which takes the arrays of GPU programs "
    "through the host's memory"
)


class Library:
    """NCCL of this process.

    Raises:
        UnsupportedError: nccl4py or libnccl.so.2 is not there, or too old.
    """

    def __init__(self) -> None:
        try:
            self._binding: Any = import_module("nccl.bindings.nccl")
            self.version = int(self._binding.get_version())
        # The binding raises errors of its own, of no common class, where it finds no library.
        except Exception as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise UnsupportedError(
                f"collectives of GPU programs in a job of processes need NCCL ({first}): "
                f"{_NAMES}, {_ELSE}"
            ) from None
        if self.version < OLDEST:
            raise UnsupportedError(
                f"NCCL must be 2.18 or later, got {version_text(self.version)}: {_NAMES}, {_ELSE}"
            )

    def new_id(self) -> bytes:
        """What tells one communicator from others; one process of the group makes it."""
        made = self._call("get_unique_id", "making an id", None)
        return string_at(made.ptr, _ID_BYTES)

    def join(self, size: int, identity: bytes, rank: int) -> Any:
        """The communicator of `size` processes with this id, which all of them wait for."""
        held = self._binding.UniqueId.from_buffer(bytearray(identity))
        return self._call("comm_init_rank", "joining a group", None, size, held.ptr, rank)

    def ask(self, what: str, communicator: Any, calls: "list[tuple[str, tuple[Any, ...]]]") -> None:
        """Ask for calls as one group: none waits for another.

        Args:
            what: the collective, in messages.
        """
        if len(calls) == 1:
            name, arguments = calls[0]
            self._call(name, what, communicator, *arguments)
            return
        self._call("group_start", what, communicator)
        try:
            for name, arguments in calls:
                self._call(name, what, communicator, *arguments)
        finally:
            self._call("group_end", what, communicator)

    def broken(self, communicator: Any) -> str:
        """What went wrong in a communicator meanwhile; "" if nothing."""
        status = int(self._binding.comm_get_async_error(communicator))
        # ncclInProgress is 7.
        return "" if status in (0, 7) else self._said(status, communicator)

    def _call(self, name: str, what: str, communicator: Any, *arguments: Any) -> Any:
        """What a function of NCCL gives.

        Raises:
            DriverError: it failed.
        """
        function: Callable[..., Any] = getattr(self._binding, name)
        try:
            return function(*arguments)
        except self._binding.NCCLError as error:
            said = self._said(int(error.status), communicator)
            raise DriverError(f"NCCL failed in {what}, at {name}: {said}") from None

    def _said(self, status: int, communicator: Any) -> str:
        said = str(self._binding.get_error_string(status))
        last = "" if communicator is None else str(self._binding.get_last_error(communicator))
        return f"{said}; {' '.join(last.split())}" if last.strip() else said


def version_text(version: int) -> str:
    """2.32.3 of 23203, and 2.8.3 of 2803."""
    unit = 10000 if version >= 10000 else 1000
    return f"{version // unit}.{version % unit // 100}.{version % 100}"
