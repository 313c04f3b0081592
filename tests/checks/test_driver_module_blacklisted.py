from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Kernel, Machine
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

OTHERS = frozenset({"ext4"})
FILE = {"amdgpu": "/etc/modprobe.d/blacklist-amdgpu.conf"}


def _machine(driver: Any = None, **kernel: Any) -> Machine:
    return machine(amd_gpu(driver=driver), kernel=Kernel(**kernel))


def test_a_file_and_the_command_line_are_named() -> None:
    (verdict,) = judge(
        "driver-module-blacklisted", _machine(modules_complete=True, modules=k(OTHERS), blacklisted=k(FILE))
    )
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "/etc/modprobe.d/blacklist-amdgpu.conf" in verdict.finding.message
    line = k("root=/dev/sda1 modprobe.blacklist=nouveau,amdgpu quiet")
    (verdict,) = judge("driver-module-blacklisted", _machine(modules_complete=True, modules=k(OTHERS), cmdline=line))
    assert verdict.finding is not None
    assert "modprobe.blacklist=nouveau,amdgpu" in verdict.finding.message


def test_nomodeset_stops_amdgpu_and_not_nvidia() -> None:
    line = k("root=/dev/sda1 nomodeset")
    assert severities(
        judge("driver-module-blacklisted", _machine(modules_complete=True, modules=k(OTHERS), cmdline=line))
    ) == ["error"]
    assert severities(judge("driver-module-blacklisted", _machine(driver=u(), cmdline=line))) == ["warning"]
    nvidia = machine(nvidia_gpu(driver=None), kernel=Kernel(modules_complete=True, modules=k(OTHERS), cmdline=line))
    assert states(judge("driver-module-blacklisted", nvidia)) == ["pass"]


def test_a_guide_that_loads_the_module_by_hand_is_healthy() -> None:
    loaded = k(OTHERS | {"amdgpu"})
    assert states(judge("driver-module-blacklisted", _machine("amdgpu", modules=loaded, blacklisted=k(FILE)))) == [
        "pass"
    ]
    assert states(judge("driver-module-blacklisted", _machine(modules=loaded, blacklisted=k(FILE)))) == ["pass"]
    nouveau = machine(nvidia_gpu(), kernel=Kernel(blacklisted=k({"nouveau": "/etc/modprobe.d/nvidia.conf"})))
    assert states(judge("driver-module-blacklisted", nouveau)) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge("driver-module-blacklisted", _machine(driver=u(), blacklisted=k(FILE)))) == ["unknown"]
    assert states(judge("driver-module-blacklisted", machine())) == ["not-applicable"]
