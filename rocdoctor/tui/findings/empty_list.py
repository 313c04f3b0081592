"""What the screen of findings says where its list is empty. Pure."""

from __future__ import annotations

from rich.text import Text

from rocdoctor.model.printable import one_line
from rocdoctor.tui.findings.findings_list import STATES, Filter
from rocdoctor.tui.look import Look
from rocdoctor.tui.story import story


def no_rows(look: Look, wanted: Filter, something: bool) -> Text:
    """Why there is nothing: not yet, nothing wrong, or nothing that the filter lets through."""
    if look.phase == "failed" and look.diagnosis is None:
        return Text(f"rocdoctor itself failed: {one_line(look.problem)}")
    if look.diagnosis is None:
        text = Text("Still looking; findings appear here as soon as the machine is judged.")
        for one in look.waiting[:10]:
            text.append(f"\n  waiting for {one_line(one)}", style="dim")
        if len(look.waiting) > 10:
            text.append(f"\n  ... and {len(look.waiting) - 10} more", style="dim")
        return text
    if wanted == Filter():
        counts = [(look.diagnosis.count(state), words) for state, words in STATES if state not in ("", "fail")]
        text = Text(
            "\n".join(one_line(one) for one in story(look.diagnosis, look.setup, look.preliminary).lines), "bold"
        )
        text.append("\n\nVerdicts: ", style="not bold")
        text.append(", ".join(f"{number} {words}" for number, words in counts if number) + ".", style="not bold")
        if something:
            text.append("\nThe key f shows them: unknown ones first, with what would answer them.", style="not bold")
        return text
    parts = [f"state {dict(STATES)[wanted.state]}"]
    parts += [f"{name} {value}" for name, value in (("severity", wanted.severity), ("area", wanted.area)) if value]
    parts += [f"text '{one_line(wanted.text)}'"] if wanted.text else []
    parts += [f"of {wanted.subject.label} alone"] if wanted.subject is not None else []
    return Text(f"Nothing matches the filter: {', '.join(parts)}.\nEscape clears the filter.")
