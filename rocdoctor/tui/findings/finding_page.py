"""The page of a finding as text with colours. Pure: what is shown is given, nothing is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.text import Text

from rocdoctor.judging.subjects import is_whole, subject_parts, subjects_text
from rocdoctor.knowledge.lookup import cause as cause_entry
from rocdoctor.knowledge.lookup import told_title
from rocdoctor.model.finding import Confidence, Diagnosis, Evidence, Finding, Fix
from rocdoctor.model.printable import clean, one_line
from rocdoctor.model.shell_command import as_named
from rocdoctor.report.evidence_words import evidence_place
from rocdoctor.report.text import wrap
from rocdoctor.tui.draw.links import linked_lines
from rocdoctor.tui.findings.details import Details
from rocdoctor.tui.findings.excerpt import Excerpt, ExcerptLine
from rocdoctor.tui.findings.findings_list import FindingsRow
from rocdoctor.tui.findings.manual_page import paragraphs, sections
from rocdoctor.tui.style import SEVERITY_STYLE, STATE_STYLE

WIDEST = 110
_MOST_OTHERS = 12
_MOST_BEFORE = 4  # lines of a fix above its command; longer ones follow it
_MOST_VALUE = 240
_MOST_ROWS = 4
_COPIED = 2000
_RISK = {
    "safe": "safe",
    "manual": "by hand: you decide or edit something",
    "reboots": "needs a reboot",
    "risky": "risky: read it before you do it",
}
_EFFECT = {
    "now": "takes effect at once",
    "new-login": "takes effect at the next login",
    "reboot": "takes effect after a reboot",
}
_VALUE_STYLE = "bold reverse"


def page(row: FindingsRow, diagnosis: Diagnosis, details: Details | None, width: int, everything: bool = False) -> Text:
    """The whole page; ``details`` is None while they are looked up, ``everything`` leaves nothing out."""
    width = max(30, min(width, WIDEST))
    out = _Page(width)
    _head(out, row, diagnosis)
    found = row.finding
    if found is None:
        _no_finding(out, row, details)
    else:
        out.say(row.said, style="bold")
        _sure(out, found.confidence, found.evidence)
        _fix(out, found.fix)
        _belongs(out, row, diagnosis)
        _evidence(out, row, details, everything)
        _verify(out, row.check, found.fix, everything)
    _manual(out, found, details, everything)
    return out.text


def plain(row: FindingsRow, diagnosis: Diagnosis, details: Details | None) -> str:
    """The page for the clipboard."""
    lines = page(row, diagnosis, details, 100, everything=True).plain.split("\n")
    return "\n".join(line.rstrip() for line in lines).strip() + "\n"


class _Page:
    """A text that grows by whole lines."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.text = Text()

    def line(self, words: str, style: str = "") -> None:
        if self.text:
            self.text.append("\n")
        self.text.append(words, style=style)

    def say(self, words: str, indent: str = "", style: str = "", hang: str | None = None) -> None:
        for each in wrap(words, self.width, indent, hang):
            self.line(each, style)

    def links(self, words: str, indent: str, hang: str, whole: bool) -> None:
        """Words with addresses; ``whole``: none is broken, since it is to be copied."""
        if whole:
            self.say(words, indent, hang=hang)
            return
        for each in linked_lines(words, self.width, indent, hang):
            self.line("")
            self.text.append_text(each)

    def title(self, words: str, more: str = "") -> None:
        self.line("")
        self.line(words, "bold underline")
        if len(words) + len(more) + 2 <= self.width:
            self.text.append(f"  {more}" if more else "", style="dim")
        else:
            self.say(more, "  ", "dim")


def _head(out: _Page, row: FindingsRow, diagnosis: Diagnosis) -> None:
    out.line(row.word, SEVERITY_STYLE.get(row.word) or STATE_STYLE.get(row.state, ""))
    out.text.append(f"  {row.check}", style="bold")
    if not is_whole(row.subjects):
        short, whole = subject_parts(row.subjects)[0], subjects_text(row.subjects)
        named = whole if len(whole) <= out.width else short  # the addresses then follow the fix
        if len(out.text) + 2 + len(named) <= out.width:  # each line counts: the fix is to be seen without scrolling
            out.text.append(f"  {named}")
        else:
            out.say(named)
    for words in _cause_words(row, diagnosis) if row.follows or row.finding is None else ():
        out.say(words, style="dim", hang="  ")
    out.line("")


