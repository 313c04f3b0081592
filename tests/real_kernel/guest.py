"""A guest with a real Debian kernel, its amdgpu module and a PCI GPU, whose root is this machine's, read-only.

The kernel's package is downloaded and unpacked, never installed. Whatever the guest writes is lost with it, except
below ``OUT``, which is a folder of the host. The processor is emulated: Python starts about ten times slower than here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

OUT = Path("/run/out")
PROGRAMS = ("qemu-system-x86_64", "busybox", "cpio", "depmod", "modprobe", "apt-get", "dpkg")
# What the guest needs before it sees its root: the bus of the shared folders, their file system, and layers over it.
_FIRST_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
_SHARE = "trans=virtio,version=9p2000.L,msize=262144"
_INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module"; done < /order
mkdir -p /lower /up /new
mount -t 9p -o {_SHARE},ro,cache=loose root /lower
mount -t tmpfs tmpfs /up && mkdir /up/upper /up/work
mount -t overlay overlay -o lowerdir=/lower,upperdir=/up/upper,workdir=/up/work /new
cd /new && mkdir -p proc sys dev run
mount -t proc proc proc; mount -t sysfs sysfs sys; mount -t devtmpfs dev dev; mount -t tmpfs tmpfs run
mkdir -p dev/pts dev/shm run/out
mount -t devpts devpts dev/pts; mount -t tmpfs tmpfs dev/shm
mount -t 9p -o {_SHARE} out run/out
ln -s /proc/self/fd dev/fd; chroot . /bin/bash /run/out/guest.sh > run/out/log.txt 2>&1
sync; echo o > /proc/sysrq-trigger; sleep 60
"""


def kernel(folder: Path) -> Path:
    """Debian's kernel with its modules, unpacked below ``folder``; skips the test where it cannot be had."""
    for program in PROGRAMS:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    name = _said("apt-cache", "depends", "--important", "linux-image-amd64").split("Depends:")[-1].split()
    if not name:
        pytest.skip("no package of Debian's kernel is known here")
    if subprocess.run(["apt-get", "download", "-qq", name[0]], cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip(f"{name[0]} cannot be downloaded")
    (package,) = folder.glob("linux-image-*.deb")
    subprocess.run(["dpkg", "-x", package, folder], check=True)
    package.unlink()
    (modules,) = (folder / "lib/modules").iterdir()
    subprocess.run(["depmod", "-b", folder, modules.name], check=True)
    _first_files(folder, modules.name)
    return folder


def _said(*argv: str | Path) -> str:
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout


def _first_files(folder: Path, version: str) -> None:
    """The first root file system of the guest, as ``initrd`` in ``folder``."""
    first = folder / "first"
    (first / "bin").mkdir(parents=True)
    (first / "modules").mkdir()
    for name in ("proc", "sys", "dev"):
        (first / name).mkdir()
    shutil.copy(shutil.which("busybox") or "", first / "bin/busybox")
    needed = _said("modprobe", "-d", folder, "-S", version, "--show-depends", "-a", *_FIRST_MODULES).splitlines()
    paths = list(dict.fromkeys(line.split()[1] for line in needed if line.startswith("insmod ")))
    for path in paths:
        shutil.copy(path, first / "modules")
    (first / "order").write_text("".join(f"{Path(path).name}\n" for path in paths))
    (first / "init").write_text(_INIT)
    (first / "init").chmod(0o755)
    files = "\n".join(str(path.relative_to(first)) for path in sorted(first.rglob("*")))
    packed = subprocess.run(
        ["cpio", "-o", "-H", "newc", "--quiet"], cwd=first, input=files.encode(), capture_output=True
    )
    (folder / "initrd").write_bytes(packed.stdout)


def run(folder: Path, out: Path, script: str, limit_s: float = 1200) -> str:
    """Boot, run ``script`` as root with ``out`` as ``OUT``, and end; what the script printed."""
    (out / "guest.sh").write_text(f"""export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
ip link set lo up
mkdir -p /lib/modules; mount --bind {folder}/lib/modules /lib/modules
{script}
""")
    argv: list[str | Path] = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-nographic", "-no-reboot"]
    argv += ["-serial", "stdio", "-monitor", "none", "-machine", "q35,accel=tcg", "-m", "2048", "-smp", "2"]
    argv += ["-kernel", next(folder.glob("boot/vmlinuz-*")), "-initrd", folder / "initrd"]
    argv += ["-append", "console=ttyS0 quiet panic=-1"]
    for tag, path, more in (("root", Path("/"), ",readonly=on"), ("out", out, "")):
        argv += ["-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap{more}"]
        argv += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    # A root port as in a real machine, and below it a display device of AMD that QEMU has.
    argv += ["-device", "pcie-root-port,id=below,chassis=1,x-speed=16,x-width=16", "-device", "ati-vga,bus=below"]
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=limit_s, check=False)
    log = out / "log.txt"
    assert log.exists(), ended.stdout[-2000:].decode(errors="replace")
    return log.read_text(encoding="utf-8", errors="replace")
