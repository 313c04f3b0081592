"""The live host against this machine's own files and small programs; nothing here needs a GPU."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rocdoctor.host import live, programs
from rocdoctor.host.base import Answer
from rocdoctor.host.live import LiveHost, run_bounded

pytestmark = pytest.mark.live


def _script(path: Path, text: str) -> str:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_files_links_lists_and_their_absence(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n\n")
    (tmp_path / "b").symlink_to("a")
    host = LiveHost()
    assert host.ask(f"read {tmp_path}/a").text == "one"
    assert host.ask(f"link {tmp_path}/b").text == f"{tmp_path}/a"
    assert host.ask(f"list {tmp_path}/*").lines() == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert host.ask(f"list {tmp_path}/*").complete
    assert host.ask(f"read {tmp_path}/none").status == "absent"
    assert host.ask(f"stat {tmp_path}/a").text.startswith("file 0")
    assert host.ask("run rocdoctor-no-such-program").status == "absent"
    assert host.ask("dance now").status == "not-asked"


def test_a_fifo_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert LiveHost().ask(f"read {tmp_path}/fifo").status == "failed"


def test_a_program_that_hangs_is_ended_with_everything_it_started(tmp_path: Path) -> None:
    program = _script(
        tmp_path / "hang", f"sleep 321 & echo $! > {tmp_path}/pid\ntrap '' TERM\necho half\nwait\nsleep 321\n"
    )
    answer = run_bounded("run hang", [program], 0.5)
    assert (answer.status, answer.text, answer.complete) == ("timeout", "half", False)
    pid = int((tmp_path / "pid").read_text())
    for _ in range(50):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the grandchild lives on")


def test_a_grandchild_that_keeps_the_pipe_open_does_not_hold_us(tmp_path: Path) -> None:
    program = _script(tmp_path / "leave", "sleep 322 &\necho done\n")
    answer = run_bounded("run leave", [program], 2.0)
    assert (answer.status, answer.text) == ("ok", "done")


def test_the_reason_of_a_failure_is_kept_and_output_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run_bounded("run x", [_script(tmp_path / "fail", "echo out; echo why >&2; exit 3\n")], 2.0)
    assert (answer.text, answer.exit_code) == ("out\nwhy", 3)
    monkeypatch.setattr(live, "MAX_ANSWER_BYTES", 1000)
    big = run_bounded("run y", [_script(tmp_path / "big", "yes | head -c 300000\n")], 5.0)
    assert len(big.data) <= 1000
    assert big.truncated


def test_a_read_that_hangs_in_the_kernel_costs_one_deadline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "good").write_text("fine")
    original = live._QUICK["read"]
    stuck = {"read /sick/1", "read /sick/2", "read /sick/3"}

    def read(question: str) -> Answer:
        if question in stuck:
            time.sleep(30)
        return original(question)

    monkeypatch.setitem(live._QUICK, "read", read)
    host = LiveHost(timeout_s=0.6)
    host.prefetch([*stuck, f"read {tmp_path}/good"])
    began = time.monotonic()
    assert [host.ask(question).status for question in sorted(stuck)] == ["timeout"] * 3
    assert host.ask(f"read {tmp_path}/good").text == "fine"
    assert time.monotonic() - began < 10  # not the sum of three thirty-second reads


def test_programs_run_side_by_side(tmp_path: Path) -> None:
    names = [_script(tmp_path / f"slow{number}", "sleep 0.4; echo ok\n") for number in range(6)]
    host = LiveHost()
    host.prefetch(f"run {name}" for name in names)
    assert [host.ask(f"run {name}").text for name in names] == ["ok"] * 6


def test_as_root_programs_of_others_are_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _script(tmp_path / "rocm-smi", "echo bad\n")
    tmp_path.chmod(0o777)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    programs._directories.cache_clear()
    programs.find_program.cache_clear()
    try:
        assert programs.find_program("rocm-smi") != str(tmp_path / "rocm-smi")
    finally:
        programs._directories.cache_clear()
        programs.find_program.cache_clear()


def test_under_sudo_roots_environment_is_not_taken_for_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name, value in (("SUDO_USER", "someone"), ("SUDO_UID", "1000"), ("SUDO_GID", "1000")):
        monkeypatch.setenv(name, value)
    answer = LiveHost().ask("env")
    assert (answer.status, answer.complete) == ("failed", False)
    assert "sudo" in answer.note
