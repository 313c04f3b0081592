from __future__ import annotations

import pytest

from rocdoctor.model.facts import Kernel, Machine
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states

NAME = "ppfeaturemask-overdrive"


def host(mask: str, taint: int = 0) -> Machine:
    return machine(amd_gpu(), kernel=Kernel(module_parameters={"amdgpu": {"ppfeaturemask": mask}}, taint=k(taint)))


@pytest.mark.parametrize("mask", ["0xfff7bfff", "0xffffffff", "0xfffd7fff", "4294967295", "-1", "junk"])
def test_the_default_and_the_masks_of_desktops_are_healthy(mask: str) -> None:
    assert states(judge(NAME, host(mask))) == ["pass"]


def test_missing_power_management_is_a_note() -> None:
    (verdict,) = judge(NAME, host("0xfff7bffd"))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "memory clock" in verdict.finding.message
    assert "graphics clock" not in verdict.finding.message


def test_overdrive_counts_where_the_kernel_marks_itself_for_it() -> None:
    assert severities(judge(NAME, host("0xffffffff", taint=4))) == ["info"]
    assert severities(judge(NAME, host("0xfff7bfff", taint=4))) == []


def test_the_command_line_tells_where_the_module_does_not() -> None:
    kernel = Kernel(parameters=k({"amdgpu.ppfeaturemask": "0xfff7bffe"}), cmdline=k("amdgpu.ppfeaturemask=0xfff7bffe"))
    assert severities(judge(NAME, machine(amd_gpu(), kernel=kernel))) == ["info"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu()))) == ["not-applicable"]
