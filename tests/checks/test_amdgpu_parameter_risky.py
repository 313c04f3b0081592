from __future__ import annotations

from rocdoctor.model.facts import Kernel, Machine
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states

NAME = "amdgpu-parameter-risky"


def host(gpus: int = 1, **values: str) -> Machine:
    return machine(*(amd_gpu(index) for index in range(gpus)), kernel=Kernel(module_parameters={"amdgpu": values}))


def test_defaults_and_tuning_pass() -> None:
    of = host(gpu_recovery="-1", cwsr_enable="1", sched_policy="0", ip_block_mask="4294967295", noretry="0", aspm="0")
    assert states(judge(NAME, of)) == ["pass"]


def test_a_debugging_switch_is_a_warning_with_its_effect() -> None:
    (verdict,) = judge(NAME, host(gpu_recovery="0"))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "gpu_recovery is 0" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.effective == "reboot"


def test_copies_between_gpus_need_several() -> None:
    assert severities(judge(NAME, host(pcie_p2p="N"))) == []
    assert severities(judge(NAME, host(2, pcie_p2p="N"))) == ["warning"]


def test_the_command_line_counts_where_the_module_does_not_show_it() -> None:
    kernel = Kernel(parameters=k({"amdgpu.dpm": "0", "quiet": ""}), cmdline=k("amdgpu.dpm=0 quiet"))
    (verdict,) = judge(NAME, machine(amd_gpu(), kernel=kernel))
    assert verdict.finding is not None
    assert "dpm is 0" in verdict.finding.message
    assert verdict.finding.evidence[0].value == "amdgpu.dpm=0"


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu()))) == ["not-applicable"]
