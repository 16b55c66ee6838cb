"""Measuring programs: what each kernel takes, and what the machine could do."""

from tfc.profiling.peaks import Peaks, measure_peaks
from tfc.profiling.profile import COLUMNS, KernelProfile, Profile, profile

__all__ = ["COLUMNS", "KernelProfile", "Peaks", "Profile", "measure_peaks", "profile"]
