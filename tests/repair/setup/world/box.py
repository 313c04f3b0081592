"""A machine in some state of its set-up, as the files that a live host would read.

``Box`` is what nobody installs: cards, processor, distribution. ``State`` is what somebody did so far. ``evidence``
turns both into raw files, by the same builders as the fixtures: after "ROCm is installed" the files are those of
a machine that has ROCm, not what some check wants to see.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.machines import amd, kfd, nvidia, pcie, tools
from tests.machines import system as base
from tests.machines.amd import Gpu
from tests.machines.files import Files, Program
from tests.machines.python import Torch, amd_devices, python
from tests.machines.system import Cpu, Distribution, cpus, firmware, linux

_EFI = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
GIDS = {"sudo": 27, "video": amd.VIDEO_GID, "render": amd.RENDER_GID, "docker": 998, "users": 100}


@dataclass(frozen=True, slots=True)
class Box:
    """The machine as it was bought, with a distribution on it."""

    name: str
    os: Distribution
    cpu: Cpu
    gib: int
    amd: tuple[Gpu, ...] = ()
    nvidia: tuple[nvidia.Gpu, ...] = ()
    chassis: int = 3
    product: tuple[str, str] = ("ASUS", "ROG STRIX X670E-E")
    python: str = "3.12.3"


@dataclass(slots=True)
class State:
    """What has been done. ``member`` is what the account database says, ``session`` what this login has.

    ``kernel`` runs now, ``next_kernel`` is what the next boot takes. ``driver``: the GPU driver is loaded;
    ``driver_packages``: one that is not part of the kernel is installed.
    """

    kernel: str
    next_kernel: str = ""
    driver: bool = True
    display_driver: str = ""  # of NVIDIA cards, while no driver for compute is loaded
    driver_release: str = ""
    built: dict[str, str] = field(default_factory=dict)  # modules of DKMS with their release
    built_for: str = ""  # the kernel that they were built for
    rocm: str = ""
    member: frozenset[str] = frozenset({"sudo"})
    session: frozenset[str] = frozenset({"sudo"})
    packages: dict[str, str] = field(default_factory=dict)
    venv: str = ""
    python: str = ""  # of the environment, where it is another one than the distribution's
    torch: Torch | None = None
    secure_boot: bool = False
    key_enrolled: bool = False
    cmdline: str = ""
    next_cmdline: str = ""
    env: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    directory: bool = False  # the account is of SSSD or LDAP: no file here has it or its group
    memlock: str = "8388608"

    def copy(self) -> State:
        """Another state, independent of this one."""
        parts = (self.packages, self.built, self.env, self.texts)
        packages, built, env, texts = (dict(part) for part in parts)
        return replace(self, packages=packages, built=built, env=env, texts=texts)


def evidence(box: Box, state: State) -> Files:
    """The files of the machine in this state."""
    files = Files(box.name, f"{box.name}, made for a test")
    cpus(files, box.cpu, box.cpu.packages, box.gib)
    linux(files, replace(box.os, kernel=state.kernel), state.cmdline)
    firmware(files, *box.product, box.chassis)
    _account(files, state)
    pcie.ethernet(files)
    if state.secure_boot:
        files.put(_EFI, b"\x06\x00\x00\x00\x01")
        files.put("/sys/kernel/security/lockdown", "none [integrity] confidentiality")
    else:
        files.put(_EFI, b"\x06\x00\x00\x00\x00")
    for kernel in {state.kernel, state.next_kernel or state.kernel}:
        files.put(f"/lib/modules/{kernel}/modules.dep", "")
        files.put(f"/boot/vmlinuz-{kernel}", "")
    _dkms(files, state)
    works = _gpus(files, box, state)
    if state.rocm:
        tools.rocm(files, state.rocm)
        if works and box.amd:
            tools.rocminfo(files, box.cpu.model, box.cpu.packages, list(box.amd), box.gib, state.driver_release)
    _packages(files, box, state)
    _interpreter(files, box, state, works)
    for path, text in state.texts.items():
        files.put(path, text)
    files.env |= state.env
    return files


def kept_out(state: State, module: str) -> bool:
    """Whether the module is not loaded by itself: by a rule of modprobe or a parameter of the kernel."""
    rules = "\n".join(text for path, text in state.texts.items() if path.startswith("/etc/modprobe.d/"))
    return f"\nblacklist {module}\n" in f"\n{rules}\n" or "nomodeset" in state.cmdline


def _dkms(files: Files, state: State) -> None:
    for module, release in state.built.items():
        folder = f"/var/lib/dkms/{module}"
        files.link(f"{folder}/{release}/source", f"/usr/src/{module}-{release}")
        files.put(f"{folder}/{release}/{state.built_for}/x86_64/module/{module}.ko.zst", "")
        files.link(f"{folder}/kernel-{state.built_for}-x86_64", f"{release}/{state.built_for}/x86_64")


def _account(files: Files, state: State) -> None:
    base.user(files, {GIDS[name]: name for name in sorted(state.session)}, memlock=state.memlock)
    rows = ["root:x:0:", "daemon:x:1:", "tty:x:5:"]
    rows += [f"{name}:x:{gid}:{'user' if name in state.member else ''}" for name, gid in GIDS.items()]
    if state.directory:
        files.put("/etc/group", "\n".join(rows))
        files.put("/etc/passwd", "root:x:0:0:root:/root:/bin/bash")
        status = files.texts[("proc", "self", "status")].decode()
        files.put("/proc/self/status", status.replace("Gid:\t1000\t1000\t1000\t1000", "Gid:" + "\t70513" * 4))
        return
    files.put("/etc/group", "\n".join([*rows, "user:x:1000:"]))
    files.put("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash")


def _gpus(files: Files, box: Box, state: State) -> bool:
    """The cards with or without their driver; whether this user can compute on one."""
    if box.nvidia:
        if state.driver:
            nvidia.put_gpus(files, list(box.nvidia), state.driver_release, "13.0")
            return True
        for one in box.nvidia:
            ids = f"10DE:{one.card.device}"
            folder = pcie.device(
                files, one.slot, one.card.pci_class, ids, one.card.subsystem, state.display_driver or None, "A1"
            )
            pcie.links(files, folder, one.card.link, one.card.link)
        return False
    loaded = state.driver and not kept_out(state, "amdgpu")
    if not loaded:
        for gpu in box.amd:
            card = gpu.card
            folder = pcie.device(
                files, gpu.slot, card.pci_class, f"1002:{card.device}", card.subsystem, None, card.revision
            )
            pcie.links(files, folder, gpu.now or card.link, card.link)
            files.put(f"{folder}/boot_vga", str(int(gpu.boot_vga)))
        return False
    if not box.amd:
        return False
    amd.put_gpus(files, list(box.amd), release=state.driver_release)
    for word in state.cmdline.split():
        if word.startswith("amdgpu.") and "=" in word:
            name, _, value = word.removeprefix("amdgpu.").partition("=")
            files.put(f"/sys/module/amdgpu/parameters/{name}", value)
        if word.startswith("ttm.pages_limit="):
            files.put("/sys/module/ttm/parameters/pages_limit", word.partition("=")[2])
    if any(gpu.card.kfd for gpu in box.amd):
        kfd.put_topology(files, list(box.amd), box.cpu.packages, box.cpu.packages * box.cpu.cores * box.cpu.threads)
    for node in files.nodes.values():
        name = next((name for name, gid in GIDS.items() if gid == node.gid), "")
        if name and name not in state.session and not _open_to_all(state):
            node.access = "denied"
    return "render" in state.session or _open_to_all(state)


def _open_to_all(state: State) -> bool:
    """Whether a rule of udev opens the nodes to everybody."""
    rules = "\n".join(text for path, text in state.texts.items() if path.startswith("/etc/udev/rules.d/"))
    return 'KERNEL=="kfd"' in rules and 'KERNEL=="renderD*"' in rules and 'MODE="0666"' in rules


def _packages(files: Files, box: Box, state: State) -> None:
    """The package manager's answers: the questions that rocdoctor asks, over all that is installed."""
    rows = "\n".join(f"{name}\t{version}" for name, version in sorted(state.packages.items()))
    if box.os.id in ("ubuntu", "debian", "linuxmint", "pop"):
        from rocdoctor.collect.software.packages import question

        asked = question(box.os.id, box.os.like)
        assert asked is not None
        files.programs[asked] = Program(rows, 0 if rows else 1)
    elif box.os.id == "arch":
        files.programs["run pacman -Q"] = Program(rows.replace("\t", " "))
    else:
        files.programs["run rpm -qa --qf '%{NAME}\\t%{VERSION}-%{RELEASE}\\n'"] = Program(rows)


