"""What a smoke run asks psutil: the memory of its processes, and whether there is a loopback interface."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from rocdoctor.train.smoke.run import processes
from rocdoctor.train.smoke.run.processes import alone, environment, pss_bytes, sweep
from rocdoctor.train.smoke.worker import segments


def test_memory_counts_shared_pages_by_share() -> None:
    pss = pss_bytes(os.getpid())
    assert pss is not None
    assert 1 << 20 < pss <= psutil.Process().memory_info().rss


def test_a_process_that_has_ended_has_no_memory() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(60)
    assert pss_bytes(child.pid) is None


@pytest.mark.parametrize(
    ("stats", "added"),
    [
        ({"lo": SimpleNamespace(isup=True)}, {"GLOO_SOCKET_IFNAME": "lo"}),
        ({"lo": SimpleNamespace(isup=False)}, {}),
        ({"eth0": SimpleNamespace(isup=True)}, {}),
    ],
)
def test_gloo_stays_on_loopback_where_that_is_up(
    monkeypatch: pytest.MonkeyPatch, stats: dict[str, SimpleNamespace], added: dict[str, str]
) -> None:
    monkeypatch.setattr(psutil, "net_if_stats", lambda: stats)
    assert alone({"A": "1"}) == {"A": "1", **added}
    assert alone({"GLOO_SOCKET_IFNAME": "eth0"}) == {"GLOO_SOCKET_IFNAME": "eth0"}


def test_an_error_of_the_kernel_leaves_the_choice_to_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise OSError("netlink")

    monkeypatch.setattr(psutil, "net_if_stats", fails)
    assert alone({}) == {}


@pytest.mark.parametrize(("length", "ours"), [(75, True), (76, False)])
def test_temporary_files_of_ranks_lie_in_our_folder_unless_names_of_sockets_were_too_long(
    length: int, ours: bool
) -> None:
    folder = Path("/" + "f" * (length - 1))
    found = environment({"TMPDIR": "/home/me/tmp"}, "mark", folder)
    assert found["TMPDIR"] == (str(folder) if ours else "/home/me/tmp")
    assert environment({"TMPDIR": "/home/me/tmp"}, "mark")["TMPDIR"] == "/home/me/tmp"
    assert len(f"{'f' * 75}/pymp-xxxxxxxx/listener-xxxxxxxx") == 107


def test_segments_of_processes_that_are_ended_are_removed_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch_12_345_0", "torch_12_345_1", "torch_123_4_0", "torch_1_2_0", "sem.mp-12", "torch_12"):
        (tmp_path / name).touch()
    monkeypatch.setattr(segments, "_SHARED", str(tmp_path))
    looks = iter([[12, 77, 1], [77, 1], [1]])
    monkeypatch.setattr(processes, "marked", lambda mark: next(looks))
    ended: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: ended.append((pid, number)))
    sweep("mark", keep=1)
    assert {pid for pid, _ in ended} == {12, 77}
    assert {one.name for one in tmp_path.iterdir()} == {"torch_123_4_0", "torch_1_2_0", "sem.mp-12", "torch_12"}
    segments.remove([])
    monkeypatch.setattr(segments, "_SHARED", str(tmp_path / "none"))
    segments.remove([1])
    assert len(list(tmp_path.iterdir())) == 4


def test_a_log_that_is_too_long_is_shortened_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MOST_LOG_BYTES", 1 << 20)
    flood, quiet, other = (tmp_path / name for name in ("rank0.log", "rank1.log", "plan.json"))
    quiet.write_text("well")
    other.write_bytes(b"x" * (2 << 20))
    (tmp_path / "link.log").symlink_to(other)
    with flood.open("ab", buffering=0) as log:  # as ranks and launchers write
        log.write(b"first\n" + b"x" * (2 << 20) + b"\nlast\n")
        processes.keep_short(tmp_path)
        log.write(b"later\n")
    assert flood.stat().st_size < (1 << 20)
    assert flood.read_bytes().endswith(b"\nlast\nlater\n")
    assert (quiet.read_text(), other.stat().st_size) == ("well", 2 << 20)
