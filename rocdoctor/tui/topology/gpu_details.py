"""One GPU of a topology in full: numbers, its way to the CPU, other GPUs, network cards, findings."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from rocdoctor.insight.gpus.traffic import amount, no_pcie, no_xgmi, pcie_words
from rocdoctor.insight.links.fabric import shared_hops
from rocdoctor.insight.links.pcie import generation
from rocdoctor.insight.links.pcie_path import asleep, hypervisor_sign
from rocdoctor.judging.gpu_standing import about
from rocdoctor.judging.subjects import number_ranges
from rocdoctor.model.evidence import Fact, Known, Unknown, value_or
from rocdoctor.model.facts import Gpu, Machine, Nic, PcieHop
from rocdoctor.model.finding import Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.model.units import binary_size
from rocdoctor.tui.style import NOTE, SEVERITY_STYLE
from rocdoctor.tui.topology import labels
from rocdoctor.tui.topology.filled_lines import Atom, atoms, filled, phrases
from rocdoctor.tui.topology.labels import distance, place_of
from rocdoctor.tui.topology.link_matrix import NONE, OPEN, cell, meaning, weights_of
from rocdoctor.tui.topology.path_links import Limb, could_words, limbs, narrowest_limb, now_words, rate_gb_s

_WITHOUT_FABRIC = ("PCIe", NONE, OPEN)


class _Page:
    def __init__(self, width: int, airy: bool) -> None:
        self.width, self.airy = width, airy
        self.lines: list[Text] = []

    def title(self, words: str) -> None:
        self.lines += [Text("")] if self.airy else []
        self.lines += filled("", "  ", atoms(words, "bold"), self.width)

    def say(self, parts: Sequence[Atom] | str, first: str = "  ", rest: str = "    ") -> None:
        self.lines += filled(first, rest, phrases(parts) if isinstance(parts, str) else parts, self.width)


def gpu_details(machine: Machine, verdicts: Sequence[Verdict], gpu: Gpu, width: int, airy: bool = True) -> list[Text]:
    """The page of a GPU, as lines of at most ``width`` cells; ``airy``: with its name
    above and empty lines between its parts."""
    page = _Page(width, airy)
    if airy:
        page.say([Atom(f"gpu {gpu.index}", "bold"), Atom(labels.address(gpu), "bold")], "", "  ")
    page.say(labels.gpu_facts(machine, gpu), "", "  ")
    _findings(page, verdicts, gpu)
    _way(page, machine, gpu)
    _others(page, machine, gpu)
    _cards(page, machine, gpu)
    _numbers(page, machine, gpu)
    return page.lines


def _findings(page: _Page, verdicts: Sequence[Verdict], gpu: Gpu) -> None:
    found = about(verdicts, gpu)
    if not found:
        return
    page.title("findings (Enter opens the screen)")
    for verdict in found:
        assert verdict.finding is not None
        severity = verdict.finding.severity
        head = [Atom(f"{severity}:", SEVERITY_STYLE[severity]), Atom(verdict.check, "bold")]
        page.say([*head, *atoms(one_line(verdict.finding.message))])


def _numbers(page: _Page, machine: Machine, gpu: Gpu) -> None:
    page.title("numbers that programs use for it")
    tools = (("HIP", gpu.hip_index), ("torch", gpu.torch_index), (labels.smi_name(gpu), gpu.smi_index))
    wanted = tools if gpu.vendor == "amd" else tools[1:]
    page.say(", ".join(f"{name} {_number(fact)}" for name, fact in wanted))
    if len(gpu.compute_nodes) < 2:
        return
    page.say(labels.other_numbers(machine, gpu))
    ordered = sorted(gpu.compute_nodes, key=lambda node: value_or(node.kfd_node, 0))
    hip = labels.partition_numbers(machine).get(gpu.index, [])
    for at, node in enumerate(ordered):
        said = [
            f"HIP {hip[at]}" if hip else "",
            f"KFD node {_number(node.kfd_node)}",
            f"renderD{node.render_minor.value}" if isinstance(node.render_minor, Known) else "",
            f"{node.compute_units.value} compute units" if isinstance(node.compute_units, Known) else "",
            binary_size(node.vram_bytes.value) if isinstance(node.vram_bytes, Known) else "",
        ]
        page.say(", ".join(one for one in said if one), f"  part {at}: ")


def _number(fact: Fact[int]) -> str:
    return str(fact.value) if isinstance(fact, Known) else "not known"


def _way(page: _Page, machine: Machine, gpu: Gpu) -> None:
    page.title("path from the CPU down")
    place = place_of(gpu.numa_node, machine.numa_nodes)
    node = next((one for one in machine.numa_nodes if one.node == place), None)
    if node is not None:
        page.say(f"NUMA node {place}, {labels.cpus_words(node)}")
    elif place == labels.NO_AFFINITY:
        page.say("no NUMA node: firmware states no affinity")
    else:
        why = f": {one_line(gpu.numa_node.why)}" if isinstance(gpu.numa_node, Unknown) else " has no known CPUs"
        page.say(f"NUMA node {place}{why}")
    if not gpu.pcie.hops:
        words = "on the root bus itself" if gpu.pcie.path_complete else "the bridges above it are not in this evidence"
        page.say(words)
    elif not gpu.pcie.path_complete:
        page.say("what is above the first port is not in this evidence")
    narrow = narrowest_limb(machine, gpu)
    for limb in limbs(gpu):
        if limb.upper is not None:
            page.say(_port(limb.upper, "port" if limb.upper is not gpu.pcie.hops[0] else "root port", gpu))
        if limb.shown:
            word = narrow[1] if narrow is not None and narrow[0].key == limb.key else ""
            _limb(page, limb, word)
        if limb.lower is not None:
            page.say(_port(limb.lower, "switch", gpu))
    page.say(f"gpu {gpu.index} {labels.address(gpu)}")
    _traffic(page, gpu)
    sign, sleep = hypervisor_sign(machine, gpu), asleep(gpu)
    for said in (sign, sleep.why if sleep is not None else None):
        if said is not None:
            page.say(said)


def _traffic(page: _Page, gpu: Gpu) -> None:
    why = no_pcie(gpu)
    if why is None:
        page.say(f"traffic: {pcie_words(gpu)}")
    elif why.reason != "not-asked" and asleep(gpu) is None and not value_or(gpu.integrated, False):
        page.say("traffic: unknown; 4 says why")


def _port(hop: PcieHop, word: str, gpu: Gpu) -> str:
    if word == "root port" and not gpu.pcie.path_complete:
        word = "port"
    ids = [one.value for one in (hop.vendor_id, hop.device_id) if isinstance(one, Known)]
    made_up = ", emulated by a hypervisor" if hop.virtual else ""
    return f"{word} {hop.bdf}" + (f" ({one_line(':'.join(ids))}{made_up})" if ids or made_up else "")


def _limb(page: _Page, limb: Limb, word: str) -> None:
    link = limb.link
    rate = rate_gb_s(link)
    named = generation(link.speed_gt_s.value) if isinstance(link.speed_gt_s, Known) else ""
    said = [
        now_words(link),
        could_words(link),
        f"rate of {named}" if named else "",
        f"{rate:.1f} GB/s" if rate is not None else "",
    ]
    said += ["inside the card" if limb.inside else ""]
    parts = phrases(", ".join(one for one in said if one), NOTE)
    page.say(parts + (atoms(f"({word})", "bold") if word else []), "  │ ", "  │ ")
    for fact in (link.speed_gt_s, link.width):
        if isinstance(fact, Unknown) and fact.reason == "undecided":  # the two ends differ
            page.say(one_line(fact.why), "  │ ", "  │ ")


def _others(page: _Page, machine: Machine, gpu: Gpu) -> None:
    others = [other for other in machine.gpus if other.index != gpu.index]
    if not others:
        return
    page.title("links to other GPUs")
    by_pair = {frozenset((link.a, link.b)): link for link in machine.links}
    weights = weights_of(machine)
    ways: dict[str, list[int]] = {}
    for other in others:
        link = by_pair.get(frozenset((gpu.index, other.index)))
        word = cell(link, machine.links_complete)
        said = _WORDS.get(word) or meaning(word)
        if link is not None and isinstance(link.weight, Known):
            said += f", weight {link.weight.value}" if len(weights.get(word, ())) > 1 else ""  # as in the legend
        if word in _WITHOUT_FABRIC:
            said += _meeting(machine, gpu, other)
        ways.setdefault(said, []).append(other.index)
    for said, indices in ways.items():
        page.say([Atom(f"gpu {number_ranges(indices)}:"), *phrases(said)])
    if no_xgmi(gpu) is None:
        read, written = value_or(gpu.traffic.xgmi_read_kb, 0), value_or(gpu.traffic.xgmi_written_kb, 0)
        page.say(f"XGMI so far: read {amount(read)}, written {amount(written)}; 4 shows it per second")


_WORDS = {"PCIe": "PCIe", OPEN: "no link in this evidence"}


def _meeting(machine: Machine, gpu: Gpu, other: Gpu) -> str:
    """Where the PCIe ways of two GPUs meet."""
    shared = shared_hops(gpu, other)
    if shared:
        return f"; both behind {shared[-1].bdf}"
    return _nearness(machine, gpu, place_of(other.numa_node, machine.numa_nodes))


def _nearness(machine: Machine, gpu: Gpu, there: labels.Place) -> str:
    here = place_of(gpu.numa_node, machine.numa_nodes)
    if isinstance(here, str) or isinstance(there, str):
        return "; how near is not known"
    if here == there:
        return f"; same NUMA node {here}"
    far = distance(machine.numa_nodes, here, there)
    return f"; NUMA node {there}, distance {far if far is not None else 'not known'}"


def _cards(page: _Page, machine: Machine, gpu: Gpu) -> None:
    if not machine.network:
        return
    page.title("network cards")
    above = [hop.bdf for hop in gpu.pcie.hops]

    def way(nic: Nic) -> tuple[int, str]:
        shared = [bdf for bdf in value_or(nic.bridges, ()) if bdf in above]
        if shared:
            return -len(shared), f"; both behind {shared[-1]}"
        said = _nearness(machine, gpu, place_of(nic.numa_node, machine.numa_nodes))
        return int("same" not in said), said

    for nic in sorted(machine.network, key=lambda one: way(one)[0]):
        page.say([Atom(f"{one_line(nic.name)}:"), *phrases(labels.nic_facts(nic) + way(nic)[1])])
