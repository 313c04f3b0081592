"""What a machine is: typed facts, each with its source or the reason why it is unknown.

Everything here is frozen and plain. Units stand in the names; temperatures are in degrees Celsius, sizes in bytes,
link speeds in GT/s per lane. ``Fact[X | None]`` means that "there is none" is itself known (no driver is bound).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rocdoctor.evidence import NOT_ASKED, Fact


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
    atomics_requester: Fact[bool] = NOT_ASKED
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
    cap_min_w: Fact[float] = NOT_ASKED
    cap_max_w: Fact[float] = NOT_ASKED


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

    pid: int
    name: Fact[str] = NOT_ASKED
    vram_bytes: Fact[int] = NOT_ASKED


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
    modules: Fact[tuple[str, ...]] = NOT_ASKED  # kernel modules that could drive it (lspci -k)
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
    vram_used_percent: Fact[int] = NOT_ASKED  # as tools round it, where they give no bytes

    @property
    def label(self) -> str:
        """How findings name it: the index, then the PCI address, or a tool's own number where only that is known."""
        from rocdoctor.evidence import Known

        if isinstance(self.bdf, Known):
            return f"gpu {self.index} ({self.bdf.value})"
        if isinstance(self.smi_index, Known) and self.smi_index.value != self.index:
            tool = "nvidia-smi" if self.vendor == "nvidia" else "smi"
            return f"gpu {self.index} ({tool} {self.smi_index.value})"
        return f"gpu {self.index}"


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


