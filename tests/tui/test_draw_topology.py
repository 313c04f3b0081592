"""Drawings of machines: whole, true to the facts, no wider than asked."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from rocdoctor.check import Verdict, finding, quote
from rocdoctor.diagnose import Diagnosis
from rocdoctor.evidence import Known, value_or
from rocdoctor.facts import Container, Gpu, GpuLink, LinkState, Machine, Nic, NumaNode, Pcie
from rocdoctor.tui.draw.gpu_details import gpu_details
from rocdoctor.tui.draw.limbs import limbs, narrowest_limb
from rocdoctor.tui.draw.link_matrix import alike, cells, matrix_lines
from rocdoctor.tui.draw.noted import about
from rocdoctor.tui.draw.topology import topology
from tests.golden.edits import Broken
from tests.golden.replay import NAMES, judged, judged_fixture
from tests.kit import amd_gpu, k, machine, u
from tests.pcie_kit import board, hop, link, path
from tests.text_kit import TEXTS, diagnosed, header_and_body
from tests.tui.topology_kit import big, limbs_drawn, limbs_expected, plain, words_of

WIDTHS = (60, 80, 120, 200)
_INVENTED = re.compile(r"\bx0\b|\b0 (?:GT|GiB|MiB|bytes|Gb|hops)|None\b|N/A|(?<!\d)-1\b|nan\b|NV0\b")
PASTED = ("lspci-good", "nvidia-smi-good", "rocm-smi-good", "rocminfo-good", "collect-env-rocm", "boot-mi300x-server")


def drawn(diagnosis: Diagnosis, width: int) -> list[str]:
    return plain(topology(diagnosis.machine, diagnosis.verdicts, width).lines)


def details(diagnosis: Diagnosis, index: int, width: int = 100) -> list[str]:
    gpu = next(one for one in diagnosis.machine.gpus if one.index == index)
    return plain(gpu_details(diagnosis.machine, diagnosis.verdicts, gpu, width))


def facts_drawn(of: Machine, width: int = 200) -> list[str]:
    return plain(topology(of, (), width).lines)


# -- every fixture


@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_longer_than_the_width_and_every_width_says_the_same(name: str) -> None:
    diagnosis = judged_fixture(name)
    said = set()
    for width in WIDTHS:
        lines = drawn(diagnosis, width)
        assert max(cell_len(line) for line in lines) <= width
        end = lines.index("GPU to GPU") if "GPU to GPU" in lines else len(lines)
        said.add(words_of(lines[:end]))
        for gpu in diagnosis.machine.gpus:
            assert max(cell_len(line) for line in details(diagnosis, gpu.index, width)) <= width
    assert len(said) == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_gpu_and_network_card_stands_once_in_the_section_of_its_numa_node(name: str) -> None:
    of = judged_fixture(name).machine
    lines = facts_drawn(of)
    devices: list[Gpu | Nic] = [*of.gpus, *of.network]
    for one in devices:
        named = f"gpu {one.index} " if isinstance(one, Gpu) else f"nic {one.name} "
        (at,) = [number for number, line in enumerate(lines) if f" {named}{value_or(one.bdf, '?')} " in line]
        head = next(line for line in reversed(lines[:at]) if not line.startswith(("├", "└", "│", " ")))
        node = value_or(one.numa_node, None)
        if node is None and len(of.numa_nodes) == 1:
            node = of.numa_nodes[0].node
        expected = f"NUMA node {node} " if node is not None else "No NUMA node: firmware states no affinity"
        assert head.startswith(expected)


@pytest.mark.parametrize("name", NAMES)
def test_the_limbs_have_the_figures_of_the_facts(name: str) -> None:
    of = judged_fixture(name).machine
    assert limbs_drawn(facts_drawn(of)) == limbs_expected(of)


@pytest.mark.parametrize("name", NAMES)
def test_lines_tell_which_gpu_they_are_about(name: str) -> None:
    of = judged_fixture(name).machine
    drawing = topology(of, (), 80)
    assert len(drawing.lines) == len(drawing.gpus)
    for gpu in of.gpus:
        own = words_of(
            [line.plain for line, part in zip(drawing.lines, drawing.gpus, strict=True) if part == gpu.index]
        )
        assert f"gpu{gpu.index}{value_or(gpu.bdf, '?')}" in own
        first = drawing.line_of(gpu.index)
        assert first is not None
        assert drawing.gpus[first] == gpu.index


@pytest.mark.parametrize("name", NAMES)
def test_a_healthy_machine_has_no_limb_that_is_called_a_fault(name: str) -> None:
    lines = drawn(judged_fixture(name), 200)
    assert not [line for line in lines if re.search(r"(?:error|warning): pcie", line)]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_known_is_never_a_number(name: str) -> None:
    diagnosis = judged_fixture(name)
    said = "\n".join(drawn(diagnosis, 120))
    said += "\n".join(line for gpu in diagnosis.machine.gpus for line in details(diagnosis, gpu.index))
    assert not _INVENTED.findall(said)


# -- what is not known


def test_gpus_of_which_nothing_is_known_are_drawn_as_such() -> None:
    bare = Machine(gpus=(Gpu(0, "amd"), Gpu(1, "nvidia")), network=(Nic("ib0", "infiniband"),))
    lines = facts_drawn(bare)
    said = "\n".join(lines)
    assert lines[2] == "NUMA nodes: not in this evidence"
    assert "├─ nic ib0 (address not known) InfiniBand, speed not known, state not known" in lines
    assert "└─ path not known: the bridges above are not in this evidence" in lines
    assert "   ├─ gpu 0 (address not known) AMD GPU, memory not known" in lines
    assert "How the GPUs reach each other is not in this evidence." in lines
    assert not _INVENTED.findall(said)
    assert "GT/s" not in said
    page = "\n".join(plain(gpu_details(bare, (), bare.gpus[0], 80)))
    assert "HIP not known, torch not known, smi not known" in page
    assert "the bridges above it are not in this evidence" in page
    assert not _INVENTED.findall(page)


def test_a_machine_without_gpus_and_nodes_is_drawn() -> None:
    assert facts_drawn(Machine())[2:5] == ["NUMA nodes: not in this evidence", "", "No GPU is in this evidence."]


@pytest.mark.parametrize("name", PASTED)
def test_pasted_texts_are_drawn_with_what_they_say(name: str) -> None:
    diagnosis = diagnosed(header_and_body(TEXTS / "healthy" / f"{name}.txt")[1])
    lines = drawn(diagnosis, 80)
    assert "NUMA nodes: not in this evidence" in lines
    assert "└─ path not known: the bridges above are not in this evidence" in lines
    assert len(diagnosis.machine.gpus) == len([line for line in lines if re.match(r"   [├└]─ gpu \d ", line)])
    assert not _INVENTED.findall("\n".join(lines))


def test_no_affinity_and_an_unknown_node_are_told_apart() -> None:
    nodes = (NumaNode(0, k("0-7"), k(1 << 30), k((10, 20))), NumaNode(1, k("8-15"), u(), u()))
    of = machine(amd_gpu(0, numa_node=None), amd_gpu(1, numa_node=u("denied here")), amd_gpu(2, numa_node=7))
    lines = facts_drawn(replace(of, numa_nodes=nodes))
    heads = [line for line in lines if re.match(r"N(UMA|o)", line)]
    assert heads[:5] == [
        "NUMA node 0 CPUs 0-7; 1 GiB; distance 10 to itself, 20 to node 1",
        "NUMA node 1 CPUs 8-15; memory not known; distances not known",
        "NUMA node 7 (CPUs and memory not known)",
        "No NUMA node: firmware states no affinity",
        "NUMA node not known: denied here",
    ]


def test_a_part_of_a_path_and_a_part_of_a_link_are_said_to_be_parts() -> None:
    port = hop("0000:02:00.0", link(None, None, 16.0, None))
    of = machine(amd_gpu(pcie=replace(path(link(16, 16, None, 16.0), port), path_complete=False)))
    (line,) = [line for line in facts_drawn(of) if "gpu 0" in line]
    assert "port 0000:02:00.0 (what is above is not known) ─[16 GT/s x16]─ gpu 0" in line
    of = machine(amd_gpu(pcie=path(link(16, None, None, None), hop("0000:00:01.1", link(None, None, None, None)))))
    assert "─[x16, speed not known, limit not known]─" in "".join(facts_drawn(of))
    of = machine(amd_gpu(pcie=path(link(16), hop("0000:00:01.1", link(8, 8)))))
    assert "─[16 GT/s, ends disagree on the lanes, could 16 GT/s x8]─" in "".join(facts_drawn(of))
    assert "the two ends of the PCIe link report a different width" in "\n".join(
        plain(gpu_details(of, (), of.gpus[0], 90))
    )


def test_names_from_outside_drive_no_terminal_and_fit() -> None:
    hostile = "Evil\x1b[2J\x1b]0;title\x07 [red]\n" + "长" * 300
    nodes = (NumaNode(0, k(",".join(str(n) for n in range(0, 512, 2))), k(1 << 40), k((10,))),)
    of = machine(amd_gpu(name=hostile, numa_node=0), numa_nodes=nodes, network=(Nic(hostile, hostile, k(hostile)),))
    for width in WIDTHS:
        lines = facts_drawn(of, width)
        assert max(cell_len(line) for line in lines) <= width
        assert not [line for line in lines if re.search(r"[\x00-\x1f]", line)]
        assert "[red]" in "".join(lines)
        assert max(cell_len(line) for line in plain(gpu_details(of, (), of.gpus[0], width))) <= width
    deep = machine(amd_gpu(pcie=path(link(), *(hop(f"0000:{bus:02x}:00.0") for bus in range(61)))))
    for width in WIDTHS:
        lines = facts_drawn(deep, width)
        assert max(cell_len(line) for line in lines) <= width
        assert len(limbs_drawn(lines)) == 1
        assert sum(limbs_drawn(lines).values()) == 31


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
)  # fmt: skip
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
    assert "In a kvm guest the hypervisor decides what the link shows." in facts_drawn(guest)
    outside = replace(gpu, pcie=replace(gpu.pcie, removable=k("removable")))
    assert narrowest_limb(machine(outside), outside) is None
    asleep = replace(gpu, runtime_status=k("suspended"))
    assert narrowest_limb(machine(asleep), asleep) is None


def test_a_shared_limb_names_the_gpus_for_which_it_is_the_narrowest() -> None:
    of = machine(_switched(link(8), link(16), 0), _switched(link(8), link(4), 1))
    lines = facts_drawn(of)
    (shared,) = [line for line in lines if "root port" in line]
    assert shared.endswith("─[16 GT/s x8, could 16 GT/s x16]─ narrowest for gpu 0")
    (own,) = [line for line in lines if "x4" in line]
    assert own.endswith("─[16 GT/s x4, could 16 GT/s x16]─ narrowest")
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
    assert lines[at].endswith("─[32 GT/s x4, could 32 GT/s x16]─ narrowest; warning: pcie-link-narrow")
    assert "gpu 3 0000:6a:00.0" in lines[at + 1]
    assert limbs_drawn(lines) == Counter({"32 GT/s x16": 15, "32 GT/s x4, could 32 GT/s x16": 1})
    page = "\n".join(details(diagnosis, 3))
    assert "warning: pcie-link-narrow The PCIe link of this GPU has a width of x4" in page
    assert "│ 32 GT/s x4, could 32 GT/s x16, rate of PCIe 5.0, 15.8 GB/s (narrowest)" in page
    assert "pcie-link-narrow" not in "\n".join(details(diagnosis, 2))


def test_a_finding_about_a_gpu_stands_beside_the_gpu() -> None:
    broken = Broken("mi300x-8gpu").set("read /sys/class/drm/card4/device/ras/umc_err_count", "ue: 3\nce: 118\nde: 0")
    lines = drawn(judged(broken.host), 200)
    (line,) = [line for line in lines if "ras-uncorrectable" in line]
    assert line.startswith("   ├──[32 GT/s x16]─ gpu 3 0000:6a:00.0 ")
    assert line.endswith(" error: ras-uncorrectable")


def test_findings_of_gpus_without_an_address_are_told_apart_by_number() -> None:
    said = finding("warning", "gpu 12 is far from gpu 3.", evidence=[quote("run x", "gpu 12")])
    verdicts = [Verdict("far-gpu", "machine", "fail", said)]
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
        "both behind 0000:4b:00.0", "same NUMA node 0", "NUMA node 1, distance 21", "NUMA node 1, distance 21",
    ]  # fmt: skip


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


# -- links between GPUs


def _expected(of: Machine, a: int, b: int) -> str:
    found = [one for one in of.links if (one.a, one.b) == (min(a, b), max(a, b))]
    if not found:
        return "none" if of.links_complete else "?"
    (one,) = found
    if one.type == "xgmi":
        hops = value_or(one.hops, 0)
        return "1 hop" if hops == 1 else f"{hops} hops"
    return f"NV{value_or(one.count, 0)}" if one.type == "nvlink" else "PCIe"


@pytest.mark.parametrize("width", [56, 80, 200])
@pytest.mark.parametrize("name", [name for name in NAMES if "8gpu" in name or "module" in name or "apu" in name])
def test_the_matrix_has_the_links_of_the_facts(name: str, width: int) -> None:
    of = judged_fixture(name).machine
    lines = plain(matrix_lines(of, width))
    heads = [number for number, line in enumerate(lines) if re.fullmatch(r"[\d ]+", line) and line.strip()]
    read: dict[tuple[int, int], str] = {}
    for head in heads:
        columns = [int(word) for word in lines[head].split()]
        for line in lines[head + 1 : head + 1 + len(of.gpus)]:
            row = int(line.split()[1])
            words = re.findall(r"\d hops?|\S+", line.split(maxsplit=2)[2])
            read |= {(row, column): word for column, word in zip(columns, words, strict=True)}
    indices = [gpu.index for gpu in of.gpus]
    if not any((one.a in indices) for one in of.links):
        assert lines == ["How the GPUs reach each other is not in this evidence."]
        return
    assert read == {(a, b): "-" if a == b else _expected(of, a, b) for a in indices for b in indices}


def test_a_pair_without_its_link_is_seen_in_the_matrix() -> None:
    broken = Broken("mi300x-8gpu").unlink(4, 5).remove("run amd-smi static --json").remove("run amd-smi metric --json")
    of = judged(broken.host).machine
    assert {pair for pair, word in cells(of).items() if word == "none"} == {(2, 3), (3, 2)}
    assert "none: no direct link is listed" in plain(matrix_lines(of, 80))


def test_equal_rows_of_many_gpus_are_one() -> None:
    of = big()
    lines = plain(matrix_lines(of, 80))
    assert lines[0].startswith("32 GPUs in 4 rows")
    letters = dict(zip("ABCD", range(4), strict=True))
    rows = {line[0]: re.findall(r"1 hop|PCIe|-", line) for line in lines if re.match(r"[A-D] +(1 hop|PCIe)", line)}
    for name, words in rows.items():
        assert words == ["1 hop" if at == letters[name] else "PCIe" for at in range(4)]
    members = [line for line in lines if re.match(r"[A-D] gpu ", line)]
    assert members == [f"{name} gpu {8 * at}-{8 * at + 7} (8 GPUs)" for name, at in letters.items()]


def test_many_unequal_gpus_have_blocks_of_columns() -> None:
    gpus = tuple(amd_gpu(index, bdf=k(f"0000:{index + 1:02x}:00.0")) for index in range(32))
    links = tuple(GpuLink(a, b, "xgmi", hops=k(a + b)) for a in range(32) for b in range(a + 1, 32))
    for width in WIDTHS:
        lines = plain(matrix_lines(Machine(gpus=gpus, links=links), width))
        assert max(len(line) for line in lines) <= width
        columns = [int(word) for line in lines if re.fullmatch(r"[\d ]+", line) for word in line.split()]
        assert columns == list(range(32))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.randoms(use_true_random=False))
def test_one_row_for_several_gpus_says_what_their_own_rows_would(count: int, random: object) -> None:
    pick = random.choice  # type: ignore[attr-defined]
    of: dict[tuple[int, int], str] = {}
    for a in range(count):
        for b in range(a):
            of[a, b] = of[b, a] = pick("xxxxy")
    groups = alike(range(count), of)
    assert sorted(one for group in groups for one in group) == list(range(count))
    at = {one: group for group in groups for one in group}
    for a, b in of:
        mine, other = at[a], at[b]
        stands = of[mine[0], mine[1]] if mine is other else of[mine[0], other[0]]
        assert stands == of[a, b]


# -- many GPUs


@pytest.mark.parametrize("width", WIDTHS)
def test_32_gpus_behind_switches_are_drawn_whole(width: int) -> None:
    of = big(uplink=link(8, 16, 32.0, 32.0))
    drawing = topology(of, (), width)
    lines = plain(drawing.lines)
    assert max(len(line) for line in lines) <= width
    for gpu in of.gpus:
        assert words_of(lines).count(f"gpu{gpu.index}{value_or(gpu.bdf, '')}") == 1
    order = list(dict.fromkeys(part for part in drawing.gpus if part is not None))
    assert order == list(range(32))
    if width == 200:
        assert limbs_drawn(lines) == limbs_expected(of)
        (narrow,) = [line for line in lines if "]─ narrowest" in line]
        assert narrow == "├─ root port 0000:00:01.1 ─[32 GT/s x8, could 32 GT/s x16]─ narrowest"
    assert lines[drawing.links] == "GPU to GPU"


def test_integrated_graphics_and_displays_are_what_they_are() -> None:
    assert any("integrated" in line for line in drawn(judged_fixture("strix-halo"), 120))
    lines = drawn(judged_fixture("epyc-cpu-only"), 120)
    assert "No GPU is on the PCI bus." in lines
    assert "Also on the bus: 0000:c4:00.0 1a03:2000, a console or virtual display, not counted as a GPU." in lines


def test_a_gpu_on_the_root_bus_has_no_limb() -> None:
    of = machine(amd_gpu(bdf=k("0000:00:02.0"), integrated=True, pcie=Pcie(path_complete=True)))
    (line,) = [line for line in facts_drawn(of) if "gpu 0" in line]
    assert line.startswith("└─ on the root bus: gpu 0 0000:00:02.0 ")
    assert isinstance(of.gpus[0].bdf, Known)
