"""Network cards; trees and listings are constructed."""

from __future__ import annotations

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import rccl_topo
from rocdoctor.collect.network.network_cards import collect_network
from rocdoctor.host.base import Answer
from rocdoctor.model.evidence import Known, Unknown
from tests.collect.hosts import excerpt, tools, whole

_IB, _NET = "/sys/class/infiniband", "/sys/class/net"
_PCI = "/sys/devices/pci0000:00/0000:1a:00.0"
_TREE = {
    f"list {_IB}/*": f"{_IB}/mlx5_0",
    f"list {_IB}/*/ports/*": f"{_IB}/mlx5_0/ports/1",
    f"link {_IB}/mlx5_0/device": _PCI,
    f"read {_IB}/mlx5_0/device/numa_node": "1",
    f"read {_IB}/mlx5_0/fw_ver": "28.41.1000",
    f"read {_IB}/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)",
    f"read {_IB}/mlx5_0/ports/1/state": "4: ACTIVE",
    f"read {_IB}/mlx5_0/ports/1/link_layer": "InfiniBand",
    f"read {_IB}/mlx5_0/ports/1/counters/link_downed": "3",
    f"list {_NET}/*": "\n".join(f"{_NET}/{name}" for name in ("docker0", "eth0", "ib0", "lo", "usb0")),
    f"link {_NET}/ib0/device": _PCI,
    f"read {_NET}/ib0/mtu": "4092",
    f"link {_NET}/eth0/device": "/sys/devices/pci0000:00/0000:01:00.0/virtio2",
    f"read {_NET}/eth0/speed": "25000",
    f"read {_NET}/eth0/operstate": "up",
    f"read {_NET}/eth0/type": "1",
    f"read {_NET}/eth0/device/numa_node": "-1",
    f"link {_NET}/usb0/device": "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0",
}
_DUMP = """<system version="2"><cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD">
<pci busid="0000:1a:00.0" class="0x020700"><nic><net name="mlx5_0" dev="0" speed="200000" port="1" gdr="1"/></nic></pci>
<pci busid="0000:2a:00.0" class="0x020000"><nic><net name="mlx5_1" dev="1" speed="100000" port="1" gdr="1"/></nic></pci>
</cpu></system>"""


def test_device_and_interface_of_one_card_are_joined() -> None:
    host = whole(_TREE)
    card, ethernet = collect_network(host, tools(host))
    assert (card.name, card.kind, card.interfaces, card.counters) == (
        "mlx5_0",
        "infiniband",
        ("ib0",),
        {"link_downed": 3},
    )
    values = [getattr(card, name).value for name in ("bdf", "numa_node", "speed_gbit_s", "state", "mtu", "firmware")]
    assert values == ["0000:1a:00.0", 1, 400.0, "up", 4092, "28.41.1000"]
    assert (ethernet.name, ethernet.kind) == ("eth0", "ethernet")
    values = [getattr(ethernet, name).value for name in ("bdf", "numa_node", "speed_gbit_s", "state")]
    assert values == ["0000:01:00.0", None, 25.0, "up"]


def test_the_bridges_above_a_card_are_those_of_its_device_link() -> None:
    behind = f"{_PCI.replace('1a', '15')}/0000:19:00.0/0000:1a:02.0/0000:1c:00.0"
    host = whole({**_TREE, f"link {_IB}/mlx5_0/device": behind, f"link {_NET}/ib0/device": behind})
    card, ethernet = collect_network(host, tools(host))
    assert isinstance(card.bridges, Known)
    assert card.bridges.value == ("0000:15:00.0", "0000:19:00.0", "0000:1a:02.0")
    assert isinstance(ethernet.bridges, Known)
    assert ethernet.bridges.value == ()  # on the root bus itself
    short = "../../../0000:1c:00.0"  # what a copied link shows: where it leads, not through what
    host = whole({**_TREE, f"link {_IB}/mlx5_0/device": short, f"link {_NET}/ib0/device": short})
    assert isinstance(collect_network(host, tools(host))[0].bridges, Unknown)


def test_a_port_that_does_not_answer_is_unknown() -> None:
    host = excerpt({f"list {_IB}/*": f"{_IB}/mlx5_0", f"list {_IB}/*/ports/*": f"{_IB}/mlx5_0/ports/1"})
    (card,) = collect_network(host, tools(host))
    assert card.kind == "rdma"
    for name in ("bdf", "numa_node", "speed_gbit_s", "state", "mtu", "firmware"):
        assert isinstance(getattr(card, name), Unknown), name


def test_two_ports_are_two_entries() -> None:
    ports = f"{_IB}/mlx4_0/ports/1\n{_IB}/mlx4_0/ports/2"
    host = excerpt(
        {
            f"list {_IB}/*": f"{_IB}/mlx4_0",
            f"list {_IB}/*/ports/*": ports,
            f"read {_IB}/mlx4_0/ports/2/link_layer": "Ethernet",
            f"read {_IB}/mlx4_0/ports/2/gid_attrs/ndevs/0": "eth2",
        }
    )
    first, second = collect_network(host, tools(host))
    assert (first.name, second.name, second.kind, second.interfaces) == ("mlx4_0:1", "mlx4_0:2", "roce", ("eth2",))


def test_listings_add_only_cards_that_are_not_there_yet() -> None:
    dump = Tools()
    dump.add(rccl_topo.TOOL, Answer("read topo.xml", "ok", _DUMP.encode()))
    alone = collect_network(excerpt({}), dump)
    assert [(nic.name, nic.kind) for nic in alone] == [("mlx5_0", "infiniband"), ("mlx5_1", "roce")]
    assert isinstance(alone[1].speed_gbit_s, Known) and alone[1].speed_gbit_s.value == 100
    assert isinstance(alone[1].state, Unknown)
    both = collect_network(excerpt(_TREE), dump)
    assert [nic.name for nic in both] == ["mlx5_0", "eth0", "mlx5_1"]
    assert isinstance(both[0].speed_gbit_s, Known) and both[0].speed_gbit_s.value == 400


def test_cards_without_an_address_are_not_counted_twice() -> None:
    tree = {question: text for question, text in _TREE.items() if not question.startswith("link")}
    dump = Tools()
    dump.add(rccl_topo.TOOL, Answer("read topo.xml", "ok", _DUMP.encode()))
    assert [nic.name for nic in collect_network(excerpt(tree), dump)] == ["mlx5_0"]


def test_lspci_shows_wired_cards() -> None:
    text = "0000:41:00.0 Ethernet controller [0200]: Broadcom Inc. and subsidiaries BCM57508 [14e4:1750] (rev 11)\n"
    text += "0000:42:00.0 Network controller [0280]: Intel Corporation Wi-Fi 6 AX200 [8086:2723] (rev 1a)\n"
    host = excerpt({"run lspci -D -nn": text})
    (card,) = collect_network(host, tools(host))
    assert card.kind == "ethernet" and isinstance(card.bdf, Known) and card.bdf.value == "0000:41:00.0"
