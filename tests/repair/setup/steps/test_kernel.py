"""Kernel, firmware and parameters of the kernel."""

from __future__ import annotations

import re

import pytest

from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Unknown
from rocdoctor.repair.setup.plan import Verify
from tests.golden.edits import Broken
from tests.install_kit import found as distribution
from tests.machines.files import Files, Program
from tests.repair.setup.desk import desk, gpu, planned
from tests.repair.setup.kit import commands, ids, plan_in, plan_of, step_of

# -- the kernel


def test_a_kernel_that_computes_is_done() -> None:
    found = step_of(plan_of("mi300x-8gpu"), "kernel")
    assert (found.state, found.support) == ("done", "")
    assert "6.8.0-71-generic" in [one.value for one in found.evidence]


def test_the_vendor_asks_for_another_kernel_with_its_processors() -> None:
    advice = step_of(plan_in("strix-halo-ubuntu2404"), "kernel")
    # 6.14 of HWE lacks what AMD asks for, so the step is none to skip although the GPU computes
    assert (advice.state, advice.optional, advice.risk) == ("todo", False, "reboots")
    assert commands(advice) == ["apt update", "apt install linux-generic-hwe-24.04"]
    assert "6.17.0-19" in advice.support and advice.verify is not None and "7.0" in advice.verify.shows
    needed = plan_in("strix-halo-ubuntu2404", driver=False)
    assert not step_of(needed, "kernel").optional
    assert step_of(needed, "driver-amd").state == "waiting"
    for listed in ("6.17.0-1007-oem", "7.0.0-29-generic"):
        assert step_of(plan_in("strix-halo-ubuntu2404", kernel=listed), "kernel").state == "done"
    # one with the patches that AMD's list does not have: a newer one is there, and nobody has to take it
    patched = step_of(plan_in("strix-halo-ubuntu2404", kernel="6.17.0-20-generic"), "kernel")
    assert (patched.state, patched.optional, patched.support) == ("todo", True, "")


def test_no_older_kernel_is_asked_for() -> None:
    newer = step_of(plan_in("strix-halo-ubuntu2404", kernel="7.1.3-070103-generic"), "kernel")
    assert newer.state == "done" and "HWE kernel 7.0" in newer.support


def test_a_kernel_that_amd_wants_patched_is_installed_elsewhere_too() -> None:
    """rdna3-5.rst: 6.18.4 on all other distributions than Ubuntu; Arch has no release that could be older."""
    fedora = step_of(plan_in("strix-halo-fedora42"), "kernel")
    assert (fedora.state, fedora.optional) == ("todo", False) and "Linux 6.18.4 or later" in fedora.support
    assert commands(fedora) == ["dnf upgrade --refresh kernel"]
    # AMD's page says that Fedora 43 has the patches: its kernels from 6.18.4 on, not the one that it came with
    assert install.kernel_floor("gfx1151", "fedora", "43", "6.17.8-300.fc43.x86_64") == "Linux 6.18.4 or later"
    assert install.kernel_floor("gfx1151", "fedora", "43", "6.18.5-200.fc43.x86_64") is None
    newer = step_of(plan_in("strix-halo-fedora42", kernel="6.19.2-200.fc43.x86_64"), "kernel")
    assert newer.state == "done" and "6.18.4" not in newer.support
    for os, kernel, last, risk in (
        ("debian 13", "6.12.41+deb13-amd64", "linux-image-amd64 linux-headers-amd64 firmware-amd-graphics", "reboots"),
        ("arch", "6.16.4-arch1-1", "pacman -Syu", "risky"),
    ):
        halo = gpu("xtx", name="Strix Halo", pci_id="1002:1586", gfx="gfx1151", integrated=True, kfd_node=1)
        step = step_of(planned(desk(halo, os=os, kernel={"release": kernel})), "kernel")
        assert step.state == "todo" and commands(step)[-1].endswith(last) and step.risk == risk
    assert install.kernel_floor("gfx1151", "arch", "", "6.16.4-arch1-1") == "Linux 6.18.4 or later"
    assert install.kernel_floor("gfx1151", "arch", "", "6.18.4-arch1-1") is None


