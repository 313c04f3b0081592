"""Interfaces and RDMA devices: samples constructed after iproute2 6.1, ethtool 6.1, rdma-core 44."""

from __future__ import annotations

from rocdoctor.parsers.system import infiniband, network


def test_sysfs_files() -> None:
    assert network.operstate("up\n") == "up" and network.operstate("unknown\n") is None
    assert network.speed_mbit_s("100000\n") == 100000
    assert network.speed_mbit_s("-1\n") is None and network.speed_mbit_s("4294967295") is None
    assert network.mtu_bytes("9000") == 9000
    assert network.link_type("32") == "infiniband" and network.link_type("12345") is None
    assert network.bdf_of_link("../../../0000:19:00.0") == "0000:19:00.0"
    assert network.bdf_of_link("../../../virtio2") is None
    assert network.address_kind("10.1.2.3/24") == "ipv4-private"
    assert network.address_kind("fe80::1%eth0") == "ipv6-link-local"
    assert network.address_kind("8.8.8.8") == "ipv4-public"
    assert network.address_kind("<ip-1>") is None


IP = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
2: ib0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 2044 qdisc mq state UP group default qlen 256
    link/infiniband 00:00:10:29:fe:80 brd 00:ff:ff:ff
    inet 10.4.0.7/16 brd 10.4.255.255 scope global ib0
    inet6 fe80::1/64 scope link
3: eth0@if12: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue master bond0 state DOWN group default
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff link-netnsid 0
4: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN group default
    link/ether 02:00:00:00:00:02 brd ff:ff:ff:ff:ff:ff
"""
IP_JSON = """[
 {"ifname":"lo","flags":["LOOPBACK","UP","LOWER_UP"],"mtu":65536,"operstate":"UNKNOWN","link_type":"loopback",
  "addr_info":[{"family":"inet","local":"127.0.0.1"}]},
 {"ifname":"enp1s0","flags":["BROADCAST","UP"],"mtu":9000,"operstate":"DOWN","link_type":"ether","addr_info":[]}
]"""


def test_ip_addr() -> None:
    lo, ib, eth, docker = network.parse_ip_addr(IP)
    assert (lo.kind, lo.state, lo.addresses) == ("loopback", None, ("ipv4-loopback",))
    assert (ib.name, ib.kind, ib.mtu, ib.carrier, ib.state) == ("ib0", "infiniband", 2044, True, "up")
    assert (ib.addresses, ib.line) == (("ipv4-private", "ipv6-link-local"), 4)
    assert (eth.name, eth.carrier, eth.up, eth.master, eth.state) == ("eth0", False, True, "bond0", "down")
    assert docker.kind == "bridge"
    assert "10.4.0.7" not in repr(ib)


def test_ip_addr_json() -> None:
    lo, eth = network.parse_ip_addr(IP_JSON)
    assert (lo.kind, lo.addresses, lo.line) == ("loopback", ("ipv4-loopback",), 2)
    assert (eth.kind, eth.mtu, eth.up, eth.carrier, eth.state, eth.line) == ("ethernet", 9000, True, False, "down", 4)


def test_ethtool() -> None:
    real = network.parse_ethtool(
        "Settings for ens1f0np0:\n\tSupported ports: [ Backplane ]\n\tSpeed: 100000Mb/s\n\tDuplex: Full\n"
        "\tAuto-negotiation: on\n\tPort: Direct Attach Copper\n\tLink detected: yes\n"
    )
    assert (real.name, real.speed_mbit_s, real.duplex, real.link_detected) == ("ens1f0np0", 100000, "full", True)
    assert (real.port, real.lines["Speed"]) == ("Direct Attach Copper", 3)
    virtual = network.parse_ethtool("Settings for eth0:\n\tSpeed: Unknown!\n\tDuplex: Unknown! (255)\n")
    assert (virtual.speed_mbit_s, virtual.duplex, virtual.link_detected) == (None, None, None)
    driver = network.parse_ethtool("driver: mlx5_core\nfirmware-version: 28.41.1000 (MT_1)\nbus-info: 0000:1a:00.0\n")
    assert (driver.driver, driver.bdf, driver.firmware_version) == ("mlx5_core", "0000:1a:00.0", "28.41.1000 (MT_1)")


def test_infiniband_files() -> None:
    assert infiniband.port_state("4: ACTIVE\n") == "ACTIVE"
    assert infiniband.port_state("PORT_DOWN (1)") == "DOWN"
    assert infiniband.port_state("Initializing") == "INIT"
    assert infiniband.physical_state("5: LinkUp\n") == "LinkUp"
    assert infiniband.physical_state("LINK_UP (5)") == "LinkUp"
    rate = infiniband.port_rate("400 Gb/sec (4X NDR)\n")
    assert rate is not None and (rate.gbit_s, rate.lanes, rate.generation) == (400.0, 4, "NDR")
    old = infiniband.port_rate("2.5 Gb/sec (1X)")
    assert old is not None and (old.gbit_s, old.generation) == (2.5, None)
    assert infiniband.port_rate("0 Gb/sec") is None
    assert infiniband.link_layer("InfiniBand\n") == "InfiniBand" and infiniband.link_layer("x") is None
    assert infiniband.counter("14\n") == 14 and infiniband.counter("N/A (no PMA)") is None


IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.41.1000
\tNode GUID: 0x0000000000000001
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4119
\tPort 1:
\t\tState: Down
\t\tPhysical state: Disabled
\t\tRate: 40
\t\tLink layer: Ethernet
"""


def test_rdma_tools() -> None:
    first, second = infiniband.parse_ibstat(IBSTAT)
    assert (first.device, first.port, first.state, first.rate_gbit_s) == ("mlx5_0", 1, "ACTIVE", 400.0)
    assert (first.link_layer, first.firmware_version, first.line) == ("InfiniBand", "28.41.1000", 6)
    assert (second.state, second.physical_state, second.firmware_version) == ("DOWN", "Disabled", None)
    (link,) = infiniband.parse_rdma_link("link rxe0/1 state ACTIVE physical_state LINK_UP netdev dummy0 \n")
    assert (link.device, link.port, link.state, link.physical_state, link.netdev) == (
        "rxe0",
        1,
        "ACTIVE",
        "LinkUp",
        "dummy0",
    )
    assert infiniband.parse_rdma_link("Failed to open NETLINK_RDMA socket\n") == ()


def test_rates_of_zero_and_prose() -> None:
    (port,) = infiniband.parse_ibstat("CA 'a'\n\tPort 1:\n\t\tRate: 0\n")
    assert port.rate_gbit_s is None
    info = network.parse_ethtool("Settings for nothing\nSettings for eth0:\nSpeed: 1000Mb/s\nSpeed: 10Mb/s\n")
    assert (info.name, info.speed_mbit_s) == ("eth0", 1000)
    assert network.bdf_of_link("../0000:19:00.0\n") == "0000:19:00.0"
