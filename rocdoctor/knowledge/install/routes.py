"""The ways to ROCm packages for a target on a distribution, newest first, each with what speaks against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocdoctor.knowledge.gpus.gfx import gfx_target
from rocdoctor.knowledge.install.amd_drivers import Route, Support, override_of
from rocdoctor.knowledge.install.distributions import Distribution, distribution_risk
from rocdoctor.knowledge.install.steps import Words, fill_text, steps_of, weakest
from rocdoctor.knowledge.load import KINDS, Kind, load_table, words
from rocdoctor.model.evidence import Unknown

_INSTINCT = ("cdna1", "cdna2", "cdna3", "cdna4")


def rocm_routes(found: Distribution, gfx: str | Sequence[str], *, listed: bool | None = None) -> tuple[Route, ...]:
    """Every way that the tables have, best first: complete ones before those with an address that was not read.

    ``gfx`` may be several targets of one machine: the packages are for all of them. ``listed`` False: the profile of
    the card says that no list of AMD names it.
    """
    targets = (gfx,) if isinstance(gfx, str) else tuple(dict.fromkeys(gfx))
    if not targets:
        return ()
    rows: list[Route] = []
    for raw in load_table("install_rocm")["streams"]:
        route = _route(found, raw, targets, listed)
        if route is not None:
            rows.append(route)
    own = _own(found)
    if own is not None:
        rows.append(own)
    order: dict[Support, int] = {"official": 0, "distribution": 0, "deprecated": 1, "works-unsupported": 2}
    # An address that is missing weighs more than anything else; a value of this machine (its minor release) does not.
    return tuple(sorted(rows, key=lambda one: (bool(one.pages), order[one.support])))


def rocm_route(
    found: Distribution | None,
    gfx: str | Sequence[str],
    *,
    listed: bool | None = None,
    container: str = "none",
    arch: str = "x86_64",
) -> Route | Unknown:
    """The way to propose, or why there is none. In a container the image decides; torch wheels may need none at all."""
    name = gfx if isinstance(gfx, str) else ", ".join(gfx)
    if found is None:
        return Unknown("the tables have no row for this distribution")
    if not name:
        return Unknown("a machine without an AMD GPU needs no ROCm")
    if arch != "x86_64":
        return Unknown(f"the tables have ROCm packages for x86_64 only, not for {arch}")
    routes = rocm_routes(found, gfx, listed=listed)
    if container == "wsl":
        # the bridge to the driver of Windows is in the packages for Ubuntu from 10.1 on
        routes = tuple(one for one in routes if one.stream == "newgen_10" and found.id == "ubuntu")
        if not routes:
            return Unknown(f"ROCm's packages include the bridge to Windows for Ubuntu only, not for {found.key}")
    if routes:
        return routes[0]
    return Unknown(f"no ROCm release in the tables has packages for {name} on {found.name}")


def kind_of(route: Route) -> Kind:
    """The kind of the weakest source behind a route, its steps and their addresses."""
    kinds: list[Kind] = [weakest("install_rocm", route.sources), *(step.kind for step in route.steps)]
    return KINDS[max(map(KINDS.index, kinds))]


def _own(found: Distribution) -> Route | None:
    if not found.own_rocm:
        return None
    raw = next(one for one in load_table("install_rocm")["own"] if one["id"] == found.key)
    verify = load_table("install_rocm")["verify"]["own"]
    return Route(
        "distribution",
        raw["rocm"].get(found.version),
        "works-unsupported",
        words(raw["packages"]),
        steps_of("install_rocm", raw["steps"], {}),
        steps_of("install_rocm", raw["undo"], {}),
        tuple(words(one) for one in verify),
        risk=raw["risk"],
        notes=words(raw.get("note")),
        sources=(*words(raw["s"]), *words(raw.get("note_s"))),
        built_for=words(raw.get("built_for")),
    )


def _route(found: Distribution, raw: Any, targets: Words, listed: bool | None) -> Route | None:
    state = found.streams.get(raw["id"], "none")
    way = raw["routes"].get(found.manager)
    if state == "none" or way is None:
        return None
    table, risks, environment = load_table("install_rocm"), [], {}
    packaged: list[str] = []
    support: Support = "official"
    release = f"ROCm {raw['rocm']}"
    for gfx in targets:
        if gfx in raw["gfx"]:
            packaged.append(gfx)
        elif gfx in raw.get("deprecated", ()):
            packaged.append(gfx)
            support = "deprecated"
            risks.append(table["risks"]["deprecated"].format(rocm=release, gfx=gfx))
        elif (override := override_of(gfx)) is not None and override[1] in raw["gfx"] and len(targets) == 1:
            value, stand_in, note = override
            packaged.append(stand_in)
            environment["HSA_OVERRIDE_GFX_VERSION"] = value
            support = "works-unsupported"
            risks.append(
                table["risks"]["override"].format(rocm=release, gfx=gfx, override=value, stand_in=stand_in, note=note)
            )
        else:
            return None
    if found.manager in raw.get("instinct_only", ()) and not all(_instinct(one) for one in packaged):
        return None
    if listed is False and not environment and support == "official":
        support = "works-unsupported"
        risks.append(table["risks"]["card"].format(rocm=release, gfx=", ".join(targets)))
    about = distribution_risk(found, state)
    if about is not None:
        support = "works-unsupported"
        risks.append(about)
    packages = tuple(dict.fromkeys(one.format(mm=raw["mm"], gfx=gfx) for gfx in packaged for one in raw["packages"]))
    values = {**found.values, "mm": raw["mm"], "ver": raw["rocm"], "dir": raw.get("dir", "")}
    lists = {"rocm_packages": packages}
    verify = (tuple(fill_text(word, {"prefix": raw["prefix"]}) for word in one) for one in table["verify"]["vendor"])
    return Route(
        raw["id"],
        raw["rocm"],
        support,
        packages,
        steps_of("install_rocm", _names(found, way["steps"]), values, lists),
        steps_of("install_rocm", way["undo"], values, lists),
        tuple(verify),
        raw["prefix"],
        environment or None,
        " ".join(risks) or None,
        tuple(one["text"] for one in table["notes"] if found.manager in one["managers"]),
        words(raw["not_with"]),
        raw["disk_gb"],
        words(raw["s"]),
        raw.get("download_gb"),
    )


def _names(found: Distribution, names: Sequence[str]) -> list[str]:
    """The steps of a way; EPEL is enabled in one way on RHEL and in another on its rebuilds."""
    enable = ["crb-clone"] if found.repos == "clone" else ["epel", "crb-rhel"]
    return [one for name in names for one in (enable if name == "epel" else [name])]


def _instinct(gfx: str) -> bool:
    target = gfx_target(gfx)
    return target is not None and target.family in _INSTINCT
