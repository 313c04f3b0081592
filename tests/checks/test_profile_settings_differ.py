from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import Partition, Power
from tests.kit import environment, judge, k, nvidia_gpu, states, u
from tests.profile_kit import against, findings, gpu, verdicts, whole

NAME = "profile-settings-differ"


def test_without_a_profile_and_with_its_own() -> None:
    assert states(judge(NAME, whole())) == ["not-applicable"]
    assert states(verdicts(NAME, whole(), whole())) == ["pass"]


def test_partition_power_and_level_of_one_gpu() -> None:
    other = gpu(1, partition=Partition(k("CPX"), k("NPS1")), power=Power(cap_w=k(250.0)), performance_level="manual")
    assert [one[1:] for one in findings(against(whole(gpu(0), other), whole()))] == [
        ("gpu 1 (0000:43:00.0)", "warning", "Compute partition mode: SPX when the profile was made, CPX now."),
        ("gpu 1 (0000:43:00.0)", "warning", "Power cap: 300 W when the profile was made, 250 W now."),
        ("gpu 1 (0000:43:00.0)", "info", "Performance level: auto when the profile was made, manual now."),
    ]


def test_a_higher_cap_is_a_note() -> None:
    found = findings(against(whole(), whole(gpu(0), gpu(1, power=Power(cap_w=k(250.0))))))
    assert [one[2] for one in found] == ["info"]


def test_boot_parameters_are_compared_word_by_word_and_only_those_that_matter() -> None:
    now = replace(whole(), kernel=replace(whole().kernel, parameters=k({"iommu": "pt", "root": "UUID=2", "quiet": ""})))
    assert findings(against(now, whole())) == []
    more = replace(now.kernel, parameters=k({"iommu": "pt", "amdgpu.ppfeaturemask": "0xffffffff"}))
    assert [one[2:] for one in findings(against(replace(now, kernel=more), whole()))] == [
        ("warning", "Kernel boot parameters: amdgpu.ppfeaturemask=0xffffffff now, not then."),
    ]


def test_the_iommu_balancing_and_governor() -> None:
    then = whole()
    now = replace(
        then,
        kernel=replace(then.kernel, iommu_default=k("translated")),
        memory=replace(then.memory, numa_balancing=k(True)),
        cpus=replace(then.cpus, governors=k(("powersave",))),
    )
    assert [(one[2], one[3].partition(":")[0]) for one in findings(against(now, then))] == [
        ("warning", "IOMMU mode"),
        ("warning", "Automatic NUMA balancing"),
        ("warning", "CPU frequency governor"),
    ]


def test_nvidia_modes() -> None:
    def card(mig: bool, ecc: bool) -> object:
        return whole(nvidia_gpu(0, mig=mig, ecc_enabled=ecc, performance_level="P8"))

    then, now = card(False, True), card(True, False)
    found = findings(against(now, then))  # type: ignore[arg-type]
    assert [one[3] for one in found] == [
        "MIG mode: off when the profile was made, on now.",
        "ECC: on when the profile was made, off now.",
    ]


def test_variables_are_a_note_and_unknown_in_an_excerpt() -> None:
    now = whole(environment=environment({"NCCL_DEBUG": "INFO", "NCCL_P2P_DISABLE": "1"}))
    assert [one[2:] for one in findings(against(now, whole()))] == [
        ("info", "Environment variables for GPUs: NCCL_P2P_DISABLE=1 now, not then.")
    ]
    assert states(verdicts(NAME, whole(environment=environment({}, complete=False)), whole())) == ["unknown"]
    gap = whole(gpu(0), gpu(1, partition=Partition(u(), k("NPS1"))))
    assert states(verdicts(NAME, gap, whole())) == ["unknown"]
