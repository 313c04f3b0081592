"""The running job that was asked about, and the view of a host in which "this process" is that job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from rocdoctor.collect.recorded_outputs import stated
from rocdoctor.collect.system.user import collect_environment
from rocdoctor.host.base import Answer, Host, Kind
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown
from rocdoctor.model.facts import Environment, Job, JobProcess, JobThread
from rocdoctor.parsers.system.process import ProcessStatus, parse_status
from rocdoctor.parsers.system.process_stat import ProcessStat, ThreadState, parse_ranks, parse_stats, parse_threads

_JOB = "/proc/job"
_STATUS = f"read {_JOB}/status"
_OWN = ("status", "limits", "cgroup", "mountinfo", "uid_map")
_AS_JOB = {f"read /proc/self/{name}": f"read {_JOB}/{name}" for name in _OWN}
_AS_JOB |= {"env": f"read {_JOB}/environ", "read /proc/1/cgroup": f"read {_JOB}/cgroup"}
# Of so many processes it is asked which devices they hold.
_MAX_HOLDERS = 64
_MAX_DEPTH = 32
_FAMILY = f"processes {_JOB}"
_GPU_NODES = ("/dev/dri/renderD", "/dev/nvidia", "/dev/dxg", "/dev/accel/")


class _View:
    """A host whose questions about "this process" go to the job, as the answers then say."""

    def __init__(self, inner: Host) -> None:
        self.inner = inner
        self.kind: Kind = inner.kind
        self.origin = inner.origin

    def ask(self, question: str) -> Answer:
        return self.inner.ask(_AS_JOB.get(question, question))

    def prefetch(self, questions: Iterable[str]) -> None:
        self.inner.prefetch(_AS_JOB.get(question, question) for question in questions)

    def available(self) -> tuple[str, ...]:
        return self.inner.available()


def view(host: Host) -> Host:
    """The host as the job sees it, or the host itself where no job was named."""
    return _View(host) if _STATUS in host.available() else host


def at_start(host: Host, environment: Environment) -> Environment:
    """The environment as the job was started with, which is known as a whole; later changes do not matter here."""
    answer = host.ask("env")
    if answer.question == "env" or not answer.ok or not environment.variables:
        return environment
    return replace(environment, complete=answer.complete and not answer.truncated)


def collect_job(host: Host, uptime_s: Fact[float]) -> Job | None:
    """The job, where one was named. Its threads are looked at twice only where some seem to hang."""
    if _STATUS not in host.available():
        return None
    answer = host.ask(_STATUS)
    if not answer.ok:
        gap = answer.unknown()
        return Job(gap, gap, gap)
    status = parse_status(answer.text)
    processes = _processes(host, status, uptime_s)
    family = processes.value if isinstance(processes, Known) else ()
    own = next((one for one in family if one.relation == "self"), None)
    age: Fact[float] = Unknown("when it was started is not known")
    if own is not None and own.age_s is not None:
        age = Known(own.age_s, Source(_FAMILY, own.line))
    return Job(
        pid=stated(status.pid, answer, status.lines.get("pid")),
        name=stated(status.name, answer, status.lines.get("name")),
        state=stated(status.state, answer, status.lines.get("state")),
        command=_command(host),
        started_s_ago=age,
        threads=_threads(host),
        processes=processes,
        gpu_devices=_held(host, _JOB),
        libraries=_libraries(host),
        ranks=(own.variables or {}) if own is not None else {},
        shell=collect_environment(host),
    )


def _command(host: Host) -> Fact[str]:
    answer = host.ask(f"link {_JOB}/exe")
    return stated(answer.text.strip().rsplit("/", 1)[-1] or None, answer, 1) if answer.ok else answer.unknown()


def _held(host: Host, folder: str) -> Fact[tuple[str, ...]]:
    """The GPU device nodes that a process holds open."""
    answer = host.ask(f"held {folder}")
    if not answer.ok:
        return answer.unknown()
    paths = answer.text.splitlines()
    return Known(tuple(path for path in paths if path == "/dev/kfd" or path.startswith(_GPU_NODES)), answer.source())


def _libraries(host: Host) -> Fact[frozenset[str]]:
    answer = host.ask(f"libraries {_JOB}")
    if not answer.ok:
        return answer.unknown()
    return Known(frozenset(line.rsplit("/", 1)[-1] for line in answer.text.splitlines()), answer.source())


def _threads(host: Host) -> Fact[tuple[JobThread, ...]]:
    """All threads; those in state D are looked at again a second later."""
    answer = host.ask(f"threads {_JOB}")
    if not answer.ok:
        return answer.unknown()
    first = parse_threads(answer.text)
    later: dict[int, ThreadState] = {}
    if any(one.state == "D" for one in first):
        again = host.ask(f"threads {_JOB} again")
        later = {one.tid: one for one in parse_threads(again.text)} if again.ok else {}
    found: list[JobThread] = []
    for one in first:
        other = later.get(one.tid)
        same = other is not None and (other.state, other.switches, other.wchan) == ("D", one.switches, one.wchan)
        found.append(JobThread(one.tid, one.name, one.state, one.wchan, one.state == "D" and same, one.line))
    return Known(tuple(found), answer.source()) if found else answer.unknown()


def _processes(host: Host, status: ProcessStatus, uptime_s: Fact[float]) -> Fact[tuple[JobProcess, ...]]:
    """The job, its descendants, and the other children of its parent with theirs."""
    answer = host.ask(_FAMILY)
    stats = parse_stats(answer.text) if answer.ok else ()
    if not stats or status.pid is None:
        return answer.unknown()
    later: dict[int, ProcessStat] = {}
    if any(one.state in "DZ" for one in stats):
        again = host.ask(f"{_FAMILY} again")
        later = {one.pid: one for one in parse_stats(again.text)} if again.ok else {}
    told = host.ask(f"ranks {_JOB}")
    ranks = {one.pid: one for one in parse_ranks(told.text)} if told.ok else {}
    parents = {one.pid: one.parent_pid for one in stats}
    found: list[JobProcess] = []
    for one in stats:
        relation = _relation(one.pid, status.pid, parents)
        rank, other = ranks.get(one.pid), later.get(one.pid)
        uptime = uptime_s.value if isinstance(uptime_s, Known) else None
        holds = relation == "descendant" and one.state not in "ZX" and len(found) < _MAX_HOLDERS
        found.append(
            JobProcess(
                one.pid,
                one.parent_pid,
                one.name,
                one.state,
                relation,
                one.line,
                age_s=max(0.0, uptime - one.started_s) if uptime is not None and one.started_s is not None else None,
                exit_signal=one.exit_signal,
                exit_status=one.exit_status,
                variables=None if rank is None or rank.denied else rank.values,
                gpu_devices=_held(host, f"/proc/{one.pid}") if holds else NOT_ASKED,
                lasting=other is not None and other.state == one.state and other.started_s == one.started_s,
            )
        )
    return Known(tuple(found), answer.source())


def _relation(pid: int, job: int, parents: Mapping[int, int]) -> str:
    """self, descendant, or sibling."""
    if pid == job:
        return "self"
    for _ in range(_MAX_DEPTH):
        pid = parents.get(pid, 0)
        if pid == job:
            return "descendant"
    return "sibling"