@dataclass(frozen=True, slots=True)
class NumaNode:
    """A NUMA node; ``distances`` runs over all nodes in order."""

    node: int
    cpulist: Fact[str] = NOT_ASKED
    memory_bytes: Fact[int] = NOT_ASKED
    distances: Fact[tuple[int, ...]] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class Cpus:
    """The processors. ``threads`` is what the evidence shows online, ``usable`` what this process may run on."""

    model: Fact[str] = NOT_ASKED
    vendor: Fact[str] = NOT_ASKED
    arch: Fact[str] = NOT_ASKED
    packages: Fact[int] = NOT_ASKED
    cores: Fact[int] = NOT_ASKED
    threads: Fact[int] = NOT_ASKED
    usable: Fact[int] = NOT_ASKED
    quota: Fact[float] = NOT_ASKED  # CPUs' worth of time that the cgroup grants
    governors: Fact[tuple[str, ...]] = NOT_ASKED
    flags: Fact[frozenset[str]] = NOT_ASKED
    scaling_driver: Fact[str] = NOT_ASKED  # of frequency scaling: acpi-cpufreq, amd-pstate-epp, intel_pstate ...


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory and what limits it."""

    total_bytes: Fact[int] = NOT_ASKED
    available_bytes: Fact[int] = NOT_ASKED
    swap_total_bytes: Fact[int] = NOT_ASKED
    swap_free_bytes: Fact[int] = NOT_ASKED
    cgroup_limit_bytes: Fact[int | None] = NOT_ASKED
    shm_bytes: Fact[int] = NOT_ASKED
    shm_free_bytes: Fact[int] = NOT_ASKED
    transparent_hugepage: Fact[str] = NOT_ASKED
    hugepages_total: Fact[int] = NOT_ASKED
    hugepage_size_bytes: Fact[int] = NOT_ASKED
    swappiness: Fact[int] = NOT_ASKED
    numa_balancing: Fact[bool] = NOT_ASKED
    ttm_pages_limit: Fact[int] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class LogEvent:
    """Something that the kernel said; ``age_s`` counts back from the end of the log or from now."""

    kind: str
    line: int
    text: str
    bdf: str | None = None
    time_s: float | None = None
    age_s: float | None = None
    before_driver_load: bool = False
    during_resume: bool = False
    severity: str = "note"  # fatal, degraded, note, benign: the class of the signature
    values: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KernelLog:
    """The kernel log; ``complete`` when it reaches back to the boot, so that what is not in it did not happen."""

    source: str  # the question that gave it
    complete: bool
    events: tuple[LogEvent, ...]
    counts: Mapping[str, int] = field(default_factory=dict)  # all events by kind, also those beyond the bound
    link_flaps: Mapping[str, int] = field(default_factory=dict)  # network interface -> how often it went down again

    def of(self, *kinds: str, bdf: str | None = None) -> tuple[LogEvent, ...]:
        """The events of these kinds, of one device when ``bdf`` is given."""
        return tuple(event for event in self.events if event.kind in kinds and (bdf is None or event.bdf == bdf))


@dataclass(frozen=True, slots=True)
class Kernel:
    """The running kernel and what it was told."""

    release: Fact[str] = NOT_ASKED
    build: Fact[str] = NOT_ASKED
    cmdline: Fact[str] = NOT_ASKED
    parameters: Fact[Mapping[str, str]] = NOT_ASKED  # of the command line; a bare word has the value ""
    modules: Fact[frozenset[str]] = NOT_ASKED  # loaded (built-in ones with parameters count too)
    module_versions: Mapping[str, Fact[str]] = field(default_factory=dict)
    module_parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # amdgpu -> name -> value
    blacklisted: Fact[Mapping[str, str]] = NOT_ASKED  # module -> file
    modprobe_options: Fact[Mapping[str, str]] = NOT_ASKED
    lockdown: Fact[str] = NOT_ASKED
    secure_boot: Fact[bool] = NOT_ASKED
    taint: Fact[int] = NOT_ASKED
    dkms: Fact[tuple[str, ...]] = NOT_ASKED
    uptime_s: Fact[float] = NOT_ASKED
    log: Fact[KernelLog] = NOT_ASKED
    iommu_default: Fact[str] = NOT_ASKED  # passthrough, translated
    iommu_groups: Fact[int] = NOT_ASKED
    cpu_vulnerable_notes: Mapping[str, str] = field(default_factory=dict)
    modules_complete: bool = False  # what is not in ``modules`` is not loaded


@dataclass(frozen=True, slots=True)
class OperatingSystem:
    """The distribution."""

    id: Fact[str] = NOT_ASKED
    version_id: Fact[str] = NOT_ASKED
    pretty_name: Fact[str] = NOT_ASKED
    id_like: Fact[str] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class RocmInstall:
    """One ROCm installation."""

    version: Fact[str]
    root: str
    kind: str  # classic, core, distribution, wheel
    packages: Fact[str] = NOT_ASKED
    aliases: tuple[str, ...] = ()  # other names of the same folder, such as the link /opt/rocm


@dataclass(frozen=True, slots=True)
class CudaToolkit:
    """One CUDA toolkit."""

    version: Fact[str]
    root: str


@dataclass(frozen=True, slots=True)
class TorchDevice:
    """A device as torch saw it in a child process."""

    index: int
    name: Fact[str] = NOT_ASKED
    gfx: Fact[str] = NOT_ASKED
    bdf: Fact[str] = NOT_ASKED
    memory_bytes: Fact[int] = NOT_ASKED
    compute_units: Fact[int] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """The interpreter under test and its torch. ``version`` is Known(None) when torch is not installed there."""

    interpreter: Fact[str] = NOT_ASKED
    python: Fact[str] = NOT_ASKED
    version: Fact[str | None] = NOT_ASKED
    hip: Fact[str | None] = NOT_ASKED
    cuda: Fact[str | None] = NOT_ASKED
    arch_list: Fact[tuple[str, ...]] = NOT_ASKED
    packages: Fact[Mapping[str, str]] = NOT_ASKED  # every relevant distribution: name -> version
    requires_torch: Mapping[str, str] = field(default_factory=dict)  # package -> the torch it demands
    shadowed: tuple[str, ...] = ()  # the same package in two places, or a local file in front of one
    import_error: Fact[str | None] = NOT_ASKED  # Known(None): it imports
    device_count: Fact[int] = NOT_ASKED
    devices: tuple[TorchDevice, ...] = ()
    nccl: Fact[str] = NOT_ASKED
    bundled_rocm: Fact[bool] = NOT_ASKED
    arch_list_complete: bool = False  # what is not in arch_list is not in the build
    torch_requires: Mapping[str, str] = field(default_factory=dict)  # what torch itself demands: triton -> "==3.1.0"


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device node: whether it exists and whether this user can really open it."""

    path: str
    exists: Fact[bool]
    access: Fact[str] = NOT_ASKED  # "read-write", "denied", ...
    mode: Fact[str] = NOT_ASKED
    group: Fact[str] = NOT_ASKED  # name, or the number when it has none
    bdf: Fact[str] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class User:
    """As whom the job would run."""

    uid: Fact[int] = NOT_ASKED
    groups: Fact[tuple[str, ...]] = NOT_ASKED
    memlock_bytes: Fact[int | None] = NOT_ASKED  # None: unlimited
    nofile: Fact[int | None] = NOT_ASKED
    overflow_groups: Fact[bool] = NOT_ASKED  # a gid of 65534 among them: a mapping of a rootless container
    login_groups: Fact[tuple[str, ...]] = NOT_ASKED  # what the group file grants at the next login


