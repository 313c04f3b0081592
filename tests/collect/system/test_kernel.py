"""Kernel, modules and drivers; the texts are constructed in the kernel's form."""

from __future__ import annotations

from rocdoctor.collect.gpus.drivers import collect_drivers
from rocdoctor.collect.system.kernel import collect_kernel
from rocdoctor.host.base import Answer, Host
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.model.evidence import Known, Unknown
from rocdoctor.model.facts import Kernel
from tests.collect.hosts import excerpt, tools, whole

_EFI = "read /sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_MODULES = {
    "read /proc/modules": "amdgpu 12345 3 - Live 0x0\n",
    "list /sys/module/*/parameters": "/sys/module/xe/parameters",
}


def _kernel(host: Host) -> Kernel:
    return collect_kernel(host, tools(host))


def test_release_and_command_line() -> None:
    line = 'BOOT_IMAGE=/vmlinuz quiet amdgpu.gttsize=1 iommu=pt modprobe.blacklist=nouveau dyndbg="file a +p"'
    kernel = _kernel(excerpt({"read /proc/sys/kernel/osrelease": "6.8.0-45-generic", "read /proc/cmdline": line}))
    assert isinstance(kernel.release, Known) and kernel.release.value == "6.8.0-45-generic"
    assert isinstance(kernel.parameters, Known) and kernel.parameters.value["quiet"] == ""
    assert kernel.parameters.value["amdgpu.gttsize"] == "1"
    assert isinstance(kernel.iommu_default, Known) and kernel.iommu_default.value == "passthrough"
    assert isinstance(kernel.blacklisted, Known) and kernel.blacklisted.value == {"nouveau": "/proc/cmdline:1"}


def test_excerpts_do_not_prove_absence() -> None:
    kernel = _kernel(excerpt({}))
    for name in (
        "release",
        "modules",
        "blacklisted",
        "modprobe_options",
        "dkms",
        "iommu_groups",
        "secure_boot",
        "taint",
    ):
        assert isinstance(getattr(kernel, name), Unknown), name
    complete = _kernel(whole({}))
    assert isinstance(complete.blacklisted, Known) and complete.blacklisted.value == {}
    assert isinstance(complete.dkms, Known) and complete.dkms.value == ()
    assert isinstance(complete.iommu_groups, Known) and complete.iommu_groups.value == 0


def test_loaded_and_built_in_modules_and_their_versions() -> None:
    kernel = _kernel(whole(_MODULES | {"read /sys/module/xe/version": "1.1.0"}))
    assert isinstance(kernel.modules, Known) and kernel.modules.value == {"amdgpu", "xe"}
    own = kernel.module_versions["amdgpu"]
    assert isinstance(own, Unknown) and own.reason == "absent"
    assert isinstance(kernel.module_versions["xe"], Known)
    assert "nvidia" not in kernel.module_versions


def test_parameters_in_effect_leave_out_what_root_alone_may_read() -> None:
    folder = "/sys/module/amdgpu/parameters"
    host = whole(
        _MODULES
        | {f"list {folder}/*": f"{folder}/noretry\n{folder}/secret", f"read {folder}/noretry": "-1"}
        | {"read /proc/driver/nvidia/params": 'EnableMSI: 1\nRegistryDwords: ""\n'},
        {f"read {folder}/secret": "denied"},
    )
    parameters = _kernel(host).module_parameters
    assert parameters == {"amdgpu": {"noretry": "-1"}, "nvidia": {"NVreg_EnableMSI": "1", "NVreg_RegistryDwords": ""}}


def test_modprobe_files_of_etc_hide_those_of_the_distribution() -> None:
    host = whole(
        {
            "list /etc/modprobe.d/*.conf": "/etc/modprobe.d/gpu.conf",
            "list /usr/lib/modprobe.d/*.conf": "/usr/lib/modprobe.d/gpu.conf",
            "read /etc/modprobe.d/gpu.conf": "# ours\nblacklist radeon\noptions amdgpu noretry=0 dpm=1\n",
            "read /usr/lib/modprobe.d/gpu.conf": "blacklist amdgpu\n",
        }
    )
    kernel = _kernel(host)
    assert isinstance(kernel.blacklisted, Known) and kernel.blacklisted.value == {
        "radeon": "/etc/modprobe.d/gpu.conf:2"
    }
    assert isinstance(kernel.modprobe_options, Known)
    assert kernel.modprobe_options.value == {"amdgpu.noretry": "0", "amdgpu.dpm": "1"}


def test_dkms_folders_are_told_as_the_tool_tells_them() -> None:
    host = whole(
        {
            "list /var/lib/dkms/*/*/source": "/var/lib/dkms/amdgpu/6.8.5/source\n/var/lib/dkms/zfs/2.2/source",
            "list /var/lib/dkms/*/*/*/*/module": "/var/lib/dkms/amdgpu/6.8.5/6.8.0-45-generic/x86_64/module",
            "list /var/lib/dkms/*/kernel-*": "/var/lib/dkms/amdgpu/kernel-6.8.0-45-generic-x86_64",
        }
    )
    dkms = _kernel(host).dkms
    assert isinstance(dkms, Known)
    assert dkms.value == ("amdgpu/6.8.5, 6.8.0-45-generic, x86_64: installed", "zfs/2.2: added")


def test_secure_boot_from_the_firmware_variable() -> None:
    for last, state in ((1, True), (0, False)):
        host = OverlayHost(excerpt({}), {_EFI: Answer(_EFI, "ok", b"\x06\0\0\0" + bytes([last]))})
        fact = _kernel(host).secure_boot
        assert isinstance(fact, Known) and fact.value is state


def test_driver_versions() -> None:
    version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\n"
    host = excerpt({"read /proc/driver/nvidia/version": version, "run rocm-smi": "x"})
    drivers = collect_drivers(host, tools(host), _kernel(host))
    found = drivers["nvidia"]["version"]
    assert isinstance(found, Known) and found.value == "535.54.03"
    assert "amdgpu" not in drivers
    smi = "run amd-smi static"
    text = (
        "GPU: 0\n    DRIVER:\n        NAME: amdgpu\n        VERSION: {}\n        OS_KERNEL_VERSION: 6.8.0-45-generic\n"
    )
    host = excerpt({smi: text.format("6.10.5")})
    kernel = _kernel(host)
    assert isinstance(kernel.release, Known) and kernel.release.value == "6.8.0-45-generic"
    amd = collect_drivers(host, tools(host), kernel)["amdgpu"]["version"]
    assert isinstance(amd, Known) and amd.value == "6.10.5"
    host = excerpt(
        {smi: text.format("6.8.0-45-generic")}
    )  # the driver of the kernel itself: the tool prints its release
    assert "amdgpu" not in collect_drivers(host, tools(host), _kernel(host))
