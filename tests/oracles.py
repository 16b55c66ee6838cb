"""What became of the programs that tests gave to an oracle: a crash of one is counted and shown."""

from collections import Counter


class OracleCrash(Exception):
    """A defect of an oracle: it ended its process, or one of its passes broke a program."""


# Of the test that runs: the programs "asked" about, and those of them that "crashed" the oracle.
# conftest.py empties it, tells the sums, and fails a test of which no program was answered.
PROGRAMS: Counter[str] = Counter()
