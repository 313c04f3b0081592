"""Drawings of machines: whole, true to the facts, no wider than asked."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu, Machine, Nic, NumaNode, Traffic
from rocdoctor.tui.topology.drawing import topology
from rocdoctor.tui.topology.filled_lines import Atom, filled
from rocdoctor.tui.topology.gpu_details import gpu_details
from tests.golden.replay import NAMES, judged_fixture
from tests.kit import amd_gpu, k, machine, u
from tests.pcie_kit import hop, link, path
from tests.text_kit import TEXTS, diagnosed, header_and_body
from tests.tui.topology.topology_kit import (
    WIDTHS,
    details,
    drawn,
    facts_drawn,
    limbs_drawn,
    limbs_expected,
    plain,
    words_of,
)

_INVENTED = re.compile(r"\bx0\b|\b0 (?:GT|GiB|MiB|bytes|Gb|hops)|None\b|N/A|(?<!\d)-1\b|nan\b|NV0\b")
PASTED = ("lspci-good", "nvidia-smi-good", "rocm-smi-good", "rocminfo-good", "collect-env-rocm", "boot-mi300x-server")


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
    assert "─[16 GT/s, ends disagree on the lanes, could be 16 GT/s x8]─" in "".join(facts_drawn(of))
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


def test_traffic_stands_with_the_links_that_it_moves_over() -> None:
    busy = amd_gpu(0, traffic=Traffic(k(1200), k(567), xgmi_read_kb=k(5_000_000), xgmi_written_kb=k(0)))
    silent = amd_gpu(1, traffic=Traffic(pcie_mbit_s=u("this driver does not show it")))
    first, second = (plain(gpu_details(machine(busy, silent), (), one, 90)) for one in (busy, silent))
    assert "  traffic: received 1.2 MB/s, sent 567 KB/s" in first
    assert "  XGMI so far: read 5.0 GB, written 0 KB; 4 shows it per second" in first
    assert "  traffic: unknown; 4 says why" in second and not any("XGMI so far" in line for line in second)
    recorded = plain(gpu_details(machine(amd_gpu()), (), amd_gpu(), 90))
    assert not any("traffic" in line for line in recorded), "nobody asked, in evidence of another kind"


def test_a_sentence_without_commas_breaks_between_its_words() -> None:
    said = "NUMA node not known: read /sys/bus/pci/devices/0000:03:00.0/numa_node: this is not in the evidence"
    lines = [line.plain for line in filled("  ", "    ", [Atom(said)], 60)]
    assert " ".join(" ".join(lines).split()) == said, lines
    assert all(len(line) <= 60 for line in lines)
    long = "x" * 100
    assert "".join(line.plain.strip() for line in filled("", "", [Atom(long)], 40)) == long, "a word may be longer"
