"""The driver of AMD GPUs: done, to be loaded, to be installed, built for another kernel, kept away."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.model.evidence import NOT_ASKED, value_or
from rocdoctor.model.facts import LogEvent
from rocdoctor.repair.setup.forms import ansible
from rocdoctor.repair.setup.plan import Step, Verify
from rocdoctor.repair.setup.script import render
from tests.golden.edits import Broken
from tests.kit import event, log
from tests.machines.files import Files
from tests.repair.setup.desk import desk, gpu, planned
from tests.repair.setup.forms.kit import MINE, flat, playbook
from tests.repair.setup.kit import commands, ids, plan_in, plan_of, set_os, states, step_of

KERNEL = "5.15.0-151-generic"


def dkms(kernel: str, version: str = "6.16.13-2278356.22.04") -> object:
    """AMD's driver in the folder of DKMS, built for one kernel."""

    def put(files: Files) -> None:
        folder = f"/var/lib/dkms/amdgpu/{version}"
        files.link(f"{folder}/source", f"/usr/src/amdgpu-{version}")
        files.put(f"{folder}/{kernel}/x86_64/module/amdgpu.ko", "")
        files.link(f"/var/lib/dkms/amdgpu/kernel-{kernel}-x86_64", f"{version}/{kernel}/x86_64")

    return put


def test_a_working_driver_is_done_with_its_evidence() -> None:
    found = step_of(plan_of("mi300x-8gpu"), "driver-amd")
    assert found.state == "done"
    assert "packaged driver 6.14.14" in found.why
    assert "amdgpu 6.14.14" in [one.value for one in found.evidence]
    assert not found.support


def test_the_kernels_own_driver_is_enough_and_what_amd_lists_is_said() -> None:
    step = step_of(plan_of("rx7900xtx-2gpu"), "driver-amd")
    assert step.state == "done"
    assert step.support.startswith("It works. AMD's lists name its packaged driver (amdgpu-dkms)")
    assert not step_of(plan_in("strix-halo-ubuntu2404"), "driver-amd").support


def test_the_package_that_amd_lists_is_offered_where_the_kernels_own_driver_runs() -> None:
    """Once the kernel is one that AMD lists: it is built for the one that runs."""
    server = plan_in("mi300x-8-ubuntu2404-done", driver_release="", rocm="")
    offered = step_of(server, "driver-amd-package")
    assert offered.optional and (offered.state, offered.effective) == ("todo", "reboot")
    assert commands(offered)[-1] == "apt install amdgpu-dkms" and step_of(server, "driver-amd").state == "done"
    # DKMS has no driver of AMD here, so none is to be removed first
    assert not any("remove it first" in note for note in offered.notes)
    torch = step_of(plan_in("mi300x-8-ubuntu2404-done", driver_release="", rocm="", torch=None), "torch")
    assert any("with another driver. AMD's lists name its packaged" in note for note in torch.notes)
    assert not any(note.startswith("Supported") for note in torch.notes)
    assert server.steps.index(offered) > server.steps.index(step_of(server, "checks"))
    assert "dnf install amdgpu-dkms" in commands(step_of(plan_in("xtx-rhel10-fresh"), "driver-amd-package"))
    older = plan_in("xtx-ubuntu2404-fresh")
    assert "driver-amd-package" not in ids(older) and step_of(older, "kernel-listed").optional
    for case in ("mi300x-8-ubuntu2404-done", "strix-halo-ubuntu2404", "xtx-debian13-fresh"):
        assert "driver-amd-package" not in ids(plan_in(case)), case


