"""Processors, memory, distribution, kernel and user of a machine."""

from __future__ import annotations

from dataclasses import dataclass

from tests.machines.files import Files, Program

_AMD_FLAGS = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx "
    "mmxext fxsr_opt pdpe1gb rdtscp lm constant_tsc rep_good nopl nonstop_tsc cpuid aperfmperf pni pclmulqdq ssse3 fma "
    "cx16 sse4_1 sse4_2 movbe popcnt aes xsave avx f16c rdrand lahf_lm svm abm sse4a topoext fsgsbase bmi1 avx2 bmi2"
)
_AVX512 = " avx512f avx512dq avx512cd avx512bw avx512vl avx512_bf16"
_INTEL_FLAGS = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush dts acpi mmx fxsr sse sse2 ss ht "
    "tm pbe syscall nx pdpe1gb rdtscp lm constant_tsc art arch_perfmon pebs bts rep_good nopl xtopology nonstop_tsc "
    "cpuid aperfmperf pni pclmulqdq monitor vmx ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes xsave avx f16c avx2"
)


@dataclass(frozen=True, slots=True)
class Cpu:
    """A processor model; ``packages`` times ``cores`` cores, ``threads`` of each."""

    model: str
    packages: int
    cores: int
    threads: int = 2
    vendor: str = "AuthenticAMD"
    family: int = 25
    avx512: bool = False
    arm_part: str = ""
    hypervisor: bool = False
    governor: str = "performance"


@dataclass(frozen=True, slots=True)
class Distribution:
    """What /etc/os-release says, and the kernel that belongs to it."""

    id: str
    version: str
    pretty: str
    like: str
    kernel: str
    build: str
    dmesg_closed: bool = True
    codename: str = ""  # UBUNTU_CODENAME of what is built on Ubuntu, else VERSION_CODENAME
    platform: str = ""  # PLATFORM_ID of RHEL and what is built from it


# What the registration of a system leaves; a machine without it is one with the file removed.
_REGISTERED = {"rhel": "/etc/pki/consumer/cert.pem", "sles": "/etc/zypp/credentials.d/SCCcredentials"}

UBUNTU_2404 = Distribution(
    "ubuntu",
    "24.04",
    "Ubuntu 24.04.3 LTS",
    "debian",
    "6.8.0-71-generic",
    "#71-Ubuntu SMP PREEMPT_DYNAMIC Tue Jul 22 16:52:38 UTC 2025",
)
UBUNTU_2404_HWE = Distribution(
    "ubuntu",
    "24.04",
    "Ubuntu 24.04.3 LTS",
    "debian",
    "6.14.0-29-generic",
    "#29~24.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Aug 14 16:52:50 UTC 2",
)
UBUNTU_2204 = Distribution(
    "ubuntu",
    "22.04",
    "Ubuntu 22.04.5 LTS",
    "debian",
    "5.15.0-151-generic",
    "#161-Ubuntu SMP Tue Jul 22 14:25:40 UTC 2025",
)
FEDORA_42 = Distribution(
    "fedora",
    "42",
    "Fedora Linux 42 (Workstation Edition)",
    "",
    "6.15.9-201.fc42.x86_64",
    "#1 SMP PREEMPT_DYNAMIC Sat Aug  2 11:37:34 UTC 2025",
    dmesg_closed=False,
)
DEBIAN_13 = Distribution(
    "debian",
    "13",
    "Debian GNU/Linux 13 (trixie)",
    "",
    "6.12.41+deb13-amd64",
    "#1 SMP PREEMPT_DYNAMIC Debian 6.12.41-1 (2025-08-12)",
)
ROCKY_9 = Distribution(
    "rocky",
    "9.6",
    "Rocky Linux 9.6 (Blue Onyx)",
    "rhel centos fedora",
    "5.14.0-570.32.1.el9_6.x86_64",
    "#1 SMP PREEMPT_DYNAMIC Wed Aug 6 11:30:41 EDT 2025",
    dmesg_closed=False,
)


