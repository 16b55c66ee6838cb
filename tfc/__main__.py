"""`python -m tfc` is the command `tfc`."""

from tfc.cli import main

main()
