"""Watch the processes of a job on this host, and end all of them when one cannot go on.

A program by itself: `python watcher.py FOLDER SECONDS`, with the folder of board.py. It says one
sentence, with the rank and the collective, when
- a process was killed, or ended in another way that it did not announce;
- a process ended without a collective in which another waits;
- a process has waited in a collective for SECONDS.
Then it kills those that are left; mpiexec ends those on other hosts. It ends when they have. It
closes its stdout when it watches.

Each host has one. Of those that see that a collective takes too long the one speaks first that
sees a process which has not come; then that of the host of rank 0; then any other. A host that
does not answer keeps mpiexec waiting for it: that is killed at last.
"""

import mmap
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

WORDS = 8  # as in board.py, which cannot be imported here
PROCESS, RANK, DONE, DOING, ENDED, FLOWN, FLYING = range(7)
TICK, GRACE = 0.1, 2.0  # seconds between looks; for which others may still come once one has ended
PATIENCE = 10.0  # seconds after which whoever started the processes is taken to wait in vain
LAUNCHERS = {"mpiexec", "mpiexec.hydra", "mpirun", "hydra_pmi_proxy", "orterun", "prterun"}
LATER = 1.0  # seconds for which a host lets one that knows more, or that of rank 0, speak first
HEARD = 30.0  # seconds for which a process that says why the job ends may take its time


@dataclass
class Seen:
    """One process: its row, what it did at the last look, and since when."""

    row: memoryview
    last: tuple[int, int] = (0, 0)
    since: float = 0.0
    gone: bool = False

    @property
    def rank(self) -> int:
        """Its rank."""
        return self.row[RANK]

    @property
    def doing(self) -> int:
        """The number of the collective that it, or else its GPU, is in; 0 if none."""
        return self.row[DOING] or self.row[FLYING]


