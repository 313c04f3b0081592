"""A recommendation as markdown."""

from __future__ import annotations

from rocdoctor.report.markdown import inline, plain
from rocdoctor.report.plan.recommend_text import headline, kind, title
from rocdoctor.train.recommend.explain.value_reasons import gib
from rocdoctor.train.recommend.plan import Recommendation


def render(answer: Recommendation) -> str:
    """The headline, a table of settings, the runner-up, what would be needed, notes."""
    lines = ["## rocdoctor recommend", "", f"**{plain(headline(answer))}**", ""]
    if answer.plan is not None:
        lines += ["| setting | value | why | figure |", "| --- | --- | --- | --- |"]
        for one in answer.plan.choices:
            value = inline(one.value).replace("|", r"\|")  # also in code a bar ends the cell
            lines.append(f"| {plain(title(one.key))} | {value} | {plain(one.reason)} | {plain(one.figure)} |")
        lines.append("")
        if answer.runner_up is not None:
            lines += [f"Next best: {plain(kind(answer.runner_up))}: {plain(answer.margin)}.", ""]
        found = answer.plan.result.memory
        lines += [f"Memory of one GPU: {gib(found.low)} to {gib(found.high)}, live {gib(found.live_peak)}.", ""]
        for setting in answer.plan.environment:
            lines.append(f"- {inline(f'{setting.name}={setting.value}')}: {plain(setting.reason)}")
    for title_, found_ in (("What would fit" if answer.plan is None else "If it does not fit", answer.needed),):
        if found_:
            lines += ["", f"### {title_}", "", *(f"- {plain(one.text)}" for one in found_)]
    noted = (
        (*answer.plan.notes, *answer.notes) if answer.plan is not None else (*answer.workload.derived, *answer.notes)
    )
    if noted:
        lines += ["", "### Notes", "", *(f"- {plain(one)}" for one in noted)]
    return "\n".join(lines).rstrip() + "\n"
