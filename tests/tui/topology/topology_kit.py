"""Machines of many GPUs made by hand, and what a drawing of a machine must show, read from its facts once more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from rich.text import Text

from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Cpus, Gpu, GpuLink, LinkState, Machine, Nic, NumaNode, PcieHop
from rocdoctor.model.finding import Diagnosis
from rocdoctor.tui.topology.drawing import topology
from rocdoctor.tui.topology.gpu_details import gpu_details
from tests.kit import amd_gpu, k, machine
from tests.pcie_kit import hop, link, path

WIDTHS = (60, 80, 120, 200)
_TREE = re.compile(r"[│├└─]")
_LIMB = re.compile(r"─\[(.*?)\]─")


def big(uplink: LinkState | None = None) -> Machine:
    """32 GPUs: four NUMA nodes, two switches each, four GPUs and a network card behind a switch, XGMI within a node.

    ``uplink`` is the link between the first switch and its root port.
    """
    gpus: list[Gpu] = []
    nics: list[Nic] = []
    for switch in range(8):
        bus = 0x20 * switch
        up = uplink if uplink is not None and not switch else link(16, 16, 32.0, 32.0)
        root, own = f"0000:{bus:02x}:01.1", f"0000:{bus + 1:02x}:00.0"
        above = (hop(root, up), hop(own, up, "1000", "c030"))
        for slot in range(4):
            port = hop(f"0000:{bus + 2:02x}:{4 * slot:02x}.0", link(16, 16, 32.0, 32.0), "1000", "c030")
            gpus.append(
                amd_gpu(
                    4 * switch + slot,
                    bdf=k(f"0000:{bus + 3 + slot:02x}:00.0"),
                    name="AMD Instinct MI300X",
                    gfx="gfx942",
                    pci_id="1002:74a1",
                    vram_bytes=192 << 30,
                    numa_node=switch // 2,
                    hip_index=4 * switch + slot,
                    pcie=path(link(16, 16, 32.0, 32.0), *above, port),
                )
            )
        nics.append(
            Nic(
                f"mlx5_{switch}",
                "infiniband",
                k(f"0000:{bus + 8:02x}:00.0"),
                k(switch // 2),
                k(400.0),
                k("up"),
                bridges=k((root, own, f"0000:{bus + 2:02x}:1c.0")),
            )
        )
    pairs = combinations(range(32), 2)
    links = [GpuLink(a, b, "xgmi", k(15), k(1)) if a // 8 == b // 8 else GpuLink(a, b, "pcie", k(72)) for a, b in pairs]
    nodes = tuple(
        NumaNode(
            number,
            k(f"{48 * number}-{48 * number + 47}"),
            k(512 << 30),
            k(tuple(10 if other == number else 32 for other in range(4))),
        )
        for number in range(4)
    )
    return machine(
        *gpus,
        numa_nodes=nodes,
        links=tuple(links),
        links_complete=True,
        network=tuple(nics),
        drivers={"amdgpu": {}},
        cpus=Cpus(model=k("AMD EPYC"), packages=k(4), cores=k(96), threads=k(192)),
    )


def plain(lines: Sequence[Text]) -> list[str]:
    """The characters of lines."""
    return [line.plain for line in lines]


def drawn(diagnosis: Diagnosis, width: int) -> list[str]:
    return plain(topology(diagnosis.machine, diagnosis.verdicts, width).lines)


def details(diagnosis: Diagnosis, index: int, width: int = 100) -> list[str]:
    gpu = next(one for one in diagnosis.machine.gpus if one.index == index)
    return plain(gpu_details(diagnosis.machine, diagnosis.verdicts, gpu, width))


def facts_drawn(of: Machine, width: int = 200) -> list[str]:
    return plain(topology(of, (), width).lines)


def words_of(lines: Sequence[str]) -> str:
    """What lines say, whatever their width: without the tree and without blanks."""
    return "".join("".join(_TREE.sub("", line).split()) for line in lines)


def limbs_drawn(lines: Sequence[str]) -> Counter[str]:
    """The limbs of a drawing that is wide enough to have each on one line, as they are written."""
    return Counter(found for line in lines for found in _LIMB.findall(line))


def _both(lower: LinkState, upper: LinkState | None) -> str:
    """A link in words, from the figures of its two ends: as trained, and as able where that is more."""
    ends = [lower, *([upper] if upper is not None else [])]
    speeds = {end.speed_gt_s.value for end in ends if isinstance(end.speed_gt_s, Known)}
    widths = {end.width.value for end in ends if isinstance(end.width, Known)}
    assert len(widths) == 1, "the fixtures have no links whose ends disagree on the lanes"
    width = widths.pop()
    fastest = min(end.max_speed_gt_s.value for end in ends if isinstance(end.max_speed_gt_s, Known))
    widest = min(end.max_width.value for end in ends if isinstance(end.max_width, Known))
    most = f"{fastest:g} GT/s x{widest}"
    if len(speeds) > 1:
        return f"x{width}, ends disagree on the speed, could be {most}"
    speed = speeds.pop()
    now = f"{speed:g} GT/s x{width}"
    return now if (speed, width) == (fastest, widest) else f"{now}, could be {most}"


def limbs_expected(of: Machine) -> Counter[str]:
    """The limbs that a machine's tree must have: each link once, also where it leads to several GPUs."""
    found: dict[tuple[str, str], str] = {}
    for gpu in of.gpus:
        chain: list[PcieHop] = [*gpu.pcie.hops]
        own = value_or(gpu.bdf, str(gpu.index))
        if not chain:
            if isinstance(gpu.pcie.device.width, Known):
                found["", own] = _both(gpu.pcie.device, None)
            continue
        on_card = value_or(chain[-1].vendor_id, "") in ("1002", "8086") and len(chain) > 2
        last = chain.pop()
        found[last.bdf, own] = _both(gpu.pcie.device, last.link) + (", inside the card" if on_card else "")
        while chain:
            lower, upper = chain.pop(), chain.pop()
            found[upper.bdf, lower.bdf] = _both(lower.link, upper.link)
    return Counter(found.values())