def test_an_old_package_of_amd_is_replaced_by_the_one_for_the_installed_rocm() -> None:
    """Driver 6.3 with ROCm 7.2: AMD lists 6.4 to 30.30 with it, and asks to take the old package out first."""
    kernel = "6.14.0-29-generic"
    old: dict[str, Any] = {"built": {"amdgpu": "6.3.6-2101897.24.04"}, "built_for": kernel, "driver_release": "6.3.6"}
    plan = plan_in("xtx-ubuntu2404-groups-not-in-session", **old)
    found = step_of(plan, "driver-amd")
    assert (found.state, found.effective) == ("todo", "reboot") and "30.30.3" in found.title
    assert "too old" in found.why
    said = commands(found)
    assert said[:2] == ["apt update", "apt remove amdgpu-dkms"] and said[-1] == "apt install amdgpu-dkms"
    assert not any("remove it first" in one for one in found.notes), "the step does it"
    assert any("does not bring the old driver back (amdgpu/6.3.6" in one for one in found.notes)
    # run again, neither form takes the new driver away: its repository tells that the old one is gone
    (guard,) = [
        one
        for one in render(plan, MINE.subject, MINE.root).splitlines()
        if "file_is /etc/apt/sources.list.d/amdgpu.list" in one and one.strip().startswith("if ")
    ]
    assert "30.30.3" in guard and "has_deb amdgpu-dkms" in guard
    tasks = list(flat(playbook(ansible.render([(plan, MINE)]))[0]["tasks"]))
    (gone,) = [one for one in tasks if one.get("ansible.builtin.apt", {}).get("state") == "absent"]
    look = tasks[tasks.index(gone) - 1]
    assert gone["when"] == f"{look['register']} is changed" and look["check_mode"] is True
    assert look["ansible.builtin.copy"]["dest"] == "/etc/apt/sources.list.d/amdgpu.list"


@pytest.mark.parametrize("case", ["xtx-arch-fresh", "rx9070xt-fedora42", "mi210-8-debian13"])
def test_a_system_that_amd_does_not_list_is_not_held_against_the_kernels_own_driver(case: str) -> None:
    step = step_of(plan_in(case), "driver-amd")
    assert (step.state, step.support) == ("done", "")


def test_loading_the_kernels_own_driver_says_that_amd_lists_another() -> None:
    step = step_of(plan_in("rx9070xt-rhel10"), "driver-amd")
    assert (step.state, step.title) == ("todo", "Load the kernel's own amdgpu driver")
    assert step.support.startswith("AMD's lists name its packaged driver (amdgpu-dkms)")


def test_an_old_kernel_gets_the_packaged_driver_for_exactly_this_release() -> None:
    found = step_of(plan_in("mi300x-8-ubuntu2204-fresh"), "driver-amd")
    assert (found.state, found.risk, found.effective) == ("todo", "reboots", "reboot")
    files = {action.file: action.lines for action in found.actions if action.file}
    assert list(files) == ["/etc/apt/sources.list.d/amdgpu.list"]
    assert " jammy main" in files["/etc/apt/sources.list.d/amdgpu.list"][0]
    assert f"apt install linux-headers-{KERNEL} linux-modules-extra-{KERNEL}" in commands(found)
    assert commands(found)[0] == "apt update"  # old lists name headers that are gone
    assert commands(found)[-1] == "apt install amdgpu-dkms"
    assert "/etc/apt/keyrings/rocm.gpg" in found.changes
    assert "amdgpu-dkms" in found.changes
    assert "apt autoremove amdgpu-dkms" in [action.command for action in found.undo]
    assert found.verify == Verify("gpu-without-driver")
    assert all(action.root for action in found.actions)
    assert "reboot" not in " ".join(commands(found))  # the plan has one restart for all


def test_what_needs_the_driver_waits_for_the_restart_and_packages_do_not() -> None:
    found = states(plan_in("xtx-ubuntu2204-fresh"))
    assert found["restart"] == "waiting"
    assert found["rocm"] == "todo"
    assert found["checks"] == "waiting"


def test_red_hat_gets_its_own_repository_and_headers() -> None:
    found = step_of(plan_in("xtx-rhel9-fresh"), "driver-amd")
    assert any("/el/9.6/main" in line for action in found.actions for line in action.lines)
    assert any("kernel-devel-matched-5.14.0-570.32.1.el9_6.x86_64" in line for line in commands(found))
    assert commands(found)[-1] == "dnf install amdgpu-dkms"


