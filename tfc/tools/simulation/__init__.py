"""Simulating programs for many devices: when each kernel and collective would run, and on what.

May import the compiler, profiling's figures and its probe; only the command line imports it. It
runs nothing of a program: what kernels cost comes from `passes.analysis.cost`.
"""

from tfc.tools.simulation.mesh import DeviceMesh, parse_mesh
from tfc.tools.simulation.results import Simulation
from tfc.tools.simulation.simulate import Assumptions, simulate
from tfc.tools.simulation.speeds import Link, Speeds, read_speeds

__all__ = [
    "Assumptions",
    "DeviceMesh",
    "Link",
    "Simulation",
    "Speeds",
    "parse_mesh",
    "read_speeds",
    "simulate",
]
