"""Machines seen from inside something: containers, an allocation of a batch system, WSL."""

from __future__ import annotations

from collections.abc import Callable

from tests.machines import amd, cards, instinct, kfd, pcie, tools
from tests.machines.amd import Gpu, behind_switch
from tests.machines.files import Files
from tests.machines.pcie import Slot
from tests.machines.python import ROCM7_TORCH, ROCM_TORCH, amd_devices, python
from tests.machines.system import FEDORA_42, UBUNTU_2404, Cpu, Distribution, cpus, firmware, linux, user

_RENDER_ONLY = {amd.RENDER_GID: "render", amd.VIDEO_GID: "video"}


def docker_8() -> Files:
    """Docker with ``--device /dev/kfd --device /dev/dri --ipc=host --group-add video``, run as root."""
    files = Files("mi300x-docker", "Docker container of the ROCm image on a server with 8 MI300X, all passed in")
    cpus(files, instinct.GENOA, 2, 1536)
    linux(files, UBUNTU_2404, "iommu=pt", 404_133.77)
    firmware(files, "Supermicro", "AS -8125GS-TNMR2", 23)
    user(files, _RENDER_ONLY, uid=0)
    gpus = instinct.mi300x_gpus()
    amd.put_gpus(files, gpus, release="6.14.14")
    kfd.put_topology(files, gpus, 2, 64)
    tools.rocm(files, "7.2.0", "-56")
    tools.rocminfo(files, instinct.GENOA.model, 2, gpus, 1536, "6.14.14")
    tools.amd_smi(files, gpus, "6.14.14")
    python(files, ROCM7_TORCH, amd_devices(gpus), "3.12.3", "/opt/venv")
    files.put("/.dockerenv", "")
    files.put("/proc/1/cgroup", "0::/")
    files.put("/proc/self/cgroup", "0::/")
    layers = "/var/lib/docker/overlay2"
    files.put(
        "/proc/self/mountinfo",
        f"1210 988 0:91 / / rw,relatime - overlay overlay rw,lowerdir={layers}/l/AB:{layers}/l/CD,"
        f"upperdir={layers}/f3a1/diff,workdir={layers}/f3a1/work",
    )
    files.put("/proc/mounts", "overlay / overlay rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0")
    files.put("/sys/fs/cgroup/memory.max", "max")
    files.put("/sys/fs/cgroup/cpu.max", "max 100000")
    return files


def podman_rootless() -> Files:
    """Podman without root's rights, with ``--group-add keep-groups`` so that the render group stays."""
    files = Files("rx7900xtx-podman", "rootless Podman container with an RX 7900 XTX, groups kept")
    cpu = Cpu("AMD Ryzen 9 7900 12-Core Processor", 1, 12, avx512=True, governor="powersave")
    cpus(files, cpu, 1, 64)
    linux(files, FEDORA_42)
    user(files, {65534: "nogroup"}, uid=0, memlock="8388608")
    card = cards.RX_7900_XTX
    gpu = Gpu(card, behind_switch(0x01, "00:01.1", card), boot_vga=True, used_mib=733)
    amd.put_gpus(files, [gpu], 1, first_minor=128)
    for node in files.nodes.values():  # ids that the user name space does not map
        node.uid = node.gid = 65534
    kfd.put_topology(files, [gpu], 1, 24)
    tools.rocm(files, "7.2.0", "-56")
    tools.rocminfo(files, cpu.model, 1, [gpu], 64, "")
    python(files, ROCM7_TORCH, amd_devices([gpu]), "3.12.3", "/opt/venv")
    files.put("/run/.containerenv", 'engine="podman-5.5.2"\nname="train"\nimage="rocm/pytorch:latest"\nrootless=1')
    files.env["container"] = "podman"
    files.put("/proc/1/cgroup", "0::/")
    files.put("/proc/self/cgroup", "0::/")
    storage = "/home/user/.local/share/containers/storage/overlay"
    files.put(
        "/proc/self/mountinfo",
        f"874 702 0:68 / / rw,relatime - overlay overlay rw,lowerdir={storage}/l/AA,upperdir={storage}/9/diff",
    )
    files.put("/proc/self/uid_map", "         0       1000          1\n         1     524288      65536")
    return files