class Watcher:
    """The processes of a folder."""

    def __init__(self, folder: Path, timeout: float):
        self.folder, self.timeout = folder, timeout
        with open(folder / "rows", "r+b") as file:
            memory = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
        rows = [memory[n : n + WORDS] for n in range(0, len(memory), WORDS)]
        self.seen = [Seen(row, since=time.monotonic()) for row in rows]
        # Events come in the order in which they happened: mpiexec soon kills the others itself.
        self.events = select.epoll() if hasattr(select, "epoll") else None
        self.by_descriptor: dict[int, Seen] = {}
        if self.events is not None:
            for each in self.seen:
                with suppress(OSError):  # it is gone, or the system is too old
                    descriptor = os.pidfd_open(each.row[PROCESS])
                    self.by_descriptor[descriptor] = each
                    self.events.register(descriptor, select.EPOLLIN)

    def ended(self) -> Iterator[Seen]:
        """The processes that ended in the last moments, in this order."""
        if self.events is not None and self.by_descriptor:
            for descriptor, _ in self.events.poll(TICK):
                self.events.unregister(descriptor)
                yield self.by_descriptor.pop(descriptor)
        else:
            time.sleep(TICK)
        yield from (s for s in self.seen if not s.gone and not is_alive(s.row[PROCESS]))

    def watch(self) -> str:
        """Wait until all have ended, or one cannot go on: what there is to say about it."""
        while not all(s.gone for s in self.seen):
            for each in self.ended():
                each.gone = True
                if not each.row[ENDED]:
                    what = f"was killed or crashed {self.doing(each)}"
                    return f"rank {each.rank} {what}{self.rest(each)}"
            found = self.stalled(time.monotonic())
            if found:
                return found
        return ""

    def stalled(self, now: float) -> str:
        """What to say if a process waits for too long, or for one that has ended."""
        for each in self.seen:
            state = (each.row[DONE] + each.row[FLOWN], each.doing)
            if state != each.last or not each.doing:
                each.last, each.since = state, now
                continue
            waited = now - each.since
            if waited <= min(GRACE, self.timeout):
                continue
            what, group = self.named(each)
            if is_stopped(each):
                if waited > self.timeout:
                    return f"rank {each.rank} has been stopped for {self.timeout:g} s in {what}"
                continue
            others = [s for s in self.seen if s is not each and s.rank in group]
            absent = [s for s in others if self.has_not_come(s, what)]
            ended = [s for s in absent if s.row[ENDED]]
            if ended and waited > GRACE:
                return (
                    f"rank {ended[0].rank} ended without the {what} in which rank {each.rank} waits"
                )
            is_first = any(s.rank == 0 for s in self.seen)
            if waited > self.timeout + (0 if absent else LATER if is_first else 2 * LATER):
                missing = "; ".join(f"rank {s.rank} is {self.doing(s)}" for s in absent)
                return (
                    f"rank {each.rank} has waited for {self.timeout:g} s in {what}: "
                    f"{missing or self.elsewhere(group)} "
                    "(TFC_COLLECTIVES_TIMEOUT says for how long)"
                )
        return ""

    def has_not_come(self, each: Seen, what: str) -> bool:
        """True if a process is not in a collective, or is in it and has been stopped."""
        return not each.doing or self.named(each)[0] != what or is_stopped(each)

    def elsewhere(self, group: set[int]) -> str:
        """What there is to say of the ranks of other hosts, where those of this one have come."""
        ranks = sorted(group - {s.rank for s in self.seen})
        if not ranks:
            return "all ranks have come, but it does not end"
        if len(ranks) == 1:
            return f"rank {ranks[0]}, of another host, has not come, or cannot be reached"
        return f"some of ranks {ranks}, of other hosts, have not come, or cannot be reached"

    def named(self, each: Seen) -> tuple[str, set[int]]:
        """The collective that a process is in, and the ranks it joins."""
        lines = (self.folder / str(each.rank)).read_text().splitlines()
        number = each.doing
        what, _, group = lines[number - 1].partition("\t") if number else ("nothing", "", "")
        return what, set(map(int, group.split()))

    def doing(self, each: Seen) -> str:
        """What a process does or did last."""
        if each.doing:
            return f"{'stopped ' if is_stopped(each) else ''}in {self.named(each)[0]}"
        return f"outside of collectives, after {each.row[DONE]} of them"

    def rest(self, ended: Seen) -> str:
        """What another waits in, if one does."""
        waiting = [s for s in self.seen if s is not ended and s.doing]
        return f", while rank {waiting[0].rank} is {self.doing(waiting[0])}" if waiting else ""

    def say(self, text: str) -> None:
        """Print a sentence, or let the process of the host finish that says something itself."""
        try:
            os.close(os.open(self.folder / "said", os.O_CREAT | os.O_EXCL))
        except OSError:
            until = time.monotonic() + HEARD
            while time.monotonic() < until and self.is_heard():
                time.sleep(TICK)
        else:
            os.write(2, f"tfc: {text}; the job ends\n".encode())

    def is_heard(self) -> bool:
        """True while the process is there that says why the job ends."""
        speaker = (self.folder / "said").read_text()
        ours = {str(s.row[PROCESS]): s.row[PROCESS] for s in self.seen}
        return not speaker or (speaker in ours and is_alive(ours[speaker]))

    def end_all(self) -> None:
        """Kill the processes that are left, and in the end what started them, if it stays."""
        started = {n for s in self.seen for n in launchers(s.row[PROCESS])}
        for each in self.seen:
            if not each.gone and is_alive(each.row[PROCESS]):
                os.kill(each.row[PROCESS], signal.SIGKILL)
        until = time.monotonic() + PATIENCE
        while started and time.monotonic() < until:
            time.sleep(TICK)
            started = {n for n in started if is_alive(n) and name_and_parent(n)[0] in LAUNCHERS}
        for process in started:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)


def launchers(process: int) -> Iterator[int]:
    """The processes of MPI that started a process: its parent, the parent of that, and so on."""
    _, parent = name_and_parent(process)
    name, above = name_and_parent(parent)
    while name in LAUNCHERS:
        yield parent
        parent = above
        name, above = name_and_parent(parent)


def name_and_parent(process: int) -> tuple[str, int]:
    """What a process is called, and which one started it; "" and 0 if the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        name, rest = state_of(process)
        return name, int(rest[1])
    return "", 0


def is_stopped(each: Seen) -> bool:
    """True for a process that is stopped, by a signal or a debugger, and has not ended."""
    with suppress(OSError, ValueError, IndexError):
        return state_of(each.row[PROCESS])[1][0] in ("T", "t")
    return False


def state_of(process: int) -> tuple[str, list[str]]:
    """The name of a process, and the words that Linux has for it: its state, its parent, ..."""
    text = Path(f"/proc/{process}/stat").read_text()
    name, _, rest = text.partition("(")[2].rpartition(")")
    return name, rest.split()


def is_alive(process: int) -> bool:
    """True while a process is there."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def main(folder: Path, timeout: float) -> None:
    """Watch the processes of a folder until they have ended."""
    watcher = Watcher(folder, timeout)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # whoever started this waits for its end
    try:
        found = watcher.watch()
        if found:
            watcher.say(found)
            os.dup2(nowhere, 2)  # mpiexec waits until all have closed what it reads
            watcher.end_all()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for those that are watched
    main(Path(sys.argv[1]), float(sys.argv[2]))
