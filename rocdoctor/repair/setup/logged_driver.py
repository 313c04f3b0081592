"""That the compute driver took GPUs, where only the kernel log tells of the driver."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import count_words, kernel_log, taken_in_log
from rocdoctor.judging.check import quote
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
