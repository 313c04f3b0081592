"""The pictures of the documentation show what the screens show now, and every screen has its place there."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rocdoctor.tui.areas import AREAS, KEYS
from tests.kit import ROOT
from tests.tui.kit import without_counts
from tools.docs.pictures import PICTURES, Picture, draw

FOLDER = ROOT / "docs" / "pictures"


@pytest.mark.parametrize("picture", PICTURES, ids=[one.name for one in PICTURES])
def test_the_picture_is_the_one_in_the_documentation(picture: Picture, update_golden: bool) -> None:
    source, path = ROOT / "fixtures" / f"{picture.fixture}.capture", FOLDER / f"{picture.name}.svg"
    drawn = asyncio.run(draw(source, picture))
    if update_golden:
        path.write_text(drawn, encoding="utf-8")  # a new check alone makes no picture wrong: counts are not compared
    words = "python -m tools.docs pictures draws it anew"
    assert without_counts(path.read_text(encoding="utf-8")) == without_counts(drawn), f"{path.name}: {words}"


def _pictures(folder: Path) -> dict[str, str]:
    return {path.name: without_counts(path.read_text(encoding="utf-8")) for path in folder.glob("*.svg")}


@pytest.mark.heavy
@pytest.mark.parametrize("loops", [0, 3])
def test_the_pictures_do_not_depend_on_the_moment(loops: int, tmp_path: Path) -> None:
    """Processes of their own: what is read in for the first time comes later than what is there."""
    kept = _pictures(FOLDER)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        for turn in range(5):
            folder = tmp_path / str(turn)
            words = [sys.executable, "-m", "tools.docs.pictures", str(ROOT / "fixtures"), str(folder)]
            subprocess.run(words, cwd=ROOT, check=True, timeout=900)
            drawn = _pictures(folder)
            assert [name for name in kept if drawn[name] != kept[name]] == []
    finally:
        for one in busy:
            one.kill()
            one.wait()


def test_a_picture_loads_nothing_from_elsewhere() -> None:
    for path in FOLDER.glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<script|@import|@font-face|url\(\s*[\"']?http|href=[\"']?http", text), path.name


def test_the_documentation_shows_every_screen_and_every_picture() -> None:
    text = (ROOT / "docs" / "screens.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d) (\w+)$", text, re.MULTILINE) == [
        (key, area.name) for key, area in zip(KEYS, AREAS, strict=False)
    ]
    shown = set(re.findall(r"\(pictures/([\w-]+)\.svg\)", text))
    assert shown == {one.name for one in PICTURES} == {path.stem for path in FOLDER.glob("*.svg")}
