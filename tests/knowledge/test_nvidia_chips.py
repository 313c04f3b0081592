"""Compute capabilities by PCI id: single ids from NVIDIA's own lists, and agreement with our profiles."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rocdoctor.knowledge import lookup
from rocdoctor.knowledge.gpus.nvidia_chips import capability_of_device
from rocdoctor.knowledge.gpus.nvidia_vgpus import vgpu_type
from rocdoctor.knowledge.load import load_table


@pytest.mark.parametrize(
    ("device", "capability"),
    [
        ("2191", "7.5"),  # GeForce GTX 1660 Ti
        ("1eb8", "7.5"),  # Tesla T4
        ("1b00", "6.1"),  # TITAN X of Pascal, the first id of its row
        ("1b81", "6.1"),  # GeForce GTX 1070
        ("1ff9", "7.5"),  # Quadro T1000, the last one
        ("15f8", "6.0"),  # Tesla P100
        ("1db1", "7.0"),  # Tesla V100
        ("20B0", "8.0"),  # A100
        ("2684", "8.9"),  # GeForce RTX 4090
        ("2342", "9.0"),  # GH200
        ("2901", "10.0"),  # B200
        ("3182", "10.3"),  # B300
        ("2b85", "12.0"),  # GeForce RTX 5090
        ("2f04", "12.0"),  # GeForce RTX 5070
        ("2e12", "12.1"),  # GB10
        ("102d", "3.7"),  # Tesla K80
        ("13ad", "5.2"),  # between two chips of another capability
        ("13b0", "5.0"),
        ("2981", None),  # GB102: no page names its capability
        ("22bd", None),  # an audio device
        ("0020", None),  # older than any row
        ("ffff", None),
        ("", None),
    ],
)
def test_a_chip_is_told_by_its_id(device: str, capability: str | None) -> None:
    assert capability_of_device(device) == capability


def test_the_rows_follow_each_other_without_overlap() -> None:
    rows = [(int(row["from"], 16), int(row["to"], 16)) for row in load_table("nvidia_chips")["chips"]]
    assert all(first <= last for first, last in rows)
    assert all(one[1] < two[0] for one, two in pairwise(rows))


def test_profiles_say_the_same_of_their_ids() -> None:
    told = [
        (pci.device, one.compute_capability, capability_of_device(pci.device))
        for one in lookup.all_profiles()
        if one.vendor == "nvidia"
        for pci in one.pci
    ]
    assert len(told) > 20 and [row for row in told if row[1] != row[2]] == []


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (("10de:1eb8", "10de:1375"), "T4-16C"),
        (("10de:2330", "10de:16c0"), None),  # an H100 of its own
        (("10de:1eb8", "10de:12a2"), None),  # Tesla T4
        (("10de:20b0", "10de:1463"), None),  # A100-SXM4-80GB: its name ends in a size too
        (("10de:1eb8", "103c:1375"), None),  # another vendor's board
        (("1002:1eb8", "10de:1375"), None),
        (("10de", ""), None),
    ],
)
def test_a_vgpu_is_told_by_both_ids(ids: tuple[str, str], kind: str | None) -> None:
    assert vgpu_type(*ids) == kind
