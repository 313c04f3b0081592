"""The machine around the GPUs: processors, memory, kernel, user, container, network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rocdoctor.model.evidence import NOT_ASKED, Fact


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
    values: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KernelLog:
    """The kernel log; ``complete`` when it reaches back to the boot, so that what is not in it did not happen."""

    source: str  # the question that gave it
    complete: bool
    events: tuple[LogEvent, ...]
    link_flaps: Mapping[str, int] = field(default_factory=dict)  # network interface -> how often it went down again
    _places: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)  # by kind

    def of(self, *kinds: str, bdf: str | None = None) -> tuple[LogEvent, ...]:
        """The events of these kinds, of one device when ``bdf`` is given."""
        if not self._places:
            for at, event in enumerate(self.events):
                self._places.setdefault(event.kind, []).append(at)
        places = sorted(at for kind in set(kinds) for at in self._places.get(kind, ()))
        return tuple(self.events[at] for at in places if bdf is None or self.events[at].bdf == bdf)


@dataclass(frozen=True, slots=True)
class Kernel:
    """The running kernel and what it was told."""

    release: Fact[str] = NOT_ASKED
    cmdline: Fact[str] = NOT_ASKED
    parameters: Fact[Mapping[str, str]] = NOT_ASKED  # of the command line; a bare word has the value ""
    modules: Fact[frozenset[str]] = NOT_ASKED  # loaded (built-in ones with parameters count too)
    module_versions: Mapping[str, Fact[str]] = field(default_factory=dict)
    module_parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # amdgpu -> name -> value
    blacklisted: Fact[Mapping[str, str]] = NOT_ASKED  # module -> file
    modprobe_options: Fact[Mapping[str, str]] = NOT_ASKED
    secure_boot: Fact[bool] = NOT_ASKED
    taint: Fact[int] = NOT_ASKED
    dkms: Fact[tuple[str, ...]] = NOT_ASKED
    uptime_s: Fact[float] = NOT_ASKED
    log: Fact[KernelLog] = NOT_ASKED
    iommu_default: Fact[str] = NOT_ASKED  # passthrough, translated
    iommu_groups: Fact[int] = NOT_ASKED
    modules_complete: bool = False  # what is not in ``modules`` is not loaded


@dataclass(frozen=True, slots=True)
class Later:
    """What was configured and takes effect at the next start or login."""

    kernels: Fact[tuple[str, ...]] = NOT_ASKED  # releases whose modules are installed
    boot_words: Fact[tuple[str, ...]] = NOT_ASKED  # of the command line, as GRUB's settings have them
    limits: Fact[Mapping[str, str]] = NOT_ASKED  # for everybody: memlock -> unlimited


@dataclass(frozen=True, slots=True)
class OperatingSystem:
    """The distribution. ``codename`` is that of the release it is built on ("noble"), else its own; ``platform``
    what rebuilds of Red Hat's share ("platform:el9"). ``registration`` (RHEL and SLES): "vendor" where the system is
    registered, "cloud" where the cloud's own servers give the packages, "none"."""

    id: Fact[str] = NOT_ASKED
    version_id: Fact[str] = NOT_ASKED
    pretty_name: Fact[str] = NOT_ASKED
    id_like: Fact[str] = NOT_ASKED
    codename: Fact[str] = NOT_ASKED
    platform: Fact[str] = NOT_ASKED
    registration: Fact[str] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class UdevRecord:
    """What udev keeps of a device node.

    With the tag "uaccess" systemd-logind opens the node, by an access list, to whoever is active at the seat.
    """

    tags: Fact[tuple[str, ...]] = NOT_ASKED
    seat: Fact[str] = NOT_ASKED  # seat0 where none is named
    driver: Fact[str] = NOT_ASKED


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device node: whether it exists and whether this user can really open it."""

    path: str
    exists: Fact[bool]
    access: Fact[str] = NOT_ASKED  # "read-write", "denied", ...
    mode: Fact[str] = NOT_ASKED
    group: Fact[str] = NOT_ASKED  # name, or the number when it has none
    bdf: Fact[str] = NOT_ASKED
    gid: Fact[int] = NOT_ASKED  # the number of the group, which counts in a container
    udev: UdevRecord = field(default_factory=UdevRecord)


@dataclass(frozen=True, slots=True)
class User:
    """As whom the job would run."""

    uid: Fact[int] = NOT_ASKED
    groups: Fact[tuple[str, ...]] = NOT_ASKED
    memlock_bytes: Fact[int | None] = NOT_ASKED  # None: unlimited
    nofile: Fact[int | None] = NOT_ASKED
    overflow_groups: Fact[bool] = NOT_ASKED  # a gid of 65534 among them: a mapping of a rootless container
    login_groups: Fact[tuple[str, ...]] = NOT_ASKED  # what the group file grants at the next login
    directory: Fact[bool] = NOT_ASKED  # the account comes from a directory (SSSD, LDAP): no file of this machine has it


@dataclass(frozen=True, slots=True)
class Container:
    """What encloses us."""

    kind: Fact[str] = NOT_ASKED  # none, docker, podman, lxc, wsl, kubernetes, apptainer ...
    rootless: Fact[bool] = NOT_ASKED
    virtual_machine: Fact[str | None] = NOT_ASKED  # kvm, vmware, hyperv, ...; None: bare metal
    # Options of the command or file that started it: "device" -> ("/dev/kfd", "/dev/dri"), "shm-size" -> ("16G",).
    options: Fact[Mapping[str, tuple[str, ...]]] = NOT_ASKED


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
    bridges: Fact[tuple[str, ...]] = NOT_ASKED  # the PCI bridges above it, the root port first
