"""A check's manual page in its parts: the title, Why, Fix, References. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_NAMES = ("Why", "Fix", "References")


def sections(manual: str) -> dict[str, list[str]]:
    """The lines of each part; the title stands under "title"."""
    lines = manual.strip().split("\n")
    parts: dict[str, list[str]] = {"title": [lines[0].strip()]} if lines[0] else {}
    current: list[str] = []
    for line in lines[1:]:
        if line.strip() in _NAMES and not line.startswith(" "):
            current = parts.setdefault(line.strip(), [])
        else:
            current.append(line)
    return {name: _stripped(found) for name, found in parts.items()}


def _stripped(lines: list[str]) -> list[str]:
    """Without empty lines at both ends and without the common indent."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:].rstrip() for line in lines]


def paragraphs(lines: Sequence[str], each: bool = False) -> list[str]:
    """Lines joined again as the author broke them; with ``each`` every line that is not indented begins a new one."""
    found: list[str] = []
    fresh = True
    for line in lines:
        if not line.strip():
            fresh = True
            continue
        begins = fresh or line.lstrip().startswith("- ") or (each and not line.startswith(" "))
        if begins:
            found.append(line.strip())
        else:
            found[-1] += " " + line.strip()
        fresh = False
    return found