def cpus(files: Files, cpu: Cpu, numa: int, memory_gib: int, distances: tuple[int, ...] = (10, 32)) -> None:
    """cpuinfo, topology, frequency, NUMA nodes and memory. Sibling threads are numbered after all cores."""
    cores = cpu.packages * cpu.cores
    total = cores * cpu.threads
    files.put("/proc/cpuinfo", "\n".join(_cpuinfo(cpu, number, cores) for number in range(total)))
    root = "/sys/devices/system/cpu"
    files.put(f"{root}/online", _range(0, total))
    for number in range(total):
        core = number % cores
        siblings = ",".join(str(core + cores * thread) for thread in range(cpu.threads))
        package = core // cpu.cores
        files.put_all(
            f"{root}/cpu{number}/topology",
            {
                "core_cpus_list": siblings,
                "thread_siblings_list": siblings,
                "physical_package_id": package,
                "package_cpus_list": _spread(package * cpu.cores, cpu.cores, cores, cpu.threads),
                "core_id": core % cpu.cores,
            },
        )
        if cpu.governor and not cpu.hypervisor:
            files.put(f"{root}/cpufreq/policy{number}/scaling_governor", cpu.governor)
    nodes = "/sys/devices/system/node"
    files.put(f"{nodes}/online", _range(0, numa))
    each = cores // numa
    for node in range(numa):
        kib = memory_gib * 2**20 // numa - 37_000 - 913 * node
        row = [distances[0] if other == node else distances[-1] for other in range(numa)]
        if len(distances) == 3:  # near nodes share a package
            row = [
                distances[0]
                if other == node
                else distances[1]
                if other * 2 // numa == node * 2 // numa
                else distances[2]
                for other in range(numa)
            ]
        files.put_all(
            f"{nodes}/node{node}",
            {
                "cpulist": _spread(node * each, each, cores, cpu.threads),
                "distance": " ".join(map(str, row)),
                "meminfo": f"Node {node} MemTotal:       {kib} kB\nNode {node} MemFree:        {kib * 7 // 10} kB\n"
                f"Node {node} MemUsed:        {kib * 3 // 10} kB",
            },
        )
    memory(files, memory_gib)


def memory(files: Files, gib: int, swap_gib: int = 8) -> None:
    """/proc/meminfo, swap, /dev/shm and the settings of memory."""
    kib = gib * 2**20 - 74_000
    rows = {
        "MemTotal": kib,
        "MemFree": kib * 6 // 10,
        "MemAvailable": kib * 9 // 10,
        "Buffers": kib // 90,
        "Cached": kib // 5,
        "SwapCached": 0,
        "Active": kib // 7,
        "Inactive": kib // 8,
        "SwapTotal": swap_gib * 2**20 - 4,
        "SwapFree": swap_gib * 2**20 - 4,
        "Dirty": 312,
        "AnonPages": kib // 20,
        "Shmem": 18432,
        "Slab": kib // 60,
        "CommitLimit": kib // 2 + swap_gib * 2**20,
    }
    text = "\n".join(f"{name + ':':<16}{value:>8} kB" for name, value in rows.items())
    text += "\nHugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB"
    files.put("/proc/meminfo", text)
    swap = f"\n/swap.img                               file\t\t{swap_gib * 2**20 - 4}\t\t0\t\t-2" if swap_gib else ""
    files.put("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority" + swap)
    half = kib * 1024 // 2
    files.spaces["/dev/shm"] = f"{half} {half - 86016}"
    files.put("/proc/sys/vm/swappiness", "60")
    files.put("/proc/sys/kernel/numa_balancing", "0")
    files.put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")


def linux(files: Files, os: Distribution, cmdline: str = "", uptime_s: float = 91_384.22, log: str = "") -> None:
    """Distribution, kernel, and a kernel log (a refusal where the distribution closes it and none is given)."""
    like = f"ID_LIKE={os.like!r}\n".replace("'", '"') if os.like else ""
    base = "UBUNTU" if "ubuntu" in os.like.split() else "VERSION"
    like += f"{base}_CODENAME={os.codename}\n" if os.codename else ""
    like += f'PLATFORM_ID="{os.platform}"\n' if os.platform else ""
    files.put(
        "/etc/os-release",
        f'PRETTY_NAME="{os.pretty}"\nNAME="{os.pretty.split()[0]}"\nVERSION_ID="{os.version}"\nID={os.id}\n{like}',
    )
    registered = _REGISTERED.get(os.id)
    if registered is not None:
        files.put(registered, "")
    files.put("/proc/sys/kernel/osrelease", os.kernel)
    files.put("/proc/version", f"Linux version {os.kernel} (builder@host) (gcc 13.3.0, GNU ld 2.42) {os.build}")
    boot = f"BOOT_IMAGE=/boot/vmlinuz-{os.kernel} root=/dev/mapper/vg0-root ro {cmdline or 'quiet splash'}"
    files.put("/proc/cmdline", boot.strip())
    files.put("/proc/uptime", f"{uptime_s:.2f} {uptime_s * 11:.2f}")
    files.put("/proc/sys/kernel/tainted", "0")
    files.put("/sys/kernel/security/lockdown", "[none] integrity confidentiality")
    for group in range(24):
        files.folder(f"/sys/kernel/iommu_groups/{group}")
    for folder in ("/etc/modprobe.d", "/usr/lib/modprobe.d"):
        files.folder(folder)
    files.put("/etc/modprobe.d/blacklist-rare-network.conf", "blacklist ax25\nblacklist netrom\n")
    refused = Program("dmesg: read kernel buffer failed: Operation not permitted", 1)
    files.programs["run dmesg"] = Program(log) if log else refused
    if not log and not os.dmesg_closed:
        files.programs["run dmesg"] = Program(f"[    0.000000] Linux version {os.kernel} (builder@host) {os.build}")
    for module in ("ext4", "nvme", "overlay"):
        modules(files, module)
    container_none(files)


