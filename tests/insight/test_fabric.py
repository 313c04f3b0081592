from __future__ import annotations

from rocdoctor.insight.links.fabric import (
    cpu_nodes,
    iommu_translates,
    models,
    on_module,
    pcie_pairs,
    shared_hops,
    training_gpus,
    two_dies,
)
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Cpus, GpuLink, Kernel, Machine, NumaNode
from tests.kit import amd_gpu, event, k, log, machine, nvidia_gpu, u
from tests.pcie_kit import hop, link, path


def _mode(of: Machine) -> bool | None:
    return value_or(iommu_translates(of, of.gpus), None)


def test_the_type_of_the_iommu_groups_decides() -> None:
    mapped = amd_gpu(0, pcie=path(link(), iommu_group_type=k("DMA-FQ")))
    direct = amd_gpu(1, pcie=path(link(), iommu_group_type=k("identity")))
    told = Kernel(parameters=k({"iommu": "pt"}))
    assert _mode(machine(mapped, direct, kernel=told)) is True
    assert _mode(machine(direct)) is False
    assert _mode(machine(direct, amd_gpu(0))) is None


def test_then_the_default_then_the_command_line_then_the_log() -> None:
    gpu = amd_gpu()
    assert _mode(machine(gpu, kernel=Kernel(iommu_default=k("translated"), parameters=k({"iommu": "pt"})))) is True
    assert _mode(machine(gpu, kernel=Kernel(iommu_groups=k(0)))) is False
    assert _mode(machine(gpu, kernel=Kernel(parameters=k({"iommu": "soft,pt"})))) is False
    assert _mode(machine(gpu, kernel=Kernel(parameters=k({"iommu.passthrough": "0"})))) is True
    assert _mode(machine(gpu, kernel=Kernel(parameters=k({"amd_iommu": "on"})))) is None
    said = Kernel(log=log(event("iommu-domain-type", domain_type="Translated")))
    assert _mode(machine(gpu, kernel=said)) is True
    assert _mode(machine(gpu)) is None


def test_the_switch_of_the_other_maker_says_nothing() -> None:
    gpu, off = amd_gpu(), Kernel(parameters=k({"intel_iommu": "off"}))
    assert _mode(machine(gpu, kernel=off, cpus=Cpus(vendor=k("AuthenticAMD")))) is None
    assert _mode(machine(gpu, kernel=off, cpus=Cpus(vendor=k("GenuineIntel")))) is False


def test_pairs_without_a_fast_link() -> None:
    gpus = [amd_gpu(0, hive_id="a"), amd_gpu(1, hive_id="a"), amd_gpu(2)]
    linked = machine(*gpus, links=(GpuLink(1, 2, "xgmi"), GpuLink(0, 2, "pcie")))
    assert pcie_pairs(linked, gpus) == [(gpus[0], gpus[2])]


def test_models_modules_and_dies() -> None:
    assert [len(group) for group in models([amd_gpu(0), amd_gpu(1), amd_gpu(2, pci_id="1002:744c")])] == [2]
    assert two_dies(amd_gpu(pci_id="1002:740c"))
    assert not two_dies(amd_gpu())
    assert on_module(amd_gpu(pci_id="1002:74a1", gfx="gfx942"))
    assert not on_module(amd_gpu())


def test_shared_bridges_and_nodes_with_processors() -> None:
    root, up = hop("0000:00:01.0"), hop("0000:01:00.0")
    a = amd_gpu(0, pcie=path(link(), root, up, hop("0000:02:00.0")))
    b = amd_gpu(1, pcie=path(link(), root, up, hop("0000:02:01.0")))
    assert shared_hops(a, b) == (root, up)
    assert shared_hops(a, amd_gpu(2, pcie=path(link(), hop("0000:40:01.0")))) == ()
    nodes = (NumaNode(0, k("0-7")), NumaNode(1, k("")), NumaNode(2))
    assert [node.node for node in cpu_nodes(machine(numa_nodes=nodes))] == [0, 2]


def test_gpus_of_guests_and_old_chips_do_not_train_together() -> None:
    kept, old, shown = amd_gpu(1, driver="vfio-pci"), amd_gpu(2, pci_id="1002:6611"), nvidia_gpu(3, driver="nouveau")
    unread = amd_gpu(4, driver=u())
    assert training_gpus(machine(amd_gpu(0), kept, old, shown, unread)) == [amd_gpu(0), unread]
    assert training_gpus(machine(amd_gpu(0), nvidia_gpu(1)), "nvidia") == [nvidia_gpu(1)]