def _interpreter(files: Files, box: Box, state: State, works: bool) -> None:
    torch = state.torch
    devices = []
    if torch is not None and works:
        hidden = state.env.get("HIP_VISIBLE_DEVICES")
        mine = [gpu for at, gpu in enumerate(box.amd) if hidden is None or str(at) in hidden.split(",")]
        # HIP counts a processor's own GPU too, whatever torch was built for.
        seen = [gpu for gpu in mine if _runs_as(gpu, state) in torch.arches or (gpu.card.apu and len(mine) > 1)]
        devices = amd_devices(seen) if torch.hip else []
        devices = nvidia.devices(list(box.nvidia)) if torch.cuda and box.nvidia else devices
    python(files, torch, devices, state.python or box.python, state.venv or "/usr")
    if not state.venv or state.venv.endswith("/torch-venv"):  # nobody activates what the plan made
        files.env.pop("VIRTUAL_ENV", None)


def _runs_as(gpu: Gpu, state: State) -> str:
    """The target that the runtime loads code for: the card's own, or what an override says."""
    override = state.env.get("HSA_OVERRIDE_GFX_VERSION", "")
    major, minor, step = (override or "0.0.0").split(".")
    return f"gfx{major}{int(minor):x}{int(step):x}" if override else gpu.card.gfx
