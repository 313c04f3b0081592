from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.evidence import Unknown
from tests.kit import judge, k, machine, states
from tests.profile_kit import against, findings, gpu, verdicts, whole

NAME = "profile-gpus-differ"


def test_without_a_profile_there_is_nothing_to_judge() -> None:
    found = judge(NAME, whole())
    assert states(found) == ["not-applicable"]
    assert "--profile" in found[0].why


def test_a_machine_is_what_its_own_profile_says() -> None:
    assert states(verdicts(NAME, whole(), whole())) == ["pass"]
    assert states(verdicts(NAME, machine(), machine())) == ["pass"]


def test_a_missing_gpu_is_an_error_that_names_it() -> None:
    found = findings(against(whole(gpu(0)), whole(gpu(0), gpu(1))))
    gone = [one for one in found if one[0] == NAME]
    assert gone == [
        (
            NAME,
            "machine",
            "error",
            "GPUs: 2 when the profile was made, 1 now: AMD Instinct MI210 at 0000:43:00.0 is missing.",
        ),
    ]


def test_of_an_excerpt_a_missing_gpu_is_unknown() -> None:
    part = replace(whole(gpu(0)), gpus_complete=False)
    assert states(verdicts(NAME, part, whole(gpu(0), gpu(1)))) == ["unknown"]
    assert states(verdicts(NAME, replace(machine(), gpus_complete=False), whole())) == ["unknown"]


def test_a_new_gpu_is_a_note() -> None:
    found = [one for one in findings(against(whole(gpu(0), gpu(1)), whole(gpu(0)))) if one[0] == NAME]
    assert [(one[1], one[2]) for one in found] == [("gpu 1 (0000:43:00.0)", "info")]
    assert "new" in found[0][3]


def test_another_chip_or_less_memory_in_the_same_place() -> None:
    other = gpu(1, pci_id="1002:738c", gfx="gfx908", vram_bytes=32 << 30, compute_units=120)
    found = [one[2:] for one in findings(against(whole(gpu(0), other), whole())) if one[0] == NAME]
    assert found == [
        ("warning", "Device id: 1002:740f when the profile was made, 1002:738c now."),
        ("warning", "Gfx target: gfx90a when the profile was made, gfx908 now."),
        ("info", "Compute units: 104 when the profile was made, 120 now."),
        ("warning", "Memory: 64 GiB when the profile was made, 32 GiB now."),
    ]


def test_a_gpu_without_its_driver_is_an_error() -> None:
    found = findings(against(whole(gpu(0), gpu(1, driver=None)), whole()))
    assert found == [
        (NAME, "gpu 1 (0000:43:00.0)", "error", "Kernel driver: amdgpu when the profile was made, none now.")
    ]


def test_cards_that_only_moved_are_notes_of_their_addresses() -> None:
    moved = whole(gpu(0, bdf="0000:24:00.0"), gpu(1, bdf="0000:44:00.0"))
    found = findings(against(moved, whole()))
    assert [(one[0], one[2]) for one in found] == [(NAME, "info"), (NAME, "info")]
    assert found[0][3] == "PCI address: 0000:23:00.0 when the profile was made, 0000:24:00.0 now."
    fewer = findings(against(whole(gpu(0, bdf="0000:24:00.0")), whole()))
    assert "may be another of them" in next(one[3] for one in fewer if one[2] == "error")


def test_another_spelling_of_the_name_is_no_difference_where_the_chip_is_known() -> None:
    named = whole(gpu(0, name="Aldebaran/MI200 [Instinct MI210]"), gpu(1))
    assert findings(against(named, whole())) == []


def test_what_is_not_known_here_is_unknown() -> None:
    found = verdicts(NAME, whole(gpu(0), gpu(1, gfx=Unknown("no KFD here"))), whole())
    assert states(found) == ["unknown"]
    assert "gfx target" in found[0].why
    assert "no KFD here" in found[0].why


def test_tools_that_round_memory_are_no_difference() -> None:
    assert findings(against(whole(gpu(0, vram_bytes=k((64 << 30) - (16 << 20))), gpu(1)), whole())) == []
