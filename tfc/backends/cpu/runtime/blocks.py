"""What Python knows of blocks of memory that are used again (blocks.h)."""

import os
import sys

# Results from here on lie in blocks: NumPy's memory begins 16 bytes into a cache line.
LEAST = 16 << 10
_PAGE = 4096
_MADV_HUGEPAGE = 14


def block_size(size: int) -> int:
    """The size of the block for so many bytes, since those of nearly equal sizes are exchanged."""
    return -(-size // _PAGE) * _PAGE


def most_kept() -> int:
    """How many bytes of blocks nobody uses are kept: an eighth of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8


def huge_page_advice() -> int:
    """What asks the system for huge pages; 0 where nothing does."""
    return _MADV_HUGEPAGE if sys.platform == "linux" else 0
