"""The conditions of a running graph: numbers that kernels set, by handles, and its nodes read."""

import numpy as np

from tfc.testing.ptx.state.faults import Violation


class Conditions:
    """What kernels may set now: nothing while no graph runs."""

    def __init__(self) -> None:
        self._values: dict[int, int | None] = {}
        self._set_now: set[int] = set()

    def begin(self, defaults: dict[int, int | None]) -> None:
        """A graph begins to run.

        Args:
            defaults: by handles, what its conditions are until they are set; None is undefined.
        """
        self._values = dict(defaults)

    def end(self) -> None:
        """The graph has ended: its handles are of no use."""
        self._values = {}

    def begin_launch(self) -> None:
        """A kernel begins to run."""
        self._set_now = set()

    def set(self, handles: np.ndarray, values: np.ndarray) -> None:
        """Set conditions, a number for each thread that does.

        Raises:
            Violation: the running graph has no such handle, or it was set in the same launch.
        """
        for lane, (handle, value) in enumerate(zip(handles.tolist(), values.tolist())):
            if handle not in self._values:
                message = f"the running graph has no condition {handle:#x}"
                raise Violation("condition", message, lane)
            if handle in self._set_now:
                raise Violation("race", f"condition {handle:#x} is set twice by a launch", lane)
            self._set_now.add(handle)
            self._values[handle] = value

    def value(self, handle: int) -> int:
        """What a condition is now.

        Raises:
            KeyError: it was not set since the graph began, and has no default.
        """
        value = self._values[handle]
        if value is None:
            raise KeyError(f"condition {handle:#x} is read before it is set")
        return value
