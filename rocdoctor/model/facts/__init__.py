"""What a machine is: typed facts, each with its source or the reason why it is unknown.

Everything here is frozen and plain. Units stand in the names; temperatures are in degrees Celsius, sizes in bytes,
link speeds in GT/s per lane. ``Fact[X | None]`` means that "there is none" is itself known (no driver is bound).
"""

from __future__ import annotations

from rocdoctor.model.facts.expected import Expected
from rocdoctor.model.facts.gpu import (
    ComputeNode,
    Display,
    Fan,
    Gpu,
    GpuLink,
    GpuProcess,
    LinkState,
    NvLink,
    Partition,
    Pcie,
    PcieHop,
    Power,
    RasBlock,
    Temperature,
)
from rocdoctor.model.facts.job import Job, JobProcess, JobThread
from rocdoctor.model.facts.machine import Machine
from rocdoctor.model.facts.run import FlightOp, FlightRecord, JobRun
from rocdoctor.model.facts.slurm import SlurmNode
from rocdoctor.model.facts.smoke import Layer, ModeResult, RankResult, SmokeRun, SmokeState
from rocdoctor.model.facts.software import (
    CudaToolkit,
    Disagreement,
    Environment,
    Message,
    NoAnswer,
    Passage,
    RocmInstall,
    ToolFailure,
    TorchBuild,
    TorchDevice,
    Unanswered,
    Variable,
)
from rocdoctor.model.facts.system import (
    Container,
    Cpus,
    DeviceNode,
    Kernel,
    KernelLog,
    Later,
    LogEvent,
    Memory,
    Nic,
    NumaNode,
    OperatingSystem,
    User,
)

__all__ = [
    "ComputeNode",
    "Container",
    "Cpus",
    "CudaToolkit",
    "DeviceNode",
    "Disagreement",
    "Display",
    "Environment",
    "Expected",
    "Fan",
    "FlightOp",
    "FlightRecord",
    "Gpu",
    "GpuLink",
    "GpuProcess",
    "Job",
    "JobProcess",
    "JobRun",
    "JobThread",
    "Kernel",
    "KernelLog",
    "Later",
    "Layer",
    "LinkState",
    "LogEvent",
    "Machine",
    "Memory",
    "Message",
    "ModeResult",
    "Nic",
    "NoAnswer",
    "NumaNode",
    "NvLink",
    "OperatingSystem",
    "Partition",
    "Passage",
    "Pcie",
    "PcieHop",
    "Power",
    "RankResult",
    "RasBlock",
    "RocmInstall",
    "SlurmNode",
    "SmokeRun",
    "SmokeState",
    "Temperature",
    "ToolFailure",
    "TorchBuild",
    "TorchDevice",
    "Unanswered",
    "User",
    "Variable",
]
