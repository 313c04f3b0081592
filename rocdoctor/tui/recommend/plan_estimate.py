"""What is behind memory and speed of a plan: the document of ``rocdoctor estimate``, and how to get it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.model.printable import clean

if TYPE_CHECKING:
    from rocdoctor.train.recommend.plan import Plan

COLUMNS = 94  # of the frame that it is read in


def estimate_text(plan: Plan, command: str, columns: int = COLUMNS) -> str:
    """``command`` gives the plan on the command line; "" where nothing does."""
    from rocdoctor.report.plan.estimate_document import document
    from rocdoctor.report.text import render
    from rocdoctor.train.recommend.estimate import answer_of

    text = render(document(answer_of(plan.result)), columns)
    if not command:
        return text
    lines = ("On the command line", f"  {clean(command)} --format json > plan.json", "  rocdoctor estimate plan.json")
    return text.rstrip("\n") + "\n\n" + "\n".join(lines) + "\n"
