"""Which code a GPU runs: its compute capability as the name of an architecture."""

# The capabilities whose own instructions (wgmma, TMA; tcgen05) are used, on top of the common ones.
_OWN_INSTRUCTIONS = {(9, 0), (10, 0)}
OLDEST = (8, 0)


def architecture_of(major: int, minor: int) -> str:
    """The architecture of a compute capability: (9, 0) is "sm_90a"."""
    own = "a" if (major, minor) in _OWN_INSTRUCTIONS else ""
    return f"sm_{major}{minor}{own}"


def has_warpgroups(architecture: str) -> bool:
    """Whether code for an architecture may use products of four warps: `wgmma`."""
    return architecture == "sm_90a"
