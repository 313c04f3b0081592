"""A job on this machine: real child processes that the tests start and end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.collect import collect
from rocdoctor.host.base import Answer, Host
from rocdoctor.host.evidence.capture import CaptureHost, parse, write
from rocdoctor.host.live import live_host as live
from rocdoctor.host.live import processes, running_job
from rocdoctor.host.live.running_job import JobError, as_command, as_lines, find_job
from rocdoctor.host.recorder import Recorder
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine
from rocdoctor.report.diagnosis.text import render
from rocdoctor.service.errors import InputError
from rocdoctor.service.live_machine import open_live
from tests.waiting import until

pytestmark = pytest.mark.live

_SLEEP = "import sys, time; print('up', flush=True); time.sleep(120)"
_RANKS = """
import os, subprocess, sys, time
kids = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"],
                         env={**os.environ, "LOCAL_RANK": str(number), "RANK": str(number)}) for number in range(3)]
kids[2].kill()
print("up", kids[0].pid, flush=True)
time.sleep(120)
"""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python with a program that prints a line once it runs; all are ended afterwards."""
    begun: list[subprocess.Popen[str]] = []

    def one(program: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", program, *arguments]
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}, start_new_session=True
        )
        begun.append(child)
        return child

    yield one
    for child in begun:
        os.killpg(child.pid, 9)
        child.communicate()


def _line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def _value(fact: object) -> object:
    assert isinstance(fact, Known), fact
    return fact.value


def _replayed(host: Host) -> Machine:
    assert isinstance(host, Recorder)
    text = write(host.answers.values(), {"origin": "recorded"})
    return collect(CaptureHost(parse(text.encode()), "test"))


def test_environment_limits_and_state_are_those_of_the_job(start: Start) -> None:
    child = start(_SLEEP, "--api-key", "sk-abcdef0123456789", LOCAL_RANK="0", HSA_XNACK="1", HF_TOKEN="hf_abcdefghij")
    assert _line(child) == "up"
    assert until(lambda: Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S")
    host = open_live(5.0, None, pid=child.pid)
    machine = collect(host)
    job = machine.job
    assert job is not None
    assert _value(job.pid) == child.pid
    assert _value(job.state) == "S"
    assert str(_value(job.command)).startswith("python")
    assert _value(job.gpu_devices) == ()
    assert machine.environment.variables["HSA_XNACK"].value == "1"
    assert machine.environment.variables["HSA_XNACK"].source == "read /proc/job/environ"
    assert machine.environment.complete is False, "what it set after its start does not show"
    assert job.ranks == {"LOCAL_RANK": "0"}
    assert machine.user.nofile.source is not None
    assert machine.user.nofile.source.question == "read /proc/job/limits"
    assert "hf_abcdefghij" not in repr(machine) + repr(host.ask("read /proc/job/environ"))
    assert "sk-abcdef" not in host.ask("read /proc/job/cmdline").text
    again = _replayed(host)
    for name in ("job", "environment", "user", "container", "cpus", "memory", "nodes", "torch"):
        assert getattr(again, name) == getattr(machine, name), name


def test_limits_that_the_job_set_itself_count(start: Start) -> None:
    lower = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (77, resource.getrlimit(7)[1]))\n"
    child = start(lower + _SLEEP)
    assert _line(child) == "up"
    machine = collect(open_live(5.0, None, pid=child.pid))
    assert _value(machine.user.nofile) == 77


def test_identity_is_shown_when_asked_for(start: Start) -> None:
    child = start(_SLEEP, "--name", "two words", UNLISTED="plain\ntext")
    assert _line(child) == "up"
    host = open_live(5.0, None, include_identity=True, pid=child.pid)
    assert "UNLISTED=plain\\ntext" in host.ask("read /proc/job/environ").lines()
    assert host.ask("read /proc/job/cmdline").text.endswith("--name 'two words'")


