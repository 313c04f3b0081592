"""Which checks are read in, and when."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rocdoctor.judging import loading, running
from rocdoctor.judging.loading import CheckLoadError, check_files, checks_folder, load_check
from rocdoctor.judging.running import run_check
from rocdoctor.model.facts import Machine

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


def test_byte_code_that_is_kept_is_of_the_files_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(loading, "knowledge_folder", lambda: tmp_path)
    monkeypatch.setattr(loading, "_together", {})
    folder = tmp_path / "checks"
    folder.mkdir()
    for at, title in enumerate(("One.", "Three.", "Three?"), 1):
        path = _write(folder, title)
        os.utime(path, (at, at))
        found = loading._codes(folder)
        assert [one.co_consts[0] for one in found.values()] == [title]
        loading._together.update(found)
        assert load_check(path).manual == title
    assert loading._codes(folder / "none") == {}


def test_kept_byte_code_is_of_our_own_checks_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def codes(folder: Path) -> dict[str, object]:
        asked.append(folder)
        return {}

    monkeypatch.setattr(loading, "_codes", codes)
    monkeypatch.setattr(loading, "_together", {tmp_path: compile("", "a check", "exec")})
    loading.load_together(200)
    assert asked == [], "they are at hand already"
    monkeypatch.setattr(loading, "_together", {})
    loading.load_together(1)
    assert asked == []
    loading.load_together(200)
    assert asked == [checks_folder()]
    monkeypatch.setattr(loading, "_byte_code_is_ours", lambda _: False)
    loading.load_together(200)
    assert asked == [checks_folder()]


def test_the_usual_way_is_left_where_a_check_cannot_be_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(loading, "knowledge_folder", lambda: tmp_path)
    (tmp_path / "mine.py").write_text("def mine(:\n")
    assert loading._codes(tmp_path) == {}


def test_what_a_check_of_somebody_prints_is_not_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _CHECK.format(title="Talks").replace("machine_with_gpus", "whole_machine")
    text = text.replace("    return", "    print('when it runs')\n    return")
    path = tmp_path / "mine.py"
    path.write_text(f"{text}\nprint('at its start')\n")
    one = load_check(path)
    run_check(one, Machine())
    assert capsys.readouterr() == ("", "at its start\nwhen it runs\n")


@pytest.mark.parametrize(
    "endless",
    [
        "    while True:\n        pass\n",
        "    import time\n    time.sleep(600)\n",
        "    while True:\n        try:\n            raise ValueError\n        except ValueError:\n            pass\n",
        "    return (number for number in iter(int, 1))\n",
    ],
)
def test_a_check_of_somebody_that_never_ends_is_named(
    endless: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread is left behind, and it is not asked again: the screens would leave one at each look."""
    monkeypatch.setattr(running, "OWN_LIMIT_S", 0.05)
    text = _CHECK.format(title="Waits").replace("machine_with_gpus", "whole_machine")
    path = tmp_path / "mine.py"
    path.write_text(text[: text.index("    return")] + _once(endless, tmp_path / "stop"))
    one = load_check(path)
    try:
        for _ in range(2):
            (verdict,) = run_check(one, Machine())
            assert (verdict.check, verdict.state, verdict.why) == ("mine", "crashed", "no answer within 5 s")
    finally:
        (tmp_path / "stop").touch()


def _once(body: str, stop: Path) -> str:
    """The same, which ends when the test does."""
    done = f"__import__('os').path.exists({str(stop)!r})"
    body = body.replace("while True:", f"while not {done}:").replace("sleep(600)", "sleep(1)")
    return body.replace("iter(int, 1)", f"iter(lambda: {done}, True)")


def test_a_check_of_somebody_whose_file_never_ends_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "OWN_LIMIT_S", 0.05)
    (tmp_path / "mine.py").write_text("import time\ntime.sleep(1)\n")
    with pytest.raises(CheckLoadError, match=r"mine\.py: TimeoutError: no answer within"):
        load_check(tmp_path / "mine.py")


def test_our_own_checks_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "within", lambda *_: pytest.fail("a deadline for a check of ours"))
    run_check(load_check(checks_folder() / "swap_heavy.py"), Machine())
