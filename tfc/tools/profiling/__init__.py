"""Measuring programs: what each kernel takes, and what the machine could do."""

from tfc.tools.profiling.peaks import Level, Peaks
from tfc.tools.profiling.profile import COLUMNS, KernelProfile, Profile, profile

__all__ = ["COLUMNS", "KernelProfile", "Level", "Peaks", "Profile", "profile"]