def test_the_interpreter_is_the_one_that_was_called(start: Start, tmp_path: Path) -> None:
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    child = subprocess.Popen([link, "-c", _SLEEP], stdout=subprocess.PIPE, text=True)
    try:
        assert _line(child) == "up"
        assert find_job(child.pid).python == str(link)
        relative = subprocess.Popen(["./python", "-c", _SLEEP], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        assert _line(relative) == "up"
        assert os.path.normpath(str(find_job(relative.pid).python)) == str(link)
        relative.kill()
        relative.communicate()
    finally:
        child.kill()
        child.communicate()


def test_a_missing_rank_is_found_from_its_sister_and_from_the_launcher(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = start(_RANKS, LOCAL_WORLD_SIZE="3", TORCHELASTIC_RUN_ID="test", MASTER_PORT="29555")
    rank = int(_line(agent).split()[1])
    for pid in (agent.pid, rank):
        code = run(["check", "job-rank-missing", "--pid", str(pid), "--no-color"])
        shown = capsys.readouterr().out
        assert code == 1, shown
        assert "Local rank 2 is gone" in shown
        assert "ended by signal 9" in shown


def test_a_zombie_is_seen_with_its_signal(start: Start) -> None:
    child = start(_RANKS)
    _line(child)
    job = collect(open_live(5.0, None, pid=child.pid)).job
    assert job is not None
    assert isinstance(job.processes, Known)
    dead = [one for one in job.processes.value if one.state == "Z"]
    assert [(one.relation, one.exit_signal, one.lasting) for one in dead] == [("descendant", 9, True)]


def test_report_and_replay_are_equal(start: Start) -> None:
    from rocdoctor.judging.diagnose import diagnose
    from tests.text_kit import all_checks

    child = start(_RANKS, LOCAL_WORLD_SIZE="3", TORCHELASTIC_RUN_ID="test", MASTER_PORT="29556")
    _line(child)
    host = open_live(5.0, None, pid=child.pid)
    checks = all_checks()
    live = render(diagnose(collect(host), checks, []))
    assert "job" in live
    assert render(diagnose(_replayed(host), checks, [])) == live


def test_what_cannot_be_judged_is_named_in_one_line(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with pytest.raises(InputError, match=f"no process {gone.pid} here"):
        open_live(5.0, None, pid=gone.pid)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    assert until(lambda: Path(f"/proc/{dead.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    with pytest.raises(JobError, match="has ended"):
        find_job(dead.pid)
    dead.wait()
    assert run(["check", "--pid", str(gone.pid)]) == 2
    assert run(["check", "--pid", "0"]) == 2
    assert run(["check", "--pid", "1", "--from", "x"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3, lines


def test_a_thread_of_the_kernel_is_no_job() -> None:
    try:
        status = Path("/proc/2/status").read_text()
    except OSError:
        pytest.skip("no kernel threads in this PID name space")
    if "kthreadd" not in status:
        pytest.skip("no kernel threads in this PID name space")
    with pytest.raises(JobError, match="thread of the kernel"):
        find_job(2)


def test_from_inside_a_rank_the_family_is_that_of_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = {50: 1, 90: 50, 91: 50, 100: 90, 200: 90, 110: 100, 111: 110, 210: 200}
    every = {number: (parent, "") for number, parent in parents.items()}
    monkeypatch.setattr(processes, "_is_rank", lambda pid: pid in (100, 110, 111, 200, 210))
    ranks = {100, 110, 111, 200, 210}
    assert set(processes.family(111, every)) == set(processes.family(100, every)) == ranks
    assert set(processes.family(90, every)) == ranks | {90, 91}
    assert processes.family(50, every)[0] == 50, "what the service manager started is no family"
    assert set(processes.family(50, {**every, 60: (1, "")})) == {*parents}


def test_root_starts_nothing_with_variables_of_another_user(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    child = start(_SLEEP, LD_PRELOAD="", MARK="1")
    assert _line(child) == "up"
    seen: list[object] = []
    monkeypatch.setattr(live.LiveHost, "__init__", lambda self, *given, **more: seen.append(given[2]))
    open_live(5.0, sys.executable, include_identity=True, pid=child.pid)
    monkeypatch.setattr(os, "geteuid", lambda: 0 if os.getuid() else 4242)
    open_live(5.0, sys.executable, include_identity=True, pid=child.pid)
    assert isinstance(seen[0], dict) and seen[0]["MARK"] == "1"
    assert seen[1] is None


def test_nul_separated_texts_become_lines() -> None:
    assert as_lines(b"A=1\0B=x\ny\\z\0junk\0") == b"A=1\nB=x\\ny\\\\z"
    assert as_lines(b"") == b""
    assert as_command(b"python\0-c\0a\nb\0") == b"python -c 'a b'"


# The map of its memory that prctl(2) takes (PR_SET_MM_MAP): no right is needed to say that the environment lies in half
# a gigabyte of zeros, and the command too.
_HUGE = """
import ctypes, mmap, sys, time
size = 512 << 20
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
stat = open("/proc/self/stat").read().rpartition(")")[2].split()
field = lambda number: int(stat[number - 3])
class Map(ctypes.Structure):
    _fields_ = [("places", ctypes.c_uint64 * 11), ("auxv", ctypes.c_uint64), ("rest", ctypes.c_uint32 * 2)]
libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = ctypes.c_void_p
places = [field(26), field(27), field(45), field(46), field(47), libc.sbrk(0), field(28), at, at + size, at, at + size]
told = Map((ctypes.c_uint64 * 11)(*places), 0, (ctypes.c_uint32 * 2)(0, 0xFFFFFFFF))
done = libc.prctl(35, ctypes.c_ulong(14), ctypes.byref(told), ctypes.c_ulong(ctypes.sizeof(told)), ctypes.c_ulong(0))
print("up" if done == 0 else "refused", flush=True)
time.sleep(120)
"""


def test_a_job_that_has_more_variables_than_memory_is_read_to_a_bound(start: Start) -> None:
    child = start(_HUGE)
    if _line(child) != "up":
        pytest.skip("this kernel lets no process say where its environment lies")
    tracemalloc.start()
    job = find_job(child.pid)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert job.hangs is False
    assert job.environment == {}
    assert peak < 64 << 20
    assert len(as_lines(b"A=1\0" * 5_000_000).splitlines()) == 65_536


def test_the_open_files_of_all_processes_of_a_job_take_the_time_of_a_few(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process may have hundreds of thousands, and a job hundreds of processes."""
    child = start(_RANKS, RANK="0")
    assert _line(child).startswith("up")
    clock = [0.0]

    def ask(host: live.LiveHost, question: str) -> Answer:
        clock[0] += 1.0
        return Answer(question, "ok")

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(live.LiveHost, "ask", ask)
    host = running_job.JobHost(live.LiveHost(5.0), find_job(child.pid))
    assert host.ask("held /proc/job").status == "ok"
    said = [host.ask(f"held /proc/{number}").status for number in range(1, 60)]
    assert said == ["ok"] * 4 + ["timeout"] * 55
    assert host.ask("held /proc/job").status == "ok"


def test_a_process_that_ends_while_it_is_looked_at_is_no_error(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a look at the link to its program and the reading of it."""
    child = start(_SLEEP)
    assert _line(child) == "up"

    def gone(path: str, **_: object) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(os.path, "realpath", gone)
    assert find_job(child.pid).python is None
