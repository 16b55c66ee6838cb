"""A program as one page: what each pass did to it, the code of its kernels, and what they take."""

from tfc.tools.explore.report import explore

__all__ = ["explore"]
