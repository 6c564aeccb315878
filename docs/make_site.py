"""Lays the pages out for the site: python docs/make_site.py, then `mkdocs build`.

The pages of docs/ and those beside the README link to each other as files of the repository. In
the site they stand in one folder, so links are written anew; a link to source code is not followed.
Words after the language of a block, such as who types it, become its title.
"""

import re
import shutil
from pathlib import Path

from make_reference import PAGES as MADE

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "pages"
BESIDE = ("SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_FENCE = re.compile(r"^```(\w+) ([\w ]+)$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def laid_out(text: str, page: Path) -> str:
    """A page of the repository with links as the site has them."""

    def moved(link: re.Match[str]) -> str:
        title, target, anchor = link[1], link[2], link[3] or ""
        if not target or ":" in target:
            return link[0]
        file = (page.parent / target).resolve()
        if file in {ROOT / name for name in BESIDE}:
            place = file.relative_to(ROOT)
        elif (ROOT / "docs") in file.parents and file.suffix in {".md", ".ipynb", ".svg"}:
            place = file.relative_to(ROOT / "docs")
        else:
            return title
        here = (
            page.relative_to(ROOT / "docs") if (ROOT / "docs") in page.parents else Path(page.name)
        )
        return f"[{title}]({'../' * (len(here.parts) - 1)}{place}{anchor})"

    return _LINK.sub(moved, _FENCE.sub(r'```\1 title="\2"', text))


def lay_out() -> None:
    """Write every page to build/pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for page in (*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in BESIDE)):
        in_docs = (ROOT / "docs") in page.parents
        place = PAGES / (page.relative_to(ROOT / "docs") if in_docs else page.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(laid_out(page.read_text(encoding="utf-8"), page), encoding="utf-8")
    for place, made in MADE.items():
        (PAGES / place).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / place).write_text(made(), encoding="utf-8")
    for picture in (ROOT / "docs").rglob("*.svg"):
        place = PAGES / picture.relative_to(ROOT / "docs")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, place)


if __name__ == "__main__":
    lay_out()
