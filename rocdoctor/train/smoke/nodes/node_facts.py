"""What one node tells the others about itself."""

from __future__ import annotations

import hmac
import json
import os
import re
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rocdoctor import __version__
from rocdoctor.host.live.run_program import run_bounded
from rocdoctor.host.masking.own_names import own_masker
from rocdoctor.host.masking.rules import DROPPED
from rocdoctor.knowledge.lookup import env_names
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import one_line
from rocdoctor.train.smoke.nodes.interfaces import (
    NodeInterface,
    bindable,
    from_json,
    interfaces,
    is_address,
    is_host,
    is_loopback,
    to_json,
)
from rocdoctor.train.smoke.run.pool import WORKER

if TYPE_CHECKING:
    from rocdoctor.host.masking.masker import Masker

_T = TypeVar("_T")
VERSION_NAMES = ("rocdoctor", "python", "torch", "hip", "cuda")
# Settings of the communication libraries: they must agree among nodes, or are the reason why nodes do not talk.
PREFIXES = ("NCCL_", "RCCL_", "GLOO_", "TP_SOCKET", "TORCH_NCCL_", "UCX_", "FI_")
_INTERFACES = ("TP_SOCKET_IFNAME",)
_MAX_VALUE = 200
_VARIABLE = regex(r"[A-Z][A-Z0-9_]{1,79}")
_VERSION = regex(r"[\w.+-]{1,60}")
_TOKEN = regex(r"[0-9a-f]{24}")
_HERE = regex(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node. ``host_addresses``: what its host name resolves to there, None where it does not resolve.

    ``host_address``: the first of them that is its own. ``data_address``, ``data_port``: where its probe answers, None
    where it could not listen. ``here``: equal for nodes that share machine and network namespace.
    """

    node: int
    versions: dict[str, str | None]
    interfaces: tuple[NodeInterface, ...]
    host_addresses: tuple[str, ...] | None
    host_address: str | None
    variables: dict[str, str]
    here: str = ""
    problem: str = ""  # why the interpreter under test told no versions
    data_address: str | None = None
    data_port: int | None = None
    token: str = ""

    def interface(self, name: str | None) -> NodeInterface | None:
        """The interface of that name."""
        return next((one for one in self.interfaces if one.name == name), None)

    def answers_at(self, alone: bool) -> bool:
        """Whether others may look for its probe: it has one, and not on loopback unless all nodes are one machine."""
        return self.data_port is not None and (alone or not is_loopback(self.data_address or ""))

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
            **{name: getattr(self, name) for name in names},
            "interfaces": to_json(self.interfaces),
            "host_addresses": None if self.host_addresses is None else list(self.host_addresses),
        }


def facts_from_json(value: Mapping[str, Any], node: int, peer: str) -> NodeFacts:
    """What another node told; what has not the form of a fact is read as not told.

    ``peer``: where its connection comes from. Its probe answers there or at an address of its interfaces, else nowhere:
    nobody is sent elsewhere by its word.
    """
    versions, variables = value.get("versions"), value.get("variables")
    told = value.get("host_addresses")
    faces = from_json(value.get("interfaces"))
    own = {peer, *(address for face in faces for address in face.addresses)}
    address, port = value.get("data_address"), value.get("data_port")
    token = _word(value.get("token"), _TOKEN)
    answers = is_host(address) and address in own and is_port(port) and bool(token)
    return NodeFacts(
        node,
        {name: _word(versions.get(name), _VERSION) for name in VERSION_NAMES} if isinstance(versions, dict) else {},
        faces,
        tuple(one for one in told[:64] if is_address(one)) if isinstance(told, list) else None,
        one if is_address(one := value.get("host_address")) else None,
        {
            name: one_line(text)[:_MAX_VALUE]
            for name, text in list(variables.items())[:400]
            if _VARIABLE.fullmatch(name) and name.startswith(PREFIXES) and isinstance(text, str)
        }
        if isinstance(variables, dict)
        else {},
        _word(value.get("here"), _HERE) or "",
        one_line(_word(value.get("problem")) or ""),
        address if answers else None,
        port if answers else None,
        (token or "") if answers else "",
    )


def is_port(value: Any) -> bool:
    """Whether it is the number of a port."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536


def is_token(value: Any) -> bool:
    """Whether it is what probes show each other."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def _word(value: Any, form: re.Pattern[str] | None = None) -> str | None:
    if not isinstance(value, str) or (form is not None and not form.fullmatch(value)):
        return None
    return value[:400]


def disclosed(one: NodeFacts, key: str, masker: Masker | None = None) -> NodeFacts:
    """The same without secrets and names, as it is told to others and shown.

    Values of variables that our table does not name are not told, and known ones are masked; where that changed one, a
    fingerprint made with the run's key still tells equal values from different ones.
    """
    masker = masker or own_masker()
    return replace(
        one,
        variables={name: _told(name, value, key, masker) for name, value in one.variables.items()},
        problem=masker.mask_text(one.problem),
    )


def _told(name: str, value: str, key: str, masker: Masker) -> str:
    listed = masker.mask_env({name: value})[name]  # knows which of them name machines
    shown = masker.mask_text(f"{name}={value}").partition("=")[2] if listed == DROPPED else listed
    if name in env_names() or name in _INTERFACES:
        if shown == value:
            return value
    else:
        shown = "a value that is not shown"
    mark = hmac.digest(key.encode(), f"variable\n{name}\n{value}".encode(errors="replace"), "sha256").hex()[:8]
    return f"{shown[:_MAX_VALUE]} [{mark}]"


def gather(node: int, interpreter: str, variables: Mapping[str, str], limit_s: float = 5.0) -> NodeFacts:
    """This node's facts, without importing torch."""
    versions, problem = _versions(interpreter, limit_s)
    addresses = within(limit_s, host_name_addresses)
    own = next((one for one in addresses or () if bindable(one)), None)
    kept = {name: value[:_MAX_VALUE] for name, value in sorted(variables.items()) if name.startswith(PREFIXES)}
    return NodeFacts(node, versions, interfaces(), addresses, own, kept, here(), problem)


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
        done = run_bounded("run versions", [interpreter, str(WORKER), "versions"], limit_s, dict(os.environ))
        if done.status == "timeout":
            return found, f"the interpreter gave no answer within {limit_s:g} s"
        told = json.loads(done.text.splitlines()[-1])
    except (ValueError, IndexError, RecursionError) as error:
        return found, f"the interpreter reported no versions ({type(error).__name__})"
    if not isinstance(told, dict):
        return found, "the interpreter reported no versions"
    return {**found, **{name: _word(told.get(name)) for name in VERSION_NAMES[1:]}}, ""


def here() -> str:
    """A mark that is equal for processes that share machine and network namespace; empty where it cannot be read."""
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
