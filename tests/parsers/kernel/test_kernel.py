"""Kernel texts: samples constructed after Linux 5.15 to 6.8, kmod 30, DKMS 2 and 3, mokutil 0.6."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.kernel import kernel_modules
from rocdoctor.parsers.kernel import running_kernel as kernel

CMDLINE = (
    "BOOT_IMAGE=/vmlinuz-6.8.0 root=UUID=1 ro quiet amd_iommu=on iommu=pt pci=noacs pci=realloc=off,nommconf "
    "amdgpu.ppfeaturemask=0xffffffff amdgpu.vm-fragment-size=9 amdgpu.ppfeaturemask=0xfff7ffff "
    'dyndbg="file amdgpu* +p; x" modprobe.blacklist=nouveau,snd-hda -- init=/x amdgpu.dpm=0'
)


def test_cmdline() -> None:
    line = kernel.parse_cmdline(CMDLINE)
    assert (line.get("iommu"), line.get("amd_iommu"), line.get("quiet")) == ("pt", "on", None)
    assert line.options("pci") == ("noacs", "realloc=off", "nommconf")
    assert line.get("dyndbg") == "file amdgpu* +p; x"
    assert line.blacklisted_modules() == ("nouveau", "snd_hda")
    assert kernel.parse_cmdline("").parameters == ()


def test_version() -> None:
    proc = kernel.parse_version(
        "Linux version 6.8.0-45-generic (buildd@lcy02) (x86_64-linux-gnu-gcc-13 (Ubuntu 13.2.0) 13.2.0, GNU ld 2.42) "
        "#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024\n"
    )
    assert proc is not None
    assert proc.release == "6.8.0-45-generic"
    assert "lcy02" not in repr(proc)
    uname = kernel.parse_version(
        "$ uname -a\nLinux node7 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC Wed 2024 x86_64 x86_64 x86_64 GNU/Linux\n"
    )
    assert uname is not None and "node7" not in repr(uname)
    assert (uname.release, uname.machine, uname.line) == ("5.14.0-427.el9.x86_64", "x86_64", 2)
    bare = kernel.parse_version("6.1-rc3\n")
    assert bare is not None
    assert kernel.parse_version("hello") is None


def test_secure_boot() -> None:
    assert kernel.parse_mokutil("SecureBoot enabled\n").enabled is True
    off = kernel.parse_mokutil("SecureBoot disabled\nPlatform is in Setup Mode\n")
    assert off.enabled is False
    legacy = kernel.parse_mokutil("EFI variables are not supported on this system\n")
    assert legacy.enabled is None
    assert kernel.parse_mokutil("").enabled is None
    assert kernel.secure_boot_variable(b"\x06\0\0\0\x01") is True
    assert kernel.secure_boot_variable(b"\x06\0\0\0\0") is False
    assert kernel.secure_boot_variable(b"\x01") is None


def test_sysctl() -> None:
    found = kernel.parse_sysctl("# note\nkernel.numa_balancing = 1\nnet/ipv4/tcp_rmem = 4096 87380\nvm.swappiness=60\n")
    assert found.values == {
        "kernel.numa_balancing": "1",
        "net.ipv4.tcp_rmem": "4096 87380",
        "vm.swappiness": "60",
    }
    assert found.lines["kernel.numa_balancing"] == 2


PROC_MODULES = """\
amdgpu 19542016 21 - Live 0x0000000000000000 (OE)
amdttm 110592 1 amdgpu, Live 0x0000000000000000 (OE)
nvme 61440 2 - Live 0x0000000000000000
"""
LSMOD = """\
Module                  Size  Used by
amdgpu              19542016  21
drm_kms_helper        274432  4 drm_display_helper,amdgpu
nvidia              56807424  0 [permanent]
"""


def test_modules() -> None:
    for text, names in ((PROC_MODULES, PROC_MODULES.splitlines()), (LSMOD, LSMOD.splitlines()[1:])):
        assert kernel_modules.parse_modules(text) == tuple(line.split()[0] for line in names)
    assert kernel_modules.parse_modules("Error: could not get list of modules: No such file or directory\n") == ()


def test_modprobe() -> None:
    rules = kernel_modules.parse_modprobe(
        "# blacklist radeon\nblacklist snd-hda-intel\n"
        "options amdgpu ppfeaturemask=0xfff7ffff \\\n  noretry=0 sg-display\n"
        "install amdgpu /bin/false\ninstall nouveau modprobe --ignore-install nouveau\nalias pci:v* amdgpu\nfoo bar\n"
    )
    black, options, install, wrapper, alias = rules
    assert (black.module, black.line, black.blocks) == ("snd_hda_intel", 2, True)
    assert options.options == {"ppfeaturemask": "0xfff7ffff", "noretry": "0", "sg_display": None}
    assert (install.blocks, install.line, wrapper.blocks, alias.kind) == (True, 5, False, "alias")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "amdgpu/6.10.5-2084815.24.04, 6.8.0-48-generic, x86_64: installed (original_module exists)",
            ("amdgpu", "6.10.5-2084815.24.04", "6.8.0-48-generic", "x86_64", "installed"),
        ),
        (
            "amdgpu, 5.16.9.22.20-1438746~20.04, 5.15.0-91-generic, x86_64: installed",
            ("amdgpu", "5.16.9.22.20-1438746~20.04", "5.15.0-91-generic", "x86_64", "installed"),
        ),
        ("nvidia/550.120: added", ("nvidia", "550.120", None, None, "added")),
    ],
)
def test_dkms_status(line: str, expected: tuple[str | None, ...]) -> None:
    (entry,) = kernel_modules.parse_dkms_status("\n" + line + "\n")
    assert (entry.module, entry.version, entry.kernel, entry.arch, entry.state) == expected


def test_module_names() -> None:
    assert kernel_modules.module_name("snd-hda-intel.ko.zst") == "snd_hda_intel"


def test_short_uname_and_plain_secure_boot() -> None:
    short = kernel.parse_version("Linux 6.8.0-45-generic\n")
    assert short is not None and short.release == "6.8.0-45-generic"
    assert kernel.parse_version("kernel 6.8.0-45-generic\n") is None
