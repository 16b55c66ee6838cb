"""XLA reads what tfc prints, and prints the very same lines again: every file in files/text.

The order of the lines may differ, since XLA prints each computation in an order of its own. A line
`// XLA prints: reason` in a case says that the lines differ, `// XLA refuses: reason` that XLA does
not read the text.
"""

import re
from pathlib import Path

import pytest
from test_files import FILES, SEPARATOR, case_id, cases
from xla_bridge import xla_parse, xla_print

from tfc.hlo import parse

_DIFFERS = re.compile(r"^// XLA( prints| refuses): ", re.MULTILINE)
TEXTS = [(path, number) for path, number in cases() if path.parent == FILES / "text"]


def lines(text: str) -> list[str]:
    """The lines that are not blank, sorted."""
    return sorted(line for line in text.split("\n") if line.strip())


@pytest.mark.parametrize(("path", "number"), TEXTS, ids=case_id)
def test_xla_prints_what_tfc_prints(path: Path, number: int):
    source = path.read_text().split(SEPARATOR)[number]
    printed = str(parse(source))
    differs = _DIFFERS.search(source)
    if differs is not None and differs[1] == " refuses":
        with pytest.raises(Exception, match="error:"):
            xla_parse(printed)
        return
    again = xla_print(xla_parse(printed))
    if differs is None:
        assert lines(again) == lines(printed)
    else:
        assert lines(again) != lines(printed), "XLA prints the same: remove the // XLA line"
        assert str(parse(again))
