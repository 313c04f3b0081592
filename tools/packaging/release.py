"""``python -m tools.packaging.release v0.1.0``: what is new in a release, printed for its page.

The version stands in ``pyproject.toml`` and ``rocdoctor/__init__.py``. A tag that disagrees with them, or with the
newest part of the changelog, is refused, so what is built from a tag has the tag's version.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def notes(tag: str, root: Path = ROOT) -> str:
    """The newest part of the changelog; raises ``ValueError`` where it or a version is not that of the tag."""
    wanted = tag.removeprefix("v")
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("rocdoctor/__init__.py", r'^__version__ = "(.+)"$'),
    ):
        found = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        if not tag.startswith("v") or found is None or found[1] != wanted:
            raise ValueError(f"{name} has version {found[1] if found else 'none'}, the tag is {tag}")
    parts = re.split(r"^## ", (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    title, _, text = parts[1].partition("\n")
    if not re.fullmatch(rf"{re.escape(wanted)} \(20\d\d-\d\d-\d\d\)", title):
        raise ValueError(f"CHANGELOG.md begins with '{title}' instead of '{wanted} (DAY)'")
    return text.strip() + "\n"


def main(words: list[str]) -> int:
    """Print the notes; exit status 1 with the reason where the tag does not fit."""
    try:
        sys.stdout.write(notes(words[0]))
    except (ValueError, IndexError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