@dataclass(frozen=True, slots=True)
class Container:
    """What encloses us."""

    kind: Fact[str] = NOT_ASKED  # none, docker, podman, lxc, wsl, kubernetes, apptainer ...
    rootless: Fact[bool] = NOT_ASKED
    virtual_machine: Fact[str | None] = NOT_ASKED  # kvm, vmware, hyperv, ...; None: bare metal
    cgroup_device_note: Fact[str] = NOT_ASKED
    # Options of the command or file that started it: "device" -> ("/dev/kfd", "/dev/dri"), "shm-size" -> ("16G",).
    options: Fact[Mapping[str, tuple[str, ...]]] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable and the place that sets it."""

    name: str
    value: str
    source: str  # the question, a file with line, or "$NAME"
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """Variables by name. With ``complete`` false a name that is not here may still be set."""

    variables: Mapping[str, Variable] = field(default_factory=dict)
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Nic:
    """One network interface card or port that training could use."""

    name: str
    kind: str  # infiniband, roce, ethernet, ...
    bdf: Fact[str] = NOT_ASKED
    numa_node: Fact[int | None] = NOT_ASKED
    speed_gbit_s: Fact[float] = NOT_ASKED
    state: Fact[str] = NOT_ASKED  # up, down, ...
    interfaces: tuple[str, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    mtu: Fact[int] = NOT_ASKED
    firmware: Fact[str] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two sources say different things of one fact; the first is the one that counts."""

    subject: str
    fact: str
    values: tuple[tuple[str, str], ...]  # (value, source)


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """A tool that was asked and failed, in its own words (bounded)."""

    question: str
    why: str
    text: str = ""
    line: int | None = None
    kind: str = ""  # what it means, where its words are known ("version-mismatch", "gpu-lost")
    bdf: str | None = None  # the device that it names


@dataclass(frozen=True, slots=True)
class Message:
    """A known text of a program in pasted text; ``role``: now, quoted, advice (code and past states too)."""

    kind: str
    line: int
    text: str
    values: Mapping[str, str | int | float] = field(default_factory=dict)
    role: str = "now"


@dataclass(frozen=True, slots=True)
class Machine:
    """Everything known about a machine."""

    gpus: tuple[Gpu, ...] = ()
    gpus_complete: bool = False  # the list shows every GPU on the bus
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
    cuda_toolkits: tuple[CudaToolkit, ...] = ()
    torch: TorchBuild = field(default_factory=TorchBuild)
    nodes: tuple[DeviceNode, ...] = ()
    user: User = field(default_factory=User)
    container: Container = field(default_factory=Container)
    environment: Environment = field(default_factory=Environment)
    network: tuple[Nic, ...] = ()
    laptop: Fact[bool] = NOT_ASKED
    product: Fact[str] = NOT_ASKED
    nvidia_failure: Fact[ToolFailure | None] = NOT_ASKED
    failures: tuple[ToolFailure, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    kfd_complete: bool = False  # the listing of KFD nodes shows them all
    kfd_nodes_hidden: Fact[int] = NOT_ASKED  # KFD nodes whose properties this process may not read (its cgroup)
    nvidia_attached: Fact[int] = NOT_ASKED  # GPUs that nvidia-smi counts
    interfaces: Fact[Mapping[str, str]] = NOT_ASKED  # every network interface -> operstate (up, down, unknown ...)
    network_complete: bool = False  # the list shows every network card on the bus
    messages: tuple[Message, ...] = ()  # texts of programs in pasted text, by line