def modules(files: Files, *names: str) -> None:
    """Loaded modules."""
    path = ("proc", "modules")
    before = files.texts.get(path, b"").decode()
    lines = [f"{name} {16384 * (3 + len(name))} 1 - Live 0x0000000000000000" for name in names]
    files.put("/proc/modules", "\n".join([*before.splitlines(), *lines]))
    for name in names:
        files.put(f"/sys/module/{name}/initstate", "live")


def container_none(files: Files) -> None:
    """The files that tell of containers, as they are on a machine without one."""
    files.put("/proc/1/cgroup", "0::/init.scope")
    files.put("/proc/self/cgroup", "0::/user.slice/user-1000.slice/session-3.scope")
    files.put("/proc/self/mountinfo", "29 1 253:0 / / rw,relatime shared:1 - ext4 /dev/mapper/vg0-root rw")
    files.put("/proc/mounts", "/dev/mapper/vg0-root / ext4 rw,relatime 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0")
    files.put("/proc/self/uid_map", "         0          0 4294967295")
    files.put("/sys/fs/cgroup/user.slice/memory.max", "max")
    files.put("/sys/fs/cgroup/user.slice/cpu.max", "max 100000")


def user(files: Files, groups: dict[int, str], uid: int = 1000, memlock: str = "unlimited", home: str = "") -> None:
    """Ids, groups (all groups of ``groups``, besides the user's own), limits and a plain environment."""
    name = "root" if uid == 0 else "user"
    numbers = " ".join(str(gid) for gid in (*groups, uid))
    threads = files.texts[("sys", "devices", "system", "cpu", "online")].decode()
    files.put(
        "/proc/self/status",
        f"Name:\tpython3\nUmask:\t0022\nState:\tR (running)\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n"
        f"Gid:\t{uid}\t{uid}\t{uid}\t{uid}\nGroups:\t{numbers} \nThreads:\t2\nNoNewPrivs:\t0\nSeccomp:\t0\n"
        f"Cpus_allowed_list:\t{threads}\nMems_allowed_list:\t0",
    )
    members = "\n".join(f"{group}:x:{gid}:{name}" for gid, group in groups.items())
    own = "" if uid == 0 else f"\n{name}:x:{uid}:"
    files.put("/etc/group", f"root:x:0:\ndaemon:x:1:\ntty:x:5:\n{members}{own}")
    files.put("/proc/self/limits", _limits(memlock))
    files.env |= {
        "HOME": home or ("/root" if uid == 0 else "/home/user"),
        "USER": name,
        "LOGNAME": name,
        "SHELL": "/bin/bash",
        "LANG": "en_US.UTF-8",
        "TERM": "xterm-256color",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/bin:/bin",
    }


def firmware(files: Files, vendor: str, product: str, chassis: int, bios: str = "American Megatrends Inc.") -> None:
    """What SMBIOS says of the machine; chassis 3 is a desktop, 10 a notebook, 23 a rack server."""
    files.put_all(
        "/sys/class/dmi/id",
        {
            "sys_vendor": vendor,
            "product_name": product,
            "board_vendor": vendor,
            "bios_vendor": bios,
            "chassis_type": chassis,
        },
    )
    if chassis in (9, 10, 31):
        files.put("/sys/class/power_supply/BAT0/status", "Discharging")
        files.put("/sys/class/power_supply/AC/online", "0")


def _limits(memlock: str) -> str:
    def row(name: str, soft: str, hard: str, unit: str) -> str:
        return f"{name:<25} {soft:<20} {hard:<20} {unit:<10}"

    return "\n".join(
        (
            row("Limit", "Soft Limit", "Hard Limit", "Units"),
            row("Max stack size", "8388608", "unlimited", "bytes"),
            row("Max processes", "514217", "514217", "processes"),
            row("Max open files", "65536", "1048576", "files"),
            row("Max locked memory", memlock, memlock, "bytes"),
        )
    )


def _cpuinfo(cpu: Cpu, number: int, cores: int) -> str:
    if cpu.arm_part:
        return (
            f"processor\t: {number}\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 "
            f"atomics fphp asimdhp sve\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
            f"CPU part\t: {cpu.arm_part}\nCPU revision\t: 0\n"
        )
    core = number % cores
    flags = _INTEL_FLAGS if cpu.vendor == "GenuineIntel" else _AMD_FLAGS
    flags += (_AVX512 if cpu.avx512 else "") + (" hypervisor" if cpu.hypervisor else "")
    return (
        f"processor\t: {number}\nvendor_id\t: {cpu.vendor}\ncpu family\t: {cpu.family}\nmodel name\t: {cpu.model}\n"
        f"physical id\t: {core // cpu.cores}\nsiblings\t: {cpu.cores * cpu.threads}\ncore id\t\t: {core % cpu.cores}\n"
        f"cpu cores\t: {cpu.cores}\nflags\t\t: {flags}\n"
    )


def _range(first: int, count: int) -> str:
    return f"{first}-{first + count - 1}" if count > 1 else str(first)


def _spread(first: int, count: int, cores: int, threads: int) -> str:
    return ",".join(_range(first + cores * thread, count) for thread in range(threads))
