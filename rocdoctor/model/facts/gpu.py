"""GPUs: what each is, its link, sensors, memory and counters, and how GPUs reach each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rocdoctor.model.evidence import NOT_ASKED, Fact, Known
from rocdoctor.model.subject import Subject


@dataclass(frozen=True, slots=True)
class LinkState:
    """One end of a PCIe link: what it trained to and what it could do."""

    speed_gt_s: Fact[float] = NOT_ASKED
    width: Fact[int] = NOT_ASKED
    max_speed_gt_s: Fact[float] = NOT_ASKED
    max_width: Fact[int] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class PcieHop:
    """A bridge or port between a GPU and the CPU, with the link below it."""

    bdf: str
    vendor_id: Fact[str] = NOT_ASKED
    device_id: Fact[str] = NOT_ASKED
    link: LinkState = field(default_factory=LinkState)
    virtual: bool = False  # a port that a hypervisor made up: its link figures mean nothing
    acs_redirect: Fact[bool] = NOT_ASKED  # peer traffic is sent up to the root (ACS request redirect)
    aer_correctable: Fact[int] = NOT_ASKED
    aer_nonfatal: Fact[int] = NOT_ASKED
    aer_fatal: Fact[int] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class Pcie:
    """A GPU's way to the CPU. ``hops`` runs from the root port down; empty when the path is not known."""

    device: LinkState = field(default_factory=LinkState)
    hops: tuple[PcieHop, ...] = ()
    path_complete: bool = False  # hops reach the root port
    aer_correctable: Fact[int] = NOT_ASKED
    aer_nonfatal: Fact[int] = NOT_ASKED
    aer_fatal: Fact[int] = NOT_ASKED
    replay_count: Fact[int] = NOT_ASKED
    bar_bytes: Fact[int] = NOT_ASKED  # the largest memory window (the one through which VRAM is reached)
    iommu_group_type: Fact[str] = NOT_ASKED  # identity, DMA, DMA-FQ ...
    removable: Fact[str] = NOT_ASKED  # "removable" behind Thunderbolt or USB4


@dataclass(frozen=True, slots=True)
class Temperature:
    """One sensor; the limits are those that the card itself states."""

    label: str  # edge, junction, mem, gpu, pkg, ...
    input_c: Fact[float] = NOT_ASKED
    crit_c: Fact[float] = NOT_ASKED
    emergency_c: Fact[float] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class Power:
    """Board power in watts."""

    now_w: Fact[float] = NOT_ASKED
    cap_w: Fact[float] = NOT_ASKED
    cap_default_w: Fact[float] = NOT_ASKED
    cap_max_w: Fact[float] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class Traffic:
    """What moves over a GPU's links. Rates are of this moment; counters tell one only from two looks.

    KB as the sources write it, taken as 1000 bytes. From ``pcie_bw`` the rates are upper bounds.
    """

    pcie_received_kb_s: Fact[int] = NOT_ASKED  # by the GPU
    pcie_sent_kb_s: Fact[int] = NOT_ASKED
    pcie_mbit_s: Fact[int] = NOT_ASKED  # both directions together, where only that is told
    xgmi_read_kb: Fact[int] = NOT_ASKED  # counter, of all links
    xgmi_written_kb: Fact[int] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class Fan:
    """Fan speed; many boards have none."""

    rpm: Fact[int] = NOT_ASKED
    max_rpm: Fact[int] = NOT_ASKED
    pwm: Fact[int] = NOT_ASKED  # 0 to 255
    mode: Fact[str] = NOT_ASKED  # automatic, manual, full


