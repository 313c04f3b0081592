"""Writes ``rocm_support.yaml`` from the tables in AMD's documentation repository, and says what changed.

usage: python -m tools.vendor_tables --rocm 10.1 --day 2026-11-24 [--write] FILE@COMMIT...
       python -m tools.vendor_tables --torch BUILD_SCRIPT

FILE is ``os-support.yaml``, ``driver-firmware-support.yaml`` or ``gpus.yaml`` of ROCm/rocm-docs, ``docs/data``, as it
was at COMMIT (FILE@OWNER/NAME@COMMIT: of another repository); the first and the last are needed. Nothing is fetched.
Only facts are taken over: which card AMD lists on which release of a distribution with which kernel, its drivers and
its firmware. Other ROCm releases of the table stay. With ``--torch`` the targets in a build script of PyTorch's wheels
are set beside those of ``compat.yaml``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.knowledge.load import knowledge_folder, numbers
from rocdoctor.knowledge.software.compat import torch_releases
from rocdoctor.parsers.formats.yaml_text import parse_yaml

TABLE = knowledge_folder() / "rocm_support.yaml"
_REPOSITORY = "ROCm/rocm-docs"
_DISTRIBUTIONS = {
    "Ubuntu": "ubuntu",
    "Debian": "debian",
    "Red Hat Enterprise Linux": "rhel",
    "Oracle Linux": "ol",
    "Rocky Linux": "rocky",
    "SUSE Linux Enterprise Server": "sles",
}
_ELSEWHERE = ("Windows",)  # not Linux; what stands under no known name is an error, so that nothing gets lost
_FAMILIES = ("AMD Instinct", "AMD Radeon", "AMD Ryzen")
_FILES = ("os-support.yaml", "gpus.yaml", "driver-firmware-support.yaml")
_MOST_BYTES = 4_000_000  # AMD's largest has a hundredth of it
_HEAD = """\
# What AMD lists for each ROCm release: card x release of a distribution x kernel, drivers and firmware.
# Written by python -m tools.vendor_tables from AMD's own tables; facts of other sources belong into other tables.
# systems: distribution, its release, kind of kernel where one is named (GA, HWE, OEM, UEK), kernel.
# wsl: releases of Ubuntu. drivers: releases of amdgpu-dkms; "kernel" is the driver of the kernel itself.
# like: as another release, but for what follows.
"""


class VendorError(Exception):
    """A file of the vendor that is not of the shape that this program knows; the message names the place."""


def main(words: Sequence[str] | None = None) -> int:
    """Read the files, print what changed, and write the table where asked."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.vendor_tables",
        description="Writes rocm_support.yaml from AMD's own tables, and says what changed.",
    )
    parser.add_argument("files", nargs="*", metavar="FILE@COMMIT")
    parser.add_argument("--rocm", metavar="X.Y", help="the ROCm release that the files are of")
    parser.add_argument("--day", metavar="YYYY-MM-DD", help="the day on which they were read")
    parser.add_argument("--table", type=Path, default=TABLE, help="the table to compare with and to write")
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--torch", type=Path, metavar="SCRIPT", help="a build script of PyTorch's wheels")
    options = parser.parse_args(words)
    try:
        if options.torch is not None:
            print("\n".join(torch_differences(_text(options.torch))))
            return 0
        if not options.rocm or not re.fullmatch(r"\d{4}-\d\d-\d\d", options.day or ""):
            parser.error("--rocm and --day are needed")
        old = _table(options.table) if options.table.exists() else {}
        new = updated(old, options.rocm, options.day, options.files)
    except (OSError, UnicodeDecodeError, VendorError) as error:
        print(f"vendor_tables: {error}", file=sys.stderr)
        return 2
    print("\n".join(differences(old, new, options.rocm)) or "nothing changed")
    if options.write:
        options.table.write_text(rendered(new), encoding="utf-8")
    return 0


def _text(path: Path) -> str:
    return read_regular(path, _MOST_BYTES).decode("utf-8")


def _table(path: Path) -> dict[str, Any]:
    """A table of the vendor, or ours: bounded in size, depth and what its aliases stand for."""
    found = parse_yaml(_text(path))
    if found.problem or not isinstance(found.value, dict):
        raise VendorError(f"{path}: {found.problem or 'not a table'}")
    return found.value


