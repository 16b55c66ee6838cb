"""Measure what is compiled ahead of time: `python benchmarks/aot.py --docs docs/aot.md`."""

import os
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    # The folder that holds the package takes the place of the one that holds this file.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    os.environ["JAX_PLATFORMS"] = "cpu"
    runpy.run_module("benchmarks.ahead.command", run_name="__main__")
