"""Which checks are read in, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocdoctor.judging.loading import CheckLoadError, check_files, checks_folder, load_check

_CHECK = '''"""{title}"""

from rocdoctor.judging.check import check, machine_with_gpus


@check(machine_with_gpus)
def mine(machine):
    return None
'''


def _write(folder: Path, title: str) -> Path:
    path = folder / "mine.py"
    path.write_text(_CHECK.format(title=title))
    return path


def test_our_own_checks_are_read_in_once() -> None:
    files = check_files(checks_folder())
    first, second = [load_check(path) for path in files], [load_check(path) for path in files]
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_a_check_of_somebody_else_is_read_in_as_it_is_now(tmp_path: Path) -> None:
    assert load_check(_write(tmp_path, "One.")).manual == "One."
    assert load_check(_write(tmp_path, "Another.")).manual == "Another."
    (tmp_path / "mine.py").write_text("def mine(): pass\n")
    with pytest.raises(CheckLoadError, match="no function 'mine'"):
        load_check(tmp_path / "mine.py")
