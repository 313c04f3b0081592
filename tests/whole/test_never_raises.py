"""Whatever a machine answers, all goes through from the questions to the reports: no exception, no crashed check."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer, Host
from rocdoctor.host.evidence.capture import CaptureHost, parse, write
from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.host.recorder import MaskedHost, Recorder
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import check_files, checks_folder, load_check
from rocdoctor.report import markdown
from rocdoctor.report.diagnosis import json_report, junit, text
from rocdoctor.report.machine import json_facts
from rocdoctor.report.machine.summary import machine_lines
from tests.examples import examples
from tests.kit import ROOT

FIXTURES = sorted((ROOT / "fixtures").glob("*.capture"))
# What breaks readers: limits of number types, other digits, no end, too deep, bytes that are not text.
ODD = (
    b"",
    b"\0",
    b"-1",
    b"0",
    b"N/A",
    b"99999999999999999999999999",
    b"1e999",
    b"nan",
    b"0x",
    b"\xff\xfe\x00",
    b"[[[[[[",
    b"{",
    b"null",
    b"[]",
    b"{}",
    b'{"gpu": 1}',
    b"[1, [2]]",
    "٣²½".encode(),
    b":::",
    b"=",
    b"\n\n",
    b" ",
    b"a" * 300,
    b"../../../etc/passwd",
    b"%s%n{0}",
    b"\x1b]0;x\x07",
    "\u2028\ud7ff\ufffe".encode(),
    b"1-0",
    b"0-99999999999",
)


@cache
def _checks() -> Sequence[Check]:
    return [load_check(path) for path in check_files(checks_folder())]


@cache
def _asked(number: int) -> tuple[Host, tuple[Answer, ...]]:
    """A fixture and all that collection asks of it, also in vain."""
    path = FIXTURES[number]
    host = CaptureHost(parse(path.read_bytes()), path.name)
    recorder = Recorder(host)
    collect(recorder)
    return host, tuple(recorder.answers.values())


def _goes_through(host: Host) -> None:
    machine = collect(host)
    diagnosis = diagnose(machine, _checks())
    crashed = [verdict for verdict in diagnosis.verdicts if verdict.state == "crashed"]
    assert not crashed
    said = (
        text.render(diagnosis, verbose=True)
        + markdown.render(text.document(diagnosis))
        + "\n".join(machine_lines(machine))
    )
    xml = junit.render(diagnosis)
    ElementTree.fromstring(xml.encode())
    report = json.dumps(json_report.report(diagnosis, {"kind": "live", "origin": ""}, {}, {}), allow_nan=False)
    facts = json.dumps(json_facts.facts(machine), allow_nan=False)
    for shown in (said, xml, report, facts):
        assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f]", shown)


def _mutated(data: bytes, source: random.Random) -> bytes:
    """Real text cut, doubled, with odd values in the place of words, or with bytes changed."""
    way = source.randrange(6)
    if way == 0:
        return data[: source.randrange(len(data) + 1)]
    if way == 1:
        lines = data.split(b"\n")
        source.shuffle(lines)
        return b"\n".join(lines)
    if way == 2:
        words = re.split(rb"([^\w.-]+)", data)
        for _ in range(1 + len(words) // 20):
            words[source.randrange(len(words))] = source.choice(ODD)
        return b"".join(words)
    if way == 3:
        numbers = re.compile(rb"\d+")
        return numbers.sub(lambda found: source.choice(ODD) if source.random() < 0.1 else found[0], data)
    if way == 4:
        changed = bytearray(data)
        for _ in range(min(len(changed), 8)):
            changed[source.randrange(len(changed))] = source.randrange(256)
        return bytes(changed)
    return data + b"\n" + data


def _edited(answer: Answer, others: Sequence[Answer], source: random.Random) -> Answer:
    way = source.randrange(6)
    if way == 0:
        return replace(answer, status=source.choice(["absent", "denied", "timeout", "failed"]), data=b"", note="5s")
    if way == 1:
        return replace(answer, status="ok", data=source.choice(ODD))
    if way == 2:
        return replace(answer, status="ok", data=source.choice(others).data[:50_000])
    if way == 3:
        return replace(answer, status="ok", data=source.randbytes(source.randrange(200)), complete=True)
    return replace(answer, status="ok", data=_mutated(answer.data, source), complete=source.random() < 0.8)


@pytest.mark.parametrize("number", range(len(FIXTURES)), ids=[path.stem for path in FIXTURES])
@examples(0.02)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.02, 0.2, 1.0]))
def test_no_answer_breaks_anything(number: int, seed: int, share: float) -> None:
    host, answers = _asked(number)
    source = random.Random(seed)
    chosen = [answer for answer in answers if source.random() < share] or [source.choice(answers)]
    edits = {answer.question: _edited(answer, answers, source) for answer in chosen}
    broken = OverlayHost(host, edits)
    _goes_through(broken)


@examples(0.08)
@given(seed=st.integers(0, 2**32), number=st.integers(0, len(FIXTURES) - 1))
def test_what_was_broken_is_recorded_masked_and_read_again(seed: int, number: int) -> None:
    host, answers = _asked(number)
    source = random.Random(seed)
    edits = {answer.question: _edited(answer, answers, source) for answer in answers if source.random() < 0.1}
    recorder = Recorder(MaskedHost(OverlayHost(host, edits), Masker()))
    collect(recorder)
    again = parse(write(recorder.answers.values(), {"origin": "recorded"}).encode())
    assert {question: answer.data for question, answer in again.answers.items()} == {
        question: b"" if answer.status == "failed" else answer.data for question, answer in recorder.answers.items()
    }
    _goes_through(CaptureHost(again, "again"))