def _belongs(out: _Page, row: FindingsRow, diagnosis: Diagnosis) -> None:
    """To which cause it belongs, and where many parts are that it is found of."""
    causes = () if row.follows else _cause_words(row, diagnosis)
    addresses = subject_parts(row.subjects)[1] if len(subjects_text(row.subjects)) > out.width else ()
    if causes or addresses:
        out.line("")
    for words in causes:
        out.say(words, style="dim", hang="  ")
    if addresses:
        out.say(f"found at {', '.join(addresses)}", style="dim", hang="  ")


def _cause_words(row: FindingsRow, diagnosis: Diagnosis) -> list[str]:
    name = row.follows or row.cause
    if cause_entry(name) is None or row.word == "info":
        return []
    stands = next((one.finding for one in diagnosis.causes if one.cause == name), row.finding)
    title = told_title(name, stands.finer if stands is not None else "")
    if row.follows:
        return [f"follows from: {title}; fix that first"]
    first = bool(diagnosis.causes) and diagnosis.causes[0].cause == name
    return [f"root cause{', the one to do first' if first else ''}: {title}"]


def _sure(out: _Page, confidence: Confidence, evidence: Sequence[Evidence]) -> None:
    spoken = any(one.voice != "program" for one in evidence)
    if confidence == "likely":
        out.say("Likely, not certain: it is inferred from the evidence.")
    elif confidence == "possible":
        why = "on what is said in words, not on an output" if spoken else "on evidence that fits other causes too"
        out.say(f"Only possible: it rests {why}.")


# -- evidence


def _evidence(out: _Page, row: FindingsRow, details: Details | None, everything: bool) -> None:
    assert row.finding is not None
    if not row.finding.evidence:
        return
    several = len(row.members) > 1
    out.title("Evidence", f"of {one_line(row.members[0].subject.label)}" if several else "")
    if details is None:
        _values(out, row.finding.evidence)
        out.line("  reading the lines ...", "dim")
    for shown in details.shown if details is not None else ():
        _values(out, shown.evidence)
        _excerpt(out, shown.excerpt, everything)
    if several:
        _others(out, row, everything)


def _values(out: _Page, evidence: Sequence[Evidence]) -> None:
    """Each value with the places where it was read."""
    places: dict[str, list[str]] = {}
    for one in evidence:
        places.setdefault(one_line(one.value), []).append(evidence_place(one))
    for whole, where in places.items():
        value = whole if len(whole) <= _MOST_VALUE else whole[: _MOST_VALUE - 4] + " ..."
        place = ", ".join(filter(None, dict.fromkeys(where)))
        if len(value) + len(place) + len("    from ") <= out.width:
            out.line(f"  {value}", "bold")
            out.text.append(f"  from {place}" if place else "")
        else:
            out.say(value, "  ", "bold")
            out.say(f"from {place}" if place else "", "    ", hang="      ")


def _excerpt(out: _Page, found: Excerpt, everything: bool) -> None:
    """The lines with their numbers; a marked one may take several rows."""
    digits = len(str(found.lines[-1].number)) if found.lines else 0
    room = max(10, out.width - digits - len("  > ") - len(" | "))
    before = 0
    for line in found.lines:
        if before and line.number > before + 1:
            out.line(f"    {'...':>{digits + 2}}", "dim")
        before = line.number
        text = clipped(line, _COPIED if everything else room * (_MOST_ROWS if line.marked else 1))
        style = "bold" if line.marked else "dim"
        out.line(f"  {'>' if line.marked else ' '} {line.number:>{digits}} | ", style)
        for at in range(0, max(1, len(text)), _COPIED if everything else room):
            if at:
                out.line(f"    {'':>{digits}} | ", style)
            out.text.append_text(text[at : at + (_COPIED if everything else room)])
    if found.note:
        out.say(f"({found.note})", "    ", "dim")


