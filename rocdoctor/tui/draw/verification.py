"""What a verification says, as text with colours. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from rocdoctor.host.base import Answer
from rocdoctor.host.live.patience import imports_torch
from rocdoctor.judging.subjects import is_whole, subject_parts
from rocdoctor.model.finding import Verdict
from rocdoctor.model.printable import clean, one_line
from rocdoctor.model.subject import Subject
from rocdoctor.tui.style import STATE_STYLE
from rocdoctor.tui.verify import VerifyPlan, VerifyProgress, VerifyResult

_MOST_LINES = 40
_WORDS = {
    "fail": "found",
    "pass": "not found",
    "unknown": "unknown",
    "not-applicable": "nothing to judge",
    "crashed": "the check broke",
}


def asking(plan: VerifyPlan) -> Text:
    """What to know before, and what the next press of the key does."""
    text = Text("Verify\n", style="bold")
    for each in plan.before:
        text.append(f"  {each}\n")
    if plan.way == "elsewhere":
        text.append("  This evidence is not of a live machine, so nothing can be verified here. On that machine run:\n")
        text.append(f"      {clean(plan.command)}\n", style="bold")
        text.append("  Press v again to copy it.")
    elif plan.way == "program":
        text.append("  Press v again to run this here, and then the check:\n")
        text.append(f"      {clean(plan.command)}", style="bold")
        text.append(f"\n  {plan.patience_words}" if plan.patience_words else "")
    elif plan.way == "shell":
        text.append("  This is for a shell, or for you to do:\n")
        text.append(f"      {clean(plan.command)}\n", style="bold")
        text.append(f"  Press v again to copy it, and to run the check {plan.check} here.")
    else:
        text.append("  Press v again to run the check now.")
    return text


def running(plan: VerifyPlan, progress: VerifyProgress) -> Text:
    """How far it is."""
    text = Text("Verifying ", style="bold")
    text.append(f"{plan.check} ", style="not bold")
    text.append(f"{progress.seconds:.0f} s, {progress.asked} questions asked (Escape cancels)", style="not bold")
    if progress.waiting:
        text.append(f"\n  now: {one_line(progress.waiting)[:200]}", style="not bold dim")
        if plan.patience_words and imports_torch(progress.waiting):
            text.append(f"\n  {plan.patience_words}", style="not bold dim")
    return text


def result(found: VerifyResult) -> Text:
    """The outcome in one sentence, the verdicts before and now, and what the command said."""
    state, words = outcome(found)
    text = Text(words, style=STATE_STYLE.get(state, "bold"))
    if not found.problem:
        text.append(f"\n  before  {by_state(found.before)}", style="none")
        text.append(f"\n  now     {by_state(found.after)}", style="none")
        still = {one.finding.message for one in found.after if one.finding is not None}
        for message in sorted(still - {one.finding.message for one in found.before if one.finding is not None}):
            text.append(f"\n  now it says: {one_line(message)}", style="none")
        if state == "pass":
            text.append("\n  r asks everything again, so that the list follows.", style="dim")
    if found.output is not None:
        text.append_text(output_text(found.plan.command, found.output))
    return text


def outcome(found: VerifyResult) -> tuple[str, str]:
    """(the state that its colour is of, one sentence)."""
    if found.problem:
        return "unknown", f"Could not verify: {one_line(found.problem)}"
    check = found.plan.check
    failed = _subjects(found.after, "fail")
    passed = _subjects(found.after, "pass")
    silent = [one for one in found.after if one.state in ("unknown", "crashed")]
    if failed and [one for one in _subjects(found.before, "fail") if one in passed]:
        mended = [one for one in _subjects(found.before, "fail") if one in passed]
        return "fail", f"Partly fixed: {check} passes on {_named(mended)}, not yet on {_named(failed)}."
    if failed:
        return "fail", f"Not fixed: {check} still finds it{_on(failed)}."
    if silent:
        why = one_line(silent[0].why)
        if passed:
            return "unknown", f"No longer found, but unknown{_on([one.subject for one in silent])}: {why}."
        return "unknown", f"Cannot tell: {why}."
    if passed:
        return "pass", f"Fixed: {check} passes now{_on(passed)}."
    why = one_line(found.after[0].why) if found.after else "the check says nothing"
    return "unknown", f"Cannot tell: there is nothing left to judge: {why}."


def _subjects(verdicts: Iterable[Verdict], state: str) -> list[Subject]:
    return list(dict.fromkeys(one.subject for one in verdicts if one.state == state))


def _named(subjects: list[Subject]) -> str:
    return subject_parts(subjects)[0]


def _on(subjects: list[Subject]) -> str:
    return "" if is_whole(subjects) else f" on {_named(subjects)}"


def by_state(verdicts: Iterable[Verdict]) -> str:
    """``found on gpu 0-1; not found on gpu 2-7``."""
    verdicts = tuple(verdicts)
    parts = [
        f"{words}{_on(_subjects(verdicts, state))}" for state, words in _WORDS.items() if _subjects(verdicts, state)
    ]
    return "; ".join(parts) or "no verdict"


def output_text(command: str, answer: Answer) -> Text:
    """A command and what it said."""
    text = Text(f"\n  $ {clean(command)}", style="bold")
    if not answer.ok:
        text.append(f"\n    {one_line(answer.in_words)}", style="none")
        return text
    if answer.exit_code:
        text.append(f"   (ended with status {answer.exit_code})", style="none")
    lines = clean(answer.text).split("\n")
    for line in lines[:_MOST_LINES]:
        text.append(f"\n    {line.expandtabs(8).rstrip()}", style="none")
    if len(lines) > _MOST_LINES:
        text.append(f"\n    ... and {len(lines) - _MOST_LINES} more lines (run it in a shell to see all)", style="none")
    if not answer.text.strip():
        text.append("\n    (it printed nothing)", style="none")
    return text
