"""The report as markdown, to paste into an issue."""

from __future__ import annotations

import re

from rocdoctor.judging.subjects import grouped, subjects_text
from rocdoctor.model.finding import Diagnosis, Finding
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import clean, one_line, spelled
from rocdoctor.model.subject import Subject
from rocdoctor.report.diagnosis.headline import headline
from rocdoctor.report.diagnosis.unanswered import unanswered_lines
from rocdoctor.report.machine.summary import machine_lines

_MARKUP = regex(r"([\\\[\]*|])")
_MAX_VALUE = 160
# What a page of issues turns into a notice or a link: @name, #12, GH-12, owner/name#12, addresses, long hashes.
_LIVE = regex(
    r"(?:(?:https?|ftp)://|www\.|(?:mailto|xmpp):)[^\s<>\"'`|]{1,300}|(?:[\w.-]{1,60}/[\w.-]{1,60})?#\d{1,9}\b|"
    r"\bGH-\d{1,9}\b|@[\w/-]{1,80}|\b(?=[0-9a-f]{0,40}\d)[0-9a-f]{7,40}\b(?!:[0-9a-f]{2}\b)",
    re.IGNORECASE,
)
_LOOSE = regex(r"(?<![^\W_])_|_(?![^\W_])|~(?=~)|\$(?=[^$]{1,80}\$)")
# What makes a heading, a list, a quotation or a line of a text that begins with it.
_BLOCK = regex(r"\s*(?:\d{1,9}(?=[.)](?:\s|\Z))|(?=#{1,6}(?:\s|\Z)|[-+](?:\s|\Z)|>|-{2}|={2}|~{3}))")


def plain(text: str) -> str:
    """Text in one line in which nothing is markup, and what would ping or link is code."""
    whole = one_line(text)
    parts: list[str] = []
    at = 0
    for match in _LIVE.finditer(whole):
        found = match[0].rstrip(".,:;!?)")
        parts += [_words(whole[at : match.start()], not at), inline(found)]
        at = match.start() + len(found)
    return "".join([*parts, _words(whole[at:], not at)])


def _words(text: str, first: bool) -> str:
    """A piece of a sentence without markup."""
    escaped = _MARKUP.sub(r"\\\1", text.replace("&", "&amp;")).replace("<", "&lt;").replace("`", "'")
    escaped = _LOOSE.sub(r"\\\g<0>", escaped)
    begins = _BLOCK.match(escaped) if first else None
    return escaped if begins is None else f"{begins[0]}\\{escaped[begins.end() :]}"


def code(text: str) -> str:
    """Text inside backticks or a fence, which it cannot end."""
    return clean(text).replace("`", "'")


def inline(text: str) -> str:
    """Text in one line between backticks."""
    return f"`{code(one_line(text))}`"


def render(diagnosis: Diagnosis) -> str:
    """Headline, machine card, findings with evidence and fix, counts."""
    said = headline(diagnosis)
    lines = ["## rocdoctor", "", f"**{plain(said.text)}**", ""]
    if said.command:
        lines += _fence(said.command, "sh")
    lines += _fence("\n".join(diagnosis.card or machine_lines(diagnosis.machine)), "text")
    for found, name, subjects in grouped(diagnosis.verdicts):
        lines += _finding(found, name, subjects)
    counts = ", ".join(
        f"{diagnosis.count(state)} {words}"
        for state, words in (("pass", "passed"), ("fail", "failed"), ("unknown", "unknown"), ("crashed", "crashed"))
    )
    lines += [f"Verdicts: {counts}."]
    for line in unanswered_lines(diagnosis.machine.unanswered):
        lines += ["", plain(line)]
    return "\n".join(lines) + "\n"


def _fence(text: str, language: str) -> list[str]:
    return [f"```{language}", code(text), "```", ""]


def _finding(found: Finding, name: str, subjects: list[Subject]) -> list[str]:
    lines = [f"### {found.severity}: {name}", "", f"{plain(subjects_text(subjects))}: {plain(found.message)}", ""]
    for one in found.evidence:
        value = one_line(one.value)
        short = value if len(value) <= _MAX_VALUE else value[: _MAX_VALUE - 3] + "..."
        place = spelled(one.source) + (f":{one.line}" if one.line else "")
        voice = {"words": ", in words", "reply": ", in a reply or a quotation"}.get(one.voice, "")
        lines.append(f"- {inline(short or '(empty)')}" + (f" from {inline(place)}{voice}" if place else ""))
    if found.evidence:
        lines.append("")
    if found.confidence == "possible" and found.severity != "info":
        lines += ["Only possible, on this evidence.", ""]
    if found.fix is not None:
        lines += [f"Fix ({found.fix.safety}): {plain(found.fix.text)}", ""]
        if found.fix.command:
            lines += _fence(found.fix.command, "sh")
    return lines
