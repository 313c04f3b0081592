"""Network interfaces: the files of /sys/class/net, and what an interface is by its name."""

from __future__ import annotations

import re

from rocdoctor.parsers.formats.text import pci_address, to_int, value_of

# ARPHRD_* of Linux include/uapi/linux/if_arp.h, as /sys/class/net/X/type has them.
LINK_TYPES = {1: "ethernet", 32: "infiniband", 772: "loopback", 512: "ppp", 768: "tunnel", 65534: "none"}


def operstate(text: str) -> str | None:
    """operstate: "up", "down", "lowerlayerdown", "dormant" ...; the file's "unknown" (loopback, tun) is None."""
    word = value_of(text)
    return word if word and re.match(r"[a-z]{2,20}\Z", word) else None


def speed_mbit_s(text: str) -> int | None:
    """The speed file, Mbit/s; -1 and 4294967295 stand for "no link" and are None."""
    value = to_int(text)
    return value if value is not None and 0 < value < 4294967295 else None


def mtu_bytes(text: str) -> int | None:
    """The mtu file."""
    value = to_int(text)
    return value if value is not None and value > 0 else None


def link_type(text: str) -> str | None:
    """The type file in words; None for a number that is not in the table."""
    value = to_int(text)
    return None if value is None else LINK_TYPES.get(value)


def bdf_of_link(target: str) -> str | None:
    """The PCI function at the end of a device link ("../../../0000:19:00.0"); None for virtual interfaces."""
    last = target.strip().rstrip("/").rsplit("/", 1)[-1]
    return pci_address(last) if re.match(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]\Z", last) else None


def interface_kind(name: str, link: str | None = None) -> str | None:
    """What an interface is, by its name where the link type ("ethernet") hides it: bridges, containers, bonds."""
    for prefix, kind in (
        ("docker", "bridge"),
        ("br-", "bridge"),
        ("virbr", "bridge"),
        ("cni", "bridge"),
        ("lxcbr", "bridge"),
        ("podman", "bridge"),
        ("veth", "veth"),
        ("cali", "veth"),
        ("lxc", "veth"),
        ("bond", "bond"),
        ("team", "bond"),
        ("tun", "tunnel"),
        ("tap", "virtual"),
        ("wg", "tunnel"),
        ("tailscale", "tunnel"),
        ("flannel", "tunnel"),
        ("vxlan", "tunnel"),
        ("dummy", "virtual"),
        ("ifb", "virtual"),
        ("hsn", "slingshot"),
        ("wl", "wireless"),
    ):
        if name.startswith(prefix):
            return kind
    if name == "lo":
        return "loopback"
    return {"ether": "ethernet"}.get(link or "", link)
