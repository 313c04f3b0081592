"""Releases of distributions, and how a machine's own is found among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rocdoctor.knowledge.install.steps import Words
from rocdoctor.knowledge.install.vendor_lists import system_name
from rocdoctor.knowledge.load import load_table, numbers, words
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts.system import OperatingSystem


@dataclass(frozen=True, slots=True)
class Distribution:
    """A release of a distribution. ``key`` is its row ("rhel 9"), ``version`` what the machine says ("9.6")."""

    key: str
    id: str
    version: str
    manager: str
    interpreter: str
    python_package: str
    python: str | None
    dkms: str | None
    streams: Mapping[str, str]
    listed: Words
    own_rocm: bool
    repos: str | None
    uek: bool
    derived_from: str | None
    note: str | None
    values: Mapping[str, str]
    sources: Words
    driver_notes: Words = ()

    @property
    def name(self) -> str:
        """The release as people write it: ``Linux Mint 22.1``."""
        return f"{system_name(self.id)} {self.version}".strip()

    @property
    def base(self) -> str:
        """The release of its row, which it may be built on, as people write it: ``Ubuntu 24.04``."""
        name, _, release = self.key.partition(" ")
        return f"{system_name(name)} {release}".strip()

    @property
    def release_unnamed(self) -> bool:
        """Whether no vendor and no own archive of ROCm stands behind the row: all that is known is the manager."""
        return not self.own_rocm and self.dkms == "none" and set(self.streams.values()) == {"none"}


# What a row tells the templates of its steps.
_VALUES = ("codename", "suite", "osdir", "el", "eldir", "sledir", "python_module")


@cache
def _rows() -> Mapping[tuple[str, str | None], Any]:
    return {(raw["id"], raw["release"]): raw for raw in load_table("install")["distributions"]}


def _distribution(raw: Any, version: str, own_id: str) -> Distribution:
    values = {key: raw[key] for key in _VALUES if key in raw}
    if "el" in values and re.fullmatch(r"\d{1,3}\.\d{1,3}", version):
        values["elver"] = version
    elif "el" in values and own_id != raw["id"] and raw.get("listed"):
        # Without minor releases (CentOS Stream) it is ahead of the newest one that has a folder.
        values["elver"] = max(raw["listed"], key=numbers)
    if "sledir" in values:
        values["suse"] = version if re.fullmatch(r"\d{1,3}\.\d{1,3}", version) else values["sledir"]
    if raw["release"] is None and re.fullmatch(r"\d{1,3}", version):
        values["number"] = version
    key = raw["id"] if raw["release"] is None else f"{raw['id']} {raw['release']}"
    return Distribution(
        key,
        own_id,
        version,
        raw["manager"],
        raw["interpreter"],
        raw.get("python_package", raw["interpreter"]),
        raw["python"],
        raw["dkms"],
        raw["streams"],
        words(raw.get("listed")),
        raw.get("own_rocm", False),
        raw.get("repos"),
        raw.get("uek", False),
        None if own_id == raw["id"] else key,
        raw.get("note"),
        values,
        words(raw["s"]),
        words(raw.get("driver_notes")),
    )


def distributions() -> tuple[Distribution, ...]:
    """Every row, in the state in which no more than its release is known."""
    return tuple(_distribution(raw, raw["release"] or "", raw["id"]) for raw in _rows().values())


def distribution(os: OperatingSystem) -> Distribution | None:
    """The row of a machine's distribution, else that of the one it is built on; None where the table has neither.

    A row without a release is the last resort: a family's package manager, and nothing of a vendor.
    """
    own_id, version = value_or(os.id, "").lower(), value_or(os.version_id, "")
    found = _own_row(own_id, version) or _base_row(os, own_id, version)
    return None if found is None else _distribution(found, version, own_id)


def _own_row(own_id: str, version: str) -> Any:
    parts = version.split(".")
    # Texts name point releases too: 24.04.1.
    rows = (_rows().get((own_id, release)) for release in (version, ".".join(parts[:2]), parts[0], None))
    return next((raw for raw in rows if raw is not None), None)


def _base_row(os: OperatingSystem, own_id: str, version: str) -> Any:
    """The row of the distribution that this one is built on, by what os-release says of it, else by its number."""
    family, named = value_or(os.id_like, "").lower().split(), value_or(os.codename, "").lower()
    platform = re.fullmatch(r"platform:el(\d{1,2})", value_or(os.platform, ""))
    for rule in load_table("install")["derived"]:
        raw, like = None, rule.get("like")
        if rule.get("by") == "codename" and like in family and named:
            raw = next((one for one in _rows().values() if one["id"] == like and one.get("codename") == named), None)
        elif rule.get("by") == "platform" and like in family and platform is not None:
            raw = _rebuilt(_rows().get((like, platform[1])))
        elif own_id in rule.get("ids", ()):
            raw = _rows().get((rule["of"], None))
        elif own_id == rule.get("id"):
            bases = (rule["numbers"].get(release) for release in (version, version.split(".")[0]))
            raw = next((_rows().get((rule["of"], base)) for base in bases if base is not None), None)
            raw = _rebuilt(raw) if rule["of"] == "rhel" else raw
        if raw is not None:
            return raw
    # A family whose release nobody could tell still has its package manager.
    return next((raw for like in family if (raw := _rows().get((like, None))) and raw["manager"] == "apt"), None)


def _rebuilt(raw: Any) -> Any:
    """A row of RHEL as it holds for a distribution that is built from it: other repositories, and no word of AMD."""
    if raw is None:
        return None
    streams = {name: "works-unsupported" if state == "vendor" else state for name, state in raw["streams"].items()}
    return {**raw, "repos": "clone", "streams": streams, "dkms": "works-unsupported" if raw["dkms"] else raw["dkms"]}


def end_of_life(os: OperatingSystem) -> str:
    """The day or month in which a release gets its last updates (``2026-05-13``); "" where that is not known."""
    row = _ended(os)
    return "" if row is None else str(row["releases"].get(value_or(os.version_id, ""), ""))


def longer_support(os: OperatingSystem) -> str:
    """The subscription with which a release gets updates after that day; "" where none is known."""
    row = _ended(os)
    return "" if row is None else str(row.get("longer", {}).get(value_or(os.version_id, ""), ""))


def _ended(os: OperatingSystem) -> Any:
    own_id = value_or(os.id, "").lower()
    return next((raw for raw in load_table("install")["ended"] if raw["id"] == own_id), None)


def tables_day() -> str:
    """The day on which the tables of installations were last read (``2026-11-24``)."""
    table = load_table("install")
    return max(str(one.get("read", table["read_through"])) for one in table["sources"].values())


def suites() -> frozenset[str]:
    """The releases by whose names vendors divide their packages for apt: jammy, noble."""
    return frozenset(str(raw["suite"]) for raw in load_table("install")["distributions"] if "suite" in raw)


def not_settled() -> Words:
    """What of the tables no source settled on that day, in words."""
    return tuple(str(one["text"]) for one in load_table("install")["not_settled"])


def distribution_risk(found: Distribution, state: str) -> str | None:
    """What speaks against a vendor's packages on this distribution, or None when the vendor names it."""
    texts = load_table("install_rocm")["risks"]
    if found.derived_from is not None or state != "vendor":
        like = found.derived_from or found.values.get("osdir", found.key)
        return str(texts["distribution"]).format(name=found.name, like=like)
    if found.listed and "." in found.version and found.version not in found.listed:
        return str(texts["minor"]).format(listed=", ".join(found.listed), version=found.version)
    return None
