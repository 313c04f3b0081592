"""A fleet from words: ``8xMI300X``, ``4 x RTX 4090``, ``2xA100-40GB``, ``8xT4:16GiB``.

Whatever the words leave open is assumed, and the assumption stands in the fleet's notes.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

from rocdoctor.knowledge.gpus.cards_without_profile import OlderCard, older_card
from rocdoctor.knowledge.lookup import GpuProfile, all_profiles, profiles_by_name
from rocdoctor.model.lazy_re import regex
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.fleet.fabrics import CARDS_PER_NODE, described_fabric
from rocdoctor.train.recommend.fleet.gpu_figures import GIB, name_of, read_gpu
from rocdoctor.train.recommend.fleet.node_network import network_rates
from rocdoctor.train.recommend.memory.host_memory import part_of_main
from rocdoctor.train.recommend.plan import Fleet, Seat, Vendor

# GPUs of one node where the family has no usual number of its own.
_USUAL_NODE = 8
# Main memory of a node is assumed to be this often the memory of its GPUs.
_HOST_MEMORY = 3.0
_MOST_NODES = 100_000

_COUNT_FIRST = regex(r"(\d{1,5})(?:\s*[x×*]\s*|\s+)(?=\S)(.+)\Z", re.IGNORECASE)
_COUNT_LAST = regex(r"(.+?)(?:\s+[x×*]\s*|[×*])(\d{1,5})\Z", re.IGNORECASE)
_STATED = regex(r"(.+?)\s*:\s*(\d{1,4}(?:\.\d{1,2})?)\s*(gib|gb|g)?\Z", re.IGNORECASE)
# Words beside a name that make no other part of it.
_FILL = regex(
    r"amd|ati|nvidia|geforce|tesla|quadro|radeon|instinct|rtx|gtx|rx|pro|ai|sxm\d?|oam|pcie?|pci-?e|hbm\d?e?|"
    r"\d{1,3}\s?gi?b?|gpus?|cards?|modules?|gcds?|accelerators?|graphics",
    re.IGNORECASE,
)
# The word by which people who know that a card is two GPUs count the GPUs.
_DIES = regex(r"\bgcds?\b", re.IGNORECASE)
# A size without its unit: "A100-40".
_SIZE_ALONE = regex(r"(.+?)[-\s](\d{2,3})\Z")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the words say: devices as people count them, the part, and memory of one GPU in GiB if stated.

    A card of two dies is counted as one by AMD (data sheets), as two by Slurm and the ROCm runtime (Frontier User
    Guide, docs.olcf.ornl.gov/systems/frontier_user_guide.html, "TERMINOLOGY", read 2026-11-28).
    """

    count: int
    name: str
    profile: GpuProfile | None
    older: OlderCard | None
    memory_gib: float | None

    @property
    def dies(self) -> int:
        """GPUs of one card."""
        return self.profile.dies if self.profile else 1

    @property
    def usual(self) -> int:
        """Cards of a node at most."""
        return CARDS_PER_NODE.get(self.profile.id, _USUAL_NODE) if self.profile else _USUAL_NODE

    @property
    def as_gpus(self) -> bool:
        """Whether the count is one of GPUs: it says so, or no node has that many cards of two."""
        return self.dies > 1 and (bool(_DIES.search(self.name)) or self.usual < self.count <= self.usual * self.dies)

    @property
    def gpus(self) -> int:
        """GPUs of a node."""
        return self.count if self.as_gpus else self.count * self.dies


def described(text: str, nodes: int = 1, ram_gib: float | None = None) -> Fleet:
    """The fleet that ``text`` describes, ``nodes`` times; raises SpecError with what to write instead.

    ``ram_gib`` is the main memory of one node.
    """
    if not 1 <= nodes <= _MOST_NODES:
        raise SpecError(f"--nodes must be between 1 and {_MOST_NODES}, not {nodes}")
    notes: list[str] = []
    asked = _read(text)
    profile = asked.profile
    gpus = asked.gpus
    _check_node(asked, nodes)
    notes += _two_ways(asked)
    memory = _memory(asked, ram_gib, notes)
    fabric = described_fabric(profile, gpus, notes)
    full = _part_name(profile, asked.name, memory) if profile else asked.name
    spec: dict[str, Any] = {"name": full, "mem_gib": memory, "per_node": gpus}
    spec |= fabric.spec()
    rates = network_rates()
    gpu = read_gpu(spec, rates, notes)
    half = profile is not None and profile.family == "amd-apu"
    sources = {"memory": "stated" if asked.memory_gib else f"profile {profile.id}" if profile else "stated"}
    if half and asked.memory_gib is None:
        sources["memory"] = "half of main memory, the driver's default"
    sources |= _rate_sources(gpu.peak, gpu.bandwidth, profile, notes, asked.name)
    sources["link"] = fabric.source
    shared = profile.shared_memory if profile else bool(asked.older and asked.older.integrated)
    host = _host_memory(
        memory * gpus, gpu.usable_bytes / GIB * gpus, shared, ram_gib, sources, notes, half and bool(asked.memory_gib)
    )
    if nodes > 1:
        sources["network"] = "assumption"
        notes.append(f"the network is not known: {gpu.nic / 1e9:.4g} GB/s per GPU is assumed")
    name = _without_maker(full) if profile else asked.name
    return Fleet(
        name=_said(asked, name, nodes),
        origin="described",
        vendor=_vendor(asked),
        nodes=nodes,
        seats=tuple(Seat(rank, name=name, torch_index=rank) for rank in range(gpus)),
        gpu=gpu,
        spec_gpu=spec,
        gfx=profile.gfx if profile else asked.older.gfx if asked.older else None,
        compute_capability=_capability(asked),
        fabric=fabric.kind,
        islands=fabric.islands,
        host_memory_bytes=host,
        integrated=shared,
        notes=tuple(notes),
        sources=sources,
    )