def updated(old: Mapping[str, Any], rocm: str, day: str, files: Sequence[str]) -> dict[str, Any]:
    """The table with the release of these files; raises ``VendorError`` where a file lacks or has another shape."""
    texts, sources = {}, dict(old.get("sources", {}))
    cited = []
    for word in files:
        place, _, commit = word.rpartition("@")
        path, _, repository = place.partition("@")
        name = Path(path).name
        if name not in _FILES or not re.fullmatch(r"[0-9a-f]{7,40}", commit):
            raise VendorError(f"{word}: expected one of {', '.join(_FILES)} with @COMMIT")
        texts[name] = _table(Path(path))
        key = f"{name.partition('.')[0]}-{rocm}"
        what = f"{repository or _REPOSITORY} docs/data/{name}@{commit[:12]}, for ROCm {rocm}"
        sources[key] = {"what": what, "kind": "primary", "read": day}
        cited.append(key)
    for name in _FILES[:2]:
        if name not in texts:
            raise VendorError(f"{name} is needed")
    drivers = texts.get("driver-firmware-support.yaml", {})
    release = {
        "rocm": rocm,
        "drivers": _drivers(drivers),
        "cards": _cards(texts["os-support.yaml"], texts["gpus.yaml"], drivers),
        "s": cited,
    }
    others = [one for one in old.get("releases", []) if one["rocm"] != rocm]
    releases = sorted([*others, release], key=lambda one: numbers(one["rocm"]), reverse=True)
    used = {name for one in releases for name in one["s"]}
    return {
        "schema": 1,
        "read_through": max(day, str(old.get("read_through", day))),
        "sources": {name: one for name, one in sources.items() if name in used},
        "releases": releases,
    }


# -- from the vendor's shape


def _cards(systems: Mapping[str, Any], gpus: Mapping[str, Any], firmware: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Cards with the same target, systems and firmware in one row, in the vendor's order."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for family in _FAMILIES:
        for name, listed in systems.get(family, {}).items():
            gpu = gpus.get(family, {}).get(name)
            _words(name, listed)
            if gpu is None or not re.fullmatch(r"gfx[0-9a-f]{3,4}", str(gpu.get("gfx"))):
                raise VendorError(f"gpus.yaml has no target for {name}")
            on = [text for key, value in listed.items() for text in _systems(key, value, name)]
            wsl = [_version(one, name) for one in listed.get("WSL2", {}).get("versions", ())]
            named = firmware.get(family, {}).get(name, {}) if family == _FAMILIES[0] else {}
            asked = [str(one) for one in named.get("firmware", ())]
            key = (family, gpu["gfx"], *on, "wsl", *wsl, "firmware", *asked)
            row = rows.setdefault(
                key,
                {
                    "family": _short(family),
                    "gfx": gpu["gfx"],
                    "names": [],
                    "systems": on,
                    "wsl": wsl,
                    "firmware": asked,
                },
            )
            row["names"].append(name)
    if not rows:
        raise VendorError("os-support.yaml lists no card")
    return list(rows.values())


def _words(name: str, listed: Any) -> None:
    """What is taken over is shown on terminals: words of one line."""
    if not all(isinstance(one, str) and one.isprintable() for one in (name, *_texts(listed))):
        raise VendorError(f"os-support.yaml: {name!r}: a sign that cannot be seen")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for one in value.values() for text in _texts(one))
    elif isinstance(value, list):
        yield from (text for one in value for text in _texts(one))


def _systems(distribution: str, listed: Any, name: str) -> Iterator[str]:
    if distribution in _ELSEWHERE or distribution == "WSL2":
        return
    if distribution not in _DISTRIBUTIONS:
        raise VendorError(f"os-support.yaml: {name}: {distribution!r} is no distribution that this program knows")
    for one in listed["versions"]:
        yield f"{_DISTRIBUTIONS[distribution]} {_version(one['version'], name)} {one['kernel']}"


def _version(value: Any, name: str) -> str:
    if not isinstance(value, str):  # 24.10 without quotes would have become 24.1
        raise VendorError(f"os-support.yaml: {name}: the version {value!r} is not quoted")
    return value


def _drivers(table: Mapping[str, Any]) -> dict[str, list[str]]:
    """Driver releases by family. Cards of a family are listed alike; ``kernel`` stands for the kernel's own driver."""
    found: dict[str, list[str]] = {}
    for family in _FAMILIES:
        raw = table.get(family)
        if raw is None:
            continue
        rows = [raw] if "linux" in raw else list(raw.values())
        lists = {tuple(_driver_names(one["linux"])) for one in rows}
        if len(lists) != 1:
            raise VendorError(f"driver-firmware-support.yaml: the cards of {family} differ in their drivers")
        found[_short(family)] = list(lists.pop())
    return found