def test_a_card_that_needs_a_packaged_driver_gets_the_kernel_that_amd_lists_first() -> None:
    for case, package, line in (
        ("rx9070xt-ubuntu2404-old-kernel", "linux-generic-hwe-24.04", "7.0"),
        ("xtx-ubuntu2204-fresh", "linux-generic-hwe-22.04", "6.8"),
    ):
        plan = plan_in(case)
        kernel = step_of(plan, "kernel")
        assert (kernel.state, kernel.optional) == ("todo", False) and f"HWE kernel {line}" in kernel.why
        assert commands(kernel)[-1] == f"apt install {package}"
        assert step_of(plan, "driver-amd").state == "waiting"
    listed = plan_in("rx9070xt-ubuntu2404-old-kernel", rocm="7.14.1")
    assert "kernel" not in ids(listed)  # that release is listed with the kernel that runs


def test_an_old_kernel_without_another_driver_is_unknown_and_says_what_would_do() -> None:
    found = step_of(plan_in("rx9070xt-fedora42", driver=False, kernel="6.9.5-200.fc40.x86_64"), "kernel")
    assert (found.state, found.actions) == ("unknown", ())
    assert "gfx1201" in found.why
    assert "Linux 6.11 has it" in found.why  # which the first lines show


def test_no_kernel_is_asked_for_where_a_package_brings_the_driver() -> None:
    assert "kernel" not in ids(plan_in("mi300x-8-ubuntu2204-fresh"))


# -- firmware


def _missing(files: Files) -> None:
    lines = [
        "[    0.000000] Linux version 6.12.41+deb13-amd64 (builder@host) #1 SMP",
        "[    3.1] amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_11_0_0_pfp.bin failed with error -2",
        "[    3.2] amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init",
        "[    3.3] amdgpu 0000:03:00.0: probe with driver amdgpu failed with error -2",
    ]
    files.programs["run dmesg"] = Program("\n".join(lines))


def test_missing_firmware_comes_from_the_package_of_the_distribution() -> None:
    plan = plan_in("xtx-debian13-fresh", files=_missing, driver=False)
    found = step_of(plan, "gpu-firmware")
    assert (found.state, found.risk, found.effective) == ("todo", "reboots", "reboot")
    assert commands(found) == ["apt update", "apt install firmware-amd-graphics", "update-initramfs -u -k all"]
    assert any("non-free-firmware" in note for note in found.notes)
    assert step_of(plan, "driver-amd").state == "waiting"
    red_hat = step_of(plan_in("xtx-rhel10-fresh", files=_missing, driver=False), "gpu-firmware")
    assert commands(red_hat) == ["dnf upgrade linux-firmware", "dracut --regenerate-all --force"]
    arch = step_of(plan_in("xtx-arch-fresh", files=_missing, driver=False), "gpu-firmware")
    assert (arch.state, arch.actions) == ("unknown", ())


def test_a_started_gpu_has_its_firmware() -> None:
    assert step_of(plan_of("mi300x-8gpu"), "gpu-firmware").state == "done"
    assert "gpu-firmware" not in ids(plan_in("xtx-ubuntu2204-fresh"))


# -- parameters


def _translated(machine: Broken) -> None:
    machine.replace("read /proc/cmdline", "iommu=pt", "iommu.passthrough=0")
    for question in machine.host.available():
        if question.startswith("read /sys/bus/pci/devices/") and question.endswith("/iommu_group/type"):
            machine.set(question, "DMA-FQ")


def test_addresses_pass_the_iommu_after_a_restart() -> None:
    plan = plan_of("mi300x-8gpu", _translated)
    found = step_of(plan, "iommu")
    assert (found.state, found.risk, found.effective) == ("todo", "reboots", "reboot")
    files = {action.file: action.lines for action in found.actions if action.file}
    assert files == {
        "/etc/default/grub.d/90-rocdoctor-iommu.cfg": (
            'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT iommu=pt"',
        )
    }
    assert commands(found) == ["update-grub"]
    assert [one.command for one in found.undo] == ["rm -f /etc/default/grub.d/90-rocdoctor-iommu.cfg", "update-grub"]
    assert found.verify == Verify("iommu-translated-p2p")


def test_a_machine_that_is_set_so_is_done() -> None:
    assert step_of(plan_of("mi300x-8gpu"), "iommu").state == "done"
    assert step_of(plan_of("mi300x-8gpu"), "numa-balancing").state == "done"
    assert not {"iommu", "numa-balancing"} & set(ids(plan_of("rx9070xt")))


