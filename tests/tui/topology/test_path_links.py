"""What a drawing says beside its parts: the narrowest limb, findings, numbers, network cards."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from rocdoctor.judging.check import About, finding, quote
from rocdoctor.judging.gpu_standing import about
from rocdoctor.model.facts import Container, Gpu, LinkState, Nic
from rocdoctor.model.finding import Diagnosis, Verdict
from rocdoctor.model.subject import MACHINE, Subject
from rocdoctor.tui.topology.path_links import limbs, narrowest_limb
from tests.golden.edits import Broken
from tests.golden.replay import judged, judged_fixture
from tests.kit import amd_gpu, k, machine, u
from tests.pcie_kit import board, hop, link, path
from tests.tui.topology.topology_kit import details, drawn, facts_drawn, limbs_drawn

# -- the narrowest limb


def _switched(root: LinkState, slot: LinkState, index: int = 0, **changes: object) -> Gpu:
    above = (hop("0000:00:01.1", root), hop("0000:01:00.0", root, "1000", "c030"))
    return amd_gpu(index, pcie=path(slot, *above, hop(f"0000:02:{index:02x}.0", slot, "1000", "c030")), **changes)


@pytest.mark.parametrize(
    ("root", "slot", "place", "word"),
    [
        (link(8), link(16), 0, "narrowest"),
        (link(16), link(4), 1, "narrowest"),
        (link(16, 16, 16.0, 16.0), link(16, 16, 8.0, 8.0), 1, "narrowest"),
        (link(16), link(16, 16, 2.5, 16.0), 1, "narrowest now"),
        (link(8, 16), link(16, 16, 2.5, 16.0), 1, "narrowest now"),
        (link(16), link(8, 16, 2.5, 16.0), 1, "narrowest"),
        (link(16), link(16), None, ""),
        (link(16), link(None), None, ""),
        (link(16), link(16, 16, None, None), None, ""),
    ],
    ids=["uplink", "slot", "generation", "idle", "idle-lanes", "idle-and-narrow", "equal", "no-width", "no-speed"],
)
def test_the_narrowest_limb_is_the_one_that_carries_least(
    root: LinkState, slot: LinkState, place: int | None, word: str
) -> None:
    gpu = _switched(root, slot)
    of = machine(gpu)
    found = narrowest_limb(of, gpu)
    assert (found is None) == (place is None)
    drawn_words = [line for line in facts_drawn(of) if re.search(r"\]─ narrowest", line)]
    if found is None or place is None:
        assert not drawn_words
        return
    assert (found[0], found[1]) == (limbs(gpu)[place], word)
    (line,) = drawn_words
    assert line.endswith(f"]─ {word}")
    assert ("root port" in line) == (place == 0)


def test_a_gpu_with_a_link_that_is_not_known_says_what_was_compared() -> None:
    root = hop("0000:00:01.1", link(8)), hop("0000:01:00.0", link(8), "1000")
    mid = hop("0000:02:00.0", link(None, None, None, None)), hop("0000:03:00.0", link(None, None, None, None), "1000")
    gpu = amd_gpu(pcie=path(link(16), *root, *mid, hop("0000:04:00.0", link(16), "1000")))
    found = narrowest_limb(machine(gpu), gpu)
    assert found is not None
    assert found[1] == "narrowest of those known"
    assert found[0].upper is not None
    assert found[0].upper.bdf == "0000:00:01.1"


def test_of_equals_the_one_nearest_to_the_cpu_is_the_narrowest() -> None:
    ends = [(4, "0000:00:01.1"), (4, "0000:01:00.0"), (16, "0000:02:00.0"), (16, "0000:03:00.0"), (4, "0000:04:00.0")]
    gpu = amd_gpu(pcie=path(link(4), *(hop(bdf, link(width), "1000") for width, bdf in ends)))
    found = narrowest_limb(machine(gpu), gpu)
    assert found is not None
    assert found[0].upper is not None
    assert found[0].upper.bdf == "0000:00:01.1"


def test_links_inside_a_card_and_those_of_guests_and_enclosures_are_never_the_narrowest() -> None:
    card = amd_gpu(pcie=board(link(16), inside=link(1, 1, 2.5, 2.5)), pci_id="1002:744c", gfx="gfx1100")
    assert narrowest_limb(machine(card), card) is None
    gpu = _switched(link(4), link(16))
    assert narrowest_limb(machine(gpu), gpu) is not None
    guest = machine(gpu, container=Container(virtual_machine=k("kvm")))
    assert narrowest_limb(guest, gpu) is None
    assert "In a kvm guest the hypervisor decides what the link reports." in facts_drawn(guest)
    other = machine(gpu, container=Container(virtual_machine=k("unknown hypervisor")))
    assert "In an unknown hypervisor guest the hypervisor decides what the link reports." in facts_drawn(other)
    outside = replace(gpu, pcie=replace(gpu.pcie, removable=k("removable")))
    assert narrowest_limb(machine(outside), outside) is None
    asleep = replace(gpu, runtime_status=k("suspended"))
    assert narrowest_limb(machine(asleep), asleep) is None


def test_a_shared_limb_names_the_gpus_for_which_it_is_the_narrowest() -> None:
    of = machine(_switched(link(8), link(16), 0), _switched(link(8), link(4), 1))
    lines = facts_drawn(of)
    (shared,) = [line for line in lines if "root port" in line]
    assert shared.endswith("─[16 GT/s x8, could be 16 GT/s x16]─ narrowest for gpu 0")
    (own,) = [line for line in lines if "x4" in line]
    assert own.endswith("─[16 GT/s x4, could be 16 GT/s x16]─ narrowest")
    assert any("switch 0000:01:00.0 (one link for gpu 0-1)" in line for line in lines)


# -- findings


def _narrow() -> Diagnosis:
    broken = Broken("mi300x-8gpu")
    for folder in ("bus/pci/devices/0000:68:00.0", "bus/pci/devices/0000:6a:00.0", "class/drm/card4/device"):
        broken.set(f"read /sys/{folder}/current_link_width", "4")
    return judged(broken.host)


def test_a_finding_stands_beside_the_limb_that_it_is_about_and_nowhere_else() -> None:
    diagnosis = _narrow()
    lines = drawn(diagnosis, 200)
    (at,) = [number for number, line in enumerate(lines) if "warning: pcie-link-narrow" in line]
    assert lines[at].endswith("─[32 GT/s x4, could be 32 GT/s x16]─ narrowest; warning: pcie-link-narrow")
    assert "gpu 3 0000:6a:00.0" in lines[at + 1]
    assert limbs_drawn(lines) == Counter({"32 GT/s x16": 15, "32 GT/s x4, could be 32 GT/s x16": 1})
    page = "\n".join(details(diagnosis, 3))
    assert "warning: pcie-link-narrow The PCIe link of this GPU has a width of x4" in page
    assert "│ 32 GT/s x4, could be 32 GT/s x16, rate of PCIe 5.0, 15.8 GB/s (narrowest)" in page
    assert "pcie-link-narrow" not in "\n".join(details(diagnosis, 2))


def test_a_finding_about_a_gpu_stands_beside_the_gpu() -> None:
    broken = Broken("mi300x-8gpu").set("read /sys/class/drm/card4/device/ras/umc_err_count", "ue: 3\nce: 118\nde: 0")
    lines = drawn(judged(broken.host), 200)
    (line,) = [line for line in lines if "ras-uncorrectable" in line]
    assert line.startswith("   ├──[32 GT/s x16]─ gpu 3 0000:6a:00.0 ")
    assert line.endswith(" error: ras-uncorrectable")


def test_findings_of_gpus_without_an_address_are_told_apart_by_number() -> None:
    far = (Subject("gpu", 12), Subject("gpu", 3))
    said = finding("warning", "Two are far apart.", evidence=[quote("run x", "gpu 1")], about=About(subjects=far))
    verdicts = [Verdict("far-gpu", MACHINE, "fail", said)]
    gpus = [amd_gpu(index, bdf=u()) for index in (1, 3, 12)]
    assert [about(verdicts, gpu) != [] for gpu in gpus] == [False, True, True]


# -- numbers and partitions


def test_partitions_are_one_line_with_their_numbers() -> None:
    diagnosis = judged_fixture("mi300x-8gpu-cpx")
    lines = drawn(diagnosis, 200)
    (line,) = [line for line in lines if "0000:2a:00.0" in line]
    assert line.endswith("CPX/NPS4 (8 partitions of 24 GiB: HIP 8-15, torch and smi from 8)")
    assert "part 7: HIP 15, KFD node 17, renderD143, 38 compute units, 24 GiB" in "\n".join(details(diagnosis, 1))


def test_numbers_of_tools_stand_there_where_they_differ() -> None:
    lines = drawn(judged_fixture("mi210-slurm-2of8"), 200)
    assert [line.split(" (")[-1] for line in lines if "HIP" in line] == ["HIP 0, torch 0)", "HIP 1, torch 1)"]
    assert "HIP" not in "".join(drawn(judged_fixture("mi300x-8gpu"), 200))


def test_hip_numbers_of_partitions_are_left_out_where_hip_is_renumbered() -> None:
    of = judged_fixture("mi300x-8gpu-cpx").machine
    hidden = replace(of, gpus=tuple(replace(gpu, hip_index=u("HIP_VISIBLE_DEVICES is set")) for gpu in of.gpus))
    (line,) = [line for line in facts_drawn(hidden) if "0000:2a:00.0" in line]
    assert line.endswith("(8 partitions of 24 GiB: torch and smi from 8)")


# -- network cards


def test_network_cards_hang_at_the_switch_that_they_share_with_a_gpu() -> None:
    lines = facts_drawn(judged_fixture("h100-8gpu").machine)
    at = next(number for number, line in enumerate(lines) if "nic mlx5_1" in line)
    assert "gpu 2 " in lines[at - 1]
    assert "switch 0000:4b:00.0" in lines[at - 2]
    page = details(judged_fixture("h100-8gpu"), 2)
    cards = page[page.index("network cards") + 1 :][:4]
    assert [line.split(";")[1].strip() for line in cards] == [
        "both behind 0000:4b:00.0",
        "same NUMA node 0",
        "NUMA node 1, distance 21",
        "NUMA node 1, distance 21",
    ]


def test_a_card_hangs_at_the_lowest_of_several_switches() -> None:
    above = [hop(f"0000:0{at}:00.0", vendor="1000") for at in range(5)]
    cards = tuple(
        Nic(f"mlx5_{at}", "roce", bridges=k((*(one.bdf for one in above[:at]), "0000:09:00.0"))) for at in (1, 2, 3, 4)
    )
    lines = facts_drawn(replace(machine(amd_gpu(pcie=path(link(), *above))), network=cards))
    places = {found[1]: line.index("nic") for line in lines if (found := re.search(r"nic (mlx5_\d)", line))}
    assert places == {"mlx5_1": 3, "mlx5_2": 6, "mlx5_3": 6, "mlx5_4": 9}


def test_a_card_whose_bridges_are_not_known_stands_at_its_numa_node() -> None:
    of = judged_fixture("h100-8gpu").machine
    lines = facts_drawn(replace(of, network=tuple(replace(nic, bridges=u()) for nic in of.network)))
    assert [line[:2] for line in lines if "nic mlx5" in line] == ["├─", "└─", "├─", "└─"]
