"""C++ programs of the tests: compiled against generated headers, linked with objects, and run."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tfc.aot
from tfc.aot import AotResult
from tfc.hlo import parse

STRICT = (
    "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow",
)  # fmt: skip
SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

# For the tests' programs: says which line was wrong, and goes on.
CHECKS = """
#include <cstdio>
static int failures = 0;
#define CHECK(condition)                                                    \\
  do {                                                                      \\
    if (!(condition)) {                                                     \\
      std::printf("line %d: %s\\n", __LINE__, #condition);                   \\
      ++failures;                                                           \\
    }                                                                       \\
  } while (false)
"""


class Cpp:
    """Compiles and runs C++ programs in a folder of their own."""

    def __init__(self, folder: Path, command: str):
        self.folder, self.command = folder, command

    def aot(self, text: str, cpp_class: str, **named: Any) -> AotResult:
        """Header and object of a module in HLO text."""
        return tfc.aot.compile(parse(text), cpp_class=cpp_class, out_dir=self.folder, **named)

    def build(
        self, sources: Sequence[str | Path], objects: Sequence[Path], *flags: str
    ) -> subprocess.CompletedProcess[str]:
        """Compile sources, files or texts, and link them with objects into `program`."""
        files = []
        for number, source in enumerate(sources):
            if isinstance(source, str):
                path = self.folder / f"source{number}.cc"
                path.write_text(CHECKS * ("CHECK" in source) + source, encoding="utf-8")
                source = path
            files.append(str(source))
        command = [self.command, "-std=c++11", f"-I{self.folder}", *flags, *files]
        command += [*map(str, objects), "-lm", "-o", str(self.folder / "program")]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def run(self, sources: Sequence[str | Path], objects: Sequence[Path], *flags: str) -> str:
        """What the program prints; it must compile without a warning and return 0."""
        built = self.build(sources, objects, *STRICT, *flags)
        assert built.returncode == 0, built.stderr
        done = subprocess.run(
            [str(self.folder / "program")], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
