from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.model.finding import Diagnosis, Evidence, Fix, NextStep
from rocdoctor.paste import open_text
from rocdoctor.report import markdown
from rocdoctor.report.diagnosis.reply import Recognised, document
from rocdoctor.report.machine.summary import machine_lines
from rocdoctor.report.markdown import plain
from rocdoctor.report.masked import discreet, discretion_of
from rocdoctor.service.reading import judged, named_parts, recognised, with_lines_of_text
from tests.kit import amd_gpu, machine
from tests.report.made import HOSTILE, OVERRIDE, diagnosis, failed
from tests.text_kit import TEXTS, all_checks, header_and_body

ANSWERED = (
    "cpu-wheel",
    "driver-too-old",
    "gpu-lost",
    "kfd-permission",
    "memlock",
    "rendezvous-name",
    "shm-dataloader",
    "wrong-gloo-interface",
)
SILENT = ("prose-thanks", "rocminfo-good")
SOFTWARE = ("trace-shape",)


def render(found: Diagnosis, parts: Sequence[Recognised] = ()) -> str:
    return markdown.render(document(found, parts))


def reply_to(text: str) -> str:
    """What ``rocdoctor read --format markdown`` prints."""
    host = open_text(text, "text")
    found = with_lines_of_text(judged(host, all_checks()), host)
    return render(discreet(found, discretion_of(host), machine_lines(found.machine)), named_parts(recognised(host)))


def reply(folder: str, name: str) -> str:
    _, body = header_and_body(TEXTS / folder / f"{name}.txt")
    return reply_to(body)


@pytest.mark.parametrize("name", ANSWERED + SILENT + SOFTWARE)
def test_reply_is_the_stored_one(name: str, update_golden: bool) -> None:
    text = reply("faulty" if name in ANSWERED else "healthy", name)
    path = TEXTS / "replies" / f"{name}.md"
    if update_golden:
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.read_text(encoding="utf-8") == text, f"{path.name}; --update-golden writes it anew"


def test_every_stored_reply_belongs_to_a_text() -> None:
    assert {path.stem for path in (TEXTS / "replies").glob("*.md")} == {*ANSWERED, *SILENT, *SOFTWARE}


@pytest.mark.parametrize("name", ANSWERED)
def test_a_reply_names_cause_confidence_risk_and_what_to_send(name: str) -> None:
    text = reply("faulty", name)
    headings = re.findall(r"^### (.*)", text, re.MULTILINE)
    assert headings[:2] == ["Likely cause", "What to do"]
    assert headings[-1] == "If that does not help"
    assert re.search(r"^Confidence: (certain|likely|possible)[,;] ", text, re.MULTILINE)
    assert re.search(r"^Risk: ", text, re.MULTILINE)
    assert "To see whether it helped:" in text
    assert "rocdoctor bundle" in text
    assert re.search(r"^- `.*` \(line \d+", text, re.MULTILINE)


@pytest.mark.parametrize("name", SILENT)
def test_a_reply_to_a_text_without_a_fault_blames_nothing(name: str) -> None:
    text = reply("healthy", name)
    assert "Likely cause" not in text
    assert "Nothing in this text points to a fault of the machine" in text or "shows too little" in text


def test_software_is_told_apart_from_the_machine() -> None:
    text = render(diagnosis([failed(replace(OVERRIDE, cause="not-environment", message="A bug of X."), "machine")]))
    assert "Nothing in this text blames the machine" in text
    assert "### What it looks like\n\n**A bug of X.**" in text
    assert "Likely cause" not in text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("see @octocat now", "see `@octocat` now"),
        ("fixed in #123.", "fixed in `#123`."),
        ("as in ROCm/ROCm#5069", "as in `ROCm/ROCm#5069`"),
        ("GH-12 and https://github.com/a/b/issues/1, too", "`GH-12` and `https://github.com/a/b/issues/1`, too"),
        ("at deadbeef1234 it broke", "at `deadbeef1234` it broke"),
        ("a <img src=x> & &#64;me", "a &lt;img src=x> &amp; &amp;`#64`;me"),
        ("_now_ and __init__", "\\_now\\_ and \\_\\_init\\_\\_"),
        ("HSA_OVERRIDE_GFX_VERSION=11.0.0", "HSA_OVERRIDE_GFX_VERSION=11.0.0"),
        ("`` ` [a](b) *c*", "'' ' \\[a\\](b) \\*c\\*"),
        ("at 0000:41:00.0 on gfx1030", "at 0000:41:00.0 on gfx1030"),
    ],
)
def test_nothing_pings_links_or_is_markup(given: str, shown: str) -> None:
    assert plain(given) == shown


def test_hostile_text_stays_in_its_place() -> None:
    bad = HOSTILE + "`` ``` <img src=x> ![i](http://x) | a @me #1\n# head\n```\nafter"
    found = replace(OVERRIDE, message=bad, evidence=(Evidence(bad, bad),), fix=Fix(bad, command=bad, verify=bad))
    made = diagnosis([failed(found, bad)], machine(amd_gpu(name=bad)))
    text = render(replace(made, next=(NextStep(bad, bad),)), [Recognised(bad, 1, 2), Recognised(bad, 3, 3, bad)])
    outside = re.sub(r"(?ms)^(```+)(?:sh|text)$.*?^\1$", "", text)
    assert "```" not in outside
    spoken = "".join(outside.split("`")[0::2])
    assert not re.search(r"<img|!\[|@me|#1|http://|^# head", spoken, re.MULTILINE)
    assert not [char for char in text if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160]


def test_what_stands_in_words_is_said_to() -> None:
    text = reply_to("I have an RX 6700 XT and I have set HSA_OVERRIDE_GFX_VERSION=11.0.0, the desktop crashes.\n")
    assert "Confidence: possible; it rests on the writer's words" in text
    assert "(line 1, in words)" in text


def test_the_texts_are_ours() -> None:
    assert all((Path(TEXTS) / "faulty" / f"{name}.txt").is_file() for name in ANSWERED)


def test_a_page_of_advice_is_said_to_be_one() -> None:
    text = reply("healthy", "faq-training")
    assert "reads as advice or as an example" in text
    assert "Likely cause" not in text