def _driver_names(linux: Any) -> Iterator[str]:
    if isinstance(linux, dict):
        yield from (str(one["version"]) for one in linux["amdgpu"])
    elif all("kernel" in one["driver"].lower() for one in linux):
        yield "kernel"
    else:
        raise VendorError("driver-firmware-support.yaml: a driver that is neither a package nor of the kernel")


def _short(family: str) -> str:
    return family.removeprefix("AMD ")


# -- what changed


def differences(old: Mapping[str, Any], new: Mapping[str, Any], rocm: str) -> list[str]:
    """What a release has more and less than in the old table; a new release is set beside the newest old one."""
    have = next((one for one in old.get("releases", ()) if one["rocm"] == rocm and "cards" in one), None)
    nothing: dict[str, Any] = {"cards": [], "drivers": {}}
    before: Mapping[str, Any] = have or next((one for one in old.get("releases", ()) if "cards" in one), nothing)
    after = next(one for one in new["releases"] if one["rocm"] == rocm)
    alike: dict[str, list[str]] = {}
    was, now = _facts(before), _facts(after)
    for card in [*now, *(one for one in was if one not in now)]:
        for key in ("gfx", "systems", "wsl", "firmware"):
            less, more = was.get(card, {}).get(key, ()), now.get(card, {}).get(key, ())
            signs = [*(f"- {one}" for one in less if one not in more), *(f"+ {one}" for one in more if one not in less)]
            if signs:
                alike.setdefault(f"{key}: {'; '.join(signs)}", []).append(card)
    lines = [f"{', '.join(cards)}: {change}" for change, cards in alike.items()]
    for family in {**before.get("drivers", {}), **after["drivers"]}:
        less, more = before.get("drivers", {}).get(family, []), after["drivers"].get(family, [])
        signs = [*(f"- {one}" for one in less if one not in more), *(f"+ {one}" for one in more if one not in less)]
        lines += [f"{family}: drivers: {'; '.join(signs)}"] if signs else []
    return lines


def _facts(release: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    return {
        name: {"gfx": [row["gfx"]], **{key: row.get(key, []) for key in ("systems", "wsl", "firmware")}}
        for row in release["cards"]
        for name in row["names"]
    }


def torch_differences(script: str) -> list[str]:
    """The targets in a build script of PyTorch's wheels, and the flavours of ``compat.yaml`` whose lists differ."""
    found = re.findall(r'PYTORCH_ROCM_ARCH="([^"]*)"', script)
    lists = [[one for one in text.split(";") if one.startswith("gfx")] for text in found]
    if not lists or not lists[0]:
        raise VendorError("the script names no targets in PYTORCH_ROCM_ARCH")
    common = lists[0]
    extended = [one for more in lists[1:] for one in more]
    lines = [f"all flavours: {' '.join(common)}", f"older flavours also: {' '.join(extended) or 'nothing'}"]
    for release in torch_releases():
        for flavour in release.rocm or ():
            have = "not known" if flavour.gfx is None else " ".join(one for one in common if one not in flavour.gfx)
            if have:
                missing = have if flavour.gfx is None else f"without {have}"
                lines.append(f"torch {release.version} {flavour.flavour} in compat.yaml: {missing}")
    return lines


# -- the table


def rendered(table: Mapping[str, Any]) -> str:
    """The table as YAML: a row a line."""
    out = [
        _HEAD.rstrip("\n"),
        f"schema: {table['schema']}",
        f"read_through: {_flow(str(table['read_through']))}",
        "sources:",
    ]
    out += [f"  {name}: {_flow(one)}" for name, one in table["sources"].items()]
    out.append("releases:")
    for release in table["releases"]:
        first, *rest = [key for key in release if key != "cards"]
        out.append(f"- {first}: {_flow(release[first])}")
        out += [f"  {key}: {_flow(release[key])}" for key in rest]
        out += ["  cards:", *(f"  - {_flow(row)}" for row in release["cards"])] if "cards" in release else []
    return "\n".join(out) + "\n"


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True)
    return str(text).removesuffix("\n").removesuffix("\n...").strip()


if __name__ == "__main__":
    sys.exit(main())
