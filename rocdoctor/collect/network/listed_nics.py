"""Network cards as listings show them: the topology dump of RCCL and NCCL, hwloc, lspci."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import lspci, lstopo, rccl_topo
from rocdoctor.collect.recorded_outputs import stated
from rocdoctor.host.base import Answer
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown
from rocdoctor.model.facts import Nic
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.system.network import interface_kind

if TYPE_CHECKING:
    from rocdoctor.parsers.listings.lspci import LspciDevice
    from rocdoctor.parsers.listings.lstopo_records import HwlocPciDevice
    from rocdoctor.parsers.listings.rccl_topo import RcclNic

# Names that drivers give to RDMA devices (rdma-core's persistent names begin with the link layer).
_RDMA_NAME = regex(r"(mlx[45]|bnxt_re|hfi1|irdma|i40iw|ionic|efa|erdma|mana|qedr|hns|cxgb4|roce|ib[ps]|rxe|siw)")
_CLASS_NAMES = {"ethernet controller": "0200", "infiniband controller": "0207", "fabric controller": "0208"}
# IBTA port states, as hwloc writes them.
_PORT_STATES = {"1": "down", "2": "init", "3": "armed", "4": "up"}


def from_listings(tools: Tools) -> Iterator[list[Nic]]:
    """The cards of each listing, those that know most of a card first."""
    for dump, answer in tools.of(rccl_topo.TOOL):
        yield [_rccl(nic, answer) for nic in dump.nics if nic.name]
    for topology, answer in tools.of(lstopo.TOOL):
        yield [nic for device in topology.pci_devices if (nic := _lstopo(device, answer)) is not None]
    for devices, answer in tools.of(lspci.TOOL):
        yield [nic for device in devices if (nic := _lspci(device, answer)) is not None]


def _kind(name: str, pci_class: str | None, rdma: bool) -> str:
    """By PCI class where it is known; an RDMA device without it may be InfiniBand or RoCE: "rdma"."""
    base = (pci_class or "").removeprefix("0x")[:4]
    if base == "0207":
        return "infiniband"
    if rdma:
        # "rdmap..." is how rdma-core names a device that has neither layer (AWS EFA).
        return "roce" if base == "0200" and not name.startswith(("rdmap", "efa")) else "rdma"
    kind = interface_kind(name)
    return kind if kind in ("slingshot", "wireless") else "ethernet"


def _node(number: int | None, answer: Answer, line: int) -> Fact[int | None]:
    if number is None:
        return Unknown(f"{answer.question} does not state it", "not-asked", answer.source(line))
    return Known(number if number >= 0 else None, answer.source(line))


def _rccl(nic: RcclNic, answer: Answer) -> Nic:
    name = nic.name or ""
    return Nic(
        name,
        _kind(name, nic.pci.pci_class if nic.pci else None, bool(_RDMA_NAME.match(name))),
        stated(nic.bdf, answer, nic.line),
        _node(nic.numa_node, answer, nic.line),
        stated(nic.speed_mbit_s / 1000 if nic.speed_mbit_s else None, answer, nic.line),
    )


def _lstopo(device: HwlocPciDevice, answer: Answer) -> Nic | None:
    rdma = [one for one in device.os_devices if one.kind == "openfabrics"]
    nets = [one for one in device.os_devices if one.kind == "network"]
    pci_class = (device.pci_class or "")[:4]
    if not rdma and not nets and pci_class not in ("0200", "0207", "0208"):
        return None
    first = next(iter([*rdma, *nets]), None)
    name = first.name if first is not None else device.bdf or device.name or "?"
    state = _PORT_STATES.get(rdma[0].infos.get("Port1State", "")) if rdma else None
    return Nic(
        name,
        _kind(name, pci_class, bool(rdma)),
        stated(device.bdf, answer, device.line),
        _node(device.numa_node, answer, device.line),
        state=stated(state, answer, first.line if first is not None else device.line),
        interfaces=tuple(one.name for one in nets),
    )


def _lspci(device: LspciDevice, answer: Answer) -> Nic | None:
    pci_class = device.class_code or _CLASS_NAMES.get((device.class_name or "").lower()) or ""
    if pci_class[:4] not in ("0200", "0207", "0208"):
        return None
    name = device.device_name or device.name or device.bdf
    numa: Fact[int | None] = NOT_ASKED
    if device.numa_node is not None:
        numa = _node(device.numa_node, answer, device.lines.get("numa_node", device.line))
    return Nic(name, _kind("", pci_class, False), Known(device.bdf, Source(answer.question, device.line)), numa)
