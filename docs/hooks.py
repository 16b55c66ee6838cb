"""What the site needs beside docs/: the pages of the repository's root, and files that pages name.

Pages are read in the repository, too, where their links lead to files; the same links work here.
"""

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
# Where the site has them: a README.md would be its first page.
_PAGES = {"guide.md": "README.md"} | {name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)([^)\s]*)\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root, and the files that pages lead to."""
    files.remove(files.get_file_from_path("hooks.py"))
    named = {place: ROOT / name for place, name in _PAGES.items()}
    for page in [*Path(config.docs_dir).rglob("*.md"), *named.values()]:
        for link, _ in _LINK.findall(page.read_text()):
            target = (page.parent / link).resolve()
            inside = target.is_relative_to(config.docs_dir)
            if target.is_file() and not inside and target not in named.values():
                place = f"files/{target.relative_to(ROOT)}"
                named[place if not place.endswith(".md") else place + ".txt"] = target
    for place, source in named.items():
        files.append(File.generated(config, place, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Lead to files where the site has them."""
    here = PurePosixPath(page.file.src_uri).parent
    folder = ROOT if page.file.src_uri in _PAGES else Path(config.docs_dir) / here

    roots = {ROOT / name: place for place, name in _PAGES.items()}

    def led(match: re.Match[str]) -> str:
        link, rest = match.groups()
        target = (folder / link).resolve()
        if not target.exists() or not target.is_relative_to(ROOT):
            return match.group()
        if target.is_relative_to(config.docs_dir):
            place = target.relative_to(config.docs_dir)
        elif target in roots:
            place = Path(roots[target])
        elif target.is_file():
            place = Path("files") / target.relative_to(ROOT)
            place = place.with_name(place.name + ".txt") if place.suffix == ".md" else place
        else:
            return match.group().split("]")[0] + "]"  # a folder, which a site does not show
        up = "../" * len(here.parts)
        return f"]({up}{place.as_posix()}{rest})"

    return _LINK.sub(led, markdown)
