"""Fixes for a terminal: the commands in the order of the causes, and what rocdoctor can do of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocdoctor.judging.subjects import subject_parts
from rocdoctor.model.finding import Effective
from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.fixes.offers import Offer
from rocdoctor.repair.fixes.steps import Work, set_in, told
from rocdoctor.repair.fixes.target_machine import Place
from rocdoctor.repair.setup.command_lines import broken, tokens_of
from rocdoctor.report.text import Style, wrap

_LABEL = 9
_COMMANDS = ("run", "verify", "type")  # a long one goes on after a backslash, so that it can be copied
_COLOURS = {"error": "31;1", "warning": "33", "info": "36"}
EFFECT: dict[Effective, str] = {
    "now": "takes effect at once",
    "new-login": "takes effect at the next login",
    "reboot": "takes effect at a restart",
}


def render(
    found: Sequence[Offer], works: Sequence[Work | None], place: Place | None, *, width: int, colour: bool = False
) -> str:
    """All fixes; ``works``: what each comes to on this machine, None for evidence of another one (no ``place``)."""
    style = Style(colour)
    lines = [style(line, "1") for line in wrap(headline(found, works), width, "")]
    for number, (offer, work) in enumerate(zip(found, works, strict=True), 1):
        lines += ["", *offer_lines(offer, work, place, width=width, style=style, number=number)]
    return "\n".join(lines) + "\n"


def headline(found: Sequence[Offer], works: Sequence[Work | None]) -> str:
    """How many fixes there are, and how many of them can be applied."""
    if not found:
        return "Nothing to fix: these checks found nothing that has a remedy."
    count = f"{len(found)} fix{'' if len(found) == 1 else 'es'}, the main cause first."
    able = sum(1 for work in works if work is not None and work.steps)
    return f"{count} rocdoctor can apply {able} of them: rocdoctor fix --apply" if able else count


def offer_lines(
    offer: Offer, work: Work | None, place: Place | None, *, width: int, style: Style, number: int
) -> list[str]:
    """One fix: the finding, what to do, how safe that is, and what rocdoctor would do."""
    severity = offer.finding.severity
    head = f"{number}  {severity}  {offer.check}  {subject_parts(offer.subjects)[0]}"
    first, *rest = wrap(head, width, "", "   ")
    lines = [first.replace(severity, style(severity, _COLOURS[severity]), 1), *rest]
    lines += wrap(one_line(offer.finding.message), width, "   ")
    rows = [("fix", one_line(offer.fix.text)), ("run", offer.fix.command)]
    rows.append(("safety", f"{offer.fix.safety}; {EFFECT[offer.fix.effective]}"))
    rows.append(("verify", offer.verify))
    rows.append(("set in", ", ".join(one_line(one) for one in set_in(offer.fix, place)) if place is not None else ""))
    rows += _apply_rows(offer, work, place)
    for label, text in rows:
        front, inner = f"   {label:<{_LABEL}}", " " * (_LABEL + 3)
        if text and label in _COMMANDS:
            lines += broken(tokens_of(clean(text)), width, front, f"{inner}  ")
        elif text:
            lines += wrap(text, width, front, inner)
    return lines


def _apply_rows(offer: Offer, work: Work | None, place: Place | None) -> Iterable[tuple[str, str]]:
    if offer.refusal:
        yield "apply", f"no: {offer.refusal}"
    elif work is None or place is None:
        yield "apply", "on that machine: rocdoctor fix --apply"
    elif work.steps:
        yield "apply", "; ".join(one_line(told(step, place)) for step in work.steps)
        if work.effective != offer.fix.effective:
            yield "", f"(that {EFFECT[work.effective]})"
    else:
        yield "apply", f"no: {'; '.join(one_line(one) for one in work.left) or 'it is done already'}"
        for command in work.typed:
            if command != offer.fix.command:
                yield "type", command
