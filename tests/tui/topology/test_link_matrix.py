"""The matrix of links between GPUs, and machines of many GPUs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import GpuLink, Machine, Pcie
from rocdoctor.tui.style import SEVERITY_STYLE
from rocdoctor.tui.topology.drawing import topology
from rocdoctor.tui.topology.link_matrix import alike, cells, matrix_lines
from tests.golden.edits import Broken
from tests.golden.replay import NAMES, judged, judged_fixture
from tests.kit import amd_gpu, k, machine
from tests.pcie_kit import link
from tests.tui.topology.topology_kit import (
    WIDTHS,
    big,
    drawn,
    facts_drawn,
    limbs_drawn,
    limbs_expected,
    plain,
    words_of,
)

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


def test_a_link_that_a_check_misses_is_marked_and_named() -> None:
    of = judged_fixture("faulty/mi300x-8gpu-tired")
    lines = topology(of.machine, of.verdicts, 100).lines
    marked = [
        (line.plain.split()[1], line.plain[span.start : span.end].strip())
        for line in lines
        for span in line.spans
        if span.style == SEVERITY_STYLE["warning"] and line.plain.startswith("gpu ")
    ]
    assert marked == [("4", "none"), ("5", "none")]
    assert "warning: xgmi-links-missing between gpu 4-5" in plain(lines)
    assert "xgmi-links-missing between" not in " ".join(plain(topology(of.machine, (), 100).lines))
    many = matrix_lines(big(), 100, {(0, 9): SEVERITY_STYLE["warning"]})
    assert sum(span.style == SEVERITY_STYLE["warning"] for line in many for span in line.spans) == 2


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
        assert narrow == "├─ root port 0000:00:01.1 ─[32 GT/s x8, could be 32 GT/s x16]─ narrowest"
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
