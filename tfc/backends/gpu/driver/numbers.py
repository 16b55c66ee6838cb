"""Which of the GPUs of a host a process has."""

from tfc.backends.gpu.driver.failures import no_gpu
from tfc.runtime.replicas import local_rank


def chosen_gpu(number: int | None, count: int) -> int:
    """A number that is asked for, or else that of the process among those of its job on this host.

    Raises:
        DriverError: there are not so many GPUs.
    """
    chosen = local_rank() % max(count, 1) if number is None else number
    if chosen >= count:
        raise no_gpu(chosen, count)
    return chosen
