"""Measuring programs: what each kernel takes, and what the machine could do."""

from tfc.profiling.peaks import Level, Peaks
from tfc.profiling.profile import COLUMNS, KernelProfile, Profile, profile

__all__ = ["COLUMNS", "KernelProfile", "Level", "Peaks", "Profile", "profile"]
