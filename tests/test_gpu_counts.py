"""What GPU programs do, counted where there is no GPU."""

from pathlib import Path

import pytest

from benchmarks.gpu_counts import PROGRAMS, main

PAGE = Path(__file__).parents[1] / "docs" / "gpu-counts.md"


def test_a_program_is_counted_and_written_as_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "page.md"
    main(["--only", "x · 2 + y, bf16", "--write", str(file)])
    row = file.read_text("utf-8").splitlines()[-1]
    name, launches, sectors, _, conflicts, _, spilled, occupancy = row.strip("| ").split(" | ")
    assert name == "x · 2 + y, bf16"
    assert (launches, sectors, conflicts, spilled, occupancy) == ("1", "1.00", "0", "0", "100%")
    assert capsys.readouterr().out.startswith("x · 2 + y, bf16 │ 1 │ 1.00")
    assert list(tmp_path.iterdir()) == [file]


def test_a_name_that_no_program_has_is_an_error(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--only", "no such program"])
    assert "no program is called 'no such program'" in capsys.readouterr().err


def test_the_page_in_the_documentation_has_a_row_of_each_program():
    rows = [line.split(" | ")[0].strip("| ") for line in PAGE.read_text("utf-8").splitlines()
            if line.startswith("| ")]  # fmt: skip
    assert rows[2:] == [program.name for program in PROGRAMS]