def test_a_kernel_that_knows_the_gpu_only_loads_its_module() -> None:
    debian = step_of(plan_in("xtx-debian12-fresh"), "driver-amd")
    assert commands(debian) == ["apt update", "apt install firmware-amd-graphics", "modprobe amdgpu"]
    assert "non-free-firmware" in debian.notes[0]
    assert [action.command for action in debian.undo] == ["modprobe -r amdgpu"]
    ubuntu = step_of(plan_in("xtx-ubuntu2404-fresh", driver=False), "driver-amd")
    assert commands(ubuntu) == ["apt update", "apt install linux-modules-extra-6.14.0-29-generic", "modprobe amdgpu"]
    newer = plan_in("xtx-ubuntu2404-fresh", driver=False, kernel="7.0.0-22-generic")
    assert commands(step_of(newer, "driver-amd")) == ["modprobe amdgpu"]  # it has no package of extra modules
    assert commands(step_of(plan_in("rx9070xt-rhel10"), "driver-amd")) == ["modprobe amdgpu"]


def test_an_installed_driver_waits_for_its_first_start() -> None:
    fresh = plan_in("xtx-ubuntu2204-fresh", files=dkms(KERNEL))  # type: ignore[arg-type]
    assert (step_of(fresh, "restart").state, fresh.next) == ("todo", step_of(fresh, "device-access"))
    groups = frozenset({"sudo", "video", "render"})
    found = plan_in("xtx-ubuntu2204-fresh", files=dkms(KERNEL), member=groups)  # type: ignore[arg-type]
    driver = step_of(found, "driver-amd")
    assert driver.state == "waiting"
    assert f"amdgpu/6.16.13-2278356.22.04, {KERNEL}, x86_64: installed" in driver.why
    assert not driver.actions
    restart = step_of(found, "restart")
    assert (restart.state, found.next) == ("todo", restart)


def test_a_driver_that_was_built_for_another_kernel_is_built_again() -> None:
    found = plan_in("xtx-ubuntu2204-fresh", files=dkms("5.15.0-119-generic"))  # type: ignore[arg-type]
    driver = step_of(found, "driver-amd")
    assert driver.state == "todo"
    assert commands(driver) == [
        "apt update",
        f"apt install linux-headers-{KERNEL} linux-modules-extra-{KERNEL}",
        "dkms autoinstall",
    ]


def test_a_distribution_without_packages_is_unknown_with_the_vendors_page() -> None:
    found = step_of(plan_in("rx9070xt-fedora42", driver=False, kernel="6.9.5-200.fc40.x86_64"), "driver-amd")
    assert found.state == "unknown"
    assert not found.actions
    assert "rocm.docs.amd.com" in found.notes[0]


def test_a_blacklist_is_taken_out_first_and_nothing_else_of_the_file() -> None:
    found = plan_in("xtx-ubuntu2404-blacklisted")
    assert ids(found).index("driver-unblock") < ids(found).index("driver-amd")
    unblock = step_of(found, "driver-unblock")
    assert unblock.state == "todo"
    assert commands(unblock)[0].endswith("/etc/modprobe.d/blacklist-amdgpu.conf")
    assert unblock.actions[0].words[:2] == ("sed", "-i")
    assert commands(unblock)[1] == "update-initramfs -u -k all"
    assert (states(found)["driver-amd"], states(found)["restart"]) == ("waiting", "waiting")


def test_the_expressions_of_a_blacklist_fit_their_lines_and_undo_themselves(tmp_path: object) -> None:
    import subprocess
    from pathlib import Path

    unblock = step_of(plan_in("xtx-ubuntu2404-blacklisted"), "driver-unblock")
    file = Path(str(tmp_path)) / "a.conf"
    text = "# mine\nblacklist nouveau\n  blacklist amdgpu\ninstall amdgpu /bin/false\nblacklist amdgpu_extra\n"
    file.write_text(text)
    subprocess.run([*unblock.actions[0].words[:3], str(file)], check=True)
    assert file.read_text() == (
        "# mine\nblacklist nouveau\n#   blacklist amdgpu\n# install amdgpu /bin/false\nblacklist amdgpu_extra\n"
    )
    subprocess.run([*unblock.undo[0].words[:3], str(file)], check=True)
    assert file.read_text() == text


