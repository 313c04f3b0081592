"""What Slurm and Kubernetes are told of the GPUs of a node, by ``install_schedulers.yaml``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from rocdoctor.knowledge.install.steps import Words, fill_text
from rocdoctor.knowledge.load import load_table, words

_TABLE = "install_schedulers"


@dataclass(frozen=True, slots=True)
class Gres:
    """Lines for Slurm: ``detect`` for gres.conf, ``by_file`` where nothing is detected, what else to know."""

    detect: str
    by_file: str
    notes: Words
    sources: Words


@dataclass(frozen=True, slots=True)
class DevicePlugin:
    """What gives a cluster of Kubernetes the resource; the commands are for whoever administers it."""

    resource: str
    run: tuple[Words, ...]
    undo: tuple[Words, ...]
    note: str
    sources: Words


def gres(vendor: str, count: int, files: str) -> Gres:
    """For a node with so many GPUs of a vendor, whose device nodes are ``files`` (a range as Slurm writes it)."""
    table = load_table(_TABLE)["slurm"]
    raw = table[vendor]
    values = {"count": str(count), "files": files, "plugin": raw["plugin"]}
    notes = [fill_text(one, values) for one in table["lines"]]
    if "gone" in raw:
        notes.append(fill_text(raw["gone"]["text"], {"rocm": raw["gone"]["rocm"]}))
    sources = (*words(raw["s"]), *words(table["verify_s"]))
    return Gres(raw["detect"], fill_text(raw["file"], values), tuple(notes), sources)


def device_plugin(vendor: str) -> DevicePlugin:
    """For GPUs of a vendor whose driver is on the node."""
    raw = load_table(_TABLE)["kubernetes"][vendor]
    run, undo = (tuple(tuple(shlex.split(one)) for one in raw[name]) for name in ("run", "undo"))
    return DevicePlugin(raw["resource"], run, undo, raw["operator"], words(raw["s"]))
