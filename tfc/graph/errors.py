"""What goes wrong when a graph is run: TensorFlow's classes, each also one of tfc's errors."""

from typing import Any

from tfc.errors import TfcError


class OpError(TfcError):
    """Base of the errors of `Session.run`.

    message: the sentence. op: the operation that failed, or None. node_def: the same.
    error_code: the number of its kind, as of gRPC.
    """

    error_code = 2

    def __init__(self, node_def: Any, op: Any, message: str):
        self.node_def, self.op, self.message = node_def, op, message
        super().__init__(message)


class CancelledError(OpError):
    """Running was cancelled."""

    error_code = 1


class UnknownError(OpError):
    """Something outside of tfc failed, a Python function for example: see `__cause__`."""

    error_code = 2


class InvalidArgumentError(OpError, ValueError):
    """A value, feed, name or attribute is not what an operation takes."""

    error_code = 3


class DeadlineExceededError(OpError):
    """Running took longer than it may."""

    error_code = 4


class NotFoundError(OpError, LookupError):
    """A file, name or tensor in a checkpoint is not there."""

    error_code = 5


class AlreadyExistsError(OpError):
    """What is to be made is there already."""

    error_code = 6


class ResourceExhaustedError(OpError, MemoryError):
    """There is not enough memory."""

    error_code = 8


class FailedPreconditionError(OpError):
    """A variable has no value yet, say."""

    error_code = 9


class AbortedError(OpError):
    """Running was ended by something else."""

    error_code = 10


class OutOfRangeError(OpError, IndexError):
    """An index is outside of what it indexes."""

    error_code = 11


class UnimplementedError(OpError, NotImplementedError):
    """A valid graph needs what tfc does not offer."""

    error_code = 12


class InternalError(OpError):
    """A defect in tfc."""

    error_code = 13


class DataLossError(OpError):
    """A file is damaged."""

    error_code = 15
