"""A machine: all its facts together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rocdoctor.model.evidence import NOT_ASKED, Fact, Unknown
from rocdoctor.model.facts.commands import CommandLine
from rocdoctor.model.facts.expected import Expected
from rocdoctor.model.facts.gpu import Display, Gpu, GpuHolders, GpuLink
from rocdoctor.model.facts.job import Job
from rocdoctor.model.facts.run import JobRun
from rocdoctor.model.facts.slurm import SlurmNode
from rocdoctor.model.facts.smoke import SmokeRun
from rocdoctor.model.facts.software import (
    CudaToolkit,
    Disagreement,
    Environment,
    Message,
    PackageSource,
    Passage,
    RocmInstall,
    Told,
    ToolFailure,
    TorchBuild,
    Unanswered,
)
from rocdoctor.model.facts.system import (
    Container,
    Cpus,
    DeviceNode,
    Kernel,
    Later,
    Memory,
    Nic,
    NumaNode,
    OperatingSystem,
    User,
)


@dataclass(frozen=True, slots=True)
class Machine:
    """Everything known about a machine."""

    gpus: tuple[Gpu, ...] = ()
    gpus_complete: bool = False  # the list shows every GPU on the bus
    gpus_gap: Unknown | None = None  # why no GPU of AMD or NVIDIA is known, where the bus gave no answer
    displays: tuple[Display, ...] = ()
    links: tuple[GpuLink, ...] = ()
    links_complete: bool = False
    kfd_present: Fact[bool] = NOT_ASKED
    kfd_gpu_nodes: Fact[int] = NOT_ASKED
    numa_nodes: tuple[NumaNode, ...] = ()
    cpus: Cpus = field(default_factory=Cpus)
    memory: Memory = field(default_factory=Memory)
    drivers: Mapping[str, Mapping[str, Fact[str]]] = field(default_factory=dict)  # amdgpu -> version -> fact
    kernel: Kernel = field(default_factory=Kernel)
    os: OperatingSystem = field(default_factory=OperatingSystem)
    rocm: tuple[RocmInstall, ...] = ()
    rocm_complete: bool = False
    rocm_packages: Fact[Mapping[str, str]] = NOT_ASKED
    package_sources: tuple[PackageSource, ...] = ()
    cuda_toolkits: tuple[CudaToolkit, ...] = ()
    torch: TorchBuild = field(default_factory=TorchBuild)
    nodes: tuple[DeviceNode, ...] = ()
    user: User = field(default_factory=User)
    container: Container = field(default_factory=Container)
    environment: Environment = field(default_factory=Environment)
    network: tuple[Nic, ...] = ()
    laptop: Fact[bool] = NOT_ASKED
    nvidia_failure: Fact[ToolFailure | None] = NOT_ASKED
    failures: tuple[ToolFailure, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()  # what was asked and has an answer, but gave none
    disagreements: tuple[Disagreement, ...] = ()
    kfd_complete: bool = False  # the listing of KFD nodes shows them all
    kfd_nodes_hidden: Fact[int] = NOT_ASKED  # KFD nodes whose properties this process may not read (its cgroup)
    nvidia_attached: Fact[int] = NOT_ASKED  # GPUs that nvidia-smi counts
    interfaces: Fact[Mapping[str, str]] = NOT_ASKED  # every network interface -> operstate (up, down, unknown ...)
    network_complete: bool = False  # the list shows every network card on the bus
    commands: tuple[CommandLine, ...] = ()  # what a pasted text shows to be started or installed, by line
    messages: tuple[Message, ...] = ()  # texts of programs in pasted text, by line
    told: Told = field(default_factory=Told)  # of pasted text: its words and sentences
    passages: tuple[Passage, ...] = ()  # of pasted text: what stands in somebody's words
    slurm_nodes: tuple[SlurmNode, ...] = ()  # what Slurm says of the nodes of a cluster
    job: Job | None = None  # the running job that was asked about
    smoke: tuple[SmokeRun, ...] = ()  # what smoke tests showed, where they were asked for
    smoke_question: str = ""
    run: JobRun = field(default_factory=JobRun)  # a job that logs and dumps tell of
    expected: Expected | None = None  # what a profile says that the machine was, where one was given
    holders: Fact[GpuHolders] = NOT_ASKED  # asked for where an idle GPU's memory is in use
    later: Later = field(default_factory=Later)
    programs: Mapping[str, Fact[str | None]] = field(default_factory=dict)  # name -> path; Known(None): not installed