def _said(asked: Asked, name: str, nodes: int) -> str:
    """The fleet in the user's count; of cards that are two GPUs the other count too."""
    each = f"{nodes} x {asked.count} {name}" if nodes > 1 else f"{asked.count} x {name}"
    if asked.dies == 1:
        return each
    cards = -(-asked.gpus // asked.dies)
    other = f"{cards} card{'s' if cards > 1 else ''}" if asked.as_gpus else f"{asked.gpus} GPUs"
    return f"{each} ({other}{' each' if nodes > 1 else ''})"


def _two_ways(asked: Asked) -> list[str]:
    """How the number was read, where a card is two GPUs."""
    if asked.profile is None or asked.dies == 1:
        return []
    name, count = _short(asked.profile), asked.count
    if asked.as_gpus:
        cards = -(-asked.gpus // asked.dies)
        return [
            f"{count} {name} are counted as {count} GPUs (GCDs), which is how Slurm and ROCm count: "
            f"{cards} card{'s' if cards > 1 else ''} of {asked.dies} GPUs"
        ]
    fewer = f"; for {count} GPUs of it write {count}x{name.replace(' ', '-')}-GCD"
    return [
        f"{name}: one card is {asked.dies} GPUs (GCDs), so {count} of them are the {asked.gpus} GPUs that Slurm and "
        f"ROCm show{fewer}"
    ]


def _read(text: str) -> Asked:
    words = " ".join(text[:200].replace("_", " ").split())
    if not words:
        raise SpecError("--gpus needs a number and a name, for example 8xMI300X")
    words = re.sub(r"\bmax\+", "Max", words, flags=re.IGNORECASE)  # Ryzen AI Max+ 395: no sum
    if re.search(r"[+,;]", words):
        raise SpecError(f"'{words}' names several kinds of GPU; a plan is for identical ones, for example 8xMI300X")
    memory = None
    if stated := _STATED.match(words):
        words, memory = stated.group(1), float(stated.group(2))
        if not 1 <= memory <= 2048:
            raise SpecError(f"memory of {memory:g} GiB for one GPU is not between 1 and 2048 GiB")
    count = 1
    if _part(words, memory) is not None or older_card(words) is not None:
        pass  # "7900 XTX" is a name, not 7900 of something
    elif match := _COUNT_FIRST.match(words):
        count, words = int(match.group(1)), match.group(2).strip()
    elif match := _COUNT_LAST.match(words):
        count, words = int(match.group(2)), match.group(1).strip()
    if count < 1:
        raise SpecError("a plan needs at least one GPU; nearest: 1")
    profile = _part(words, memory)
    if profile is None and memory is None and (sized := _SIZE_ALONE.match(words)):
        named = f"{sized.group(1)}-{sized.group(2)}GB"
        profile = _part(named, None)
        if profile is None or not profile.vram_gib or float(sized.group(2)) not in profile.vram_gib.values:
            profile = None
        else:
            words = named
    older = None if profile else older_card(words)
    if profile is None and older is None:
        if words.lower() in ("cpu", "cpus", "none"):
            raise SpecError(
                "--gpus describes GPUs. Without it, a machine that has none gets a plan for its processors, and --from "
                "FILE plans for the machine of a bundle"
            )
        near = _nearest(words)
        raise SpecError(
            f"GPU '{words}' is not known; nearest: {', '.join(near)}"
            if near
            else f"GPU '{words}' is not known; examples: MI300X, RX 7900 XTX, H100-SXM, RTX 4090"
        )
    return Asked(count, words, profile, older, memory)


def _part(words: str, memory_gib: float | None) -> GpuProfile | None:
    """The one part that a name means, or None; of parts that share a name the one that ``read_gpu`` takes."""
    plain = " ".join(re.sub(r"[-_()]+", " ", words).split())
    found = profiles_by_name(words) or profiles_by_name(plain)
    if not found:  # some short names count only behind the maker's or the series', as "L4" and "4090"
        bare = re.sub(r"\b(?:nvidia|geforce|amd|radeon)\b", "", plain, flags=re.IGNORECASE).strip()
        for series in ("NVIDIA", "RTX", "RX"):
            if found := profiles_by_name(f"{series} {bare}"):
                words = plain = f"{series} {bare}"
                break
    if not found or not _only_name(plain, found):
        return None
    gpu = read_gpu({"name": words, "mem_gib": memory_gib} if memory_gib else words, {}, [])
    sized = re.search(r"(?<!\d)\d{1,3}\s?gi?b?\b", words, re.IGNORECASE) is not None
    chosen = next((one for one in found if one.id == gpu.profile_id), found[0])
    if memory_gib is None and not sized:
        # Of sizes that share a name the smallest is the one that never promises too much.
        wired = [one for one in found if (one.nvlink_gb_s_total is None) == (chosen.nvlink_gb_s_total is None)]
        chosen = min(wired, key=lambda one: min(one.vram_gib.values) if one.vram_gib else 9999.0)
    return chosen


def _only_name(plain: str, found: tuple[GpuProfile, ...]) -> bool:
    """Whether nothing but the name and words of its kind stand there: "RX 7900 XTX 24GB", but not "MI300X Ultra"."""
    left = plain.lower()
    shapes = {alias.lower().replace("-", " ") for one in found for alias in (*one.aliases, *one.names)}
    for shape in sorted(shapes, key=len, reverse=True):
        spelled = " ?".join(re.escape(part) for part in shape.split())
        left = re.sub(rf"(?<![a-z0-9]){spelled}(?![a-z0-9])", " ", left)
    # An integrated GPU is named by its processor: "Ryzen AI Max 395".
    whole = any(one.shared_memory for one in found)
    return all(_FILL.fullmatch(word) or (whole and re.fullmatch(r"\d{3}", word)) for word in left.split())


def _nearest(words: str) -> list[str]:
    """Up to three names of the tables that look like these words."""
    names = {_short(one): _short(one) for one in all_profiles()}
    keys = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in names}
    wanted = re.sub(r"[^a-z0-9]|nvidia|geforce|radeon|instinct|amd", "", words.lower())
    return [keys[key] for key in difflib.get_close_matches(wanted, keys, 3, 0.6)]


def _short(profile: GpuProfile) -> str:
    """The first name without the maker's words."""
    return _without_maker(profile.names[0])


def _without_maker(name: str) -> str:
    return re.sub(r"^(?:AMD |NVIDIA )?(?:Instinct |Radeon (?=RX|PRO|Pro|VII|AI)|GeForce )?", "", name)


def _part_name(profile: GpuProfile, asked: str, memory_gib: float) -> str:
    """The one of the part's names that was asked for, where its names are of several sizes."""
    at = name_of(profile, asked)
    return profile.names[at] if at is not None else _with_memory(profile, memory_gib)


def _with_memory(profile: GpuProfile, memory_gib: float) -> str:
    """The part's name that prints this memory or none; else the first one with this memory in place of its own."""
    printed = re.compile(r"(?<!\d)(\d{1,3})(?=\s?GB\b)")
    sizes = [float(found.group(1)) if (found := printed.search(one)) else memory_gib for one in profile.names]
    if memory_gib in sizes:
        return profile.names[sizes.index(memory_gib)]
    # GH200's name prints the memory of its processor.
    return profile.names[0] if sizes[0] > 200 else printed.sub(f"{memory_gib:g}", profile.names[0], count=1)


def _check_node(asked: Asked, nodes: int) -> None:
    usual, dies, count = asked.usual, asked.dies, asked.count
    if asked.gpus <= usual * dies:
        return
    name = asked.name.replace(" ", "-")

    def write(most: int) -> str:
        size = next(one for one in range(most, 0, -1) if count % one == 0)
        return f"--gpus {size}x{name} --nodes {nodes * count // size}"

    if dies > 1:
        which = f"{write(usual)} for cards" + (
            f", {write(usual * dies)} for GPUs" if count % (usual * dies) == 0 else ""
        )
        raise SpecError(
            f"{count} {asked.name} in one node: it has {usual} cards at most, which are {usual * dies} GPUs; "
            f"nearest: {which}"
        )
    most = f"a node of {asked.name} has {usual} of them" if usual != _USUAL_NODE else f"a node has {usual} GPUs"
    raise SpecError(f"{count} {asked.name} in one node: {most} at most; nearest: {write(usual)}")


def _memory(asked: Asked, ram_gib: float | None, notes: list[str]) -> float:
    """GiB of one GPU; raises SpecError where neither the words nor a table nor main memory tell it."""
    profile = asked.profile
    listed: tuple[float, ...] = ()
    if profile and profile.vram_gib:
        per_die = profile.vram_gib.per_die
        listed = (per_die,) if per_die is not None else profile.vram_gib.values
    if asked.memory_gib is not None and not listed and profile is not None and profile.family == "amd-apu":
        return part_of_main(asked.memory_gib, ram_gib, asked.count, notes)
    if asked.memory_gib is not None:
        if listed and not any(0.9 * one <= asked.memory_gib <= 1.03 * one for one in listed):
            sizes = " or ".join(f"{one:g}" for one in listed)
            notes.append(f"{asked.memory_gib:g} GiB per GPU as stated; the tables know {asked.name} with {sizes} GiB")
        return asked.memory_gib
    if not listed and profile is not None and profile.family == "amd-apu" and ram_gib is not None:
        notes.append(
            f"of {ram_gib:g} GiB of main memory the GPU may use half unless ttm.pages_limit says more; state what "
            f"yours may use as {asked.count}x{asked.name.replace(' ', '-')}:{0.75 * ram_gib:.0f}GiB"
        )
        return ram_gib / 2
    if not listed and profile is not None and profile.shared_memory:
        raise SpecError(
            f"{asked.name} uses main memory; state how much the GPU may use: "
            f"{asked.count}x{asked.name.replace(' ', '-')}:64GiB (half of main memory unless ttm.pages_limit says more)"
        )
    if not listed:
        raise SpecError(
            f"the memory of {asked.name} is in no table; state it: {asked.count}x{asked.name.replace(' ', '-')}:16GiB "
            "(the size of your cards instead of 16)"
        )
    sized = re.search(r"(?<!\d)(\d{1,3})\s?gi?b?\b", asked.name, re.IGNORECASE)
    if sized is not None and any(float(sized.group(1)) == one for one in listed):
        return float(sized.group(1))
    others = {min(one.vram_gib.values) for one in profiles_by_name(asked.name) if one.vram_gib and one.dies == 1}
    others |= set(listed)
    if len(others) > 1 and sized is None:
        sizes = " and ".join(f"{one:g}" for one in sorted(others))
        notes.append(
            f"{asked.name} exists with {sizes} GiB: {min(listed):g} GiB are assumed; state yours as "
            f"{asked.count}x{asked.name.replace(' ', '-')}:{max(others):g}GiB"
        )
    return min(listed)


def _rate_sources(
    peak: float | None, bandwidth: float | None, profile: GpuProfile | None, notes: list[str], name: str
) -> dict[str, str]:
    found: dict[str, str] = {}
    if peak is None:
        notes.append(f"no table has the peak rate of {name}, so the plan cannot estimate speed")
    elif profile is not None:
        found["peak"] = f"profile {profile.id}"
    if bandwidth is not None and profile is not None:
        found["bandwidth"] = f"profile {profile.id}"
    return found


def _host_memory(
    memory_gib: float,
    usable_gib: float,
    shared: bool,
    ram_gib: float | None,
    sources: dict[str, str],
    notes: list[str],
    driver_gives_half: bool = False,
) -> float:
    """Bytes of main memory of a node that GPUs do not work in."""
    if shared:
        sources["host_memory"] = "what the GPUs leave of the memory that they share"
        notes.append("the processor and the GPU share one memory, so nothing can be moved out of the GPU's memory")
        if driver_gives_half:
            notes.append(
                "the driver lets this GPU use half of main memory unless ttm.pages_limit says more; that "
                f"{memory_gib:g} GiB are within it is not checked"
            )
        return max(0.0, (ram_gib or memory_gib) - usable_gib) * GIB
    if ram_gib is not None:
        sources["host_memory"] = "stated"
        return ram_gib * GIB
    sources["host_memory"] = "assumption"
    notes.append(
        f"main memory is not given: {_HOST_MEMORY * memory_gib:.0f} GiB per node is assumed, three times the "
        "memory of its GPUs"
    )
    return _HOST_MEMORY * memory_gib * GIB


def _vendor(asked: Asked) -> Vendor:
    name = asked.profile.vendor if asked.profile else asked.older.vendor if asked.older else "amd"
    return "nvidia" if name == "nvidia" else "amd"


def _capability(asked: Asked) -> str | None:
    if asked.profile is not None:
        return asked.profile.compute_capability
    return asked.older.compute_capability if asked.older else None
