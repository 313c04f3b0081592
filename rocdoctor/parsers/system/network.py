"""Network interfaces: /sys/class/net files, `ip addr` (text and -j), ethtool. Addresses are kept as kinds only."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.json_text import load_json
from rocdoctor.parsers.formats.text import lines_of, pci_address, to_int, value_of

# ARPHRD_* of Linux include/uapi/linux/if_arp.h, as /sys/class/net/X/type has them.
LINK_TYPES = {1: "ethernet", 32: "infiniband", 772: "loopback", 512: "ppp", 768: "tunnel", 65534: "none"}

_IP_HEAD = regex(r"(\d{1,6}):[ \t]+([^\s:@]{1,64})(?:@([^\s:]{1,64}))?:[ \t]+<([A-Z0-9_,-]{0,200})>(.*)\Z")
_IP_FIELD = regex(r"\b(mtu|state|master) (\S{1,64})")
_IP_LINK = regex(r"link/([a-z0-9]{1,24})(?=\s|\Z)")
_IP_ADDRESS = regex(r"(inet6?) (\S{2,64})(.{0,200})\Z")
_SPEED = regex(r"(\d{1,9})Mb/s\Z")


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface: ``kind`` "ethernet", "infiniband", "loopback", "bridge", "veth", "bond", "virtual" ...

    ``addresses`` are kinds alone: "ipv4-loopback", "ipv4-private", "ipv4-public", "ipv4-link-local", "ipv6-..." and
    so on. ``up`` is the administrator's wish, ``carrier`` (LOWER_UP) whether a signal is there.
    """

    name: str
    line: int
    kind: str | None = None
    state: str | None = None
    mtu: int | None = None
    up: bool | None = None
    carrier: bool | None = None
    master: str | None = None
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ethtool:
    """`ethtool X`, and of `ethtool -i X` driver, firmware and bus; ``speed_mbit_s`` None for "Unknown!"."""

    name: str | None = None
    speed_mbit_s: int | None = None
    duplex: str | None = None
    link_detected: bool | None = None
    autonegotiation: bool | None = None
    port: str | None = None
    driver: str | None = None
    firmware_version: str | None = None
    bdf: str | None = None
    lines: dict[str, int] = field(default_factory=dict)


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


def address_kind(text: str) -> str | None:
    """The kind of an IP address, such as "ipv4-private"; the address itself is not kept."""
    import ipaddress  # 10 ms of start time that most runs do not need

    word = text.split("/")[0].split("%")[0].strip()
    if len(word) > 64:
        return None
    try:
        address = ipaddress.ip_address(word)
    except ValueError:
        return None
    for kind, applies in (
        ("loopback", address.is_loopback),
        ("link-local", address.is_link_local),
        ("unspecified", address.is_unspecified),
        ("multicast", address.is_multicast),
        ("private", address.is_private),
    ):
        if applies:
            return f"ipv{address.version}-{kind}"
    return f"ipv{address.version}-public"


def parse_ip_addr(text: str) -> tuple[Interface, ...]:
    """Reads `ip addr`, `ip link` (also -d, -br is not understood) or their JSON (-j)."""
    if text.lstrip()[:1] == "[":
        return _ip_json(text)
    found: list[dict[str, object]] = []
    for line, raw in enumerate(lines_of(text), 1):
        stripped = raw.strip()[:1000]
        head = _IP_HEAD.match(stripped)
        if head and len(found) < 10_000:
            flags = head.group(4).split(",")
            fields = dict(_IP_FIELD.findall(head.group(5)))
            found.append(_entry(head.group(2), line, flags, fields.get("mtu"), fields.get("state"), fields))
            continue
        if not found:
            continue
        link = _IP_LINK.match(stripped)
        if link:
            found[-1]["kind"] = interface_kind(str(found[-1]["name"]), link.group(1))
        address = _IP_ADDRESS.match(stripped)
        if address and (kind := address_kind(address.group(2))):
            _add_address(found[-1], kind)
    return tuple(_interface(entry) for entry in found)


def _entry(
    name: str, line: int, flags: list[str], mtu: object, state: object, extra: dict[str, str]
) -> dict[str, object]:
    word = value_of(state) if isinstance(state, str) else None
    return {
        "name": name,
        "line": line,
        "kind": interface_kind(name),
        "state": word.lower() if word else None,
        "mtu": to_int(mtu),
        "up": "UP" in flags,
        "carrier": "LOWER_UP" in flags,
        "master": extra.get("master"),
        "addresses": (),
    }


def _add_address(entry: dict[str, object], kind: str) -> None:
    addresses = entry["addresses"]
    assert isinstance(addresses, tuple)
    if kind not in addresses:
        entry["addresses"] = (*addresses, kind)


def _interface(entry: dict[str, object]) -> Interface:
    return Interface(**entry)  # type: ignore[arg-type]


def _ip_json(text: str) -> tuple[Interface, ...]:
    found = load_json(text)
    if found is None or not isinstance(found.value, list):
        return ()
    entries: list[Interface] = []
    for index, item in enumerate(found.value[:10_000]):
        name = item.get("ifname") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(name, str):
            continue
        listed = item.get("flags")
        flags = [flag for flag in listed if isinstance(flag, str)] if isinstance(listed, list) else []
        master = item.get("master")
        extra = {"master": master} if isinstance(master, str) else {}
        entry = _entry(name, found.line_of(index), flags, item.get("mtu"), item.get("operstate"), extra)
        link = item.get("link_type")
        if isinstance(link, str):
            entry["kind"] = interface_kind(name, link)
        addresses = item.get("addr_info")
        for address in addresses if isinstance(addresses, list) else []:
            local = address.get("local") if isinstance(address, dict) else None
            if isinstance(local, str) and (kind := address_kind(local)):
                _add_address(entry, kind)
        entries.append(_interface(entry))
    return tuple(entries)


def parse_ethtool(text: str) -> Ethtool:
    """Reads `ethtool X` or `ethtool -i X`; of several interfaces in one text the first."""
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    name: str | None = None
    for line, raw in enumerate(lines_of(text, 2000), 1):
        stripped = raw.strip()[:1000]
        if stripped.startswith("Settings for ") and stripped.endswith(":"):
            if name is not None:
                break
            name = stripped[13:-1].strip() or None
            continue
        label, colon, value = stripped.partition(":")
        if colon and label not in found and len(label) < 60:
            found[label], lines[label] = value.strip(), line
    speed = _SPEED.match(found.get("Speed", ""))
    yes = {"yes": True, "no": False, "on": True, "off": False}
    duplex = value_of(found.get("Duplex"))
    return Ethtool(
        name=name,
        speed_mbit_s=speed_mbit_s(speed.group(1)) if speed else None,
        duplex=duplex.lower() if duplex and not duplex.startswith("Unknown") else None,
        link_detected=yes.get(found.get("Link detected", "").split(" ")[0]),
        autonegotiation=yes.get(found.get("Auto-negotiation", "")),
        port=value_of(found.get("Port")),
        driver=value_of(found.get("driver")),
        firmware_version=value_of(found.get("firmware-version")),
        bdf=pci_address(found.get("bus-info")),
        lines=lines,
    )
