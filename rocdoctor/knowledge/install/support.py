"""Whether a machine's combination is one that AMD lists: card x release x kernel x driver x ROCm x torch.

Three answers: listed, not listed although it may well run, and one that cannot run; ``unknown`` where a fact that
decides is missing. Each names what differs, what is listed instead, and where that stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rocdoctor.knowledge.gpus.gfx import arch_list_covers, gfx_target, kernel_knows, same_isa_group
from rocdoctor.knowledge.install.kernels import kernel_floor
from rocdoctor.knowledge.install.steps import Words
from rocdoctor.knowledge.install.vendor_lists import (
    ListedCards,
    ListedSystem,
    ReleaseLists,
    release_lists,
    system_name,
)
from rocdoctor.knowledge.load import TableSource, load_table, source, words
from rocdoctor.knowledge.software.compat import rocm_release, torch_release
from rocdoctor.model.lazy_re import regex

State = Literal["listed", "unlisted", "fails", "unknown"]
What = Literal["card", "distribution", "release", "kernel", "driver", "rocm", "torch"]
Driver = Literal["dkms", "kernel", ""]

_BACKPORTS = regex(r"\.(?:el|fc|amzn|azl|cm)\d|-default\b|uek")
_FAMILY_DRIVER: dict[str, Driver] = {"Instinct": "dkms", "Radeon": "dkms", "Ryzen": "kernel"}


@dataclass(frozen=True, slots=True)
class Combination:
    """What runs together. "" is not known. ``names`` are the parts that the card may be, or the processor's name.

    ``version`` is that of the distribution (``24.04.3``, ``9.6``), ``kernel`` the release of the running kernel,
    ``driver`` whether amdgpu comes from AMD's package or with the kernel, ``torch`` its version with the local part.
    """

    gfx: str
    names: Words
    rocm: str
    distribution: str = ""
    version: str = ""
    kernel: str = ""
    driver: Driver = ""
    torch: str = ""
    wsl: bool = False


@dataclass(frozen=True, slots=True)
class SupportGap:
    """One thing in which a machine differs from the lists. ``refused``: AMD itself calls it unsupported or unstable;
    ``open``: it is not known here, so it may be none."""

    what: What
    have: str
    want: Words
    refused: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class ListedSupport:
    """The answer. ``instead`` are listed systems, those of this distribution first; ``cited`` where it stands."""

    state: State
    rocm: str
    differences: tuple[SupportGap, ...]
    instead: tuple[ListedSystem, ...]
    firmware: Words
    cited: tuple[TableSource, ...]

    def of(self, *what: What) -> tuple[SupportGap, ...]:
        """The differences of these kinds that are known ones."""
        return tuple(one for one in self.differences if one.what in what and not one.open)

    @property
    def read(self) -> str:
        """The day on which the newest of the lists was read; "" without any."""
        return max((one.read for one in self.cited), default="")

    @property
    def refused(self) -> bool:
        """Whether AMD itself calls a part of it unsupported or unstable."""
        return any(one.refused for one in self.differences)


def judged_support(of: Combination) -> ListedSupport:
    """The judgement of a combination by the lists for its ROCm release; ``unknown`` where those were not read."""
    broken = tuple(_broken(of))
    lists = release_lists(of.rocm)
    if lists is None:  # which kernels a target needs does not depend on the release
        asked = (*broken, *_asked_kernel(of))
        state: State = "fails" if broken else "unlisted" if asked else "unknown"
        return ListedSupport(state, of.rocm, asked, (), (), _floor_source(of.gfx) if asked else ())
    rows = lists.of_names(of.gfx, of.names)
    found = (*broken, *(_on_wsl(of, rows) if of.wsl else _on_linux(of, lists, rows)), *_torch(of))
    systems = _systems(of, rows or lists.of_gfx(of.gfx))
    state = "listed"
    if broken:
        state = "fails"
    elif any(not one.open for one in found):
        state = "unlisted"
    elif found:
        state = "unknown"
    cited = (*lists.cited, *(_floor_source(of.gfx) if any(one.refused for one in found) else ()))
    return ListedSupport(state, lists.rocm, found, systems, rows[0].firmware if rows else (), cited)


def listed_kernel(of: Combination) -> ListedSystem | None:
    """The listed system that this machine comes to without another release of its distribution: its newer kernel.

    None where it is listed as it is, where no kernel of its release is, or where that is not known.
    """
    answer = judged_support(of)
    if not answer.of("kernel") or answer.of("card", "distribution", "release"):
        return None
    here = [one for one in answer.instead if one.is_release(of.distribution, of.version)]
    return here[0] if here else None


def difference_words(answer: ListedSupport, *what: What) -> str:
    """The known differences of these kinds in words, or all of them."""
    # of a card that is not listed the lists speak by its target
    card = "the target of this GPU" if any(one.what == "card" for one in answer.differences) else "this card"
    return " ".join(
        _said(one, answer.rocm, card) for one in answer.differences if not one.open and (not what or one.what in what)
    )


# -- what differs


def _on_linux(of: Combination, lists: ReleaseLists, rows: tuple[ListedCards, ...]) -> list[SupportGap]:
    found: list[SupportGap] = []
    known = rows or lists.of_gfx(of.gfx)
    if not rows:
        found.append(SupportGap("card", " or ".join(of.names) or of.gfx, _cards(known), open=not of.names))
    if not known:
        return found
    found += _place(of, known)
    asked = _asked_kernel(of)
    if asked:
        found = [*(one for one in found if one.what != "kernel"), *asked]
    wants = {_FAMILY_DRIVER[row.family] for row in known}
    if len(wants) == 1:
        want = wants.pop()
        if of.driver != want:
            found.append(SupportGap("driver", of.driver, (want,), open=not of.driver))
    return found


def _asked_kernel(of: Combination) -> tuple[SupportGap, ...]:
    """That the kernel is older than the one that AMD asks for with this target."""
    least = None if of.wsl else kernel_floor(of.gfx, of.distribution, of.version, of.kernel)
    return () if least is None else (SupportGap("kernel", of.kernel, (least,), refused=True),)


def _place(of: Combination, rows: tuple[ListedCards, ...]) -> list[SupportGap]:
    """Distribution, its release and its kernel. Of parts that may all be the card the kindest counts."""
    systems = _unique(one for row in rows for one in row.systems)
    if not of.distribution:
        return [SupportGap("distribution", "", (), open=True)]
    own = [one for one in systems if one.distribution == of.distribution]
    if not own:
        return [SupportGap("distribution", of.distribution, tuple(dict.fromkeys(one.distribution for one in systems)))]
    states = {one: one.is_release(of.distribution, of.version) for one in own}
    here = [one for one, state in states.items() if state]
    wanted = tuple(dict.fromkeys(one.version for one in own))
    if not here:
        return [SupportGap("release", f"{of.distribution} {of.version}", wanted, open=None in states.values())]
    kernels = [one.has_kernel(of.kernel) for one in here]
    if True in kernels:
        return []
    return [SupportGap("kernel", of.kernel, tuple(one.kernel_words for one in here), open=None in kernels)]


def _on_wsl(of: Combination, rows: tuple[ListedCards, ...]) -> list[SupportGap]:
    if not rows:
        return [SupportGap("card", " or ".join(of.names) or of.gfx, (), open=not of.names)]
    systems = tuple(dict.fromkeys(one for row in rows for one in row.wsl))
    if not systems:
        return [SupportGap("distribution", "WSL", ())]
    if of.distribution == "ubuntu" and of.version and not of.version.startswith(systems):
        return [SupportGap("release", f"{of.distribution} {of.version}", systems)]
    if of.distribution not in ("ubuntu", ""):
        return [SupportGap("distribution", of.distribution, ("ubuntu",))]
    return [] if of.distribution else [SupportGap("distribution", "", ("ubuntu",), open=True)]


def _torch(of: Combination) -> list[SupportGap]:
    """A build of AMD's for this release that its page does not name; builds of pytorch.org are another's to list."""
    version, _, local = of.torch.partition("+")
    for row in load_table("install_torch")["amd"]:
        if local.startswith(f"rocm{row['rocm']}.") and version not in words(row["versions"]):
            return [SupportGap("torch", of.torch, tuple(f"{one}+{local}" for one in words(row["versions"])))]
    return []


def _broken(of: Combination) -> list[SupportGap]:
    """What cannot run: no code for the card in the kernel, the ROCm release or the torch build."""
    found = []
    target = gfx_target(of.gfx)
    own = of.driver == "kernel" and not of.wsl and not _BACKPORTS.search(of.kernel)
    if own and target is not None and target.kernel_present and kernel_knows(of.gfx, of.kernel) is False:
        found.append(SupportGap("kernel", of.kernel, (f"Linux {target.kernel_present} or later",)))
    row = rocm_release(of.rocm)
    if row is not None and row.complete and row.gfx is not None:
        listed = (*row.gfx, *row.gfx_deprecated)
        if of.gfx not in listed and not any(same_isa_group(of.gfx, one) for one in listed):
            found.append(SupportGap("rocm", of.rocm, ()))
    flavour = torch_release(of.torch) if of.torch else None
    archs = flavour.flavour.gfx if flavour is not None and flavour.flavour is not None else None
    if archs is not None and not arch_list_covers(archs, of.gfx):
        found.append(SupportGap("torch", of.torch, ()))
    return found


# -- words


def _said(one: SupportGap, rocm: str, card: str) -> str:
    of = f"AMD's list for ROCm {rocm}"
    want = _either(one.want)
    if one.what == "card":
        return f"{of} does not name {one.have}" + (f"; with this target, it names {want}." if want else ".")
    if one.what == "distribution":
        where = _either([system_name(name) for name in one.want]) or "other systems"
        return f"{of} names {card} on {where}, but not on {system_name(one.have)}."
    if one.what == "release":
        name, _, version = one.have.partition(" ")
        return f"{of} names {card} on {system_name(name)} {want}, but not on {version}."
    if one.what == "kernel" and one.refused:
        return f"AMD requires {want} for this GPU; {one.have} is running."
    if one.what == "kernel":
        return f"{of} has {card} with {want}, not with {one.have}."
    if one.what == "driver" and want == "dkms":
        return "AMD's lists name its packaged driver (amdgpu-dkms) for this card, not the kernel's own."
    if one.what == "driver":
        return "AMD requires the kernel's own driver for this APU, not amdgpu-dkms."
    if one.what == "torch" and one.want:
        return f"For this ROCm AMD's page names torch {want}, not {one.have}."
    if one.what == "rocm":
        return f"ROCm {one.have} lists neither the target of this GPU nor a related one."
    return f"torch {one.have} has no code for this GPU."


def _either(names: Sequence[str]) -> str:
    """``a, b or c``."""
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


# -- small parts


def _unique(systems: Iterable[ListedSystem]) -> tuple[ListedSystem, ...]:
    return tuple(dict.fromkeys(systems))


def _systems(of: Combination, rows: tuple[ListedCards, ...]) -> tuple[ListedSystem, ...]:
    found = _unique(one for row in rows for one in row.systems)
    return tuple(sorted(found, key=lambda one: one.distribution != of.distribution))


def _cards(rows: tuple[ListedCards, ...]) -> Words:
    names = tuple(name for row in rows for name in row.names)
    return names if len(names) <= 4 else (*names[:3], f"{len(names) - 3} more")


def _floor_source(gfx: str) -> tuple[TableSource, ...]:
    rows = load_table("install")["driver"]["kernel_floors"]
    row = next((one for one in rows if gfx in one["gfx"]), None)
    found = (source("install", name) for name in words(row["s"])) if row is not None else ()
    return tuple(one for one in found if one is not None)
