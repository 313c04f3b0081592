"""Names in folders: as ``glob`` finds them, and never more than any folder has, whoever fills one."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocdoctor.host.live import folder_names, trusted_content
from rocdoctor.host.live.folder_names import TooManyNamesError, entries_of, files_below, matching, names_in
from rocdoctor.host.live.libraries import Libraries
from rocdoctor.host.live.python_code import read_by_python
from rocdoctor.host.live.quick_questions import look

_FILES = ("a/one.conf", "a/two.conf", "a/.hidden.conf", "b/one.conf", "b/sub/x", "[odd]/one.conf", "a/no", "c.conf")
_PATTERNS = (
    *("*", "*/*", "*/*.conf", "a/*", "a/o*", "*/one.conf", "a/.h*", "a/.*", "[ab]/*.conf", "?/*", "*/sub/*", "a/t?o.*"),
    *("none/*", "*/none", "a", "c.conf", "c.conf/*", "*/*/x", "link/*", "dangling*", "*/[!o]*", "a/one.conf"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in _FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "dangling").symlink_to("nowhere")
    return tmp_path


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_patterns_mean_what_glob_has_them_mean(folder: Path, pattern: str) -> None:
    wanted = sorted(glob.glob(f"{glob.escape(str(folder))}/{pattern}"))
    assert sorted(matching(pattern, str(folder))) == wanted
    assert sorted(matching(f"{folder}/{pattern}")) == wanted


def test_a_folder_is_taken_as_it_is_named(folder: Path) -> None:
    assert matching("*.conf", str(folder / "[odd]")) == [str(folder / "[odd]/one.conf")]


def test_files_below_are_those_that_glob_finds(folder: Path) -> None:
    found = glob.iglob(f"{glob.escape(str(folder))}/**", recursive=True)
    wanted = {os.path.realpath(one) for one in found if not os.path.isdir(one)}
    assert {os.path.realpath(one) for one in files_below(str(folder))} == wanted


def test_links_that_lead_around_end(folder: Path) -> None:
    (folder / "a/up").symlink_to("..")
    assert len(list(files_below(str(folder)))) < 2 * len(_FILES)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Each folder has names without end, as a file system may that a user serves."""
    told = iter(range(1_000_000))
    real = os.scandir

    class Entry:
        def __init__(self, folder: str, number: int) -> None:
            self.name, self.path = f"python3.{number}", f"{folder}/python3.{number}"

        def is_dir(self, follow_symlinks: bool = True) -> bool:
            return True

    def without_end(folder: str) -> contextlib.AbstractContextManager[Iterator[Entry]]:
        return contextlib.nullcontext(Entry(str(folder), number) for number in told)

    monkeypatch.setattr(folder_names, "MOST_NAMES", 100)
    monkeypatch.setattr(os, "scandir", without_end)
    yield 1000
    monkeypatch.setattr(os, "scandir", real)
    assert next(told) < 100_000


@pytest.mark.parametrize(
    "ask",
    [
        lambda: matching("*", "/env"),
        lambda: matching("*/*/*", "/env"),
        lambda: names_in("/env"),
        lambda: entries_of("/env"),
        lambda: list(files_below("/env")),
        lambda: list(read_by_python("/env/bin/python", "start")),
    ],
)
def test_names_without_end_are_not_held(ask: Callable[[], object], endless: int) -> None:
    with pytest.raises(OSError, match="too many files"):
        ask()


def test_what_cannot_be_looked_through_is_not_roots_alone(endless: int) -> None:
    assert trusted_content.weak_libraries("/env/lib", 1e12)
    assert trusted_content.weak_user_site("/env", 1e12)
    Libraries()  # the loader's folders: they count as they are


def test_a_question_about_such_a_folder_is_answered(endless: int) -> None:
    answer = look("list /env/*")
    assert (answer.status, answer.text) == ("failed", "")
    assert "too many files" in answer.note


def test_the_limit_is_of_all_folders_of_a_pattern(folder: Path) -> None:
    assert matching("*/*", str(folder), 20)
    with pytest.raises(TooManyNamesError):
        matching("*/*", str(folder), 8)
