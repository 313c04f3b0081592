"""That the compute driver took GPUs, where only the kernel log tells of the driver."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import count_words, kernel_log, taken_in_log
from rocdoctor.judging.check import quote
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.model.finding import Evidence
from rocdoctor.repair.setup.situation import Situation


def taken_by_log(situation: Situation, gpus: Sequence[Gpu]) -> tuple[str, tuple[Evidence, ...]] | None:
    """(why, evidence) that the compute driver took each GPU at the last start; None where one has no such line."""
    log, lines = kernel_log(situation.machine), [taken_in_log(situation.machine, gpu) for gpu in gpus]
    found = [quote(log.source, event.text, event.line) for event in lines if event is not None and log is not None]
    if len(found) < len(gpus):
        return None
    why = f"The kernel log of the last start says that the driver took {count_words(len(gpus), 'AMD GPU')}."
    return why, tuple(found[:2])


def lines_in_log(situation: Situation, gpus: Sequence[Gpu]) -> tuple[Evidence, ...]:
    """Lines of the kernel log that a driver of AMD wrote about each GPU; none where one has no such line.

    The kernel puts the name of the driver that is bound at that moment before the address (``dev_driver_string`` in
    ``__dev_printk`` of Linux's drivers/base/core.c, read 2026-11-30). One whose start fails writes such lines too.
    """
    log = kernel_log(situation.machine)
    if log is None:
        return ()
    found: list[Evidence] = []
    for gpu in gpus:
        address = value_or(gpu.bdf, "")
        line = next((one for one in log.events if address and f"amdgpu {address}: " in one.text), None)
        if line is None:
            return ()
        found.append(quote(log.source, line.text, line.line))
    return tuple(found[:2])
