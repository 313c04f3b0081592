"""Running jobs made by hand, for tests of checks."""

from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Job, JobProcess, JobThread
from tests.kit import k


def thread(tid: int, state: str = "S", wchan: str | None = None, stuck: bool = False) -> JobThread:
    """A thread of the job."""
    return JobThread(tid, "python3", state, wchan, stuck, 1)


def process(pid: int, relation: str = "descendant", parent: int = 100, **changes: Any) -> JobProcess:
    """A living Python process of the job's family, started ten minutes ago; ``changes`` are fields."""
    facts: dict[str, Any] = {
        "name": "python3",
        "state": "S",
        "line": 1,
        "age_s": 600.0,
        "variables": {},
        "gpu_devices": k(()),
        **changes,
    }
    return JobProcess(pid, parent, relation=relation, **facts)


def rank(number: int, size: int, pid: int, relation: str = "sibling", **changes: Any) -> JobProcess:
    """A rank that torchrun (process 90) started."""
    told = {
        "LOCAL_RANK": str(number),
        "LOCAL_WORLD_SIZE": str(size),
        "TORCHELASTIC_RUN_ID": "a",
        "MASTER_PORT": "29500",
    }
    return process(pid, relation, 90, variables=told, **changes)


def job(*family: JobProcess, **changes: Any) -> Job:
    """A job with the number 100 that has slept for ten minutes; ``changes`` are plain values or facts."""
    own = next((one for one in family if one.relation == "self"), None)
    every = family if own is not None else (process(100, "self", 90), *family)
    facts: dict[str, Any] = {
        "pid": 100,
        "name": "python3",
        "state": "S",
        "command": "python3.12",
        "started_s_ago": 600.0,
        "threads": (thread(100),),
        "processes": tuple(every),
        "gpu_devices": ("/dev/kfd", "/dev/dri/renderD128"),
        "libraries": frozenset({"libtorch_cpu.so", "libamdhip64.so.7"}),
        **changes,
    }
    plain = {"ranks": facts.pop("ranks", (own.variables or {}) if own else {})}
    if "shell" in facts:
        plain["shell"] = facts.pop("shell")
    known: dict[str, Any] = {name: value if hasattr(value, "source") else k(value) for name, value in facts.items()}
    return Job(**known, **plain)
