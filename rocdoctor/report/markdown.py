"""The report as markdown, to paste into an issue."""

from __future__ import annotations

from rocdoctor.diagnose import Diagnosis
from rocdoctor.report.summary import machine_lines
from rocdoctor.report.text import clean, first_line, grouped, subjects_text


def _plain(text: str) -> str:
    """Text that cannot start markup of its own."""
    return clean(text).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


def render(diagnosis: Diagnosis) -> str:
    """Headline, machine card, findings with evidence and fix, counts."""
    lines = ["## rocdoctor", "", f"**{_plain(first_line(diagnosis))}**", "", "```text"]
    lines += [clean(line) for line in machine_lines(diagnosis.machine)]
    lines += ["```", ""]
    for found, name, subjects in grouped(diagnosis.verdicts):
        lines += [
            f"### {found.severity}: {name}",
            "",
            f"{_plain(subjects_text(subjects))}: {_plain(found.message)}",
            "",
        ]
        for one in found.evidence:
            place = one.source + (f":{one.line}" if one.line else "")
            lines.append(
                f"- `{clean(one.value)[:160].replace('`', chr(39))}` from `{clean(place).replace('`', chr(39))}`"
            )
        if found.fix is not None:
            lines += ["", f"Fix ({found.fix.safety}): {_plain(found.fix.text)}"]
            if found.fix.command:
                lines += ["", "```sh", clean(found.fix.command), "```"]
        lines.append("")
    counts = ", ".join(
        f"{diagnosis.count(state)} {words}"
        for state, words in (("pass", "passed"), ("fail", "failed"), ("unknown", "unknown"), ("crashed", "crashed"))
    )
    lines += [f"Checks: {counts}."]
    return "\n".join(lines) + "\n"
