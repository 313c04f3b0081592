from __future__ import annotations

import pytest

from rocdoctor.model.facts import Cpus
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

NAME = "cpu-governor-powersave"
GPUS = (amd_gpu(), amd_gpu(1))


@pytest.mark.parametrize(
    ("driver", "governor", "found"),
    [
        ("acpi-cpufreq", "powersave", ["info"]),
        ("amd-pstate", "powersave", ["info"]),
        ("acpi-cpufreq", "schedutil", []),
        ("acpi-cpufreq", "performance", []),
        ("amd-pstate-epp", "powersave", []),
        ("intel_pstate", "powersave", []),
    ],
)
def test_powersave_is_slow_with_generic_governors_only(driver: str, governor: str, found: list[str]) -> None:
    cpus = Cpus(governors=k((governor,)), scaling_driver=k(driver))
    assert severities(judge(NAME, machine(*GPUS, cpus=cpus))) == found


def test_laptops_save_power_on_purpose() -> None:
    cpus = Cpus(governors=k(("powersave",)), scaling_driver=k("acpi-cpufreq"))
    assert states(judge(NAME, machine(*GPUS, cpus=cpus, laptop=k(True)))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu(), cpus=cpus))) == ["not-applicable"]


def test_an_unread_driver_is_unknown() -> None:
    assert states(judge(NAME, machine(*GPUS, cpus=Cpus(governors=k(("powersave",)))))) == ["unknown"]
    assert states(judge(NAME, machine(*GPUS, cpus=Cpus(governors=u())))) == ["unknown"]
