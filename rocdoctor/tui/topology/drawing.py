"""The topology of a machine as lines: processors, NUMA nodes with PCIe trees, links between GPUs, how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.text import Text

from rocdoctor.insight.gpus.presence import no_gpu_words
from rocdoctor.insight.links.pcie import generation
from rocdoctor.insight.links.pcie_path import hypervisor_sign
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Verdict
from rocdoctor.model.printable import one_line
from rocdoctor.tui.style import SEVERITY_STYLE
from rocdoctor.tui.topology.boxes import Spot, boxes
from rocdoctor.tui.topology.check_notes import lost_links, notes
from rocdoctor.tui.topology.filled_lines import Atom, atoms, filled, phrases
from rocdoctor.tui.topology.link_matrix import matrix_lines, pair_words
from rocdoctor.tui.topology.path_links import could_words, limbs, narrowest_limb, slower_than_it_could
from rocdoctor.tui.topology.pcie_tree import numa_rows


@dataclass(frozen=True, slots=True)
class Drawing:
    """Lines of at most the width asked for; ``gpus`` has the index of the GPU that a line tells of, or None.

    ``links`` is the line where the part on links between GPUs begins. ``spots``: the boxes of GPUs, in their order.
    """

    lines: tuple[Text, ...]
    gpus: tuple[int | None, ...]
    links: int
    spots: Mapping[int, Spot] = field(default_factory=dict)

    def line_of(self, gpu: int) -> int | None:
        """The first line that tells of a GPU."""
        return self.gpus.index(gpu) if gpu in self.gpus else None

    def gpu_at(self, line: int, words: Sequence[str]) -> int | None:
        """The GPU that a line tells of; of boxes beside each other the one that has these words in it."""
        for gpu, (left, top, wide, tall) in self.spots.items():
            inside = self.lines[line].plain[left : left + wide].lower() if top <= line < top + tall else ""
            if words and all(one in inside for one in words):
                return gpu
        return self.gpus[line]


def topology_in_boxes(machine: Machine, verdicts: Sequence[Verdict], width: int, selected: int | None) -> Drawing:
    """The same as boxes, without the words on how to read a tree; the selected GPU has a heavy frame."""
    lines = _processors(machine, width)
    drawn = boxes(machine, verdicts, width, selected)
    spots = {gpu: (x, y + len(lines), wide, tall) for gpu, (x, y, wide, tall) in drawn.spots.items()}
    lines += drawn.lines
    return _with_links(machine, verdicts, width, lines, [None] * len(lines), spots)


def topology(machine: Machine, verdicts: Sequence[Verdict], width: int) -> Drawing:
    """Draw a machine; ``verdicts`` name the limbs and GPUs that a check found fault with."""
    lines: list[Text] = _processors(machine, width)
    gpus: list[int | None] = [None] * len(lines)
    for row in numa_rows(machine, notes(machine, verdicts), width):
        lines.append(row.text)
        gpus.append(row.gpu)
    if not machine.gpus:
        lines += [Text(""), *filled("", "", atoms(f"{no_gpu_words(machine)}."), width)]
    return _with_links(machine, verdicts, width, lines, gpus, {})


def _with_links(
    machine: Machine,
    verdicts: Sequence[Verdict],
    width: int,
    lines: list[Text],
    gpus: list[int | None],
    spots: Mapping[int, Spot],
) -> Drawing:
    """What was drawn, with the links between GPUs below it, other displays, and how to read the tree."""
    links = len(lines)
    lost = lost_links(machine, verdicts)
    matrix = matrix_lines(machine, width, {pair: SEVERITY_STYLE[note.severity] for pair, note in lost.items()})
    for note in dict.fromkeys(lost.values()):
        pairs = pair_words([pair for pair, said in lost.items() if said == note])
        said = [Atom(f"{note}", SEVERITY_STYLE[note.severity]), *atoms(f"between gpu {pairs}")]
        matrix += filled("", "  ", said, width)
    if matrix:
        lines += [Text(""), Text("GPU to GPU", style="bold", end=""), *matrix]
        links += 1
    lines += _displays(machine, width) + ([] if spots else _reading(machine, width))
    gpus += [None] * (len(lines) - len(gpus))
    return Drawing(tuple(lines), tuple(gpus), links, spots)


def _processors(machine: Machine, width: int) -> list[Text]:
    cpus = machine.cpus
    counts = [
        f"{fact.value} {word}{'' if fact.value == 1 else 's'}"
        for fact, word in ((cpus.packages, "socket"), (cpus.cores, "core"), (cpus.threads, "thread"))
        if isinstance(fact, Known)
    ]
    words = ", ".join([one_line(value_or(cpus.model, "model not known")), *counts])
    return [*filled("", "  ", [Atom("CPU", "bold"), *phrases(words)], width), Text("")]


def _displays(machine: Machine, width: int) -> list[Text]:
    lines: list[Text] = []
    for one in machine.displays:
        named = [one_line(value_or(fact, "")) for fact in (one.bdf, one.name, one.pci_id)]
        words = " ".join(word for word in named if word) or "address not known"
        said = f"Also on the bus: {words}, a console or virtual display, not counted as a GPU."
        lines += filled("", "  ", atoms(said), width)
    return [Text(""), *lines] if lines else []


def _reading(machine: Machine, width: int) -> list[Text]:
    """How to read what was drawn: only what occurs in it."""
    said: list[str] = []
    links = [limb.link for gpu in machine.gpus for limb in limbs(gpu) if limb.shown]
    speeds = {
        fact.value for link in links for fact in (link.speed_gt_s, link.capable_speed_gt_s) if isinstance(fact, Known)
    }
    if links:
        named = [f"{speed:g} GT/s = {generation(speed)}" for speed in sorted(speeds) if generation(speed)]
        said.append(
            "[16 GT/s x8] is a PCIe link as it runs now: the rate of a lane, and how many lanes. "
            + (f"{', '.join(named)}." if named else "")
            + (' "could" is what both ends support.' if any(could_words(link) for link in links) else "")
        )
    if any(slower_than_it_could(link) for link in links):
        said.append(
            "An idle GPU lowers the rate of its link and raises it under load: a low rate alone is not a fault."
        )
    if any(narrowest_limb(machine, gpu) for gpu in machine.gpus):
        said.append('"narrowest" is the slowest link between a GPU and the CPU: a fault only if a check says so.')
    said += [
        f"{sign[:1].upper()}{sign[1:]}."
        for sign in dict.fromkeys(hypervisor_sign(machine, gpu) for gpu in machine.gpus)
        if sign
    ]
    if len(machine.numa_nodes) > 1:
        said.append("NUMA distance: 10 is a node's own memory; the higher, the slower.")
    lines = [line for text in said for line in filled("", "  ", atoms(text, "italic"), width)]
    return [Text(""), Text("how to read this", style="bold", end=""), *lines] if lines else []
