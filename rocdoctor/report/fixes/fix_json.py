"""Fixes as JSON (``rocdoctor.fix/1``): public, only added to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocdoctor import __version__
from rocdoctor.model.printable import clean
from rocdoctor.repair.fixes.offers import Offer
from rocdoctor.repair.fixes.steps import FixWork, set_in, told
from rocdoctor.repair.fixes.target_machine import TargetMachine

SCHEMA = "rocdoctor.fix/1"


def as_json(
    found: Sequence[Offer], works: Sequence[FixWork | None], place: TargetMachine | None, subject: dict[str, str]
) -> dict[str, Any]:
    """The fixes as plain data; ``does`` is empty where rocdoctor applies nothing, and ``left`` says why."""
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "subject": {key: clean(value) for key, value in subject.items()},
        "fixes": [_offer(offer, work, place) for offer, work in zip(found, works, strict=True)],
    }


def _offer(offer: Offer, work: FixWork | None, place: TargetMachine | None) -> dict[str, Any]:
    fix = offer.fix
    steps = work.steps if work is not None and place is not None else ()
    return {
        "check": offer.check,
        "subjects": [clean(one.label) for one in offer.subjects],
        "severity": offer.finding.severity,
        "cause": offer.finding.cause or None,
        "message": clean(offer.finding.message),
        "text": clean(fix.text),
        "command": clean(fix.command),
        "safety": fix.safety,
        "effective": work.effective if work is not None and steps else fix.effective,
        "verify": clean(offer.verify),
        "set_in": [clean(one) for one in set_in(fix, place)] if place is not None else [],
        "does": [clean(told(step, place)) for step in steps if place is not None],
        "left": [clean(one) for one in ([offer.refusal] if offer.refusal else work.left if work is not None else ())],
    }