@dataclass(frozen=True, slots=True)
class Partition:
    """Partition modes, for example SPX and NPS1."""

    compute: Fact[str] = NOT_ASKED
    memory: Fact[str] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class RasBlock:
    """Memory and logic errors that a block of the GPU has counted since the driver was loaded."""

    block: str
    uncorrectable: Fact[int] = NOT_ASKED
    correctable: Fact[int] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """What the compute runtime sees of a GPU: the whole of it, or one partition."""

    kfd_node: Fact[int] = NOT_ASKED
    gpu_id: Fact[int] = NOT_ASKED
    compute_units: Fact[int] = NOT_ASKED
    vram_bytes: Fact[int] = NOT_ASKED
    render_minor: Fact[int] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class NvLink:
    """One NVLink of an NVIDIA GPU; ``active`` false with speed unknown when it is down."""

    link: int
    active: bool
    speed_gb_s: Fact[float] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that holds memory of a GPU."""

    vram_bytes: Fact[int] = NOT_ASKED
    pid: int | None = None  # as the tool numbers it: outside of containers


@dataclass(frozen=True, slots=True)
class GpuHolder:
    """A process that has device nodes of GPUs open. It need not hold memory of each: ROCm opens them all."""

    pid: int
    name: str
    nodes: tuple[str, ...]
    age_s: int
    line: int = 0  # of the answer


@dataclass(frozen=True, slots=True)
class GpuHolders:
    """All that this user may see; ``hidden`` is how many processes nobody let us look into."""

    processes: tuple[GpuHolder, ...] = ()
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Gpu:
    """One physical device. ``index`` counts by ascending PCI address; partitions are ``compute_nodes``."""

    index: int
    vendor: str  # amd, nvidia, intel, other
    bdf: Fact[str] = NOT_ASKED
    name: Fact[str] = NOT_ASKED
    pci_id: Fact[str] = NOT_ASKED  # "1002:744c"
    subsystem_id: Fact[str] = NOT_ASKED
    revision: Fact[str] = NOT_ASKED  # "c8"
    pci_class: Fact[str] = NOT_ASKED  # "030000"
    driver: Fact[str | None] = NOT_ASKED
    gfx: Fact[str] = NOT_ASKED
    compute_capability: Fact[str] = NOT_ASKED
    integrated: Fact[bool] = NOT_ASKED
    shared_memory: Fact[bool] = NOT_ASKED  # it has no memory of its own but works in the CPU's (APUs, MI300A)
    boot_display: Fact[bool] = NOT_ASKED
    compute_units: Fact[int] = NOT_ASKED
    vram_bytes: Fact[int] = NOT_ASKED
    vram_used_bytes: Fact[int] = NOT_ASKED
    visible_vram_bytes: Fact[int] = NOT_ASKED
    gtt_bytes: Fact[int] = NOT_ASKED
    gtt_used_bytes: Fact[int] = NOT_ASKED
    numa_node: Fact[int | None] = NOT_ASKED  # None: the firmware says "no affinity"
    vbios: Fact[str] = NOT_ASKED
    unique_id: Fact[str] = NOT_ASKED
    hive_id: Fact[str | None] = NOT_ASKED  # None: in no hive
    mig: Fact[bool] = NOT_ASKED
    compute_nodes: tuple[ComputeNode, ...] = ()
    pcie: Pcie = field(default_factory=Pcie)
    kfd_node: Fact[int] = NOT_ASKED
    hip_index: Fact[int] = NOT_ASKED
    smi_index: Fact[int] = NOT_ASKED
    torch_index: Fact[int] = NOT_ASKED
    drm_card: Fact[str] = NOT_ASKED
    render_minor: Fact[int] = NOT_ASKED
    runtime_status: Fact[str] = NOT_ASKED  # active, suspended
    temps: tuple[Temperature, ...] = ()
    power: Power = field(default_factory=Power)
    fan: Fan = field(default_factory=Fan)
    traffic: Traffic = field(default_factory=Traffic)
    busy_percent: Fact[int] = NOT_ASKED
    clocks_mhz: Mapping[str, Fact[float]] = field(default_factory=dict)  # now: sclk, mclk, ...
    max_clocks_mhz: Mapping[str, Fact[float]] = field(default_factory=dict)
    performance_level: Fact[str] = NOT_ASKED
    throttle: Fact[tuple[str, ...]] = NOT_ASKED  # reasons active at this moment
    partition: Partition = field(default_factory=Partition)
    ras: tuple[RasBlock, ...] = ()
    bad_pages: Fact[int] = NOT_ASKED  # retired or reserved memory pages
    bad_pages_pending: Fact[bool] = NOT_ASKED
    remap_failure: Fact[bool] = NOT_ASKED
    ecc_enabled: Fact[bool] = NOT_ASKED
    firmware: Mapping[str, str] = field(default_factory=dict)
    nvlinks: Fact[tuple[NvLink, ...]] = NOT_ASKED
    fabric_state: Fact[str] = NOT_ASKED
    persistence: Fact[bool] = NOT_ASKED
    compute_mode: Fact[str] = NOT_ASKED
    processes: Fact[tuple[GpuProcess, ...]] = NOT_ASKED
    ecc_pending: Fact[bool] = NOT_ASKED  # the ECC mode after the next reset
    fabric_status: Fact[str] = NOT_ASKED  # what the registration at the NVLink fabric came to, "Success" or an error
    mig_devices: Fact[int] = NOT_ASKED  # MIG devices that are set up on it
    recovery_action: Fact[str] = NOT_ASKED  # what the driver asks for: None, Reset, Reboot, Drain and Reset
    vgpu: Fact[bool] = NOT_ASKED  # a share of a GPU that the hypervisor lends this machine (NVIDIA vGPU)
    vgpu_license: Fact[str] = NOT_ASKED  # "Licensed (Expiry: ...)", "Unlicensed (Restricted)"
    vram_used_percent: Fact[int] = NOT_ASKED  # as tools round it, where they give no bytes

    @property
    def subject(self) -> Subject:
        """What findings are about: its index, and its PCI address, or a tool's number where only that is known."""
        if isinstance(self.bdf, Known):
            return Subject("gpu", self.index, address=self.bdf.value)
        if isinstance(self.smi_index, Known) and self.smi_index.value != self.index:
            tool = "nvidia-smi" if self.vendor == "nvidia" else "smi"
            return Subject("gpu", self.index, name=f"{tool} {self.smi_index.value}")
        return Subject("gpu", self.index)

    @property
    def label(self) -> str:
        """How reports name it: ``gpu 0 (0000:03:00.0)``."""
        return self.subject.label


@dataclass(frozen=True, slots=True)
class Display:
    """A management or virtual VGA adapter: it shows pictures and computes nothing."""

    bdf: Fact[str] = NOT_ASKED
    pci_id: Fact[str] = NOT_ASKED
    name: Fact[str] = NOT_ASKED
    driver: Fact[str | None] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class GpuLink:
    """How two physical GPUs reach each other; ``a`` < ``b`` are indices."""

    a: int
    b: int
    type: str  # xgmi, pcie, nvlink
    weight: Fact[int] = NOT_ASKED
    hops: Fact[int] = NOT_ASKED
    count: Fact[int] = NOT_ASKED  # parallel links
