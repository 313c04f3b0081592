from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.judging.certainty import capped
from rocdoctor.model.facts import Machine, Message, Passage
from rocdoctor.model.finding import Evidence, Finding
from rocdoctor.report.diagnosis.json_report import report
from rocdoctor.report.diagnosis.text import document
from rocdoctor.report.diagnosis.text import render as as_text
from rocdoctor.report.markdown import render as as_markdown
from tests.text_kit import diagnosed

CARD, VARIABLE = Evidence("gfx1031", "text", 1), Evidence("HSA_OVERRIDE_GFX_VERSION=11.0.0", "env", 1)
FOUND = Finding("error", "It is.", (CARD, VARIABLE), confidence="certain")
WORDS = Passage("text", 1, 1, "words")


def with_passages(*passages: Passage, messages: tuple[Message, ...] = ()) -> Machine:
    return Machine(passages=passages, messages=messages)


def test_a_machine_without_words_leaves_every_finding_as_it_is() -> None:
    assert capped(Machine(), FOUND) is FOUND


def test_the_weakest_fact_counts() -> None:
    found = capped(with_passages(WORDS), FOUND)
    assert found.confidence == "possible"
    assert [one.voice for one in found.evidence] == ["words", "program"]


def test_words_elsewhere_do_not_count() -> None:
    found = capped(with_passages(Passage("text", 2, 9, "words"), Passage("run dmesg", 1, 1, "reply")), FOUND)
    assert found.confidence == "certain"


def test_of_several_messages_the_strongest_counts() -> None:
    machine = with_passages(Passage("text", 3, 3, "words"), messages=(Message("a", 3, "x"), Message("a", 5, "x")))
    spoken, printed = Evidence("x", "text", 3), Evidence("x", "text", 5)
    assert capped(machine, replace(FOUND, evidence=(spoken, printed))).confidence == "certain"
    assert capped(machine, replace(FOUND, evidence=(spoken,))).confidence == "possible"


def test_the_first_passage_of_a_line_counts() -> None:
    found = capped(with_passages(Passage("text", 1, 1, "program"), WORDS), FOUND)
    assert found.confidence == "certain"


def test_no_finding_becomes_surer() -> None:
    assert capped(with_passages(Passage("env", 7, 7, "words")), replace(FOUND, confidence="possible")).confidence == (
        "possible"
    )


OUTPUT = """```
$ lspci -nn
03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 22 [1002:73df] (rev c1)
$ export HSA_OVERRIDE_GFX_VERSION=11.0.0
```
"""


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("I have an RX 6700 XT here.\n\n    export HSA_OVERRIDE_GFX_VERSION=11.0.0\n", "possible"),
        ("GPU: RX 6700 XT\n\n    export HSA_OVERRIDE_GFX_VERSION=11.0.0\n", "likely"),
        ("GPU: RX 6700 XT\n\nI have set HSA_OVERRIDE_GFX_VERSION=11.0.0 in my profile.\n", "possible"),
        ("I have an RX 6700 XT here.\n\nGPU: RX 6700 XT\n\n    export HSA_OVERRIDE_GFX_VERSION=11.0.0\n", "likely"),
        (OUTPUT, "likely"),
        ("lena commented on 5 May\n\nNothing works.\n\nrolf commented on 6 May\n\n" + OUTPUT, "possible"),
        ("lena commented on 5 May\n\nNothing works.\n\nlena commented on 6 May\n\n" + OUTPUT, "likely"),
        ("I get RuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n", "possible"),
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n", "certain"),
        ("The NVIDIA driver on your system is too old (found version 11040).\n", "certain"),
        ("It stops, and I get CUDA out of memory. Tried to allocate 2.00 GiB\n", "possible"),
    ],
)
def test_whole_texts(text: str, confidence: str) -> None:
    causes = diagnosed(text).causes
    assert causes[0].confidence == confidence


def test_every_report_says_it() -> None:
    diagnosis = diagnosed("I have an RX 6700 XT here.\n\n    export HSA_OVERRIDE_GFX_VERSION=11.0.0\n")
    assert "only possible: this rests on the writer's words" in as_text(diagnosis)
    assert "text:1, in words" in as_text(diagnosis)
    assert "only possible: this rests on the writer's words" in as_markdown(document(diagnosis))
    data = report(diagnosis, {"kind": "text", "origin": "x"}, {"total_s": 0, "slowest": []}, {})
    failed = [one for one in data["verdicts"] if one["check"] == "gfx-override-mismatch"]
    assert failed[0]["confidence"] == "possible"
    assert [one.get("voice") for one in failed[0]["evidence"]] == ["words", None]


def test_of_passages_that_overlap_the_first_one_counts_long_or_short() -> None:
    long, short = Passage("text", 1, 500, "reply"), Passage("text", 9, 9, "words")
    for first, second in ((long, short), (short, long)):
        found = capped(with_passages(first, second), replace(FOUND, evidence=(Evidence("x", "text", 9),)))
        assert [one.voice for one in found.evidence] == [first.voice]
