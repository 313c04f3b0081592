"""Releases of distributions, and how a machine's own is found among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rocdoctor.knowledge.install.steps import Words
from rocdoctor.knowledge.load import load_table, words
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


@cache
def _rows() -> Mapping[tuple[str, str | None], Any]:
    return {(raw["id"], raw["release"]): raw for raw in load_table("install")["distributions"]}


def _distribution(raw: Any, version: str, own_id: str) -> Distribution:
    values = {key: raw[key] for key in ("codename", "suite", "osdir", "el", "eldir") if key in raw}
    if "el" in values and re.fullmatch(r"\d{1,3}\.\d{1,3}", version):
        values["elver"] = version
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
    """The row of a machine's distribution, or None where the table has none for this release."""
    own_id, version = value_or(os.id, "").lower(), value_or(os.version_id, "")
    base = own_id
    for raw in load_table("install")["derived"]:
        if raw["id"] == own_id and version in raw["releases"]:
            base = raw["of"]
    parts = version.split(".")
    for release in (version, ".".join(parts[:2]), parts[0], None):  # texts name point releases too: 24.04.1
        raw = _rows().get((base, release))
        if raw is not None and (release is not None or raw["release"] is None):
            return _distribution(raw, version, own_id)
    return None


def distribution_risk(found: Distribution, state: str) -> str | None:
    """What speaks against a vendor's packages on this distribution, or None when the vendor names it."""
    texts = load_table("install_rocm")["risks"]
    name = f"{found.id} {found.version}".strip()
    if found.derived_from is not None or state != "vendor":
        like = found.derived_from or found.values.get("osdir", found.key)
        return str(texts["distribution"]).format(name=name, like=like)
    if found.listed and "." in found.version and found.version not in found.listed:
        return str(texts["minor"]).format(listed=", ".join(found.listed), version=found.version)
    return None
