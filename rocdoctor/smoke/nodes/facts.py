"""What one node tells the others about itself."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rocdoctor import __version__
from rocdoctor.smoke.nodes.interfaces import Interface, bindable, from_json, interfaces, is_loopback, to_json
from rocdoctor.smoke.pool import WORKER

_T = TypeVar("_T")
VERSION_NAMES = ("rocdoctor", "python", "torch", "hip", "cuda")
# Settings of the communication libraries: they must agree among nodes, or are the reason why nodes do not talk.
PREFIXES = ("NCCL_", "RCCL_", "GLOO_", "TP_SOCKET", "TORCH_NCCL_", "UCX_", "FI_")
_MAX_VALUE = 200


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node. ``host_addresses``: what its host name resolves to there, None where it does not resolve.

    ``host_address``: the first of them that is its own. ``data_address``, ``data_port``: where its probe answers, None
    where it could not listen. ``here``: equal for nodes that share machine and network namespace.
    """

    node: int
    versions: dict[str, str | None]
    interfaces: tuple[Interface, ...]
    host_addresses: tuple[str, ...] | None
    host_address: str | None
    variables: dict[str, str]
    here: str = ""
    problem: str = ""  # why the interpreter under test told no versions
    data_address: str | None = None
    data_port: int | None = None
    token: str = ""

    def interface(self, name: str | None) -> Interface | None:
        """The interface of that name."""
        return next((one for one in self.interfaces if one.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """The form in which it is told."""
        names = (
            "node",
            "versions",
            "host_address",
            "variables",
            "here",
            "problem",
            "data_address",
            "data_port",
            "token",
        )
        return {
            **{name: getattr(self, name) for name in names}, "interfaces": to_json(self.interfaces),
            "host_addresses": None if self.host_addresses is None else list(self.host_addresses),
        }  # fmt: skip


def facts_from_json(value: Mapping[str, Any], node: int) -> NodeFacts:
    """What another node told; wrong types are read as not told."""
    versions, variables = value.get("versions"), value.get("variables")
    told = value.get("host_addresses")
    port = value.get("data_port")
    return NodeFacts(
        node,
        {name: _word(versions.get(name)) for name in VERSION_NAMES} if isinstance(versions, dict) else {},
        from_json(value.get("interfaces")),
        tuple(str(one)[:64] for one in told[:64]) if isinstance(told, list) else None,
        _word(value.get("host_address")),
        {str(name)[:80]: str(text)[:_MAX_VALUE] for name, text in list(variables.items())[:400]}
        if isinstance(variables, dict) else {},
        _word(value.get("here")) or "", _word(value.get("problem")) or "", _word(value.get("data_address")),
        port if isinstance(port, int) and 0 < port < 65536 else None, _word(value.get("token")) or "",
    )  # fmt: skip


def _word(value: Any) -> str | None:
    return value[:400] if isinstance(value, str) else None


def gather(node: int, interpreter: str, variables: Mapping[str, str], limit_s: float = 5.0) -> NodeFacts:
    """This node's facts, without importing torch."""
    versions, problem = _versions(interpreter, limit_s)
    addresses = within(limit_s, host_name_addresses)
    own = next((one for one in addresses or () if bindable(one)), None)
    kept = {name: value[:_MAX_VALUE] for name, value in sorted(variables.items()) if name.startswith(PREFIXES)}
    return NodeFacts(node, versions, interfaces(), addresses, own, kept, _here(), problem)


def host_name_addresses() -> tuple[str, ...] | None:
    """What this machine's own name resolves to; None when it does not."""
    return resolve(socket.gethostname())


def resolve(name: str) -> tuple[str, ...] | None:
    """The addresses of a name in the order in which programs get them; None when it does not resolve."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return tuple(dict.fromkeys(str(one[4][0]) for one in found))


def within(limit_s: float, question: Callable[[], _T]) -> _T | None:
    """The answer to a question that has no deadline of its own (a name server may never answer); None without one."""
    answers: list[_T] = []
    thread = threading.Thread(target=lambda: answers.append(question()), daemon=True)
    thread.start()
    thread.join(limit_s)
    return answers[0] if answers else None


def _versions(interpreter: str, limit_s: float) -> tuple[dict[str, str | None], str]:
    found: dict[str, str | None] = {"rocdoctor": __version__}
    try:
        done = subprocess.run(
            [interpreter, str(WORKER), "versions"], capture_output=True, timeout=limit_s, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        told = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return found, f"the interpreter gave no answer within {limit_s:g} s"
    except (OSError, ValueError, IndexError) as error:
        return found, f"the interpreter told no versions ({type(error).__name__})"
    return {**found, **{name: _word(told.get(name)) for name in VERSION_NAMES[1:]}}, ""


def _here() -> str:
    parts = []
    for path in ("/proc/sys/kernel/random/boot_id",):
        try:
            parts.append(Path(path).read_text().strip())
        except OSError:
            return ""
    try:
        parts.append(os.readlink("/proc/self/ns/net"))
    except OSError:
        return ""
    # Only whether two nodes are the same is of interest, not which machine it is.
    import hashlib

    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


def is_local_only(addresses: tuple[str, ...] | None) -> bool:
    """Whether a name resolves, but to loopback addresses alone."""
    return bool(addresses) and all(map(is_loopback, addresses or ()))
