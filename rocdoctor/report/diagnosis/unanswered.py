"""What was not answered, in a few lines: a report that lacks something says so."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.model.facts import Unanswered
from rocdoctor.model.printable import one_line

_SHOWN = 3
_WORDS = {
    "timeout": ("was not answered in time", "were not answered in time"),
    "failed": ("failed with a system error", "failed with a system error"),
    "cut": ("returned more than rocdoctor reads", "returned more than rocdoctor reads"),
    "not asked": ("was not asked", "were not asked"),
    "denied": ("was refused (permission denied)", "were refused (permission denied)"),
}


def unanswered_lines(found: Sequence[Unanswered], everything: bool = False) -> list[str]:
    """One paragraph for each reason; the first few questions stand in it, or all of them."""
    lines: list[str] = []
    for reason, (one, many) in _WORDS.items():
        those = [each for each in found if each.reason == reason]
        if not those:
            continue
        shown = those if everything else those[:_SHOWN]
        names = "; ".join(_name(each) for each in shown)
        rest = f"; and {len(those) - len(shown)} more (--verbose lists them)" if len(shown) < len(those) else ""
        head = f"1 question {one}" if len(those) == 1 else f"{len(those)} questions {many}"
        lines.append(f"{head}: {names}{rest}")
    return lines


def _name(one: Unanswered) -> str:
    detail = "" if one.reason == "denied" else f" ({one_line(one.why)})"
    asked_by_nobody = one.reason == "not asked" and one.question.startswith("python default")
    return f"{'the Python interpreter' if asked_by_nobody else one_line(one.question)}{detail}"
