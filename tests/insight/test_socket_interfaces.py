from __future__ import annotations

import pytest

from rocdoctor.insight.links.socket_interfaces import chosen, wanted

PRESENT = ("lo", "eth0", "eth1", "ib0", "docker0", "bond0.100")


@pytest.mark.parametrize(
    ("variable", "value", "names"),
    [
        ("NCCL_SOCKET_IFNAME", "eth", ["eth0", "eth1"]),
        ("NCCL_SOCKET_IFNAME", "=eth0", ["eth0"]),
        ("NCCL_SOCKET_IFNAME", "=eth", []),
        ("NCCL_SOCKET_IFNAME", "ib,eth1", ["eth1", "ib0"]),
        ("NCCL_SOCKET_IFNAME", "^docker,lo", ["bond0.100", "eth0", "eth1", "ib0"]),
        ("NCCL_SOCKET_IFNAME", "^=eth0,eth1,ib0,bond0.100", ["docker0", "lo"]),
        ("NCCL_SOCKET_IFNAME", "bond0", ["bond0.100"]),
        ("NCCL_SOCKET_IFNAME", '"eth0"', ["eth0"]),
        ("GLOO_SOCKET_IFNAME", "eth", []),
        ("GLOO_SOCKET_IFNAME", "eth0", ["eth0"]),
        ("GLOO_SOCKET_IFNAME", "eth0:1", ["eth0"]),
    ],
)
def test_what_a_variable_leaves(variable: str, value: str, names: list[str]) -> None:
    assert chosen(wanted(variable, value), PRESENT) == names
