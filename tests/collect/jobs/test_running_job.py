"""A running job in evidence: a rank that hangs in a GPU driver; the answers are constructed in the form of /proc."""

from __future__ import annotations

from rocdoctor.collect import collect
from rocdoctor.collect.jobs.running_job import collect_job, view
from rocdoctor.model.evidence import NOT_ASKED, Known, Unknown
from rocdoctor.model.facts import Job
from rocdoctor.model.finding import Verdict
from tests.collect.hosts import excerpt, whole
from tests.kit import judge, k, severities, states

_TAIL = "100 100 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 3 0 {start} 1000 50 " + "0 " * 27 + "{code}"


def _stat(pid: int, name: str, state: str, parent: int, start: int = 10_000, code: int = 0) -> str:
    return f"{pid} ({name}) {state} {parent} {_TAIL.format(start=start, code=code)}"


_THREADS = (
    "100 D 5000 amdgpu_fence_wait_any python3\n101 S 40 futex_wait_queue python3\n102 D 9 folio_wait_bit_common io"
)
_AGAIN = (
    "100 D 5000 amdgpu_fence_wait_any python3\n101 S 41 futex_wait_queue python3\n102 D 12 folio_wait_bit_common io"
)
_FAMILY = "\n".join(
    (_stat(100, "python3", "D", 90), _stat(200, "python3", "D", 90), _stat(110, "pt_data_worker", "S", 100))
)
_JOB = {
    "read /proc/job/status": "Name:\tpython3\nState:\tD (disk sleep)\nPid:\t100\nUid:\t1000\t1000\t1000\t1000\n"
    "Gid:\t1000\t1000\t1000\t1000\nGroups:\t109\nVmRSS:\t  2048 kB\nThreads:\t3\nCpus_allowed_list:\t0-3\n",
    "read /proc/job/limits": "Max open files            512                  4096                 files     \n",
    "read /proc/job/environ": "LOCAL_RANK=0\nHSA_XNACK=1",
    "read /proc/job/wchan": "amdgpu_fence_wait_any",
    "read /proc/job/cgroup": "0::/job\n",
    "read /proc/uptime": "700.00 1000.00",
    "read /sys/fs/cgroup/job/memory.max": "1048576\n",
    "link /proc/job/exe": "/usr/bin/python3.12",
    "held /proc/job": "/dev/dri/renderD128\n/dev/infiniband/uverbs0\n/dev/kfd",
    "held /proc/110": "",
    "libraries /proc/job": "/venv/lib/libtorch_cpu.so\n/usr/lib/libc.so.6",
    "threads /proc/job": _THREADS,
    "threads /proc/job again": _AGAIN,
    "processes /proc/job": _FAMILY,
    "processes /proc/job again": _FAMILY,
    "ranks /proc/job": "100 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2\n200 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2\n110 denied",
    "env": "HSA_XNACK=0",
    "read /proc/self/limits": "Max open files            1048576              1048576              files     \n",
}


def _job(changes: dict[str, str] | None = None) -> Job:
    found = collect_job(whole({**_JOB, **(changes or {})}), k(700.0))
    assert found is not None
    return found


def _judged(name: str, changes: dict[str, str] | None = None) -> list[Verdict]:
    return judge(name, collect(whole({**_JOB, **(changes or {})})))


def test_without_a_job_nothing_is_asked() -> None:
    host = excerpt({"env": "A=1"})
    assert collect_job(host, NOT_ASKED) is None
    assert view(host) is host


def test_facts_of_the_process() -> None:
    job = _job()
    assert isinstance(job.pid, Known) and job.pid.value == 100
    assert isinstance(job.started_s_ago, Known) and job.started_s_ago.value == 600.0
    assert isinstance(job.gpu_devices, Known) and job.gpu_devices.value == ("/dev/dri/renderD128", "/dev/kfd")
    assert isinstance(job.libraries, Known) and "libtorch_cpu.so" in job.libraries.value
    assert job.ranks == {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    assert job.shell.variables["HSA_XNACK"].value == "0"


def test_a_thread_is_stuck_when_it_never_ran_between_two_looks() -> None:
    threads = _job().threads
    assert isinstance(threads, Known)
    assert [(one.tid, one.stuck) for one in threads.value] == [(100, True), (101, False), (102, False)]
    threads = _job({"threads /proc/job again": "100 D 5000 amdgpu_bo_move python3"}).threads
    assert isinstance(threads, Known)
    assert not any(one.stuck for one in threads.value)


def test_relations_of_the_family() -> None:
    processes = _job().processes
    assert isinstance(processes, Known)
    found = {one.pid: (one.relation, one.lasting, one.variables is None) for one in processes.value}
    assert found == {100: ("self", True, False), 200: ("sibling", True, False), 110: ("descendant", True, True)}


def test_a_number_that_was_used_again_is_another_process() -> None:
    later = _FAMILY.replace(_stat(200, "python3", "D", 90), _stat(200, "python3", "D", 90, start=20_000))
    processes = _job({"processes /proc/job again": later}).processes
    assert isinstance(processes, Known)
    assert [one.lasting for one in processes.value] == [True, False, True]


def test_denied_answers_are_unknown_facts() -> None:
    host = whole({"read /proc/job/status": _JOB["read /proc/job/status"]}, {"held /proc/job": "denied"})
    job = collect_job(host, NOT_ASKED)
    assert job is not None
    assert isinstance(job.gpu_devices, Unknown) and job.gpu_devices.reason == "denied"
    assert isinstance(job.threads, Unknown) and isinstance(job.processes, Unknown)


def test_limits_groups_and_environment_of_the_machine_are_those_of_the_job() -> None:
    machine = collect(whole(_JOB))
    assert isinstance(machine.user.nofile, Known) and machine.user.nofile.value == 512
    assert isinstance(machine.memory.cgroup_limit_bytes, Known) and machine.memory.cgroup_limit_bytes.value == 1 << 20
    assert isinstance(machine.cpus.usable, Known) and machine.cpus.usable.value == 4
    assert machine.environment.variables["HSA_XNACK"].value == "1"
    assert not machine.environment.complete


def test_the_checks_see_it() -> None:
    (verdict,) = _judged("job-stuck-in-kernel")
    assert verdict.finding is not None
    assert verdict.subject.label == "process 100"
    assert verdict.finding.severity == "error"
    assert "All 2 ranks wait in the kernel inside amdgpu" in verdict.finding.message
    assert severities(_judged("job-environment-differs")) == ["info"]
    assert states(_judged("job-rank-missing")) == ["pass"]
    gone = {"processes /proc/job": _stat(100, "python3", "D", 90), "processes /proc/job again": ""}
    assert states(_judged("job-rank-missing", gone)) == ["unknown"]
