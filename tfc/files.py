"""Writing files so that each appears under its name complete, or not at all."""

import os
from pathlib import Path
from uuid import uuid4

from tfc.errors import TfcError


def write_files(*contents: tuple[Path, bytes]) -> None:
    """Write files that belong together: all of them, or none.

    Each is written beside its place under a temporary name, and all are renamed at the end.

    Raises:
        TfcError: two are the same file, or one cannot be written; then none is replaced, unless
            renaming itself fails.
    """
    if len({path.absolute() for path, _ in contents}) != len(contents):
        listed = ", ".join(str(path) for path, _ in contents)
        raise TfcError(f"the outputs must be different files, got {listed}")
    written: list[tuple[Path, Path]] = []
    target = Path()
    try:
        for target, content in contents:
            temporary = target.with_name(f".{target.name}.{uuid4().hex}")
            written.append((temporary, target))
            temporary.write_bytes(content)
        for temporary, target in written:
            os.replace(temporary, target)
    except OSError as error:
        raise TfcError(f"cannot write {target}: {error.strerror}") from error
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)
