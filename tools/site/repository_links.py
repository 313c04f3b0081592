"""A hook of mkdocs: what a page links to outside of ``docs/`` becomes a page or a file of the site.

The pages are written to be read in the repository too, so their links are paths there. ``README.md`` and its
neighbours become pages below ``project/``; every other file is copied below ``source/``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROJECT = {f"{name}.md": f"project/{name.lower()}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")}
# Code blocks, code in a line, or the target of a link: what stands in code is no link.
_LINK = re.compile(r"```.*?^ *```|`[^`\n]*`|(?<=\]\()(?P<target>[^)\s:]+)(?=\))", re.DOTALL | re.MULTILINE)


def place(path: Path) -> str:
    """Where a file of the repository is in the site, as mkdocs names its source."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return PROJECT.get(name, f"source/{name}.txt")


def linked(path: Path) -> Iterator[Path]:
    """The files that a page links to."""
    for match in _LINK.finditer(path.read_text(encoding="utf-8")):
        target = (match["target"] or "").partition("#")[0]
        if target:
            yield (path.parent / target).resolve()


def moved(text: str, path: Path) -> str:
    """The text of a page with its links as they are in the site."""
    folder = os.path.dirname(place(path))

    def link(match: re.Match[str]) -> str:
        target, mark, anchor = (match["target"] or "").partition("#")
        if not target:
            return _as_html(match[0]) if "<!" in match[0] and "\n" not in match[0] else match[0]
        theirs = place((path.parent / target).resolve())
        return os.path.relpath(theirs, folder or ".") + mark + anchor

    return _LINK.sub(link, text)


def _as_html(code: str) -> str:
    """Code in a line, for mkdocs, which takes ``<![`` for the beginning of a section even there and gives up."""
    return f"<code>{''.join(one if one.isalnum() else f'&#{ord(one)};' for one in code.strip('`'))}</code>"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and files that do not lie in ``docs/``."""
    made = import_module("mkdocs.structure.files").File.generated
    pages = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in PROJECT)]
    wanted = {place(path): path for page in pages for path in (page, *linked(page))}
    for name, path in wanted.items():
        if not path.is_relative_to(DOCS):
            files.append(made(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Move the links of a page."""
    return moved(markdown, Path(page.file.abs_src_path))