def slurm_2_of_8() -> Files:
    """A job step with two of eight GPUs: the device cgroup closes the nodes of the others."""
    files = Files("mi210-slurm-2of8", "Slurm allocation of 2 of 8 MI210; a device cgroup closes the others")
    whole = instinct.mi210_8()
    files.texts, files.links, files.nodes = whole.texts, whole.links, whole.nodes
    files.children, files.programs, files.spaces = whole.children, whole.programs, whole.spaces
    files.env = {name: value for name, value in whole.env.items() if name != "VIRTUAL_ENV"}
    gpus = instinct.mi210_gpus()
    mine = [gpus[2], gpus[3]]
    hidden = (0, 1, 4, 5, 6, 7)
    files.remove(f"{kfd.ROOT}/nodes")
    kfd.put_topology(files, gpus, 2, 64, hidden=hidden)
    for number in hidden:
        files.nodes[f"/dev/dri/renderD{128 + number}"].access = "not permitted (a device rule of the container)"
    tools.rocminfo(files, instinct.MILAN.model, 2, mine, 1024, "6.12.12")
    python(files, ROCM_TORCH, amd_devices(mine), "3.10.12")
    job = "/system.slice/slurmstepd.scope/job_48213/step_0/user/task_0"
    files.put("/proc/self/cgroup", f"0::{job}")
    files.put(f"/sys/fs/cgroup{job}/memory.max", str(256 << 30))
    files.put(
        "/proc/self/status",
        files.texts[("proc", "self", "status")]
        .decode()
        .replace("Cpus_allowed_list:\t0-127", "Cpus_allowed_list:\t16-31,80-95"),
    )
    files.env |= {
        "ROCR_VISIBLE_DEVICES": "0,1",
        "SLURM_JOB_ID": "48213",
        "SLURM_JOB_NODELIST": "gpu-17",
        "SLURM_NTASKS": "2",
        "SLURM_GPUS_ON_NODE": "2",
        "SLURM_JOB_GPUS": "2,3",
        "SLURM_STEP_GPUS": "2,3",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_CPUS_PER_TASK": "16",
    }
    return files


WSL = Distribution(
    "ubuntu",
    "24.04",
    "Ubuntu 24.04.3 LTS",
    "debian",
    "6.6.87.2-microsoft-standard-WSL2",
    "#1 SMP PREEMPT_DYNAMIC Thu Jun  5 18:30:46 UTC 2025",
    dmesg_closed=False,
)


def wsl2() -> Files:
    """ROCm in WSL goes by /dev/dxg: no amdgpu, no /dev/kfd, and the bus shows devices of the hypervisor alone."""
    files = Files("wsl2-rx7900xtx", "WSL2 with ROCm: torch sees the RX 7900 XTX of Windows, the Linux kernel does not")
    cpu = Cpu("AMD Ryzen 7 7800X3D 8-Core Processor", 1, 8, avx512=True, hypervisor=True)
    cpus(files, cpu, 1, 32)
    linux(files, WSL, "initrd=\\initrd.img WSL_ROOT_INIT=1 panic=-1 nr_cpus=16 hv_utils.timesync_implicit=1", 5121.4)
    user(files, {27: "sudo", 44: "video"}, memlock="67108864")
    slot = Slot("5582:00:00.0", root="LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/pci5582:00")
    pcie.device(files, slot, "30200", "1414:008E", "0000:0000", "dxgkrnl")
    files.env |= {"WSL_DISTRO_NAME": "Ubuntu-24.04", "WSL_INTEROP": "/run/WSL/312_interop", "WSLENV": ""}
    tools.rocm(files, "7.2.0", "-56")
    card = Gpu(cards.RX_7900_XTX, Slot("0000:03:00.0"))
    tools.rocminfo(files, cpu.model, 1, [card], 32, "")
    text = files.programs["run rocminfo"].output.replace("ROCk module is loaded", "WSL environment detected.")
    files.programs["run rocminfo"].output = text
    python(files, ROCM7_TORCH, amd_devices([card]))
    return files


MACHINES: tuple[Callable[[], Files], ...] = (docker_8, podman_rootless, slurm_2_of_8, wsl2)