def test_a_word_of_the_command_line_is_taken_off_as_the_distribution_keeps_it() -> None:
    ubuntu = step_of(plan_in("xtx-ubuntu2404-nomodeset"), "driver-unblock")
    assert ubuntu.title == "Take nomodeset off the kernel command line"
    assert commands(ubuntu) == [r"sed -i 's/ *\bnomodeset\b//g' /etc/default/grub", "update-grub"]
    fedora = step_of(plan_in("rx9070xt-fedora42", cmdline="rhgb quiet nomodeset"), "driver-unblock")
    assert commands(fedora) == ["grubby --update-kernel=ALL --remove-args=nomodeset"]
    assert [one.command for one in fedora.undo] == ["grubby --update-kernel=ALL --args=nomodeset"]
    arch = step_of(plan_in("xtx-arch-fresh", cmdline="quiet nomodeset"), "driver-unblock")
    assert (arch.state, arch.risk, arch.actions) == ("todo", "manual", ())


def test_a_driver_that_is_built_for_a_kernel_which_amd_does_not_list_says_so() -> None:
    newer = step_of(plan_in("mi300x-8-ubuntu2404-secure-boot", kernel="7.0.0-22-generic"), "driver-amd")
    assert newer.support.startswith(
        "AMD's list for ROCm 10.1 has this card with the GA kernel 6.8, not with 7.0.0-22-generic."
    )
    assert "kernel" not in step_of(plan_in("mi300x-8-ubuntu2404-secure-boot"), "driver-amd").support


def test_a_failed_start_of_the_driver_is_for_a_person() -> None:
    def failed(machine: Broken) -> None:
        machine.unbind("0000:03:00.0", "card0", 1)
        machine.log(
            "[    3.1] amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init",
            "[    3.2] amdgpu 0000:03:00.0: probe with driver amdgpu failed with error -22",
        )

    found = step_of(plan_of("rx7900xtx-raphael", failed), "driver-amd")
    assert (found.state, found.risk, found.actions) == ("todo", "manual", ())
    assert found.verify == Verify("driver-probe-failed")


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([event("kfd-device-added", "kfd kfd: amdgpu: added device 1002:744c", pci_id="1002:744c")], "done"),
        ([event("kfd-device-added", pci_id="1002:1586")], "unknown"),
        ([event("kfd-device-added", pci_id="1002:744c"), event("amdgpu-init-failed")], "unknown"),
        ([event("kfd-device-added", pci_id="1002:744c", before_driver_load=True)], "unknown"),
    ],
    ids=["taken", "another one", "failed", "an earlier load"],
)
def test_a_log_alone_tells_that_the_driver_took_the_gpu(events: list[LogEvent], state: str) -> None:
    told = {"log": log(*events), "modules": NOT_ASKED}
    card = gpu("xtx", driver=NOT_ASKED, kfd_node=NOT_ASKED)
    found = step_of(planned(desk(card, kernel=told)), "driver-amd")
    assert found.state == state
    if state == "done":
        assert [one.value for one in found.evidence] == ["kfd kfd: amdgpu: added device 1002:744c"]


def test_lines_of_the_driver_about_the_gpu_are_said_beside_an_unknown_driver() -> None:
    card = gpu("xtx", driver=NOT_ASKED, kfd_node=NOT_ASKED)
    address = str(value_or(card.bdf, ""))
    line = f"amdgpu {address}: amdgpu: GPU reset begin!"

    def told(text: str) -> Step:
        kernel = {"log": log(event("gpu-reset-begin", text, address)), "modules": NOT_ASKED}
        return step_of(planned(desk(card, kernel=kernel)), "driver-amd")

    found = told(line)
    assert (found.state, [one.value for one in found.evidence]) == ("unknown", [line])
    assert "has lines of amdgpu" in found.why
    assert told(line.replace("amdgpu", "vfio-pci")).why.startswith("The evidence does not show")


@pytest.mark.parametrize("name", ["wsl2-rx7900xtx", "cpu-only-laptop", "h100-8gpu", "r7-240-display"])
def test_machines_without_a_driver_of_amd_to_install(name: str) -> None:
    assert not {"driver-amd", "secure-boot-key", "driver-unblock", "kernel", "gpu-firmware"} & set(ids(plan_of(name)))


def test_the_tables_have_no_driver_for_an_unknown_distribution() -> None:
    found = plan_of("rx7900xtx-raphael", set_os("gentoo", "2.15", "gentoo"))
    assert any("no row for gentoo" in note for note in found.notes)
    assert step_of(found, "driver-amd").state == "done"  # what works, works anywhere


