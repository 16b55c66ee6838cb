"""What docs/sharding.md shows works as it stands."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_blocks_of_the_page_run():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "sharding.md").read_text(), re.S)
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=ROOT,
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "[8. 8. 8. 8. 8.]" in done.stdout
    assert "all-reduce" in done.stdout
