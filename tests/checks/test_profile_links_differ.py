from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.evidence import Unknown
from rocdoctor.model.facts import NvLink
from tests.kit import judge, k, nvidia_gpu, states
from tests.pcie_kit import board, link
from tests.profile_kit import against, findings, gpu, verdicts, whole

NAME = "profile-links-differ"


def test_without_a_profile_and_with_its_own() -> None:
    assert states(judge(NAME, whole())) == ["not-applicable"]
    assert states(verdicts(NAME, whole(), whole())) == ["pass"]


def test_fewer_lanes_are_a_warning_with_a_cause_and_more_are_a_note() -> None:
    narrow = against(whole(gpu(0), gpu(1, lanes=8)), whole())
    assert findings(narrow) == [
        (NAME, "gpu 1 (0000:43:00.0)", "warning", "PCIe lanes in use: 16 when the profile was made, 8 now.")
    ]
    found = judge(NAME, narrow)[0].finding
    assert found is not None
    assert found.cause == "pcie-link-degraded"
    wide = findings(against(whole(), whole(gpu(0), gpu(1, lanes=8))))
    assert [one[2] for one in wide] == ["info"]


def test_the_speed_of_an_idle_link_is_unknown_and_of_a_busy_one_a_warning() -> None:
    def slow(busy: int) -> list[str]:
        port = link(16, 16, 2.5, 16.0)
        now = whole(gpu(0), gpu(1, pcie=board(link(16, 16, 2.5, 16.0), port), busy_percent=busy))
        return states(verdicts(NAME, now, whole()))

    assert slow(3) == ["unknown"]
    assert slow(90) == ["fail"]
    slot = findings(against(whole(gpu(0), gpu(1, speed=8.0)), whole()))
    assert "PCIe speed in use: 16 GT/s when the profile was made, 8 GT/s now." in [one[3] for one in slot]


def test_a_lost_xgmi_link_shows_at_both_gpus_and_in_the_groups() -> None:
    then = whole(gpu(0), gpu(1), gpu(2))
    now = replace(then, links=then.links[1:])
    assert [one[1:] for one in findings(against(now, then))] == [
        ("gpu 0 (0000:23:00.0)", "warning", "GPUs reached over XGMI or NVLink: 2 when the profile was made, 1 now."),
        ("gpu 1 (0000:43:00.0)", "warning", "GPUs reached over XGMI or NVLink: 2 when the profile was made, 1 now."),
    ]
    apart = [one for one in findings(against(replace(then, links=()), then)) if one[1] == "machine"]
    assert apart[0][3].endswith("0-2 when the profile was made, none now.")
    assert states(verdicts(NAME, replace(now, links_complete=False), then)) == ["unknown"]


def test_active_nvlinks_are_counted() -> None:
    def linked(active: int) -> tuple[NvLink, ...]:
        return tuple(NvLink(number, number < active) for number in range(18))

    then, now = (whole(nvidia_gpu(0, nvlinks=linked(count))) for count in (18, 16))
    assert [one[2:] for one in findings(against(now, then))] == [
        ("warning", "Active NVLinks: 18 when the profile was made, 16 now.")
    ]
    gap = whole(nvidia_gpu(0, nvlinks=Unknown("nvidia-smi failed")))
    assert states(verdicts(NAME, gap, then)) == ["unknown"]


def test_a_sleeping_gpu_is_unknown() -> None:
    asleep = whole(gpu(0), gpu(1, runtime_status=k("suspended")))
    assert states(verdicts(NAME, asleep, whole())) == ["unknown"]
