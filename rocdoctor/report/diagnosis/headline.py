"""The first thing that a report says: what to do first and why, or that there is nothing to do."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.insight.gpus.presence import no_gpu_words
from rocdoctor.judging.subjects import grouped, is_whole, subject_parts
from rocdoctor.model.evidence import NOT_LOOKED_AT, value_or
from rocdoctor.model.finding import Diagnosis, Finding
from rocdoctor.model.subject import Subject


@dataclass(frozen=True, slots=True)
class Headline:
    """One sentence; the ``command`` to type and the finding ``because`` of which it is said, else empty.

    ``to_do``: it is the thing to do first.
    """

    said: str
    command: str = ""
    because: str = ""
    to_do: bool = False

    @property
    def text(self) -> str:
        """The sentence by itself."""
        return f"Do first: {self.said}" if self.to_do else self.said


def headline(diagnosis: Diagnosis) -> Headline:
    """The one thing to do first, or that there is nothing."""
    if diagnosis.causes:
        main = diagnosis.causes[0]
        if main.finding is not None and main.finding.fix is not None:
            return _from(main.finding, main.check, list(main.subjects))
        return Headline(main.remedy or main.message, because=_because(main.check, list(main.subjects)), to_do=True)
    grave = [one for one in grouped(diagnosis.verdicts) if one[0].severity != "info"]
    if grave:
        return _from(*grave[0])
    return Headline(_nothing(diagnosis))


def first_line(diagnosis: Diagnosis) -> str:
    """The headline in one line."""
    said = headline(diagnosis)
    return f"{said.text}: {said.command}" if said.command else said.text


def _from(found: Finding, name: str, subjects: list[Subject]) -> Headline:
    if found.fix is None:
        return Headline(found.message, to_do=True)
    return Headline(found.fix.text, found.fix.beside_text, _because(name, subjects), to_do=True)


def _because(name: str, subjects: list[Subject]) -> str:
    return name if is_whole(subjects) else f"{name} on {subject_parts(subjects)[0]}"


def _nothing(diagnosis: Diagnosis) -> str:
    machine = diagnosis.machine
    usable = [gpu for gpu in machine.gpus if gpu.vendor in ("amd", "nvidia")]
    if not usable and value_or(machine.container.kind, "") == "wsl":
        return "WSL shows nothing to fix: the GPU belongs to the Windows driver; see what torch says about it."
    unseen = machine.gpus_gap is NOT_LOOKED_AT
    if machine.gpus_gap is not None and not unseen:
        longer = "; try again with --timeout 60" if machine.gpus_gap.reason == "timeout" else ""
        return f"{no_gpu_words(machine)}{longer}."
    if not usable and machine.gpus_complete and not unseen:
        return "Nothing to fix. No AMD or NVIDIA GPU here: training runs on the CPU (gloo backend)."
    if not usable and not unseen:
        return "Nothing to fix in this evidence. It shows no AMD or NVIDIA GPU."
    passed, unknown = diagnosis.count("pass"), diagnosis.count("unknown")
    if unknown > passed:
        return f"Found nothing wrong, but this evidence shows little: {unknown} verdicts are unknown, {passed} passed."
    return "Nothing to fix."