def clipped(line: ExcerptLine, room: int) -> Text:
    """A line in so many columns, the value in sight; what is cut is replaced by dots."""
    text = Text(line.text, style="" if line.marked else "dim", no_wrap=True)
    for begin, end in line.spans:
        text.stylize(_VALUE_STYLE, begin, end)
    if text.cell_len <= room:
        return text
    first, last = line.spans[0] if line.spans else (0, 0)
    inner = max(1, room - len("... ") - len(" ..."))
    begin = max(0, first - max(0, inner - (last - first)) // 2) if last > room - len(" ...") else 0
    end = min(len(line.text), begin + (inner if begin else inner + len("... ")))
    head, tail = "... " if begin else "", " ..." if end < len(line.text) else ""
    cut = Text.assemble((head, "dim"), text[begin:end], (tail, "dim"), no_wrap=True)
    cut.truncate(room)  # characters that are two columns wide
    return cut


def _others(out: _Page, row: FindingsRow, everything: bool) -> None:
    """The same finding on other subjects: values and places, without those that all of them share."""
    first = {(one.source, one.line) for one in row.members[0].finding.evidence} if row.members[0].finding else set()
    lines: list[tuple[str, Evidence | None]] = []
    for member in row.members[1:]:
        own = [one for one in member.finding.evidence if (one.source, one.line) not in first] if member.finding else []
        lines += [(member.subject.label, one) for one in own] or [(member.subject.label, None)]
    if not any(one for _, one in lines):
        return  # all rest on the same lines
    most = len(lines) if everything else _MOST_OTHERS
    out.line(f"  The same of {subject_parts(row.subjects[1:])[0]}:")
    for subject, one in lines[:most]:
        place = f": {one_line(one.value)}  from {evidence_place(one)}" if one is not None else ": the lines above"
        out.say(one_line(subject) + place, "    ", hang="      ")
    if len(lines) > most:
        out.line(f"    ... and {len(lines) - most} more values (key y copies all of them)")


# -- the way out


def _fix(out: _Page, fix: Fix | None) -> None:
    """What to do; it stands before what shows the fault, since a small terminal has room for only one of them."""
    if fix is None:
        return
    out.title("Fix", _RISK[fix.safety] + _effect(fix))
    long = len(wrap(fix.text, out.width, "  ")) > _MOST_BEFORE
    if not long:
        out.say(fix.text, "  ")
    if fix.command:
        _command(out, fix.command)
    if long:
        out.say(fix.text, "  ")


def _verify(out: _Page, check: str, fix: Fix | None, everything: bool) -> None:
    if fix is None:
        return
    out.title("Verify", "" if everything else "key v")
    _command(out, fix.verify or f"rocdoctor check {check}")


def _effect(fix: Fix) -> str:
    """When it takes effect; of a reboot and of what hands do (seat a card) the other word says enough."""
    if (fix.safety, fix.effective) in (("reboots", "reboot"), ("manual", "now"), ("reboots", "now")):
        return ""
    return f"; {_EFFECT[fix.effective]}"


def _command(out: _Page, command: str) -> None:
    """A command as it is: breaking it would break what is copied from the screen."""
    for each in as_named(clean(command)).split("\n"):
        out.line(f"      {each}", "bold")


def _no_finding(out: _Page, row: FindingsRow, details: Details | None) -> None:
    if row.state == "pass":
        out.say("Looked at, and nothing is wrong here.")
        return
    if row.state == "crashed":
        out.say(f"The check itself broke: {one_line(row.why)}")
        out.say("It says nothing about the machine. This is a bug in rocdoctor (or in a check of your own).")
        return
    if row.state == "not-applicable":
        out.say(f"There is nothing to judge here: {one_line(row.why)}.")
        return
    out.say("It is not known whether this applies here.", style="bold")
    out.title("Why it is unknown")
    out.say(one_line(row.why), "  ")
    out.title("What would answer it")
    if details is None:
        out.line("  looking it up ...", "dim")
        return
    if not details.steps:
        out.say("No command is known that would answer it on this machine.", "  ")
    for step in details.steps:
        _command(out, step.command)
        out.say(step.why, "          ")


# -- the manual page


def _manual(out: _Page, found: Finding | None, details: Details | None, everything: bool) -> None:
    parts = sections(details.manual) if details is not None else {}
    if found is None and parts.get("title"):
        out.title("What is looked for")
        out.say(parts["title"][0], "  ")
    if parts.get("Why"):
        out.title("Why it matters")
        _paragraphs(out, parts["Why"])
    if parts.get("Fix"):
        out.title("More on the fix" if found is not None and found.fix is not None else "What helps if it applies")
        _paragraphs(out, parts["Fix"])
    references = [*(found.references if found is not None else ()), *paragraphs(parts.get("References", ()), True)]
    if references:
        out.title("References")
        for one in dict.fromkeys(re.sub(r"\s+", " ", clean(each)).strip() for each in references):
            out.links(one, "  ", "    ", everything)


def _paragraphs(out: _Page, lines: Sequence[str]) -> None:
    for number, one in enumerate(paragraphs(lines)):
        if number and not one.startswith("- "):
            out.line("")
        out.say(one, "  ", hang="    " if one.startswith("- ") else None)
