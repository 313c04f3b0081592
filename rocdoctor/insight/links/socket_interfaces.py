"""Which network interfaces the socket variables of NCCL, RCCL and Gloo choose.

NCCL and RCCL: a list of prefixes, of exact names after ``=``, of exclusions after ``^`` (NCCL documentation,
NCCL_SOCKET_IFNAME). Gloo and TensorPipe: exact names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WantedInterfaces:
    """What a variable asks for."""

    names: tuple[str, ...]
    exact: bool
    excluding: bool

    def takes(self, interface: str) -> bool:
        """Whether the variable lets this interface be chosen."""
        hit = any(interface == name or (not self.exact and interface.startswith(name)) for name in self.names)
        return hit is not self.excluding


def wanted(variable: str, value: str) -> WantedInterfaces:
    """What a value of a variable asks for; a port number after a colon is left out, as NCCL does."""
    text = value.strip().strip("\"'")
    if not variable.startswith("NCCL_"):
        return WantedInterfaces(_split(text), True, False)
    excluding = text.startswith("^")
    text = text.removeprefix("^")
    exact = text.startswith("=")
    return WantedInterfaces(tuple(name.split(":")[0] for name in _split(text.removeprefix("="))), exact, excluding)


def chosen(want: WantedInterfaces, present: Iterable[str]) -> list[str]:
    """The interfaces of a machine that a variable leaves. Names with a colon (aliases) count as their interface."""
    found = sorted(name for name in present if want.takes(name))
    if found or want.excluding:
        return found
    plain = WantedInterfaces(tuple(name.split(":")[0] for name in want.names), want.exact, False)
    return sorted(name for name in present if plain.takes(name))


def _split(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")[:64] if name.strip())
