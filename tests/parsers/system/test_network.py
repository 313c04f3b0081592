"""Interfaces and RDMA devices: contents of the kernel's files."""

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
    assert network.bdf_of_link("../0000:19:00.0\n") == "0000:19:00.0"


def test_infiniband_files() -> None:
    assert infiniband.port_state("4: ACTIVE\n") == "ACTIVE"
    assert infiniband.port_state("2: INIT") == "INIT"
    rate = infiniband.port_rate("400 Gb/sec (4X NDR)\n")
    assert rate is not None and (rate.gbit_s, rate.lanes, rate.generation) == (400.0, 4, "NDR")
    old = infiniband.port_rate("2.5 Gb/sec (1X)")
    assert old is not None and (old.gbit_s, old.generation) == (2.5, None)
    assert infiniband.port_rate("0 Gb/sec") is None
    assert infiniband.link_layer("InfiniBand\n") == "InfiniBand" and infiniband.link_layer("x") is None
    assert infiniband.counter("14\n") == 14 and infiniband.counter("N/A (no PMA)") is None
