"""Plans from pasted text and logs: what they do not show is unknown, what they show is used."""

from __future__ import annotations

from rocdoctor.repair.setup.plan import SetupPlan
from rocdoctor.repair.setup.planner import plan
from tests.repair.setup.kit import commands, ids, plan_in, states, step_of
from tests.text_kit import diagnosed


def _read(text: str) -> SetupPlan:
    return plan(diagnosed(text))


def test_a_denied_device_without_a_list_of_gpus_still_gives_the_groups() -> None:
    found = _read(
        "$ rocminfo\nROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n"
        'alice is not member of "render" group, the default DRM access group.\n'
    )
    assert step_of(found, "device-access").actions[0].words == ("usermod", "-a", "-G", "render", "$USER")
    assert "driver-amd" not in ids(found)
    assert any("evidence does not show" in note for note in found.notes)


def test_a_chip_that_the_kernel_refuses_is_not_repaired() -> None:
    found = _read(
        "[    5.1] [drm] amdgpu kernel modesetting enabled.\n"
        "[    5.2] kfd kfd: amdgpu: PITCAIRN not supported in kfd\n"
        "01:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Curacao PRO [1002:6811]\n"
    )
    assert states(found)["rocm"] == "impossible"
    assert "driver-amd" not in ids(found)


def test_a_chip_that_a_newer_kernel_takes_is_not_given_up() -> None:
    found = _read(
        "OS: Ubuntu 24.04.1 LTS\nKernel: 6.8.0-45-generic\n$ dmesg\n"
        "[    5.100000] [drm] amdgpu kernel modesetting enabled.\n"
        "[    5.150000] amdgpu 0000:03:00.0: enabling device (0006 -> 0007)\n"
        "[    5.200000] kfd kfd: amdgpu: GC IP 0c0001 not supported in kfd\n\n$ lspci -nn\n"
        "03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 48 [1002:7550]\n"
    )
    assert states(found)["rocm"] == "unknown"  # whether it is installed was not pasted
    driver = step_of(found, "driver-amd")
    assert "GC IP 0c0001" in driver.why
    assert driver.state == "waiting"
    assert commands(step_of(found, "kernel"))[-1] == "apt install linux-generic-hwe-24.04"


def test_a_slot_without_atomics_is_for_a_person_and_no_warm_restart() -> None:
    found = _read(
        "$ dmesg\n[    5.100000] [drm] amdgpu kernel modesetting enabled.\n"
        "[    5.150000] amdgpu 0000:03:00.0: enabling device (0006 -> 0007)\n"
        "[    5.200000] kfd kfd: amdgpu: skipped device 1002:744c, PCI rejects atomics 509<2090\n\n$ lspci -nn\n"
        "03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [1002:744c]\n"
    )
    driver = step_of(found, "driver-amd")
    assert (driver.state, driver.risk, driver.actions) == ("todo", "manual", ())
    assert "restart" not in ids(found)


def test_a_text_that_says_nothing_gives_a_plan_that_says_so() -> None:
    found = _read("hello, my training is slow\n")
    assert not [step for step in found.steps if step.layer in ("driver", "kernel", "rocm", "access")]
    assert any("evidence does not show" in note for note in found.notes)


def test_a_driver_that_is_not_in_the_evidence_is_unknown() -> None:
    found = _read("GPU: RX 7900 XTX\nOS: Ubuntu 24.04\n")
    assert states(found)["driver-amd"] == "unknown"
    assert "lspci -k" in step_of(found, "driver-amd").why
    assert states(found)["rocm"] == "unknown"


def test_a_machine_without_evidence_of_its_kernel_is_not_told_to_change_it() -> None:
    assert "kernel" not in ids(_read("GPU: RX 9070 XT\nOS: Fedora 42\n"))
    assert states(plan_in("rx9070xt-fedora42"))["kernel"] == "done"
