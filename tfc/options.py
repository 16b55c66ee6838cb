"""Options: what a compilation may be told, as one value; the only reader of the environment."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from tfc.errors import TfcError


@dataclass(frozen=True)
class Options:
    """How to compile, passed down from the caller to every stage.

    dump_dir: a folder that receives the module after each pass that changed it; "" for none.
    verify: check every invariant of the module after each pass that changed it.
    time: measure each pass, and let passes explain what they did and refused.
    disabled: the names of passes to leave out.
    memory_limit: above how many bytes of temporaries and results values are computed again rather
        than kept, as far as possible; 0 for no limit.
    dump_as: the forms of what is written to dump_dir: "text", "dot" (Graphviz), "html".
    cache_dir: a folder that keeps machine code for later processes; "" for none.
    parts_dir: a folder that keeps the functions which programs have in common; "" for none.
    tuned: give kernels the schedules that `tfc tune` has kept there.
    """

    dump_dir: str = ""
    verify: bool = True
    time: bool = False
    disabled: tuple[str, ...] = ()
    memory_limit: int = 0
    dump_as: tuple[str, ...] = ("text",)
    cache_dir: str = ""
    parts_dir: str = ""
    tuned: bool = True

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> "Options":
        """The options that the environment asks for.

        Args:
            environment: the variables to read instead of the process's own.

        Raises:
            TfcError: a variable is malformed, also one that is no option.
        """
        found = os.environ if environment is None else environment
        # These are read later, if ever; what is wrong with them is said here.
        threads_from_environment(found)
        full_traceback_from_environment(found)
        return Options(
            dump_dir=found.get("TFC_DUMP", ""),
            verify=_switch(found, "TFC_VERIFY", True),
            time=_switch(found, "TFC_TIME", False),
            disabled=_names(found, "TFC_DISABLE"),
            memory_limit=_bytes(found, "TFC_MEMORY_LIMIT"),
            dump_as=_names(found, "TFC_DUMP_AS") or ("text",),
            cache_dir=found.get("TFC_CACHE", ""),
            parts_dir=found["TFC_CACHE"] if "TFC_CACHE" in found else _own_cache_dir(found),
            tuned=_switch(found, "TFC_TUNED", True),
        )


def _own_cache_dir(environment: Mapping[str, str]) -> str:
    """The folder for what tfc keeps by itself, where the system has such folders; "" if nowhere."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = environment.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = environment.get("XDG_CACHE_HOME", "")  # one that is relative is to be ignored
        base = base if os.path.isabs(base) else os.path.join(home, ".cache")
    return os.path.join(base, "tfc") if os.path.isabs(base) else ""


@dataclass(frozen=True)
class GraphDumps:
    """Which pictures of graph mode's clusters TF_XLA_FLAGS asks for.

    pattern: a regular expression of stages' titles. folder: where to; "" for the temporary one.
    """

    pattern: str
    folder: str = ""

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> "GraphDumps | None":
        """What is asked for by --xla_generate_hlo_graph and --xla_hlo_graph_path; None if nothing.

        Flags that begin with --tf_xla_, which tell TensorFlow what to compile, say nothing here.

        Raises:
            TfcError: there is no such flag, or the pattern is no regular expression.
        """
        found = os.environ if environment is None else environment
        flags = {"--xla_generate_hlo_graph": "", "--xla_hlo_graph_path": ""}
        for word in found.get("TF_XLA_FLAGS", "").split():
            name, _, value = word.partition("=")
            if name not in flags and not name.startswith("--tf_xla_"):
                known = " and ".join(flags)
                raise TfcError(f"TF_XLA_FLAGS has no flag '{name}'; there are {known}")
            flags[name] = value
        pattern = flags["--xla_generate_hlo_graph"]
        try:
            re.compile(pattern)
        except re.error as error:
            message = f"--xla_generate_hlo_graph must be a regular expression: {error}"
            raise TfcError(message) from None
        return GraphDumps(pattern, flags["--xla_hlo_graph_path"]) if pattern else None


# What launchers set in the processes that they start: MPICH's and Intel's, Open MPI's, PMIx's.
_LAUNCHED = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK")


@dataclass(frozen=True)
class JobOptions:
    """How processes that run programs together do so.

    is_launched: something like mpiexec started this process as one of several.
    check_collectives: before each collective its group compares what it is about to do.
    timeout: the seconds for which a process may wait in a collective before the job is ended.
    """

    is_launched: bool = False
    check_collectives: bool = False
    timeout: float = 300.0

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> "JobOptions":
        """What launchers, TFC_CHECK_COLLECTIVES and TFC_COLLECTIVES_TIMEOUT say.

        Raises:
            TfcError: a variable is malformed.
        """
        found = os.environ if environment is None else environment
        stated = found.get("TFC_COLLECTIVES_TIMEOUT", "").strip() or "300"
        if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", stated) or float(stated) == 0:
            raise TfcError(
                f"TFC_COLLECTIVES_TIMEOUT must be a positive number of seconds, got '{stated}'"
            )
        return JobOptions(
            any(name in found for name in _LAUNCHED),
            _switch(found, "TFC_CHECK_COLLECTIVES", False),
            float(stated),
        )


def threads_from_environment(environment: Mapping[str, str] | None = None) -> int:
    """The number of threads that TFC_THREADS asks for; 0 if it says nothing.

    Raises:
        TfcError: it is no positive number.
    """
    stated = (os.environ if environment is None else environment).get("TFC_THREADS", "").strip()
    if not stated:
        return 0
    if not re.fullmatch(r"[0-9]{1,6}", stated) or int(stated) == 0:
        raise TfcError(f"TFC_THREADS must be a positive number, got '{stated}'")
    return int(stated)


def full_traceback_from_environment(environment: Mapping[str, str] | None = None) -> bool:
    """True if TFC_TRACEBACK asks for tfc's own frames in the tracebacks of errors.

    Raises:
        TfcError: it is neither "full" nor "short".
    """
    found = os.environ if environment is None else environment
    stated = found.get("TFC_TRACEBACK", "").strip().lower()
    if stated not in ("", "full", "short"):
        raise TfcError(f"TFC_TRACEBACK must be full or short, got '{found['TFC_TRACEBACK']}'")
    return stated == "full"


def _names(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The words between the commas."""
    return tuple(filter(None, (word.strip() for word in environment.get(name, "").split(","))))


def _switch(environment: Mapping[str, str], name: str, default: bool) -> bool:
    value = environment.get(name, "").strip().lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("0", "false", "no", "off"):
        return False
    if value:
        raise TfcError(f"{name} must be 1 or 0, got '{environment[name]}'")
    return default


def _bytes(environment: Mapping[str, str], name: str) -> int:
    """A number of bytes such as 4096, 64K, 512M or 2G; 0 if it is not given."""
    stated = environment.get(name, "").strip()
    found = re.fullmatch(r"(\d{1,15})([KMG]?)", stated or "0", re.ASCII | re.IGNORECASE)
    if found is None:
        raise TfcError(f"{name} must be a number of bytes such as 512M, got '{environment[name]}'")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2].upper()]
