"""InfiniBand and RoCE devices: /sys/class/infiniband files, ibstat, ibv_devinfo, `rdma link`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, number, to_int, value_of

_STATE = regex(r"(\d{1,2}):[ \t]*([A-Za-z_ ]{2,40}?)[ \t]*\Z")
_RATE = regex(r"([0-9]{1,5}(?:\.[0-9]{1,3})?)[ \t]*Gb/sec(?:[ \t]*\((\d{1,2})X(?:[ \t]+([A-Z0-9]{2,5}))?\))?")
_CA = regex(r"CA '([^']{1,64})'\Z")
_PORT = regex(r"Port (\d{1,3}):\Z")
_RDMA = regex(r"(?:\d{1,6}:[ \t]*)?link ([^\s/]{1,64})/(\d{1,3})[ \t]+(?![ \t])(.*)\Z")
_STATE_WORDS = {"initializing": "INIT", "initialize": "INIT", "port_init": "INIT", "port_armed": "ARMED"}


@dataclass(frozen=True, slots=True)
class IbRate:
    """The rate of a port: ``gbit_s`` of all lanes, ``lanes`` (4 for "4X"), ``generation`` ("NDR")."""

    gbit_s: float
    lanes: int | None
    generation: str | None


@dataclass(frozen=True, slots=True)
class IbPort:
    """One port of an RDMA device; ``state`` is "ACTIVE", "DOWN", "INIT" ..., ``physical_state`` "LinkUp", "Polling".

    ``link_layer`` is "InfiniBand" or "Ethernet" (RoCE); ``mtu_bytes`` the active one; ``netdev`` its interface.
    Identifiers (GUIDs, LIDs) are not kept.
    """

    device: str
    port: int | None
    line: int
    state: str | None = None
    physical_state: str | None = None
    rate_gbit_s: float | None = None
    link_layer: str | None = None
    mtu_bytes: int | None = None
    netdev: str | None = None
    device_type: str | None = None
    firmware_version: str | None = None


def port_state(text: str) -> str | None:
    """The state in capitals: "ACTIVE" from "4: ACTIVE" (sysfs), "Active" (ibstat) or "PORT_ACTIVE (4)" (ibv)."""
    stripped = text.strip()[:200]
    match = _STATE.match(stripped)
    word = value_of(match.group(2) if match else re.sub(r"\s*\(\d{1,3}\)\Z", "", stripped[:60]))
    if word is None:
        return None
    return _STATE_WORDS.get(word.lower(), word.upper().removeprefix("PORT_"))


def physical_state(text: str) -> str | None:
    """The physical state: "LinkUp" from "5: LinkUp" (sysfs), "LinkUp" (ibstat), "LINK_UP" (rdma, ibv_devinfo)."""
    stripped = re.sub(r"\s*\(\d{1,3}\)\Z", "", text.strip()[:60])
    match = _STATE.match(stripped)
    word = value_of(match.group(2) if match else stripped)
    if word is None:
        return None
    known = {
        "linkup": "LinkUp",
        "polling": "Polling",
        "disabled": "Disabled",
        "sleep": "Sleep",
        "portconfigurationtraining": "PortConfigurationTraining",
        "linkerrorrecovery": "LinkErrorRecovery",
    }
    return known.get(word.replace("_", "").replace(" ", "").lower(), word)


def port_rate(text: str) -> IbRate | None:
    """Reads the rate file, "400 Gb/sec (4X NDR)"; None where there is no positive rate."""
    match = _RATE.search(text[:200])
    if match is None or float(match.group(1)) <= 0:
        return None
    return IbRate(float(match.group(1)), int(match.group(2)) if match.group(2) else None, match.group(3))


def link_layer(text: str) -> str | None:
    """The layer, "InfiniBand" or "Ethernet", from the link_layer file and the tools."""
    word = (value_of(text) or "").lower()
    return {"infiniband": "InfiniBand", "ethernet": "Ethernet", "ib": "InfiniBand", "eth": "Ethernet"}.get(word)


def counter(text: str) -> int | None:
    """A counter file; None for "N/A (no PMA)" and the like."""
    value = to_int(text)
    return value if value is not None and value >= 0 else None


def parse_ibstat(text: str) -> tuple[IbPort, ...]:
    """Reads `ibstat`: one entry a port."""
    return _ports(text, _CA, _PORT, _IBSTAT_DEVICE, _IBSTAT_PORT)


_Fields = Mapping[str, tuple[str, Callable[[str], object]]]


def _ports(
    text: str, adapter: re.Pattern[str], head: re.Pattern[str], of_device: _Fields, of_port: _Fields
) -> tuple[IbPort, ...]:
    """Ports of a listing in blocks: an adapter, its own fields, then each port with its fields."""
    ports: list[dict[str, object]] = []
    device: dict[str, object] = {}
    in_port = False
    for line, raw in enumerate(lines_of(text, 20_000), 1):
        stripped = raw.strip()[:400]
        if named := adapter.match(stripped):
            device = {"device": named.group(1)}
            in_port = False
            continue
        port = head.match(stripped)
        if port and device:
            ports.append({**device, "port": int(port.group(1)), "line": line})
            in_port = True
            continue
        label, colon, value = stripped.partition(":")
        name, read = (of_port if in_port else of_device).get(label, ("", value_of))
        if colon and device and name:
            (ports[-1] if in_port else device)[name] = read(value.strip())
    return tuple(_port(port) for port in ports)


def parse_rdma_link(text: str) -> tuple[IbPort, ...]:
    """Reads `rdma link` ("link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0")."""
    ports: list[IbPort] = []
    for line, raw in enumerate(lines_of(text, 5000), 1):
        match = _RDMA.match(raw.strip()[:1000])
        if match is None:
            continue
        words = match.group(3).split()
        fields = {key: words[index + 1] for index, key in enumerate(words[:-1])}
        ports.append(
            IbPort(
                device=match.group(1),
                port=int(match.group(2)),
                line=line,
                state=port_state(fields["state"]) if "state" in fields else None,
                physical_state=physical_state(fields["physical_state"]) if "physical_state" in fields else None,
                netdev=fields.get("netdev"),
            )
        )
    return tuple(ports)


def _positive(text: str) -> float | None:
    value = number(text)
    return value if value is not None and value > 0 else None


def _port(values: dict[str, object]) -> IbPort:
    return IbPort(**values)  # type: ignore[arg-type]


_IBSTAT_DEVICE: _Fields = {
    "CA type": ("device_type", value_of),
    "Firmware version": ("firmware_version", value_of),
}
_IBSTAT_PORT: _Fields = {
    "State": ("state", port_state),
    "Physical state": ("physical_state", physical_state),
    "Rate": ("rate_gbit_s", _positive),
    "Link layer": ("link_layer", link_layer),
}
