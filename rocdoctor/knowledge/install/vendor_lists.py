"""What AMD lists for a ROCm release: cards, releases of distributions with their kernels, drivers, firmware.

The figures are those of ``rocm_support.yaml``, which ``tools/vendor_tables.py`` writes from AMD's own tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from rocdoctor.knowledge.install.steps import Words
from rocdoctor.knowledge.load import TableSource, load_table, numbers, source, words
from rocdoctor.knowledge.software.compat import series

TABLE = "rocm_support"
_NAMES = {
    "ubuntu": "Ubuntu",
    "debian": "Debian",
    "rhel": "RHEL",
    "ol": "Oracle Linux",
    "rocky": "Rocky Linux",
    "sles": "SLES",
    "almalinux": "AlmaLinux",
    "fedora": "Fedora",
    "arch": "Arch Linux",
    "linuxmint": "Linux Mint",
    "pop": "Pop!_OS",
    "WSL": "WSL",
}
KernelKind = Literal["GA", "HWE", "OEM", "UEK", ""]
_KINDS: tuple[KernelKind, ...] = ("GA", "HWE", "OEM", "UEK")
Family = Literal["Instinct", "Radeon", "Ryzen"]


@dataclass(frozen=True, slots=True)
class ListedSystem:
    """A release of a distribution with the kernel that AMD lists for it; ``kind`` "" where it names none."""

    distribution: str
    version: str
    kind: KernelKind
    kernel: str

    @property
    def name(self) -> str:
        """``Ubuntu 24.04.5``."""
        return f"{system_name(self.distribution)} {self.version}"

    @property
    def kernel_words(self) -> str:
        """``the HWE kernel 7.0``; of Oracle's kernel the name of its release, ``UEK 8``."""
        return (
            f"UEK {self.kernel}" if self.kind == "UEK" else f"the {self.kind} kernel {self.kernel}".replace("  ", " ")
        )

    def is_release(self, distribution: str, version: str) -> bool | None:
        """Whether a machine runs this release; None where its minor release counts and is not known.

        Ubuntu's point releases are states of updates: they are told apart by their kernels.
        """
        if distribution != self.distribution:
            return False
        listed, have = numbers(self.version), numbers(version)
        if self.distribution == "ubuntu":
            return have[:2] == listed[:2] if len(have) >= 2 else None
        if len(have) < len(listed):
            return None if have and have == listed[: len(have)] else False
        return have[: len(listed)] == listed

    def has_kernel(self, release: str) -> bool | None:
        """Whether a running kernel (``uname -r``) is of this line; None where it is not known."""
        if not numbers(release):
            return None
        if self.kind == "UEK":
            return "uek" in release
        if self.distribution == "ubuntu":
            return numbers(release)[:2] == numbers(self.kernel)[:2] and ("-oem" in release) == (self.kind == "OEM")
        # 6.12.0-211 is the build of a minor release: its updates count further behind it.
        base, _, build = self.kernel.partition("-")
        line = re.escape(base) + (r"-" + re.escape(build.partition(".")[0]) + r"(?:\D|$)" if build else r"(?:\D|$)")
        return re.match(line, release) is not None


@dataclass(frozen=True, slots=True)
class ListedCards:
    """Cards that AMD lists alike. ``firmware`` are bundles that it names, where it names any."""

    family: Family
    gfx: str
    names: Words
    systems: tuple[ListedSystem, ...]
    wsl: Words
    firmware: Words


@dataclass(frozen=True, slots=True)
class ReleaseLists:
    """The lists of a ROCm release. ``drivers`` by family: releases of amdgpu-dkms, or ``kernel`` for its own driver."""

    rocm: str
    cards: tuple[ListedCards, ...]
    drivers: Mapping[str, Words]
    sources: Words

    @property
    def cited(self) -> tuple[TableSource, ...]:
        """The sources in full, with the day on which each was read."""
        return tuple(one for name in self.sources if (one := source(TABLE, name)) is not None)

    def of_gfx(self, gfx: str) -> tuple[ListedCards, ...]:
        """The rows of a target."""
        return tuple(row for row in self.cards if row.gfx == gfx)

    def of_names(self, gfx: str, names: Iterable[str]) -> tuple[ListedCards, ...]:
        """The rows of a target that name one of these parts."""
        wanted = {plain_name(name) for name in names}
        return tuple(row for row in self.of_gfx(gfx) if wanted & {plain_name(name) for name in row.names})


def system_name(distribution: str) -> str:
    """A distribution as people write it: ``Ubuntu`` for the id ubuntu."""
    return _NAMES.get(distribution, distribution)


def plain_name(name: str) -> str:
    """A part's name for comparison, be it of a table, a tool or a processor (``AMD RYZEN AI MAX+ 395 w/ Radeon``)."""
    short = re.split(r" w/|\s\(", name.lower(), maxsplit=1)[0] if "gb)" not in name.lower() else name.lower()
    return re.sub(r"\s+", " ", short.replace("(tm)", "").replace("amd ", "").replace("instinct ", "")).strip()


def release_lists(rocm: str) -> ReleaseLists | None:
    """The lists for the release line of a ROCm version, or None where they were not read."""
    return _lists().get(series(rocm))


def newest_lists() -> ReleaseLists:
    """The lists of the newest release of the table."""
    found = _lists()
    return found[max(found, key=numbers)]


@cache
def _lists() -> Mapping[str, ReleaseLists]:
    raws = {str(raw["rocm"]): raw for raw in load_table(TABLE)["releases"]}
    return {rocm: _release(raw, raws) for rocm, raw in raws.items()}


def _release(raw: Any, raws: Mapping[str, Any]) -> ReleaseLists:
    if "like" not in raw:
        return ReleaseLists(
            str(raw["rocm"]),
            tuple(_cards(row) for row in raw["cards"]),
            {family: words(names) for family, names in raw["drivers"].items()},
            words(raw["s"]),
        )
    like = _release(raws[raw["like"]], raws)
    instead = {_system(old): _system(new) for old, new in raw["replaces"].items()}
    cards = tuple(
        replace(row, systems=tuple(dict.fromkeys(instead.get(one, one) for one in row.systems))) for row in like.cards
    )
    drivers = {family: (*words(raw["more_drivers"].get(family)), *names) for family, names in like.drivers.items()}
    return ReleaseLists(str(raw["rocm"]), cards, drivers, (*words(raw["s"]), *like.sources))


def _cards(row: Any) -> ListedCards:
    systems = tuple(_system(one) for one in row["systems"])
    return ListedCards(
        row["family"], row["gfx"], words(row["names"]), systems, words(row["wsl"]), words(row["firmware"])
    )


def _system(text: str) -> ListedSystem:
    distribution, version, *kernel = text.split(" ")
    kinds: tuple[KernelKind, ...] = tuple(one for one in _KINDS if one == kernel[0])
    return ListedSystem(distribution, version, kinds[0] if kinds else "", kernel[-1])
