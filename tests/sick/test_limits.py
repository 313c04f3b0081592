"""Too little of everything: memory, files, processes, rights, disks, homes, streams."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sick.kit import UNSET, Place, gpus_of, nothing_new, place, usual

pytestmark = pytest.mark.live

MIB = 1 << 20
# Sandboxes of several years refuse these with EPERM, which the C library takes for a fault of the call itself.
_REFUSED = {
    "threads": "clone3:1",
    "unknown calls": "clone3,close_range,openat2,faccessat2,statx,pidfd_open,rseq:38",
    "almost everything": "clone3,close_range,statx,faccessat2,openat2,prctl,socket,pidfd_open,sched_setaffinity,"
    "sched_getaffinity,rseq,membarrier,statfs,mlock,rt_sigtimedwait,getrandom:1",
}


@pytest.fixture
def radeons(tmp_path: Path) -> Place:
    return place(tmp_path, "rx7900xtx-2gpu")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([f"limit=STACK:{MIB}"], marks=pytest.mark.heavy),
        pytest.param(["limit=NOFILE:64"], marks=pytest.mark.heavy),
        ["limit=NOFILE:20"],
        ["limit=NPROC:1"],
        # From about 100 on, a thread's allocator takes 64 MiB of addresses for itself.
        pytest.param([f"limit=AS:{84 * MIB}"], marks=pytest.mark.heavy),
        [f"limit=AS:{84 * MIB}", f"limit=STACK:{MIB}", "limit=NOFILE:64"],
        ["small=/proc:4096"],
        pytest.param([f"refuse={_REFUSED['threads']}"], marks=pytest.mark.heavy),
        *([f"refuse={calls}"] for name, calls in _REFUSED.items() if name != "threads"),
    ],
    ids=["stack", "files", "few files", "processes", "memory", "all", "no proc", *_REFUSED],
)
def test_the_report_comes_with_its_gpus(radeons: Place, words: list[str]) -> None:
    result = radeons.run("check", words=words)
    assert result.out, f"it ended with {result.code} and said: {result.err}"
    assert gpus_of(result.out) == 2, result.out + result.err
    assert result.code in (0, 1), result.err
    assert (result.err, result.left) == ("", ())
    assert "MemoryError" not in result.out


@pytest.mark.heavy
@pytest.mark.parametrize("mib", range(20, 81, 2))
def test_no_amount_of_memory_takes_the_gpus_from_a_report(radeons: Place, mib: int) -> None:
    result = radeons.run("check", words=[f"limit=AS:{mib * MIB}"])
    assert result.left == ()
    if result.out:
        assert gpus_of(result.out) == 2, result.out
        assert "no-gpu-for-training" not in result.out
    else:  # too little for Python itself, or for us
        assert result.code not in (0, 1) or not result.out
        assert result.err


@pytest.mark.parametrize("home", usual([UNSET, "/dev/null", "/nonexistent/home", ""], UNSET, "/dev/null"))
def test_a_home_is_not_needed(tmp_path: Path, home: str) -> None:
    made = place(tmp_path)
    result = made.run("check", "--fail-on", "never", env={"HOME": home})
    assert (result.code, result.err) == (0, "")
    assert gpus_of(result.out) == 0


def test_a_home_that_cannot_be_written_is_enough(tmp_path: Path) -> None:
    made = place(tmp_path)
    result = made.run("check", "--fail-on", "never", words=[f"fixed={tmp_path / 'home'}"])
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("words", [["limit=FSIZE:3000"], ["full={}"], ["fixed={}"]], ids=["size", "full", "read only"])
def test_a_bundle_that_does_not_fit_leaves_no_half_file(tmp_path: Path, words: list[str]) -> None:
    made = place(tmp_path)
    target = tmp_path / "target"
    target.mkdir()
    with nothing_new(target), nothing_new(made.work):
        result = made.run("bundle", "-o", f"{target}/one.txt", words=[word.format(target) for word in words])
    assert (result.code, result.out, result.left) == (2, "", ())
    assert re.fullmatch(r"rocdoctor: .*one\.txt: [A-Z][a-z -]+\n", result.err), result.err


@pytest.mark.parametrize("closed", usual(["0", "1", "2", "0,1,2"], "1", "0,1,2"))
def test_closed_streams_break_nothing_on_this_machine(tmp_path: Path, closed: str) -> None:
    made = place(tmp_path)
    result = made.run("check", "--fail-on", "never", words=[f"close={closed}"])
    assert (result.code, result.err, result.left) == (0, "", ())
    assert ("GPU " in result.out) == ("1" not in closed)
    result = made.run("bundle", "-o", "one.txt", words=[f"close={closed}"])
    assert (result.code, result.left) == (0, ())
    assert (made.work / "one.txt").read_text().startswith("rocdoctor capture 1\n")


def test_closed_streams_and_a_sick_driver_at_once(radeons: Place) -> None:
    link = "/sys/bus/pci/devices/0000:03:00.0/current_link_speed"
    with radeons.start("bundle", "--timeout", "1", "-o", "x.txt", words=(f"fuse={link}:stuck", "close=0,1,2")) as run:
        assert run.result(wait_for_left_s=0).code == 0
    assert f"read {link} -- timeout" in (radeons.work / "x.txt").read_text()
