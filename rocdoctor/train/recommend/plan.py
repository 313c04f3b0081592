"""What a recommendation is made of: the fleet, the workload, the plan and why.

Plain frozen records. The configuration itself is ``Plan.spec``, a specification that ``rocdoctor estimate`` reads, and
``Plan.work``, the same read and completed; nothing of it is stored a second time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rocdoctor.train.recommend.estimate import Result
from rocdoctor.train.recommend.fleet.gpu_figures import GpuFigures
from rocdoctor.train.recommend.model.shapes import Model
from rocdoctor.train.recommend.model.spec import Work

Method = Literal["pretrain", "full", "lora", "qlora"]
Goal = Literal["speed", "memory"]
Products = Literal["16-bit", "fp8"]
Vendor = Literal["amd", "nvidia", "cpu"]


@dataclass(frozen=True, slots=True)
class Seat:
    """One GPU of a node (or one process of a machine without GPUs), in the order of the local ranks.

    ``torch_index`` is the number that torch gives it when no GPU is hidden. ``cpus`` is the share of the node's CPUs
    next to it, as a list (``0-15,128-143``). Seats of one ``island`` reach each other over XGMI or NVLink, or, where
    there is neither, at the same speed. None where the evidence does not tell.
    """

    local_rank: int
    name: str = ""
    bdf: str | None = None
    torch_index: int | None = None
    numa_node: int | None = None
    cpus: str | None = None
    nic: str | None = None
    island: int = 0


@dataclass(frozen=True, slots=True)
class Software:
    """Versions that the plan rests on; None: not known, and for a package also: not installed.

    ``packages`` has the training libraries that the interpreter holds (deepspeed, accelerate, bitsandbytes, ...), or
    None where nobody could list them.
    """

    torch: str | None = None
    hip: str | None = None
    cuda: str | None = None
    python: str | None = None
    packages: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Fleet:
    """What to train on: equal nodes of equal GPUs.

    ``gpu`` holds memory in bytes and rates in FLOP/s and bytes/s; ``spec_gpu`` is the same as the ``gpu`` field of a
    specification. Sizes of the host are those of one node, None where unknown. ``left_out`` names GPUs of the machine
    that the plan does not use, each with the reason; ``already_set`` the environment variables that are set on the
    machine and that training reads or a scheduler sets. ``sources`` says where a figure comes from (``memory``,
    ``peak``, ``bandwidth``, ``link``, ``host_memory``): a profile, the machine, a measurement, or an assumption.
    ``fabric``: what joins the GPUs of a node; ``islands``: local ranks that reach each other over it.
    ``integrated``: the GPU's memory is main memory.
    ``experimental_kernels``: the user has let torch use attention kernels that it holds back as experimental.
    """

    name: str
    origin: Literal["machine", "described"]
    vendor: Vendor
    nodes: int
    seats: tuple[Seat, ...]
    gpu: GpuFigures
    spec_gpu: Mapping[str, Any]
    gfx: str | None = None
    compute_capability: str | None = None
    fabric: Literal["xgmi", "nvlink", "pcie", "none"] = "none"
    islands: tuple[tuple[int, ...], ...] = ()
    host_memory_bytes: float | None = None
    cpu_threads: int | None = None
    cpu_cores: int | None = None
    nics: tuple[str, ...] = ()
    integrated: bool = False
    experimental_kernels: bool = False
    software: Software = field(default_factory=Software)
    container: str | None = None
    left_out: tuple[str, ...] = ()
    already_set: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def gpu_shares_memory(self) -> bool:
        """The GPU works in main memory itself, so nothing can be moved there."""
        return self.integrated or self.vendor == "cpu"

    @property
    def per_node(self) -> int:
        """GPUs (processes on a machine without) of one node."""
        return len(self.seats)

    @property
    def gpus(self) -> int:
        """GPUs of all nodes together."""
        return self.nodes * len(self.seats)

    @property
    def island(self) -> int:
        """GPUs of the smallest island: what tensor parallelism may span."""
        return min((len(one) for one in self.islands), default=len(self.seats))


@dataclass(frozen=True, slots=True)
class Workload:
    """What is to be trained. ``global_batch`` counts sequences a step; None leaves the choice to the plan.

    ``model_field`` is the ``model`` field of a specification, ``model_id`` the name that loaders take (a preset, a
    repository), None for sizes given by hand. ``framework`` is what the user asked for. ``products``: what matrix
    products are computed in; 16 bits are those that suit the GPU.
    """

    model: Model
    model_field: Any
    model_id: str | None
    method: Method
    seq: int
    global_batch: int | None = None
    goal: Goal = "speed"
    framework: str | None = None
    lora_rank: int = 16
    derived: tuple[str, ...] = ()
    products: Products = "16-bit"


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision: ``key`` (``tensor_parallel``, ``micro_batch``, ...), its value as text, and why.

    ``figure`` is the number with unit that the reason rests on, ``instead`` what the next best value would give,
    ``source`` where a fact stands that is no estimate.
    """

    key: str
    value: str
    reason: str
    figure: str = ""
    instead: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable with the reason for its value here."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rank:
    """Where one rank of the first node works; ``group`` names its place (``tp 0, pp 1``)."""

    rank: int
    seat: Seat
    group: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """One training configuration on a fleet, with its estimate and its reasons."""

    fleet: Fleet
    workload: Workload
    spec: Mapping[str, Any]
    result: Result
    choices: tuple[Choice, ...] = ()
    ranks: tuple[Rank, ...] = ()
    environment: tuple[Setting, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def work(self) -> Work:
        """The configuration read and completed: sizes, micro-batch, recompute, precision."""
        return self.result.work

    @property
    def global_batch(self) -> int:
        """Sequences of one optimizer step over all ranks."""
        one = self.work
        return one.micro_batch * one.microbatches * one.parallel.dp

    def why(self, key: str) -> str:
        """The reason of a choice, empty for one that was not made."""
        return next((one.reason for one in self.choices if one.key == key), "")


@dataclass(frozen=True, slots=True)
class Needed:
    """Why nothing fits, or what would; ``option`` and its value are what to add to the command line for it."""

    text: str
    option: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer: the plan, the next best one and by how much, or what would be needed when nothing fits.

    ``faster``: a plan that is faster and may just fit, where the safe one gives that up, with how it compares.
    ``needed``: why it does not fit, then what would, the cheapest change first. ``considered``: configurations that
    were estimated. ``refused``: why the files that were asked for can express none, where that and not the memory is
    the reason. ``unfit``: what findings say against GPUs that the plan uses.
    """

    fleet: Fleet
    workload: Workload
    plan: Plan | None
    runner_up: Plan | None = None
    margin: str = ""
    needed: tuple[Needed, ...] = ()
    notes: tuple[str, ...] = ()
    considered: int = 0
    refused: str = ""
    faster: Plan | None = None
    gain: str = ""
    unfit: tuple[str, ...] = ()
