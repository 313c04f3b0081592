"""Network cards that training could use: one entry a card or port, RDMA device and interface joined by PCI address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.network.listed_nics import from_listings
from rocdoctor.collect.reading import MAX_PATHS, as_fact, names_in, read_fact, word
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Unknown, convert, first_known
from rocdoctor.model.facts import Nic
from rocdoctor.parsers.kernel.pci import parse_device_path
from rocdoctor.parsers.kernel.pci_link import parse_numa_node
from rocdoctor.parsers.system.infiniband import IbRate, counter, link_layer, port_rate, port_state
from rocdoctor.parsers.system.network import (
    bdf_of_link,
    interface_kind,
    link_type,
    mtu_bytes,
    operstate,
    speed_mbit_s,
)

_RDMA = "/sys/class/infiniband"
_NET = "/sys/class/net"
_PORT_FILES = ("rate", "state", "link_layer")
_NET_FILES = ("speed", "operstate", "mtu", "type")
# Counters that stay at zero on a healthy link, or that tell of loss and congestion.
_COUNTERS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
)
_HW_COUNTERS = (
    "out_of_sequence",
    "packet_seq_err",
    "local_ack_timeout_err",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_slow_restart",
    "np_cnp_sent",
    "rp_cnp_handled",
    "rx_icrc_encapsulated",
)
_MAX_CARDS = 1024


@dataclass(slots=True)
class _Interface:
    """An interface on a PCI device."""

    name: str
    bdf: Fact[str]
    kind: str
    speed_gbit_s: Fact[float]
    state: Fact[str]
    mtu: Fact[int]
    numa_node: Fact[int | None]
    bridges: Fact[tuple[str, ...]]


@dataclass(slots=True)
class _Cards:
    """What has been found so far."""

    nics: list[Nic] = field(default_factory=list)

    def at(self, bdf: str) -> list[int]:
        return [at for at, nic in enumerate(self.nics) if isinstance(nic.bdf, Known) and nic.bdf.value == bdf]


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    host.prefetch([f"list {_RDMA}/*", f"list {_RDMA}/*/ports/*", f"list {_NET}/*"])


def collect_network(host: Host, tools: Tools) -> tuple[Nic, ...]:
    """All cards: from sysfs, else and besides from listings (topology dump, hwloc, lspci).

    Listings add cards that sysfs does not show only where every card so far has a PCI address: without one the same
    card would be counted twice.
    """
    prefetch(host)
    cards = _Cards(_rdma(host))
    for interface in _interfaces(host):
        _join(cards, interface)
    for nics in from_listings(tools):
        if not all(isinstance(nic.bdf, Known) for nic in cards.nics):
            break
        known = {nic.bdf.value for nic in cards.nics if isinstance(nic.bdf, Known)}
        cards.nics += [nic for nic in nics if not (isinstance(nic.bdf, Known) and nic.bdf.value in known)]
    return tuple(cards.nics[:_MAX_CARDS])


def collect_interfaces(host: Host) -> Fact[Mapping[str, str]]:
    """Every interface of the machine, virtual ones too, with its state; Known only from a whole listing."""
    listed = host.ask(f"list {_NET}/*")
    if not listed.ok:
        return listed.unknown()
    paths = listed.lines()[:MAX_PATHS]
    if not paths or not listed.complete:
        return Unknown("this evidence may not show every network interface", "not-asked", listed.source())
    states = {path.rsplit("/", 1)[-1]: read_fact(host, f"{path}/operstate", operstate) for path in paths}
    named = {name: state.value if isinstance(state, Known) else "unknown" for name, state in states.items()}
    return Known({name: state for name, state in named.items() if name != "bonding_masters"}, listed.source())


def is_complete(host: Host) -> bool:
    """Whether the listing of interfaces shows every card."""
    listed = host.ask("list /sys/class/net/*")
    return listed.ok and listed.complete and bool(listed.data)


def _bdf(answer: Answer) -> Fact[str]:
    """The PCI function that a device link ends at, also where a virtio device sits on it."""
    if not answer.ok:
        return answer.unknown()
    path = re.sub(r"/virtio\d{1,5}/?$", "", answer.text.strip())
    bdf = bdf_of_link(path)
    if bdf is None:
        return Unknown("it is not a PCI device", "absent", answer.source())
    return Known(bdf, answer.source(1))


def _bridges(answer: Answer) -> Fact[tuple[str, ...]]:
    """The bridges on the way to the device that a device link ends at."""
    if not answer.ok:
        return answer.unknown()
    path = parse_device_path(answer.text)
    if path.root is None:
        return Unknown("its place on the PCI bus is not in this evidence", "absent", answer.source())
    return Known(path.bridges, answer.source(1))


def _numa(host: Host, folder: str) -> Fact[int | None]:
    answer = host.ask(f"read {folder}/numa_node")
    if answer.ok and answer.text.strip() == "-1":
        return Known(None, answer.source(1))
    return as_fact(answer, parse_numa_node)


def _rdma(host: Host) -> list[Nic]:
    """RDMA devices, one entry a port."""
    ports: dict[str, list[str]] = {path: [] for path in names_in(host, f"{_RDMA}/*")}
    for path in names_in(host, f"{_RDMA}/*/ports/*"):
        ports.setdefault(path.rsplit("/ports/", 1)[0], []).append(path)
    for folder, found in ports.items():
        host.prefetch([f"link {folder}/device", f"list {folder}/device/net/*", f"read {folder}/fw_ver"])
        host.prefetch(f"read {path}/{name}" for path in found for name in _PORT_FILES)
        host.prefetch(f"read {path}/counters/{name}" for path in found for name in _COUNTERS)
        host.prefetch(f"read {path}/hw_counters/{name}" for path in found for name in _HW_COUNTERS)
    nics: list[Nic] = []
    for folder, found in ports.items():
        device = folder.rsplit("/", 1)[-1]
        for path in found or [""]:
            name = f"{device}:{path.rsplit('/', 1)[-1]}" if len(found) > 1 else device
            nics.append(_rdma_port(host, name, folder, path, alone=len(found) <= 1))
    return nics


def _rdma_port(host: Host, name: str, folder: str, path: str, alone: bool) -> Nic:
    if alone:
        interfaces = tuple(one.rsplit("/", 1)[-1] for one in names_in(host, f"{folder}/device/net/*"))
    else:
        answer = host.ask(f"read {path}/gid_attrs/ndevs/0")
        interfaces = (answer.text.strip(),) if answer.ok and answer.text.strip() else ()
    layer = read_fact(host, f"{path}/link_layer", link_layer) if path else NOT_ASKED
    kinds = {"InfiniBand": "infiniband", "Ethernet": "roce"}
    rate: Fact[IbRate] = read_fact(host, f"{path}/rate", port_rate) if path else NOT_ASKED
    state: Fact[str] = read_fact(host, f"{path}/state", port_state) if path else NOT_ASKED
    mtus = [read_fact(host, f"{_NET}/{one}/mtu", mtu_bytes) for one in interfaces[:1]]
    place = host.ask(f"link {folder}/device")
    return Nic(
        name,
        kinds.get(layer.value, "rdma") if isinstance(layer, Known) else "rdma",
        _bdf(place),
        _numa(host, f"{folder}/device"),
        convert(rate, lambda one: one.gbit_s),
        convert(state, lambda text: {"ACTIVE": "up", "DOWN": "down"}.get(text, text.lower())),
        interfaces,
        _counters(host, path) if path else {},
        first_known(*mtus) if mtus else Unknown("it has no network interface", "absent"),
        read_fact(host, f"{folder}/fw_ver", word),
        _bridges(place),
    )


def _counters(host: Host, path: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for folder, names in (("counters", _COUNTERS), ("hw_counters", _HW_COUNTERS)):
        for name in names:
            answer = host.ask(f"read {path}/{folder}/{name}")
            value = counter(answer.text) if answer.ok else None
            if value is not None:
                found[name] = value
    return found


def _interfaces(host: Host) -> list[_Interface]:
    """Interfaces on PCI devices; bridges, loopback, tunnels and the like have none and are left out."""
    folders = names_in(host, f"{_NET}/*")
    host.prefetch(f"link {folder}/device" for folder in folders)
    found: list[_Interface] = []
    for folder in folders:
        place = host.ask(f"link {folder}/device")
        bdf = _bdf(place)
        if not isinstance(bdf, Known):
            continue
        host.prefetch([*(f"read {folder}/{name}" for name in _NET_FILES), f"read {folder}/device/numa_node"])
        name = folder.rsplit("/", 1)[-1]
        kind = read_fact(host, f"{folder}/type", link_type)
        speed = read_fact(host, f"{folder}/speed", speed_mbit_s)
        found.append(
            _Interface(
                name,
                bdf,
                interface_kind(name, kind.value if isinstance(kind, Known) else None) or "ethernet",
                convert(speed, lambda value: value / 1000),
                read_fact(host, f"{folder}/operstate", operstate),
                read_fact(host, f"{folder}/mtu", mtu_bytes),
                _numa(host, f"{folder}/device"),
                _bridges(place),
            )
        )
    return found


def _join(cards: _Cards, one: _Interface) -> None:
    """Add an interface to the card that it belongs to, or as a card of its own."""
    places = [at for at, nic in enumerate(cards.nics) if one.name in nic.interfaces]
    if not places and isinstance(one.bdf, Known):
        places = cards.at(one.bdf.value)
    if not places:
        names = (one.name,)
        card = Nic(one.name, one.kind, one.bdf, one.numa_node, one.speed_gbit_s, one.state, names, mtu=one.mtu)
        cards.nics.append(replace(card, bridges=one.bridges))
        return
    for at in places[:1]:
        nic = cards.nics[at]
        cards.nics[at] = replace(
            nic,
            interfaces=nic.interfaces if one.name in nic.interfaces else (*nic.interfaces, one.name),
            speed_gbit_s=first_known(nic.speed_gbit_s, one.speed_gbit_s),
            state=first_known(nic.state, one.state),
            mtu=first_known(nic.mtu, one.mtu),
        )
