"""A running job: the process that was named, its threads, its family and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rocdoctor.model.evidence import NOT_ASKED, Fact
from rocdoctor.model.facts.software import Environment


@dataclass(frozen=True, slots=True)
class JobThread:
    """A thread. ``stuck``: it waited uninterruptibly (state D) in two looks a second apart and never ran in between."""

    tid: int
    name: str
    state: str
    wchan: str | None
    stuck: bool
    line: int


@dataclass(frozen=True, slots=True)
class JobProcess:
    """A process of the job's family; ``relation`` is self, descendant or sibling (and what siblings started).

    ``variables`` are those of launchers, None where this user may not see them.
    """

    pid: int
    parent_pid: int
    name: str
    state: str
    relation: str
    line: int
    age_s: float | None = None
    exit_signal: int | None = None
    exit_status: int | None = None
    variables: Mapping[str, str] | None = None
    gpu_devices: Fact[tuple[str, ...]] = NOT_ASKED
    lasting: bool = False  # it was in the same state at a second look, a second later


@dataclass(frozen=True, slots=True)
class Job:
    """The process that is judged; environment, limits and devices of the machine's facts are then this one's."""

    pid: Fact[int]
    name: Fact[str] = NOT_ASKED
    state: Fact[str] = NOT_ASKED
    command: Fact[str] = NOT_ASKED  # the name of its program file
    started_s_ago: Fact[float] = NOT_ASKED
    threads: Fact[tuple[JobThread, ...]] = NOT_ASKED
    processes: Fact[tuple[JobProcess, ...]] = NOT_ASKED
    gpu_devices: Fact[tuple[str, ...]] = NOT_ASKED
    libraries: Fact[frozenset[str]] = NOT_ASKED  # names of the mapped shared objects, without folders
    ranks: Mapping[str, str] = field(default_factory=dict)  # RANK, LOCAL_RANK ... of the job itself
    shell: Environment = field(default_factory=Environment)  # of the shell that asked