def test_numa_balancing_is_switched_off_now_and_at_every_start() -> None:
    found = step_of(
        plan_of("mi300x-8gpu", lambda machine: machine.set("read /proc/sys/kernel/numa_balancing", "1")),
        "numa-balancing",
    )
    assert (found.state, found.risk, found.effective, found.optional) == ("todo", "safe", "now", True)
    assert found.actions[0].lines == ("kernel.numa_balancing=0",)
    assert commands(found) == ["sysctl -p /etc/sysctl.d/90-rocdoctor-kernel-numa-balancing.conf"]


@pytest.mark.parametrize(
    ("key", "add", "cut"),
    [
        ("ubuntu 24.04", "update-grub", r"sed -i 's/ *\bamdgpu\.dpm=0\b//g' /etc/default/grub"),
        ("debian 12", "update-grub", r"sed -i 's/ *\bamdgpu\.dpm=0\b//g' /etc/default/grub"),
        (
            "rhel 9",
            "grubby --update-kernel=ALL --args=amdgpu.dpm=0",
            "grubby --update-kernel=ALL --remove-args=amdgpu.dpm=0",
        ),
        (
            "fedora",
            "grubby --update-kernel=ALL --args=amdgpu.dpm=0",
            "grubby --update-kernel=ALL --remove-args=amdgpu.dpm=0",
        ),
    ],
)
def test_how_a_distribution_keeps_its_parameters(key: str, add: str, cut: str) -> None:
    import shlex

    one = distribution(key)
    set_it, taken = (
        install.kernel_parameter(one, "amdgpu.dpm=0"),
        install.kernel_parameter(one, "amdgpu.dpm=0", remove=True),
    )
    assert not isinstance(set_it, Unknown) and not isinstance(taken, Unknown)
    assert shlex.join(set_it[0][0].run[-1]) == add
    assert shlex.join(taken[0][0].run[0]) == cut
    assert not any(step.missing for change in (set_it, taken) for steps in change for step in steps)


def test_a_distribution_without_a_row_keeps_its_parameters_in_an_unknown_way() -> None:
    assert isinstance(install.kernel_parameter(distribution("arch"), "iommu=pt"), Unknown)
    assert isinstance(install.kernel_parameter(None, "iommu=pt"), Unknown)
    assert isinstance(install.initramfs(distribution("arch")), Unknown)


def test_a_parameter_is_cut_out_whole_and_alone(tmp_path: object) -> None:
    import subprocess
    from pathlib import Path

    change = install.kernel_parameter(distribution("debian 13"), "amdgpu.ppfeaturemask=0xff", remove=True)
    assert not isinstance(change, Unknown)
    file = Path(str(tmp_path)) / "grub"
    text = (
        'A="quiet amdgpu.ppfeaturemask=0xff splash"\nB="amdgpu.ppfeaturemask=0xffff7fff xamdgpuAppfeaturemask=0xff"\n'
    )
    file.write_text(text)
    subprocess.run([*change[0][0].run[0][:3], str(file)], check=True)
    assert file.read_text() == text.replace(" amdgpu.ppfeaturemask=0xff splash", " splash")


def test_releases_from_one_on() -> None:
    """Each against the comparison of its numbers, around every digit that changes its length."""
    numbers = (0, 1, 3, 4, 5, 9, 10, 17, 18, 19, 99, 100, 118)
    for least in ((6, 18, 4), (6, 9), (10, 0, 0), (6, 17, 19)):
        pattern = install.at_least(".".join(map(str, least)))
        for one in ((a, b, c) for a in (5, 6, 7, 10, 11) for b in numbers for c in numbers):
            release = f"{one[0]}.{one[1]}.{one[2]}-generic"
            assert bool(re.search(pattern, release)) == (one[: len(least)] >= least), (pattern, release)
    oem = install.at_least("6.17.0-19")
    assert [bool(re.search(oem, f"6.17.0-{one}-generic")) for one in (18, 19, 100)] == [False, True, True]


def test_the_undo_of_a_newer_kernel_tells_what_it_leaves() -> None:
    """The package that is removed only follows updates: the kernel that it brought starts on."""
    for case, name in (("rx9070xt-ubuntu2404-old-kernel", "kernel"), ("xtx-ubuntu2404-fresh", "kernel-listed")):
        step = step_of(plan_in(case), name)
        assert step.undo and any("still starts by default" in note and "linux-image" in note for note in step.notes), (
            case
        )
