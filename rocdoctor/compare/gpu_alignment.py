"""Which GPU of one machine stands for which of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.compare.gpu_matching import Key, match
from rocdoctor.compare.snapshot import GpuState, Snapshot
from rocdoctor.model.subject import Subject


@dataclass(frozen=True, slots=True)
class Aligned:
    """GPUs by the places of the machine ``reference``: ``rows[machine][place]``, None where it has none there.

    ``extra``: for each machine the GPUs that have no place.
    """

    reference: int
    rows: tuple[tuple[GpuState | None, ...], ...]
    extra: tuple[tuple[GpuState, ...], ...]

    def place(self, machine: int, subject: Subject) -> Subject | None:
        """The place of a GPU (``gpu 3``), None for one that has none and for what is no GPU."""
        for number, gpu in enumerate(self.rows[machine]):
            if gpu is not None and gpu.subject == subject:
                return Subject("gpu", number)
        return None


def _shape(machine: Snapshot) -> tuple[str | None, ...]:
    return tuple(gpu.chip for gpu in machine.gpus)


def _fits(a: Snapshot, b: Snapshot) -> bool:
    """Whether both may have the same chips in the same order."""
    pairs = zip(a.gpus, b.gpus, strict=False)
    return len(a.gpus) == len(b.gpus) and all(None in (x.chip, y.chip) or x.chip == y.chip for x, y in pairs)


def _key(gpu: GpuState) -> Key:
    return Key(gpu.bdf, gpu.chip)


def align(machines: Sequence[Snapshot]) -> Aligned:
    """Machines with the same chips in the same order are equal place by place, whatever their addresses are.

    The places are those of the first machine, of three or more of the first with the commonest set.
    """
    reference = 0
    complete = [_shape(one) for one in machines if one.gpus_complete]
    if len(machines) > 2 and complete:
        commonest, _ = Counter(complete).most_common(1)[0]
        reference = next(n for n, one in enumerate(machines) if one.gpus_complete and _shape(one) == commonest)
    base = machines[reference]
    rows: list[tuple[GpuState | None, ...]] = []
    extra: list[tuple[GpuState, ...]] = []
    for one in machines:
        if _fits(one, base):
            rows.append(one.gpus)
            extra.append(())
            continue
        places = {gpu.index: place for place, gpu in enumerate(base.gpus)}
        found = match(base.gpus, one.gpus, _key, _key)
        row: list[GpuState | None] = [None] * len(base.gpus)
        for theirs, mine in found.pairs:
            row[places[theirs.index]] = mine
        rows.append(tuple(row))
        extra.append(found.new)
    return Aligned(reference, tuple(rows), tuple(extra))


def gpu_words(machines: Sequence[Snapshot], aligned: Aligned, number: int) -> str | None:
    """The GPUs of a machine in words, with those that are missing; None where the evidence may not show all."""
    one = machines[number]
    if not one.gpus_complete:
        return None
    base = machines[aligned.reference]
    # Sources spell the name of one chip in several ways: the reference's counts.
    spelt = {gpu.chip: gpu.name for gpu in base.gpus if gpu.chip is not None}
    counts = Counter(spelt.get(gpu.chip or "", gpu.name) for gpu in one.gpus)
    words = ", ".join(f"{count} x {name}" for name, count in counts.items()) or "none"
    if not one.gpus or base.gpus == one.gpus:
        return words
    gone = [gpu for gpu, here in zip(base.gpus, aligned.rows[number], strict=True) if here is None]
    # Where no address is shared, nobody knows which place is the empty one.
    shared = {gpu.bdf for gpu in base.gpus if gpu.bdf} & {gpu.bdf for gpu in one.gpus}
    if gone and shared and all(gpu.bdf for gpu in gone):
        words += f" (none at {', '.join(gpu.bdf or '' for gpu in gone[:4])}{' ...' if len(gone) > 4 else ''})"
    return words
