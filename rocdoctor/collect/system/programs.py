"""Programs that a set-up goes through and that no fact tells of: container engines and what RDMA is looked at with."""

from __future__ import annotations

from collections.abc import Mapping

from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Fact, Known, Unknown

PROGRAMS = ("docker", "podman", "nvidia-ctk", "ibv_devinfo")
# Where packages of distributions, vendors and snap put programs; NixOS has a folder of its own.
_FOLDERS = ("/usr/bin", "/usr/local/bin", "/snap/bin", "/run/current-system/sw/bin")


def _questions(name: str) -> list[str]:
    return [f"list {folder}/{name}" for folder in _FOLDERS]


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    host.prefetch(question for name in PROGRAMS for question in _questions(name))


def collect_programs(host: Host) -> Mapping[str, Fact[str | None]]:
    """Where each program lies; Known(None): in none of the usual folders."""
    return {name: _place(host, name) for name in PROGRAMS}


def _place(host: Host, name: str) -> Fact[str | None]:
    answers = [host.ask(question) for question in _questions(name)]
    for answer in answers:
        if answer.ok and (paths := answer.lines()):
            return Known(paths[0], answer.source(1))
    gap = next((answer for answer in answers if not (answer.ok and answer.complete)), None)
    if gap is not None and gap.status != "absent":
        return Unknown("this evidence does not show which programs are installed", "not-asked", gap.source())
    return Known(None, answers[0].source())
