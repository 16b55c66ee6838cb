"""Two hosts on one machine: a network, processes, shared memory and a name of their own each.

    with Hosts(folder) as hosts:
        job = hosts.start([2, 2], "program.py")     two ranks on each of them

They are namespaces of Linux, joined by a cable of their own: nothing else of the machine's network
is touched, and when the context ends nothing is left, processes included. mpiexec runs on the first
and starts processes on the second as it would by ssh.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from distributed.launching import environment

NAMES = ("first", "second")
_NETWORK = "10.77.0"
_NEEDED = ("ip", "nsenter", "unshare", "mount", "hostname")
# What mpiexec calls as ssh: options, the host, a command for its shell.
_SHELL = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
exec nsenter --net --mount --uts --ipc --target "$(cat {folder}/$host.process)" -- sh -c "$*"
"""
# Run by what becomes the first process of a host.
_BOOT = """
hostname {name} && mount -t sysfs sysfs /sys &&
mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs {folder}/own &&
mount --bind {folder}/addresses /etc/hosts && ip link set lo up && touch {folder}/{name}.up &&
exec sleep infinity
"""
_UNSHARED = ("--net", "--mount", "--uts", "--ipc")


def can_be_made() -> bool:
    """Whether this process may make namespaces, and has the commands for it."""
    if os.getuid() or not all(map(shutil.which, _NEEDED)):
        return False
    made = ["ip", "link", "add", "one", "type", "veth", "peer", "name", "two"]
    words = ["unshare", *_UNSHARED, *made]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


class Hosts:
    """Two hosts.

    Args:
        folder: for scripts and files of theirs; empty.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._first: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        lines = [f"{_NETWORK}.{n + 1} {name}" for n, name in enumerate(NAMES)]
        (self.folder / "addresses").write_text("127.0.0.1 localhost\n" + "\n".join(lines) + "\n")
        (self.folder / "own").mkdir()
        shell = self.folder / "shell"
        shell.write_text(_SHELL.format(folder=self.folder))
        shell.chmod(0o755)
        for name in NAMES:
            boot = _BOOT.format(name=name, folder=self.folder)
            self._first[name] = subprocess.Popen(["unshare", *_UNSHARED, "sh", "-c", boot])
            (self.folder / f"{name}.process").write_text(str(self._first[name].pid))
            _until((self.folder / f"{name}.up").exists)
        one, two = (str(p.pid) for p in self._first.values())
        _run(["ip", "link", "add", "cable", "netns", one, "type", "veth",
              "peer", "name", "cable", "netns", two])  # fmt: skip
        for number, name in enumerate(NAMES):
            self.on(name, "ip", "address", "add", f"{_NETWORK}.{number + 1}/24", "dev", "cable")
            self.cable(name, "up")
        for name in NAMES:
            _until(lambda name=name: "state UP" in self.on(name, "ip", "link", "show", "cable"))
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._first:
            for process in self.processes(name):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        for first in self._first.values():
            first.kill()
            first.wait()

    def cable(self, name: str, state: str) -> None:
        """Set a host's end of the cable "up" or "down"."""
        self.on(name, "ip", "link", "set", "cable", state)

    def slow_down(self, megabits: int) -> bool:
        """Let the cable carry so many megabits a second each way; False if the kernel cannot."""
        limit = ["rate", f"{megabits}mbit", "burst", "64kb", "latency", "50ms"]
        words = ["tc", "qdisc", "add", "dev", "cable", "root", "tbf", *limit]
        if shutil.which("tc") is None:
            return False
        asked = [[*self._entering(name), *words] for name in NAMES]
        done = [subprocess.run(w, capture_output=True, check=False).returncode for w in asked]
        return not any(done)

    def on(self, name: str, *words: str) -> str:
        """What a command prints on a host."""
        return _run([*self._entering(name), *words])

    def processes(self, name: str) -> dict[int, str]:
        """The processes of a host and their commands, but for its first, and those that ended."""
        first, found = self._first[name].pid, {}
        here = Path(f"/proc/{first}/ns/net").readlink()
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if (folder / "ns/net").readlink() == here and command:
                    found[int(folder.name)] = command
        return {n: c for n, c in found.items() if n != first}

    def start(
        self, ranks: Sequence[int], *words: object, **variables: str
    ) -> subprocess.Popen[str]:
        """Start Python with so many ranks on each of the hosts, by mpiexec on the first."""
        launcher = str(Path(sys.executable).with_name("mpiexec"))
        named = ",".join(f"{name}:{count}" for name, count in zip(NAMES, ranks, strict=True))
        asked = [launcher, "-launcher", "ssh", "-launcher-exec", str(self.folder / "shell"),
                 "-hosts", named, "-n", str(sum(ranks)), sys.executable]  # fmt: skip
        own = {"TMPDIR": str(self.folder / "own"), **variables}
        return subprocess.Popen(
            [*self._entering(NAMES[0]), *asked, *map(str, words)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**own),
        )  # fmt: skip

    def _entering(self, name: str) -> list[str]:
        return ["nsenter", *_UNSHARED, "--target", str(self._first[name].pid), "--"]


def _run(words: Sequence[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr}"
    return done.stdout


def _until(holds: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)
