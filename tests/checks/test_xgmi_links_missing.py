from __future__ import annotations

from itertools import combinations

from rocdoctor.model.evidence import NOT_ASKED
from rocdoctor.model.facts import Gpu, GpuLink, Machine
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, severities, states


def _on(of: Machine) -> list[Verdict]:
    return judge("xgmi-links-missing", of)


def _gpus(count: int, hives: int = 1, pci_id: str = "1002:740f", gfx: str = "gfx90a", told: bool = True) -> list[Gpu]:
    def hive(index: int) -> object:
        return f"hive{index * hives // count}" if told else NOT_ASKED

    return [amd_gpu(index, pci_id=pci_id, gfx=gfx, hive_id=hive(index)) for index in range(count)]


def _matrix(count: int, hives: int = 1, pcie: tuple[tuple[int, int], ...] = ()) -> tuple[GpuLink, ...]:
    """As KFD lists it: every pair, with its weight."""
    size = count // hives
    slow = {pair for pair in combinations(range(count), 2) if pair[0] // size != pair[1] // size or pair in pcie}
    return tuple(
        GpuLink(a, b, "pcie", k(72)) if (a, b) in slow else GpuLink(a, b, "xgmi", k(15), k(1))
        for a, b in combinations(range(count), 2)
    )


def _direct(*pairs: tuple[int, int]) -> tuple[GpuLink, ...]:
    """As a topology dump lists it: the links that there are, without weights."""
    return tuple(GpuLink(a, b, "xgmi", count=k(1)) for a, b in pairs)


def test_a_whole_hive_and_two_hives_of_four_pass() -> None:
    assert states(_on(machine(*_gpus(8), links=_matrix(8)))) == ["pass"]
    assert states(_on(machine(*_gpus(8, 2), links=_matrix(8, 2)))) == ["pass"]


def test_a_pair_of_one_hive_on_pcie_is_a_warning_that_names_it() -> None:
    (verdict,) = _on(machine(*_gpus(4), links=_matrix(4, pcie=((1, 3),))))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "1 pair of GPUs in one hive has no XGMI link, while 5 other pairs have one" in verdict.finding.message
    assert "gpu 1 (0000:43:00.0) and gpu 3 (0000:83:00.0)" in verdict.finding.message


def test_a_pair_that_a_whole_list_leaves_out_counts_and_one_of_an_excerpt_does_not() -> None:
    links = tuple(link for link in _matrix(4) if (link.a, link.b) != (0, 2))
    assert severities(_on(machine(*_gpus(4), links=links, links_complete=True))) == ["warning"]
    assert states(_on(machine(*_gpus(4), links=links))) == ["pass"]


def test_direct_links_are_counted_where_no_hive_is_known() -> None:
    clique = list(combinations(range(4), 2))
    gpus = _gpus(4, told=False)
    assert states(_on(machine(*gpus, links=_direct(*clique)))) == ["pass"]
    (verdict,) = _on(machine(*gpus, links=_direct(*clique[1:]), links_complete=True))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "2 of 4 identical GPUs have fewer XGMI links than the 3 of the others" in verdict.finding.message
    ring = _direct((0, 1), (1, 2), (2, 3), (0, 3))
    assert states(_on(machine(*gpus, links=ring, links_complete=True))) == ["pass"]
    assert states(_on(machine(*gpus, links=_direct(*clique[1:])))) == ["unknown"]


def test_cards_without_a_bridge_are_a_note_and_modules_a_warning() -> None:
    trio = _direct((0, 1), (0, 2), (1, 2))
    cards = machine(*_gpus(4, told=False), links=trio, links_complete=True)
    assert severities(_on(cards)) == ["info"]
    modules = _gpus(4, pci_id="1002:74a1", gfx="gfx942", told=False)
    assert severities(_on(machine(*modules, links=trio, links_complete=True))) == ["warning"]


def test_modules_of_two_dies_are_unequal_by_design() -> None:
    dies = _gpus(4, pci_id="1002:740c", told=False)
    uneven = _direct((0, 1), (2, 3), (0, 2))
    assert states(_on(machine(*dies, links=uneven, links_complete=True))) == ["pass"]


def test_no_xgmi_is_not_applicable() -> None:
    assert states(_on(machine(*_gpus(2, told=False)))) == ["not-applicable"]
    assert states(_on(machine(*_gpus(2, told=False), links=(GpuLink(0, 1, "pcie"),)))) == ["not-applicable"]
    assert states(_on(machine())) == ["not-applicable"]


def test_the_pairs_without_a_link_are_values_of_the_finding() -> None:
    def pairs(of: Machine) -> list[tuple[int, int]]:
        index = {gpu.subject: gpu.index for gpu in of.gpus}
        found = [verdict.finding for verdict in _on(of) if verdict.finding is not None]
        return sorted((min(index[a], index[b]), max(index[a], index[b])) for one in found for a, b in one.about.pairs)

    assert pairs(machine(*_gpus(4), links=_matrix(4, pcie=((1, 3), (0, 2))))) == [(0, 2), (1, 3)]
    clique = list(combinations(range(4), 2))
    gpus = _gpus(4, told=False)
    assert pairs(machine(*gpus, links=_direct(*clique[1:]), links_complete=True)) == [(0, 1)]
    alone = _direct(*[pair for pair in clique if 3 not in pair])
    assert pairs(machine(*gpus, links=alone, links_complete=True)) == [(0, 3), (1, 3), (2, 3)]
