"""The pages for people: what they link to and name exists, and decisions are numbered, dated and listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from rocdoctor.cli.commands import COMMANDS
from rocdoctor.train.emit.targets import TARGETS
from tests.kit import ROOT

_PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_DECISIONS = ROOT / "docs" / "decisions"
# A path below one of these is one of ours: pages on the code leave the beginning of long ones out.
_BEGINNINGS = ("", "rocdoctor", "rocdoctor/train", "docs")
_NAMED = re.compile(r"`((?:[\w.]+/)+\w+(?:\.(?:py|yaml|md|toml|capture)|/))`")


def _anchors(path: Path) -> Iterator[str]:
    """The names under which a page's headings can be linked to, as GitHub makes them."""
    for title in re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _ids(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


@pytest.mark.parametrize("path", _PAGES, ids=_ids(_PAGES))
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{path.name}: {link}"
        assert not anchor or anchor in _anchors(target), f"{path.name}: {link}"


_ON_CODE = [
    path for path in _PAGES if path.parent == _DECISIONS or path.stem in ("architecture", "CONTRIBUTING", "stable")
]


@pytest.mark.parametrize("path", _ON_CODE, ids=_ids(_ON_CODE))
def test_files_that_are_named_exist(path: Path) -> None:
    for name in _NAMED.findall(path.read_text(encoding="utf-8")):
        if re.search(r"\b(?:test_|faults_)?(?:NAME|ROOM)\b", name):  # stands for any
            continue
        assert any((ROOT / beginning / name).exists() for beginning in _BEGINNINGS), f"{path.name}: {name}"


def test_the_readme_has_each_command_and_each_target() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(COMMANDS) - set(re.findall(r"`rocdoctor (\w+)", text)) == {"tui"}, "which runs without its name"
    row = next(line for line in text.splitlines() if line.startswith("| `rocdoctor emit TARGET"))
    assert row.rpartition("files: ")[2].strip(" |").split(", ") == list(TARGETS)


def test_decisions_are_numbered_dated_and_listed() -> None:
    listed = re.findall(
        r"^\| (\d+) \| (\S+) \| \[(.+)\]\((\w+)\.md#\S+\) \|", (_DECISIONS / "README.md").read_text(), re.MULTILINE
    )
    assert [int(number) for number, *_ in listed] == list(range(1, len(listed) + 1))
    written = [
        (number, when, title, path.stem)
        for path in _DECISIONS.glob("*.md")
        for number, title, when in re.findall(
            r"^## (\d+)\. (.+)\n\n(\S+), (?:accepted|superseded by \d+)\n\n\S", path.read_text(), re.MULTILINE
        )
    ]
    assert sorted(written) == sorted(listed)
    assert all(date.fromisoformat(when) for _, when, *_ in listed)
