"""Fixes as a document: the commands in the order of the causes, and what rocdoctor can do of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rocdoctor.judging.subjects import subject_parts
from rocdoctor.model.finding import Effective
from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.fixes.offers import Offer
from rocdoctor.repair.fixes.steps import Edit, FixWork, set_in, told
from rocdoctor.repair.fixes.target_machine import TargetMachine
from rocdoctor.repair.setup.command_lines import tokens_of
from rocdoctor.report.document import GAP, Block, CommandLines, Note, Para, Row, Title

_COMMANDS = ("run", "verify", "type")  # a long one goes on after a backslash, so that it can be copied
EFFECT: dict[Effective, str] = {
    "now": "takes effect at once",
    "new-login": "takes effect at the next login",
    "reboot": "takes effect at a restart",
}


# Read by each new shell; the others are read at a login.
_EACH_SHELL = ("bashrc", "zshrc", "zshenv")


def effect_words(work: FixWork) -> str:
    """When what a fix does on this machine counts."""
    edited = [step.path for step in work.steps if isinstance(step, Edit)]
    if work.effective == "new-login" and edited and all(path.endswith(_EACH_SHELL) for path in edited):
        return "takes effect in each new shell"
    return EFFECT[work.effective]


def document(found: Sequence[Offer], works: Sequence[FixWork | None], place: TargetMachine | None) -> Iterator[Block]:
    """All fixes; ``works``: what each comes to on this machine, None for evidence of another one (no ``place``)."""
    yield Title("rocdoctor fix")
    yield Para(headline(found, works), bold=True)
    for number, (offer, work) in enumerate(zip(found, works, strict=True), 1):
        yield GAP
        yield from offer_blocks(offer, work, place, number)


def headline(found: Sequence[Offer], works: Sequence[FixWork | None]) -> str:
    """How many fixes there are, and how many of them can be applied."""
    if not found:
        return "Nothing to fix: these checks found nothing that has a remedy."
    count = f"{len(found)} fix{'' if len(found) == 1 else 'es'}, the main cause first."
    able = sum(1 for work in works if work is not None and work.steps)
    return f"{count} rocdoctor can apply {able} of them: rocdoctor fix --apply" if able else count


def offer_blocks(offer: Offer, work: FixWork | None, place: TargetMachine | None, number: int) -> Iterator[Block]:
    """One fix: the finding, what to do, how safe that is, and what rocdoctor would do."""
    fix = offer.fix
    yield Note(offer.finding.severity, offer.check, subject_parts(offer.subjects)[0], offer.finding.message, number)
    effect = effect_words(work) if work is not None and work.steps else EFFECT[fix.effective]
    rows = [("fix", one_line(fix.text)), ("run", fix.command), ("safety", f"{fix.safety}; {effect}")]
    rows.append(("verify", offer.verify))
    rows.append(("set in", ", ".join(one_line(one) for one in set_in(fix, place)) if place is not None else ""))
    for label, text in (*rows, *_apply_rows(offer, work, place)):
        if text and label in _COMMANDS:
            yield CommandLines((tokens_of(clean(text)),), label, "   ", 9)
        elif text:
            yield Row(label, text, "   ")


def _apply_rows(offer: Offer, work: FixWork | None, place: TargetMachine | None) -> Iterable[tuple[str, str]]:
    if offer.refusal:
        yield "apply", f"no: {offer.refusal}"
    elif work is None or place is None:
        yield "apply", "on that machine: rocdoctor fix --apply"
    elif work.steps:
        yield "apply", "; ".join(one_line(told(step, place)) for step in work.steps)
    else:
        yield "apply", f"no: {'; '.join(one_line(one) for one in work.left) or 'it is done already'}"
        for command in work.typed:
            if command != offer.fix.command:
                yield "type", command
