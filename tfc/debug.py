"""Looking into programs that run: tfc.debug.print and tfc.debug.callback."""

from tfc.frontend.callbacks.debugging import callback, print

__all__ = ["callback", "print"]