def test_what_red_hat_enables_is_among_the_changes_and_said_to_stay() -> None:
    for case in ("mi300x-8-rhel9-cluster-node", "xtx-rhel9-fresh"):
        for step_id in ("driver-amd", "rocm"):
            found = step_of(plan_in(case), step_id)
            assert {"epel-release", "repository codeready-builder-for-rhel-9-x86_64-rpms"} <= set(found.changes)
            assert not any("https://" in one for one in found.changes)
            assert any("dnf remove epel-release" in note for note in found.notes)
        assert "docs10-pre" in step_of(plan_in(case), "driver-amd").sources, "where the address of EPEL stands"
    assert not any("EPEL" in note for note in step_of(plan_in("xtx-ubuntu2404-fresh"), "rocm").notes)


def test_the_firmware_of_the_board_that_amd_names_is_said_for_instinct_alone() -> None:
    for case, step_id in (("mi300x-8-ubuntu2204-fresh", "driver-amd"), ("mi300x-8-ubuntu2404-done", "gpu-firmware")):
        found = step_of(plan_in(case), step_id)
        assert any("01.26.00.04 (or later) or 01.25.06.05" in note for note in found.notes), case
    for found in (step_of(plan_in("xtx-rhel9-fresh"), "driver-amd"), step_of(plan_of("mi300x-docker"), "gpu-firmware")):
        assert not any("firmware of the board" in note for note in found.notes)


def test_an_old_packaged_driver_that_nothing_replaces_is_done_with_what_speaks_against_it() -> None:
    found = step_of(plan_in("xtx-ubuntu2404-cuda-torch", driver_release="6.3.6"), "driver-amd")
    assert found.state == "done"
    assert "too old for what AMD lists with ROCm 7.2.0" in found.support and "It works" not in found.support
    assert (
        "too old" not in step_of(plan_in("xtx-ubuntu2404-cuda-torch", driver_release="6.16.13"), "driver-amd").support
    )


def _oracle(files: Files) -> None:
    files.put("/etc/os-release", 'ID="ol"\nVERSION_ID="9.6"\nPRETTY_NAME="Oracle Linux Server 9.6"\nID_LIKE="fedora"')


def test_an_oracle_machine_with_the_kernel_of_rhel_gets_the_headers_of_that_kernel() -> None:
    for kernel, package in (
        ("5.14.0-570.32.1.el9_6.x86_64", "kernel-devel"),
        ("6.12.0-100.28.2.el9uek.x86_64", "kernel-uek-devel-6.12.0-100.28.2.el9uek.x86_64"),
    ):
        found = plan_in("mi300x-8-ubuntu2204-fresh", files=_oracle, kernel=kernel)
        headers = [one for one in commands(step_of(found, "driver-amd")) if one.startswith("dnf install kernel")]
        assert len(headers) == 1 and package in headers[0].split(), kernel
        assert ("uek" in headers[0]) == ("uek" in kernel)


def test_with_the_headers_of_a_newer_kernel_it_is_built_for_that_one() -> None:
    """SUSE has headers for the newest kernel only, and DKMS could build nothing for the one that runs."""
    found = plan_in("mi210-8-sles15", files=dkms("6.4.0-150700.1-default", "6.16.13-2278356"))  # type: ignore[arg-type]
    driver = step_of(found, "driver-amd")
    assert commands(driver) == ["zypper install kernel-default kernel-default-devel"]
    assert driver.effective == "reboot" and "starts next" in driver.title


def test_sles_is_told_to_load_what_suse_does_not_support() -> None:
    """SUSE's default refuses such modules: the line stands before the driver and goes with it."""
    found = plan_in("mi210-8-sles15")
    driver = step_of(found, "driver-amd")
    files = [one.file for one in driver.actions]
    allowed = files.index("/etc/modprobe.d/90-rocdoctor-unsupported-modules.conf")
    assert driver.actions[allowed].lines == ("allow_unsupported_modules 1",)
    assert any("amdgpu-dkms" in one.words for one in driver.actions[allowed:])
    assert "rm -f /etc/modprobe.d/90-rocdoctor-unsupported-modules.conf" in [one.command for one in driver.undo]
    assert "modinfo -F supported amdgpu" in driver.support
