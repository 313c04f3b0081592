"""This node's network interfaces, and which of them gloo and NCCL or RCCL take.

The rules are those of torch (torch/csrc/distributed/c10d/ProcessGroupGloo.cpp, createDefaultDevice: the interface that
is named, else the address of the host name if it can be bound, else loopback) and of NCCL (src/misc/socket.cc and the
documentation of NCCL_SOCKET_IFNAME: ib* first, docker* and lo last).
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import ipaddress
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rocdoctor.insight.links.socket_interfaces import chosen, wanted
from rocdoctor.model.lazy_re import regex

GLOO, NCCL = "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"
_LAST = ("docker", "lo")
# Drivers of interfaces without a wire: the speed that they tell is a constant, 10 Gbit/s or, of an older tun, 10 Mbit/s
# (torvalds/linux drivers/net/veth.c, veth_get_link_ksettings; netkit.c and tun.c alike; read 2026-11-29).
_INVENTED = ("veth", "netkit", "tun")
_ETHTOOL, _GET_DRIVER, _DRIVER_BYTES = 0x8946, 3, 196  # linux/sockios.h, linux/ethtool.h
_NAME = regex(r"[A-Za-z0-9_.:@-]{1,15}")  # the kernel takes 15 bytes (IFNAMSIZ), and more signs than are in use


@dataclass(frozen=True, slots=True)
class NodeInterface:
    """One interface; ``running``: it has a carrier. ``mtu`` in bytes, ``speed_mbit_s`` None where not told."""

    name: str
    up: bool
    running: bool
    mtu: int | None
    speed_mbit_s: int | None
    addresses: tuple[str, ...]

    @property
    def loopback(self) -> bool:
        """All its addresses are of this machine alone."""
        return self.name == "lo" or (bool(self.addresses) and all(map(is_loopback, self.addresses)))


@dataclass(frozen=True, slots=True)
class BoundInterface:
    """What a library binds to: the interface by name and an address, either None where there is none."""

    interface: str | None
    address: str | None
    by: str  # the variable, "host name" or "default"


def interfaces() -> tuple[NodeInterface, ...]:
    """The interfaces of this network namespace."""
    import psutil

    stats, addresses = psutil.net_if_stats(), psutil.net_if_addrs()
    found = []
    for name, one in stats.items():
        flags = str(getattr(one, "flags", "")).split(",")
        usable = [
            str(item.address).split("%")[0]
            for item in addresses.get(name, ())
            if item.family in (socket.AF_INET, socket.AF_INET6) and not str(item.address).lower().startswith("fe80")
        ]
        up = "up" in flags or (flags == [""] and bool(one.isup))
        running = "running" in flags or (flags == [""] and bool(one.isup))
        speed = _speed(one.speed)
        if speed is not None and _driver(name) in _INVENTED:
            speed = None
        found.append(NodeInterface(name, up, running, one.mtu or None, speed, tuple(usable)))
    return tuple(found)


def _driver(name: str) -> str:
    """The driver of an interface, as ``ethtool -i`` tells it; empty where it does not."""
    told = array.array("B", struct.pack("I", _GET_DRIVER).ljust(_DRIVER_BYTES, b"\0"))
    asked = struct.pack("16sP", name.encode(errors="replace")[:15], told.buffer_info()[0]).ljust(40, b"\0")
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one.fileno(), _ETHTOOL, asked)
        return told.tobytes()[4:36].split(b"\0")[0].decode(errors="replace")
    return ""


def _speed(value: int) -> int | None:
    return value if 0 < value < 10_000_000 else None  # drivers that do not know it give 0 or all ones


def from_json(value: Any) -> tuple[NodeInterface, ...]:
    """Interfaces that another node told; what does not look like one is left out, since names stand in commands."""
    found = []
    for one in value[:256] if isinstance(value, list) else ():
        if isinstance(one, dict) and isinstance(one.get("name"), str) and _NAME.fullmatch(one["name"]):
            addresses = one.get("addresses")
            told = [item for item in addresses[:64] if is_address(item)] if isinstance(addresses, list) else []
            found.append(
                NodeInterface(
                    one["name"],
                    one.get("up") is True,
                    one.get("running") is True,
                    _number(one.get("mtu")),
                    _number(one.get("speed_mbit_s")),
                    tuple(told),
                )
            )
    return tuple(found)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 32 else None


def to_json(many: Sequence[NodeInterface]) -> list[dict[str, Any]]:
    """The form in which they are told."""
    return [asdict(one) for one in many]


def gloo_choice(
    variables: Mapping[str, str], many: Sequence[NodeInterface], host_address: str | None
) -> BoundInterface:
    """What gloo binds to. ``host_address``: the first address of the host name that can be bound here, else None."""
    value = variables.get(GLOO, "").strip()
    if value:
        names = wanted(GLOO, value).names[:1]
        one = next((item for item in many if item.name in names), None)
        return BoundInterface(names[0] if names else value, one.addresses[0] if one and one.addresses else None, GLOO)
    if host_address:
        return BoundInterface(owner(many, host_address), host_address, "host name")
    return BoundInterface("lo", "127.0.0.1", "default")


def nccl_choice(variables: Mapping[str, str], many: Sequence[NodeInterface]) -> BoundInterface:
    """The interface that NCCL or RCCL starts from."""
    value = variables.get(NCCL, "").strip()
    usable = [one for one in many if one.addresses and one.up]
    if value:
        names = chosen(wanted(NCCL, value), [one.name for one in many])
        one = next((item for item in usable if item.name in names), None)
        name = one.name if one else (names[0] if names else value)
        return BoundInterface(name, one.addresses[0] if one else None, NCCL)
    usable.sort(key=lambda item: (not item.name.startswith("ib"), item.name.startswith(_LAST)))
    return (
        BoundInterface(usable[0].name, usable[0].addresses[0], "default")
        if usable
        else BoundInterface(None, None, "default")
    )


def owner(many: Sequence[NodeInterface], address: str) -> str | None:
    """The interface that has an address."""
    return next((one.name for one in many if address in one.addresses), "lo" if is_loopback(address) else None)


def is_address(value: Any) -> bool:
    """Whether it is the text of an IP address, and of nothing else."""
    try:
        return isinstance(value, str) and len(value) < 64 and "%" not in value and bool(ipaddress.ip_address(value))
    except ValueError:
        return False


def is_host(value: Any) -> bool:
    """Whether it is an address that one machine has: no group of them, and not "any"."""
    if not is_address(value):
        return False
    found = ipaddress.ip_address(value)
    return not (found.is_multicast or found.is_unspecified or (found.is_reserved and not found.is_loopback))


def is_loopback(address: str) -> bool:
    """Whether an address is of this machine alone."""
    try:
        return ipaddress.ip_address(address.split("%")[0]).is_loopback
    except ValueError:
        return False


def bindable(address: str) -> bool:
    """Whether it is an address of this machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as one:
            one.bind((address, 0))
    except OSError:
        return False
    return True


def toward(address: str) -> str:
    """The address of this machine from which it would reach another one; empty where there is no way. Sends nothing."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.connect((address, 9))  # any port: a datagram socket that connects only looks up the route
            return str(one.getsockname()[0])
    except OSError:
        return ""
